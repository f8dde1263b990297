// Sizes at which kernels change their ways: what generators aim at and what coverage is counted by.
#pragma once

#include <array>
#include <cstdint>

namespace mhcheck::properties {

inline constexpr std::array<std::int64_t, 5> kProductionHiddenSizes{1280, 2560, 4096, 5120, 7168};
// The sweep of hidden sizes goes from the first to the last in whole waves of 64 lanes.
inline constexpr std::int64_t kSweepFirst = 512, kSweepLast = 7168, kWave = 64;
// Tokens in the smallest tile of a matrix instruction; larger tiles are multiples of it.
inline constexpr std::int64_t kTile = 16;

}  // namespace mhcheck::properties

// Philox 4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
// easy as 1, 2, 3" (SC 2011): 128 random bits are a function of a 128-bit counter and a 64-bit key, so that
// any part of a sequence can be had without what comes before it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace mhcheck::properties {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

// Word w of block i, at words[w][i].
template <std::size_t N>
using PhiloxBlocks = std::array<std::array<std::uint32_t, N>, 4>;

// The N blocks whose counters are `first`, and `first` with word 0 advanced by 1, 2, ... (modulo 2^32).
// Several blocks side by side let the compiler use vector multiplications.
template <std::size_t N>
inline void philox4x32(PhiloxCounter first, PhiloxKey key, PhiloxBlocks<N>& words) {
  constexpr int kRounds = 10;
  constexpr std::uint64_t kMultiplier0 = 0xd2511f53, kMultiplier1 = 0xcd9e8d57;
  constexpr std::uint32_t kWeyl0 = 0x9e3779b9, kWeyl1 = 0xbb67ae85;
  auto& [w0, w1, w2, w3] = words;
  for (std::size_t i = 0; i < N; ++i) {
    w0[i] = first[0] + static_cast<std::uint32_t>(i);
    w1[i] = first[1];
    w2[i] = first[2];
    w3[i] = first[3];
  }
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < N; ++i) {
      const std::uint64_t product0 = kMultiplier0 * w0[i];
      const std::uint64_t product1 = kMultiplier1 * w2[i];
      w0[i] = static_cast<std::uint32_t>(product1 >> 32) ^ w1[i] ^ key[0];
      w1[i] = static_cast<std::uint32_t>(product1);
      w2[i] = static_cast<std::uint32_t>(product0 >> 32) ^ w3[i] ^ key[1];
      w3[i] = static_cast<std::uint32_t>(product0);
    }
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
}

inline PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key) {
  PhiloxBlocks<1> words;
  philox4x32(counter, key, words);
  return {words[0][0], words[1][0], words[2][0], words[3][0]};
}

}  // namespace mhcheck::properties

// The random numbers of one row of one tensor: a pure function of (seed, tensor name, row, lane, element),
// the same bytes on every machine. A row is a token where the tensor has tokens, so that a token's data is
// the same at any num_tokens.
//
//   key      seed
//   counter  word 0: element / 4    word 1: row    word 2: lane    word 3: hash of the tensor's name
//
// Element e gets word e % 4 of its block. Lanes keep apart what one row needs several sequences for: its
// streams, and the side decisions of a regime (positions, exponents).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "properties/philox.h"

namespace mhcheck::properties {

// FNV-1a, 32 bits.
constexpr std::uint32_t hash_of_name(std::string_view name) {
  std::uint32_t hash = 0x811c9dc5;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193;
  return hash;
}

// Where the approximately normal numbers end; chosen so that their variance is 1 within 1e-5.
inline constexpr float kLargestGaussian = 4.2f;

class RandomRow {
 public:
  RandomRow(std::uint64_t seed, std::string_view tensor, std::int64_t row)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        row_(static_cast<std::uint32_t>(row)),
        name_(hash_of_name(tensor)) {}

  // 32 random bits.
  std::uint32_t word(std::uint32_t lane, std::int64_t element) const {
    return philox4x32(counter(lane, element), key_)[static_cast<std::size_t>(element % 4)];
  }

  // Uniform on [0, 1): a multiple of 2^-24, exact in fp32.
  float uniform(std::uint32_t lane, std::int64_t element) const {
    return static_cast<float>(word(lane, element) >> 8) * 0x1p-24f;
  }

  // Elements [first, first + out.size()) of the lane; `first` is a multiple of 4.
  void words(std::uint32_t lane, std::int64_t first, std::span<std::uint32_t> out) const;

  // The same elements as approximately normal numbers of mean 0 and variance 1, none beyond kLargestGaussian.
  void gaussians(std::uint32_t lane, std::int64_t first, std::span<float> out) const;

 private:
  PhiloxCounter counter(std::uint32_t lane, std::int64_t element) const {
    return {static_cast<std::uint32_t>(element / 4), row_, lane, name_};
  }

  PhiloxKey key_;
  std::uint32_t row_;
  std::uint32_t name_;
};

}  // namespace mhcheck::properties

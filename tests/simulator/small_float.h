#pragma once

#include <cstdint>

#include "tests/simulator/exact_real.h"

// The OCP floats of 8, 6 and 4 bits, evaluated by looking through all their values.
namespace mhcheck::simulator::testing {

struct SmallFormat {
  int bits, mantissa_bits, bias;
  uint64_t largest;   ///< code of the largest magnitude
  uint64_t overflow;  ///< code of what lies beyond it: infinity, NaN, or the largest again
  uint64_t nan;       ///< what a NaN becomes: the largest where there is none
  uint64_t sign() const { return uint64_t{1} << (bits - 1); }
};
inline constexpr SmallFormat kFp8{8, 3, 7, 0x7e, 0x7f, 0x7f}, kBf8{8, 2, 15, 0x7b, 0x7c, 0x7f},
    kFp6{6, 3, 1, 0x1f, 0x1f, 0x1f}, kBf6{6, 2, 3, 0x1f, 0x1f, 0x1f}, kFp4{4, 1, 1, 0x7, 0x7, 0x7};

/// The f32 of the same value.
uint64_t from_small(const SmallFormat& small, uint64_t code);
/// The nearest value to an f32, of two the one with the even code.
uint64_t to_small(const SmallFormat& small, uint64_t single);
/// `random` as a fraction of the last place is added to the magnitude, then what is left of a last place is
/// dropped. Both fractions have as many bits as an f32 of the result's exponent has below that place.
uint64_t to_small_stochastic(const SmallFormat& small, uint64_t single, uint32_t random);

}  // namespace mhcheck::simulator::testing

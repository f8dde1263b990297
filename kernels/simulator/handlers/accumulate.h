#pragma once

#include <cstdint>

#include "kernels/simulator/handlers/formats.h"

// The accumulation models of MFMA other than the sequential one: one dot product at a time, slow and exact.
namespace mhcheck::simulator::MHCHECK_ISA {

/// A fixed-point number wide enough for any sum of products of two f32: nothing is ever rounded until
/// `round`.
class ExactSum {
 public:
  /// `x` is a finite double that is a multiple of 2^-320 and below 2^280.
  void add(double x);
  /// The sum rounded once to f32, nearest even.
  float round() const;

 private:
  static constexpr int kLimbBits = 32, kLimbs = 20, kLowestExponent = -320;
  int64_t limbs_[kLimbs] = {};
};

/// sum a[k] b[k] + c, rounded once.
float exact_dot(const float* a, const float* b, int count, float c);

/// As measured on CDNA3 (gfx950.md, section 4): groups of `group` products are aligned to the largest
/// exponent and truncated to 24 fraction bits; the group's sum and the accumulator are floored on the larger
/// exponent, then rounded.
float cdna3_dot(const float* a, const float* b, int count, float c, int group, bool split_even_odd);

}  // namespace mhcheck::simulator::MHCHECK_ISA

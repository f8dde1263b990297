#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/simulator/handlers/isa.h"

// Conversions between storage formats. Branch-free where lanes go through them in bulk, so that they
// vectorise.
namespace mhcheck::simulator::MHCHECK_ISA {

enum class Round : uint32_t { kNearest = 0, kUp = 1, kDown = 2, kZero = 3 };

MHCHECK_LANE uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }
MHCHECK_LANE uint64_t bits(double x) { return std::bit_cast<uint64_t>(x); }
MHCHECK_LANE float f32(uint32_t x) { return std::bit_cast<float>(x); }
MHCHECK_LANE double f64(uint64_t x) { return std::bit_cast<double>(x); }

MHCHECK_LANE float half_to_float(uint32_t half) {
  const uint32_t magnitude = (half & 0x7fff) << 13;
  const uint32_t sign = (half & 0x8000) << 16;
  // Scaling by 2^112 moves the exponent from f16's bias to f32's and normalises subnormals, exactly.
  const uint32_t finite = bits(f32(magnitude) * 0x1p112f);
  return f32(sign | (magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : finite));
}

/// Nearest even. Needs the host in nearest-even mode. NaN payloads keep their upper bits and become quiet.
MHCHECK_LANE uint32_t float_to_half(float x) {
  const uint32_t magnitude = bits(x) & 0x7fffffffu;
  const uint32_t sign = bits(x) >> 16 & 0x8000u;
  // Adding 0.5 leaves a multiple of 2^-24, f16's subnormal step, in the low mantissa bits.
  const uint32_t subnormal = bits(f32(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
  uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x477ff000u ? 0x7c00u : result;
  result = magnitude > 0x7f800000u ? (0x7e00u | (magnitude >> 13 & 0x3ffu)) : result;
  return sign | result;
}

/// Any rounding mode; a finite overflow becomes the largest finite value where `saturate` (MODE.FP16_OVFL) is
/// set.
MHCHECK_LANE uint32_t float_to_half(float x, Round round, bool saturate) {
  const uint32_t magnitude = bits(x) & 0x7fffffffu;
  const uint32_t sign = bits(x) >> 16 & 0x8000u;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u | (magnitude >> 13 & 0x3ffu);
  if (magnitude == 0x7f800000u) return sign | 0x7c00u;
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  uint32_t significand = (magnitude & 0x7fffffu) | (magnitude >> 23 ? 0x800000u : 0u);
  uint32_t shift = 13, base = 0;
  if (exponent >= -14) {
    base = static_cast<uint32_t>(exponent + 14) << 10;  // the hidden bit adds one to the exponent field
  } else {
    shift = static_cast<uint32_t>(13 + (-14 - exponent));
    if (shift > 31) shift = 31;
  }
  const uint32_t kept = significand >> shift;
  const uint32_t rest = significand & ((1u << shift) - 1u);
  const uint32_t halfway = 1u << (shift - 1);
  bool away = false;
  switch (round) {
    case Round::kNearest:
      away = rest > halfway || (rest == halfway && (kept & 1u));
      break;
    case Round::kUp:
      away = rest && !sign;
      break;
    case Round::kDown:
      away = rest && sign;
      break;
    case Round::kZero:
      break;
  }
  uint32_t result = base + kept + (away ? 1u : 0u);
  if (result >= 0x7c00u) {
    const bool to_infinity =
        round == Round::kNearest || (round == Round::kUp && !sign) || (round == Round::kDown && sign);
    result = saturate || !to_infinity ? 0x7bffu : 0x7c00u;
  }
  return sign | result;
}

/// Moves an inexact result to its odd neighbour: rounding it once more to at least two bits less is then
/// exact.
MHCHECK_LANE float to_odd_float(double x) {
  const float nearest = static_cast<float>(x);
  const double back = nearest;
  const uint32_t raw = bits(nearest);
  const bool inexact = back != x && x == x;
  const bool too_small = std::fabs(back) < std::fabs(x);
  const uint32_t moved = too_small ? raw + 1u : raw - 1u;
  return f32(inexact && !(raw & 1u) ? moved : raw);
}

/// a + b rounded to odd.
MHCHECK_LANE double add_to_odd(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  const double error = (a - (sum - part)) + (b - part);
  const uint64_t raw = bits(sum);
  // The exact sum is larger in magnitude than the rounded one when the error has the sum's sign.
  const bool grows = (bits(error) >> 63) == (raw >> 63);
  const bool finite = std::fabs(sum) <= 0x1.fffffffffffffp1023;
  return f64(finite && error != 0.0 && !(raw & 1) ? (grows ? raw + 1 : raw - 1) : raw);
}

MHCHECK_LANE float bf16_to_float(uint32_t bf16) { return f32(bf16 << 16); }

MHCHECK_LANE uint32_t float_to_bf16(float x) {
  const uint32_t raw = bits(x);
  const uint32_t rounded = (raw + 0x7fffu + (raw >> 16 & 1u)) >> 16;
  return (raw & 0x7fffffffu) > 0x7f800000u ? (raw >> 16 | 0x40u) : rounded;
}

/// The successor of a random number (v_prng_b32), which conversions of several elements step through.
MHCHECK_LANE uint32_t next_random(uint32_t random) { return random << 1 ^ (random >> 31 ? 197u : 0u); }

/// OCP floats of 8, 6 and 4 bits. E5M2 is IEEE-like. E4M3 has no infinity, and S.1111.111 is its only NaN.
/// The shorter ones have neither: what would be a NaN becomes the largest magnitude (the host code of AMD's
/// HIP headers, which states what gfx950 does, amd_hip_ocp_host.hpp).
struct E4m3 {
  static constexpr int kBits = 8, kMantissaBits = 3, kBias = 7;
  static constexpr uint32_t kMaxFinite = 0x7e, kNan = 0x7f;
  static constexpr bool kHasInfinity = false, kHasNan = true;
};
struct E5m2 {
  static constexpr int kBits = 8, kMantissaBits = 2, kBias = 15;
  static constexpr uint32_t kMaxFinite = 0x7b, kNan = 0x7f;
  static constexpr bool kHasInfinity = true, kHasNan = true;
};
template <int kWidth, int kFraction, int kExponentBias>
struct FiniteFormat {
  static constexpr int kBits = kWidth, kMantissaBits = kFraction, kBias = kExponentBias;
  static constexpr uint32_t kMaxFinite = (1u << (kWidth - 1)) - 1u, kNan = kMaxFinite;
  static constexpr bool kHasInfinity = false, kHasNan = false;
};
using E2m3 = FiniteFormat<6, 3, 1>;
using E3m2 = FiniteFormat<6, 2, 3>;
using E2m1 = FiniteFormat<4, 1, 1>;

template <class Format>
MHCHECK_LANE float small_to_float(uint32_t small) {
  constexpr uint32_t kSign = 1u << (Format::kBits - 1);
  const uint32_t sign = (small & kSign) << (32 - Format::kBits);
  const uint32_t magnitude = small & (kSign - 1u);
  const uint32_t moved = magnitude << (23 - Format::kMantissaBits);
  const float scale = f32(static_cast<uint32_t>(127 + 127 - Format::kBias) << 23);
  uint32_t result = bits(f32(moved) * scale);
  if constexpr (Format::kHasInfinity) {
    if (magnitude > Format::kMaxFinite)
      result = magnitude == Format::kMaxFinite + 1u ? 0x7f800000u : 0x7fc00000u;
  } else if constexpr (Format::kHasNan) {
    if (magnitude == Format::kNan) result = 0x7fc00000u;
  }
  return f32(sign | result);
}

/// Rounds |x| after adding `random` below the last kept bit (stochastic), or to nearest even. Overflow
/// saturates where `saturate` is set, and otherwise gives infinity, or NaN in a format without one. The
/// random number's upper bits count, as many as a normal result drops; what lies below them is truncated
/// (AMD's HIP headers, as above).
template <class Format, bool kStochastic>
MHCHECK_LANE uint32_t float_to_small(float x, uint32_t random, bool saturate) {
  const uint32_t magnitude = bits(x) & 0x7fffffffu;
  const uint32_t sign = bits(x) >> 31 << (Format::kBits - 1);
  if (magnitude > 0x7f800000u) return sign | Format::kNan;
  constexpr uint32_t kOverflow = Format::kHasInfinity ? Format::kMaxFinite + 1u : Format::kNan;
  if (magnitude == 0x7f800000u) return sign | (saturate ? Format::kMaxFinite : kOverflow);
  constexpr int kMinExponent = 1 - Format::kBias, kDropped = 23 - Format::kMantissaBits;
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  const uint32_t significand = (magnitude & 0x7fffffu) | (magnitude >> 23 ? 0x800000u : 0u);
  uint32_t base = 0;
  int below = 0;  // places by which a subnormal result's significand lies lower
  if (exponent >= kMinExponent) {
    base = static_cast<uint32_t>(exponent - kMinExponent) << Format::kMantissaBits;
  } else {
    below = kMinExponent - exponent;
  }
  uint32_t kept;
  if constexpr (kStochastic) {
    const uint32_t aligned = below > 31 ? 0u : significand >> below;
    kept = (aligned + (random >> (32 - kDropped))) >> kDropped;
  } else {
    const int shift = kDropped + below > 31 ? 31 : kDropped + below;
    const uint32_t rest = significand & ((1u << shift) - 1u), halfway = 1u << (shift - 1);
    kept = significand >> shift;
    if (rest > halfway || (rest == halfway && (kept & 1u))) ++kept;
  }
  const uint32_t result = base + kept;
  if (result > Format::kMaxFinite) return sign | (saturate ? Format::kMaxFinite : kOverflow);
  return sign | result;
}

}  // namespace mhcheck::simulator::MHCHECK_ISA

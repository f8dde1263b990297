// Storage formats: bf16, fp16, fp32. Decoding, correctly rounded encoding, neighbours, ulp.
//
// A value in storage is its bit pattern in a uint32_t (the upper half is zero for the 16-bit formats). Every
// conversion to storage rounds once, to nearest, ties to even, from the value it is given (IEEE
// 754-2019, 4.3.1); conversions from multiprecision values are in reference/arithmetic/ball_mp.h.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace mhcheck {

enum class Dtype : std::uint8_t { bf16, fp16, fp32 };

inline constexpr Dtype kAllDtypes[] = {Dtype::bf16, Dtype::fp16, Dtype::fp32};

// A binary interchange format. precision counts the implicit bit; exponents are those of 1.m * 2^e.
struct FloatFormat {
  int precision;
  int min_exponent;
  int max_exponent;
  int bits;

  constexpr int mantissa_bits() const { return precision - 1; }
  constexpr std::uint32_t sign_mask() const { return 1u << (bits - 1); }
  constexpr std::uint32_t infinity() const {
    return static_cast<std::uint32_t>(2 * max_exponent + 1) << mantissa_bits();
  }
  constexpr std::uint32_t quiet_nan() const { return infinity() | (1u << (mantissa_bits() - 1)); }
};

constexpr FloatFormat format_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::bf16:
      return {8, -126, 127, 16};
    case Dtype::fp16:
      return {11, -14, 15, 16};
    case Dtype::fp32:
      return {24, -126, 127, 32};
  }
  return {24, -126, 127, 32};
}

constexpr std::size_t size_of(Dtype dtype) { return static_cast<std::size_t>(format_of(dtype).bits) / 8; }

// "bf16", "fp16", "fp32": the names used in descriptors and reports.
std::string_view name_of(Dtype dtype);
std::optional<Dtype> dtype_from_name(std::string_view name);

constexpr bool is_nan(Dtype dtype, std::uint32_t bits) {
  const FloatFormat f = format_of(dtype);
  return (bits & ~f.sign_mask()) > f.infinity();
}
constexpr bool is_infinite(Dtype dtype, std::uint32_t bits) {
  const FloatFormat f = format_of(dtype);
  return (bits & ~f.sign_mask()) == f.infinity();
}
constexpr bool is_finite(Dtype dtype, std::uint32_t bits) {
  const FloatFormat f = format_of(dtype);
  return (bits & ~f.sign_mask()) < f.infinity();
}

// The exact value of a pattern.
inline double decode(Dtype dtype, std::uint32_t bits) {
  switch (dtype) {
    case Dtype::bf16:
      return static_cast<double>(std::bit_cast<float>(bits << 16));
    case Dtype::fp32:
      return static_cast<double>(std::bit_cast<float>(bits));
    case Dtype::fp16: {
      const std::uint32_t exponent = (bits >> 10) & 31u;
      const std::uint32_t mantissa = bits & 1023u;
      double magnitude;
      if (exponent == 31) {
        magnitude = mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                                  : std::numeric_limits<double>::infinity();
      } else if (exponent == 0) {
        magnitude = static_cast<double>(mantissa) * 0x1p-24;
      } else {
        magnitude = std::bit_cast<double>((static_cast<std::uint64_t>(exponent + 1023 - 15) << 52) |
                                          (static_cast<std::uint64_t>(mantissa) << 42));
      }
      return (bits & 0x8000u) != 0 ? -magnitude : magnitude;
    }
  }
  return 0;
}

// The pattern nearest to `value`, ties to even, rounded once from the double. Overflow gives infinity, NaN
// the format's default quiet NaN with the sign kept.
template <Dtype D>
inline std::uint32_t encode(double value) {
  constexpr FloatFormat f = format_of(D);
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  const std::uint32_t sign = static_cast<std::uint32_t>(bits >> 63) << (f.bits - 1);
  const std::uint64_t magnitude = bits & 0x7fffffffffffffffull;
  constexpr std::uint64_t smallest_normal = static_cast<std::uint64_t>(f.min_exponent + 1023) << 52;
  constexpr std::uint64_t double_infinity = 0x7ffull << 52;
  if (magnitude >= smallest_normal && magnitude < double_infinity) [[likely]] {
    // Drop the low bits of the significand with a carry that may run into the exponent, as it should.
    constexpr int drop = 53 - f.precision;
    const std::uint64_t half_minus_one_plus_lsb = ((1ull << (drop - 1)) - 1) + ((magnitude >> drop) & 1);
    const std::uint64_t kept = (magnitude + half_minus_one_plus_lsb) >> drop;
    constexpr std::uint64_t rebias = static_cast<std::uint64_t>(1023 - f.max_exponent) << f.mantissa_bits();
    const std::uint64_t rebiased = kept - rebias;
    return sign | (rebiased >= f.infinity() ? f.infinity() : static_cast<std::uint32_t>(rebiased));
  }
  if (magnitude > double_infinity) return sign | f.quiet_nan();
  if (magnitude == double_infinity) return sign | f.infinity();
  // Subnormal result: a whole number of the smallest subnormal. The scaling is exact (a double has room far
  // below), and nearbyint rounds to nearest even in the default rounding mode, in which the whole program
  // runs.
  const double smallest_subnormals = std::ldexp(std::fabs(value), f.mantissa_bits() - f.min_exponent);
  return sign | static_cast<std::uint32_t>(std::nearbyint(smallest_subnormals));
}

inline std::uint32_t encode(Dtype dtype, double value) {
  switch (dtype) {
    case Dtype::bf16:
      return encode<Dtype::bf16>(value);
    case Dtype::fp16:
      return encode<Dtype::fp16>(value);
    case Dtype::fp32:
      return encode<Dtype::fp32>(value);
  }
  return 0;
}

// Neighbours on the number line: -inf, ..., -0, +0, ..., +inf. Both zeros count as one point, written +0.
// NaN has no neighbours and comes back unchanged, as does the infinity that has nothing beyond it.
std::uint32_t next_up(Dtype dtype, std::uint32_t bits);
std::uint32_t next_down(Dtype dtype, std::uint32_t bits);

// Position on the number line in steps: 0 for both zeros, 1 for the smallest subnormal, -1 for its negative.
// For finite and infinite patterns only.
constexpr std::int64_t ordinal(Dtype dtype, std::uint32_t bits) {
  const FloatFormat f = format_of(dtype);
  const auto magnitude = static_cast<std::int64_t>(bits & ~f.sign_mask());
  return (bits & f.sign_mask()) != 0 ? -magnitude : magnitude;
}

// The spacing of the format at |value|: 2^(e - precision + 1) with 2^e <= |value| < 2^(e+1), the smallest
// subnormal below the normal range, the last spacing above the largest finite value.
double ulp(Dtype dtype, double value);

// How far the stored value is from `exact`, in ulps of the format at `exact`: a fraction, signed (stored -
// exact). NaN and infinities give infinity unless both are the same infinity.
double ulp_distance(Dtype dtype, std::uint32_t stored, double exact);

// "0x3f80", with as many digits as the format has.
std::string hex_bits(Dtype dtype, std::uint32_t bits);

}  // namespace mhcheck

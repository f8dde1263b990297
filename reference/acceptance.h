// Which stored patterns are right for one element: those that some number in [value - radius, value + radius]
// rounds to. Free of loops and state; every tolerance is an argument that nothing here can enlarge.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "reference/base/dtype.h"

namespace mhcheck::reference {

// A closed range of patterns on the number line of the format. Never empty.
struct Acceptance {
  std::uint32_t lo = 0;
  std::uint32_t hi = 0;
  bool flushed_zero = false;  // zero is right as well, although it lies outside

  bool operator==(const Acceptance&) const = default;
};

// The radius around `value`, enlarged by the roundings of the double arithmetic that forms value +- radius,
// so that they never narrow the interval. (The error of the value itself is in the radius: reference.h.) A
// radius of zero stays zero: the kernel rounds the exact result, and the certified pattern alone is right.
inline double outward(double value, double radius) {
  if (radius == 0) return 0;
  return (radius + std::fabs(value) * 0x1p-52) * (1 + 0x1p-52);
}

// `rounded` is the exact result in the format; it is a member whatever the double arithmetic says.
// For a finite value and radius.
template <Dtype D>
inline Acceptance accepted(double value, double radius, std::uint32_t rounded) {
  if (radius == 0) return {rounded, rounded, false};
  const double r = outward(value, radius);
  Acceptance a{encode<D>(value - r), encode<D>(value + r), false};
  if (ordinal(D, rounded) < ordinal(D, a.lo)) a.lo = rounded;
  if (ordinal(D, rounded) > ordinal(D, a.hi)) a.hi = rounded;
  // The contract allows fp32 results below the normal range to be flushed to zero.
  if constexpr (D == Dtype::fp32) a.flushed_zero = std::fabs(value) - r < 0x1p-126;
  return a;
}

inline Acceptance accepted(Dtype dtype, double value, double radius, std::uint32_t rounded) {
  switch (dtype) {
    case Dtype::bf16:
      return accepted<Dtype::bf16>(value, radius, rounded);
    case Dtype::fp16:
      return accepted<Dtype::fp16>(value, radius, rounded);
    case Dtype::fp32:
      return accepted<Dtype::fp32>(value, radius, rounded);
  }
  return {};
}

enum class Membership { inside, flushed, outside };

// `stored` must not be NaN. Both zeros are one point.
inline Membership membership(Dtype dtype, const Acceptance& a, std::uint32_t stored) {
  const std::int64_t at = ordinal(dtype, stored);
  if (at >= ordinal(dtype, a.lo) && at <= ordinal(dtype, a.hi)) return Membership::inside;
  return at == 0 && a.flushed_zero ? Membership::flushed : Membership::outside;
}

// Half the spacing of the format at the far end of the interval: the most that the last rounding of a correct
// kernel moves its result.
template <Dtype D>
inline double half_spacing(double value, double radius) {
  constexpr FloatFormat f = format_of(D);
  const double magnitude = std::fabs(value) + radius;
  const auto biased = static_cast<int>(std::bit_cast<std::uint64_t>(magnitude) >> 52);
  const int exponent = std::clamp(biased - 1023, f.min_exponent, f.max_exponent);
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent - f.mantissa_bits() - 1 + 1023) << 52);
}

// The error of a stored value in units of what is allowed. At most 1 for every member of the interval.
inline double bound_units(double stored, double value, double radius, double half_spacing) {
  const double error = std::fabs(stored - value);
  return error == 0 ? 0 : error / (outward(value, radius) + half_spacing);
}

}  // namespace mhcheck::reference

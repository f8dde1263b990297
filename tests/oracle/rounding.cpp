#include "tests/oracle/rounding.h"

#include <algorithm>

namespace mhcheck::oracle {
namespace {

// The pattern that everything from `a` to `b` rounds to.
std::uint32_t common_pattern(Dtype dtype, std::uint32_t a, std::uint32_t b) {
  if (a == b) return a;
  if (ordinal(dtype, a) == 0 && ordinal(dtype, b) == 0) return 0;
  throw NeedMorePrecision{};
}

}  // namespace

std::uint32_t round_to(Dtype dtype, const Split& number) {
  const FloatFormat f = format_of(dtype);
  if (number.undefined()) return f.quiet_nan();
  if (number.is_exact()) return round_to(dtype, number.exact);

  // The exact part and every boundary between two patterns are multiples of 2^grid. So all rests of one sign
  // below 2^grid round alike, and half of it can stand for them, however small they are.
  std::int64_t grid = f.min_exponent - f.mantissa_bits() - 1;
  if (number.exact.sign() != 0) grid = std::min(grid, lowest_bit(number.exact));
  const auto rounded_with = [&](const Dyadic& rest) {
    if (rest.sign() == 0 || abs(rest) >= Dyadic::power_of_two(grid)) {
      return round_to(dtype, number.exact + rest);
    }
    return round_to(dtype, number.exact + Dyadic(rest.sign()) * Dyadic::power_of_two(grid - 1));
  };
  return common_pattern(dtype, rounded_with(number.rest.lower()), rounded_with(number.rest.upper()));
}

std::uint32_t round_to(Dtype dtype, const Real& number,
                       const std::function<bool(const Dyadic&)>& is_exactly) {
  try {
    return round_to(dtype, Split{0, number});
  } catch (const NeedMorePrecision&) {
    const std::uint32_t below = round_to(dtype, Split{0, Real(number.lower())});
    const std::uint32_t above = round_to(dtype, Split{0, Real(number.upper())});
    if (next_up(dtype, below) != above) throw;
    // The boundary of rounding to infinity is where one more step of the spacing would be half way.
    const FloatFormat f = format_of(dtype);
    const auto place = [&](std::uint32_t bits) {
      if (!is_infinite(dtype, bits)) return stored(dtype, bits);
      const Dyadic beyond = Dyadic::power_of_two(f.max_exponent + 1);
      return (bits & f.sign_mask()) != 0 ? -beyond : beyond;
    };
    const Dyadic boundary = (place(below) + place(above)) * Dyadic(0.5);
    if (!is_exactly(boundary)) throw;
    return round_to(dtype, boundary);
  }
}

}  // namespace mhcheck::oracle

#include "tests/oracle/dyadic.h"

#include <algorithm>

namespace mhcheck::oracle {

Dyadic Dyadic::power_of_two(std::int64_t exponent) {
  Dyadic power(1);
  arf_mul_2exp_si(power.value_, power.value_, exponent);
  return power;
}

std::uint32_t round_to(Dtype dtype, const Dyadic& number) {
  const FloatFormat f = format_of(dtype);
  if (number.undefined()) return f.quiet_nan();
  if (number.sign() == 0) return 0;
  const std::uint32_t sign = number.sign() < 0 ? f.sign_mask() : 0;

  // 2^exponent <= |number| < 2^(exponent + 1); clamped first, because it need not fit in a machine word.
  const Dyadic magnitude = abs(number);
  if (magnitude >= Dyadic::power_of_two(f.max_exponent + 1)) return sign | f.infinity();
  const std::int64_t smallest_subnormal = f.min_exponent - f.mantissa_bits();
  if (magnitude < Dyadic::power_of_two(smallest_subnormal - 1)) return sign;
  const std::int64_t exponent = arf_abs_bound_lt_2exp_si(magnitude.arf()) - 1;

  // The mantissa with its leading bit, as a whole number of the spacing of the format at this exponent.
  const std::int64_t spacing = std::max<std::int64_t>(exponent, f.min_exponent) - f.mantissa_bits();
  const Dyadic scaled = magnitude * Dyadic::power_of_two(-spacing);
  fmpz_t whole;
  fmpz_init(whole);
  arf_get_fmpz(whole, scaled.arf(), ARF_RND_FLOOR);
  auto mantissa = static_cast<std::uint32_t>(fmpz_get_ui(whole));
  fmpz_clear(whole);
  const Dyadic twice_the_rest = (scaled - Dyadic(static_cast<double>(mantissa))) * Dyadic(2);
  const bool up = twice_the_rest > Dyadic(1) || (twice_the_rest == Dyadic(1) && mantissa % 2 == 1);
  mantissa += up ? 1 : 0;

  // The exponent field counts spacings from the smallest subnormal; the mantissa's leading bit adds one to it
  // where there is one, and a carry out of the mantissa adds one more.
  const auto field = static_cast<std::uint32_t>(spacing - smallest_subnormal) << f.mantissa_bits();
  return sign | (field + mantissa);
}

std::int64_t lowest_bit(const Dyadic& number) {
  fmpz_t mantissa, exponent;
  fmpz_init(mantissa);
  fmpz_init(exponent);
  arf_get_fmpz_2exp(mantissa, exponent, number.arf());  // the mantissa is odd
  const std::int64_t lowest = fmpz_get_si(exponent);
  fmpz_clear(mantissa);
  fmpz_clear(exponent);
  return lowest;
}

}  // namespace mhcheck::oracle

#include "tests/simulator/small_float.h"

namespace mhcheck::simulator::testing {
namespace {

// Of a magnitude that is finite.
Real value_of(const SmallFormat& small, uint64_t magnitude) {
  const auto exponent = static_cast<long>(magnitude >> small.mantissa_bits);
  uint64_t significand = magnitude & ((uint64_t{1} << small.mantissa_bits) - 1);
  if (exponent) significand |= uint64_t{1} << small.mantissa_bits;
  Real value(64);
  mpfr_set_ui_2exp(value.get(), significand, (exponent ? exponent : 1) - small.bias - small.mantissa_bits,
                   MPFR_RNDN);
  return value;
}

uint64_t sign_of(const SmallFormat& small, uint64_t single) { return single >> 31 ? small.sign() : 0; }

}  // namespace

uint64_t from_small(const SmallFormat& small, uint64_t code) {
  code &= 2 * small.sign() - 1;
  const uint64_t sign = code & small.sign() ? kSingle.sign() : 0, magnitude = code & (small.sign() - 1);
  if (magnitude <= small.largest) return sign | encode(kSingle, value_of(small, magnitude));
  const bool infinite = magnitude == small.overflow && small.overflow != small.nan;
  return sign | (infinite ? kSingle.infinity() : kSingle.nan());
}

uint64_t to_small(const SmallFormat& small, uint64_t single) {
  const uint64_t sign = sign_of(small, single);
  if (kSingle.is_nan(single)) return sign | small.nan;
  if (kSingle.is_infinite(single)) return sign | small.overflow;
  const Real x = decode(kSingle, single & 0x7fffffff);
  Real best(200), distance(200);
  uint64_t chosen = 0;
  for (uint64_t code = 0; code <= small.largest; ++code) {
    mpfr_sub(distance.get(), value_of(small, code).get(), x.get(), MPFR_RNDN);
    mpfr_abs(distance.get(), distance.get(), MPFR_RNDN);
    const int closer = code == 0 ? -1 : mpfr_cmp(distance.get(), best.get());
    if (closer < 0 || (closer == 0 && code % 2 == 0)) {
      chosen = code;
      mpfr_set(best.get(), distance.get(), MPFR_RNDN);
    }
  }
  if (chosen == small.largest) {  // does it lie past the midpoint to where the next code would be?
    Real limit = value_of(small, small.largest + 1);
    mpfr_add(limit.get(), limit.get(), value_of(small, small.largest).get(), MPFR_RNDN);
    mpfr_div_ui(limit.get(), limit.get(), 2, MPFR_RNDN);
    const int beyond = mpfr_cmp(x.get(), limit.get());
    if (beyond > 0 || (beyond == 0 && small.largest % 2 == 1)) chosen = small.overflow;
  }
  return sign | chosen;
}

uint64_t to_small_stochastic(const SmallFormat& small, uint64_t single, uint32_t random) {
  const uint64_t sign = sign_of(small, single);
  if (kSingle.is_nan(single)) return sign | small.nan;
  if (kSingle.is_infinite(single)) return sign | small.overflow;
  Real x = decode(kSingle, single & 0x7fffffff);
  if (mpfr_zero_p(x.get())) return sign;
  const long lowest = 1 - small.bias;
  long exponent = mpfr_get_exp(x.get()) - 1;
  if (exponent < lowest) exponent = lowest;
  if (exponent > 64) return sign | small.overflow;
  const int fraction_bits = kSingle.mantissa_bits - small.mantissa_bits;
  mpfr_mul_2si(x.get(), x.get(), kSingle.mantissa_bits - exponent, MPFR_RNDN);  // in fractions of a place
  mpfr_floor(x.get(), x.get());
  mpfr_add_ui(x.get(), x.get(), random >> (32 - fraction_bits), MPFR_RNDN);
  mpfr_div_2ui(x.get(), x.get(), static_cast<unsigned long>(fraction_bits), MPFR_RNDN);
  mpfr_floor(x.get(), x.get());
  mpfr_mul_2si(x.get(), x.get(), exponent - small.mantissa_bits, MPFR_RNDN);
  for (uint64_t code = 0; code <= small.largest; ++code) {
    if (mpfr_equal_p(value_of(small, code).get(), x.get())) return sign | code;
  }
  return sign | small.overflow;
}

}  // namespace mhcheck::simulator::testing

#include "tests/simulator/exact_real.h"

namespace mhcheck::simulator::testing {

Real decode(Format format, uint64_t bits, mpfr_prec_t precision) {
  Real value(precision);
  const bool negative = bits & format.sign();
  const uint64_t magnitude = bits & (format.sign() - 1);
  if (magnitude > format.infinity()) {
    mpfr_set_nan(value.get());
  } else if (magnitude == format.infinity()) {
    mpfr_set_inf(value.get(), negative ? -1 : 1);
  } else {
    const auto exponent = static_cast<long>(magnitude >> format.mantissa_bits);
    uint64_t significand = magnitude & ((uint64_t{1} << format.mantissa_bits) - 1);
    if (exponent) significand |= uint64_t{1} << format.mantissa_bits;
    mpfr_set_ui_2exp(value.get(), significand,
                     (exponent ? exponent : 1) - format.bias() - format.mantissa_bits, MPFR_RNDN);
    if (negative) mpfr_neg(value.get(), value.get(), MPFR_RNDN);
  }
  return value;
}

uint64_t encode(Format format, const Real& value, Direction direction) {
  constexpr mpfr_rnd_t kModes[] = {MPFR_RNDN, MPFR_RNDU, MPFR_RNDD, MPFR_RNDZ};
  const mpfr_rnd_t mode = kModes[static_cast<int>(direction)];
  if (mpfr_nan_p(value.get())) return format.nan();
  const uint64_t sign = mpfr_signbit(value.get()) ? format.sign() : 0;
  if (mpfr_inf_p(value.get())) return sign | format.infinity();
  if (mpfr_zero_p(value.get())) return sign;
  // Counted in steps of the last place at the value's exponent (or of the smallest subnormal), then made
  // whole.
  long exponent = mpfr_get_exp(value.get()) - 1;  // |value| = 1.xxx * 2^exponent
  const long lowest = 1 - format.bias();
  if (exponent < lowest) exponent = lowest;
  Real steps(mpfr_get_prec(value.get()));
  mpfr_mul_2si(steps.get(), value.get(), format.mantissa_bits - exponent, MPFR_RNDN);
  mpfr_rint(steps.get(), steps.get(), mode);
  mpfr_abs(steps.get(), steps.get(), MPFR_RNDN);
  const uint64_t whole = mpfr_get_ui(steps.get(), MPFR_RNDN);
  // A carry out of the significand moves into the exponent field by itself.
  const uint64_t magnitude = (static_cast<uint64_t>(exponent - lowest) << format.mantissa_bits) + whole;
  if (exponent > format.bias() || magnitude >= format.infinity()) {
    const bool to_infinity = mode == MPFR_RNDN || (mode == MPFR_RNDU && !sign) || (mode == MPFR_RNDD && sign);
    return sign | (to_infinity ? format.infinity() : format.largest());
  }
  return sign | magnitude;
}

uint64_t evaluate(Format format, uint64_t x, const std::function<void(mpfr_ptr, mpfr_srcptr)>& function) {
  constexpr mpfr_prec_t kEnough = 400;
  const Real operand = decode(format, x, kEnough);
  Real result(kEnough);
  function(result.get(), operand.get());
  return encode(format, result);
}

}  // namespace mhcheck::simulator::testing

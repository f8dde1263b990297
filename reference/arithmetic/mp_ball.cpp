#include "reference/arithmetic/mp_ball.h"

namespace mhcheck {
namespace {

// Radii need magnitude, not digits.
constexpr mpfr_prec_t kRadiusBits = 32;

// Where a value whose rounding is a zero shows no sign at this precision, it is taken as an exact zero.
constexpr mpfr_prec_t kSignBits = 1024;

thread_local mpfr_prec_t current_precision = 128;

// exp below this argument gives less than 2^-(2^28), whatever it is: far below half of the smallest stored
// value, while it and its quotients stay in MPFR's range, which ends at 2^-(2^30). No nearer to zero than
// that: where no eps is added, Sinkhorn divides by such numbers.
constexpr double kExpFloor = -0x1p28;

Mpfr radius_scratch() { return Mpfr(kRadiusBits); }

// |value| rounded up to a radius's precision.
Mpfr magnitude(const Mpfr& value) {
  Mpfr result = radius_scratch();
  mpfr_abs(result.get(), value.get(), MPFR_RNDU);
  return result;
}

}  // namespace

std::uint32_t round_to(Dtype dtype, const Mpfr& value) {
  const FloatFormat f = format_of(dtype);
  mpfr_srcptr v = value.get();
  if (mpfr_nan_p(v) != 0) return f.quiet_nan();
  const std::uint32_t sign = mpfr_signbit(v) != 0 ? f.sign_mask() : 0;
  if (mpfr_inf_p(v) != 0) return sign | f.infinity();
  if (mpfr_zero_p(v) != 0) return sign;
  // v = 0.1xxx * 2^exponent; in the subnormal range there are fewer bits to keep.
  const mpfr_exp_t exponent = mpfr_get_exp(v) - 1;
  const mpfr_exp_t missing = exponent < f.min_exponent ? f.min_exponent - exponent : 0;
  const mpfr_exp_t keep = f.precision - missing;
  if (keep < 0) return sign;  // below half of the smallest subnormal
  if (keep == 0) {
    // Between half of the smallest subnormal and all of it; half itself is a tie, and zero is even.
    const mpfr_exp_t smallest = f.min_exponent - f.mantissa_bits();
    return mpfr_cmpabs(v, Mpfr([&] {
                            Mpfr half(MPFR_PREC_MIN + 1);
                            mpfr_set_ui_2exp(half.get(), 1, smallest - 1, MPFR_RNDN);
                            return half;
                          }())
                              .get()) > 0
               ? (sign | 1u)
               : sign;
  }
  Mpfr kept(keep);
  mpfr_set(kept.get(), v, MPFR_RNDN);
  return encode(dtype,
                mpfr_get_d(kept.get(), MPFR_RNDN));  // at most 24 bits: the double is exact, inf if beyond it
}

mpfr_prec_t MpBall::precision() { return current_precision; }

MpBall::ScopedPrecision::ScopedPrecision(mpfr_prec_t bits) : before_(current_precision) {
  current_precision = bits;
}
MpBall::ScopedPrecision::~ScopedPrecision() { current_precision = before_; }

MpBall::MpBall(double value) : mid_(53), rad_(kRadiusBits) {
  mpfr_set_d(mid_.get(), value, MPFR_RNDN);
  mpfr_set_zero(rad_.get(), 1);
}

MpBall MpBall::around(double mid, double radius) {
  MpBall ball(mid);
  mpfr_set_d(ball.rad_.get(), radius, MPFR_RNDU);
  return ball;
}

MpBall::MpBall(Unset) : mid_(current_precision), rad_(kRadiusBits) { mpfr_set_zero(rad_.get(), 1); }

// Adds the rounding error of the operation that has just set mid_: at most half a unit in its last place.
void MpBall::widen(int ternary) {
  if (ternary == 0 || mpfr_nan_p(mid_.get()) != 0) return;
  if (mpfr_regular_p(mid_.get()) == 0) {
    mpfr_set_inf(rad_.get(), 1);
    return;
  }
  Mpfr half_ulp = radius_scratch();
  mpfr_set_ui_2exp(half_ulp.get(), 1, mpfr_get_exp(mid_.get()) - mpfr_get_prec(mid_.get()) - 1, MPFR_RNDU);
  mpfr_add(rad_.get(), rad_.get(), half_ulp.get(), MPFR_RNDU);
}

std::optional<std::uint32_t> MpBall::rounded(Dtype dtype) const {
  if (undefined()) return format_of(dtype).quiet_nan();
  if (exact()) return mpfr_zero_p(mid_.get()) != 0 ? 0 : round_to(dtype, mid_);  // an exact zero has no sign
  if (mpfr_inf_p(rad_.get()) != 0) return std::nullopt;
  Mpfr low(mpfr_get_prec(mid_.get()) + kRadiusBits), high(mpfr_get_prec(mid_.get()) + kRadiusBits);
  mpfr_sub(low.get(), mid_.get(), rad_.get(), MPFR_RNDD);
  mpfr_add(high.get(), mid_.get(), rad_.get(), MPFR_RNDU);
  const std::uint32_t bits = round_to(dtype, low);
  const std::uint32_t other = round_to(dtype, high);
  if (bits != other) {
    // Zero for certain, of a sign that more bits would tell; unless terms that no precision makes exact
    // cancel.
    const bool zero = ordinal(dtype, bits) == 0 && ordinal(dtype, other) == 0;
    if (zero && current_precision >= kSignBits) return 0;
    return std::nullopt;
  }
  return bits;
}

double MpBall::midpoint_error() const {
  Mpfr error = radius_scratch();
  mpfr_sub_d(error.get(), mid_.get(), midpoint(), MPFR_RNDA);
  mpfr_abs(error.get(), error.get(), MPFR_RNDU);
  mpfr_add(error.get(), error.get(), rad_.get(), MPFR_RNDU);
  return mpfr_get_d(error.get(), MPFR_RNDU);
}

MpBall operator-(const MpBall& x) {
  MpBall z = x;
  mpfr_neg(z.mid_.get(), z.mid_.get(), MPFR_RNDN);
  return z;
}

MpBall operator+(const MpBall& x, const MpBall& y) {
  MpBall z{MpBall::Unset{}};
  const int ternary = mpfr_add(z.mid_.get(), x.mid_.get(), y.mid_.get(), MPFR_RNDN);
  mpfr_add(z.rad_.get(), x.rad_.get(), y.rad_.get(), MPFR_RNDU);
  z.widen(ternary);
  return z;
}

MpBall operator-(const MpBall& x, const MpBall& y) { return x + (-y); }

MpBall operator*(const MpBall& x, const MpBall& y) {
  MpBall z{MpBall::Unset{}};
  const int ternary = mpfr_mul(z.mid_.get(), x.mid_.get(), y.mid_.get(), MPFR_RNDN);
  if (!x.exact() || !y.exact()) {
    // |x| ry + (|y| + ry) rx
    Mpfr mx = magnitude(x.mid_), my = magnitude(y.mid_);
    mpfr_add(my.get(), my.get(), y.rad_.get(), MPFR_RNDU);
    mpfr_mul(mx.get(), mx.get(), y.rad_.get(), MPFR_RNDU);
    mpfr_mul(my.get(), my.get(), x.rad_.get(), MPFR_RNDU);
    mpfr_add(z.rad_.get(), mx.get(), my.get(), MPFR_RNDU);
    if (mpfr_nan_p(z.rad_.get()) != 0) mpfr_set_inf(z.rad_.get(), 1);  // 0 * inf: nothing is known
  }
  z.widen(ternary);
  return z;
}

MpBall operator/(const MpBall& x, const MpBall& y) {
  MpBall z{MpBall::Unset{}};
  if (x.undefined() || y.undefined() || (mpfr_zero_p(y.mid_.get()) != 0 && y.exact())) {
    mpfr_set_nan(z.mid_.get());
    return z;
  }
  Mpfr smallest_y = radius_scratch();  // |y| - ry, rounded down
  {
    Mpfr my = radius_scratch();
    mpfr_abs(my.get(), y.mid_.get(), MPFR_RNDD);
    mpfr_sub(smallest_y.get(), my.get(), y.rad_.get(), MPFR_RNDD);
  }
  if (mpfr_sgn(smallest_y.get()) <= 0) {
    mpfr_set_zero(z.mid_.get(), 1);
    mpfr_set_inf(z.rad_.get(), 1);
    return z;
  }
  const int ternary = mpfr_div(z.mid_.get(), x.mid_.get(), y.mid_.get(), MPFR_RNDN);
  if (!x.exact() || !y.exact()) {
    // (rx + |x/y| ry) / (|y| - ry), with |x/y| taken as the midpoint plus its rounding error
    MpBall quotient = z;
    quotient.widen(ternary);
    Mpfr q = magnitude(quotient.mid_);
    mpfr_add(q.get(), q.get(), quotient.rad_.get(), MPFR_RNDU);
    mpfr_mul(q.get(), q.get(), y.rad_.get(), MPFR_RNDU);
    mpfr_add(q.get(), q.get(), x.rad_.get(), MPFR_RNDU);
    mpfr_div(z.rad_.get(), q.get(), smallest_y.get(), MPFR_RNDU);
  }
  z.widen(ternary);
  return z;
}

MpBall sqrt(const MpBall& x) {
  MpBall z{MpBall::Unset{}};
  if (x.exact() || x.undefined()) {
    z.widen(mpfr_sqrt(z.mid_.get(), x.mid_.get(), MPFR_RNDN));  // NaN for a negative number
    return z;
  }
  Mpfr low = radius_scratch(), high = radius_scratch();
  mpfr_sub(low.get(), x.mid_.get(), x.rad_.get(), MPFR_RNDD);
  mpfr_add(high.get(), x.mid_.get(), x.rad_.get(), MPFR_RNDU);
  if (mpfr_sgn(high.get()) < 0) {
    mpfr_set_nan(z.mid_.get());  // negative for certain
    return z;
  }
  if (mpfr_sgn(low.get()) <= 0) {
    // [0, sqrt(x + rx)], which a wider ball around zero holds
    mpfr_set_zero(z.mid_.get(), 1);
    mpfr_sqrt(z.rad_.get(), high.get(), MPFR_RNDU);
    return z;
  }
  const int ternary = mpfr_sqrt(z.mid_.get(), x.mid_.get(), MPFR_RNDN);
  // |sqrt(a) - sqrt(b)| = |a - b| / (sqrt(a) + sqrt(b)) <= rx / (2 sqrt(x - rx)) for a, b in the ball
  Mpfr root = radius_scratch();
  mpfr_sqrt(root.get(), low.get(), MPFR_RNDD);
  mpfr_mul_2ui(root.get(), root.get(), 1, MPFR_RNDD);
  mpfr_div(z.rad_.get(), x.rad_.get(), root.get(), MPFR_RNDU);
  z.widen(ternary);
  return z;
}

MpBall exp(const MpBall& x) {
  MpBall z{MpBall::Unset{}};
  if (x.undefined()) {
    mpfr_set_nan(z.mid_.get());
    return z;
  }
  Mpfr high = radius_scratch();
  mpfr_add(high.get(), x.mid_.get(), x.rad_.get(), MPFR_RNDU);
  if (mpfr_cmp_d(high.get(), kExpFloor) < 0) {
    mpfr_set_zero(z.mid_.get(), 1);
    mpfr_exp(z.rad_.get(),
             Mpfr([] {
               Mpfr floor(kRadiusBits);
               mpfr_set_d(floor.get(), kExpFloor, MPFR_RNDU);
               return floor;
             }())
                 .get(),
             MPFR_RNDU);
    return z;
  }
  const int ternary = mpfr_exp(z.mid_.get(), x.mid_.get(), MPFR_RNDN);
  if (!x.exact()) {
    // e^x (e^rx - 1)
    Mpfr growth = radius_scratch(), value = radius_scratch();
    mpfr_expm1(growth.get(), x.rad_.get(), MPFR_RNDU);
    mpfr_exp(value.get(), x.mid_.get(), MPFR_RNDU);
    mpfr_mul(z.rad_.get(), growth.get(), value.get(), MPFR_RNDU);
    if (mpfr_nan_p(z.rad_.get()) != 0) mpfr_set_inf(z.rad_.get(), 1);
  }
  z.widen(ternary);
  return z;
}

// The form whose exponential cannot overflow; both are the same function.
MpBall sigmoid(const MpBall& z) {
  const MpBall one(1.0);
  if (mpfr_sgn(z.mid_.get()) >= 0) return one / (one + exp(-z));
  const MpBall e = exp(z);
  return e / (one + e);
}

void MpBall::add_product(const MpBall& x, double factor) {
  thread_local Mpfr product(MPFR_PREC_MIN + 1), multiplier(53), widening(kRadiusBits);
  mpfr_set_d(multiplier.get(), factor, MPFR_RNDN);
  mpfr_set_prec(product.get(), mpfr_get_prec(x.mid_.get()) + 53);
  mpfr_mul(product.get(), x.mid_.get(), multiplier.get(), MPFR_RNDN);  // exact at this precision
  if (mpfr_get_prec(mid_.get()) < current_precision)
    mpfr_prec_round(mid_.get(), current_precision, MPFR_RNDN);
  widen(mpfr_add(mid_.get(), mid_.get(), product.get(), MPFR_RNDN));
  if (!x.exact()) {
    mpfr_abs(widening.get(), multiplier.get(), MPFR_RNDU);
    mpfr_mul(widening.get(), widening.get(), x.rad_.get(), MPFR_RNDU);
    mpfr_add(rad_.get(), rad_.get(), widening.get(), MPFR_RNDU);
  }
}

}  // namespace mhcheck

// Real numbers to 2000 bits, which the tests take as exact: no bound under test is finer than 2^-300.
#pragma once

#include <mpfr.h>

#include <string>

#include "reference/arithmetic/mp_ball.h"

namespace mhcheck::testing {

class Big {
 public:
  static constexpr mpfr_prec_t kBits = 2000;

  Big() : Big(0.0) {}
  Big(double value) : number_(kBits) { mpfr_set_d(number_.get(), value, MPFR_RNDN); }
  explicit Big(const Mpfr& value) : number_(kBits) { mpfr_set(number_.get(), value.get(), MPFR_RNDN); }

  double nearest() const { return mpfr_get_d(number_.get(), MPFR_RNDN); }
  const Mpfr& number() const { return number_; }
  std::string to_string() const { return std::to_string(nearest()); }

  friend Big operator-(Big x) {
    mpfr_neg(x.number_.get(), x.number_.get(), MPFR_RNDN);
    return x;
  }
  friend Big operator+(const Big& x, const Big& y) { return binary(mpfr_add, x, y); }
  friend Big operator-(const Big& x, const Big& y) { return binary(mpfr_sub, x, y); }
  friend Big operator*(const Big& x, const Big& y) { return binary(mpfr_mul, x, y); }
  friend Big operator/(const Big& x, const Big& y) { return binary(mpfr_div, x, y); }
  friend Big sqrt(const Big& x) { return unary(mpfr_sqrt, x); }
  friend Big exp(const Big& x) { return unary(mpfr_exp, x); }
  friend Big abs(const Big& x) { return unary(mpfr_abs, x); }
  friend Big log1p(const Big& x) { return unary(mpfr_log1p, x); }

  friend bool operator<(const Big& x, const Big& y) { return mpfr_less_p(x.raw(), y.raw()) != 0; }
  friend bool operator<=(const Big& x, const Big& y) { return mpfr_lessequal_p(x.raw(), y.raw()) != 0; }
  friend bool operator>(const Big& x, const Big& y) { return y < x; }
  friend bool operator==(const Big& x, const Big& y) { return mpfr_equal_p(x.raw(), y.raw()) != 0; }

  mpfr_srcptr raw() const { return number_.get(); }

 private:
  template <class Function>
  static Big unary(Function function, const Big& x) {
    Big z;
    function(z.number_.get(), x.raw(), MPFR_RNDN);
    return z;
  }
  template <class Function>
  static Big binary(Function function, const Big& x, const Big& y) {
    Big z;
    function(z.number_.get(), x.raw(), y.raw(), MPFR_RNDN);
    return z;
  }

  Mpfr number_;
};

inline Big sigmoid(const Big& z) { return Big(1) / (Big(1) + exp(-z)); }

}  // namespace mhcheck::testing

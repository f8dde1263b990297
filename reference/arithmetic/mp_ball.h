// Multiprecision balls: a midpoint of some hundred bits and a radius that holds the exact value, always.
//
// Exact operations leave the radius alone (MPFR's ternary value says which are exact), so a finite sum of
// products has radius zero once the precision suffices, and a tie between two stored values is then decided,
// not circled.
//
// MPFR is used directly and not through Boost.Multiprecision, which hides the ternary value.
#pragma once

#include <mpfr.h>

#include <cstdint>
#include <optional>

#include "reference/base/dtype.h"

namespace mhcheck {

// An MPFR number. Owns its memory.
class Mpfr {
 public:
  explicit Mpfr(mpfr_prec_t bits) { mpfr_init2(value_, bits); }
  Mpfr(const Mpfr& other) {
    mpfr_init2(value_, mpfr_get_prec(other.value_));
    mpfr_set(value_, other.value_, MPFR_RNDN);  // same precision: exact
  }
  Mpfr(Mpfr&& other) noexcept {
    mpfr_init2(value_, MPFR_PREC_MIN);
    mpfr_swap(value_, other.value_);
  }
  Mpfr& operator=(Mpfr other) noexcept {
    mpfr_swap(value_, other.value_);
    return *this;
  }
  ~Mpfr() { mpfr_clear(value_); }

  mpfr_ptr get() { return value_; }
  mpfr_srcptr get() const { return value_; }

 private:
  mpfr_t value_;
};

// The stored value nearest to `value`, ties to even, in one rounding from the full precision.
std::uint32_t round_to(Dtype dtype, const Mpfr& value);

class MpBall {
 public:
  // Zero, exactly.
  MpBall() : MpBall(0.0) {}
  // Exactly the double.
  explicit MpBall(double value);
  // Everything that is at most `radius` away from `mid`.
  static MpBall around(double mid, double radius);

  // The precision of results on this thread, in bits.
  static mpfr_prec_t precision();
  class ScopedPrecision {
   public:
    explicit ScopedPrecision(mpfr_prec_t bits);
    ~ScopedPrecision();
    ScopedPrecision(const ScopedPrecision&) = delete;
    ScopedPrecision& operator=(const ScopedPrecision&) = delete;

   private:
    mpfr_prec_t before_;
  };

  // No value exists: 0/0, x/0, the root of a negative number.
  bool undefined() const { return mpfr_nan_p(mid_.get()) != 0; }
  bool exact() const { return mpfr_zero_p(rad_.get()) != 0; }
  double midpoint() const { return mpfr_get_d(mid_.get(), MPFR_RNDN); }
  // How far midpoint() may be from the exact value.
  double midpoint_error() const;
  // The exact value lies within radius() of mid(); an infinite radius says that nothing is known.
  const Mpfr& mid() const { return mid_; }
  const Mpfr& radius() const { return rad_; }

  // The correctly rounded stored value, when the ball leaves no doubt about it; the default NaN when
  // undefined.
  std::optional<std::uint32_t> rounded(Dtype dtype) const;

  friend MpBall operator-(const MpBall& x);
  friend MpBall operator+(const MpBall& x, const MpBall& y);
  friend MpBall operator-(const MpBall& x, const MpBall& y);
  friend MpBall operator*(const MpBall& x, const MpBall& y);
  friend MpBall operator/(const MpBall& x, const MpBall& y);
  friend MpBall sqrt(const MpBall& x);
  friend MpBall exp(const MpBall& x);
  friend MpBall sigmoid(const MpBall& z);
  // Of the midpoints: for choosing a pivot, not for deciding an order.
  friend bool operator<(const MpBall& x, const MpBall& y) {
    return mpfr_less_p(x.mid_.get(), y.mid_.get()) != 0;
  }

  // Adds x * factor to a running sum; what a sum of products should use, since it allocates nothing.
  void add_product(const MpBall& x, double factor);

 private:
  // A result with room for the current precision; to be filled.
  struct Unset {};
  explicit MpBall(Unset);
  void widen(int ternary);

  Mpfr mid_;
  Mpfr rad_;  // few bits, every operation on it rounds up
};

}  // namespace mhcheck

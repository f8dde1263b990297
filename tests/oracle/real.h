// Real numbers known to within a radius (Arb balls), at the working precision of the thread.
#pragma once

#include <arb.h>

#include <cstdint>
#include <utility>

#include "tests/oracle/dyadic.h"

namespace mhcheck::oracle {

// The working precision does not settle a question that has an answer: ask again with more bits.
struct NeedMorePrecision {};

// A real number enclosed in a ball. Undefined where it was computed from an undefined number or by a division
// or square root that the exact numbers do not have (0/0, 1/0, the root of a negative number); whatever is
// computed from it is then undefined too. Balls that are merely too wide for such a question throw
// NeedMorePrecision.
class Real {
 public:
  Real() { arb_init(ball_); }
  Real(const Dyadic& exact) : Real() { arb_set_arf(ball_, exact.arf()); }
  Real(const Real& other) : Real() { arb_set(ball_, other.ball_); }
  Real(Real&& other) noexcept : Real() { arb_swap(ball_, other.ball_); }
  Real& operator=(Real other) noexcept {
    arb_swap(ball_, other.ball_);
    return *this;
  }
  ~Real() { arb_clear(ball_); }

  // Bits of the results of operations, for this thread.
  static inline thread_local std::int64_t precision = 128;

  bool undefined() const { return arf_is_nan(arb_midref(ball_)) != 0; }
  bool is_zero() const { return arb_is_zero(ball_) != 0; }
  bool is_positive() const { return arb_is_positive(ball_) != 0; }
  bool is_negative() const { return arb_is_negative(ball_) != 0; }

  Real& operator+=(const Real& other) {
    arb_add(ball_, ball_, other.ball_, precision);
    return *this;
  }
  friend Real operator+(Real a, const Real& b) { return a += b; }
  friend Real operator*(Real a, const Real& b) {
    arb_mul(a.ball_, a.ball_, b.ball_, precision);
    return a;
  }
  friend Real operator/(Real a, const Real& b) {
    if (b.is_zero()) return make_undefined();
    if (!b.undefined() && arb_contains_zero(b.ball_) != 0) throw NeedMorePrecision{};
    arb_div(a.ball_, a.ball_, b.ball_, precision);
    return a;
  }
  friend Real exp(Real a) {
    if (!a.undefined()) arb_exp(a.ball_, a.ball_, precision);
    return a;
  }
  friend Real square_root(Real a) {
    if (a.undefined()) return a;
    if (a.is_negative()) return make_undefined();
    if (!a.is_zero() && !a.is_positive()) throw NeedMorePrecision{};
    arb_sqrt(a.ball_, a.ball_, precision);
    return a;
  }

  // The ends of the enclosure, exact. Of a defined number.
  Dyadic lower() const {
    Dyadic end;
    arb_get_lbound_arf(end.arf(), ball_, precision);
    return end;
  }
  Dyadic upper() const {
    Dyadic end;
    arb_get_ubound_arf(end.arf(), ball_, precision);
    return end;
  }

  // A double within 2^-52 relative, or 2^-1074, of the number; NaN where it is undefined.
  double to_double() const {
    constexpr std::int64_t kDoubleBits = 54, kBelowDoubles = -1076;
    const bool close =
        arb_rel_accuracy_bits(ball_) >= kDoubleBits || mag_cmp_2exp_si(arb_radref(ball_), kBelowDoubles) < 0;
    if (!undefined() && !close) throw NeedMorePrecision{};
    return arf_get_d(arb_midref(ball_), ARF_RND_NEAR);
  }

 private:
  static Real make_undefined() {
    Real a;
    arb_indeterminate(a.ball_);
    return a;
  }

  arb_t ball_;
};

}  // namespace mhcheck::oracle

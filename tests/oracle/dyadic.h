// Exact numbers m * 2^e with integers m and e of any size: everything in the contract up to the first square
// root or division is one.
#pragma once

#include <arf.h>

#include <compare>
#include <cstdint>
#include <utility>

#include "reference/base/dtype.h"

namespace mhcheck::oracle {

// Sums and products are exact. A number can be undefined, and whatever is computed from it is then undefined
// too; infinities do not exist, they come in as undefined.
class Dyadic {
 public:
  Dyadic() { arf_init(value_); }
  Dyadic(int integer) : Dyadic() { arf_set_si(value_, integer); }
  // Exact; NaN and infinities become undefined.
  explicit Dyadic(double value) : Dyadic() {
    arf_set_d(value_, value);
    if (!arf_is_finite(value_)) arf_nan(value_);
  }
  Dyadic(const Dyadic& other) : Dyadic() { arf_set(value_, other.value_); }
  Dyadic(Dyadic&& other) noexcept : Dyadic() { arf_swap(value_, other.value_); }
  Dyadic& operator=(Dyadic other) noexcept {
    arf_swap(value_, other.value_);
    return *this;
  }
  ~Dyadic() { arf_clear(value_); }

  static Dyadic power_of_two(std::int64_t exponent);

  bool undefined() const { return arf_is_nan(value_) != 0; }
  // -1, 0 or 1; of a defined number.
  int sign() const { return arf_sgn(value_); }

  Dyadic& operator+=(const Dyadic& other) {
    arf_add(value_, value_, other.value_, ARF_PREC_EXACT, ARF_RND_DOWN);
    return *this;
  }
  friend Dyadic operator+(Dyadic a, const Dyadic& b) { return a += b; }
  friend Dyadic operator-(Dyadic a) {
    arf_neg(a.value_, a.value_);
    return a;
  }
  friend Dyadic operator-(Dyadic a, const Dyadic& b) { return a += -b; }
  friend Dyadic operator*(Dyadic a, const Dyadic& b) {
    arf_mul(a.value_, a.value_, b.value_, ARF_PREC_EXACT, ARF_RND_DOWN);
    return a;
  }
  // *this += a * b
  void add_product(const Dyadic& a, const Dyadic& b) {
    arf_addmul(value_, a.value_, b.value_, ARF_PREC_EXACT, ARF_RND_DOWN);
  }

  friend Dyadic abs(Dyadic a) {
    arf_abs(a.value_, a.value_);
    return a;
  }

  // Of defined numbers.
  friend bool operator==(const Dyadic& a, const Dyadic& b) { return arf_equal(a.value_, b.value_) != 0; }
  friend std::strong_ordering operator<=>(const Dyadic& a, const Dyadic& b) {
    return arf_cmp(a.value_, b.value_) <=> 0;
  }

  arf_srcptr arf() const { return value_; }
  arf_ptr arf() { return value_; }

 private:
  arf_t value_;
};

// The pattern of `dtype` nearest to the number, ties to even, in one step; infinity where that is beyond the
// largest finite value, the format's quiet NaN for an undefined number.
std::uint32_t round_to(Dtype dtype, const Dyadic& number);

// The value of the pattern `bits`, undefined for NaN and infinities.
inline Dyadic stored(Dtype dtype, std::uint32_t bits) { return Dyadic(decode(dtype, bits)); }

// The largest q such that `number`, not zero, is a multiple of 2^q.
std::int64_t lowest_bit(const Dyadic& number);

}  // namespace mhcheck::oracle

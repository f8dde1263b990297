#pragma once

#include <mpfr.h>

#include <cstdint>
#include <functional>
#include <vector>

// Floating-point formats evaluated with MPFR: the independent side of every floating-point check.
namespace mhcheck::simulator::testing {

struct Format {
  int mantissa_bits, exponent_bits;
  int bits() const { return 1 + exponent_bits + mantissa_bits; }
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  uint64_t sign() const { return uint64_t{1} << (exponent_bits + mantissa_bits); }
  uint64_t infinity() const { return ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits; }
  uint64_t quiet() const { return uint64_t{1} << (mantissa_bits - 1); }
  uint64_t nan() const { return infinity() | quiet(); }
  uint64_t largest() const { return infinity() - 1; }
  bool is_nan(uint64_t bits) const { return (bits & (sign() - 1)) > infinity(); }
  bool is_infinite(uint64_t bits) const { return (bits & (sign() - 1)) == infinity(); }
  bool is_denormal(uint64_t bits) const { return (bits & infinity()) == 0 && (bits & (sign() - 1)) != 0; }
};
inline constexpr Format kHalf{10, 5}, kBfloat16{7, 8}, kSingle{23, 8}, kDouble{52, 11};

/// MODE's rounding directions: 0 nearest even, 1 up, 2 down, 3 zero.
enum class Direction { kNearest, kUp, kDown, kZero };

/// An MPFR number with room for every exact sum and product of the formats.
class Real {
 public:
  static constexpr mpfr_prec_t kPrecision = 4400;
  explicit Real(mpfr_prec_t precision = kPrecision) { mpfr_init2(value_, precision); }
  Real(const Real& other) : Real(mpfr_get_prec(other.value_)) { mpfr_set(value_, other.value_, MPFR_RNDN); }
  Real& operator=(const Real& other) {
    mpfr_set(value_, other.value_, MPFR_RNDN);
    return *this;
  }
  ~Real() { mpfr_clear(value_); }
  mpfr_ptr get() { return value_; }
  mpfr_srcptr get() const { return value_; }

 private:
  mpfr_t value_;
};

/// The value of a bit pattern; NaN and infinities become MPFR's.
Real decode(Format format, uint64_t bits, mpfr_prec_t precision = Real::kPrecision);
/// Rounds once into the format, subnormals included. A zero keeps its sign.
uint64_t encode(Format format, const Real& value, Direction direction = Direction::kNearest);

/// f(x) correctly rounded to nearest.
uint64_t evaluate(Format format, uint64_t x, const std::function<void(mpfr_ptr, mpfr_srcptr)>& function);

}  // namespace mhcheck::simulator::testing

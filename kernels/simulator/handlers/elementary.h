#pragma once

#include <cmath>

#include "kernels/simulator/handlers/formats.h"

// Elementary functions of f32 operands, correctly rounded to f32: a double result is accurate to about 2^-52,
// so that only values within a few double ulps of the midpoint between two floats leave the rounding in
// doubt. Those are decided with more precision.
namespace mhcheck::simulator::MHCHECK_ISA {

MHCHECK_LANE bool rounding_in_doubt(double y) {
  // Distance of the 29 bits that f32 drops from their halfway pattern.
  const auto dropped = static_cast<int64_t>(bits(y) & 0x1fffffffu) - 0x10000000;
  return dropped > -16 && dropped < 16;
}

template <double (*kQuick)(double), long double (*kSlow)(long double)>
MHCHECK_LANE float rounded_once(double x) {
  const double y = kQuick(x);
  return rounding_in_doubt(y) ? static_cast<float>(kSlow(x)) : static_cast<float>(y);
}

MHCHECK_LANE float correct_exp2(float x) { return rounded_once<std::exp2, std::exp2>(x); }
MHCHECK_LANE float correct_log2(float x) { return rounded_once<std::log2, std::log2>(x); }

MHCHECK_LANE float correct_rsqrt(float x) {
  const double y = 1.0 / std::sqrt(static_cast<double>(x));
  const auto rounded = static_cast<float>(y);
  if (!rounding_in_doubt(y)) return rounded;
  // The midpoint m is a double of 25 bits, m^2 is exact, and fma tells the sign of m^2 x - 1 exactly.
  const double midpoint = f64((bits(y) & ~uint64_t{0x1fffffff}) | 0x10000000u);
  const bool below_midpoint = std::fma(midpoint * midpoint, static_cast<double>(x), -1.0) > 0;
  const float lower = static_cast<float>(f64(bits(midpoint) & ~uint64_t{0x1fffffff}));
  return below_midpoint ? lower : f32(bits(lower) + 1);
}

// sin and cos take revolutions. Reduction to an eighth of a turn is exact, and so is a result of 0 or +-1.
struct Turn {
  double rest;        // in [-1/8, 1/8] turns
  unsigned quadrant;  // x = quadrant / 4 + rest
};
MHCHECK_LANE Turn reduce_turns(double x) {
  const double quarters = __builtin_roundeven(4.0 * x);
  const double whole_turns = std::floor(quarters * 0.25);
  return {x - quarters * 0.25, static_cast<unsigned>(quarters - 4.0 * whole_turns)};
}
MHCHECK_LANE double quick_sine(const Turn& turn, unsigned quadrant) {
  constexpr double kTwoPi = 6.283185307179586476925286766559;
  const double y = quadrant & 1 ? std::cos(kTwoPi * turn.rest) : std::sin(kTwoPi * turn.rest);
  return quadrant & 2 ? -y : y;
}
MHCHECK_LANE long double slow_sine(const Turn& turn, unsigned quadrant) {
  constexpr long double kTwoPi = 6.283185307179586476925286766559005768L;
  const long double y = quadrant & 1 ? std::cos(kTwoPi * turn.rest) : std::sin(kTwoPi * turn.rest);
  return quadrant & 2 ? -y : y;
}
/// sin(2 pi (x + advance / 4)) to double precision; exact zeros and ones.
MHCHECK_LANE double sine_of_turns(double x, unsigned advance) {
  const Turn turn = reduce_turns(x);
  const unsigned quadrant = (turn.quadrant + advance) & 3;
  if (turn.rest == 0 && !(quadrant & 1)) return advance ? 0.0 : std::copysign(0.0, x);
  return quick_sine(turn, quadrant);
}
MHCHECK_LANE float correct_sine_of_turns(float x, unsigned advance) {
  const double y = sine_of_turns(x, advance);
  if (y == 0 || !rounding_in_doubt(y)) return static_cast<float>(y);
  const Turn turn = reduce_turns(x);
  return static_cast<float>(slow_sine(turn, (turn.quadrant + advance) & 3));
}
MHCHECK_LANE float correct_sine(float x) { return correct_sine_of_turns(x, 0); }
MHCHECK_LANE float correct_cosine(float x) { return correct_sine_of_turns(x, 1); }

}  // namespace mhcheck::simulator::MHCHECK_ISA

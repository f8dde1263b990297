// exp in double from + - * / alone, so that it gives the same bits on every machine and its error can be
// proved; the C library's has neither property.
//
// x = k ln2 + r with |r| <= 0.3467. k * kLn2High is exact (29 significant bits times |k| < 2^11), its
// difference from x is exact too (Sterbenz), and the last subtraction and the rounding of kLn2Low leave r
// within 2^-54.5. The Taylor remainder after degree 14 is below 0.3467^15 / 15! * e^0.35 < 2^-62. In Horner's
// rule with v = 2^-53, the relative error of the partial sum of degree d is at most v + |t_d| / s_d * (that
// of degree d+1 + 2v), where t_d is the part added to 1: 1.7v at d = 2, 2.6v at d = 1. Together below 3.5v <
// 2^-51; scaling by 2^k is exact above the floor.
#pragma once

#include <cmath>

namespace mhcheck {

// Below the floor 0, at most kDoubleFlush away from the truth; above the largest argument infinity.
inline double exp_double(double x) {
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  constexpr double kLn2High = 0x1.62e42fep-1;
  constexpr double kLn2Low = 0x1.f473de6af278fp-30;
  constexpr double kFloor = -735;
  constexpr double kCeiling = 709.5;
  if (x != x) return x;
  if (x < kFloor) return 0;
  if (x > kCeiling) return HUGE_VAL;
  const double k = std::nearbyint(x * kLog2E);
  const double r = (x - k * kLn2High) - k * kLn2Low;
  double sum = 1;
  for (int degree = 14; degree >= 1; --degree) sum = 1 + sum * r / degree;
  return std::ldexp(sum, static_cast<int>(k));
}

}  // namespace mhcheck

// Running error analysis: a number with how well the reference knows it and how far a correct kernel may be
// off.
//
// A Tracked stands for an exact real X and for every value that a correct fp32 evaluation may have in its
// place:
//   |X - mid| <= rad                        the reference's own double arithmetic
//   |kernel - X| <= deterministic           always
//   |kernel - X| <= probabilistic           under the model of reference.h
//   systematic <= probabilistic             the part that may have one sign everywhere
// Each operation adds the error of the kernel's operation (error_model.h) to what its operands bring along.
// Derivations: docs/bounds.md.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "reference/arithmetic/error_model.h"
#include "reference/arithmetic/exp_double.h"

namespace mhcheck {

// The kernel's radii: deterministic, probabilistic, systematic.
struct Radii {
  enum Kind { kDeterministic, kProbabilistic, kSystematic };
  static constexpr int kKinds = 3;
  std::array<double, kKinds> r{};

  double operator[](int kind) const { return r[kind]; }
  double& operator[](int kind) { return r[kind]; }
  bool zero() const { return r[0] == 0 && r[1] == 0 && r[2] == 0; }
};

struct Tracked {
  double mid = 0;
  double rad = 0;
  Radii kernel;

  Tracked() = default;
  // Exactly the double, in the kernel too: an input.
  explicit Tracked(double value) : mid(value) {}

  double magnitude() const { return std::fabs(mid) + rad; }  // at least |X|
};

namespace tracked_detail {

using error_model::kDoubleFlush;
using error_model::kDoubleUnit;
using error_model::kFlush;
using error_model::kLargest;
using error_model::kOutward;
using error_model::kUnit;

inline double outward(double radius) { return radius * kOutward; }

// The result of an operation: `operations` double roundings on the reference's side, `units` of u on the
// kernel's, on top of what came along.
inline Tracked result(double mid, double rad, const Radii& along, double double_roundings, double units) {
  Tracked z;
  z.mid = mid;
  z.rad = outward(rad + double_roundings * kDoubleUnit * (std::fabs(mid) + rad));
  if (mid != 0 || rad != 0) z.rad += kDoubleFlush;
  for (int k = 0; k < Radii::kKinds; ++k) {
    const double largest = z.magnitude() + along[k];
    z.kernel[k] = largest <= kLargest ? outward(along[k] + units * kUnit * largest) : HUGE_VAL;
  }
  // An exact zero made of exact operands is a zero in the kernel too; anything else may be flushed: both
  // operands of a sum, or one and then the result.
  if (mid != 0 || rad != 0 || !along.zero()) {
    for (int k = 0; k < Radii::kKinds; ++k) z.kernel[k] += 2 * kFlush;
  }
  return z;
}

}  // namespace tracked_detail

inline Tracked operator-(const Tracked& x) {
  Tracked z = x;
  z.mid = -z.mid;
  return z;
}

inline Tracked operator+(const Tracked& x, const Tracked& y) {
  Radii along;
  for (int k = 0; k < Radii::kKinds; ++k) along[k] = x.kernel[k] + y.kernel[k];
  return tracked_detail::result(x.mid + y.mid, x.rad + y.rad, along, 1, error_model::kRounding);
}

inline Tracked operator-(const Tracked& x, const Tracked& y) { return x + (-y); }

inline Tracked operator*(const Tracked& x, const Tracked& y) {
  const double mx = x.magnitude(), my = y.magnitude();
  Radii along;
  for (int k = 0; k < Radii::kKinds; ++k) {
    along[k] = mx * y.kernel[k] + (my + y.kernel[k]) * x.kernel[k];
    // A subnormal operand may be taken as zero.
    if (mx != 0 && my != 0) along[k] += error_model::kFlush * (mx + my);
  }
  return tracked_detail::result(x.mid * y.mid, mx * y.rad + my * x.rad, along, 1, error_model::kRounding);
}

inline Tracked operator/(const Tracked& x, const Tracked& y) {
  const double quotient = x.mid / y.mid;
  const double smallest = std::fabs(y.mid) - y.rad;  // at most |Y|
  if (!(smallest > 0)) {
    // Exactly 0: undefined (NaN). Perhaps 0: nothing is known in this arithmetic.
    Tracked z(y.mid == 0 && y.rad == 0 ? std::nan("") : 0.0);
    z.rad = HUGE_VAL;
    z.kernel.r.fill(HUGE_VAL);
    return z;
  }
  const double largest = x.magnitude() / smallest;
  const double rad = (x.rad + largest * y.rad) / smallest;
  Radii along;
  for (int k = 0; k < Radii::kKinds; ++k) {
    const double room = smallest - y.kernel[k];
    along[k] = room > 0 ? (x.kernel[k] + largest * y.kernel[k]) / room : HUGE_VAL;
  }
  return tracked_detail::result(quotient, rad, along, 1, error_model::kDivision);
}

// x / sqrt(s), which kernels compute as x * rsqrt(s).
inline Tracked divide_by_root(const Tracked& x, const Tracked& s) {
  const double smallest = s.mid - s.rad;
  if (!(smallest > 0)) {
    Tracked z(s.mid <= 0 && s.rad == 0 ? std::nan("") : 0.0);
    z.rad = HUGE_VAL;
    z.kernel.r.fill(HUGE_VAL);
    return z;
  }
  const double root = std::sqrt(s.mid);
  const double largest_inverse = tracked_detail::outward(1 / std::sqrt(smallest));
  // (1 - t)^(-1/2) - 1 <= t/2 (1 - t)^(-3/2), for s that is too small by the share t
  const auto relative = [](double share) {
    if (!(share < 1)) return HUGE_VAL;
    const double room = 1 - share;
    return share / (2 * room * std::sqrt(room));
  };
  const double mx = x.magnitude();
  const double from_s = relative(s.rad / smallest);
  const double rad = (mx * from_s + x.rad * (1 + from_s)) * largest_inverse;
  Radii along;
  for (int k = 0; k < Radii::kKinds; ++k) {
    const double share = relative(s.kernel[k] / smallest);
    if (!std::isfinite(share)) {
      along[k] = HUGE_VAL;  // s may be flushed to zero, and then even 0 * rsqrt(s) is a NaN
    } else {
      along[k] = (mx * share + x.kernel[k] * (1 + share)) * largest_inverse;
    }
  }
  // Two operations of the kernel, and the product of their errors.
  constexpr double kUnits = (error_model::kReciprocalRoot + error_model::kRounding) * (1 + 0x1p-20);
  return tracked_detail::result(x.mid / root, rad, along, 2, kUnits);
}

// The relative error of a kernel's exp at an argument of this size.
inline double exp_error(double argument) {
  return error_model::kUnit * (error_model::kExpBase + error_model::kExpSlope * std::fabs(argument));
}

// 1 / (1 + exp(-z)).
inline Tracked sigmoid(const Tracked& z) {
  const double e = exp_double(-std::fabs(z.mid));
  const double s = z.mid >= 0 ? 1 / (1 + e) : e / (1 + e);
  // |log s'| changes by at most 1 a unit of z, so within the radius s' stays below exp(radius - |z|) / (1 +
  // e)^2 (where that exponent is negative; else the next bound is smaller), and it is never above 1/4. The
  // exponent is off by at most 2^-42 where exp does not vanish.
  const auto steepest = [&](double radius) {
    const double bound = exp_double(std::min(radius - std::fabs(z.mid), 0.0)) / ((1 + e) * (1 + e));
    return std::min(0.25, bound * (1 + 0x1p-40) + error_model::kDoubleFlush);
  };
  Tracked result;
  result.mid = s;
  result.rad = tracked_detail::outward(std::min(1.0, steepest(z.rad) * z.rad) +
                                       s * (error_model::kDoubleExp + 3 * error_model::kDoubleUnit) +
                                       error_model::kDoubleFlush);
  for (int k = 0; k < Radii::kKinds; ++k) {
    if (!std::isfinite(z.kernel[k])) {
      result.kernel[k] = HUGE_VAL;  // perhaps a NaN, which a sigmoid does not bound
      continue;
    }
    const double slope = steepest(z.rad + z.kernel[k]);
    const double along = std::min(1.0, slope * z.kernel[k]);  // no two values are further apart than 1
    // exp's relative error times s', second order included by the doubled term; then the sum and the
    // quotient.
    const double exp_part = exp_error(z.magnitude() + z.kernel[k]);
    const double rounding = slope * exp_part * (1 + 2 * exp_part) +
                            (s + result.rad + along) * (error_model::kRounding + error_model::kDivision) *
                                error_model::kUnit * (1 + 0x1p-20);
    // Both are shares of 1, the kernel's to within its sum and its quotient.
    const double trivial = 1 + 8 * error_model::kUnit;
    result.kernel[k] = tracked_detail::outward(std::min(trivial, along + rounding) + 2 * error_model::kFlush);
  }
  return result;
}

}  // namespace mhcheck

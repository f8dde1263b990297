#include "reference/sums/long_sum.h"

#include <algorithm>
#include <cmath>

#include "reference/reference.h"

namespace mhcheck::sums {
namespace {

// How one way of forming products differs from fp32.
struct ProductModel {
  ProjectionPrecision precision;
  // Relative error of the factor fn as the multiplier sees it, were it truncated.
  double factor;
  // Roundings per addition, in u. Matrix units with 16-bit inputs align the products of a group of eight to
  // the largest exponent and cut them at 24 fraction bits, then floor and round the group's sum (measured on
  // CDNA3, MMA-Sim, arXiv 2511.10909): one u a product, two a group.
  double addition;
  // Of these, what always has the same sign: the cuts, one u a product and one u a group of eight.
  double biased_addition;
};

constexpr ProductModel kProductModels[] = {
    {ProjectionPrecision::fp32, 0, 1, 0},
    // 10 mantissa bits: the 13 low bits of fn are cut (NVIDIA) or rounded.
    {ProjectionPrecision::tf32, 0x1p-10, 2.5, 1.0 / 8},
    // hi = bf16(fn), lo = bf16(fn - hi): 8 bits each.
    {ProjectionPrecision::bf16x2, 0x1p-16, 2.5, 1.0 / 8},
    {ProjectionPrecision::bf16x1, 0x1p-8, 2.5, 1.0 / 8},
};

const ProductModel& model_of(ProjectionPrecision precision) {
  return *std::find_if(std::begin(kProductModels), std::end(kProductModels),
                       [&](const ProductModel& m) { return m.precision == precision; });
}

}  // namespace

Tracked bounded(const LongSum& sum, const SumModel& model) {
  using error_model::kFlush;
  using error_model::kUnit;
  const ProductModel& products = model_of(model.products);

  Tracked result;
  result.mid = sum.value;
  result.rad = sum.rad;
  const double absolute = sum.magnitude;
  const double total = std::fabs(sum.value) + sum.rad;
  // Any partial sum, in any order, is between minus the sum of the negative terms and the sum of the positive
  // ones; the larger of the two is half of (sum of absolute terms + |sum|).
  const double largest_partial = 0.5 * (absolute + std::min(total, absolute));
  const double n = sum.terms;
  const double growth = n * products.addition * kUnit;
  if (!(growth < 0.5)) {
    result.kernel.r.fill(HUGE_VAL);
    return result;
  }
  // Each of n additions (a fused product, or a product rounded by itself: once more the absolute terms) loses
  // u * |partial sum|, and a partial sum is itself off by what was lost before: the factor 1/(1 - growth).
  const double amplify = 1 / (1 - growth);
  const double product_rounding = absolute * kUnit;
  const double factor_error = products.factor * absolute;
  const double flush = absolute != 0 ? 2 * n * kFlush : 0;
  // Independent errors of mean zero: lambda * the root of the sum of their squares (Azuma-Hoeffding).
  const double lambda = reference::kLambda;
  const double factor_random = std::min(
      factor_error, lambda * products.factor * std::sqrt(absolute * std::min(sum.largest, absolute)));
  const double sums_random = lambda * std::sqrt(n) * products.addition * kUnit;
  // A cut of fn's low bits scales the sum; a cut of aligned products pulls it one way.
  const double biased = n * products.biased_addition * kUnit * largest_partial +
                        (products.biased_addition > 0 ? absolute * kUnit : 0) + products.factor * total;

  for (int k = 0; k < Radii::kKinds; ++k) {
    const double along = sum.along[k] * (1 + products.factor);
    const double partial = largest_partial + along;
    double own = 0;
    const double deterministic = growth * partial * amplify + product_rounding + factor_error;
    switch (model.independent_roundings ? k : Radii::kDeterministic) {
      case Radii::kDeterministic:
        own = deterministic;
        break;
      case Radii::kProbabilistic:
        own = std::min(deterministic,
                       biased + sums_random * partial * amplify + product_rounding + factor_random);
        break;
      case Radii::kSystematic:
        own = std::min(deterministic, biased);
        break;
    }
    result.kernel[k] = tracked_detail::outward(along + own * (1 + 0x1p-20) + flush);
  }
  // An fp32 sum that may overflow on the way has no bound.
  if (absolute + sum.along[Radii::kDeterministic] > 0x1.fffffep+127) result.kernel.r.fill(HUGE_VAL);
  return result;
}

}  // namespace mhcheck::sums

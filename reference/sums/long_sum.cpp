#include "reference/sums/long_sum.h"

#include <algorithm>
#include <cmath>

#include "reference/reference.h"

namespace mhcheck::sums {
namespace {

// How one way of forming products differs from fp32.
struct ProductModel {
  ProjectionPrecision precision;
  // Relative error of the factor fn as the multiplier sees it: cut to tf32 by hardware, rounded to bf16 by
  // the kernel (or cut, once, where there are two parts).
  double factor;
  // The other factor, too, is cut as fn is where it does not come from storage.
  bool both_factors;
  // How much larger than the term its part or parts may be, as a share of the term.
  double spread;
  // Roundings per addition, in u. Matrix units with 16-bit inputs align the products of a group of eight to
  // the largest exponent and cut them at 24 fraction bits, then floor and round the group's sum (measured on
  // CDNA3, MMA-Sim, arXiv 2511.10909): one u a product, two a group.
  double addition;
  // Of these, what always has the same sign: the cuts, one u a product and one u a group of eight.
  double biased_addition;
};

constexpr ProductModel kProductModels[] = {
    {ProjectionPrecision::fp32, 0, false, 0, 1, 0},
    // 10 mantissa bits: the 13 low bits are cut (NVIDIA) or rounded.
    {ProjectionPrecision::tf32, 0x1p-10, true, 0x1p-9, 2.5, 1.0 / 8},
    // hi = bf16(fn), lo = bf16(fn - hi): 8 bits each; lo is up to 2^-7 of fn, and may have the other sign.
    {ProjectionPrecision::bf16x2, 0x1p-16, false, 0x1p-6, 2.5, 1.0 / 8},
    {ProjectionPrecision::bf16x1, 0x1p-8, false, 0x1p-8, 2.5, 1.0 / 8},
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
  const double factor = products.both_factors && model.unrounded_factors
                            ? products.factor * (2 + products.factor)
                            : products.factor;
  const double factor_error = factor * absolute;
  const double flush = 2 * n * kFlush;
  // Independent errors of mean zero: lambda * the root of the sum of their squares (Azuma-Hoeffding).
  const double lambda = reference::kLambda;
  const double factor_random =
      std::min(factor_error, lambda * factor * std::sqrt(absolute * std::min(sum.largest, absolute)));
  const double sums_random = lambda * std::sqrt(n) * products.addition * kUnit;
  // A cut of fn's low bits scales the sum; a cut of aligned products pulls it one way.
  const double biased = n * products.biased_addition * kUnit * largest_partial +
                        (products.biased_addition > 0 ? absolute * kUnit : 0) + factor * total;

  // Where the terms have one sign, errors have one, too: small terms are lost to a large partial sum, always
  // downwards, and the last bits of short numbers' squares decide which way a partial sum goes for thousands
  // of additions.
  const double one_signed = absolute > 0 ? std::min(1.0, total / absolute) : 0;

  for (int k = 0; k < Radii::kKinds; ++k) {
    // A kernel's terms may be larger than the exact ones, and so its partial sums.
    const double along = sum.along[k] * (1 + factor);
    const double partial = largest_partial + along + products.spread * absolute;
    const double product_rounding = (absolute + along) * kUnit;
    double own = 0;
    const double deterministic = growth * partial * amplify + product_rounding + factor_error;
    switch (model.independent_roundings ? k : Radii::kDeterministic) {
      case Radii::kDeterministic:
        own = deterministic;
        break;
      case Radii::kProbabilistic:
        own = std::min(deterministic, biased + sum.swallowed + sums_random * partial * amplify +
                                          product_rounding + factor_random);
        break;
      case Radii::kSystematic:
        own = std::min(deterministic, biased + sum.swallowed + one_signed * sums_random * partial * amplify);
        break;
    }
    result.kernel[k] = tracked_detail::outward(along + own * (1 + 0x1p-20) + flush);
  }
  // An fp32 sum that may overflow on the way has no bound.
  if (!(absolute + result.kernel[Radii::kDeterministic] <= error_model::kLargest)) {
    result.kernel.r.fill(HUGE_VAL);
  }
  return result;
}

}  // namespace mhcheck::sums

// The bound on a long sum, valid for every order of summation, and under the probability model.
#pragma once

#include "reference/arithmetic/tracked.h"
#include "reference/base/operators.h"

namespace mhcheck::sums {

// A sum of terms (products or squares), and what a bound needs to know of them.
struct LongSum {
  double value = 0;  // the sum, within `rad` of the exact one
  double rad = 0;
  double magnitude = 0;  // at least the sum of the absolute terms
  double terms = 0;      // at least the number of terms that are not zero; a zero term costs no rounding
  double largest = 0;    // at least the largest absolute term
  Radii along;           // how far the kernel's terms may be off, summed
};

// How a kernel forms the sum.
struct SumModel {
  ProjectionPrecision products = ProjectionPrecision::fp32;
  // False where rounding errors repeat: then the deterministic radius stands for the probabilistic one too.
  bool independent_roundings = true;
};

// The sum with radii for any kernel that the model describes.
Tracked bounded(const LongSum& sum, const SumModel& model);

}  // namespace mhcheck::sums

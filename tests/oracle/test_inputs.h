// Inputs that are hard in one way each, for any operator.
#pragma once

#include <span>
#include <string_view>

#include "reference/base/operators.h"
#include "reference/base/tensor.h"
#include "tests/oracle/random_source.h"

namespace mhcheck::oracle {

struct Flavour {
  std::string_view name;
  // One element of a tensor that holds streams (residual, x), before rounding to its format.
  double (*stream)(RandomSource&);
  // One element of fn, of the partial sums and of norm_weight, of order 1; fn is divided by sqrt(K).
  double (*weight)(RandomSource&);
  double (*scale)(RandomSource&);
  double (*base)(RandomSource&);
  // One element of pre_mix, post_mix and comb_mix.
  double (*mix)(RandomSource&);
};

std::span<const Flavour> all_flavours();

// The inputs of input_specs(problem).
TensorMap make_inputs(const Problem& problem, const Flavour& flavour, RandomSource& random);

}  // namespace mhcheck::oracle

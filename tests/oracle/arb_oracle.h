// The contract's answers from its equations in Arb ball arithmetic, one token at a time: slow, plain, and
// sharing nothing with reference/ but the descriptions in reference/base.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "reference/base/operators.h"
#include "reference/base/tensor.h"

namespace mhcheck::oracle {

struct Answer {
  // The exact result of the contract correctly rounded to the output's format; its quiet NaN where the
  // contract defines no result. Partial sums [S,T,...] have the place of their sum over S here: [T,...].
  Tensor rounded;
  // The exact result to within 2^-52 relative; NaN where there is none. Elements as in `rounded`.
  std::vector<double> value;
};

// More than a hundred thousand bits did not settle how an element rounds.
class Undecided : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Answers by the names of output_specs(problem), for a legal problem and the inputs of input_specs(problem).
// The profile's projection precision does not matter: it changes no exact result.
std::map<std::string, Answer> arb_answers(const Problem& problem, const RoundingProfile& profile,
                                          const TensorMap& inputs);

// The rounded answers alone.
TensorMap arb_outputs(const Problem& problem, const RoundingProfile& profile, const TensorMap& inputs);

}  // namespace mhcheck::oracle

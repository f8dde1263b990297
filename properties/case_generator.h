// RapidCheck generator of whole cases: every legal shape, dtype, parameter and input regime, weighted so that
// most cases are small and special values are frequent.
#pragma once

#include <rapidcheck.h>

#include <functional>
#include <vector>

#include "reference/base/case.h"

namespace mhcheck::properties {

// What cases are drawn from.
struct CaseSpace {
  std::vector<Op> operators;  // at least one
  std::vector<Dtype> dtypes;  // at least one; bf16, fp16
  // Where the kernels under test round: what the cases of an operator are judged by.
  std::function<RoundingProfile(Op)> profile;
  // Whether the kernels take the problem. Of what they refuse some hundred draws in a row, the last one is
  // given all the same.
  std::function<bool(const Problem&)> takes;
  // Half of the cases have no more elements (see elements_of), one in a hundred up to 128 times as many; but
  // a single token of any hidden_size may come at any time.
  std::int64_t usual_elements = 0;
};

// Legal cases, canonical as parse_descriptor gives them. The same Random gives the same case on every
// machine. Shrinks along simpler_cases.
rc::Gen<Case> cases(const CaseSpace& space);

// What the time of a case goes with: elements of residual, of fn where there is a projection, and what mixes
// take beside these.
std::int64_t elements_of(const Problem& problem);

// The cases one step simpler than this one, the largest steps first: fewer tokens, a smaller hidden_size, the
// regime gauss, no norm, default parameters, fewer streams and splits. Finitely many steps lead to a case
// that has none. They keep operator and rounding profile.
std::vector<Case> simpler_cases(const Case& c);

}  // namespace mhcheck::properties

// Cases that the reference can judge.
#pragma once

#include "reference/base/case.h"

namespace mhcheck::properties {

// Without an eps a row of one magnitude normalises to its weights, which may be ties of the output's format.
// Where the row is not rounded before, it comes out of gates that no precision has exactly, and none decides
// the tie: the reference would end without an answer (docs/contract.md, section 6). Such a case gets an eps
// that is as good as none.
inline void make_decidable(Case& c) {
  const Problem& p = c.problem;
  if (p.norm_weight && !row_of(p.op).needs_norm && c.profile.collapse == CollapseRounding::fp32 &&
      p.parameters.norm_eps == 0) {
    c.problem.parameters.norm_eps = 1e-20f;
  }
}

}  // namespace mhcheck::properties

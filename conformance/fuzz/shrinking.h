// The search for the simplest case that fails in the same way, one evaluation after the other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conformance/fuzz/outcome.h"

namespace mhcheck::conformance {

class Shrinking {
 public:
  // `outcome` is the failure of `failing`.
  Shrinking(Case failing, Outcome outcome);

  // The case to evaluate next; nothing at the end of the search. Deterministic in the outcomes reported.
  std::optional<Case> next();
  // What came of the case that next() gave.
  void report(const Outcome& outcome);

  // The simplest case found so far that fails with the kind it began with, and how it fails.
  const Case& simplest() const { return simplest_; }
  const Outcome& outcome() const { return outcome_; }
  int evaluations() const { return evaluations_; }

 private:
  Case simplest_;
  Outcome outcome_;
  std::vector<Case> simpler_;  // than the simplest
  std::size_t tried_ = 0;      // of these
  int evaluations_ = 0;
  int hung_ = 0;
};

}  // namespace mhcheck::conformance

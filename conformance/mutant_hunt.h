// The zoo put through the suite: for each mutant, the first case of the suite at which the check that must
// catch it does, and whether today's usual recipe would have passed it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "conformance/case_result.h"
#include "conformance/usual_recipe.h"
#include "kernels/mutants/zoo.h"

namespace mhcheck::conformance {

// One check that found something at a case.
struct MutantFinding {
  mutants::Check check;
  std::string kind;    // the failure's name, "outside_deterministic", or the law's
  std::string detail;  // one line
};

struct MutantResult {
  const mutants::Mutant* mutant = nullptr;
  // The last case that was tried: the one at which the promised check fired, if any did.
  std::string descriptor;
  int cases = 0;                        // tried
  std::vector<MutantFinding> findings;  // at that case, in the order of kChecks
  std::vector<OutputVerdict> outputs;   // at that case
  // What the usual recipe says: the first mismatch at its shapes, or a fault; empty where it passes.
  std::string recipe;
  double seconds = 0;

  bool found_by(mutants::Check check) const;
  bool killed() const;
};

// Cases and right answers of the usual recipe, made once an operator. Thread-safe.
class UsualAnswers {
 public:
  struct Answer {
    Case c;
    TensorMap inputs;
    TensorMap expected;
  };
  std::span<const Answer> of(Op op);

 private:
  std::mutex mutex_;
  std::map<Op, std::vector<Answer>> answers_;
};

// Cases of the smoke profile first, then the smaller ones of the merge profile, small to large, until the
// promised check fires. Throws kernels::ManifestError and what opening the simulator throws.
MutantResult hunt(const mutants::Mutant& mutant, UsualAnswers& usual);

// In the order of the mutants; they run side by side.
std::vector<MutantResult> hunt_all(std::span<const mutants::Mutant* const> mutants);

// 0 when all are killed, else 1.
int exit_code(std::span<const MutantResult> results);

}  // namespace mhcheck::conformance

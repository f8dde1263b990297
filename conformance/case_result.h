// What became of one case under one kernel.
#pragma once

#include <string>
#include <vector>

#include "conformance/law_check.h"
#include "conformance/verdict.h"
#include "kernels/kernel_set.h"
#include "reference/base/case.h"
#include "reference/reference.h"

namespace mhcheck::conformance {

enum class CaseStatus {
  passed,
  failed,
  refused,   // the kernel states that it does not take this problem: neither right nor wrong
  unjudged,  // the reference could not certify a value: nothing can be said
};

constexpr std::string_view name_of(CaseStatus status) {
  switch (status) {
    case CaseStatus::passed:
      return "passed";
    case CaseStatus::failed:
      return "failed";
    case CaseStatus::refused:
      return "refused";
    case CaseStatus::unjudged:
      return "unjudged";
  }
  return "?";
}

struct CaseResult {
  Case tested;
  std::string kernel;
  std::string device;
  CaseStatus status = CaseStatus::unjudged;
  std::string reason;  // of a refusal, or of the missing judgement: one line
  std::string repeat;  // the command that does this one case again

  std::vector<OutputVerdict> outputs;  // in the order of output_specs; none after a fault
  std::vector<Finding> run_findings;   // of the run as a whole: a fault, changed inputs, broken laws
  std::vector<LawOutcome> laws;        // that were asked for
  reference::Certification certification;

  std::vector<kernels::LaunchReport> launches;
  double kernel_seconds = 0;
  double judge_seconds = 0;
};

// What the launches counted, added up by name. "cache_lines" are those of each launch: a line that two
// launches touch counts twice.
kernels::Counters added_up(const std::vector<kernels::LaunchReport>& launches);

// The worst of a case's outputs, for tables: error in bound units, in ulps, |fitted scale - 1|.
struct WorstErrors {
  double bound_units = 0;
  double ulps = 0;
  double bias = 0;

  void include(const CaseResult& result);
  void include(const WorstErrors& other);
};

}  // namespace mhcheck::conformance

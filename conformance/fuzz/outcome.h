// What one evaluation of a case came to, as it travels between processes and stands in journals.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/case_result.h"

namespace mhcheck::conformance {

// Kinds of failure beside those of FailureKind; of a broken law the kind is its name.
inline constexpr std::string_view kCrashed = "crashed", kHung = "hung", kUnjudged = "unjudged";

struct Outcome {
  CaseStatus status = CaseStatus::refused;  // what cannot be judged has failed, with kind kUnjudged
  std::string kind;                         // of a failure
  std::string text;                         // of a failure: lines that say what is wrong, each ended
  WorstErrors worst;
  std::uint64_t elements = 0, undefined = 0, flushed = 0, launches = 0;
  reference::Certification certification;
  std::vector<std::string> laws_kept, laws_broken;
  std::uint64_t laws_silent = 0;  // about this case
  double seconds = 0;
};

nlohmann::json to_json(const Outcome& outcome);

// Throws std::invalid_argument, with one line, for what to_json does not write.
Outcome outcome_from_json(const nlohmann::json& json);

}  // namespace mhcheck::conformance

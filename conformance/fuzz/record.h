// What a campaign keeps of one finished case.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "conformance/fuzz/outcome.h"

namespace mhcheck::conformance {

// The simplest case that fails as the record's does.
struct SimplestFailure {
  Case tested;
  std::string text;  // as Outcome::text
  int evaluations = 0;
};

struct Record {
  std::uint64_t number = 0;
  Case tested;
  std::string kernel;
  Outcome outcome;
  std::optional<SimplestFailure> simplest;  // where the case failed
};

nlohmann::json to_json(const Record& record);
// Throws std::invalid_argument, with one line, for what to_json does not write.
Record record_from_json(const nlohmann::json& json);

}  // namespace mhcheck::conformance

// What a fuzz campaign came to, as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "conformance/fuzz/evaluator.h"
#include "conformance/fuzz/tally.h"

namespace mhcheck::conformance {

// A failure in words: the campaign's case, the simplest that fails alike, how, and the command that repeats
// it. `saved` is the command that takes its file, or why there is none.
std::string fuzz_failure_text(const Record& failure, const std::string& saved);

// The table of kernels and operators, what share of the cases reached which class, how often each law was
// tried, and a line for each axis with classes that no case reached.
std::string fuzz_summary(const Tally& tally, std::span<const Op> operators);

// The same for programs, with the failures; `options` says what was asked for.
nlohmann::ordered_json fuzz_json(const Tally& tally, std::span<const Op> operators,
                                 nlohmann::ordered_json options);

}  // namespace mhcheck::conformance

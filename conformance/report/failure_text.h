// A failing case in words: what failed, the worst element in decimal and bits, and how to repeat it.
#pragma once

#include <string>

#include "conformance/case_result.h"

namespace mhcheck::conformance {

// "token 5, index 17 (element 20497)"
std::string place_of(const ElementReport& element);

// The element in aligned lines, each indented by `indent` spaces and ended by a newline.
std::string element_text(const ElementReport& element, Dtype dtype, int indent);

// The finding in one line without its element: kind, count, meaning.
std::string finding_line(const Finding& finding, std::uint64_t elements);

// Scale, mean and signs of an output in one line.
std::string aggregates_line(const Aggregates& aggregates);

// The whole failure, several lines, ended by a newline. Empty for a case that did not fail.
std::string failure_text(const CaseResult& result);

}  // namespace mhcheck::conformance

// A campaign as one HTML page that needs nothing else: the table, the failures, and a plot an operator of
// error against hidden_size.
#pragma once

#include <span>
#include <string>

#include "conformance/case_result.h"

namespace mhcheck::conformance {

std::string html_report(std::span<const CaseResult> results);

}  // namespace mhcheck::conformance

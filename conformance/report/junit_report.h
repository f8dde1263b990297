// A campaign as JUnit XML, the form that build servers show: one suite a kernel and operator, one test a
// case.
#pragma once

#include <span>
#include <string>

#include "conformance/case_result.h"

namespace mhcheck::conformance {

std::string junit_report(std::span<const CaseResult> results);

}  // namespace mhcheck::conformance

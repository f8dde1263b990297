// Everything about one case in words: parameters, inputs, certification, a verdict an output.
#pragma once

#include <string>

#include "conformance/case_result.h"
#include "reference/base/tensor.h"

namespace mhcheck::conformance {

std::string case_text(const CaseResult& result, const TensorMap& inputs);

}  // namespace mhcheck::conformance

// The inputs of a case as golden files need them: the generated tensors, and how their roundings behave.
#pragma once

#include "golden/make.h"

namespace mhcheck::conformance {

// Throws properties::UnknownRegime.
golden::GeneratedInputs generated_inputs(const Case& c);

}  // namespace mhcheck::conformance

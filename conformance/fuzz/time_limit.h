// How long a case may take before it counts as hung.
#pragma once

#include <chrono>

#include "conformance/kernel_registry.h"
#include "reference/base/case.h"

namespace mhcheck::conformance {

std::chrono::duration<double> time_limit(const Case& c, const KernelRow& row);

}  // namespace mhcheck::conformance

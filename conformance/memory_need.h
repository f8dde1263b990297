// Whether a case fits into this machine: better one line than a killed process.
#pragma once

#include <stdexcept>

#include "reference/base/case.h"

namespace mhcheck::conformance {

// One line: what the case needs and what the machine has.
class NotEnoughMemory : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws NotEnoughMemory when the case's tensors, the kernel's copies included, exceed the physical memory.
void require_memory_for(const Case& c);

}  // namespace mhcheck::conformance

// Kernels that the user brings, a code object with a launch manifest, as rows beside the program's own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "conformance/kernel_registry.h"

namespace mhcheck::conformance {

struct BroughtKernels {
  std::filesystem::path manifest;
  std::filesystem::path code_object;  // empty: the one that the manifest names
  std::string variant;                // empty: as the manifest chooses; kernels::kAllVariants: every one
  std::string device;
  simulator::Options simulation;
};

// One row, called as the manifest is, with "/VARIANT" behind it where a variant is named; a row a variant
// when all are asked for. Throws UnknownName for a device without code objects and for an unknown variant,
// and kernels::ManifestError. The code object is opened by `make`.
std::vector<KernelRow> rows_of(const BroughtKernels& brought);

}  // namespace mhcheck::conformance

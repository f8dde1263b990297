// Writing a folder of golden cases.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "golden/manifest.h"
#include "reference/base/case.h"
#include "reference/base/tensor.h"
#include "reference/reference.h"

namespace mhcheck::golden {

struct GeneratedInputs {
  TensorMap tensors;  // those of input_specs(problem)
  reference::ReferenceOptions options;
};

// Generates the inputs of a case; what a case's regime means is not this folder's business.
using InputSource = std::function<GeneratedInputs(const Case&)>;

// The name under which a case is kept: its shortest descriptor, with '-' for ':', which not every file system
// takes.
std::string case_name(const Case& c);

// Computes each case and writes it to folder/NAME.safetensors, then the manifest, which names exactly these
// cases. The folder is created when it is missing. `made` is told of each case as it is finished.
//
// Throws FileError when something cannot be written, std::invalid_argument when two cases have one name, and
// what the reference throws. Until the manifest is replaced at the very end, a manifest that was there stays.
Manifest make(const std::filesystem::path& folder, std::span<const Case> cases, const InputSource& inputs_of,
              const std::function<void(const ManifestEntry&)>& made);

}  // namespace mhcheck::golden

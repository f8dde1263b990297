// The verdict on all outputs of a case, from the certified reference.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "conformance/verdict.h"
#include "reference/base/case.h"
#include "reference/reference.h"

namespace mhcheck::conformance {

struct Judgement {
  std::vector<OutputVerdict> outputs;  // in the order of output_specs
  reference::Certification certification;
};

// The stored bytes of each output, by name.
using StoredOutputs = std::map<std::string, std::span<const std::byte>>;

enum class Threads {
  one,  // judge in the calling thread
  all,  // judge blocks of tokens side by side; the verdict is the same
};

// `inputs` are the case's. Throws what reference::Reference throws, and std::invalid_argument for an output
// that is missing or has the wrong size.
Judgement judge_outputs(const Case& c, const TensorMap& inputs, const StoredOutputs& stored, Threads threads);

}  // namespace mhcheck::conformance

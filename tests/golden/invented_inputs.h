// Inputs for tests of golden files: any finite numbers do, as long as they differ from one another and from
// case to case, and give finite results.
#pragma once

#include <string_view>

#include "golden/make.h"
#include "reference/base/operators.h"

namespace mhcheck::golden {

inline GeneratedInputs invented_inputs(const Case& c) {
  GeneratedInputs inputs;
  std::uint64_t state = c.seed;
  for (const TensorSpec& spec : input_specs(c.problem)) {
    Tensor tensor(spec.dtype, spec.shape);
    // A sum of squares is not negative.
    const double shift = spec.name == std::string_view("gemm_out_sqrsum") ? 1.0 : -0.5;
    for (std::size_t e = 0; e < tensor.size(); ++e) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      tensor.set(e, shift + static_cast<double>(state >> 40) * 0x1p-24);
    }
    inputs.tensors.emplace(spec.name, std::move(tensor));
  }
  return inputs;
}

}  // namespace mhcheck::golden

#include "conformance/program/generated_inputs.h"

#include "properties/regimes.h"

namespace mhcheck::conformance {

golden::GeneratedInputs generated_inputs(const Case& c) {
  TensorMap tensors = properties::make_inputs(c);
  return {.tensors = std::move(tensors),
          .options = {.independent_roundings = properties::find_regime(c.regime)->independent_roundings}};
}

}  // namespace mhcheck::conformance

#include "properties/laws/run.h"

namespace mhcheck::properties {

TensorMap filled_outputs(const Problem& problem, std::uint32_t (*fill)(Dtype)) {
  TensorMap outputs;
  for (const TensorSpec& spec : output_specs(problem)) {
    Tensor tensor(spec.dtype, spec.shape);
    for (std::size_t i = 0; i < tensor.size(); ++i) tensor.set_bits(i, fill(spec.dtype));
    outputs.emplace(spec.name, std::move(tensor));
  }
  return outputs;
}

std::uint32_t poison(Dtype dtype) {
  const FloatFormat f = format_of(dtype);
  const std::uint32_t low_mantissa = (1u << (f.mantissa_bits() - 1)) - 1;
  return f.quiet_nan() | (0x2aaaaau & low_mantissa);
}

TensorMap outputs_of(Subject& subject, const Problem& problem, TensorMap inputs) {
  TensorMap outputs = filled_outputs(problem, poison);
  subject.run(problem, inputs, outputs);
  return outputs;
}

}  // namespace mhcheck::properties

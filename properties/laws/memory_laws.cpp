#include "properties/laws/memory_laws.h"

#include <fmt/format.h>

#include "properties/laws/run.h"
#include "properties/laws/tokens.h"

namespace mhcheck::properties {
namespace {

Problem without_tokens(const Problem& problem) {
  Problem empty = problem;
  empty.num_tokens = 0;
  return empty;
}

std::optional<std::string> changed_input(const TensorMap& before, const TensorMap& after) {
  for (const auto& [name, tensor] : before) {
    const Tensor& left = after.at(name);
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      if (tensor.bits(i) == left.bits(i)) continue;
      return fmt::format("element {} of {} was {} and is {}", i, name,
                         hex_bits(tensor.dtype(), tensor.bits(i)), hex_bits(left.dtype(), left.bits(i)));
    }
  }
  return std::nullopt;
}

// A second thing for outputs to hold before a run, unlike the poison in every second bit.
std::uint32_t other_poison(Dtype dtype) {
  const FloatFormat f = format_of(dtype);
  const std::uint32_t low_mantissa = (1u << (f.mantissa_bits() - 1)) - 1;
  return poison(dtype) ^ low_mantissa;
}

}  // namespace

std::string needs_nothing(const Trial&) { return {}; }

std::string needs_an_empty_batch_to_be_taken(const Trial& trial) {
  return trial.subject().why_refused(without_tokens(trial.problem()));
}

std::optional<std::string> an_empty_batch_breaks(Trial& trial) {
  const Problem empty = without_tokens(trial.problem());
  const TensorMap before = with_tokens(input_specs, trial.problem(), trial.inputs(), {});
  TensorMap inputs = before;
  TensorMap outputs = filled_outputs(empty, poison);
  const RunTrace trace = trial.subject().run(empty, inputs, outputs);
  if (trace.launches > 0) return fmt::format("{} launches for no tokens", trace.launches);
  if (!trace.written_outside.empty()) return trace.written_outside;
  return changed_input(before, inputs);
}

std::optional<std::string> outputs_break(Trial& trial) {
  TensorMap inputs = trial.inputs();
  TensorMap outputs = filled_outputs(trial.problem(), other_poison);
  const RunTrace trace = trial.subject().run(trial.problem(), inputs, outputs);
  if (!trace.written_outside.empty()) return trace.written_outside;
  for (const TensorSpec& spec : output_specs(trial.problem())) {
    const Tensor &one = trial.outputs().at(std::string(spec.name)),
                 &other = outputs.at(std::string(spec.name));
    for (std::size_t i = 0; i < one.size(); ++i) {
      if (one.bits(i) == poison(spec.dtype) && other.bits(i) == other_poison(spec.dtype)) {
        return fmt::format("element {} of {} holds what it held before the run", i, spec.name);
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> inputs_break(Trial& trial) {
  TensorMap inputs = trial.inputs();
  TensorMap outputs = filled_outputs(trial.problem(), poison);
  trial.subject().run(trial.problem(), inputs, outputs);
  return changed_input(trial.inputs(), inputs);
}

}  // namespace mhcheck::properties

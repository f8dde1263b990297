#include "conformance/usual_recipe.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "properties/random_row.h"

namespace mhcheck::conformance {
namespace {

constexpr std::int64_t kNumTokens[] = {1, 8};
constexpr std::int64_t kHiddenSizes[] = {4096, 7168};

// Of the standard normal numbers.
float factor_of(std::string_view tensor) {
  if (tensor == "fn" || tensor == "fn_broadcast") return 1e-4f;
  if (tensor == "hc_scale" || tensor == "hc_base") return 0.1f;
  return 1;
}

std::uint32_t bits_at(std::span<const std::byte> bytes, Dtype dtype, std::size_t index) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, bytes.data() + index * size_of(dtype), size_of(dtype));
  return bits;
}

}  // namespace

std::vector<Case> usual_cases(Op op) {
  const OperatorRow& row = row_of(op);
  std::vector<std::optional<Dtype>> norms{std::nullopt};
  if (row.fused_norm) norms.push_back(Dtype::bf16);
  if (row.needs_norm) norms = {Dtype::bf16};
  std::vector<Entry> entries{Entry::carried};
  if (row.entries) entries = {Entry::carried, Entry::entry, Entry::broadcast};

  std::vector<Case> cases;
  for (const std::int64_t num_tokens : kNumTokens) {
    for (const std::int64_t hidden_size : kHiddenSizes) {
      for (const std::optional<Dtype>& norm : norms) {
        for (const Entry entry : entries) {
          Case c;
          c.problem.op = op;
          c.problem.num_tokens = num_tokens;
          c.problem.hidden_size = hidden_size;
          c.problem.norm_weight = norm;
          c.problem.entry = entry;
          if ((row.parameters & kHcPostMultValue) != 0) c.problem.parameters.hc_post_mult_value = 1;
          cases.push_back(parse_descriptor(to_descriptor(c)));
        }
      }
    }
  }
  return cases;
}

TensorMap usual_inputs(const Case& c) {
  TensorMap inputs;
  for (const TensorSpec& spec : input_specs(c.problem)) {
    Tensor tensor(spec.dtype, spec.shape);
    std::vector<float> values(tensor.size());
    properties::RandomRow(c.seed, spec.name, /*row=*/0).gaussians(/*lane=*/0, /*first=*/0, values);
    const float factor = factor_of(spec.name);
    for (std::size_t i = 0; i < values.size(); ++i) tensor.set(i, values[i] * factor);
    inputs.emplace(spec.name, std::move(tensor));
  }
  return inputs;
}

std::optional<UsualMismatch> usual_comparison(const TensorMap& expected, const StoredOutputs& got) {
  for (const auto& [name, tensor] : expected) {
    UsualMismatch mismatch{.output = name};
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      const double right = tensor.value(i),
                   stored = decode(tensor.dtype(), bits_at(got.at(name), tensor.dtype(), i));
      const double tolerance = kUsualAbsoluteTolerance + kUsualRelativeTolerance * std::fabs(right);
      if (std::fabs(stored - right) <= tolerance) continue;
      if (mismatch.elements++ == 0) {
        mismatch.got = stored;
        mismatch.expected = right;
      }
    }
    if (mismatch.elements > 0) return mismatch;
  }
  return std::nullopt;
}

}  // namespace mhcheck::conformance

#include "reference/evaluation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <span>
#include <type_traits>

#include "reference/base/vectorised.h"

namespace mhcheck {
namespace {

struct SourceRow {
  std::string_view output;
  Source source;
};

constexpr SourceRow kSources[] = {
    {"next_residual", Source::next_residual},
    {"residual", Source::expanded},
    {"next_pre_mix", Source::pre},
    {"post_mix", Source::post},
    {"comb_mix", Source::comb},
    {"layer_input", Source::layer_input},
    {"y", Source::layer_input},
    {"gemm_out_mul", Source::projection},
    {"gemm_out_sqrsum", Source::sqrsum},
};

constexpr std::string_view kShared[] = {"fn", "fn_broadcast", "hc_scale", "hc_base", "norm_weight"};

bool per_token(const TensorSpec& spec) {
  return std::find(std::begin(kShared), std::end(kShared), spec.name) == std::end(kShared);
}

// One loop a format, so that it vectorises.
template <Dtype D, class Word>
void decode_all(std::span<const Word> words, double* out) {
  for (const Word word : words)
    *out++ =
        decode(D, std::bit_cast<std::conditional_t<D == Dtype::fp32, std::uint32_t, std::uint16_t>>(word));
}

MHCHECK_VECTORISED
std::vector<double> numbers(const Tensor& tensor, std::size_t first, std::size_t count) {
  std::vector<double> result(count);
  switch (tensor.dtype()) {
    case Dtype::bf16:
      decode_all<Dtype::bf16>(tensor.halves().subspan(first, count), result.data());
      break;
    case Dtype::fp16:
      decode_all<Dtype::fp16>(tensor.halves().subspan(first, count), result.data());
      break;
    case Dtype::fp32:
      decode_all<Dtype::fp32>(tensor.floats().subspan(first, count), result.data());
      break;
  }
  return result;
}

// Looks at every word, so that the loop vectorises.
template <Dtype D, class Word>
bool all_finite(std::span<const Word> words) {
  bool finite = true;
  for (const Word word : words) {
    finite &=
        is_finite(D, std::bit_cast<std::conditional_t<D == Dtype::fp32, std::uint32_t, std::uint16_t>>(word));
  }
  return finite;
}

MHCHECK_VECTORISED
bool all_finite(const Tensor& tensor, std::size_t first, std::size_t count) {
  switch (tensor.dtype()) {
    case Dtype::bf16:
      return all_finite<Dtype::bf16>(tensor.halves().subspan(first, count));
    case Dtype::fp16:
      return all_finite<Dtype::fp16>(tensor.halves().subspan(first, count));
    case Dtype::fp32:
      return all_finite<Dtype::fp32>(tensor.floats().subspan(first, count));
  }
  return false;
}

}  // namespace

Source source_of(std::string_view output) {
  return std::find_if(std::begin(kSources), std::end(kSources),
                      [&](const SourceRow& s) { return s.output == output; })
      ->source;
}

bool needs_mixes(const Problem& problem) {
  switch (problem.op) {
    case Op::mhc_pre:
    case Op::mhc_pre_big_fuse:
    case Op::mhc_fused_post_pre:
    case Op::mhc_pre_delayed:
    case Op::mhc_fused_post_pre_delayed:
    case Op::hc_head:
    case Op::sinkhorn:
      return true;
    default:
      return false;
  }
}

// The collapse reads pre of this evaluation, not a given one.
bool collapse_needs_mixes(const Problem& problem) {
  return problem.op == Op::mhc_pre || problem.op == Op::mhc_pre_big_fuse ||
         problem.op == Op::mhc_fused_post_pre || problem.op == Op::hc_head;
}

// What the mean of the squares divides by.
std::int64_t mean_terms(const Problem& problem) {
  return problem.op == Op::mhc_pre_delayed && problem.entry == Entry::broadcast ? problem.hidden_size
                                                                                : problem.hc_hidden_size();
}

std::string fn_name(const Problem& problem) {
  return problem.op == Op::mhc_pre_delayed && problem.entry == Entry::broadcast ? "fn_broadcast" : "fn";
}

std::vector<double> CaseInputs::of_token(const std::string& name, std::int64_t t, std::size_t offset,
                                         std::size_t count) const {
  const Tensor& tensor = tensors_.at(name);
  const std::size_t per_token = tensor.size() / static_cast<std::size_t>(problem_.num_tokens);
  return numbers(tensor, static_cast<std::size_t>(t) * per_token + offset, count);
}

std::vector<double> CaseInputs::shared(const std::string& name) const {
  return numbers(tensors_.at(name), 0, tensors_.at(name).size());
}

std::vector<double> CaseInputs::partials(const std::string& name, std::int64_t t, std::size_t e) const {
  const Tensor& tensor = tensors_.at(name);
  const auto tokens = static_cast<std::size_t>(problem_.num_tokens),
             splits = static_cast<std::size_t>(problem_.split_k);
  const std::size_t per_token = tensor.size() / splits / tokens;
  std::vector<double> result;
  for (std::size_t s = 0; s < splits; ++s) {
    result.push_back(tensor.value((s * tokens + static_cast<std::size_t>(t)) * per_token + e));
  }
  return result;
}

bool CaseInputs::token_is_finite(std::int64_t t) const {
  for (const TensorSpec& spec : input_specs(problem_)) {
    if (!per_token(spec)) continue;
    const Tensor& tensor = tensors_.at(std::string(spec.name));
    const auto tokens = static_cast<std::size_t>(problem_.num_tokens);
    const std::size_t splits = spec.partial_sums ? static_cast<std::size_t>(problem_.split_k) : 1;
    const std::size_t count = tensor.size() / splits / tokens;
    for (std::size_t s = 0; s < splits; ++s) {
      if (!all_finite(tensor, (s * tokens + static_cast<std::size_t>(t)) * count, count)) return false;
    }
  }
  return true;
}

bool CaseInputs::shared_are_finite() const {
  for (const TensorSpec& spec : input_specs(problem_)) {
    const Tensor& tensor = tensors_.at(std::string(spec.name));
    if (!per_token(spec) && !all_finite(tensor, 0, tensor.size())) return false;
  }
  return true;
}

}  // namespace mhcheck

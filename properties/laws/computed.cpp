#include "properties/laws/computed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/regimes.h"
#include "reference/acceptance.h"
#include "reference/arithmetic/error_model.h"

namespace mhcheck::properties {
namespace {

constexpr std::int64_t kBlockTokens = reference::Reference::kBlockTokens;

double half_spacing(Dtype dtype, double value, double radius) {
  switch (dtype) {
    case Dtype::bf16:
      return reference::half_spacing<Dtype::bf16>(value, radius);
    case Dtype::fp16:
      return reference::half_spacing<Dtype::fp16>(value, radius);
    case Dtype::fp32:
      return reference::half_spacing<Dtype::fp32>(value, radius);
  }
  return 0;
}

double largest_finite(Dtype dtype) { return decode(dtype, format_of(dtype).infinity() - 1); }

// The reference of a computation, a block of tokens at a time, formed when it is asked for: where the bits
// agree nobody does.
class Expected {
 public:
  Expected(const Computed& computed, const reference::ReferenceOptions& options)
      : computed_(computed), options_(options) {}

  const reference::OutputBlock& output(std::int64_t first_token, std::string_view name) {
    if (!reference_) reference_.emplace(computed_.problem, computed_.profile, computed_.inputs, options_);
    if (!block_ || block_->first_token != first_token) {
      block_ = reference_->evaluate(first_token,
                                    std::min(kBlockTokens, computed_.problem.num_tokens - first_token));
    }
    return *std::ranges::find(block_->outputs, name,
                              [](const reference::OutputBlock& output) { return output.spec.name; });
  }

 private:
  const Computed& computed_;
  const reference::ReferenceOptions& options_;
  std::optional<reference::Reference> reference_;
  std::optional<reference::Block> block_;
};

const TensorSpec& spec_named(const std::vector<TensorSpec>& specs, std::string_view name) {
  return *std::ranges::find(specs, name, &TensorSpec::name);
}

std::size_t elements_per_token(const TensorSpec& spec) {
  const std::ptrdiff_t tokens_axis = spec.partial_sums ? 1 : 0;
  return element_count(Extents(spec.shape.begin() + tokens_axis + 1, spec.shape.end()));
}

}  // namespace

Computed computed(Trial& trial) {
  return {trial.problem(), trial.tested().profile, trial.inputs(), trial.outputs()};
}

reference::ReferenceOptions options_of(const Case& c) {
  return {.independent_roundings = find_regime(c.regime)->independent_roundings};
}

std::vector<Match> same_outputs(const Problem& problem) {
  std::vector<Match> matches;
  for (const TensorSpec& spec : output_specs(problem)) {
    matches.push_back({.one = std::string(spec.name), .other = std::string(spec.name)});
  }
  return matches;
}

StoredElement stored_element(const TensorSpec& spec, const Tensor& tensor, std::size_t place) {
  if (!spec.partial_sums) return {tensor.value(place), 0};
  const auto splits = static_cast<std::size_t>(spec.shape[0]);
  const std::size_t stride = tensor.size() / splits;
  StoredElement sum;
  double magnitude = 0;
  for (std::size_t s = 0; s < splits; ++s) {
    const double partial = tensor.value(s * stride + place);
    sum.value += partial;
    magnitude += std::fabs(partial);
  }
  sum.error = static_cast<double>(splits) * error_model::kDoubleUnit * magnitude * error_model::kOutward;
  return sum;
}

double allowance(const reference::OutputBlock& output, std::size_t element) {
  const double value = output.value[element], radius = output.probabilistic[element];
  const Dtype dtype = output.spec.dtype;
  // The sum over the splits is rounded nowhere.
  const double rounding = output.spec.partial_sums ? 0 : half_spacing(dtype, value, radius);
  if (std::isnan(value) || !std::isfinite(radius)) return HUGE_VAL;
  // An infinity is right.
  if (std::fabs(value) + radius + rounding >= largest_finite(dtype)) return HUGE_VAL;
  const double flush = dtype == Dtype::fp32 ? error_model::kFlush : 0;
  return (reference::outward(value, radius) + rounding + flush) * error_model::kOutward;
}

std::optional<std::string> disagreement(const Computed& one, const Computed& other,
                                        std::span<const Match> matches,
                                        const reference::ReferenceOptions& options) {
  const std::vector<TensorSpec> specs = output_specs(one.problem), other_specs = output_specs(other.problem);
  Expected expected(one, options), other_expected(other, options);
  for (std::int64_t first = 0; first < one.problem.num_tokens; first += kBlockTokens) {
    const std::int64_t count = std::min(kBlockTokens, one.problem.num_tokens - first);
    for (const Match& match : matches) {
      const TensorSpec &spec = spec_named(specs, match.one),
                       &other_spec = spec_named(other_specs, match.other);
      const Tensor &tensor = one.outputs.at(match.one), &other_tensor = other.outputs.at(match.other);
      const std::size_t row = elements_per_token(spec);
      const double factor = std::ldexp(1.0, match.exponent);
      for (std::size_t e = 0; e < static_cast<std::size_t>(count) * row; ++e) {
        const std::size_t token = e / row, index = e % row;
        const std::size_t f = token * row + (match.places.empty() ? index : match.places[index]);
        const std::size_t skipped = static_cast<std::size_t>(first) * row;
        const StoredElement stored = stored_element(spec, tensor, skipped + e),
                            other_stored = stored_element(other_spec, other_tensor, skipped + f);
        if (factor * stored.value == other_stored.value) continue;
        const reference::OutputBlock &block = expected.output(first, match.one),
                                     &other_block = other_expected.output(first, match.other);
        const double allowed = std::fabs(other_block.value[f] - factor * block.value[e]) +
                               factor * (allowance(block, e) + stored.error) + allowance(other_block, f) +
                               other_stored.error;
        // Not finite on one side: beyond any finite allowance.
        const double apart = std::fabs(other_stored.value - factor * stored.value);
        if (std::isnan(allowed) || allowed == HUGE_VAL || apart <= allowed * error_model::kOutward) continue;
        return fmt::format(
            "{} of token {}, element {}: {:.9g}, and {:.9g} in place of {:.9g}, {:.3g} apart where {:.3g} is "
            "allowed",
            match.one, first + static_cast<std::int64_t>(token), index, stored.value, other_stored.value,
            factor * stored.value, apart, allowed);
      }
    }
  }
  return std::nullopt;
}

}  // namespace mhcheck::properties

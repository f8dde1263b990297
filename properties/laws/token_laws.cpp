#include "properties/laws/token_laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "properties/laws/run.h"
#include "properties/laws/tokens.h"

namespace mhcheck::properties {
namespace {

constexpr std::string_view kNoClaim = "the kernel declares that it is not batch invariant";

// The law that these tokens alone, in this order, have the bits that they have among all.
std::optional<std::string> differs_among(Trial& trial, std::span<const std::int64_t> tokens) {
  Problem problem = trial.problem();
  problem.num_tokens = static_cast<std::int64_t>(tokens.size());
  // A batch that the kernel refuses says nothing.
  if (!trial.subject().why_refused(problem).empty()) return std::nullopt;
  const TensorMap chosen =
      outputs_of(trial.subject(), problem, with_tokens(input_specs, trial.problem(), trial.inputs(), tokens));
  return first_difference(trial.problem(), tokens,
                          with_tokens(output_specs, trial.problem(), trial.outputs(), tokens), chosen);
}

// Every third token, the last among them: each of the others has a spoilt neighbour, and in every tile of
// three or more there are both.
bool is_spoilt(std::int64_t token, std::int64_t num_tokens) { return (num_tokens - 1 - token) % 3 == 0; }

// The law that other tokens keep their bits when all inputs of the spoilt ones are such numbers.
std::optional<std::string> spoilt_tokens_break(Trial& trial, std::uint32_t (*spoil)(Dtype, std::size_t),
                                               std::string_view what) {
  const Problem& problem = trial.problem();
  const auto T = static_cast<std::size_t>(problem.num_tokens);
  const std::vector<TensorSpec> specs = input_specs(problem);
  const std::vector<std::optional<TokenPlaces>> places = token_places(input_specs, problem);
  TensorMap spoilt = trial.inputs();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!places[i]) continue;
    Tensor& tensor = spoilt.at(std::string(specs[i].name));
    for (std::size_t e = 0; e < tensor.size(); ++e) {
      const std::size_t token = e / places[i]->run % T;
      if (is_spoilt(static_cast<std::int64_t>(token), problem.num_tokens)) {
        tensor.set_bits(e, spoil(tensor.dtype(), e));
      }
    }
  }
  std::vector<std::int64_t> clean = tokens_up_to(problem.num_tokens);
  std::erase_if(clean, [&](std::int64_t token) { return is_spoilt(token, problem.num_tokens); });
  const TensorMap beside = outputs_of(trial.subject(), problem, std::move(spoilt));
  const std::optional<std::string> difference =
      first_difference(problem, clean, with_tokens(output_specs, problem, trial.outputs(), clean),
                       with_tokens(output_specs, problem, beside, clean));
  if (!difference) return std::nullopt;
  return fmt::format("beside tokens that are {} {}", what, *difference);
}

}  // namespace

std::string needs_a_token(const Trial& trial) {
  return trial.problem().num_tokens >= 1 ? "" : "there is no token";
}

std::string needs_two_tokens(const Trial& trial) {
  return trial.problem().num_tokens >= 2 ? "" : "it needs two tokens";
}

std::string needs_batch_invariance(const Trial& trial) {
  if (!trial.subject().batch_invariant(trial.problem().op)) return std::string(kNoClaim);
  return needs_a_token(trial);
}

std::string needs_tokens_that_do_not_meet(const Trial& trial) {
  if (!trial.subject().batch_invariant(trial.problem().op)) return std::string(kNoClaim);
  return needs_two_tokens(trial);
}

std::optional<std::string> permuting_tokens_breaks(Trial& trial) {
  std::vector<std::int64_t> tokens = tokens_up_to(trial.problem().num_tokens);
  std::ranges::reverse(tokens);
  const std::optional<std::string> difference = differs_among(trial, tokens);
  if (!difference) return std::nullopt;
  return fmt::format("in place and in reversed order {}", *difference);
}

std::optional<std::string> another_batch_breaks(Trial& trial) {
  const std::int64_t T = trial.problem().num_tokens;
  const std::vector<std::int64_t> all = tokens_up_to(T);
  std::vector<std::int64_t> second_half(all.begin() + static_cast<std::ptrdiff_t>(T / 2), all.end());
  std::vector<std::int64_t> twice = all;
  twice.insert(twice.end(), all.begin(), all.end());
  std::vector<std::vector<std::int64_t>> batches{twice};
  if (T > 1) batches.insert(batches.end(), {{T - 1}, second_half});
  for (const std::vector<std::int64_t>& batch : batches) {
    if (const std::optional<std::string> difference = differs_among(trial, batch)) {
      return fmt::format("among {} tokens and among {} {}", T, batch.size(), *difference);
    }
  }
  return std::nullopt;
}

std::optional<std::string> repeating_breaks(Trial& trial) {
  const TensorMap again = outputs_of(trial.subject(), trial.problem(), trial.inputs());
  const std::optional<std::string> difference =
      first_difference(trial.problem(), tokens_up_to(trial.problem().num_tokens), trial.outputs(), again);
  if (!difference) return std::nullopt;
  return fmt::format("in two runs {}", *difference);
}

std::optional<std::string> a_nan_breaks(Trial& trial) {
  const auto nan = [](Dtype dtype, std::size_t) { return format_of(dtype).quiet_nan(); };
  return spoilt_tokens_break(trial, nan, "NaN");
}

std::optional<std::string> an_infinity_breaks(Trial& trial) {
  const auto infinity = [](Dtype dtype, std::size_t element) {
    const FloatFormat f = format_of(dtype);
    return element % 2 == 0 ? f.infinity() : f.infinity() | f.sign_mask();
  };
  return spoilt_tokens_break(trial, infinity, "infinite");
}

}  // namespace mhcheck::properties

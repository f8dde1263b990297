#include "properties/laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "properties/laws/form_laws.h"
#include "properties/laws/memory_laws.h"
#include "properties/laws/post_laws.h"
#include "properties/laws/run.h"
#include "properties/laws/sum_laws.h"
#include "properties/laws/symmetry_laws.h"
#include "properties/laws/token_laws.h"
#include "properties/regimes.h"

namespace mhcheck::properties {
namespace {

// clang-format off
constexpr Law kLaws[] = {
    // ---- tokens among tokens ----
    {.name = "token_permutation",
     .sentence = "permuting tokens permutes outputs bit for bit",
     .why_not = needs_tokens_that_do_not_meet, .broken = permuting_tokens_breaks},
    {.name = "batch_invariance",
     .sentence = "a token has the same bits at any number of tokens and in any position",
     .why_not = needs_batch_invariance, .broken = another_batch_breaks},
    {.name = "repeatability",
     .sentence = "two runs give the same bits",
     .why_not = needs_a_token, .broken = repeating_breaks},
    {.name = "nan_isolation",
     .sentence = "a NaN in one token's inputs changes no bit of another token",
     .why_not = needs_two_tokens, .broken = a_nan_breaks},
    {.name = "infinity_isolation",
     .sentence = "an infinity in one token's inputs changes no bit of another token",
     .why_not = needs_two_tokens, .broken = an_infinity_breaks},

    // ---- memory ----
    {.name = "empty_batch",
     .sentence = "no tokens: nothing is launched, nothing is written",
     .why_not = needs_an_empty_batch_to_be_taken, .broken = an_empty_batch_breaks},
    {.name = "outputs_written",
     .sentence = "every element of every output is written, and nothing beside them",
     .why_not = needs_nothing, .broken = outputs_break},
    {.name = "inputs_unchanged",
     .sentence = "no bit of an input changes",
     .why_not = needs_nothing, .broken = inputs_break},

    // ---- mhc_post ----
    {.name = "post_linear_in_x",
     .sentence = "next_residual is linear in x: 16 times bit for bit, sums within the bounds",
     .why_not = needs_a_post_stage, .broken = linearity_in_x_breaks},
    {.name = "post_linear_in_residual",
     .sentence = "next_residual is linear in residual: 16 times bit for bit, sums within the bounds",
     .why_not = needs_a_post_stage, .broken = linearity_in_residual_breaks},

    // ---- changes that the contract does not see ----
    {.name = "stream_permutation",
     .sentence = "permuting streams, with fn, hc_base and mixes alike, permutes outputs",
     .why_not = needs_streams_to_permute, .broken = permuting_streams_breaks},
    {.name = "scale_invariance",
     .sentence = "without rms_eps and norm_eps, 16 times the streams leave mixes and norms alone",
     .why_not = needs_a_root_mean_square, .broken = scaling_streams_breaks},

    // ---- sums ----
    {.name = "column_sums",
     .sentence = "columns of comb_mix sum to 1, within hc_sinkhorn_eps and rounding",
     .why_not = needs_comb, .broken = column_sums_break},
    {.name = "unit_norm",
     .sentence = "without norm_eps and with unit weights a norm's output has root mean square 1",
     .why_not = needs_a_norm, .broken = unit_norm_breaks},

    // ---- two ways to the same result ----
    {.name = "entry_equals_carried",
     .sentence = "entry and broadcast entry equal the carried form that collapses the first stream",
     .why_not = needs_an_entry_form, .broken = the_carried_form_breaks},
    {.name = "fused_equals_unfused",
     .sentence = "a fused operator equals the operators that it fuses",
     .why_not = needs_an_unfused_form, .broken = the_unfused_form_breaks},
    {.name = "split_k_choices",
     .sentence = "partial sums mean the same whatever their number",
     .why_not = needs_another_split, .broken = another_split_breaks},
    {.name = "head_equals_pre",
     .sentence = "hc_head equals the collapse of mhc_pre",
     .why_not = needs_head_and_pre, .broken = the_head_breaks},
};
// clang-format on

}  // namespace

const TensorMap& Trial::inputs() {
  if (!inputs_) inputs_ = make_inputs(tested_);
  return *inputs_;
}

const TensorMap& Trial::outputs() {
  if (!outputs_) outputs_ = outputs_of(subject_, tested_.problem, inputs());
  return *outputs_;
}

std::span<const Law> all_laws() { return kLaws; }

std::vector<const Law*> parse_laws(std::string_view list) {
  if (list == "none") return {};
  std::set<const Law*> chosen;  // of one array, so in its order
  if (list == "all") {
    for (const Law& law : kLaws) chosen.insert(&law);
    return {chosen.begin(), chosen.end()};
  }
  for (;;) {
    const std::size_t comma = list.find(',');
    const std::string_view name = list.substr(0, comma);
    const Law* const law = std::ranges::find(kLaws, name, &Law::name);
    if (law == std::end(kLaws)) {
      std::string names = "all, none";
      for (const Law& row : kLaws) names += fmt::format(", {}", row.name);
      throw std::invalid_argument(fmt::format("no law is called '{}', there are {}", name, names));
    }
    chosen.insert(law);
    if (comma == std::string_view::npos) return {chosen.begin(), chosen.end()};
    list.remove_prefix(comma + 1);
  }
}

std::string to_string(std::span<const Law* const> laws) {
  if (laws.empty()) return "none";
  if (laws.size() == std::size(kLaws)) return "all";
  std::string list;
  for (const Law* law : laws) list += fmt::format("{}{}", list.empty() ? "" : ",", law->name);
  return list;
}

}  // namespace mhcheck::properties

#include "properties/laws.h"

#include <algorithm>

#include "properties/laws/run.h"
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

const Law* find_law(std::string_view name) {
  const auto* found = std::ranges::find(kLaws, name, &Law::name);
  return found == std::end(kLaws) ? nullptr : found;
}

}  // namespace mhcheck::properties

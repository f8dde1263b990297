#include "properties/laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

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

#include "conformance/case_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "properties/decidable.h"
#include "properties/regimes.h"

namespace mhcheck::conformance {
namespace {

// ---- the axes ----

// The production sizes 1280, 2560, 4096, 5120 and 7168 are multiples of 256. The ragged ones are no multiple
// of a wave (520, 1000) and odd (769, at which a kernel once wrote into the next row).
constexpr std::array<std::int64_t, 30> kEveryHiddenSize{
    512,  520,  768,  769,  1000, 1024, 1280, 1536, 1792, 2048, 2304, 2560, 2816, 3072, 3328,
    3584, 3840, 4096, 4352, 4608, 4864, 5120, 5376, 5632, 5888, 6144, 6400, 6656, 6912, 7168};
constexpr std::array<std::int64_t, 9> kEveryNumTokens{0, 1, 2, 3, 17, 33, 64, 128, 1024};

// Smallest, ragged, odd, production: two cases an operator and dtype for each.
constexpr std::array<std::int64_t, 4> kSmokeHiddenSizes{512, 769, 1280, 4096};
constexpr std::array<std::int64_t, 4> kSmokeNumTokens{0, 1, 3, 33};

constexpr std::array kProfiles{
    Profile{"smoke", "every operator at a few shapes; seconds", kSmokeHiddenSizes, kSmokeNumTokens, 1},
    Profile{"merge", "every operator at every shape of the sweep; minutes", kEveryHiddenSize, kEveryNumTokens,
            1},
    Profile{"nightly", "the sweep with eight seeds and eight times the parameters; an hour", kEveryHiddenSize,
            kEveryNumTokens, 8},
};

constexpr std::array<Dtype, 2> kStreamDtypes{Dtype::bf16, Dtype::fp16};

// The fused rmsnorm is off half of the time.
constexpr std::array<std::optional<Dtype>, 6> kNormWeights{std::nullopt, Dtype::bf16,  std::nullopt,
                                                           Dtype::fp16,  std::nullopt, Dtype::fp32};
constexpr std::array<Entry, 3> kEntries{Entry::carried, Entry::entry, Entry::broadcast};

// Production has four streams; the others show what four hides (transpositions, strides of 4).
constexpr std::array<int, 12> kHcMults{4, 4, 1, 4, 4, 2, 4, 4, 3, 4, 4, 8};
// Beyond this many tokens the streams are four: other counts are shown at fewer tokens for less time.
constexpr std::int64_t kMostTokensOfOddHcMult = 128;

// Beyond this many tokens a profile's dtypes take turns: from one hidden size to the next, from operator to
// operator and from pass to pass. Nine tenths of the time go into these cases, which differ in nothing else.
constexpr std::int64_t kMostTokensOfEveryDtype = 128;

// 0 is head mode; where an operator has none, 1 takes its place.
constexpr std::array<int, 6> kSinkhornRepeats{20, 1, 2, 20, 50, 0};
// Powers of two and not, more splits than there are whole tiles in a small K.
constexpr std::array<int, 6> kSplitKs{1, 4, 7, 16, 2, 64};
constexpr std::array<float, 3> kPostMultValues{2.0f, 1.0f, 0.75f};

struct Epsilons {
  float rms, hc_pre, hc_sinkhorn, norm;
};
// The model's; all different and large enough to be told apart; as good as none; none.
constexpr std::array<Epsilons, 4> kEpsilons{Epsilons{1e-6f, 1e-6f, 1e-6f, 1e-6f},
                                            Epsilons{1e-3f, 3e-2f, 1e-2f, 3e-3f},
                                            Epsilons{1e-20f, 1e-20f, 1e-20f, 1e-20f}, Epsilons{0, 0, 0, 0}};

// How often a case is drawn that no kernel takes. Of kernels that take four streams and one format of norm
// weight only, a case in six is taken: 32 draws miss all of them once in 340.
constexpr std::uint64_t kDraws = 32;

// ---- rotation ----

std::uint64_t mix(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ull;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebull;
  return word ^ (word >> 31);
}

// Which rotation a value is picked from: equal ones would keep their axes in step.
enum class Axis : std::uint64_t {
  regime = 1,
  norm_weight,
  entry,
  hc_mult,
  sinkhorn_repeat,
  split_k,
  post_mult,
  epsilons,
  rounding
};

// The index-th value of the axis along the cases of the operator: a fresh order for every turn.
template <class Range>
const auto& rotate(const Range& values, Op op, Axis axis, std::uint64_t index) {
  const std::uint64_t size = std::size(values);
  const std::uint64_t turn = index / size;
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::uint64_t state = mix((static_cast<std::uint64_t>(op) << 32) + static_cast<std::uint64_t>(axis)) + turn;
  for (std::size_t left = size; left > 1; --left) {
    state = mix(state + 0x9e3779b97f4a7c15ull);
    std::swap(order[left - 1], order[state % left]);
  }
  return values[order[index % size]];
}

Case rotated_case(const OperatorRow& row, std::int64_t num_tokens, std::uint64_t index,
                  std::span<const RoundingProfile> rounding_profiles) {
  const Op op = row.op;
  Case c;
  Problem& p = c.problem;
  p.op = op;
  p.num_tokens = num_tokens;
  if (row.streams && num_tokens <= kMostTokensOfOddHcMult) {
    p.hc_mult = rotate(kHcMults, op, Axis::hc_mult, index);
  }
  if (row.fused_norm) p.norm_weight = rotate(kNormWeights, op, Axis::norm_weight, index);
  if (row.needs_norm && !p.norm_weight) p.norm_weight = rotate(kAllDtypes, op, Axis::norm_weight, index);
  if (row.entries) p.entry = rotate(kEntries, op, Axis::entry, index);
  if (row.splits) p.split_k = rotate(kSplitKs, op, Axis::split_k, index);

  const Epsilons& eps = rotate(kEpsilons, op, Axis::epsilons, index);
  Parameters& q = p.parameters;
  if ((row.parameters & kRmsEps) != 0) q.rms_eps = eps.rms;
  if ((row.parameters & kHcPreEps) != 0) q.hc_pre_eps = eps.hc_pre;
  if ((row.parameters & kHcSinkhornEps) != 0) q.hc_sinkhorn_eps = eps.hc_sinkhorn;
  if ((row.parameters & kNormEps) != 0 && p.norm_weight) q.norm_eps = eps.norm;
  if ((row.parameters & kHcPostMultValue) != 0) {
    q.hc_post_mult_value = rotate(kPostMultValues, op, Axis::post_mult, index);
  }
  if ((row.parameters & kSinkhornRepeat) != 0) {
    q.sinkhorn_repeat = rotate(kSinkhornRepeats, op, Axis::sinkhorn_repeat, index);
    if (!why_illegal(p).empty()) q.sinkhorn_repeat = 1;
  }
  c.profile = rotate(rounding_profiles, op, Axis::rounding, index);
  properties::make_decidable(c);
  c.regime = std::string(rotate(properties::all_regimes(), op, Axis::regime, index).name);
  return c;
}

}  // namespace

std::span<const Profile> all_profiles() { return kProfiles; }

const Profile& profile_named(std::string_view name) {
  for (const Profile& profile : kProfiles) {
    if (profile.name == name) return profile;
  }
  std::vector<std::string_view> names;
  for (const Profile& profile : kProfiles) names.push_back(profile.name);
  throw std::invalid_argument(
      fmt::format("no profile is called '{}', there are {}", name, fmt::join(names, ", ")));
}

std::vector<Case> list_cases(const CaseSelection& selection, const RoundingProfiles& profiles,
                             const Takes& takes) {
  const Profile& profile = profile_named(selection.profile);
  const auto chosen = [](const auto& given, const auto& otherwise) {
    return given.empty() ? std::vector(otherwise.begin(), otherwise.end()) : given;
  };
  const std::vector<std::int64_t> hidden_sizes = chosen(selection.hidden_sizes, profile.hidden_sizes);
  const std::vector<std::int64_t> num_tokens = chosen(selection.num_tokens, profile.num_tokens);
  const std::vector<Dtype> dtypes = chosen(selection.dtypes, kStreamDtypes);

  const bool turns = selection.num_tokens.empty() && selection.dtypes.empty();  // not in what was asked for

  std::vector<Case> cases;
  std::uint64_t place = 0;  // in the whole list, of which a shard takes every count-th
  for (const OperatorRow& row : all_operators()) {
    if (!selection.operators.empty() &&
        std::ranges::find(selection.operators, row.op) == selection.operators.end()) {
      continue;
    }
    const std::vector<RoundingProfile> rounding_profiles = profiles(row.op);
    if (rounding_profiles.empty()) continue;
    const std::uint64_t cases_of_operator =
        static_cast<std::uint64_t>(profile.seeds) * dtypes.size() * hidden_sizes.size() * num_tokens.size();
    std::uint64_t index = 0;  // along the cases of this operator, which its rotations follow
    for (int pass = 0; pass < profile.seeds; ++pass) {
      for (std::size_t d = 0; d < dtypes.size(); ++d) {
        for (std::size_t h = 0; h < hidden_sizes.size(); ++h) {
          for (const std::int64_t tokens : num_tokens) {
            const std::uint64_t here = index++;
            const std::size_t turn = static_cast<std::size_t>(row.op) + static_cast<std::size_t>(pass) + h;
            if (turns && tokens > kMostTokensOfEveryDtype && turn % dtypes.size() != d) continue;
            if (place++ % selection.shard.count + 1 != selection.shard.number) continue;
            const auto draw = [&](std::uint64_t at) {
              Case c = rotated_case(row, tokens, at, rounding_profiles);
              c.problem.dtype = dtypes[d];
              c.problem.hidden_size = hidden_sizes[h];
              c.seed = selection.seed + static_cast<std::uint64_t>(pass);
              if (const std::string why = why_illegal(c.problem); !why.empty())
                throw std::invalid_argument(why);
              // Without what the operator does not depend on, which the descriptor leaves out.
              return parse_descriptor(to_descriptor(c));
            };
            Case c = draw(here);
            for (std::uint64_t again = 1; again < kDraws && !takes(c); ++again) {
              c = draw(here + again * cases_of_operator);
            }
            cases.push_back(std::move(c));
          }
        }
      }
    }
  }
  return cases;
}

}  // namespace mhcheck::conformance

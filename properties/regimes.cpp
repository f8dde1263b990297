#include "properties/regimes.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace mhcheck::properties {
namespace {

// Lanes of a RandomRow for what a regime decides beside the elements; each kind has room for 256 lanes.
enum SideLane : std::uint32_t { kExponents = 0x100, kPositions = 0x200, kTails = 0x300, kRowFactor = 0x400 };

std::uint32_t side_lane(SideLane lane, int stream) { return lane + static_cast<std::uint32_t>(stream + 1); }

// ---- Streams: residual and x ---------------------------------------------------------------------------

void gauss_streams(const StreamRun&) {}

// A few channels of every token are some 1e4, as the residual streams of trained models have them: the same
// channels in all tokens and streams. fp16 ends at 65504, and 8 streams of them are summed up twice.
void massive_streams(const StreamRun& run) {
  const float largest = run.problem.dtype == Dtype::fp16 ? 2048.0f : 16384.0f;
  constexpr int kChannels = 3;
  const RandomRow channels(run.seed, "massive channels", 0);
  for (int i = 0; i < kChannels; ++i) {
    const std::int64_t place = channels.word(0, i) % run.problem.hidden_size - run.first;
    if (place < 0 || place >= static_cast<std::int64_t>(run.values.size())) continue;
    float& value = run.values[static_cast<std::size_t>(place)];
    const float half_to_one = 1 - 0.5f / (1 + value * value);
    value = std::copysign(largest * half_to_one, value);
  }
}

// Mean squares near 1e-6, the usual rms_eps and norm_eps. In fp16 a part is subnormal.
void tiny_streams(const StreamRun& run) {
  for (float& value : run.values) value *= 0x1p-10f;
}

// Of four tokens: one is zero altogether, one has every second stream zero, one has x zero, one is full.
void zero_rows_streams(const StreamRun& run) {
  const std::int64_t kind = run.token % 4;
  const bool zero =
      kind == 0 || (kind == 1 && !run.is_x() && run.stream % 2 == 1) || (kind == 2 && run.is_x());
  if (zero) std::fill(run.values.begin(), run.values.end(), 0.0f);
}

// Neighbours agree to 2^-6: with weights of opposite sign their products cancel. They are not equal, so that
// their rounding errors are not either.
void paired_streams(const StreamRun& run) {
  for (std::size_t i = 0; i + 1 < run.values.size(); i += 2) {
    run.values[i + 1] = run.values[i] * (1 + 0x1p-6f * run.values[i + 1]);
  }
}

void ragged_streams(const StreamRun& run) {
  constexpr std::uint32_t kLargestExponent = 8;
  const std::uint32_t draw = run.random.word(side_lane(kExponents, run.stream), 0);
  const int exponent =
      static_cast<int>(draw % (2 * kLargestExponent + 1)) - static_cast<int>(kLargestExponent);
  const float scale = std::ldexp(1.0f, exponent);
  for (float& value : run.values) value *= scale;
}

// Times 2^k with probability 2^-(k+1): the tail falls like 1/x. Each word of random bits serves two elements.
void heavy_tail_streams(const StreamRun& run) {
  constexpr int kLargestExponent = 9;  // so that sums over 8 streams stay finite in fp16
  std::array<std::uint32_t, 256> tails;
  for (std::size_t done = 0; done < run.values.size(); done += 2 * tails.size()) {
    const std::size_t count = std::min(2 * tails.size(), run.values.size() - done);
    const std::int64_t first_word = (run.first + static_cast<std::int64_t>(done)) / 2;
    run.random.words(side_lane(kTails, run.stream), first_word, std::span(tails).first((count + 1) / 2));
    for (std::size_t i = 0; i < count; ++i) {
      const auto half = static_cast<std::uint16_t>(tails[i / 2] >> (i % 2 * 16));
      run.values[done + i] *= static_cast<float>(1 << std::min(std::countl_zero(half), kLargestExponent));
    }
  }
}

// Two elements of every stream are not zero.
void sparse_streams(const StreamRun& run) {
  constexpr std::size_t kKept = 2;
  std::array<float, kKept> kept{};
  std::array<std::int64_t, kKept> places;
  const auto size = static_cast<std::int64_t>(run.values.size());
  for (std::size_t i = 0; i < kKept; ++i) {
    const std::uint32_t draw =
        run.random.word(side_lane(kPositions, run.stream), static_cast<std::int64_t>(i));
    places[i] = draw % run.problem.hidden_size - run.first;
    if (places[i] >= 0 && places[i] < size) kept[i] = run.values[static_cast<std::size_t>(places[i])];
  }
  std::fill(run.values.begin(), run.values.end(), 0.0f);
  for (std::size_t i = 0; i < kKept; ++i) {
    if (places[i] >= 0 && places[i] < size) run.values[static_cast<std::size_t>(places[i])] = kept[i];
  }
}

void positive_streams(const StreamRun& run) {
  for (float& value : run.values) value = std::fabs(value);
}

// ---- Weights: fn, and partial sums of the projection ---------------------------------------------------

void gauss_weights(const WeightRun&) {}

// Neighbours are opposite to 2^-6. Sums against paired streams come out near 1 although their terms add up to
// some 30 times what gauss has.
void opposite_weights(const WeightRun& run) {
  for (float& value : run.values) value *= 32;
  for (std::size_t i = 0; i + 1 < run.values.size(); i += 2) {
    run.values[i + 1] = -run.values[i] * (1 + 0x1p-11f * run.values[i + 1]);
  }
}

// Sums against positive streams grow like the number of terms, not like its root: scaled down once more. The
// factor tells the rows apart, whose sums would all be nearly equal.
void positive_weights(const WeightRun& run) {
  const float row_factor = 0.5f + 1.5f * run.random.uniform(kRowFactor + run.lane, 0);
  const float scale = 1.5f * row_factor / std::sqrt(static_cast<float>(run.values.size()));
  for (float& value : run.values) value = std::fabs(value) * scale;
}

// ---- constant_collapse ---------------------------------------------------------------------------------
//
// Stream j is the constant c_j, the c_j are powers of two that sum to 2, and every pre_mix is (1 + delta)/2:
// the collapse is 1 + delta everywhere, which the storage format rounds to 1. A kernel that takes the sum of
// squares before this rounding is off by delta against one that takes it after.

float collapse_constant(int stream, int hc_mult) {
  return std::ldexp(1.0f, stream + 1 < hc_mult ? -stream : 2 - hc_mult);
}

// Three quarters of the way to where the format rounds up from 1. Half of the way would be too little:
// outputs that are storage values times 1 + delta would round back.
float collapse_delta(Dtype dtype) { return dtype == Dtype::fp16 ? 0x3p-13f : 0x3p-10f; }

// mhc_post makes c_j out of x = 1, equal streams and a comb_mix whose columns sum to 1.
float constant_before_post(int hc_mult) { return std::ldexp(1.0f, 1 - hc_mult); }

void constant_streams(const StreamRun& run) {
  const int n = run.problem.hc_mult;
  const bool post_stage = row_of(run.problem.op).post_stage;
  const float value = run.is_x()   ? 1.0f
                      : post_stage ? constant_before_post(n)
                                   : collapse_constant(run.stream, n);
  std::fill(run.values.begin(), run.values.end(), value);
}

void make_collapse_constant(const Case& c, TensorMap& inputs) {
  const int n = c.problem.hc_mult;
  const float delta = collapse_delta(c.problem.dtype);
  if (const auto pre_mix = inputs.find("pre_mix"); pre_mix != inputs.end()) {
    std::ranges::fill(pre_mix->second.floats(), 0.5f * (1 + delta));
  }
  if (const auto post_mix = inputs.find("post_mix"); post_mix != inputs.end()) {
    const std::span<float> values = post_mix->second.floats();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = collapse_constant(static_cast<int>(i) % n, n) - constant_before_post(n);
    }
  }
  if (const auto hc_base = inputs.find("hc_base"); hc_base != inputs.end()) {
    // sigmoid(2 delta) = (1 + delta)/2 to third order; what the scaled mixes add is below delta/16.
    std::ranges::fill(hc_base->second.floats().first(static_cast<std::size_t>(n)), 2 * delta);
    inputs.at("hc_scale").floats()[0] = 0x1p-18f;
  }
}

// ---- The rows ------------------------------------------------------------------------------------------

constexpr std::array<float, 3> kUnitScale = {1, 1, 1};
constexpr Range kAroundZero = {0, 1, /*either_sign=*/true};
constexpr Range kVeryNearZero = {0, 0x1p-8f, /*either_sign=*/true};
constexpr BaseRanges kUnitBase = {kAroundZero, kAroundZero, kAroundZero, kAroundZero};

// clang-format off
constexpr Regime kRegimes[] = {
    {.name = "gauss",
     .purpose = "everything at its usual size: every term of the contract takes part",
     .independent_roundings = true,
     .shape_streams = gauss_streams, .shape_weights = gauss_weights,
     .hc_scale = kUnitScale, .hc_base = kUnitBase, .finish = nullptr},
    {.name = "massive",
     .purpose = "a few channels of 1e4 rule the sums: lost low bits, overflow in 16 bits",
     .independent_roundings = true,
     .shape_streams = massive_streams, .shape_weights = gauss_weights,
     .hc_scale = kUnitScale, .hc_base = kUnitBase, .finish = nullptr},
    {.name = "tiny",
     .purpose = "mean squares near 1e-6: rms_eps and norm_eps; subnormals in fp16",
     .independent_roundings = true,
     .shape_streams = tiny_streams, .shape_weights = gauss_weights,
     .hc_scale = kUnitScale, .hc_base = kUnitBase, .finish = nullptr},
    {.name = "zero_rows",
     .purpose = "zero tokens, streams and x: division by zero, values kept from another token",
     .independent_roundings = true,
     .shape_streams = zero_rows_streams, .shape_weights = gauss_weights,
     .hc_scale = kUnitScale, .hc_base = kUnitBase, .finish = nullptr},
    {.name = "cancelling",
     .purpose = "projection sums far below the sum of their absolute terms: order, precision of the products",
     .independent_roundings = true,
     .shape_streams = paired_streams, .shape_weights = opposite_weights,
     .hc_scale = kUnitScale, .hc_base = kUnitBase, .finish = nullptr},
    {.name = "strong_logits",
     .purpose = "comb logits beyond 10 either way: Sinkhorn far from converged, sinkhorn_repeat, hc_sinkhorn_eps",
     .independent_roundings = true,
     .shape_streams = gauss_streams, .shape_weights = gauss_weights,
     .hc_scale = {2, 2, 4}, .hc_base = {{2, 6, true}, {2, 6, true}, {10, 14}, {-30, -10}}, .finish = nullptr},
    {.name = "weak_logits",
     .purpose = "logits near 0: gates near a half, comb near 1/n, which hides nothing of exp and division",
     .independent_roundings = true,
     .shape_streams = gauss_streams, .shape_weights = gauss_weights,
     .hc_scale = {0x1p-6f, 0x1p-6f, 0x1p-6f},
     .hc_base = {kVeryNearZero, kVeryNearZero, kVeryNearZero, kVeryNearZero}, .finish = nullptr},
    {.name = "closed_gates",
     .purpose = "gates of 1e-5 to 1e-7: hc_pre_eps, exp far from 0, small post_mix",
     .independent_roundings = true,
     .shape_streams = gauss_streams, .shape_weights = gauss_weights,
     .hc_scale = kUnitScale, .hc_base = {{-16, -12}, {-16, -12}, kAroundZero, kAroundZero}, .finish = nullptr},
    {.name = "ragged_scales",
     .purpose = "a power of two from 2^-8 to 2^8 for each token and stream: swapped rows and streams",
     .independent_roundings = true,
     .shape_streams = ragged_streams, .shape_weights = gauss_weights,
     .hc_scale = kUnitScale, .hc_base = kUnitBase, .finish = nullptr},
    {.name = "heavy_tail",
     .purpose = "elements of all sizes up to 1e3 in one sum: rounding of the small ones against the large",
     .independent_roundings = true,
     .shape_streams = heavy_tail_streams, .shape_weights = gauss_weights,
     .hc_scale = kUnitScale, .hc_base = kUnitBase, .finish = nullptr},
    {.name = "constant_collapse",
     .purpose = "the collapse rounds to 1 everywhere before the norm: where the sum of squares is taken",
     .independent_roundings = false,  // every term of the sums of squares is the same
     .shape_streams = constant_streams, .shape_weights = gauss_weights,
     .hc_scale = kUnitScale, .hc_base = kUnitBase, .finish = make_collapse_constant},
    {.name = "sparse",
     .purpose = "two elements a stream: sums of few terms, bounds of a few ulps, an error in one product",
     .independent_roundings = true,
     .shape_streams = sparse_streams, .shape_weights = gauss_weights,
     .hc_scale = kUnitScale, .hc_base = kUnitBase, .finish = nullptr},
    {.name = "same_sign",
     .purpose = "all terms of the sums positive: nothing cancels, lost and doubled terms shift every sum",
     .independent_roundings = true,
     .shape_streams = positive_streams, .shape_weights = positive_weights,
     .hc_scale = kUnitScale, .hc_base = kUnitBase, .finish = nullptr},
};
// clang-format on

}  // namespace

std::span<const Regime> all_regimes() { return kRegimes; }

const Regime* find_regime(std::string_view name) {
  const auto* found = std::ranges::find(kRegimes, name, &Regime::name);
  return found == std::end(kRegimes) ? nullptr : found;
}

}  // namespace mhcheck::properties

// Made-up outputs with an exact reference: the data on which the comparator itself is tested.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "conformance/verdict.h"
#include "reference/reference.h"

namespace mhcheck::conformance::testing {

// SplitMix64: small, well known, the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t word() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(word() >> 11) * 0x1p-53; }
  double symmetric() { return 2 * uniform() - 1; }
  // Of mean 0 and deviation 1, never beyond 6.
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }

 private:
  std::uint64_t state_;
};

// One output of shape [T, row...] (or [S, T, row...] for partial sums): exact results, radii, stored bits.
struct SyntheticOutput {
  TensorSpec spec;
  std::int64_t num_tokens = 0;
  std::size_t row = 0;
  std::vector<double> value, deterministic, probabilistic, systematic;
  std::vector<std::byte> payload;

  std::size_t size() const { return value.size(); }

  void set_radii(double relative_deterministic, double relative_probabilistic, double relative_systematic) {
    for (std::size_t i = 0; i < size(); ++i) {
      deterministic[i] = std::fabs(value[i]) * relative_deterministic;
      probabilistic[i] = std::fabs(value[i]) * relative_probabilistic;
      systematic[i] = std::fabs(value[i]) * relative_systematic;
    }
  }

  void store(std::size_t flat, std::uint32_t bits) {
    std::memcpy(payload.data() + flat * size_of(spec.dtype), &bits, size_of(spec.dtype));
  }
  std::uint32_t stored(std::size_t flat) const {
    std::uint32_t bits = 0;
    std::memcpy(&bits, payload.data() + flat * size_of(spec.dtype), size_of(spec.dtype));
    return bits;
  }

  // What a kernel stores whose result before the last rounding is kernel(flat index, exact result).
  void store_all(const std::function<double(std::size_t, double)>& kernel) {
    for (std::size_t i = 0; i < size(); ++i) store(i, encode(spec.dtype, kernel(i, value[i])));
  }
  // As a correct kernel stores it: errors within the radii, of one sign in their systematic part.
  void store_correct(std::uint64_t seed = 77) {
    Random random(seed);
    store_all([&](std::size_t i, double v) {
      const double spread = (probabilistic[i] - systematic[i]) / reference::kLambda;
      return v + 0.9 * systematic[i] + spread * random.normal();
    });
  }

  reference::Block block(std::int64_t first, std::int64_t count) const {
    reference::Block b{.first_token = first, .num_tokens = count, .outputs = {}, .certification = {}};
    reference::OutputBlock o{.spec = spec,
                             .elements_per_token = row,
                             .value = {},
                             .rounded = {},
                             .deterministic = {},
                             .probabilistic = {},
                             .systematic = {}};
    const auto begin = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(first) * row);
    const auto end = begin + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(count) * row);
    o.value.assign(value.begin() + begin, value.begin() + end);
    o.deterministic.assign(deterministic.begin() + begin, deterministic.begin() + end);
    o.probabilistic.assign(probabilistic.begin() + begin, probabilistic.begin() + end);
    o.systematic.assign(systematic.begin() + begin, systematic.begin() + end);
    for (const double v : o.value) o.rounded.push_back(encode(spec.dtype, v));
    b.outputs.push_back(std::move(o));
    return b;
  }

  OutputVerdict judge(bool independent_tokens = true,
                      std::int64_t block_tokens = reference::Reference::kBlockTokens) const {
    const OutputJudge judge(spec, num_tokens, payload, independent_tokens);
    OutputJudge::Tally total;
    for (std::int64_t first = 0; first < num_tokens; first += block_tokens) {
      const reference::Block b = block(first, std::min(block_tokens, num_tokens - first));
      total.merge(judge.judge(b, b.outputs[0]));
    }
    return judge.verdict(total);
  }
};

// `kernel radius` of a typical fp32 evaluation, relative: a few hundred roundings.
inline constexpr double kTypicalRadius = 3e-6;

// Normally distributed exact results, stored as a correct kernel does.
inline SyntheticOutput gaussian_output(Dtype dtype, std::int64_t num_tokens, std::int64_t row,
                                       double relative_radius = kTypicalRadius, std::uint64_t seed = 1) {
  SyntheticOutput o;
  o.spec = {"layer_input", dtype, {num_tokens, row}};
  o.num_tokens = num_tokens;
  o.row = static_cast<std::size_t>(row);
  Random random(seed);
  o.value.resize(static_cast<std::size_t>(num_tokens * row));
  for (double& v : o.value) v = random.normal();
  o.deterministic.resize(o.size());
  o.probabilistic.resize(o.size());
  o.systematic.resize(o.size());
  o.set_radii(4 * relative_radius, relative_radius, 0.1 * relative_radius);
  o.payload.resize(o.size() * size_of(dtype));
  o.store_correct();
  return o;
}

}  // namespace mhcheck::conformance::testing

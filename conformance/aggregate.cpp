#include "conformance/aggregate.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "reference/base/dtype.h"
#include "reference/reference.h"

namespace mhcheck::conformance {
namespace {

constexpr double kLambda = reference::kLambda;

// Tokens are alike when their first results agree to bf16's 8 bits: far closer than unlike tokens come by
// chance in kLikenessElements results at once, far wider than the fp32 spacing within which two chains of
// operations meet the same rounding errors.
constexpr std::uint64_t kLikenessElements = 16;

std::uint64_t mix(std::uint64_t state, std::uint64_t word) {
  state = (state ^ word) * 0x9e3779b97f4a7c15ull;
  return state ^ (state >> 29);
}

// The part of an element's error that may have one sign in every token. A chain of so few roundings that the
// model gives nothing better than the deterministic radius has no statistics: its operands' last bits decide
// which way they go (squares end in 0, 1, 4 or 9, and a sum of two is rounded down more often than up).
double one_signed(const ElementErrors& e) {
  return e.probabilistic >= e.deterministic ? e.probabilistic : e.systematic;
}

void add_weighted(Drift& drift, double weight, double delta, double up, double down, const ElementErrors& e) {
  const double magnitude = std::fabs(weight);
  drift.drift += weight * delta;
  drift.most += weight >= 0 ? magnitude * up : magnitude * down;
  drift.least -= weight >= 0 ? magnitude * down : magnitude * up;
  drift.systematic += magnitude * one_signed(e);
  drift.random += magnitude * std::max(0.0, e.probabilistic - one_signed(e));
}

}  // namespace

void TokenAccumulator::add(const ElementErrors& e) {
  if (token_.elements < kLikenessElements) {
    token_.likeness = mix(token_.likeness, encode<Dtype::bf16>(e.exact));
  }
  ++token_.elements;
  token_.sum_squares += e.exact * e.exact;

  const double delta = e.stored - e.expected;
  const double up = e.highest - e.expected;
  const double down = e.expected - e.lowest;
  add_weighted(token_.scale, e.exact, delta, up, down, e);
  add_weighted(token_.mean, 1.0, delta, up, down, e);

  // The last rounding turns an error e into a whole number of spacings whose mean over the positions of v is
  // e; with f the fraction of e in spacings its variance is spacing^2 f (1-f).
  const double variance = e.spacing * std::min(e.probabilistic, 0.25 * e.spacing);
  scale_variance_ += e.exact * e.exact * variance;
  mean_variance_ += variance;
  if (up != 0 || down != 0) {
    const double steps = e.spacing > 0 ? e.exact / e.spacing : 0;
    open_.push_back({steps - std::floor(steps), std::fabs(e.exact) * e.spacing, e.spacing});
  }

  const double err = e.stored - e.exact;
  const double one_sign = one_signed(e);
  const double noise = 0.5 * e.spacing + std::max(0.0, e.probabilistic - one_sign) / kLambda;
  SignCounts& s = token_.signs;
  s.above += err > one_sign + noise;
  s.below += err < -(one_sign + noise);
  s.far_above += err > 3 * one_sign + noise;
  s.far_below += err < -(3 * one_sign + noise);
}

TokenErrors TokenAccumulator::finish() {
  // Results at one position between their neighbours (few distinct mantissas: hc_mult 1, constant rows) are
  // rounded the same way all at once. Such a group counts as one element as heavy as its sum.
  constexpr double kSamePosition = 0x1p-20;
  std::sort(open_.begin(), open_.end(), [](const Open& a, const Open& b) { return a.position < b.position; });
  double scale_apart = 0, scale_grouped = 0, mean_apart = 0, mean_grouped = 0;
  for (std::size_t first = 0; first < open_.size();) {
    double scale_jump = 0, mean_jump = 0;
    std::size_t next = first;
    do {
      scale_jump += open_[next].scale_jump;
      mean_jump += open_[next].mean_jump;
      scale_apart += open_[next].scale_jump * open_[next].scale_jump;
      mean_apart += open_[next].mean_jump * open_[next].mean_jump;
      ++next;
    } while (next < open_.size() && open_[next].position - open_[next - 1].position < kSamePosition);
    scale_grouped += scale_jump * scale_jump;
    mean_grouped += mean_jump * mean_jump;
    token_.scale.jump = std::max(token_.scale.jump, scale_jump);
    token_.mean.jump = std::max(token_.mean.jump, mean_jump);
    first = next;
  }
  if (scale_apart > 0) token_.scale.deviation = std::sqrt(scale_variance_ * (scale_grouped / scale_apart));
  if (mean_apart > 0) token_.mean.deviation = std::sqrt(mean_variance_ * (mean_grouped / mean_apart));

  const TokenErrors token = token_;
  token_ = {};
  scale_variance_ = mean_variance_ = 0;
  open_.clear();
  return token;
}

void TensorErrors::Weighting::add(std::int64_t token, const Drift& d, double total_weight) {
  drift += d.drift;
  most += d.most;
  least += d.least;
  systematic += d.systematic;
  // What membership allows is compared as it was summed, term under term: a sum of smaller terms in the same
  // order is never larger, so a token of members never fails for the rounding of these sums.
  if (total_weight > 0 && (d.drift > d.most || d.drift < d.least)) {
    ++biased_tokens;
    const double value = d.drift / total_weight;
    if (worst_token.token < 0 || std::fabs(value) > std::fabs(worst_token.value)) {
      worst_token = {token, value, (d.drift > 0 ? d.most : -d.least) / total_weight};
    }
  }
}

void TensorErrors::Weighting::merge(const Weighting& next) {
  drift += next.drift;
  most += next.most;
  least += next.least;
  systematic += next.systematic;
  biased_tokens += next.biased_tokens;
  if (next.worst_token.token >= 0 &&
      (worst_token.token < 0 || std::fabs(next.worst_token.value) > std::fabs(worst_token.value))) {
    worst_token = next.worst_token;
  }
}

void TensorErrors::add(std::int64_t token, const TokenErrors& t) {
  elements_ += t.elements;
  sum_squares_ += t.sum_squares;
  scale_.add(token, t.scale, t.sum_squares);
  mean_.add(token, t.mean, static_cast<double>(t.elements));
  signs_.above += t.signs.above;
  signs_.below += t.signs.below;
  signs_.far_above += t.signs.far_above;
  signs_.far_below += t.signs.far_below;

  Cluster& c = clusters_[t.likeness];
  c.scale_random += t.scale.random;
  c.scale_deviation += t.scale.deviation;
  c.scale_jump += t.scale.jump;
  c.mean_random += t.mean.random;
  c.mean_deviation += t.mean.deviation;
  c.mean_jump += t.mean.jump;
  c.above += t.signs.above;
  c.below += t.signs.below;
}

void TensorErrors::merge(const TensorErrors& next) {
  elements_ += next.elements_;
  sum_squares_ += next.sum_squares_;
  scale_.merge(next.scale_);
  mean_.merge(next.mean_);
  signs_.above += next.signs_.above;
  signs_.below += next.signs_.below;
  signs_.far_above += next.signs_.far_above;
  signs_.far_below += next.signs_.far_below;
  for (const auto& [likeness, from] : next.clusters_) {
    Cluster& c = clusters_[likeness];
    c.scale_random += from.scale_random;
    c.scale_deviation += from.scale_deviation;
    c.scale_jump += from.scale_jump;
    c.mean_random += from.mean_random;
    c.mean_deviation += from.mean_deviation;
    c.mean_jump += from.mean_jump;
    c.above += from.above;
    c.below += from.below;
  }
}

Aggregates TensorErrors::judge(bool independent_tokens) const {
  double scale_random = 0, scale_noise = 0, scale_jump = 0;
  double mean_random = 0, mean_noise = 0, mean_jump = 0, signs = 0;
  for (const auto& [likeness, c] : clusters_) {
    scale_random += c.scale_random * c.scale_random;
    scale_noise += c.scale_deviation * c.scale_deviation;
    scale_jump = std::max(scale_jump, c.scale_jump);
    mean_random += c.mean_random * c.mean_random;
    mean_noise += c.mean_deviation * c.mean_deviation;
    mean_jump = std::max(mean_jump, c.mean_jump);
    const auto one_sided = static_cast<double>(std::max(c.above, c.below));
    signs += one_sided * one_sided;
  }

  const auto bias = [&](const Weighting& w, double total_weight, double random, double noise, double jump) {
    Bias b;
    b.judged = total_weight > 0;
    if (!b.judged) return b;
    b.value = w.drift / total_weight;
    // Membership of every element, summed.
    b.tolerance = std::max(w.most, -w.least) / total_weight;
    if (independent_tokens) {
      const double modelled = w.systematic                     // one sign everywhere
                              + std::sqrt(random)              // independent tokens; kLambda is in the radii
                              + kLambda * std::sqrt(noise)     // the last rounding: Bernstein's variance term
                              + kLambda * kLambda / 3 * jump;  // ... and its term for the largest summand
      b.tolerance = std::min(b.tolerance, modelled / total_weight);
    }
    b.biased_tokens = w.biased_tokens;
    b.worst_token = w.worst_token;
    return b;
  };

  Aggregates a;
  a.scale = bias(scale_, sum_squares_, scale_random, scale_noise, scale_jump);
  a.mean = bias(mean_, static_cast<double>(elements_), mean_random, mean_noise, mean_jump);
  a.signs = {signs_, kLambda * std::sqrt(signs), independent_tokens && elements_ > 0};
  return a;
}

bool SignBalance::conforms() const {
  if (!judged) return true;
  const auto excess = [](std::uint64_t more, std::uint64_t fewer) {
    return static_cast<double>(more) - static_cast<double>(fewer);
  };
  return excess(counts.far_above, counts.below) <= tolerance &&
         excess(counts.far_below, counts.above) <= tolerance;
}

}  // namespace mhcheck::conformance

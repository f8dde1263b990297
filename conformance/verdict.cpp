#include "conformance/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "reference/acceptance.h"

namespace mhcheck::conformance {

using reference::Acceptance;
using reference::accepted;
using reference::bound_units;
using reference::half_spacing;
using reference::membership;
using reference::Membership;
using reference::outward;

namespace {

// The contract says nothing about an element without a value, and fp32 may overflow where the radius is
// infinite: anything is right there, once it is written.
bool is_undefined(double value, double radius) { return std::isnan(value) || !std::isfinite(radius); }

// A NaN or Inf is the worst of errors; among equals the first element is named.
bool is_worse(const ElementReport& a, const ElementReport& b) {
  const auto rank = [](const ElementReport& e) {
    return std::isnan(e.bound_units) ? std::numeric_limits<double>::infinity() : e.bound_units;
  };
  return rank(a) > rank(b);
}

template <Dtype D>
std::uint32_t load(std::span<const std::byte> payload, std::size_t index) {
  if constexpr (D == Dtype::fp32) {
    std::uint32_t bits;
    std::memcpy(&bits, payload.data() + index * sizeof bits, sizeof bits);
    return bits;
  } else {
    std::uint16_t bits;
    std::memcpy(&bits, payload.data() + index * sizeof bits, sizeof bits);
    return bits;
  }
}

// The sum of partial sums in twice the double precision: `sum` is within `error` of the exact sum.
struct ExactSum {
  double sum = 0;
  double error = 0;
};

class SumOfPartials {
 public:
  void add(double term) {
    // Knuth's two-sum: `low` is the exact error of the addition.
    const double sum = high_ + term;
    const double back = sum - high_;
    const double low = (high_ - (sum - back)) + (term - back);
    high_ = sum;
    low_ += low;
    magnitude_ += std::fabs(term);
    ++terms_;
  }
  ExactSum result() const {
    // Half a spacing for the last addition, and Ogita, Rump and Oishi's bound for the sum of the low parts.
    const double n_u = static_cast<double>(terms_) * 0x1p-53;
    const double sum = high_ + low_;
    return {sum, std::fabs(sum) * 0x1p-53 + 2 * n_u * n_u * magnitude_};
  }

 private:
  double high_ = 0, low_ = 0, magnitude_ = 0;
  std::uint64_t terms_ = 0;
};

}  // namespace

OutputJudge::OutputJudge(const TensorSpec& spec, std::int64_t num_tokens, std::span<const std::byte> payload,
                         bool independent_tokens)
    : spec_(spec), num_tokens_(num_tokens), payload_(payload), independent_tokens_(independent_tokens) {
  const std::size_t bytes = element_count(spec.shape) * size_of(spec.dtype);
  if (payload.size() != bytes) {
    throw std::invalid_argument(
        fmt::format("output {}: {} bytes stored, must be {}", spec.name, payload.size(), bytes));
  }
}

void OutputJudge::Tally::note_wrong(FailureKind kind, const ElementReport& report) {
  Wrong& wrong = wrong_[static_cast<std::size_t>(kind)];
  if (wrong.count == 0 || is_worse(report, wrong.worst)) wrong.worst = report;
  ++wrong.count;
}

void OutputJudge::Tally::merge(const Tally& next) {
  elements_ += next.elements_;
  undefined_ += next.undefined_;
  flushed_ += next.flushed_;
  for (std::size_t kind = 0; kind < wrong_.size(); ++kind) {
    const Wrong& from = next.wrong_[kind];
    if (from.count != 0 && (wrong_[kind].count == 0 || is_worse(from.worst, wrong_[kind].worst))) {
      wrong_[kind].worst = from.worst;
    }
    wrong_[kind].count += from.count;
  }
  if (next.worst_ && (!worst_ || is_worse(*next.worst_, *worst_))) worst_ = next.worst_;
  worst_ulps_ = std::max(worst_ulps_, next.worst_ulps_);
  errors_.merge(next.errors_);
}

OutputJudge::Tally OutputJudge::judge(const reference::Block& block,
                                      const reference::OutputBlock& expected) const {
  Tally tally;
  if (spec_.partial_sums) {
    judge_partial_sums(block, expected, tally);
    return tally;
  }
  switch (spec_.dtype) {
    case Dtype::bf16:
      judge_elements<Dtype::bf16>(block, expected, tally);
      break;
    case Dtype::fp16:
      judge_elements<Dtype::fp16>(block, expected, tally);
      break;
    case Dtype::fp32:
      judge_elements<Dtype::fp32>(block, expected, tally);
      break;
  }
  return tally;
}

template <Dtype D>
void OutputJudge::judge_elements(const reference::Block& block, const reference::OutputBlock& expected,
                                 Tally& tally) const {
  constexpr std::uint32_t poison = poison_bits(D);
  constexpr double largest = [] {
    constexpr FloatFormat f = format_of(D);
    double power = 1;
    for (int e = 0; e < f.max_exponent; ++e) power *= 2;
    double smallest_step = 1;
    for (int e = 0; e < f.mantissa_bits(); ++e) smallest_step /= 2;
    return power * (2 - smallest_step);
  }();
  const std::size_t row = expected.elements_per_token;
  double worst_units = -1;
  TokenAccumulator accumulator;

  for (std::int64_t t = 0; t < block.num_tokens; ++t) {
    const std::int64_t token = block.first_token + t;
    for (std::size_t index = 0; index < row; ++index) {
      const std::size_t e = static_cast<std::size_t>(t) * row + index;
      const std::uint64_t flat = static_cast<std::uint64_t>(token) * row + index;
      const std::uint32_t stored_bits = load<D>(payload_, flat);
      const double value = expected.value[e];
      const double radius = expected.probabilistic[e];
      const bool undefined = is_undefined(value, radius);
      const Acceptance interval = undefined ? Acceptance{} : accepted<D>(value, radius, expected.rounded[e]);
      const double stored = decode(D, stored_bits);
      const double half = half_spacing<D>(value, radius);
      const double units = bound_units(stored, value, radius, half);

      const auto report = [&] {
        return ElementReport{.token = token,
                             .index = static_cast<std::int64_t>(index),
                             .flat = flat,
                             .partial_sums = false,
                             .got_bits = stored_bits,
                             .expected_bits = expected.rounded[e],
                             .lo_bits = interval.lo,
                             .hi_bits = interval.hi,
                             .got = stored,
                             .expected = decode(D, expected.rounded[e]),
                             .lo = decode(D, interval.lo),
                             .hi = decode(D, interval.hi),
                             .exact = value,
                             .deterministic = expected.deterministic[e],
                             .probabilistic = radius,
                             .systematic = expected.systematic[e],
                             .ulps = ulp_distance(D, stored_bits, value),
                             .bound_units = units};
      };

      ++tally.elements_;
      if (undefined) ++tally.undefined_;
      if (stored_bits == poison) {
        tally.note_wrong(FailureKind::unwritten, report());
        continue;
      }
      if (undefined) continue;
      if (is_nan(D, stored_bits)) {
        tally.note_wrong(FailureKind::not_a_number, report());
        continue;
      }
      const Membership member = membership(D, interval, stored_bits);
      if (member == Membership::flushed) {
        // Right, but no rounding error: it says nothing about the kernel's errors.
        ++tally.flushed_;
        continue;
      }
      if (member == Membership::outside) {
        if (is_infinite(D, stored_bits)) {
          tally.note_wrong(FailureKind::not_a_number, report());
          continue;
        }
        const Acceptance any_order =
            std::isfinite(expected.deterministic[e])
                ? accepted<D>(value, std::max(radius, expected.deterministic[e]), expected.rounded[e])
                : Acceptance{stored_bits, stored_bits, false};
        tally.note_wrong(membership(D, any_order, stored_bits) == Membership::outside
                             ? FailureKind::outside_deterministic
                             : FailureKind::outside_probabilistic,
                         report());
      }
      // Overflow has no error that could be added up.
      if (!is_finite(D, stored_bits) || !is_finite(D, expected.rounded[e])) continue;

      tally.worst_ulps_ = std::max(tally.worst_ulps_, std::fabs(stored - value) / ulp(D, value));
      if (units > worst_units) {
        worst_units = units;
        tally.worst_ = report();
      }
      accumulator.add({.exact = value,
                       .expected = decode(D, expected.rounded[e]),
                       .stored = stored,
                       .lowest = std::max(decode(D, interval.lo), -largest),
                       .highest = std::min(decode(D, interval.hi), largest),
                       .deterministic = expected.deterministic[e],
                       .probabilistic = radius,
                       .systematic = expected.systematic[e],
                       .spacing = 2 * half});
    }
    tally.errors_.add(token, accumulator.finish());
  }
}

void OutputJudge::judge_partial_sums(const reference::Block& block, const reference::OutputBlock& expected,
                                     Tally& tally) const {
  constexpr Dtype D = Dtype::fp32;
  const std::size_t row = expected.elements_per_token;
  const auto splits = static_cast<std::size_t>(spec_.shape[0]);
  double worst_units = -1;
  TokenAccumulator accumulator;

  for (std::int64_t t = 0; t < block.num_tokens; ++t) {
    const std::int64_t token = block.first_token + t;
    for (std::size_t index = 0; index < row; ++index) {
      const std::size_t e = static_cast<std::size_t>(t) * row + index;
      const std::uint64_t flat = static_cast<std::uint64_t>(token) * row + index;
      const double value = expected.value[e];
      const double radius = expected.probabilistic[e];
      bool any_unwritten = false, all_finite = true;
      SumOfPartials partials;
      for (std::size_t split = 0; split < splits; ++split) {
        const std::size_t at = split * static_cast<std::size_t>(num_tokens_) * row + flat;
        const std::uint32_t bits = load<D>(payload_, at);
        any_unwritten = any_unwritten || bits == poison_bits(D);
        all_finite = all_finite && is_finite(D, bits);
        partials.add(decode(D, bits));
      }
      const auto [sum, sum_error] = partials.result();
      const double allowed = outward(value, radius) + sum_error;
      const double lo = value - allowed, hi = value + allowed;
      const auto report = [&] {
        return ElementReport{.token = token,
                             .index = static_cast<std::int64_t>(index),
                             .flat = flat,
                             .partial_sums = true,
                             .got_bits = 0,
                             .expected_bits = expected.rounded[e],
                             .lo_bits = 0,
                             .hi_bits = 0,
                             .got = sum,
                             .expected = decode(D, expected.rounded[e]),
                             .lo = lo,
                             .hi = hi,
                             .exact = value,
                             .deterministic = expected.deterministic[e],
                             .probabilistic = radius,
                             .systematic = expected.systematic[e],
                             .ulps = (sum - value) / ulp(D, value),
                             .bound_units = sum == value ? 0 : std::fabs(sum - value) / allowed};
      };

      ++tally.elements_;
      const bool undefined = is_undefined(value, radius);
      if (undefined) ++tally.undefined_;
      if (any_unwritten) {
        tally.note_wrong(FailureKind::unwritten, report());
        continue;
      }
      if (undefined) continue;
      if (!all_finite) {
        tally.note_wrong(FailureKind::not_a_number, report());
        continue;
      }
      if (!(sum >= lo && sum <= hi)) {
        tally.note_wrong(std::fabs(sum - value) > outward(value, expected.deterministic[e]) + sum_error
                             ? FailureKind::outside_deterministic
                             : FailureKind::outside_probabilistic,
                         report());
      }
      const ElementReport judged = report();
      tally.worst_ulps_ = std::max(tally.worst_ulps_, std::fabs(judged.ulps));
      if (judged.bound_units > worst_units) {
        worst_units = judged.bound_units;
        tally.worst_ = judged;
      }
      accumulator.add({.exact = value,
                       .expected = value,
                       .stored = sum,
                       .lowest = lo,
                       .highest = hi,
                       .deterministic = expected.deterministic[e],
                       .probabilistic = radius,
                       .systematic = expected.systematic[e],
                       .spacing = 0});
    }
    tally.errors_.add(token, accumulator.finish());
  }
}

OutputVerdict OutputJudge::verdict(const Tally& total) const {
  OutputVerdict v{.name = std::string(spec_.name),
                  .dtype = spec_.dtype,
                  .shape = spec_.shape,
                  .elements = total.elements_,
                  .undefined = total.undefined_,
                  .flushed = total.flushed_,
                  .findings = {},
                  .worst = total.worst_,
                  .worst_ulps = total.worst_ulps_,
                  .aggregates = total.errors_.judge(independent_tokens_)};
  for (const FailureRow& row : kFailures) {
    const Tally::Wrong& wrong = total.wrong_[static_cast<std::size_t>(row.kind)];
    if (wrong.count == 0) continue;
    v.findings.push_back({row.kind, wrong.count, wrong.worst, {}});
  }

  const auto judge_bias = [&](std::string_view name, const Bias& bias) {
    if (bias.conforms()) return;
    std::string detail =
        fmt::format("{}: {:+.6g} over the tensor (at most {:.3g})", name, bias.value, bias.tolerance);
    if (bias.biased_tokens > 0) {
      detail += fmt::format(
          "; tokens beyond their own limit: {}, the worst is token {}: {:+.6g} (at most {:.3g})",
          bias.biased_tokens, bias.worst_token.token, bias.worst_token.value, bias.worst_token.tolerance);
    }
    add_finding(v, {FailureKind::wrong_aggregate, 1, std::nullopt, std::move(detail)});
  };
  judge_bias("fitted scale - 1", v.aggregates.scale);
  judge_bias("mean signed error", v.aggregates.mean);
  if (const SignBalance& signs = v.aggregates.signs; !signs.conforms()) {
    add_finding(v, {FailureKind::wrong_aggregate, 1, std::nullopt,
                    fmt::format("{} errors far above against {} below, {} far below against {} above; the "
                                "difference may be {:.3g}",
                                signs.counts.far_above, signs.counts.below, signs.counts.far_below,
                                signs.counts.above, signs.tolerance)});
  }
  return v;
}

std::optional<Finding> judge_guards(const TensorSpec& spec, const kernels::OutputRegion& region) {
  const std::optional<GuardDamage> damage = guard_damage(region);
  if (!damage) return std::nullopt;
  const auto payload = static_cast<std::int64_t>(region.payload().size());
  const std::string place = damage->offset < 0
                                ? fmt::format("{} bytes before the first element", -damage->offset)
                                : fmt::format("{} bytes behind the last element", damage->offset - payload);
  return Finding{FailureKind::written_outside, damage->bytes, std::nullopt,
                 fmt::format("{}: {} guard bytes changed, the first {} (0x{:02x} in place of 0x{:02x})",
                             spec.name, damage->bytes, place, static_cast<unsigned>(damage->found),
                             static_cast<unsigned>(kGuardByte))};
}

std::optional<Finding> judge_inputs(const TensorMap& before, const TensorMap& after) {
  std::uint64_t changed = 0;
  std::string first;
  for (const auto& [name, original] : before) {
    const auto found = after.find(name);
    if (found == after.end() || found->second.shape() != original.shape() ||
        found->second.dtype() != original.dtype()) {
      ++changed;
      if (first.empty()) first = fmt::format("{} was replaced", name);
      continue;
    }
    const Tensor& now = found->second;
    if (std::ranges::equal(original.bytes(), now.bytes())) continue;
    for (std::size_t i = 0; i < original.size(); ++i) {
      if (original.bits(i) == now.bits(i)) continue;
      ++changed;
      if (first.empty()) {
        first = fmt::format("the first is {} element {}: {} became {}", name, i,
                            hex_bits(original.dtype(), original.bits(i)), hex_bits(now.dtype(), now.bits(i)));
      }
    }
  }
  if (changed == 0) return std::nullopt;
  return Finding{FailureKind::input_changed, changed, std::nullopt,
                 fmt::format("{} input elements changed, {}", changed, first)};
}

void add_finding(OutputVerdict& verdict, Finding finding) {
  const auto behind =
      std::ranges::upper_bound(verdict.findings, finding.kind, {}, [](const Finding& f) { return f.kind; });
  verdict.findings.insert(behind, std::move(finding));
}

}  // namespace mhcheck::conformance

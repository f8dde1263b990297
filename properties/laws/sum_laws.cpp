#include "properties/laws/sum_laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/laws/computed.h"
#include "properties/laws/run.h"
#include "reference/acceptance.h"
#include "reference/arithmetic/error_model.h"

namespace mhcheck::properties {
namespace {

constexpr std::int64_t kBlockTokens = reference::Reference::kBlockTokens;

std::size_t output_index(const Problem& problem, std::string_view name) {
  const std::vector<TensorSpec> specs = output_specs(problem);
  return static_cast<std::size_t>(std::ranges::find(specs, name, &TensorSpec::name) - specs.begin());
}

bool has_output(const Problem& problem, std::string_view name) {
  return output_index(problem, name) < output_specs(problem).size();
}

// What rounding makes of the sum of a column after the last step of Sinkhorn, relative to s / (s + eps): the
// kernel's own s + eps has one rounding for each of its n additions, and each entry is a quotient by it.
// Nothing is flushed: where an entry could be, the reference leaves the comb open.
double column_rounding(int n) {
  const double roundings = (n * error_model::kRounding + error_model::kDivision) * error_model::kUnit;
  return roundings / (1 - roundings);
}

// What a column's sum is at least, in exact arithmetic on any kernel's numbers. It is s / (s + eps) with s
// the sum before the last step. Before the first step every entry has eps added to it, so s >= n eps. Before
// a later one the rows have been divided by sums of at most n, and by eps more: s >= (the sum after the step
// before) / (n + eps).
double lowest_column_sum(int n, double eps, int repeat) {
  if (eps == 0) return 1;
  double sum = n / (n + 1.0);
  for (int pass = 1; pass < repeat; ++pass) {
    // Column step and row step round their entries, and a row's entries may be as much above 1: three times,
    // and once for what is of second order.
    const double s = sum * (1 - 4 * column_rounding(n)) / (n + eps);
    sum = s / (s + eps);
  }
  return sum;
}

// Whether the contract and fp32 leave a token's comb open: then anything is right.
class OpenCombs {
 public:
  explicit OpenCombs(Trial& trial) : trial_(trial) {}

  bool contain(std::int64_t token) {
    if (!reference_) {
      reference_.emplace(trial_.problem(), trial_.tested().profile, trial_.inputs(),
                         options_of(trial_.tested()));
    }
    const reference::Block block = reference_->evaluate(token, 1);
    const reference::OutputBlock& comb = block.outputs[output_index(trial_.problem(), "comb_mix")];
    for (std::size_t e = 0; e < comb.value.size(); ++e) {
      if (allowance(comb, e) == HUGE_VAL) return true;
    }
    return false;
  }

 private:
  Trial& trial_;
  std::optional<reference::Reference> reference_;  // made when a sum is off: mostly none is
};

// The norm with unit weights and without norm_eps.
Problem unit_problem(const Problem& problem) {
  Problem unit = problem;
  unit.parameters.norm_eps = 0;
  return unit;
}

}  // namespace

std::string needs_comb(const Trial& trial) {
  if (!has_output(trial.problem(), "comb_mix")) return "the operator gives no comb_mix";
  return trial.problem().num_tokens > 0 ? "" : "there is no token";
}

std::optional<std::string> column_sums_break(Trial& trial) {
  const Problem& problem = trial.problem();
  const int n = problem.hc_mult;
  const Tensor& comb = trial.outputs().at("comb_mix");
  const double rounding = column_rounding(n);
  const double lowest = lowest_column_sum(n, static_cast<double>(problem.parameters.hc_sinkhorn_eps),
                                          problem.parameters.sinkhorn_repeat) *
                        (1 - rounding),
               highest = 1 + rounding;
  OpenCombs open(trial);
  for (std::int64_t token = 0; token < problem.num_tokens; ++token) {
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int i = 0; i < n; ++i) {
        sum += comb.value(static_cast<std::size_t>((token * n + i) * n + j));
      }
      if (sum >= lowest && sum <= highest) continue;
      if (open.contain(token)) break;
      return fmt::format("column {} of comb_mix of token {} sums to {:.9g}, outside {:.9g} to {:.9g}", j,
                         token, sum, lowest, highest);
    }
  }
  return std::nullopt;
}

std::string needs_a_norm(const Trial& trial) {
  if (!trial.problem().norm_weight) return "the case has no norm";
  if (trial.problem().num_tokens == 0) return "there is no token";
  return trial.subject().why_refused(unit_problem(trial.problem()));
}

std::optional<std::string> unit_norm_breaks(Trial& trial) {
  const Problem problem = unit_problem(trial.problem());
  TensorMap inputs = trial.inputs();
  Tensor& weight = inputs.at("norm_weight");
  for (std::size_t i = 0; i < weight.size(); ++i) weight.set(i, 1);
  const TensorMap outputs = outputs_of(trial.subject(), problem, inputs);

  const std::string name = has_output(problem, "y") ? "y" : "layer_input";
  const std::size_t index = output_index(problem, name);
  const Tensor& normalised = outputs.at(name);
  const auto H = static_cast<std::size_t>(problem.hidden_size);
  const reference::Reference reference(problem, trial.tested().profile, inputs, options_of(trial.tested()));
  for (std::int64_t first = 0; first < problem.num_tokens; first += kBlockTokens) {
    const std::int64_t count = std::min(kBlockTokens, problem.num_tokens - first);
    const reference::Block block = reference.evaluate(first, count);
    const reference::OutputBlock& output = block.outputs[index];
    for (std::size_t t = 0; t < static_cast<std::size_t>(count); ++t) {
      const std::size_t token = static_cast<std::size_t>(first) + t;
      double stored = 0, exact = 0, allowed = 0;
      for (std::size_t h = 0; h < H; ++h) {
        const double value = normalised.value(token * H + h), error = allowance(output, t * H + h);
        stored += value * value;
        exact += output.value[t * H + h] * output.value[t * H + h];
        allowed += error * error;
      }
      const auto root_mean = [&](double sum) { return std::sqrt(sum / static_cast<double>(H)); };
      // A triangle inequality: the norm of a sum is at most the sum of the norms. The sums themselves lose H
      // roundings of positive terms.
      const double limit =
          root_mean(allowed) + 2 * static_cast<double>(H) * error_model::kDoubleUnit * root_mean(exact);
      if (std::isnan(limit) || limit == HUGE_VAL) continue;
      if (std::fabs(root_mean(stored) - root_mean(exact)) <= limit * error_model::kOutward) continue;
      return fmt::format("{} of token {} has root mean square {:.9g} in place of {:.9g} +- {:.3g}", name,
                         token, root_mean(stored), root_mean(exact), limit);
    }
  }
  return std::nullopt;
}

}  // namespace mhcheck::properties

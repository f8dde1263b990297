#include "properties/laws/symmetry_laws.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "properties/laws/computed.h"
#include "properties/laws/run.h"
#include "properties/laws/streams.h"

namespace mhcheck::properties {
namespace {

// How a tensor of a problem without any eps grows with its streams, as a power of them.
struct Growth {
  std::string_view tensor;
  int power;
};
constexpr Growth kInputGrowth[] = {{"residual", 1}, {"x", 1}, {"gemm_out_mul", 1}, {"gemm_out_sqrsum", 2}};
constexpr Growth kOutputGrowth[] = {{"post_mix", 0},     {"comb_mix", 0},       {"next_pre_mix", 0},
                                    {"layer_input", 1},  {"next_residual", 1},  {"y", 0},
                                    {"gemm_out_mul", 1}, {"gemm_out_sqrsum", 2}};

int output_growth(const Problem& problem, std::string_view output) {
  if (output == "layer_input" && problem.norm_weight) return 0;
  return std::ranges::find(kOutputGrowth, output, &Growth::tensor)->power;
}

// Streams are multiplied by 2^kExponent. Upwards it is exact in every format, subnormals included; what
// overflows makes its token undefined.
constexpr int kExponent = 4;

// Every eps that stands beside a mean square is negligible.
Problem without_eps(const Problem& problem) {
  Problem changed = problem;
  changed.parameters.rms_eps = 0;
  changed.parameters.norm_eps = 0;
  return changed;
}

}  // namespace

std::string needs_streams_to_permute(const Trial& trial) {
  const Problem& problem = trial.problem();
  if (!row_of(problem.op).streams) return "the operator has no streams";
  if (problem.num_tokens == 0) return "there is no token";
  const int fixed = problem.entry == Entry::carried ? 0 : 1;
  return problem.hc_mult - fixed >= 2 ? "" : "it needs two streams that are alike";
}

std::optional<std::string> permuting_streams_breaks(Trial& trial) {
  const Problem& problem = trial.problem();
  const std::vector<int> streams = rotated_streams(problem);
  const TensorMap inputs = with_streams(problem, trial.inputs(), streams);
  const TensorMap outputs = outputs_of(trial.subject(), problem, inputs);
  std::vector<Match> matches = same_outputs(problem);
  for (Match& match : matches) match.places = places_of_streams(match.one, problem, streams);
  return disagreement(computed(trial), {problem, trial.tested().profile, inputs, outputs}, matches,
                      options_of(trial.tested()));
}

std::string needs_a_root_mean_square(const Trial& trial) {
  const OperatorRow& row = row_of(trial.problem().op);
  if (!row.projection && (row.parameters & kRmsEps) == 0 && !trial.problem().norm_weight) {
    return "the operator has no mean square";
  }
  if (trial.problem().num_tokens == 0) return "there is no token";
  return trial.subject().why_refused(without_eps(trial.problem()));
}

std::optional<std::string> scaling_streams_breaks(Trial& trial) {
  const Problem problem = without_eps(trial.problem());
  TensorMap scaled = trial.inputs();
  for (const Growth& growth : kInputGrowth) {
    const auto found = scaled.find(std::string(growth.tensor));
    if (found == scaled.end()) continue;
    Tensor& tensor = found->second;
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      tensor.set(i, std::ldexp(tensor.value(i), kExponent * growth.power));
    }
  }
  const TensorMap outputs = outputs_of(trial.subject(), problem, trial.inputs()),
                  scaled_outputs = outputs_of(trial.subject(), problem, scaled);
  std::vector<Match> matches = same_outputs(problem);
  for (Match& match : matches) match.exponent = kExponent * output_growth(problem, match.one);
  const RoundingProfile& profile = trial.tested().profile;
  return disagreement({problem, profile, trial.inputs(), outputs}, {problem, profile, scaled, scaled_outputs},
                      matches, options_of(trial.tested()));
}

}  // namespace mhcheck::properties

#include "properties/laws/form_laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "properties/laws/computed.h"
#include "properties/laws/run.h"
#include "properties/regimes.h"

namespace mhcheck::properties {
namespace {

// ---- Entry forms ---------------------------------------------------------------------------------------

Problem carried(const Problem& problem) {
  Problem changed = problem;
  changed.entry = Entry::carried;
  return changed;
}

// ---- Unfused forms -------------------------------------------------------------------------------------

// The inputs of `problem` from these tensors.
TensorMap inputs_from(const Problem& problem, const TensorMap& tensors) {
  TensorMap inputs;
  for (const TensorSpec& spec : input_specs(problem)) {
    inputs.emplace(spec.name, tensors.at(std::string(spec.name)));
  }
  return inputs;
}

// A fused operator as two, the second of which reads what the first one stores.
struct Unfused {
  Problem first, second;
  // Where the two together round, which they do as the fused operator in this profile.
  RoundingProfile profile;
  // Inputs of the second that are outputs of the first.
  struct Handed {
    std::string_view from, to;
  };
  std::vector<Handed> handed;
};

std::optional<Op> op_after_post(Op op) {
  switch (op) {
    case Op::mhc_fused_post_pre:
      return Op::mhc_pre;
    case Op::mhc_fused_post_pre_delayed:
      return Op::mhc_pre_delayed;
    case Op::mhc_fused_post_pre_gemm_sqrsum:
      return Op::mhc_pre_gemm_sqrsum;
    default:
      return std::nullopt;
  }
}

Problem with_op(const Problem& problem, Op op) {
  Problem changed = problem;
  changed.op = op;
  return changed;
}

bool takes(const Subject& subject, const Unfused& unfused) {
  return subject.why_refused(unfused.first).empty() && subject.why_refused(unfused.second).empty();
}

// mhc_post by itself.
std::optional<Unfused> post_unfused(const Problem& problem, const RoundingProfile&, const Subject& subject) {
  const std::optional<Op> rest = op_after_post(problem.op);
  if (!rest) return std::nullopt;
  Unfused unfused{.first = with_op(problem, Op::mhc_post),
                  .second = with_op(problem, *rest),
                  .profile = {},
                  .handed = {{"next_residual", "residual"}}};
  unfused.first.norm_weight.reset();
  if (!takes(subject, unfused)) return std::nullopt;
  unfused.profile = subject.profile(*rest);
  unfused.profile.next_residual = NextResidual::rounded;
  return unfused;
}

// The rmsnorm by itself.
std::optional<Unfused> norm_unfused(const Problem& problem, const RoundingProfile& profile,
                                    const Subject& subject) {
  if (!problem.norm_weight || problem.op == Op::rmsnorm) return std::nullopt;
  Unfused unfused{.first = problem,
                  .second = with_op(problem, Op::rmsnorm),
                  .profile = profile,
                  .handed = {{"layer_input", "x"}}};
  unfused.first.norm_weight.reset();
  unfused.second.entry = Entry::carried;
  if (!takes(subject, unfused)) return std::nullopt;
  unfused.profile.collapse = CollapseRounding::storage;
  return unfused;
}

// The two launches of production, with as few splits as the kernels take.
std::optional<Unfused> projection_unfused(const Problem& problem, const RoundingProfile&,
                                          const Subject& subject) {
  if (problem.op != Op::mhc_pre) return std::nullopt;
  for (const int splits : {2, 1}) {
    Unfused unfused{.first = with_op(problem, Op::mhc_pre_gemm_sqrsum),
                    .second = with_op(problem, Op::mhc_pre_big_fuse),
                    .profile = {},
                    .handed = {{"gemm_out_mul", "gemm_out_mul"}, {"gemm_out_sqrsum", "gemm_out_sqrsum"}}};
    unfused.first.norm_weight.reset();
    unfused.first.split_k = unfused.second.split_k = splits;
    if (!takes(subject, unfused)) continue;
    unfused.profile.projection = subject.profile(unfused.first.op).projection;
    unfused.profile.collapse = subject.profile(unfused.second.op).collapse;
    return unfused;
  }
  return std::nullopt;
}

constexpr std::optional<Unfused> (*kUnfused[])(const Problem&, const RoundingProfile&, const Subject&) = {
    post_unfused, norm_unfused, projection_unfused};

// Of all that the two compute, the outputs that the fused operator has.
TensorMap unfused_outputs(Trial& trial, const Unfused& unfused) {
  TensorMap first = outputs_of(trial.subject(), unfused.first, inputs_from(unfused.first, trial.inputs()));
  TensorMap handed = trial.inputs();
  for (const Unfused::Handed& one : unfused.handed) {
    handed.insert_or_assign(std::string(one.to), first.at(std::string(one.from)));
  }
  TensorMap outputs = outputs_of(trial.subject(), unfused.second, inputs_from(unfused.second, handed));
  if (const auto y = outputs.find("y"); y != outputs.end()) {
    first.insert_or_assign("layer_input", std::move(y->second));
  }
  outputs.merge(first);  // what both have is the second's
  return outputs;
}

// ---- Splits --------------------------------------------------------------------------------------------

constexpr int kSplits[] = {1, 2, 3, 8};

Problem with_splits(const Problem& problem, int splits) {
  Problem changed = problem;
  changed.split_k = splits;
  return changed;
}

bool takes_partial_sums(const Problem& problem) { return problem.op == Op::mhc_pre_big_fuse; }

// The other numbers of splits that the law tries. Partial sums that are inputs are cut in two instead.
std::vector<Problem> other_splits(const Problem& problem, const Subject& subject) {
  std::vector<Problem> problems;
  if (takes_partial_sums(problem)) {
    problems.push_back(with_splits(problem, 2 * problem.split_k));
  } else {
    for (const int splits : kSplits) {
      if (splits != problem.split_k) problems.push_back(with_splits(problem, splits));
    }
  }
  std::erase_if(problems, [&](const Problem& other) {
    return !why_illegal(other).empty() || !subject.why_refused(other).empty();
  });
  return problems;
}

// Each partial sum in two halves. Halving is exact but for the last bit of subnormal numbers, which the
// difference of the exact results accounts for.
TensorMap halved_partial_sums(const Problem& doubled, const TensorMap& inputs) {
  TensorMap result = inputs;
  for (const TensorSpec& spec : input_specs(doubled)) {
    if (!spec.partial_sums) continue;
    const Tensor& whole = inputs.at(std::string(spec.name));
    Tensor halves(spec.dtype, spec.shape);
    for (std::size_t i = 0; i < halves.size(); ++i) halves.set(i, whole.value(i % whole.size()) / 2);
    result.insert_or_assign(std::string(spec.name), std::move(halves));
  }
  return result;
}

// ---- Head ----------------------------------------------------------------------------------------------

Problem pre_of(const Problem& problem) {
  Problem pre = with_op(problem, Op::mhc_pre);
  pre.norm_weight.reset();
  return pre;
}

Problem head_of(const Problem& problem) { return with_op(pre_of(problem), Op::hc_head); }

// The first elements of each tensor of mhc_pre are the head's.
TensorMap head_inputs(const Problem& head, const TensorMap& pre_inputs) {
  TensorMap inputs;
  for (const TensorSpec& spec : input_specs(head)) {
    Tensor tensor(spec.dtype, spec.shape);
    const std::span<const std::byte> whole = pre_inputs.at(std::string(spec.name)).bytes();
    std::ranges::copy(whole.first(tensor.bytes().size()), tensor.bytes().begin());
    inputs.emplace(spec.name, std::move(tensor));
  }
  return inputs;
}

std::string first_of(std::string one, const std::string& other) { return one.empty() ? other : one; }

}  // namespace

std::string needs_an_entry_form(const Trial& trial) {
  const Problem& problem = trial.problem();
  if (problem.entry == Entry::carried) return "the case has no entry form";
  if (problem.num_tokens == 0) return "there is no token";
  return trial.subject().why_refused(carried(problem));
}

std::optional<std::string> the_carried_form_breaks(Trial& trial) {
  const Problem problem = carried(trial.problem());
  // The broadcast entry has the sum of fn over the streams; this is the fn that it is the sum of.
  Case with_fn = trial.tested();
  with_fn.problem.entry = Entry::entry;
  TensorMap tensors = trial.inputs();
  tensors.insert_or_assign("fn", make_inputs(with_fn).at("fn"));
  // The collapse of the first stream.
  Tensor pre_mix(Dtype::fp32, {problem.num_tokens, problem.hc_mult});
  for (std::size_t i = 0; i < pre_mix.size(); i += static_cast<std::size_t>(problem.hc_mult))
    pre_mix.set(i, 1);
  tensors.insert_or_assign("pre_mix", std::move(pre_mix));
  const TensorMap inputs = inputs_from(problem, tensors);
  const TensorMap outputs = outputs_of(trial.subject(), problem, inputs);
  // Repeated streams have equal terms.
  return disagreement(computed(trial), {problem, trial.tested().profile, inputs, outputs},
                      same_outputs(problem), {.independent_roundings = false});
}

std::string needs_an_unfused_form(const Trial& trial) {
  if (trial.problem().num_tokens == 0) return "there is no token";
  for (const auto& form : kUnfused) {
    if (form(trial.problem(), trial.tested().profile, trial.subject())) return {};
  }
  return "the operator has no unfused form among the kernels";
}

std::optional<std::string> the_unfused_form_breaks(Trial& trial) {
  for (const auto& form : kUnfused) {
    const std::optional<Unfused> unfused = form(trial.problem(), trial.tested().profile, trial.subject());
    if (!unfused) continue;
    const TensorMap outputs = unfused_outputs(trial, *unfused);
    if (const std::optional<std::string> how =
            disagreement(computed(trial), {trial.problem(), unfused->profile, trial.inputs(), outputs},
                         same_outputs(trial.problem()), options_of(trial.tested()))) {
      return fmt::format("fused, and as {} and {}: {}", row_of(unfused->first.op).name,
                         row_of(unfused->second.op).name, *how);
    }
  }
  return std::nullopt;
}

std::string needs_another_split(const Trial& trial) {
  if (!row_of(trial.problem().op).splits) return "the operator has no partial sums";
  if (trial.problem().num_tokens == 0) return "there is no token";
  return other_splits(trial.problem(), trial.subject()).empty() ? "the kernels take no other split_k" : "";
}

std::optional<std::string> another_split_breaks(Trial& trial) {
  for (const Problem& problem : other_splits(trial.problem(), trial.subject())) {
    const TensorMap inputs =
        takes_partial_sums(problem) ? halved_partial_sums(problem, trial.inputs()) : trial.inputs();
    const TensorMap outputs = outputs_of(trial.subject(), problem, inputs);
    if (const std::optional<std::string> how =
            disagreement(computed(trial), {problem, trial.tested().profile, inputs, outputs},
                         same_outputs(problem), options_of(trial.tested()))) {
      return fmt::format("with split_k {} and {}: {}", trial.problem().split_k, problem.split_k, *how);
    }
  }
  return std::nullopt;
}

std::string needs_head_and_pre(const Trial& trial) {
  const Problem& problem = trial.problem();
  if (problem.op != Op::hc_head && problem.op != Op::mhc_pre) return "it is about hc_head and mhc_pre";
  if (problem.num_tokens == 0) return "there is no token";
  return first_of(trial.subject().why_refused(head_of(problem)),
                  trial.subject().why_refused(pre_of(problem)));
}

std::optional<std::string> the_head_breaks(Trial& trial) {
  Case pre_case = trial.tested();
  pre_case.problem = pre_of(trial.problem());
  const Problem &pre = pre_case.problem, head = head_of(trial.problem());
  const TensorMap pre_inputs = make_inputs(pre_case), inputs = head_inputs(head, pre_inputs);
  const TensorMap pre_outputs = outputs_of(trial.subject(), pre, pre_inputs),
                  outputs = outputs_of(trial.subject(), head, inputs);
  return disagreement({head, trial.subject().profile(Op::hc_head), inputs, outputs},
                      {pre, trial.subject().profile(Op::mhc_pre), pre_inputs, pre_outputs},
                      same_outputs(head), options_of(trial.tested()));
}

}  // namespace mhcheck::properties

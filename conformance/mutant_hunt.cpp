#include "conformance/mutant_hunt.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>

#include "conformance/case_list.h"
#include "conformance/guarded_output.h"
#include "conformance/runner.h"
#include "golden/answer.h"
#include "kernels/manifests/manifest_kernels.h"
#include "kernels/runtime/sim_device.h"
#include "properties/regimes.h"

namespace mhcheck::conformance {
namespace {

using mutants::Check;
using mutants::Mutant;

// Schedules that a result is compared under, beside the one in which waves run one after the other.
constexpr std::uint64_t kScheduleSeeds[] = {1, 2, 3};

Check check_of(FailureKind kind) {
  switch (kind) {
    case FailureKind::kernel_fault:
    case FailureKind::sanitizer:  // a hunt runs without them so far
      return Check::fault;
    case FailureKind::schedule_dependent:
      return Check::schedule;
    case FailureKind::unwritten:
    case FailureKind::written_outside:
    case FailureKind::input_changed:
      return Check::memory;
    case FailureKind::not_a_number:
    case FailureKind::outside_deterministic:
    case FailureKind::outside_probabilistic:
      return Check::membership;
    case FailureKind::wrong_aggregate:
      return Check::bias;
  }
  return Check::membership;
}

// A mutant's kernels on the simulator, one instance a schedule.
class Instances {
 public:
  explicit Instances(const Mutant& mutant) : manifest_(mutants::manifest_of(mutant)) {}

  kernels::KernelSet& under(std::uint64_t schedule_seed) {
    std::unique_ptr<kernels::KernelSet>& instance = instances_[schedule_seed];
    if (!instance) {
      // Mutants run side by side, each on one thread.
      instance =
          std::make_unique<kernels::ManifestKernels>(runtime::open_sim({.threads = 1, .seed = schedule_seed}),
                                                     manifest_, kernels::code_object_path(manifest_, {}));
    }
    return *instance;
  }

 private:
  kernels::Manifest manifest_;
  std::map<std::uint64_t, std::unique_ptr<kernels::KernelSet>> instances_;
};

kernels::OutputRegions outputs_of(kernels::KernelSet& kernel, const Problem& problem, TensorMap inputs) {
  kernels::OutputRegions regions = poisoned_outputs(problem);
  tbb::this_task_arena::isolate([&] { kernel.run(problem, inputs, regions); });
  return regions;
}

// The first token's bytes in both, of the first output that differs there. Partial sums are passed over.
std::optional<std::string> first_token_differs(const Problem& alone, kernels::OutputRegions& in_batch,
                                               kernels::OutputRegions& by_itself) {
  for (const TensorSpec& spec : output_specs(alone)) {
    if (spec.partial_sums) continue;
    const std::string name(spec.name);
    const std::span<const std::byte> token = by_itself.at(name).payload();
    if (!std::ranges::equal(token, in_batch.at(name).payload().first(token.size()))) return name;
  }
  return std::nullopt;
}

// The law that the order in which waves run changes no bit. `inputs` are the case's.
std::optional<MutantFinding> schedule_finding(const Case& c, Instances& instances, const TensorMap& inputs) {
  kernels::OutputRegions in_order = outputs_of(instances.under(0), c.problem, inputs);
  for (const std::uint64_t seed : kScheduleSeeds) {
    try {
      kernels::OutputRegions interleaved = outputs_of(instances.under(seed), c.problem, inputs);
      for (auto& [name, region] : in_order) {
        if (std::ranges::equal(region.payload(), interleaved.at(name).payload())) continue;
        return MutantFinding{Check::schedule, "schedule",
                             fmt::format("{} differs between schedule seeds 0 and {}", name, seed)};
      }
    } catch (const kernels::RunFailure& failure) {
      return MutantFinding{Check::schedule, "schedule",
                           fmt::format("schedule seed {}: {}", seed, failure.what())};
    }
  }
  return std::nullopt;
}

// The law that a token's bits depend on no other token: the first alone, against the first of all.
std::optional<MutantFinding> batch_finding(const Case& c, Instances& instances, const TensorMap& inputs) {
  if (c.problem.num_tokens < 2) return std::nullopt;
  Case alone = c;
  alone.problem.num_tokens = 1;  // has the same first token
  kernels::OutputRegions in_batch = outputs_of(instances.under(0), c.problem, inputs);
  kernels::OutputRegions by_itself =
      outputs_of(instances.under(0), alone.problem, properties::make_inputs(alone));
  const std::optional<std::string> differs = first_token_differs(alone.problem, in_batch, by_itself);
  if (!differs) return std::nullopt;
  return MutantFinding{
      Check::batch, "batch",
      fmt::format("{} of token 0 differs between 1 and {} tokens", *differs, c.problem.num_tokens)};
}

// Of a case in a hunt: num_tokens * hidden_size. 33 tokens of every hidden size are below; beyond it one case
// takes seconds on the simulator.
constexpr std::int64_t kMostElements = std::int64_t{1} << 18;

std::int64_t elements(const Case& c) { return c.problem.num_tokens * c.problem.hidden_size; }

std::vector<Case> cases_for(const Mutant& mutant, kernels::KernelSet& kernel) {
  if (!mutant.own_case.empty()) return {parse_descriptor(mutant.own_case)};
  std::vector<Case> cases;
  for (const std::string_view profile : {"smoke", "merge"}) {
    CaseSelection selection;
    selection.profile = profile;
    selection.operators = {mutant.op};
    std::vector<Case> listed = list_cases(selection, [&](Op op) { return std::vector{kernel.profile(op)}; });
    std::erase_if(listed, [&](const Case& c) {
      return elements(c) > kMostElements || !kernel.why_refused(c.problem).empty();
    });
    std::ranges::stable_sort(listed, {}, elements);
    cases.insert(cases.end(), listed.begin(), listed.end());
  }
  return cases;
}

std::vector<MutantFinding> findings_of(const CaseResult& result) {
  std::vector<MutantFinding> findings;
  const auto add = [&](const Finding& finding) {
    findings.push_back({check_of(finding.kind), std::string(row_of(finding.kind).name), finding.detail});
  };
  for (const Finding& finding : result.run_findings) add(finding);
  for (const OutputVerdict& output : result.outputs) {
    for (const Finding& finding : output.findings) add(finding);
  }
  return findings;
}

// What the usual recipe says about the kernel; empty where it passes.
std::string usual_verdict(kernels::KernelSet& kernel, std::span<const UsualAnswers::Answer> answers) {
  for (const UsualAnswers::Answer& answer : answers) {
    if (!kernel.why_refused(answer.c.problem).empty()) continue;
    try {
      const kernels::OutputRegions regions = outputs_of(kernel, answer.c.problem, answer.inputs);
      StoredOutputs stored;
      for (const auto& [name, region] : regions) stored.emplace(name, region.payload());
      if (const std::optional<UsualMismatch> mismatch = usual_comparison(answer.expected, stored)) {
        return fmt::format("{}: {} elements, first {:.6g} in place of {:.6g}", mismatch->output,
                           mismatch->elements, mismatch->got, mismatch->expected);
      }
    } catch (const kernels::RunFailure& failure) {
      return failure.what();
    }
  }
  return {};
}

}  // namespace

bool MutantResult::found_by(Check check) const {
  return std::ranges::find(findings, check, &MutantFinding::check) != findings.end();
}

std::span<const UsualAnswers::Answer> UsualAnswers::of(Op op) {
  const std::lock_guard lock(mutex_);
  std::vector<Answer>& answers = answers_[op];
  if (answers.empty()) {
    for (const Case& c : usual_cases(op)) {
      TensorMap inputs = usual_inputs(c);
      // Isolated: a thread that waits must not take up another mutant while it holds the lock.
      TensorMap expected =
          tbb::this_task_arena::isolate([&] { return golden::answer_of(c, inputs, {}).out; });
      answers.push_back({c, std::move(inputs), std::move(expected)});
    }
  }
  return answers;
}

MutantResult hunt(const Mutant& mutant, UsualAnswers& usual) {
  const auto start = std::chrono::steady_clock::now();
  MutantResult result;
  result.mutant = &mutant;
  Instances instances(mutant);
  kernels::KernelSet& kernel = instances.under(0);
  const KernelRow row{
      .name = std::string(mutant.name), .device = "sim", .summary = {}, .options = {}, .make = {}};
  const bool law = mutant.caught_by == Check::schedule || mutant.caught_by == Check::batch;
  for (const Case& c : cases_for(mutant, kernel)) {
    CaseResult judged = run_case(c, row, kernel, Threads::one);
    if (judged.status == CaseStatus::unjudged) {
      throw std::runtime_error(fmt::format("{}: {}: {}", mutant.name, to_descriptor(c), judged.reason));
    }
    result.descriptor = to_descriptor(c);
    result.findings = findings_of(judged);
    result.outputs = std::move(judged.outputs);
    ++result.cases;
    // The laws compare runs of this kernel; after a fault there is nothing to compare.
    if ((law || !result.findings.empty()) && !result.found_by(Check::fault)) {
      const TensorMap inputs = properties::make_inputs(c);
      for (const auto& law_finding : {schedule_finding, batch_finding}) {
        if (std::optional<MutantFinding> finding = law_finding(c, instances, inputs)) {
          result.findings.push_back(*std::move(finding));
        }
      }
    }
    if (result.killed()) break;
  }
  std::ranges::stable_sort(result.findings, {}, &MutantFinding::check);
  result.recipe = usual_verdict(kernel, usual.of(mutant.op));
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

std::vector<MutantResult> hunt_all(std::span<const Mutant* const> mutants) {
  UsualAnswers usual;
  std::vector<MutantResult> results(mutants.size());
  tbb::parallel_for(std::size_t{0}, mutants.size(),
                    [&](std::size_t i) { results[i] = hunt(*mutants[i], usual); });
  return results;
}

int exit_code(std::span<const MutantResult> results) {
  return std::ranges::all_of(results, &MutantResult::killed) ? 0 : 1;
}

}  // namespace mhcheck::conformance

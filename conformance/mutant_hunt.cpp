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

// Interleavings that have to give the same bits as waves that run one after the other.
constexpr std::uint64_t kSchedules = 3;

Check check_of(FailureKind kind) {
  switch (kind) {
    case FailureKind::kernel_fault:
      return Check::fault;
    case FailureKind::sanitizer:
      return Check::sanitizer;
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

KernelRow row_of(const Mutant& mutant) {
  const kernels::Manifest manifest = mutants::manifest_of(mutant);
  return {
      .name = std::string(mutant.name), .device = "sim", .summary = {}, .options = {}, .make = [manifest] {
        // Mutants run side by side, each on one thread.
        return std::make_unique<kernels::ManifestKernels>(runtime::open_sim({.threads = 1}), manifest,
                                                          kernels::code_object_path(manifest, {}));
      }};
}

kernels::OutputRegions outputs_of(kernels::KernelSet& kernel, const Problem& problem, TensorMap inputs) {
  kernels::OutputRegions regions = poisoned_outputs(problem);
  tbb::this_task_arena::isolate([&] { kernel.run(problem, inputs, regions); });
  return regions;
}

// The first output that differs between two runs in the first `count` tokens of each, whose problems differ
// in num_tokens at most. Partial sums are passed over.
std::optional<std::string> differing_output(const Problem& problem, std::int64_t count,
                                            kernels::OutputRegions& one, kernels::OutputRegions& other) {
  Problem compared = problem;
  compared.num_tokens = count;
  for (const TensorSpec& spec : output_specs(compared)) {
    if (spec.partial_sums) continue;
    const std::string name(spec.name);
    const std::size_t bytes = element_count(spec.shape) * size_of(spec.dtype);
    if (!std::ranges::equal(one.at(name).payload().first(bytes), other.at(name).payload().first(bytes))) {
      return name;
    }
  }
  return std::nullopt;
}

// The law that a token's bits depend on no other token: the first alone, against the first of all.
std::optional<MutantFinding> batch_finding(const Case& c, kernels::KernelSet& kernel) {
  if (c.problem.num_tokens < 2) return std::nullopt;
  Case alone = c;
  alone.problem.num_tokens = 1;  // has the same first token
  kernels::OutputRegions in_batch = outputs_of(kernel, c.problem, properties::make_inputs(c));
  kernels::OutputRegions by_itself = outputs_of(kernel, alone.problem, properties::make_inputs(alone));
  const std::optional<std::string> differs = differing_output(c.problem, 1, in_batch, by_itself);
  if (!differs) return std::nullopt;
  return MutantFinding{
      Check::batch, "batch",
      fmt::format("{} of token 0 differs between 1 and {} tokens", *differs, c.problem.num_tokens)};
}

// The law that a NaN spoils its own token alone: the last one's streams are NaN, the others' bits stay.
std::optional<MutantFinding> isolation_finding(const Case& c, kernels::KernelSet& kernel) {
  const std::int64_t others = c.problem.num_tokens - 1;
  if (others < 1) return std::nullopt;
  const TensorMap inputs = properties::make_inputs(c);
  TensorMap spoilt = inputs;
  for (const std::string_view name : {"residual", "x"}) {
    const auto streams = spoilt.find(std::string(name));
    if (streams == spoilt.end()) continue;
    Tensor& tensor = streams->second;
    const std::size_t token = tensor.size() / static_cast<std::size_t>(c.problem.num_tokens);
    for (std::size_t i = tensor.size() - token; i < tensor.size(); ++i) {
      tensor.set_bits(i, format_of(tensor.dtype()).quiet_nan());
    }
  }
  kernels::OutputRegions clean = outputs_of(kernel, c.problem, inputs);
  kernels::OutputRegions beside_nan = outputs_of(kernel, c.problem, spoilt);
  const std::optional<std::string> differs = differing_output(c.problem, others, clean, beside_nan);
  if (!differs) return std::nullopt;
  return MutantFinding{Check::isolation, "isolation",
                       fmt::format("{} differs when token {} alone is NaN", *differs, others)};
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
    findings.push_back(
        {check_of(finding.kind), std::string(conformance::row_of(finding.kind).name), finding.detail});
  };
  for (const Finding& finding : result.run_findings) add(finding);
  for (const OutputVerdict& output : result.outputs) {
    for (const Finding& finding : output.findings) add(finding);
  }
  return findings;
}

CaseResult judge(const Case& c, const KernelRow& row, kernels::KernelSet& kernel) {
  CaseResult result = run_case(c, row, kernel, Threads::one);
  if (result.status == CaseStatus::unjudged) {
    throw std::runtime_error(fmt::format("{}: {}: {}", row.name, to_descriptor(c), result.reason));
  }
  return result;
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

// Those of one check.
void add(Check check, std::vector<MutantFinding> findings, MutantResult& result) {
  for (MutantFinding& finding : findings) {
    if (finding.check == check) result.findings.push_back(std::move(finding));
  }
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
  const KernelRow plain = row_of(mutant);
  KernelRow watched = plain;
  watched.sanitizers = simulator::SanitizerSet::all();
  KernelRow interleaved = plain;
  interleaved.schedules = kSchedules;
  const std::unique_ptr<kernels::KernelSet> kernel = plain.make(), watched_kernel = watched.make(),
                                            interleaved_kernel = interleaved.make();
  // What no plain run of a case shows.
  const bool hidden = mutant.caught_by == Check::sanitizer || mutant.caught_by == Check::schedule ||
                      mutant.caught_by == Check::batch || mutant.caught_by == Check::isolation;
  for (const Case& c : cases_for(mutant, *kernel)) {
    CaseResult judged = judge(c, plain, *kernel);
    result.descriptor = to_descriptor(c);
    result.findings = findings_of(judged);
    result.outputs = std::move(judged.outputs);
    ++result.cases;
    if (hidden || !result.findings.empty()) {
      // Of these runs only what they are for: data that arrives as late as it may changes a watched run's
      // numbers.
      add(Check::sanitizer, findings_of(judge(c, watched, *watched_kernel)), result);
      add(Check::schedule, findings_of(judge(c, interleaved, *interleaved_kernel)), result);
      // After a fault there is nothing to compare.
      if (!result.found_by(Check::fault)) {
        for (const auto& law : {batch_finding, isolation_finding}) {
          if (std::optional<MutantFinding> finding = law(c, *kernel)) {
            result.findings.push_back(*std::move(finding));
          }
        }
      }
    }
    if (result.killed()) break;
  }
  std::ranges::stable_sort(result.findings, {}, &MutantFinding::check);
  result.recipe = usual_verdict(*kernel, usual.of(mutant.op));
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

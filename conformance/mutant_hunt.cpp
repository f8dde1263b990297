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
    case FailureKind::law_broken:
      return Check::law;
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
        {check_of(finding.kind),
         finding.law.empty() ? std::string(conformance::row_of(finding.kind).name) : finding.law,
         finding.detail});
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

bool MutantResult::killed() const {
  return std::ranges::any_of(findings, [&](const MutantFinding& finding) {
    return finding.check == mutant->caught_by && (mutant->law.empty() || finding.kind == mutant->law);
  });
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
  KernelRow lawful = plain;
  lawful.laws = properties::parse_laws("all");
  const std::unique_ptr<kernels::KernelSet> kernel = plain.make(), watched_kernel = watched.make(),
                                            interleaved_kernel = interleaved.make();
  // What no plain run of a case shows.
  const bool hidden = mutant.caught_by == Check::sanitizer || mutant.caught_by == Check::schedule ||
                      mutant.caught_by == Check::law;
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
      add(Check::law, findings_of(judge(c, lawful, *kernel)), result);
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

#include "conformance/runner.h"

#include <fmt/format.h>
#include <tbb/parallel_for_each.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>

#include "conformance/guarded_output.h"
#include "conformance/memory_need.h"
#include "properties/regimes.h"

namespace mhcheck::conformance {
namespace {

// What the cases that are judged side by side may hold in all, at about 6 bytes an element. A case that is no
// larger than its thread's share keeps one thread busy all the time; larger ones come one after the other, on
// all threads.
constexpr std::size_t kElementsSideBySide = std::size_t{1} << 28;

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::size_t elements_per_token(const Problem& problem) {
  Problem one = problem;
  one.num_tokens = 1;
  std::size_t elements = 0;
  for (const TensorSpec& spec : input_specs(one)) {
    if (spec.shape.front() == 1) elements += element_count(spec.shape);
  }
  for (const TensorSpec& spec : output_specs(one)) elements += element_count(spec.shape);
  return elements;
}

bool is_large(const Case& c) {
  const auto threads = static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
  return elements_per_token(c.problem) * static_cast<std::size_t>(c.problem.num_tokens) >
         kElementsSideBySide / threads;
}

// Instances of the kernels, each lent to one case at a time.
class KernelPool {
 public:
  std::unique_ptr<kernels::KernelSet> take(const KernelRow& row) {
    {
      const std::lock_guard lock(mutex_);
      std::vector<std::unique_ptr<kernels::KernelSet>>& idle = idle_[&row];
      if (!idle.empty()) {
        std::unique_ptr<kernels::KernelSet> kernel = std::move(idle.back());
        idle.pop_back();
        return kernel;
      }
    }
    return row.make();
  }
  void give_back(const KernelRow& row, std::unique_ptr<kernels::KernelSet> kernel) {
    const std::lock_guard lock(mutex_);
    idle_[&row].push_back(std::move(kernel));
  }

 private:
  std::mutex mutex_;
  std::map<const KernelRow*, std::vector<std::unique_ptr<kernels::KernelSet>>> idle_;
};

// Which leaves the instance with another interleaving.
bool is_instrumented(const KernelRow& row) { return !row.sanitizers.empty() || row.schedules != 0; }

void add_sanitizer_findings(const std::vector<simulator::SanitizerFinding>& seen, CaseResult& result) {
  for (const simulator::SanitizerFinding& one : seen) {
    result.run_findings.push_back({FailureKind::sanitizer, one.count, std::nullopt, to_string(one), one});
  }
}

// Runs the kernel again under other interleavings, which must leave the same bits.
void try_schedules(const Case& c, const KernelRow& row, kernels::KernelSet& kernel, const TensorMap& inputs,
                   const kernels::OutputRegions& first, CaseResult& result) {
  for (std::uint64_t seed = 1; seed <= row.schedules; ++seed) {
    TensorMap kernel_inputs = inputs;
    kernels::OutputRegions regions = poisoned_outputs(c.problem);
    kernel.instrument({.sanitizers = {}, .schedule = seed});
    kernel.run(c.problem, kernel_inputs, regions);
    for (const auto& [name, region] : regions) {
      const std::span<const std::byte> bytes = region.payload(), before = first.at(name).payload();
      const auto [at, expected] = std::ranges::mismatch(bytes, before);
      if (at == bytes.end()) continue;
      result.run_findings.push_back({FailureKind::schedule_dependent, 1, std::nullopt,
                                     fmt::format("{} differs from byte {} on under --schedule-seed {}", name,
                                                 at - bytes.begin(), seed)});
      return;
    }
  }
}

// Puts the row's laws to the kernel, on plain runs: those of a sanitizer take other numbers.
void try_laws(const Case& c, const KernelRow& row, kernels::KernelSet& kernel, CaseResult& result) {
  if (is_instrumented(row)) kernel.instrument({.sanitizers = {}, .schedule = row.schedule_seed});
  result.laws = put_laws(row.laws, c, kernel);
  for (const LawOutcome& outcome : result.laws) {
    if (outcome.status != LawStatus::broken) continue;
    result.run_findings.push_back({.kind = FailureKind::law_broken,
                                   .count = 1,
                                   .worst = std::nullopt,
                                   .detail = fmt::format("{}: {}", outcome.law->sentence, outcome.reason),
                                   .law = std::string(outcome.law->name)});
  }
}

// Runs the kernel and judges what it left; fills in everything but the status.
void run_and_judge(const Case& c, const KernelRow& row, kernels::KernelSet& kernel, Threads threads,
                   CaseResult& result) {
  require_memory_for(c);
  const TensorMap inputs = properties::make_inputs(c);
  TensorMap kernel_inputs = inputs;
  kernels::OutputRegions regions = poisoned_outputs(c.problem);

  const Stopwatch kernel_time;
  try {
    // Isolated: a thread that waits inside the kernel must not take up another case meanwhile.
    kernels::RunReport report =
        tbb::this_task_arena::isolate([&] { return kernel.run(c.problem, kernel_inputs, regions); });
    result.launches = std::move(report.launches);
    add_sanitizer_findings(report.findings, result);
    tbb::this_task_arena::isolate([&] { try_schedules(c, row, kernel, inputs, regions, result); });
  } catch (const kernels::RunFailure& failure) {
    result.run_findings.push_back({FailureKind::kernel_fault, 1, std::nullopt, failure.what()});
    add_sanitizer_findings(failure.findings, result);
  }
  result.kernel_seconds = kernel_time.seconds();

  const Stopwatch judge_time;
  if (std::optional<Finding> changed = judge_inputs(inputs, kernel_inputs)) {
    result.run_findings.push_back(*std::move(changed));
  }
  kernel_inputs.clear();
  // After a fault the outputs hold anything.
  if (result.run_findings.empty() || result.run_findings.front().kind != FailureKind::kernel_fault) {
    StoredOutputs stored;
    for (const auto& [name, region] : regions) stored.emplace(name, region.payload());
    Judgement judgement = judge_outputs(c, inputs, stored, threads);
    const std::vector<TensorSpec> specs = output_specs(c.problem);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const kernels::OutputRegion& region = regions.at(std::string(specs[i].name));
      if (std::optional<Finding> damage = judge_guards(specs[i], region)) {
        add_finding(judgement.outputs[i], *std::move(damage));
      }
    }
    result.outputs = std::move(judgement.outputs);
    result.certification = judgement.certification;
    try_laws(c, row, kernel, result);
  }
  result.judge_seconds = judge_time.seconds();
}

}  // namespace

std::string repeat_command(const Case& c, const KernelRow& row) {
  return fmt::format("mhcheck repro '{}'{}", to_descriptor(c), row.options);
}

CaseResult run_case(const Case& c, const KernelRow& row, kernels::KernelSet& kernel, Threads threads) {
  CaseResult result;
  result.tested = c;
  result.kernel = row.name;
  result.device = row.device;
  result.repeat = repeat_command(c, row);
  if (!kernel.implements(c.problem.op)) {
    result.status = CaseStatus::refused;
    result.reason = "the kernel does not implement this operator";
    return result;
  }
  if (std::string why = kernel.why_refused(c.problem); !why.empty()) {
    result.status = CaseStatus::refused;
    result.reason = std::move(why);
    return result;
  }
  if (!rounds_as(kernel, c)) {
    result.status = CaseStatus::unjudged;
    result.reason = fmt::format("kernel {} does not round as the case is judged", result.kernel);
    return result;
  }
  try {
    if (is_instrumented(row)) {
      kernel.instrument({.sanitizers = row.sanitizers, .schedule = row.schedule_seed});
    }
    run_and_judge(c, row, kernel, threads, result);
  } catch (const std::exception& e) {
    // The kernel may be right: it is the judgement that is missing.
    result.status = CaseStatus::unjudged;
    result.reason = e.what();
    return result;
  }
  const bool conforms =
      result.run_findings.empty() && std::ranges::all_of(result.outputs, &OutputVerdict::conforms);
  result.status = conforms ? CaseStatus::passed : CaseStatus::failed;
  return result;
}

std::vector<CaseResult> run_cases(std::span<const PlannedCase> cases, const Progress& progress) {
  std::vector<CaseResult> results(cases.size());
  std::vector<std::size_t> small, large;
  for (std::size_t i = 0; i < cases.size(); ++i) (is_large(cases[i].tested) ? large : small).push_back(i);

  KernelPool pool;
  std::mutex progress_mutex;
  const auto run_one = [&](std::size_t i, Threads threads) {
    const KernelRow& row = *cases[i].kernel;
    std::unique_ptr<kernels::KernelSet> instance = pool.take(row);
    results[i] = run_case(cases[i].tested, row, *instance, threads);
    pool.give_back(row, std::move(instance));
    if (progress) {
      const std::lock_guard lock(progress_mutex);
      progress(results[i]);
    }
  };
  tbb::parallel_for_each(small, [&](std::size_t i) { run_one(i, Threads::one); });
  for (const std::size_t i : large) run_one(i, Threads::all);
  return results;
}

}  // namespace mhcheck::conformance

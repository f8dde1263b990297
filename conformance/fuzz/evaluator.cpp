#include "conformance/fuzz/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "conformance/report/failure_text.h"
#include "conformance/runner.h"
#include "properties/case_generator.h"

namespace mhcheck::conformance {
namespace {

// A millisecond or two for the host, and not much more for the simulator.
constexpr std::int64_t kUsualElements = 1 << 15;
// All laws together, and so sanitizers and a few further interleavings, take ten times the time or more.
constexpr std::int64_t kUsualElementsOfManyRuns = 1 << 13;

std::int64_t usual_elements(const KernelRow& row) {
  const bool many_runs = !row.laws.empty() || !row.sanitizers.empty() || row.schedules != 0;
  return many_runs ? kUsualElementsOfManyRuns : kUsualElements;
}

Outcome outcome_of(const CaseResult& result) {
  Outcome outcome;
  outcome.status = result.status;
  outcome.worst.include(result);
  for (const OutputVerdict& output : result.outputs) {
    outcome.elements += output.elements;
    outcome.undefined += output.undefined;
    outcome.flushed += output.flushed;
  }
  outcome.launches = result.launches.size();
  outcome.certification = result.certification;
  for (const LawOutcome& law : result.laws) {
    if (law.status == LawStatus::kept) outcome.laws_kept.emplace_back(law.law->name);
    if (law.status == LawStatus::broken) outcome.laws_broken.emplace_back(law.law->name);
    outcome.laws_silent += law.status == LawStatus::silent;
  }
  if (result.status == CaseStatus::failed) {
    std::optional<FailureKind> first;
    const auto note = [&first](const Finding& finding) {
      first = first ? std::min(*first, finding.kind) : finding.kind;
    };
    for (const Finding& finding : result.run_findings) note(finding);
    for (const OutputVerdict& output : result.outputs) {
      for (const Finding& finding : output.findings) note(finding);
    }
    outcome.kind =
        *first == FailureKind::law_broken ? outcome.laws_broken.front() : std::string(row_of(*first).name);
    outcome.text = failure_text(result);
  }
  return outcome;
}

}  // namespace

Outcome failure_without_verdict(const Case& c, const KernelRow& row, std::string_view kind,
                                std::string_view what) {
  Outcome outcome;
  outcome.status = CaseStatus::failed;
  outcome.kind = kind;
  outcome.text = fmt::format("FAILED  {}   kernel {}, device {}\n  {}: {}\n  repeat: {}\n", to_descriptor(c),
                             row.name, row.device, kind, what, repeat_command(c, row));
  return outcome;
}

Evaluator::Evaluator(const CampaignPlan& plan) : plan_(plan), instances_(plan.kernels.size()) {}
Evaluator::~Evaluator() = default;

kernels::KernelSet& Evaluator::instance(const KernelRow& row) {
  std::unique_ptr<kernels::KernelSet>& made =
      instances_[static_cast<std::size_t>(&row - plan_.kernels.data())];
  if (!made) made = row.make();
  return *made;
}

Case Evaluator::draw(std::uint64_t number) {
  const KernelRow& row = plan_.kernel_of(number);
  const kernels::KernelSet& kernel = instance(row);
  properties::CaseSpace space;
  std::ranges::copy_if(plan_.operators, std::back_inserter(space.operators),
                       [&](Op op) { return kernel.implements(op); });
  if (space.operators.empty()) {
    throw UnknownName(fmt::format("kernel {} implements none of the operators asked for", row.name));
  }
  space.dtypes = plan_.dtypes;
  space.profile = [&](Op op) { return kernel.profile(op); };
  space.takes = [&](const Problem& problem) { return kernel.why_refused(problem).empty(); };
  space.usual_elements = usual_elements(row);
  return properties::cases(space)(rc::Random({plan_.seed, number, 0, 0})).value();
}

Outcome Evaluator::evaluate(const Case& c, const KernelRow& row) {
  const auto start = std::chrono::steady_clock::now();
  kernels::KernelSet& kernel = instance(row);
  const CaseResult result = run_case(c, row, kernel, Threads::one);
  Outcome outcome = result.status == CaseStatus::unjudged
                        ? failure_without_verdict(c, row, kUnjudged, result.reason)
                        : outcome_of(result);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

}  // namespace mhcheck::conformance

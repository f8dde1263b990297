#include "conformance/report/case_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/report/failure_text.h"

namespace mhcheck::conformance {
namespace {

// "bf16 [3, 4, 512]   -3.2 to 3.4, rms 1.01, 2 zeros"
std::string tensor_line(const Tensor& tensor) {
  double smallest = std::numeric_limits<double>::infinity(), largest = -smallest, squares = 0;
  std::size_t zeros = 0, not_finite = 0;
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    const double value = tensor.value(i);
    if (!std::isfinite(value)) {
      ++not_finite;
      continue;
    }
    smallest = std::min(smallest, value);
    largest = std::max(largest, value);
    squares += value * value;
    zeros += value == 0;
  }
  std::string line = fmt::format("{} {}", name_of(tensor.dtype()), to_string(tensor.shape()));
  const std::size_t finite = tensor.size() - not_finite;
  if (finite > 0) {
    line += fmt::format("  {:.6g} to {:.6g}, rms {:.6g}", smallest, largest,
                        std::sqrt(squares / static_cast<double>(finite)));
  }
  if (zeros > 0) line += fmt::format(", {} zeros", zeros);
  if (not_finite > 0) line += fmt::format(", {} not finite", not_finite);
  return line;
}

std::string certification_line(const reference::Certification& certification) {
  std::string line;
  for (int level = 0; level < reference::Certification::kLevels; ++level) {
    const std::uint64_t count = certification.elements[static_cast<std::size_t>(level)];
    if (count > 0)
      line +=
          fmt::format("{}{} elements in {}", line.empty() ? "" : ", ", count, reference::level_name(level));
  }
  return line.empty() ? "no element" : line;
}

// The kernels in their order, then a row a counter: each launch's count, and their sum.
std::string launches_text(const std::vector<kernels::LaunchReport>& launches) {
  std::string text;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    text += fmt::format("launch {:<3} {}\n", i + 1, launches[i].kernel);
  }
  const kernels::Counters total = added_up(launches);
  if (total.empty()) return text;
  text += fmt::format("{:<22}", "counted");
  for (std::size_t i = 0; i < launches.size(); ++i) {
    text += fmt::format(" {:>14}", fmt::format("launch {}", i + 1));
  }
  text += fmt::format(" {:>14}\n", "sum");
  for (const auto& [name, sum] : total) {
    text += fmt::format("  {:<20}", name);
    for (const kernels::LaunchReport& launch : launches) {
      const auto count = launch.counters.find(name);
      text += fmt::format(" {:>14}", count == launch.counters.end() ? 0 : count->second);
    }
    text += fmt::format(" {:>14}\n", sum);
  }
  return text;
}

std::string output_text(const OutputVerdict& output) {
  std::string text =
      fmt::format("  {} {} {}: {}\n", output.name, name_of(output.dtype), to_string(output.shape),
                  output.conforms() ? "conforms" : "does not conform");
  for (const Finding& finding : output.findings) {
    text += fmt::format("    {}\n", finding_line(finding, output.elements));
    if (finding.worst) text += element_text(*finding.worst, output.dtype, /*indent=*/6);
  }
  if (output.conforms() && output.worst) {
    text += fmt::format("    worst of {} elements\n", output.elements);
    text += element_text(*output.worst, output.dtype, /*indent=*/6);
  }
  if (output.undefined > 0)
    text += fmt::format("    {} elements undefined by the contract\n", output.undefined);
  if (output.flushed > 0) text += fmt::format("    {} elements flushed to zero\n", output.flushed);
  text += fmt::format("    {}\n", aggregates_line(output.aggregates));
  return text;
}

}  // namespace

std::string case_text(const CaseResult& result, const TensorMap& inputs) {
  std::string text = fmt::format("case       {}\n", to_descriptor(result.tested));
  text += fmt::format("in full    {}\n", to_canonical_descriptor(result.tested));
  text += fmt::format("operator   {}\n", row_of(result.tested.problem.op).summary);
  text += fmt::format("kernel     {}, device {}, {} launches, {:.3f} s\n", result.kernel, result.device,
                      result.launches.size(), result.kernel_seconds);
  text += launches_text(result.launches);
  text += fmt::format("certified  {}\n", certification_line(result.certification));

  text += "inputs\n";
  std::size_t width = 0;
  for (const auto& [name, tensor] : inputs) width = std::max(width, name.size());
  for (const auto& [name, tensor] : inputs)
    text += fmt::format("  {:<{}}  {}\n", name, width, tensor_line(tensor));

  text += "outputs\n";
  for (const OutputVerdict& output : result.outputs) text += output_text(output);
  for (const Finding& finding : result.run_findings) text += fmt::format("  {}\n", finding_line(finding, 0));

  if (!result.laws.empty()) text += "laws\n";
  for (const LawOutcome& outcome : result.laws) {
    text += fmt::format("  {:<24} {}{}{}\n", outcome.law->name, name_of(outcome.status),
                        outcome.reason.empty() ? "" : ": ", outcome.reason);
  }

  text += fmt::format("verdict    {}{}{}\n", name_of(result.status), result.reason.empty() ? "" : ": ",
                      result.reason);
  if (result.status == CaseStatus::failed) text += fmt::format("repeat     {}\n", result.repeat);
  return text;
}

}  // namespace mhcheck::conformance

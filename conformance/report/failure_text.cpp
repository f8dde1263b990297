#include "conformance/report/failure_text.h"

#include <fmt/format.h>

#include <cmath>

namespace mhcheck::conformance {
namespace {

// Nine digits tell any two fp32 values apart.
std::string decimal(double value) { return fmt::format("{:.9g}", value); }

}  // namespace

std::string place_of(const ElementReport& e) {
  return fmt::format("token {}, index {} (element {}{})", e.token, e.index, e.flat,
                     e.partial_sums ? " of the sum over the splits" : "");
}

std::string element_text(const ElementReport& e, Dtype dtype, int indent) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::string text;
  const auto line = [&](std::string_view label, std::string_view content) {
    text += fmt::format("{}{:<9} {}\n", margin, label, content);
  };
  const auto number = [&](double value, std::uint32_t bits) {
    return e.partial_sums ? fmt::format("{:<17.17g}", value)
                          : fmt::format("{:<17} {}", decimal(value), hex_bits(dtype, bits));
  };
  line("at", place_of(e));
  line("got", number(e.got, e.got_bits));
  if (std::isnan(e.exact)) {
    line("expected", "anything: the contract defines no value here");
    return text;
  }
  if (!std::isfinite(e.probabilistic)) {
    line("expected", "anything: an fp32 evaluation may overflow here");
    return text;
  }
  line("expected", fmt::format("{:<17} {}  exact {:.17g}", decimal(e.expected),
                               hex_bits(dtype, e.expected_bits), e.exact));
  line("interval", number(e.lo, e.lo_bits));
  line("      to", number(e.hi, e.hi_bits));
  line("error", std::isfinite(e.got) ? fmt::format("{:+.4g} ulp, {:.4g} bound units", e.ulps, e.bound_units)
                                     : std::string("not a number"));
  line("radius", fmt::format("{:.4g} probabilistic, of it {:.4g} systematic; {:.4g} deterministic",
                             e.probabilistic, e.systematic, e.deterministic));
  return text;
}

std::string finding_line(const Finding& finding, std::uint64_t elements) {
  const FailureRow& row = row_of(finding.kind);
  std::string line = fmt::format("{}: {}", row.name, row.meaning);
  if (finding.worst) line += fmt::format(": {} of {} elements", finding.count, elements);
  if (!finding.law.empty()) line += fmt::format(": {}", finding.law);
  if (!finding.detail.empty()) line += fmt::format(": {}", finding.detail);
  return line;
}

std::string aggregates_line(const Aggregates& a) {
  std::string line;
  if (a.scale.judged) {
    line += fmt::format("fitted scale {:.9g} (1 +- {:.3g})", 1 + a.scale.value, a.scale.tolerance);
  }
  if (a.mean.judged) {
    if (!line.empty()) line += ", ";
    line += fmt::format("mean signed error {:+.3g} (+- {:.3g})", a.mean.value, a.mean.tolerance);
    line += fmt::format(", {} errors above and {} below what rounding explains", a.signs.counts.above,
                        a.signs.counts.below);
  }
  return line.empty() ? "no element counts" : line;
}

std::string failure_text(const CaseResult& result) {
  if (result.status != CaseStatus::failed) return {};
  std::string text = fmt::format("FAILED  {}   kernel {}, device {}\n", to_descriptor(result.tested),
                                 result.kernel, result.device);
  for (const Finding& finding : result.run_findings) {
    text += fmt::format("  {}\n", finding_line(finding, 0));
  }
  for (const OutputVerdict& output : result.outputs) {
    if (output.conforms()) continue;
    text += fmt::format("  {} {} {}\n", output.name, name_of(output.dtype), to_string(output.shape));
    for (const Finding& finding : output.findings) {
      text += fmt::format("    {}\n", finding_line(finding, output.elements));
      if (finding.worst) text += element_text(*finding.worst, output.dtype, /*indent=*/6);
    }
    text += fmt::format("    {}\n", aggregates_line(output.aggregates));
  }
  text += fmt::format("  repeat: {}\n", result.repeat);
  return text;
}

}  // namespace mhcheck::conformance

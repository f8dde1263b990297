#include "conformance/report/junit_report.h"

#include <fmt/format.h>

#include "conformance/report/failure_text.h"
#include "conformance/report/summary.h"
#include "conformance/report/xml_text.h"

namespace mhcheck::conformance {
namespace {

struct Headline {
  std::string_view kind;
  std::string message;
};

// The kind that comes first names the failure.
Headline headline(const CaseResult& result) {
  const Finding* first = nullptr;
  std::string message;
  for (const Finding& finding : result.run_findings) {
    if (first != nullptr && first->kind <= finding.kind) continue;
    first = &finding;
    message = finding_line(finding, 0);
  }
  for (const OutputVerdict& output : result.outputs) {
    if (output.conforms() || (first != nullptr && first->kind <= output.findings.front().kind)) continue;
    first = &output.findings.front();
    message = fmt::format("{}: {}", output.name, finding_line(*first, output.elements));
  }
  return {row_of(first->kind).name, std::move(message)};
}

std::string test_case(const CaseResult& result, std::string_view suite) {
  std::string xml =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.6f}\"", xml_text(suite),
                  xml_text(to_descriptor(result.tested)), result.kernel_seconds + result.judge_seconds);
  switch (result.status) {
    case CaseStatus::passed:
      return xml + "/>\n";
    case CaseStatus::failed: {
      const Headline head = headline(result);
      xml += fmt::format(">\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n", head.kind,
                         xml_text(head.message), xml_text(failure_text(result)));
      break;
    }
    case CaseStatus::refused:
      xml += fmt::format(">\n      <skipped message=\"{}\"/>\n", xml_text("refused: " + result.reason));
      break;
    case CaseStatus::unjudged:
      xml += fmt::format(">\n      <error type=\"unjudged\" message=\"{}\"/>\n", xml_text(result.reason));
      break;
  }
  return xml + "    </testcase>\n";
}

}  // namespace

std::string junit_report(std::span<const CaseResult> results) {
  const std::vector<SummaryRow> rows = summarise(results);
  const SummaryRow total = total_of(rows);
  const auto counts = [](const SummaryRow& row) {
    return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.6f}\"", row.cases,
                       row.failed, row.unjudged, row.refused, row.seconds);
  };
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  xml += fmt::format("<testsuites name=\"mhcheck\" {}>\n", counts(total));
  for (const SummaryRow& row : rows) {
    const std::string suite = fmt::format("{}.{}", row.kernel, row_of(row.op).name);
    xml += fmt::format("  <testsuite name=\"{}\" {}>\n", xml_text(suite), counts(row));
    for (const CaseResult& result : results) {
      if (result.kernel == row.kernel && result.tested.problem.op == row.op) xml += test_case(result, suite);
    }
    xml += "  </testsuite>\n";
  }
  return xml + "</testsuites>\n";
}

}  // namespace mhcheck::conformance

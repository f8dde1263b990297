#include "conformance/report/html_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/report/failure_text.h"
#include "conformance/report/summary.h"
#include "conformance/report/svg.h"
#include "conformance/report/xml_text.h"
#include "golden/versions.h"

namespace mhcheck::conformance {
namespace {

constexpr std::string_view kStyle = R"(
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 78rem; padding: 0 1rem; color: #1b1f24; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #d8dee4; text-align: right; white-space: nowrap; }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; }
tr.bad td { background: #ffebe9; }
.plots { display: flex; flex-wrap: wrap; gap: 1rem; }
figure { margin: 0; width: 360px; } figcaption { font: 600 13px system-ui, sans-serif; }
svg text { font: 10px system-ui, sans-serif; fill: #57606a; }
pre { background: #f6f8fa; padding: .8rem; overflow-x: auto; }
.bf16 { fill: #0969da; } .fp16 { fill: #8250df; } .wrong { fill: #cf222e; }
)";

std::string table_row(const SummaryRow& row, std::string_view kernel, std::string_view op) {
  return fmt::format(
      "<tr{}><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.4g}</td><td>{:.4g}</td>"
      "<td>{:.3g}</td><td>{}</td><td>{:.2f}</td></tr>\n",
      row.failed + row.unjudged > 0 ? " class=\"bad\"" : "", xml_text(kernel), xml_text(op), row.cases,
      row.passed, row.failed, row.refused, row.worst.bound_units, row.worst.ulps, row.worst.bias,
      row.launches, row.seconds);
}

// Error in bound units against hidden_size, one point a case. The line at 1 is the bound; what lies beyond
// the frame sits on its upper edge.
std::string plot(std::span<const CaseResult> results, const SummaryRow& row) {
  constexpr double width = 360, height = 180, left = 34, right = 8, top = 10, bottom = 24;
  constexpr double highest = 1.25;
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max(), largest = 0;
  const auto of_row = [&](const CaseResult& r) {
    return r.kernel == row.kernel && r.tested.problem.op == row.op;
  };
  for (const CaseResult& r : results) {
    if (!of_row(r)) continue;
    smallest = std::min(smallest, r.tested.problem.hidden_size);
    largest = std::max(largest, r.tested.problem.hidden_size);
  }
  const double span = static_cast<double>(std::max<std::int64_t>(1, largest - smallest));
  const auto x = [&](std::int64_t hidden) {
    return left + (width - left - right) * static_cast<double>(hidden - smallest) / span;
  };
  const auto y = [&](double units) {
    return height - bottom - (height - top - bottom) * std::min(units, highest) / highest;
  };

  Svg svg(width, height, "error in bound units against hidden_size");
  for (const double tick : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    svg.line(left, y(tick), width - right, y(tick), tick == 1.0 ? "#cf222e" : "#d8dee4");
    svg.text(2, y(tick) + 3, fmt::to_string(tick));
  }
  svg.text(left, height - 8, fmt::to_string(smallest));
  svg.text(width - right, height - 8, fmt::to_string(largest), Svg::Anchor::end);
  for (const CaseResult& r : results) {
    if (!of_row(r)) continue;
    WorstErrors worst;
    worst.include(r);
    const bool wrong = r.status == CaseStatus::failed;
    if (r.outputs.empty() && !wrong) continue;
    svg.dot(x(r.tested.problem.hidden_size), y(wrong ? highest : worst.bound_units), wrong ? 3.5 : 2,
            wrong ? "wrong" : name_of(r.tested.problem.dtype),
            fmt::format("{}: {:.4g}", to_descriptor(r.tested), worst.bound_units));
  }
  return fmt::format("<figure><figcaption>{} · {}</figcaption>{}</figure>\n", xml_text(row.kernel),
                     xml_text(row_of(row.op).name), svg.element());
}

}  // namespace

std::string html_report(std::span<const CaseResult> results) {
  const std::vector<SummaryRow> rows = summarise(results);
  const SummaryRow total = total_of(rows);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>mhcheck: {} of {} cases "
      "conform</title><style>{}</style></head><body>\n<h1>mhcheck {}: {} of {} cases conform</h1>\n",
      total.passed, total.cases, kStyle, golden::program_version(), total.passed, total.cases);
  html += fmt::format("<p>{} failed, {} refused, {} not judged; {} elements judged.</p>\n", total.failed,
                      total.refused, total.unjudged, total.elements);
  html +=
      "<table><thead><tr><th>kernel</th><th>operator</th><th>cases</th><th>passed</th><th>failed</th>"
      "<th>refused</th><th>bound units</th><th>worst "
      "ulp</th><th>|bias|</th><th>launches</th><th>seconds</th></tr>"
      "</thead><tbody>\n";
  for (const SummaryRow& row : rows) html += table_row(row, row.kernel, row_of(row.op).name);
  html += table_row(total, "total", "") + "</tbody></table>\n";
  if (const std::string laws = laws_text(results); !laws.empty()) {
    html += fmt::format("<h2>Laws</h2>\n<pre>{}</pre>\n", xml_text(laws));
  }

  html +=
      "<h2>Error in bound units against hidden_size</h2>\n<p>One point a case, its worst element; blue bf16, "
      "violet "
      "fp16, red a failure. A correct kernel stays below the line at 1.</p>\n<div class=\"plots\">\n";
  for (const SummaryRow& row : rows) html += plot(results, row);
  html += "</div>\n";

  if (total.failed > 0) {
    html += "<h2>Failures</h2>\n";
    for (const CaseResult& result : results) {
      if (result.status == CaseStatus::failed)
        html += fmt::format("<pre>{}</pre>\n", xml_text(failure_text(result)));
    }
  }
  if (total.refused > 0) {
    html += "<h2>Refused</h2>\n<ul>\n";
    for (const CaseResult& result : results) {
      if (result.status != CaseStatus::refused) continue;
      html +=
          fmt::format("<li>{}: {}</li>\n", xml_text(to_descriptor(result.tested)), xml_text(result.reason));
    }
    html += "</ul>\n";
  }
  return html + "</body></html>\n";
}

}  // namespace mhcheck::conformance

#include "conformance/report/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace mhcheck::conformance {
namespace {

void include(SummaryRow& row, const CaseResult& result) {
  ++row.cases;
  row.passed += result.status == CaseStatus::passed;
  row.failed += result.status == CaseStatus::failed;
  if (result.status == CaseStatus::refused && ++row.refused == 1) {
    row.refusal = fmt::format("{}: {}", to_descriptor(result.tested), result.reason);
  }
  row.unjudged += result.status == CaseStatus::unjudged;
  row.worst.include(result);
  row.launches += result.launches.size();
  row.seconds += result.kernel_seconds + result.judge_seconds;
  for (const OutputVerdict& output : result.outputs) {
    row.elements += output.elements;
    row.undefined += output.undefined;
    row.flushed += output.flushed;
  }
  row.certification += result.certification;
  for (const LawOutcome& outcome : result.laws) row.laws.include(outcome.status);
}

}  // namespace

std::vector<SummaryRow> summarise(std::span<const CaseResult> results) {
  std::map<std::pair<std::string, Op>, SummaryRow> rows;
  for (const CaseResult& result : results) {
    const Op op = result.tested.problem.op;
    SummaryRow& row = rows[{result.kernel, op}];
    row.kernel = result.kernel;
    row.op = op;
    include(row, result);
  }
  std::vector<SummaryRow> ordered;
  for (auto& [key, row] : rows) ordered.push_back(std::move(row));
  return ordered;
}

SummaryRow total_of(std::span<const SummaryRow> rows) {
  SummaryRow total;
  for (const SummaryRow& row : rows) {
    total.cases += row.cases;
    total.passed += row.passed;
    total.failed += row.failed;
    total.refused += row.refused;
    total.unjudged += row.unjudged;
    total.worst.include(row.worst);
    total.launches += row.launches;
    total.seconds += row.seconds;
    total.elements += row.elements;
    total.undefined += row.undefined;
    total.flushed += row.flushed;
    total.certification += row.certification;
    total.laws += row.laws;
  }
  return total;
}

std::string summary_table(std::span<const SummaryRow> rows) {
  std::size_t kernel_width = std::string_view("kernel").size();
  std::size_t operator_width = std::string_view("operator").size();
  for (const SummaryRow& row : rows) {
    kernel_width = std::max(kernel_width, row.kernel.size());
    operator_width = std::max(operator_width, row_of(row.op).name.size());
  }
  std::string table =
      fmt::format("{:<{}}  {:<{}} {:>7} {:>7} {:>7} {:>8} {:>11} {:>10} {:>10} {:>9} {:>9}\n", "kernel",
                  kernel_width, "operator", operator_width, "cases", "passed", "failed", "refused",
                  "bound units", "worst ulp", "|bias|", "launches", "seconds");
  const auto line = [&](std::string_view kernel, std::string_view op, const SummaryRow& row) {
    table +=
        fmt::format("{:<{}}  {:<{}} {:>7} {:>7} {:>7} {:>8} {:>11.4g} {:>10.4g} {:>10.3g} {:>9} {:>9.2f}\n",
                    kernel, kernel_width, op, operator_width, row.cases, row.passed, row.failed, row.refused,
                    row.worst.bound_units, row.worst.ulps, row.worst.bias, row.launches, row.seconds);
  };
  for (const SummaryRow& row : rows) line(row.kernel, row_of(row.op).name, row);
  const SummaryRow total = total_of(rows);
  if (rows.size() > 1) line("total", "", total);

  table += fmt::format("{} elements judged", total.elements);
  if (total.undefined > 0) table += fmt::format(", {} of them undefined by the contract", total.undefined);
  if (total.flushed > 0) table += fmt::format(", {} flushed to zero", total.flushed);
  table += '\n';
  if (total.unjudged > 0) table += fmt::format("{} cases could not be judged\n", total.unjudged);
  return table;
}

std::string laws_text(std::span<const CaseResult> results) {
  std::map<const properties::Law*, LawCounts> counts;  // of one array, so in its order
  for (const CaseResult& result : results) {
    for (const LawOutcome& outcome : result.laws) counts[outcome.law].include(outcome.status);
  }
  std::string text;
  for (const auto& [law, count] : counts) {
    text += fmt::format("law {:<24} {:>7} kept {:>7} broken {:>7} silent\n", law->name, count.kept,
                        count.broken, count.silent);
  }
  return text;
}

std::string coverage_text(std::span<const CaseResult> results) {
  std::set<Op> operators;
  std::set<std::string> regimes;
  std::set<std::int64_t> hidden_sizes, num_tokens;
  for (const CaseResult& result : results) {
    if (result.status != CaseStatus::passed && result.status != CaseStatus::failed) continue;
    operators.insert(result.tested.problem.op);
    regimes.insert(result.tested.regime);
    hidden_sizes.insert(result.tested.problem.hidden_size);
    num_tokens.insert(result.tested.problem.num_tokens);
  }
  std::string text = "covered: nothing\n";
  if (!operators.empty())
    text = fmt::format(
        "covered: {} of {} operators, {} input regimes, {} hidden sizes {} to {}, {} token counts {} to {}\n",
        operators.size(), all_operators().size(), regimes.size(), hidden_sizes.size(), *hidden_sizes.begin(),
        *hidden_sizes.rbegin(), num_tokens.size(), *num_tokens.begin(), *num_tokens.rbegin());
  for (const SummaryRow& row : summarise(results)) {
    if (row.refused > 0) {
      text += fmt::format("{} on {}: {} refused, the first is {}\n", row_of(row.op).name, row.kernel,
                          row.refused, row.refusal);
    }
    if (row.passed + row.failed == 0 || row.elements > row.undefined) continue;
    text += fmt::format("{} on {}: no element with a defined value was judged\n", row_of(row.op).name,
                        row.kernel);
  }
  return text;
}

int exit_code(const SummaryRow& total) {
  if (total.failed > 0) return 1;
  return total.unjudged > 0 || total.passed == 0 ? 2 : 0;
}

}  // namespace mhcheck::conformance

#include "conformance/report/mutant_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/report/xml_text.h"
#include "golden/versions.h"

namespace mhcheck::conformance {
namespace {

using mutants::kChecks;
using mutants::name_of;

struct Score {
  std::size_t mutants = 0, killed = 0, recipe = 0;
};

Score score_of(std::span<const MutantResult> results) {
  Score score;
  score.mutants = results.size();
  for (const MutantResult& result : results) {
    score.killed += result.killed();
    score.recipe += !result.recipe.empty();
  }
  return score;
}

std::string score_text(const Score& score) {
  return fmt::format(
      "{} of {} mutants killed; the usual recipe (randn, fn*1e-4, scale*0.1, atol {:g}, rtol {:g}) "
      "catches {} of them",
      score.killed, score.mutants, kUsualAbsoluteTolerance, kUsualRelativeTolerance, score.recipe);
}

std::string first_finding(const MutantResult& result) {
  return result.findings.empty() ? "nothing" : result.findings.front().kind;
}

// The output whose fitted scale is furthest from 1, of those where bias was found.
const OutputVerdict* most_scaled(const MutantResult& result) {
  const OutputVerdict* most = nullptr;
  const auto off = [](const OutputVerdict& output) { return std::fabs(output.aggregates.scale.value); };
  for (const OutputVerdict& output : result.outputs) {
    if (!output.aggregates.scale.judged || output.aggregates.scale.conforms()) continue;
    if (most == nullptr || off(output) > off(*most)) most = &output;
  }
  return most;
}

std::string scale_text(const MutantResult& result) {
  const OutputVerdict* output = most_scaled(result);
  return output == nullptr ? ""
                           : fmt::format("{} x {:.5g}", output->name, 1 + output->aggregates.scale.value);
}

std::string promise_of(const mutants::Mutant& mutant) {
  const std::string check(name_of(mutant.caught_by));
  return mutant.law.empty() ? check : fmt::format("{} {}", check, mutant.law);
}

std::string_view verdict_of(const MutantResult& result) { return result.killed() ? "killed" : "SURVIVED"; }
std::string_view recipe_of(const MutantResult& result) { return result.recipe.empty() ? "passes" : "caught"; }

}  // namespace

std::string mutant_table(std::span<const MutantResult> results) {
  std::size_t width = std::string_view("mutant").size(), op_width = std::string_view("operator").size();
  for (const MutantResult& result : results) {
    width = std::max(width, result.mutant->name.size());
    op_width = std::max(op_width, row_of(result.mutant->op).name.size());
  }
  std::string table = fmt::format("{:<{}}  {:<{}}  {:<8}", "mutant", width, "operator", op_width, "verdict");
  for (const auto& check : kChecks) table += fmt::format("  {}", check.name);
  table += fmt::format("  {:<21}  {:<12}  {}\n", "first found", "usual recipe", "fitted scale");
  for (const MutantResult& result : results) {
    table += fmt::format("{:<{}}  {:<{}}  {:<8}", result.mutant->name, width, row_of(result.mutant->op).name,
                         op_width, verdict_of(result));
    for (const auto& check : kChecks) {
      table += fmt::format("  {:^{}}", result.found_by(check.check) ? "x" : ".", check.name.size());
    }
    table +=
        fmt::format("  {:<21}  {:<12}  {}", first_finding(result), recipe_of(result), scale_text(result));
    table.erase(table.find_last_not_of(' ') + 1);
    table += '\n';
  }
  return table + score_text(score_of(results)) + "\n";
}

std::string mutant_text(const MutantResult& result) {
  const mutants::Mutant& mutant = *result.mutant;
  std::string text = fmt::format("{}: {}\n", mutant.name, mutant.broken);
  if (!mutant.report.empty()) text += fmt::format("  report        {}\n", mutant.report);
  text += fmt::format("  promised      {}\n", promise_of(mutant));
  text +=
      fmt::format("  verdict       {} at case {}: {}\n", verdict_of(result), result.cases, result.descriptor);
  if (!mutant.why_own_case.empty()) text += fmt::format("  own case      {}\n", mutant.why_own_case);
  for (const MutantFinding& finding : result.findings) {
    text += fmt::format("  {:<12}  {}{}{}\n", name_of(finding.check), finding.kind,
                        finding.detail.empty() ? "" : ": ", finding.detail);
  }
  for (const OutputVerdict& output : result.outputs) {
    if (!output.aggregates.scale.judged) continue;
    text += fmt::format("  fitted scale  {} {:.6g}\n", output.name, 1 + output.aggregates.scale.value);
  }
  return text + fmt::format("  usual recipe  {}\n", result.recipe.empty() ? "passes" : result.recipe);
}

std::string mutant_markdown(std::span<const MutantResult> results) {
  std::string head = "| mutant | operator | what is broken | public report |",
              rule = "| --- | --- | --- | --- |";
  for (const auto& check : kChecks) {
    head += fmt::format(" {} |", check.name);
    rule += " --- |";
  }
  std::string table = head + " first found | usual recipe |\n" + rule + " --- | --- |\n";
  for (const MutantResult& result : results) {
    const mutants::Mutant& mutant = *result.mutant;
    table += fmt::format("| `{}` | `{}` | {} | {} |", mutant.name, row_of(mutant.op).name, mutant.broken,
                         mutant.report);
    for (const auto& check : kChecks) table += result.found_by(check.check) ? " x |" : " |";
    table += fmt::format(" {}{} | {} |\n", first_finding(result),
                         result.killed() ? "" : ", but not by " + promise_of(mutant), recipe_of(result));
  }
  return table + "\n" + score_text(score_of(results)) + ".\n";
}

nlohmann::ordered_json mutant_json(std::span<const MutantResult> results) {
  const Score score = score_of(results);
  nlohmann::ordered_json json{
      {"program_version", golden::program_version()},
      {"score", {{"mutants", score.mutants}, {"killed", score.killed}, {"usual_recipe", score.recipe}}},
      {"mutants", nlohmann::ordered_json::array()}};
  for (const MutantResult& result : results) {
    const mutants::Mutant& mutant = *result.mutant;
    nlohmann::ordered_json checks = nlohmann::ordered_json::object();
    for (const auto& check : kChecks) checks[std::string(check.name)] = result.found_by(check.check);
    nlohmann::ordered_json findings = nlohmann::ordered_json::array();
    for (const MutantFinding& finding : result.findings) {
      findings.push_back(
          {{"check", name_of(finding.check)}, {"kind", finding.kind}, {"detail", finding.detail}});
    }
    nlohmann::ordered_json scales = nlohmann::ordered_json::object();
    for (const OutputVerdict& output : result.outputs) {
      if (output.aggregates.scale.judged) scales[output.name] = 1 + output.aggregates.scale.value;
    }
    json["mutants"].push_back({{"name", mutant.name},
                               {"operator", row_of(mutant.op).name},
                               {"broken", mutant.broken},
                               {"report", mutant.report},
                               {"caught_by", name_of(mutant.caught_by)},
                               {"law", mutant.law},
                               {"killed", result.killed()},
                               {"first", first_finding(result)},
                               {"checks", checks},
                               {"case", result.descriptor},
                               {"own_case_because", mutant.why_own_case},
                               {"cases", result.cases},
                               {"findings", findings},
                               {"fitted_scales", scales},
                               {"usual_recipe_passes", result.recipe.empty()},
                               {"usual_recipe_found", result.recipe},
                               {"seconds", result.seconds}});
  }
  return json;
}

std::string mutant_html(std::span<const MutantResult> results) {
  const std::string score = score_text(score_of(results));
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>mhcheck: {0}</title><style>\n"
      "body {{ font: 14px/1.45 system-ui, sans-serif; margin: 2rem; color: #1b1f24; }}\n"
      "table {{ border-collapse: collapse; }} th, td {{ padding: .25rem .6rem; border-bottom: 1px solid "
      "#d8dee4; "
      "text-align: left; }}\ntr.bad td {{ background: #ffebe9; }}\n</style></head><body>\n"
      "<h1>mhcheck {1}: the zoo</h1>\n<p>{0}.</p>\n<table><thead><tr><th>mutant</th><th>operator</th>"
      "<th>what is broken</th><th>public report</th><th>verdict</th>",
      xml_text(score), golden::program_version());
  for (const auto& check : kChecks) html += fmt::format("<th>{}</th>", check.name);
  html += "<th>first found</th><th>usual recipe</th><th>case</th></tr></thead><tbody>\n";
  for (const MutantResult& result : results) {
    const mutants::Mutant& mutant = *result.mutant;
    html +=
        fmt::format("<tr{}><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>",
                    result.killed() ? "" : " class=\"bad\"", xml_text(mutant.name), row_of(mutant.op).name,
                    xml_text(mutant.broken), xml_text(mutant.report), verdict_of(result));
    for (const auto& check : kChecks)
      html += fmt::format("<td>{}</td>", result.found_by(check.check) ? "x" : "");
    html += fmt::format("<td>{}</td><td>{}</td><td>{}</td></tr>\n", first_finding(result), recipe_of(result),
                        xml_text(result.descriptor));
  }
  return html + "</tbody></table>\n</body></html>\n";
}

}  // namespace mhcheck::conformance

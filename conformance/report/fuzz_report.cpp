#include "conformance/report/fuzz_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "conformance/report/json_report.h"
#include "golden/versions.h"
#include "properties/case_classes.h"
#include "properties/laws.h"

namespace mhcheck::conformance {
namespace {

using Json = nlohmann::ordered_json;

// Those on which a case of one of the operators can have a class.
std::vector<const properties::Axis*> axes_of(std::span<const Op> operators) {
  std::vector<const properties::Axis*> axes;
  for (const properties::Axis& axis : properties::all_axes()) {
    if (std::ranges::any_of(operators, [&](Op op) { return axis.concerns(row_of(op)); }))
      axes.push_back(&axis);
  }
  return axes;
}

std::string share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "-"
                    : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

// Some words behind a label, in lines of readable length.
std::string wrapped(std::string_view label, std::size_t label_width, std::span<const std::string> words) {
  constexpr std::size_t kWidth = 110;
  std::string text = fmt::format("  {:<{}}", label, label_width);
  std::size_t column = text.size();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i] + (i + 1 < words.size() ? "," : "");
    if (column + 1 + word.size() > kWidth) {
      text += fmt::format("\n  {:<{}}", "", label_width);
      column = label_width + 2;
    }
    text += " " + word;
    column += 1 + word.size();
  }
  return text + "\n";
}

std::string class_table(const Tally& tally, std::span<const Op> operators) {
  const std::vector<const properties::Axis*> axes = axes_of(operators);
  std::size_t width = std::string_view("laws tried").size();
  for (const properties::Axis* axis : axes) width = std::max(width, axis->name.size());
  std::string text = "share of the cases that depend on it\n";
  std::string never;
  for (const properties::Axis* axis : axes) {
    const std::uint64_t all = tally.in_axis(axis->name);
    std::vector<std::string> reached, missed;
    for (const std::string_view name : axis->classes) {
      const std::uint64_t count = tally.in_class(axis->name, name);
      if (count > 0) reached.push_back(fmt::format("{} {}", name, share(count, all)));
      if (count == 0) missed.emplace_back(name);
    }
    if (!reached.empty()) text += wrapped(axis->name, width, reached);
    if (!missed.empty()) never += wrapped(axis->name, width, missed);
  }
  std::vector<std::string> laws;
  for (const auto& [name, count] : tally.laws()) laws.push_back(fmt::format("{} {}", name, count));
  if (!laws.empty()) text += wrapped("laws tried", width, laws);
  if (!never.empty()) text += "never reached, so nothing is known of it\n" + never;
  return text;
}

}  // namespace

std::string fuzz_failure_text(const Record& failure, const std::string& saved) {
  std::string text = failure.simplest->text;
  const std::string simplest = to_descriptor(failure.simplest->tested), found = to_descriptor(failure.tested);
  if (simplest != found) {
    text += fmt::format("  found as case {}: {}, made simpler in {} evaluations\n", failure.number, found,
                        failure.simplest->evaluations);
  }
  return text + fmt::format("  saved: {}\n", saved);
}

std::string fuzz_summary(const Tally& tally, std::span<const Op> operators) {
  const std::vector<SummaryRow> rows = tally.rows();
  return summary_table(rows) + class_table(tally, operators);
}

Json fuzz_json(const Tally& tally, std::span<const Op> operators, Json options) {
  Json report{
      {"program", "mhcheck"}, {"version", golden::program_version()}, {"options", std::move(options)}};
  report.update(summary_json(tally.rows()));
  report["classes"] = Json::object();
  for (const properties::Axis* axis : axes_of(operators)) {
    for (const std::string_view name : axis->classes) {
      report["classes"][axis->name][name] = tally.in_class(axis->name, name);
    }
  }
  report["laws"] = tally.laws();
  report["failures"] = Json::array();
  for (const Record& failure : tally.failures()) {
    report["failures"].push_back({{"case", failure.number},
                                  {"kernel", failure.kernel},
                                  {"kind", failure.outcome.kind},
                                  {"descriptor", to_descriptor(failure.tested)},
                                  {"simplest", to_descriptor(failure.simplest->tested)},
                                  {"text", failure.simplest->text}});
  }
  return report;
}

}  // namespace mhcheck::conformance

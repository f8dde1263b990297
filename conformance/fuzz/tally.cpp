#include "conformance/fuzz/tally.h"

#include <ranges>

#include "properties/case_classes.h"

namespace mhcheck::conformance {

void Tally::add(const Record& record) {
  const Outcome& outcome = record.outcome;
  const Op op = record.tested.problem.op;
  SummaryRow& row = rows_[{record.kernel, op}];
  row.kernel = record.kernel;
  row.op = op;
  ++row.cases;
  row.passed += outcome.status == CaseStatus::passed;
  row.failed += outcome.status == CaseStatus::failed;
  row.refused += outcome.status == CaseStatus::refused;
  row.worst.include(outcome.worst);
  row.launches += outcome.launches;
  row.seconds += outcome.seconds;
  row.elements += outcome.elements;
  row.undefined += outcome.undefined;
  row.flushed += outcome.flushed;
  row.certification += outcome.certification;
  row.laws += {outcome.laws_kept.size(), outcome.laws_broken.size(), outcome.laws_silent};
  if (outcome.status == CaseStatus::refused) return;  // nothing of it was tried

  for (const properties::Axis& axis : properties::all_axes()) {
    if (const auto name = axis.class_of(record.tested)) ++classes_[axis.name][*name];
  }
  for (const std::string& law : outcome.laws_kept) ++laws_[law];
  for (const std::string& law : outcome.laws_broken) ++laws_[law];
  if (outcome.status == CaseStatus::failed) failures_.push_back(record);
}

std::vector<SummaryRow> Tally::rows() const {
  const auto values = std::views::values(rows_);
  return {values.begin(), values.end()};
}

std::uint64_t Tally::in_class(std::string_view axis, std::string_view name) const {
  const auto classes = classes_.find(axis);
  if (classes == classes_.end()) return 0;
  const auto found = classes->second.find(name);
  return found == classes->second.end() ? 0 : found->second;
}

std::uint64_t Tally::in_axis(std::string_view axis) const {
  const auto classes = classes_.find(axis);
  if (classes == classes_.end()) return 0;
  std::uint64_t total = 0;
  for (const auto& [name, count] : classes->second) total += count;
  return total;
}

}  // namespace mhcheck::conformance

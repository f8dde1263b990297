// What a campaign came to: cases added up, and how much of the space they reached.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/fuzz/record.h"
#include "conformance/report/summary.h"

namespace mhcheck::conformance {

class Tally {
 public:
  void add(const Record& record);

  // By kernel's name, then in the order of the operators.
  std::vector<SummaryRow> rows() const;
  // The failures, in the order in which they were added.
  std::span<const Record> failures() const { return failures_; }
  // How many judged cases had this class of this axis (properties::all_axes), and any class of it.
  std::uint64_t in_class(std::string_view axis, std::string_view name) const;
  std::uint64_t in_axis(std::string_view axis) const;
  // How many cases each law said something about.
  const std::map<std::string, std::uint64_t>& laws() const { return laws_; }

 private:
  std::map<std::pair<std::string, Op>, SummaryRow> rows_;
  std::vector<Record> failures_;
  std::map<std::string_view, std::map<std::string_view, std::uint64_t>> classes_;
  std::map<std::string, std::uint64_t> laws_;
};

}  // namespace mhcheck::conformance

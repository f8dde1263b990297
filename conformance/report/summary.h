// A campaign's results, one row a kernel and operator: what every report shows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "conformance/case_result.h"

namespace mhcheck::conformance {

struct SummaryRow {
  std::string kernel;
  Op op{};
  std::uint64_t cases = 0, passed = 0, failed = 0, refused = 0, unjudged = 0;
  std::string refusal;  // descriptor and reason of the first refused case
  WorstErrors worst;
  std::uint64_t launches = 0;
  double seconds = 0;  // of kernels and judgement, added up over threads
  std::uint64_t elements = 0, undefined = 0, flushed = 0;
  reference::Certification certification;
  LawCounts laws;
};

// By kernel's name, then in the order of the operators.
std::vector<SummaryRow> summarise(std::span<const CaseResult> results);

// The rows added up; kernel and op mean nothing in it.
SummaryRow total_of(std::span<const SummaryRow> rows);

// The aligned table that a run ends with, newline-terminated.
std::string summary_table(std::span<const SummaryRow> rows);

// How much the cases really covered, in one line, and a line for every operator of which no defined element
// was judged: its cases prove nothing about values.
std::string coverage_text(std::span<const CaseResult> results);

// The laws that were asked for, a line each: at how many cases kept, broken, or silent. Empty where none was.
std::string laws_text(std::span<const CaseResult> results);

// 0 every case conforms; 1 something does not; 2 something could not be judged, or nothing was judged at all.
int exit_code(const SummaryRow& total);

}  // namespace mhcheck::conformance

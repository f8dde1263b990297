#include "conformance/case_result.h"

#include <algorithm>
#include <cmath>

namespace mhcheck::conformance {

kernels::Counters added_up(const std::vector<kernels::LaunchReport>& launches) {
  kernels::Counters total;
  for (const kernels::LaunchReport& launch : launches) {
    for (const auto& [name, count] : launch.counters) total[name] += count;
  }
  return total;
}

void WorstErrors::include(const WorstErrors& other) {
  bound_units = std::max(bound_units, other.bound_units);
  ulps = std::max(ulps, other.ulps);
  bias = std::max(bias, other.bias);
}

void WorstErrors::include(const CaseResult& result) {
  for (const OutputVerdict& output : result.outputs) {
    if (output.worst) bound_units = std::max(bound_units, output.worst->bound_units);
    ulps = std::max(ulps, output.worst_ulps);
    if (output.aggregates.scale.judged) bias = std::max(bias, std::fabs(output.aggregates.scale.value));
  }
}

}  // namespace mhcheck::conformance

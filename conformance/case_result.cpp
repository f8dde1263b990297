#include "conformance/case_result.h"

#include <algorithm>
#include <cmath>

namespace mhcheck::conformance {

void WorstErrors::include(const CaseResult& result) {
  for (const OutputVerdict& output : result.outputs) {
    if (output.worst) bound_units = std::max(bound_units, output.worst->bound_units);
    ulps = std::max(ulps, output.worst_ulps);
    if (output.aggregates.scale.judged) bias = std::max(bias, std::fabs(output.aggregates.scale.value));
  }
}

}  // namespace mhcheck::conformance

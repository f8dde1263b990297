// A campaign: the cases of a selection, each given to the kernels that it is for.
#pragma once

#include <span>
#include <vector>

#include "conformance/case_list.h"
#include "conformance/runner.h"

namespace mhcheck::conformance {

// Both throw UnknownName when the selection names an operator that none of the kernels implements. The rows
// must outlive the plan.

// Every case on each of the kernels.
std::vector<PlannedCase> plan_each(const CaseSelection& selection, std::span<const KernelRow> rows);

// Every case on one of the kernels, which take turns: for kernels that differ only in where they round. An
// operator that does not depend on it stays with the first.
std::vector<PlannedCase> plan_in_turns(const CaseSelection& selection, std::span<const KernelRow> rows);

}  // namespace mhcheck::conformance

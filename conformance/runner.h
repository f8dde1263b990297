// Runs cases on a kernel and judges them. Results come in the order of the cases and are the same for any
// number of threads.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "conformance/case_result.h"
#include "conformance/kernel_registry.h"
#include "conformance/judge_case.h"

namespace mhcheck::conformance {

// One case: inputs, poisoned and guarded outputs, the kernel, the verdict. `kernel` must round as the case says.
CaseResult run_case(const Case& c, kernels::KernelSet& kernel, std::string_view device, Threads threads);

// Called after each case, by one thread at a time, in any order.
using Progress = std::function<void(const CaseResult&)>;

// Small cases run side by side, large ones one after the other with all threads, so that memory holds one large
// case at a time.
std::vector<CaseResult> run_cases(std::span<const Case> cases, const KernelRow& kernel, const Progress& progress);

}  // namespace mhcheck::conformance

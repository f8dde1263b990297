// Runs cases on a kernel and judges them. Results come in the order of the cases and are the same for any
// number of threads.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "conformance/case_result.h"
#include "conformance/judge_case.h"
#include "conformance/kernel_registry.h"

namespace mhcheck::conformance {

// A case and the kernel that it is for, which must round as the case says.
struct PlannedCase {
  Case tested;
  const KernelRow* kernel = nullptr;
};

// "mhcheck repro 'DESCRIPTOR'" with the options that put the row's kernel under test.
std::string repeat_command(const Case& c, const KernelRow& row);

// One case: inputs, poisoned and guarded outputs, the kernel, the verdict. `kernel` is an instance of the
// row.
CaseResult run_case(const Case& c, const KernelRow& row, kernels::KernelSet& kernel, Threads threads);

// Called after each case, by one thread at a time, in any order.
using Progress = std::function<void(const CaseResult&)>;

// Small cases run side by side, large ones one after the other with all threads, so that memory holds one
// large case at a time.
std::vector<CaseResult> run_cases(std::span<const PlannedCase> cases, const Progress& progress);

}  // namespace mhcheck::conformance

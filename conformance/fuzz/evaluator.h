// Draws the cases of a campaign and evaluates them: the part that runs in worker processes, because it is the
// kernels' and the simulator's code that may crash, hang or eat the memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "conformance/fuzz/outcome.h"
#include "conformance/kernel_registry.h"

namespace mhcheck::conformance {

// What fixes every case of a campaign.
struct CampaignPlan {
  std::vector<KernelRow> kernels;  // at least one; they take turns
  std::vector<Op> operators;       // of these, a case has one that its kernel implements
  std::vector<Dtype> dtypes;
  std::uint64_t seed = 1;

  const KernelRow& kernel_of(std::uint64_t number) const { return kernels[number % kernels.size()]; }
};

class Evaluator {
 public:
  // Keeps a reference to the plan.
  explicit Evaluator(const CampaignPlan& plan);
  ~Evaluator();

  // The case of this number: a function of the plan and the number alone. Throws UnknownName when its kernel
  // implements none of the operators, and what making the kernels throws.
  Case draw(std::uint64_t number);

  // The verdict, with the laws of the row.
  Outcome evaluate(const Case& c, const KernelRow& row);

 private:
  // The row's instance, made on first use.
  kernels::KernelSet& instance(const KernelRow& row);

  const CampaignPlan& plan_;
  std::vector<std::unique_ptr<kernels::KernelSet>> instances_;  // in the order of the plan's kernels
};

// A failure that has no verdict: `what` is one line.
Outcome failure_without_verdict(const Case& c, const KernelRow& row, std::string_view kind,
                                std::string_view what);

}  // namespace mhcheck::conformance

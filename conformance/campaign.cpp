#include "conformance/campaign.h"

#include <algorithm>

namespace mhcheck::conformance {

std::vector<PlannedCase> plan_each(const CaseSelection& selection,
                                   std::span<const KernelRow* const> kernels) {
  std::vector<PlannedCase> plan;
  for (const KernelRow* row : kernels) {
    const std::unique_ptr<kernels::KernelSet> kernel = row->make();
    const auto its_profile = [&](Op op) {
      return kernel->implements(op) ? std::vector{kernel->profile(op)} : std::vector<RoundingProfile>{};
    };
    for (Case& c : list_cases(selection, its_profile)) plan.push_back({std::move(c), row});
  }
  return plan;
}

std::vector<PlannedCase> plan_in_turns(const CaseSelection& selection,
                                       std::span<const KernelRow* const> kernels) {
  std::vector<std::unique_ptr<kernels::KernelSet>> instances;
  for (const KernelRow* row : kernels) instances.push_back(row->make());
  const auto their_profiles = [&](Op op) {
    std::vector<RoundingProfile> profiles;
    for (const auto& kernel : instances) {
      if (kernel->implements(op)) profiles.push_back(kernel->profile(op));
    }
    return profiles;
  };
  std::vector<PlannedCase> plan;
  for (Case& c : list_cases(selection, their_profiles)) {
    const auto taker = std::ranges::find_if(instances, [&](const auto& kernel) {
      return kernel->implements(c.problem.op) && rounds_as(*kernel, c);
    });
    plan.push_back({std::move(c), kernels[static_cast<std::size_t>(taker - instances.begin())]});
  }
  return plan;
}

}  // namespace mhcheck::conformance

#include "conformance/campaign.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace mhcheck::conformance {
namespace {

using Instances = std::vector<std::unique_ptr<kernels::KernelSet>>;

Instances make_instances(std::span<const KernelRow> rows) {
  Instances instances;
  for (const KernelRow& row : rows) instances.push_back(row.make());
  return instances;
}

void require_implemented(const CaseSelection& selection, const Instances& instances) {
  const auto implemented = [&](Op op) {
    return std::ranges::any_of(instances, [&](const auto& kernel) { return kernel->implements(op); });
  };
  for (const Op op : selection.operators) {
    if (implemented(op)) continue;
    std::vector<std::string> kernels;
    for (const auto& kernel : instances) kernels.push_back(kernel->name());
    std::vector<std::string_view> operators;
    for (const OperatorRow& row : all_operators()) {
      if (implemented(row.op)) operators.push_back(row.name);
    }
    throw UnknownName(fmt::format("--op: {} is not implemented by {}, only {}", row_of(op).name,
                                  fmt::join(kernels, ", "), fmt::join(operators, ", ")));
  }
}

}  // namespace

std::vector<PlannedCase> plan_each(const CaseSelection& selection, std::span<const KernelRow> rows) {
  const Instances instances = make_instances(rows);
  require_implemented(selection, instances);
  std::vector<PlannedCase> plan;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto its_profile = [&](Op op) {
      return instances[i]->implements(op) ? std::vector{instances[i]->profile(op)}
                                          : std::vector<RoundingProfile>{};
    };
    const auto it_takes = [&](const Case& c) { return instances[i]->why_refused(c.problem).empty(); };
    for (Case& c : list_cases(selection, its_profile, it_takes)) plan.push_back({std::move(c), &rows[i]});
  }
  return plan;
}

std::vector<PlannedCase> plan_in_turns(const CaseSelection& selection, std::span<const KernelRow> rows) {
  const Instances instances = make_instances(rows);
  require_implemented(selection, instances);
  const auto their_profiles = [&](Op op) {
    std::vector<RoundingProfile> profiles;
    for (const auto& kernel : instances) {
      if (kernel->implements(op)) profiles.push_back(kernel->profile(op));
    }
    return profiles;
  };
  const auto taker_of = [&](const Case& c) {
    return std::ranges::find_if(instances, [&](const auto& kernel) {
      return kernel->implements(c.problem.op) && rounds_as(*kernel, c);
    });
  };
  const auto one_takes = [&](const Case& c) { return (*taker_of(c))->why_refused(c.problem).empty(); };
  std::vector<PlannedCase> plan;
  for (Case& c : list_cases(selection, their_profiles, one_takes)) {
    const auto taker = taker_of(c);
    plan.push_back({std::move(c), &rows[static_cast<std::size_t>(taker - instances.begin())]});
  }
  return plan;
}

}  // namespace mhcheck::conformance

#include "conformance/law_check.h"

#include <fmt/format.h>

#include "conformance/kernel_subject.h"
#include "reference/reference.h"

namespace mhcheck::conformance {
namespace {

LawOutcome put_law(const properties::Law& law, properties::Trial& trial) {
  if (std::string why = law.why_not(trial); !why.empty()) return {&law, LawStatus::silent, std::move(why)};
  try {
    if (std::optional<std::string> how = law.broken(trial)) return {&law, LawStatus::broken, *std::move(how)};
  } catch (const kernels::RunFailure& failure) {
    return {&law, LawStatus::broken, fmt::format("a run that it needs failed: {}", failure.what())};
  } catch (const reference::NotCertified& open) {
    return {&law, LawStatus::silent, open.what()};
  }
  return {&law, LawStatus::kept, {}};
}

}  // namespace

void LawCounts::include(LawStatus status) {
  kept += status == LawStatus::kept;
  broken += status == LawStatus::broken;
  silent += status == LawStatus::silent;
}

LawCounts& LawCounts::operator+=(const LawCounts& other) {
  kept += other.kept;
  broken += other.broken;
  silent += other.silent;
  return *this;
}

std::vector<LawOutcome> put_laws(std::span<const properties::Law* const> laws, const Case& c,
                                 kernels::KernelSet& kernels) {
  KernelSubject subject(kernels);
  properties::Trial trial(c, subject);
  std::vector<LawOutcome> outcomes;
  for (const properties::Law* law : laws) outcomes.push_back(put_law(*law, trial));
  return outcomes;
}

}  // namespace mhcheck::conformance

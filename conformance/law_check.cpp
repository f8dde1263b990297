#include "conformance/law_check.h"

#include <fmt/format.h>

#include "conformance/kernel_subject.h"
#include "conformance/memory_need.h"
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

// The most that laws hold at once, in batches of the case: the case itself and its outputs twice, by the
// runner and by the trial, and one batch of twice as many tokens.
constexpr std::int64_t kBatchesAtOnce = 4;

// Empty when the laws' runs fit into this machine; otherwise what they need, in one line.
std::string why_too_large(Case c) {
  c.problem.num_tokens *= kBatchesAtOnce;
  try {
    require_memory_for(c);
  } catch (const NotEnoughMemory& error) {
    return fmt::format("as large as {} batches: {}", kBatchesAtOnce, error.what());
  }
  return {};
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
  std::vector<LawOutcome> outcomes;
  if (const std::string too_large = why_too_large(c); !too_large.empty()) {
    for (const properties::Law* law : laws) outcomes.push_back({law, LawStatus::silent, too_large});
    return outcomes;
  }
  KernelSubject subject(kernels);
  properties::Trial trial(c, subject);
  for (const properties::Law* law : laws) outcomes.push_back(put_law(*law, trial));
  return outcomes;
}

}  // namespace mhcheck::conformance

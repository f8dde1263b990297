#include "kernels/simulator/sanitizers/watcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mhcheck::simulator {

void Watcher::declare(uint64_t address, BufferUse use) {
  if (AllocationShadow* shadow = memory_.find(address, 0)) shadow->declare(std::move(use));
}

void Watcher::uploaded(uint64_t address, uint64_t bytes) {
  AllocationShadow* shadow = memory_.find(address, bytes);
  // Hosts fill outputs with poison, which is not what the kernel is to leave there.
  if (shadow && shadow->use().role != BufferRole::kOutput)
    shadow->mark_written(address - shadow->address(), bytes);
}

void Watcher::check_outputs() {
  if (!on(Sanitizer::kWrites)) return;
  memory_.for_each([&](const AllocationShadow& shadow) {
    if (shadow.use().role != BufferRole::kOutput) return;
    const uint64_t first = shadow.first_unwritten(0);
    if (first >= shadow.size()) return;
    uint64_t bytes = 0;
    for (uint64_t at = first; at < shadow.size(); at = shadow.first_unwritten(at + 1)) ++bytes;
    const std::string what = fmt::format("output elements that no wave has written ({} bytes)", bytes);
    SanitizerFinding* finding = note({Sanitizer::kWrites, "", what, shadow.address(), 0});
    if (finding) finding->memory = "the first is " + shadow.element_at(first);
  });
}

SanitizerFinding* Watcher::note(const Key& key) {
  const auto [entry, is_new] = seen_.try_emplace(
      StoredKey(key.sanitizer, std::string(key.kernel), std::string(key.what), key.slot, key.other_slot),
      findings_.size());
  if (!is_new) {
    ++findings_[entry->second].count;
    return nullptr;
  }
  SanitizerFinding& finding = findings_.emplace_back();
  finding.sanitizer = key.sanitizer;
  finding.kernel = key.kernel;
  finding.what = key.what;
  return &finding;
}

std::vector<SanitizerFinding> Watcher::take_findings() {
  seen_.clear();
  std::vector<SanitizerFinding> taken = std::exchange(findings_, {});
  std::stable_sort(taken.begin(), taken.end(), [](const SanitizerFinding& a, const SanitizerFinding& b) {
    return a.sanitizer < b.sanitizer;
  });
  return taken;
}

}  // namespace mhcheck::simulator

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/simulator/sanitizers/finding.h"
#include "kernels/simulator/sanitizers/memory_shadow.h"

namespace mhcheck::simulator {

/// The sanitizers of one device: what they know from launch to launch, and what they found. The owner of the
/// Memory tells it about allocations and uploads; Options::watcher lets launches see it. One launch at a
/// time.
class Watcher {
 public:
  explicit Watcher(SanitizerSet sanitizers) : sanitizers_(sanitizers) {}

  bool on(Sanitizer sanitizer) const { return sanitizers_.has(sanitizer); }

  void allocated(uint64_t address, uint64_t size, std::string name) {
    memory_.add(address, size, std::move(name));
  }
  bool knows(uint64_t address) { return memory_.find(address, 0) != nullptr; }
  void freed(uint64_t address) { memory_.remove(address); }
  /// What kernels may do with a live allocation; before uploads to it.
  void declare(uint64_t address, BufferUse use);
  void uploaded(uint64_t address, uint64_t bytes);

  /// To be called when all launches of a job are done: outputs that have unwritten elements.
  void check_outputs();
  /// Everything found since the last call, in the order of sanitizers and of first sight.
  std::vector<SanitizerFinding> take_findings();

  MemoryShadow& memory() { return memory_; }

  /// What makes two findings equal. `what` is compared as text.
  struct Key {
    Sanitizer sanitizer;
    std::string_view kernel, what;
    uint64_t slot, other_slot;
  };
  /// The new finding to fill in, or null where an equal one was counted once more.
  SanitizerFinding* note(const Key& key);

 private:
  using StoredKey = std::tuple<Sanitizer, std::string, std::string, uint64_t, uint64_t>;

  SanitizerSet sanitizers_;
  MemoryShadow memory_;
  std::map<StoredKey, size_t> seen_;
  std::vector<SanitizerFinding> findings_;
};

}  // namespace mhcheck::simulator

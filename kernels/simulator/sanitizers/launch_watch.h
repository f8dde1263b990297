#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/simulator/sanitizers/instruction_facts.h"
#include "kernels/simulator/sanitizers/watcher.h"
#include "kernels/simulator/wave.h"

namespace mhcheck::simulator {

/// Up to which of a wave's accesses something is known, by what counts them.
struct Progress {
  uint32_t issued_vector = 0;  // started, which is enough among the waves of a workgroup
  uint32_t vector = 0, lds = 0, scalar = 0;
  uint32_t scalar_stores = 0;  // of `scalar`: written back from the scalar cache

  void raise(const Progress& more) {
    issued_vector = std::max(issued_vector, more.issued_vector);
    vector = std::max(vector, more.vector);
    lds = std::max(lds, more.lds);
    scalar = std::max(scalar, more.scalar);
    scalar_stores = std::max(scalar_stores, more.scalar_stores);
  }
};

/// What each wave of a launch is known to have finished. Waves are numbered through the launch.
using WaveClock = std::unordered_map<uint32_t, Progress>;
inline void raise(WaveClock& clock, const WaveClock& more) {
  for (const auto& [wave, progress] : more) clock[wave].raise(progress);
}

/// What atomics have published, by the address that they access.
class PublishedClocks {
 public:
  WaveClock& of(uint64_t address) { return clocks_[address]; }
  /// Null where nobody has published anything.
  const WaveClock* find(uint64_t address) const {
    const auto found = clocks_.find(address);
    return found == clocks_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<uint64_t, WaveClock> clocks_;
};

/// Where a doubtful value came from: the instruction that took it from a lane with nothing to give.
struct Origin {
  const char* reason = "";
  uint32_t slot = 0;
  uint32_t wave = 0;  // in the launch
  uint64_t lanes = 0;
  bool while_undefined = false;  // doubtful only as long as the value has undefined bits
};

/// The sanitizers' view of one launch. Workgroups run one after the other on one thread.
class LaunchWatch {
 public:
  LaunchWatch(Watcher& watcher, Code& code, const std::string& kernel, const Dispatch& dispatch);

  bool on(Sanitizer sanitizer) const { return watcher_.on(sanitizer); }
  MemoryShadow& memory() { return watcher_.memory(); }
  const InstructionFacts& facts(const Instruction& instruction);
  Handler watched_handler(const Instruction& instruction) const;

  uint32_t waves_per_group() const { return waves_per_group_; }
  /// `otherwise` for an instruction that is no slot of the code: one with relative register numbers.
  uint32_t slot_of(const Instruction& instruction, uint32_t otherwise) const;
  FindingPlace place(uint32_t slot, uint32_t wave_of_launch, uint64_t lanes) const;

  struct Other {
    std::string_view role;
    uint32_t slot = 0;
    uint32_t wave = 0;  // in the launch
    uint64_t lanes = 0;
  };
  /// `memory` is asked for its text only when the finding is new. The place that decides which findings are
  /// equal is `main`; `wave` is its wave in the launch.
  void report(Sanitizer sanitizer, std::string_view what, uint32_t slot, uint32_t wave, uint64_t lanes,
              const std::function<std::string()>& memory, const std::optional<Other>& other);

  uint32_t add_origin(const Origin& origin);
  const Origin& origin(uint32_t id) const { return origins_[id - 1]; }

  /// What accesses of device scope have published.
  PublishedClocks& published() { return published_; }

 private:
  Watcher& watcher_;
  Code& code_;
  std::string kernel_;
  std::array<uint32_t, 3> grid_;
  uint32_t waves_per_group_;
  std::unordered_map<const Instruction*, InstructionFacts> facts_;
  InstructionFacts outside_facts_;  // of an instruction that is no slot of the code
  std::vector<Origin> origins_;
  std::unordered_map<uint64_t, uint32_t> origin_ids_;
  PublishedClocks published_;
};

/// Which bytes of LDS or scratch nobody has written, and where doubtful ones came from.
class LocalShadow {
 public:
  explicit LocalShadow(size_t bytes) : undefined_(bytes, 1) {}

  size_t size() const { return undefined_.size(); }
  bool undefined(uint64_t byte) const { return undefined_[byte]; }
  uint32_t origin(uint64_t byte) const { return origins_.empty() ? 0 : origins_[byte]; }
  /// Of bytes within it: all written, and none doubtful.
  bool good(uint64_t first, uint64_t count) const {
    const auto begin = undefined_.begin() + static_cast<std::ptrdiff_t>(first);
    return origins_.empty() && std::all_of(begin, begin + static_cast<std::ptrdiff_t>(count),
                                           [](uint8_t undefined) { return undefined == 0; });
  }
  void set_good(uint64_t first, uint64_t count) {
    std::fill_n(undefined_.begin() + static_cast<std::ptrdiff_t>(first), count, uint8_t{0});
    if (!origins_.empty()) std::fill_n(origins_.begin() + static_cast<std::ptrdiff_t>(first), count, 0u);
  }
  void set(uint64_t byte, bool undefined, uint32_t origin) {
    undefined_[byte] = undefined;
    if (origins_.empty() && origin) origins_.resize(undefined_.size());
    if (!origins_.empty()) origins_[byte] = origin;
  }

 private:
  std::vector<uint8_t> undefined_;
  std::vector<uint32_t> origins_;  // 0: good; empty as long as nothing is doubtful
};

/// What the waves of a workgroup share.
class GroupWatch {
 public:
  GroupWatch(LaunchWatch& launch, uint64_t group_index, std::span<Wave> waves, uint32_t lds_bytes);
  ~GroupWatch();

  /// All waves that still run have arrived; they go on after this.
  void at_barrier(std::span<const Wave> waves);

  LaunchWatch& launch() { return launch_; }
  uint32_t first_wave() const { return first_wave_; }
  LocalShadow& lds() { return lds_; }
  AccessHistory& lds_history() { return lds_history_; }

  /// What the last barrier made known of a wave of the group.
  const Progress& last_barrier(uint32_t wave_in_group) const { return last_barrier_[wave_in_group]; }
  const WaveClock& acquired() const { return acquired_; }
  /// What accesses of workgroup scope have published.
  PublishedClocks& published() { return published_; }

 private:
  LaunchWatch& launch_;
  uint32_t first_wave_;
  LocalShadow lds_;
  AccessHistory lds_history_;
  std::vector<Progress> last_barrier_;
  WaveClock acquired_;  // from atomics, shared by the last barrier
  PublishedClocks published_;
  std::vector<std::unique_ptr<WaveWatch>> waves_;
};

}  // namespace mhcheck::simulator

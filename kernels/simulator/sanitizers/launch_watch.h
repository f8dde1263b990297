#pragma once

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

/// Up to which instruction of vmcnt each wave of a launch is known to have finished. Waves are numbered
/// through the launch.
using WaveClock = std::unordered_map<uint32_t, uint32_t>;

/// Where a doubtful value came from: the instruction that took it from a lane with nothing to give.
struct Origin {
  const char* reason = "";
  uint32_t slot = 0;
  uint32_t wave = 0;  // in the launch
  uint64_t lanes = 0;
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

  /// What the atomics of an address have published.
  WaveClock& clock_of(uint64_t address) { return clocks_[address]; }

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
  std::unordered_map<uint64_t, WaveClock> clocks_;
};

/// A byte of LDS or scratch that nobody has written, and where a doubtful one came from.
struct LocalShadow {
  explicit LocalShadow(size_t bytes) : undefined(bytes, 1), origin((bytes + 3) / 4) {}
  std::vector<uint8_t> undefined;
  std::vector<uint32_t> origin;  // one a dword; 0: good
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
  Cell& lds_cell(uint32_t dword) { return lds_cells_[dword]; }

  /// What the last barrier made known of each wave of the group.
  struct Published {
    uint32_t issued_vector = 0;    // started before it
    uint32_t vector = 0, lds = 0;  // complete before it
  };
  const Published& published(uint32_t wave_in_group) const { return published_[wave_in_group]; }
  const WaveClock& acquired() const { return acquired_; }

 private:
  LaunchWatch& launch_;
  uint32_t first_wave_;
  LocalShadow lds_;
  std::vector<Cell> lds_cells_;
  std::vector<Published> published_;
  WaveClock acquired_;  // from atomics, shared by the last barrier
  std::vector<std::unique_ptr<WaveWatch>> waves_;
};

}  // namespace mhcheck::simulator

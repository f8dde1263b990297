#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/simulator/sanitizers/launch_watch.h"
#include "kernels/simulator/simulator.h"
#include "kernels/simulator/wave.h"

namespace mhcheck::simulator {

/// What all workgroups of a launch share.
struct LaunchContext {
  Memory& memory;
  Code& code;
  const KernelState& kernel;
  const Dispatch& dispatch;
  const Options& options;
  const Instruction* entry = nullptr;
  unsigned vector_registers = 0;  // to poison and to use
  unsigned accumulators = 0;
  uint32_t lds_bytes = 0;
  uint32_t scratch_bytes = 0;    // of a work-item
  LaunchWatch* watch = nullptr;  // null unless a sanitizer is on
};

/// Registers, LDS and scratch of one workgroup's waves. Large, so that it is used again for the next
/// workgroup.
class WorkgroupState {
 public:
  explicit WorkgroupState(const LaunchContext& context);
  void reset(const LaunchContext& context, uint64_t group_index);

  std::vector<Wave>& waves() { return waves_; }

 private:
  void reset_wave(const LaunchContext& context, uint32_t wave_index);
  void fill_scalars(const LaunchContext& context, Wave& wave) const;
  void fill_work_item_ids(const LaunchContext& context, Wave& wave) const;

  Workgroup group_;
  std::vector<Wave> waves_;
  std::unique_ptr<uint32_t[]> storage_;
  uint32_t* registers_ = nullptr;
  std::vector<std::byte> lds_;
  std::vector<std::byte> scratch_;
};

/// Runs one workgroup; may be suspended and taken up again.
class WorkgroupRun {
 public:
  WorkgroupRun(const LaunchContext& context, WorkgroupState& state, uint64_t group_index);

  /// Gives every wave up to `quantum` instructions, or runs to the end where it is 0. True when all waves
  /// have ended.
  bool advance(uint64_t quantum);
  /// Adds what the waves counted.
  void count(Counters& counters) const;

 private:
  bool release_barrier();
  Wave* choose();
  template <bool kWatched>
  void run_slice(Wave& wave, uint64_t length);
  uint64_t random();
  [[noreturn]] void raise_budget(Wave& wave);

  const LaunchContext& context_;
  WorkgroupState& state_;
  std::unique_ptr<GroupWatch> watch_;
  uint64_t random_state_;
  size_t turn_ = 0;
};

}  // namespace mhcheck::simulator

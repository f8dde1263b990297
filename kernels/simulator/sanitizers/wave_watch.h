#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/simulator/memory_access.h"
#include "kernels/simulator/sanitizers/launch_watch.h"
#include "kernels/simulator/sanitizers/pending_loads.h"
#include "kernels/simulator/sanitizers/register_shadow.h"

namespace mhcheck::simulator {

/// One memory access of the instruction in progress, lane by lane.
struct ObservedAccess {
  enum class Space : uint8_t { kMemory, kScratch, kLds, kLdsDelivery };
  Space space = Space::kMemory;
  AccessKind kind = AccessKind::kLoad;
  uint32_t bytes = 0;
  uint64_t lanes = 0;
  bool all_written = false;  // every byte is known to be
  uint64_t address[kLanes];
};

/// The sanitizers' view of one wave: executes its instructions and checks each before and after.
class WaveWatch {
 public:
  WaveWatch(GroupWatch& group, Wave& wave);

  void execute(const Instruction& instruction);
  /// Everything that the wave has started completes.
  void finish_everything();

  uint32_t number() const { return number_; }  // in the launch
  uint32_t slot() const { return slot_; }      // of the last instruction
  Progress progress() const;
  const WaveClock& acquired() const { return acquired_; }

  // What the handlers tell (memory_access.h).
  uint64_t observe_access(AccessKind kind, uint64_t active, uint32_t bytes);
  uint64_t observe_scratch(AccessKind kind, uint64_t active, uint32_t bytes);
  void observe_lds(AccessKind kind, uint64_t active, uint32_t bytes);
  void observe_lds_delivery(uint64_t active, uint32_t base, uint32_t stride, uint32_t bytes);
  void observe_resource(uint64_t base, uint64_t clamped);
  bool observe_part(AccessKind kind, int lane, uint32_t bytes);
  bool observe_scalar(AccessKind kind, unsigned first_register, uint64_t address, uint32_t bytes);

 private:
  using MemoryText = std::function<std::string()>;
  using Space = ObservedAccess::Space;
  bool on(Sanitizer sanitizer) const { return launch_.on(sanitizer); }
  /// The lane that v_readlane or v_writelane names.
  int selected_lane(const Instruction& instruction) const;
  void report(Sanitizer sanitizer, std::string_view what, uint64_t lanes, const MemoryText& memory = {},
              const std::optional<LaunchWatch::Other>& other = {});

  // accesses.cpp: bounds, writes, race
  ObservedAccess& record(Space space, AccessKind kind, uint64_t lanes, uint32_t bytes);
  AllocationShadow* shadow_of(uint64_t address, uint64_t bytes);
  static constexpr int kNoLane = -1;  // of a scalar access
  bool check_global(AccessKind kind, uint64_t address, uint32_t bytes, int lane);
  const char* outside_every_allocation(AccessKind kind, int lane) const;
  bool check_lds_bounds(uint64_t offset, uint32_t bytes, int lane, bool fills_zero);
  void check_lds(AccessKind kind, uint64_t offset, uint32_t bytes, int lane, bool fills_zero);
  bool check_scratch(uint64_t offset, uint32_t bytes, int lane);
  /// Bytes that lanes from the first on access, `lane_bytes` each, or one scalar access.
  struct Stretch {
    uint64_t begin, end;
    int first_lane;
    uint32_t lane_bytes;
  };
  std::optional<Stretch> stretch_of(AccessKind kind, uint64_t active, uint32_t bytes,
                                    const uint64_t* address) const;
  bool remembers(AccessKind kind, const AllocationShadow& shadow) const;
  bool check_stretch(AccessKind kind, uint64_t active, uint32_t bytes, AllocationShadow& shadow);
  Stamp stamp_of(AccessScope scope) const;
  void check_bytes(AccessHistory& history, Stamp now, AccessKind kind, const Stretch& stretch,
                   const AllocationShadow* shadow);
  void check_cell(Cell& cell, const Stamp& now, AccessKind kind, const AllocationShadow* shadow,
                  uint64_t offset);
  void remember_read(Cell& cell, const Stamp& now, bool in_lds);
  bool both_atomic(const Stamp& earlier, const Stamp& now) const;
  bool ordered(const Stamp& earlier, bool writes, bool in_lds) const;
  void synchronise(AccessKind kind, uint64_t address);
  std::vector<uint32_t> started_by_group() const;

  // waits.cpp: wait
  uint64_t lanes_read(const Instruction& instruction, const InstructionFacts& facts) const;
  void check_pending(const Instruction& instruction, const InstructionFacts& facts);
  void count_issue(const InstructionFacts& facts);
  void retire(unsigned vector_left, unsigned lds_left);
  void end();
  void execute_late(const Instruction& instruction, const InstructionFacts& facts);

  // value_flow.cpp: uninit, lanes
  bool tracks_values() const { return tracks_values_; }
  void run_with_values(const Instruction& instruction, const InstructionFacts& facts);
  void check_operands(const InstructionFacts& facts);
  void check_branch(const InstructionFacts& facts);
  void report_bad(const char* undefined_what, const char* doubtful_what, uint64_t undefined,
                  uint64_t doubtful, uint32_t origin, const MemoryText& memory = {});
  void flow_vector(const Instruction& instruction, const InstructionFacts& facts, bool bad);
  struct DppSources {
    uint64_t to_from_inactive = 0, to_from_unwritten = 0;  // lanes that take a value
    uint64_t inactive = 0, unwritten = 0;                  // lanes that have none to give
  };
  DppSources dpp_sources(const Instruction& instruction) const;
  void flow_dpp_sources(const Instruction& instruction, const DppSources& sources);
  void flow_bits(const Instruction& instruction, const InstructionFacts& facts);
  void flow_matrix(const Instruction& instruction, const InstructionFacts& facts, bool bad);
  void flow_crossing(const Instruction& instruction, const InstructionFacts& facts);
  void flow_exchange(const Instruction& instruction, int lane_a, int lane_b);
  void flow_scalar(const Instruction& instruction, const InstructionFacts& facts, bool bad);
  void flow_memory(const Instruction& instruction, const InstructionFacts& facts);
  void flow_load(const InstructionFacts& facts, const ObservedAccess& access, unsigned first_register);
  void flow_store(const Instruction& instruction, const ObservedAccess& access, unsigned data_register);
  void flow_scalar_memory(const InstructionFacts& facts);
  void settle_exec();
  bool any_bad_operand(const Instruction& instruction, const InstructionFacts& facts) const;
  void set_clean(const InstructionFacts& facts, uint64_t lanes);
  uint32_t doubt(const char* reason, uint64_t lanes);
  uint32_t doubt_unwritten(uint64_t lanes);
  struct LaneState {
    uint32_t undefined = 0, origin = 0;
  };
  LaneState taken_from(unsigned r, int lane);
  /// Where a lane's byte of LDS or scratch is shadowed; `address` becomes an index into it. Null for global
  /// memory.
  LocalShadow* local_shadow(const ObservedAccess& access, int lane, uint64_t& address);
  LaneState byte_states(const ObservedAccess& access, int lane, uint32_t first_byte, uint32_t count);

  GroupWatch& group_;
  LaunchWatch& launch_;
  Wave& wave_;
  uint32_t number_;
  uint32_t slot_ = 0;
  bool tracks_values_;
  const InstructionFacts* facts_ = nullptr;

  std::vector<ObservedAccess> accesses_;  // of the instruction in progress
  size_t access_count_ = 0;
  struct ScalarPart {
    AccessKind kind;
    unsigned first_register;
    uint64_t address;
    uint32_t bytes;
  };
  std::vector<ScalarPart> scalar_parts_;  // of the scalar access in progress: what it does touch
  AllocationShadow* recent_ = nullptr;
  AllocationShadow* resource_ = nullptr;  // the allocation that the buffer resource starts in

  // Memory instructions that were started, and up to which they are known to be complete.
  struct {
    uint32_t vector = 0, lds = 0, scalar = 0;
  } issued_;
  Progress done_;
  // What the waves of the group had started when this wave sent caches back (buffer_wbl2), and which
  // instruction of vmcnt that was; complete once that one is.
  struct Fence {
    uint32_t sequence = 0;
    std::vector<uint32_t> started;
  };
  std::optional<Fence> fence_;
  std::vector<uint32_t> fenced_;                  // complete by such a fence
  uint32_t scalar_stores_sent_back_ = 0;          // by the last s_dcache_wb, which may still be under way
  std::optional<uint32_t> unsaved_scalar_store_;  // the instruction of one that no s_dcache_wb has followed
  WaveClock acquired_;
  PendingLoads pending_;
  std::vector<PendingLoad::LdsPart> lds_before_;  // what the load to LDS in progress is about to overwrite

  RegisterShadow registers_;
  LocalShadow scratch_;
};

}  // namespace mhcheck::simulator

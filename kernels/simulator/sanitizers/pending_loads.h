#pragma once

#include <bitset>
#include <cstdint>
#include <deque>
#include <vector>

#include "kernels/simulator/sanitizers/instruction_facts.h"
#include "kernels/simulator/wave.h"

namespace mhcheck::simulator {

/// A load that has been issued and whose data is not there yet, as late as the counters allow.
struct PendingLoad {
  WaitCounter counter = WaitCounter::kNone;
  uint32_t sequence = 0;  // among the instructions of its counter; of vmcnt for kFlat
  uint32_t slot = 0;
  RegisterRange target;  // count 0 for a load to LDS
  uint64_t lanes = 0;
  uint32_t loaded_bits = ~0u;
  std::vector<uint32_t> values;  // [register][lane], or [register] for scalars
  struct LdsPart {
    uint32_t offset;
    std::vector<std::byte> bytes;
  };
  std::vector<LdsPart> lds;
  bool lgkm_seen = false;  // of kFlat: lgkmcnt was zero since
};

/// The loads of one wave that are under way.
class PendingLoads {
 public:
  bool empty() const { return loads_.empty(); }
  void add(PendingLoad load);
  /// The load that will write one of these registers, of vector registers in one of these lanes, or null.
  /// Loads of `except` are passed over.
  const PendingLoad* find(const RegisterRange& range, uint64_t lanes,
                          WaitCounter except = WaitCounter::kNone) const;
  /// The load that will write one of these LDS bytes, or null.
  const PendingLoad* find_lds(uint64_t offset, uint32_t bytes) const;
  /// Delivers what is certain to have arrived: instructions of vmcnt and of LDS up to these, scalar loads
  /// only when lgkmcnt is zero, and FLAT when both counters have said so.
  void deliver(Wave& wave, uint32_t vector, uint32_t lds, bool lgkm_zero);

 private:
  static void write(Wave& wave, const PendingLoad& load);
  void mark();

  std::deque<PendingLoad> loads_;
  std::bitset<kVectorRegisters> vector_;
  std::bitset<scalar_register::kCount> scalar_;
  bool any_lds_ = false;
};

}  // namespace mhcheck::simulator

#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "kernels/simulator/instruction.h"

namespace mhcheck::simulator {

/// All operations that the simulator executes, with the handlers compiled for the best instruction set of
/// this host. Results do not depend on which set is chosen.
class InstructionSet {
 public:
  /// The set for this host. MHCHECK_SIMULATOR_ISA=generic|avx2|avx512 in the environment asks for another
  /// one.
  static const InstructionSet& get();

  /// Index of a mnemonic without encoding suffix, or -1.
  int find(std::string_view mnemonic) const;
  const Row& row(uint16_t index) const { return *rows_[index]; }
  std::span<const Row* const> rows() const { return rows_; }
  /// Whether an instruction is executed by its row's handler, and not by one that only raises a fault.
  bool is_plain(const Instruction& instruction) const {
    return instruction.execute == rows_[instruction.row]->execute;
  }
  /// The handler that tells about memory accesses (memory_access.h); the ordinary one where there are none.
  Handler watched(const Instruction& instruction) const { return watched_[instruction.row]; }
  /// "generic", "avx2" or "avx512".
  std::string_view name() const { return name_; }

 private:
  InstructionSet();
  std::vector<const Row*> rows_;  // sorted by mnemonic
  std::vector<Handler> watched_;  // by row
  std::string_view name_;
};

}  // namespace mhcheck::simulator

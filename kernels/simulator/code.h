#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/simulator/disassembler.h"
#include "kernels/simulator/instruction.h"
#include "kernels/simulator/instruction_set.h"

namespace mhcheck::simulator {

/// The decoded instructions of one executable segment: one slot a dword, so that a branch is pointer
/// arithmetic. Instructions are decoded when control flow first reaches them; data between functions is never
/// looked at. All functions may be called from several threads.
class Code {
 public:
  Code(std::span<const std::byte> text, uint64_t address);

  /// The instruction at a device address; everything that direct control flow reaches from there is decoded.
  /// Throws IllegalOperation for an address outside the segment or not a multiple of 4.
  const Instruction* at(uint64_t address);

  uint64_t address_of(const Instruction* slot) const {
    return address_ + 4 * static_cast<uint64_t>(slot - slots_.get());
  }
  bool contains(const Instruction* instruction) const {
    return instruction >= slots_.get() && instruction < slots_.get() + slot_count_;
  }
  uint32_t slot_number(const Instruction* slot) const { return static_cast<uint32_t>(slot - slots_.get()); }
  uint64_t address_of_slot(uint32_t number) const { return address_ + 4 * uint64_t{number}; }
  std::string text_at(uint64_t address);
  /// The address that a disassembly of the file shows, and the source line ("" where nothing says it).
  uint64_t file_address(uint64_t address) const { return address - load_address_; }
  std::string source_at(uint64_t address) const {
    return source_line_ ? source_line_(file_address(address)) : "";
  }
  void set_file(uint64_t load_address, std::function<std::string(uint64_t)> source_line) {
    load_address_ = load_address;
    source_line_ = std::move(source_line);
  }
  /// Mnemonic of a decoded instruction, "" where its bytes are no instruction.
  std::string mnemonic_at(uint64_t address);

  /// What a launch must know beforehand about everything that direct control flow reaches from `entry`.
  struct Reach {
    unsigned vector_registers = 0;   ///< 1 + the highest v register that is named
    unsigned accumulators = 0;       ///< 1 + the highest a register
    bool orders_workgroups = false;  ///< atomics, or cache maintenance of device scope
    bool indirect = false;           ///< calls or jumps through registers: the rest is not known
  };
  Reach reach(uint64_t entry);

 private:
  void decode_from(size_t slot);
  unsigned decode_slot(size_t slot);
  size_t branch_target(size_t slot) const;
  std::span<const std::byte> bytes_at(size_t slot) const;
  size_t slot_of(uint64_t address) const;

  const InstructionSet& instructions_ = InstructionSet::get();
  std::vector<std::byte> text_;
  uint64_t address_;
  uint64_t load_address_ = 0;
  std::function<std::string(uint64_t)> source_line_;
  size_t slot_count_;
  std::unique_ptr<Instruction[]> slots_;
  std::unique_ptr<std::atomic<bool>[]> decoded_;
  std::mutex mutex_;  // guards everything below, and the slots that are not decoded yet
  Disassembler disassembler_;
};

/// Registers that an instruction names, as 1 + the highest number; 0 where it names none.
struct RegisterUse {
  unsigned vector = 0;
  unsigned accumulator = 0;
};
RegisterUse register_use(const Instruction& instruction, const Row& row);

}  // namespace mhcheck::simulator

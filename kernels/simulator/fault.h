#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace mhcheck::simulator {

/// Anything that ends a launch before its kernel does. The message is one line and names what, where and in
/// which kernel.
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An access outside every allocation (or outside LDS or scratch, where hardware would not merely clamp).
class MemoryFault : public Fault {
 public:
  MemoryFault(const std::string& message, uint64_t address) : Fault(message), address_(address) {}
  /// Device address of the first byte that is not mapped.
  uint64_t address() const { return address_; }

 private:
  uint64_t address_;
};

/// Bytes that are no gfx950 instruction, or one that the simulator has no handler for.
class UnknownInstruction : public Fault {
 public:
  UnknownInstruction(const std::string& message, std::string mnemonic, uint64_t address)
      : Fault(message), mnemonic_(std::move(mnemonic)), address_(address) {}
  /// The assembler's name of it; empty where the bytes do not decode at all.
  const std::string& mnemonic() const { return mnemonic_; }
  uint64_t address() const { return address_; }

 private:
  std::string mnemonic_;
  uint64_t address_;
};

/// An operation whose result the ISA leaves undefined and that no compiler emits (a register beyond the
/// kernel's allocation, a trap, a jump out of the code).
class IllegalOperation : public Fault {
 public:
  using Fault::Fault;
};

/// A wave executed more instructions than Options::instruction_budget.
class BudgetExceeded : public Fault {
 public:
  BudgetExceeded(const std::string& message, uint64_t loop_address)
      : Fault(message), loop_address_(loop_address) {}
  /// Device address of the branch target that the wave kept coming back to.
  uint64_t loop_address() const { return loop_address_; }

 private:
  uint64_t loop_address_;
};

/// Every live wave of a workgroup waits for something that none of them will do.
class Deadlock : public Fault {
 public:
  using Fault::Fault;
};

}  // namespace mhcheck::simulator

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace mhcheck::simulator {

/// LLVM's gfx950 disassembler: which instruction is it, and how long? Not thread-safe.
class Disassembler {
 public:
  struct Result {
    std::string mnemonic;  ///< without _e32, _e64, _dpp or _sdwa; empty where the bytes are no instruction
    unsigned bytes = 0;
  };

  /// Throws std::runtime_error where this LLVM was built without AMDGPU.
  Disassembler();
  ~Disassembler();

  Result decode(std::span<const std::byte> bytes, uint64_t address);
  /// Assembly text, or ".long 0x..." for bytes that are no instruction.
  std::string text(std::span<const std::byte> bytes, uint64_t address);

 private:
  struct Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace mhcheck::simulator

#include "kernels/simulator/disassembler.h"

#include <fmt/format.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace mhcheck::simulator {
namespace {

const llvm::Target& amdgpu_target() {
  static const llvm::Target* target = [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    std::string error;
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget(llvm::Triple("amdgcn-amd-amdhsa"), error);
    if (!found) throw std::runtime_error("this LLVM has no AMDGPU target: " + error);
    return found;
  }();
  return *target;
}

std::string without_suffix(std::string_view mnemonic) {
  // The printer's string runs up to the first operand and may hold fixed operand text ("scratch_store_dword
  // off,").
  mnemonic = mnemonic.substr(0, mnemonic.find_first_of(" \t"));
  for (std::string_view suffix : {"_e32", "_e64", "_sdwa", "_dpp"}) {
    if (mnemonic.ends_with(suffix)) return std::string(mnemonic.substr(0, mnemonic.size() - suffix.size()));
  }
  return std::string(mnemonic);
}

llvm::ArrayRef<uint8_t> as_llvm(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

// LLVM's disassembler dereferences null for an f8f6f4 MFMA (VOP3P opcodes 0x2d and 0x2e; 0x2c before one
// carries its scales) whose factors are no vector registers or whose element formats do not exist. Such words
// are no instruction anyway.
bool is_malformed_f8f6f4(std::span<const std::byte> bytes) {
  std::array<uint32_t, 4> words{};
  std::memcpy(words.data(), bytes.data(), std::min(bytes.size(), sizeof words));
  const auto opcode = [](uint32_t word) { return word >> 16; };
  const unsigned first = opcode(words[0]) == 0xd3ac ? 2 : 0;
  if (opcode(words[first]) != 0xd3ad && opcode(words[first]) != 0xd3ae) return false;
  const auto is_vector = [](uint32_t source) { return (source & 0x100) != 0; };
  constexpr uint32_t kFormats = 5;
  const uint32_t low = words[first], high = words[first + 1];
  return !is_vector(high) || !is_vector(high >> 9) || (low >> 8 & 7) >= kFormats || high >> 29 >= kFormats;
}

}  // namespace

struct Disassembler::Machine {
  llvm::Triple triple{"amdgcn-amd-amdhsa"};
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers{amdgpu_target().createMCRegInfo(triple)};
  std::unique_ptr<llvm::MCAsmInfo> assembly{amdgpu_target().createMCAsmInfo(*registers, triple, options)};
  std::unique_ptr<llvm::MCInstrInfo> instructions{amdgpu_target().createMCInstrInfo()};
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget{
      amdgpu_target().createMCSubtargetInfo(triple, "gfx950", "")};
  llvm::MCContext context{triple, assembly.get(), registers.get(), subtarget.get()};
  std::unique_ptr<llvm::MCDisassembler> disassembler{
      amdgpu_target().createMCDisassembler(*subtarget, context)};
  std::unique_ptr<llvm::MCInstPrinter> printer{
      amdgpu_target().createMCInstPrinter(triple, 1, *assembly, *instructions, *registers)};

  bool decode(std::span<const std::byte> bytes, uint64_t address, llvm::MCInst& instruction, uint64_t& size) {
    if (is_malformed_f8f6f4(bytes)) return false;
    return disassembler->getInstruction(instruction, size, as_llvm(bytes), address, llvm::nulls()) ==
           llvm::MCDisassembler::Success;
  }
};

Disassembler::Disassembler() : machine_(std::make_unique<Machine>()) {}
Disassembler::~Disassembler() = default;

Disassembler::Result Disassembler::decode(std::span<const std::byte> bytes, uint64_t address) {
  llvm::MCInst instruction;
  uint64_t size = 0;
  if (!machine_->decode(bytes, address, instruction, size)) return {};
  return {without_suffix(machine_->printer->getMnemonic(instruction).first), static_cast<unsigned>(size)};
}

std::string Disassembler::text(std::span<const std::byte> bytes, uint64_t address) {
  llvm::MCInst instruction;
  uint64_t size = 0;
  if (!machine_->decode(bytes, address, instruction, size)) {
    uint32_t word = 0;
    std::memcpy(&word, bytes.data(), std::min(bytes.size(), sizeof word));
    return fmt::format(".long {:#010x}", word);
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  machine_->printer->printInst(&instruction, address, "", *machine_->subtarget, stream);
  for (char& c : text) {
    if (c == '\t') c = ' ';
  }
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

}  // namespace mhcheck::simulator

#include "kernels/simulator/code.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernels/simulator/decoder.h"
#include "kernels/simulator/fault.h"
#include "kernels/simulator/simulator.h"
#include "kernels/simulator/wave.h"

namespace mhcheck::simulator {
namespace {

constexpr size_t kLongestInstruction = 16;  // bytes: a scaled MFMA

// Takes the place of an instruction that cannot be executed, so that only reaching it ends the launch.
void execute_unknown(Wave& wave, const Instruction& instruction) {
  Code& code = *wave.code;
  const uint64_t address = code.address_of(&instruction);
  const std::string mnemonic = code.mnemonic_at(address);
  throw UnknownInstruction(
      mnemonic.empty() ? fmt::format("bytes that are no gfx950 instruction ({})", code.text_at(address))
                       : fmt::format("the simulator has no handler for {}", mnemonic),
      mnemonic, address);
}

void execute_past_end(Wave& wave, const Instruction& instruction) {
  throw IllegalOperation(
      fmt::format("execution ran past the end of the code at {:#x}", wave.code->address_of(&instruction)));
}

void execute_wild_branch(Wave& wave, const Instruction& instruction) {
  const uint64_t target =
      wave.code->address_of(wave.pc) + 4 * static_cast<uint64_t>(int64_t{instruction.immediate});
  throw IllegalOperation(fmt::format("branch to {:#x}, outside the code", target));
}

void count_register(RegisterUse& use, unsigned first, int count) {
  if (count == 0) return;
  const unsigned end = first + static_cast<unsigned>(count);
  if (first >= kFirstAccumulator) {
    use.accumulator = std::max(use.accumulator, end - kFirstAccumulator);
  } else {
    use.vector = std::max(use.vector, end);
  }
}

}  // namespace

RegisterUse register_use(const Instruction& instruction, const Row& row) {
  RegisterUse use;
  for (int k = 0; k < 3; ++k) {
    const Source& source = instruction.source[k];
    if (source.kind != SourceKind::kVector && source.kind != SourceKind::kVectorModified) continue;
    const bool addresses = k == 0 && row.counted_as == InstructionClass::kVmem;
    count_register(use, source.index,
                   addresses ? address_registers(instruction, row) : registers_of(row.source[k]));
  }
  if (instruction.length == kScaledMatrixLength) {
    const MatrixScales scales = matrix_scales(instruction);
    count_register(use, scales.a.index, 1);
    count_register(use, scales.b.index, 1);
  }
  const bool vector_result =
      row.counted_as == InstructionClass::kValu || row.counted_as == InstructionClass::kMfma ||
      row.counted_as == InstructionClass::kLds || row.counted_as == InstructionClass::kVmem;
  if (vector_result && row.destination != Type::kMask && !(row.traits & kScalarResult) &&
      !(instruction.memory_flags & kToLds)) {
    count_register(use, instruction.destination, registers_of(row.destination));
  }
  return use;
}

Code::Code(std::span<const std::byte> text, uint64_t address)
    : text_(text.begin(), text.end()),
      address_(address),
      slot_count_(text.size() / 4),
      slots_(new Instruction[slot_count_ + 1]),
      decoded_(std::make_unique<std::atomic<bool>[]>(slot_count_)) {
  slots_[slot_count_].execute = execute_past_end;
}

std::span<const std::byte> Code::bytes_at(size_t slot) const {
  const size_t first = 4 * slot;
  return std::span(text_).subspan(first, std::min(kLongestInstruction, text_.size() - first));
}

size_t Code::slot_of(uint64_t address) const {
  if (address < address_ || (address - address_) / 4 >= slot_count_ || address % 4 != 0) {
    throw IllegalOperation(fmt::format("jump to {:#x}, outside the code at {:#x} to {:#x}", address, address_,
                                       address_ + 4 * slot_count_));
  }
  return (address - address_) / 4;
}

const Instruction* Code::at(uint64_t address) {
  const size_t slot = slot_of(address);
  if (!decoded_[slot].load(std::memory_order_acquire)) {
    const std::lock_guard lock(mutex_);
    decode_from(slot);
  }
  return &slots_[slot];
}

std::string Code::text_at(uint64_t address) {
  if (address == address_ + 4 * slot_count_) return "the end of the code";
  const size_t slot = slot_of(address);
  const std::lock_guard lock(mutex_);
  return disassembler_.text(bytes_at(slot), address);
}

std::string Code::mnemonic_at(uint64_t address) {
  const size_t slot = slot_of(address);
  const std::lock_guard lock(mutex_);
  return disassembler_.decode(bytes_at(slot), address).mnemonic;
}

// Decodes one slot and returns the traits of what is there; kEndsProgram where nothing can follow.
unsigned Code::decode_slot(size_t slot) {
  const std::span<const std::byte> bytes = bytes_at(slot);
  const Disassembler::Result found = disassembler_.decode(bytes, address_ + 4 * slot);
  const int row_index = found.bytes ? instructions_.find(found.mnemonic) : -1;
  if (row_index < 0) {
    slots_[slot].execute = execute_unknown;
    slots_[slot].row = 0;
    return kEndsProgram;
  }
  std::array<uint32_t, kLongestInstruction / 4> words{};
  std::memcpy(words.data(), bytes.data(), std::min<size_t>(bytes.size(), found.bytes));
  const Row& row = instructions_.row(static_cast<uint16_t>(row_index));
  slots_[slot] = decode_fields(words, found.bytes / 4, row, static_cast<uint16_t>(row_index));
  if (row.traits & kBranches && branch_target(slot) >= slot_count_) {
    slots_[slot].execute = execute_wild_branch;
    return kEndsProgram;
  }
  return row.traits;
}

size_t Code::branch_target(size_t slot) const {
  return slot + slots_[slot].length + static_cast<size_t>(static_cast<ptrdiff_t>(slots_[slot].immediate));
}

void Code::decode_from(size_t first) {
  std::vector<size_t> work{first};
  std::vector<size_t> done;
  while (!work.empty()) {
    size_t slot = work.back();
    work.pop_back();
    while (slot < slot_count_ && !decoded_[slot].load(std::memory_order_relaxed) &&
           slots_[slot].execute == nullptr) {
      const unsigned traits = decode_slot(slot);
      done.push_back(slot);
      const size_t next = slot + slots_[slot].length;
      if (traits & kBranches) work.push_back(branch_target(slot));
      if (traits & (kEndsProgram | kJumps)) break;
      slot = next;
    }
  }
  // Published only when all that `first` reaches is there: a thread that sees one flag may run without the
  // lock.
  for (size_t slot : done) decoded_[slot].store(true, std::memory_order_release);
}

Code::Reach Code::reach(uint64_t entry) {
  at(entry);
  Reach reach;
  std::vector<bool> seen(slot_count_);
  std::vector<size_t> work{slot_of(entry)};
  while (!work.empty()) {
    size_t slot = work.back();
    work.pop_back();
    while (slot < slot_count_ && !seen[slot]) {
      seen[slot] = true;
      const Instruction& instruction = slots_[slot];
      if (instruction.execute == execute_unknown || instruction.execute == execute_wild_branch) break;
      const Row& row = instructions_.row(instruction.row);
      const RegisterUse use = register_use(instruction, row);
      reach.vector_registers = std::max(reach.vector_registers, use.vector);
      reach.accumulators = std::max(reach.accumulators, use.accumulator);
      reach.orders_workgroups |= (row.traits & kOrdersWorkgroups) &&
                                 (!(row.traits & kIfDeviceScope) || instruction.memory_flags & kDeviceScope);
      reach.indirect |= (row.traits & kIndirect) != 0;
      const size_t next = slot + instruction.length;
      if (row.traits & kBranches) work.push_back(branch_target(slot));
      if (row.traits & (kEndsProgram | kJumps)) break;
      slot = next;
    }
  }
  return reach;
}

Program::Program(std::span<const std::byte> text, uint64_t address)
    : code_(std::make_unique<Code>(text, address)) {}
Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

void Program::set_file(uint64_t load_address, std::function<std::string(uint64_t)> source_line) {
  code_->set_file(load_address, std::move(source_line));
}

std::string Program::text_at(uint64_t address) const { return code_->text_at(address); }

}  // namespace mhcheck::simulator

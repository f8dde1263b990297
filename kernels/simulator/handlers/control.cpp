#include <fmt/format.h>

#include <span>

#include "kernels/simulator/code.h"
#include "kernels/simulator/fault.h"
#include "kernels/simulator/handlers/scalar.h"
#include "kernels/simulator/memory_access.h"

// Branches, barriers, waits and the hardware registers.
namespace mhcheck::simulator {
std::span<const Row> control_rows();

namespace {

using namespace MHCHECK_ISA;

void stop(Wave& wave, WaveStatus status) {
  wave.status = status;
  // The slice ends here; what was left of it does not count as executed.
  wave.instructions_done -= static_cast<uint64_t>(wave.remaining);
  wave.remaining = 0;
}

template <class Condition>
void branch_if(Wave& wave, const Instruction& instruction) {
  if (Condition{}(wave)) wave.pc += instruction.immediate;
}
template <class Condition>
constexpr Row branch(std::string_view mnemonic, Condition, uint16_t traits = kBranches) {
  return {mnemonic, branch_if<Condition>, InstructionClass::kBranch, Type::kNone, {}, traits};
}

void get_pc(Wave& wave, const Instruction& instruction) {
  write_scalar64(wave, instruction.destination, wave.code->address_of(wave.pc));
}
void set_pc(Wave& wave, const Instruction& instruction) {
  wave.pc = wave.code->at(scalar_operand(wave, instruction.source[0], true));
}
void swap_pc(Wave& wave, const Instruction& instruction) {
  const uint64_t target = scalar_operand(wave, instruction.source[0], true);
  get_pc(wave, instruction);
  wave.pc = wave.code->at(target);
}
void call(Wave& wave, const Instruction& instruction) {
  get_pc(wave, instruction);
  wave.pc += instruction.immediate;
}

void end_program(Wave& wave, const Instruction&) { stop(wave, WaveStatus::kEnded); }
void barrier(Wave& wave, const Instruction&) { stop(wave, WaveStatus::kAtBarrier); }

// Memory is consistent at once here and hazards do not exist, so waiting and cache maintenance have no
// effect.
void nothing(Wave&, const Instruction&) {}

void trap(Wave&, const Instruction& instruction) {
  constexpr int kDebugTrap = 3;
  if (instruction.immediate == kDebugTrap) return;
  throw IllegalOperation(fmt::format("s_trap {}: the kernel aborted itself", instruction.immediate));
}

// ---- Hardware registers: bits 5:0 of the immediate name one, 10:6 the offset, 15:11 the width minus one.

enum : unsigned {
  kModeRegister = 1,
  kStatusRegister = 2,
  kTrapStatus = 3,
  kHardwareId = 4,
  kGprAllocation = 5,
  kLdsAllocation = 6,
  kInstructionBuffer = 7,
  kXccId = 20
};

struct RegisterField {
  explicit RegisterField(int32_t immediate)
      : id(static_cast<unsigned>(immediate) & 63),
        offset(static_cast<unsigned>(immediate) >> 6 & 31),
        mask(~0u >> (31 - (static_cast<unsigned>(immediate) >> 11 & 31))) {}
  unsigned id, offset;
  uint32_t mask;
};

void get_register(Wave& wave, const Instruction& instruction) {
  const RegisterField field(instruction.immediate);
  uint32_t value = 0;
  switch (field.id) {
    case kModeRegister:
      value = wave.mode;
      break;
    case kStatusRegister:
      value = wave.scc | (wave.exec() == 0 ? 1u << 9 : 0) |
              (wave.scalar64(scalar_register::kVcc) == 0 ? 1u << 10 : 0);
      break;
    case kTrapStatus:
    case kHardwareId:
    case kGprAllocation:
    case kLdsAllocation:
    case kInstructionBuffer:
    case kXccId:
      break;  // one compute unit, no exceptions: zero
    default:
      throw IllegalOperation(
          fmt::format("s_getreg of hardware register {}, which gfx950 does not have", field.id));
  }
  write_scalar(wave, instruction.destination, value >> field.offset & field.mask);
}

void set_register_field(Wave& wave, const Instruction& instruction, uint32_t value) {
  const RegisterField field(instruction.immediate);
  if (field.id != kModeRegister) return;  // the others hold nothing that this model lets a kernel change
  const uint32_t mask = field.mask << field.offset;
  wave.mode = (wave.mode & ~mask) | (value << field.offset & mask);
  wave.default_floats = (wave.mode & 0xff) == 0xf0 && !(wave.mode & mode_bits::kF16Overflow);
}
void set_register(Wave& wave, const Instruction& instruction) {
  set_register_field(wave, instruction, wave.scalar[instruction.destination]);
}
void set_register_literal(Wave& wave, const Instruction& instruction) {
  set_register_field(wave, instruction, instruction.modifier_word);
}

// ---- Relative register numbers: until s_set_gpr_idx_off, M0[7:0] is added to the numbers of vector
// registers in the operands that M0[15:12] selects. Compilers use it for arrays that live in registers. The
// instructions in between are executed here, from copies with the final numbers, so that no other handler has
// to know.

enum : uint32_t { kIndexDestination = 8 };  // 1, 2 and 4 are the sources

void set_index(Wave& wave, uint32_t value) {
  uint32_t& m0 = wave.scalar[scalar_register::kM0];
  m0 = (m0 & ~0xffu) | (value & 0xff);
}
void set_indexed_operands(Wave& wave, int32_t operands) {
  uint32_t& m0 = wave.scalar[scalar_register::kM0];
  m0 = (m0 & ~0xf000u) | (static_cast<uint32_t>(operands) & 15) << 12;
}
void change_index(Wave& wave, const Instruction& instruction) {
  set_index(wave, static_cast<uint32_t>(scalar_operand(wave, instruction.source[0], false)));
}
void change_indexed_operands(Wave& wave, const Instruction& instruction) {
  set_indexed_operands(wave, instruction.immediate);
}
void end_indexing(Wave&, const Instruction&) {}

uint16_t indexed(uint16_t number, uint32_t index) {
  const uint32_t sum = number + index;
  if (sum >= kFirstAccumulator) throw IllegalOperation(fmt::format("relative register number v{}", sum));
  return static_cast<uint16_t>(sum);
}

void begin_indexing(Wave& wave, const Instruction& instruction) {
  change_index(wave, instruction);
  set_indexed_operands(wave, instruction.immediate);
  while (true) {
    Instruction next = *wave.pc;
    wave.pc += next.length;
    ++wave.executed[static_cast<int>(next.counted_as)];
    if (wave.remaining > 0) --wave.remaining;
    const uint32_t index = wave.scalar[scalar_register::kM0] & 0xff;
    const uint32_t operands = wave.scalar[scalar_register::kM0] >> 12 & 15;
    if (next.counted_as == InstructionClass::kValu) {
      for (unsigned k = 0; k < 3; ++k) {
        Source& source = next.source[k];
        const bool vector = source.kind == SourceKind::kVector || source.kind == SourceKind::kVectorModified;
        if (vector && operands >> k & 1) source.index = indexed(source.index, index);
      }
      if (operands & kIndexDestination) next.destination = indexed(next.destination, index);
    }
    if (wave.watch) {
      execute_watched(wave, next);
    } else {
      next.execute(wave, next);
    }
    if (next.execute == end_indexing || wave.status != WaveStatus::kRunning) return;
  }
}

constexpr Row plain(std::string_view mnemonic, Handler handler, Type destination = Type::kNone,
                    std::array<Type, 3> sources = {}, uint16_t traits = kNoTraits,
                    InstructionClass counted_as = InstructionClass::kOther) {
  return {mnemonic, handler, counted_as, destination, sources, traits};
}

constexpr Row kRows[] = {
    branch(
        "s_branch", [](const Wave&) { return true; }, kBranches | kJumps),
    branch("s_cbranch_scc0", [](const Wave& w) { return !w.scc; }),
    branch("s_cbranch_scc1", [](const Wave& w) { return w.scc != 0; }),
    branch("s_cbranch_vccz", [](const Wave& w) { return w.scalar64(scalar_register::kVcc) == 0; }),
    branch("s_cbranch_vccnz", [](const Wave& w) { return w.scalar64(scalar_register::kVcc) != 0; }),
    branch("s_cbranch_execz", [](const Wave& w) { return w.exec() == 0; }),
    branch("s_cbranch_execnz", [](const Wave& w) { return w.exec() != 0; }),
    // Flags that a debugger sets, and none is attached.
    branch("s_cbranch_cdbgsys", [](const Wave&) { return false; }),
    branch("s_cbranch_cdbguser", [](const Wave&) { return false; }),
    branch("s_cbranch_cdbgsys_or_user", [](const Wave&) { return false; }),
    branch("s_cbranch_cdbgsys_and_user", [](const Wave&) { return false; }),
    plain("s_getpc_b64", get_pc, Type::kB64, {}, kNoTraits, InstructionClass::kSalu),
    plain("s_setpc_b64", set_pc, Type::kNone, {Type::kB64}, kJumps | kIndirect, InstructionClass::kBranch),
    plain("s_swappc_b64", swap_pc, Type::kB64, {Type::kB64}, kIndirect, InstructionClass::kBranch),
    plain("s_call_b64", call, Type::kB64, {}, kBranches, InstructionClass::kBranch),
    plain("s_endpgm", end_program, Type::kNone, {}, kEndsProgram),
    plain("s_set_gpr_idx_on", begin_indexing, Type::kNone, {Type::kU32}, kNoTraits, InstructionClass::kSalu),
    plain("s_set_gpr_idx_idx", change_index, Type::kNone, {Type::kU32}, kNoTraits, InstructionClass::kSalu),
    plain("s_set_gpr_idx_mode", change_indexed_operands, Type::kNone, {}, kNoTraits, InstructionClass::kSalu),
    plain("s_set_gpr_idx_off", end_indexing, Type::kNone, {}, kNoTraits, InstructionClass::kSalu),
    plain("s_barrier", barrier),
    plain("s_trap", trap),
    plain("s_nop", nothing),
    plain("s_waitcnt", nothing),
    plain("s_sleep", nothing),
    plain("s_setprio", nothing),
    plain("s_sethalt", nothing),
    plain("s_wakeup", nothing),
    plain("s_icache_inv", nothing),
    plain("s_incperflevel", nothing),
    plain("s_decperflevel", nothing),
    plain("s_sendmsg", nothing),
    plain("s_ttracedata", nothing),
    plain("v_nop", nothing, Type::kNone, {}, kNoTraits, InstructionClass::kValu),
    plain("v_clrexcp", nothing, Type::kNone, {}, kNoTraits, InstructionClass::kValu),
    plain("s_getreg_b32", get_register, Type::kB32, {}, kNoTraits, InstructionClass::kSalu),
    plain("s_setreg_b32", set_register, Type::kNone, {}, kNoTraits, InstructionClass::kSalu),
    plain("s_setreg_imm32_b32", set_register_literal, Type::kNone, {}, kNoTraits, InstructionClass::kSalu),
};

}  // namespace

std::span<const Row> control_rows() { return kRows; }

}  // namespace mhcheck::simulator

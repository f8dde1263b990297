#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace mhcheck::simulator {

struct Wave;
struct Instruction;

/// Executes one instruction for all lanes of a wave. The program counter already points behind the
/// instruction.
using Handler = void (*)(Wave&, const Instruction&);

/// What the counters tell apart.
enum class InstructionClass : uint8_t { kSalu, kSmem, kValu, kMfma, kVmem, kLds, kBranch, kOther, kCount };

/// How an operand's bits are read: decides the width, which modifiers apply and what inline constants mean.
enum class Type : uint8_t {
  kNone,
  kB16,
  kU16,
  kI16,
  kF16,
  kBf16,
  kB32,
  kU32,
  kI32,
  kF32,
  kPkB16,
  kPkF16,
  kPkBf16,  // two 16-bit elements in one register
  kB64,
  kU64,
  kI64,
  kF64,
  kPkF32,   // two f32 elements in a register pair
  kMixF16,  // f32, or an f16 half, as op_sel_hi says (v_fma_mix)
  kMask,    // one bit a lane, in a scalar register pair
  kB96,
  kB128,
  kB192,
  kB256,
  kB512,
  kB1024,  // register tuples of memory and matrix instructions
};

constexpr int registers_of(Type type) {
  switch (type) {
    case Type::kNone:
      return 0;
    case Type::kB64:
    case Type::kU64:
    case Type::kI64:
    case Type::kF64:
    case Type::kPkF32:
    case Type::kMask:
      return 2;
    case Type::kB96:
      return 3;
    case Type::kB128:
      return 4;
    case Type::kB192:
      return 6;
    case Type::kB256:
      return 8;
    case Type::kB512:
      return 16;
    case Type::kB1024:
      return 32;
    default:
      return 1;
  }
}

enum class SourceKind : uint8_t {
  kNone,
  kVector,          // a vector register as it is
  kVectorModified,  // a vector register after DPP, SDWA, op_sel, abs or neg
  kScalar,          // a scalar register, the same for all lanes
  kConstant,        // Source::value, zero-extended where the operand has 64 bits
  kConstantSigned,  // Source::value, sign-extended to 64 bits
  kConstantHigh,    // Source::value in the upper dword of 64 bits
  kInverseTwoPi64,  // 1/(2 pi) as f64, the only constant with two significant dwords
  kSpecial,         // computed on reading: aperture bases, VCCZ, EXECZ, SCC; Source::index is the encoding
  kScalarModified,  // a scalar register or constant after op_sel, abs or neg
  kConstantModified,
};

/// Source::index of kSpecial.
namespace special_source {
inline constexpr uint16_t kSharedBase = 235, kSharedLimit = 236, kPrivateBase = 237, kPrivateLimit = 238,
                          kVccz = 251, kExecz = 252, kScc = 253;
}

/// Modifier bits of Source::modifiers.
enum : uint8_t { kAbs = 1, kNeg = 2, kNegHigh = 4, kSelect = 8, kSelectHigh = 16 };

struct Source {
  SourceKind kind = SourceKind::kNone;
  uint8_t modifiers = 0;
  uint16_t index = 0;
  uint32_t value = 0;
};

/// Vector register numbers as the simulator lays them out: v0..v255, then a0..a255.
inline constexpr uint16_t kFirstAccumulator = 256;

/// Scalar register numbers, as encoded.
namespace scalar_register {
inline constexpr uint16_t kFlatScratch = 102, kVcc = 106, kM0 = 124, kExec = 126, kCount = 128;
}

inline constexpr uint8_t kNoScalarBase = 0xff;

enum class SubDword : uint8_t { kNone, kDpp, kSdwa };

/// The internal form of one static instruction: everything that execution needs, nothing that has to be
/// looked up. A translator to another form reads the same fields; `row` names the operation.
struct alignas(64) Instruction {
  Handler execute = nullptr;
  std::array<Source, 3> source{};
  uint16_t destination = 0;         // first vector or scalar register of the result
  uint16_t scalar_destination = 0;  // mask result (VCC or an explicit pair)
  int32_t immediate = 0;            // simm16, memory offset
  uint32_t modifier_word = 0;       // the DPP or SDWA dword
  uint16_t row = 0;                 // in the instruction table
  uint8_t length = 1;               // dwords
  InstructionClass counted_as = InstructionClass::kOther;
  SubDword sub_dword = SubDword::kNone;
  bool clamp = false;
  uint8_t output_scale = 0;  // omod: 0 none, 1 times 2, 2 times 4, 3 divided by 2
  bool high_half = false;    // op_sel[3]: write the upper half of the destination
  uint8_t byte_select = 0;   // op_sel[2:0] of conversions that choose bytes
  bool plain_result = true;  // none of clamp, omod, DPP, SDWA, high_half
  // Memory: source[0] is the vector address, source[1] the data, source[2] the second data or the scalar
  // offset.
  uint8_t scalar_base = kNoScalarBase;  // SGPR base address or resource descriptor
  uint8_t memory_flags = 0;
  uint8_t second_offset = 0;  // DS offset1
  // Matrix.
  uint8_t broadcast_size = 0, broadcast_index = 0, b_pattern = 0;  // cbsz, abid, blgp
};
static_assert(sizeof(Instruction) == 64, "one instruction, one cache line");

/// The scales of a scaled MFMA, the only instruction of four dwords: the register that holds each, and which
/// of its bytes. They lie in modifier_word and byte_select, which no MFMA uses otherwise.
struct MatrixScales {
  struct Scale {
    unsigned index, byte;
  };
  Scale a, b;
};
inline constexpr uint8_t kScaledMatrixLength = 4;
inline void set_matrix_scales(Instruction& instruction, const MatrixScales& scales) {
  instruction.modifier_word = scales.a.index | scales.b.index << 16;
  instruction.byte_select = static_cast<uint8_t>(scales.a.byte | scales.b.byte << 2);
}
inline MatrixScales matrix_scales(const Instruction& instruction) {
  return {{instruction.modifier_word & 0xffff, instruction.byte_select & 3u},
          {instruction.modifier_word >> 16, instruction.byte_select >> 2 & 3u}};
}

/// Instruction::memory_flags.
enum : uint8_t { kReturnOld = 1, kToLds = 2, kOffsetEnable = 4, kIndexEnable = 8, kDeviceScope = 16 };

/// What the decoder and the static checks have to know about an operation beyond its operand types.
enum : uint16_t {
  kNoTraits = 0,
  kMaskResult = 1,        // also writes a lane mask (carry, div_scale)
  kReadsDestination = 2,  // the destination is an input too
  kScalarResult = 4,      // a VALU operation that writes a scalar register
  kOrdersWorkgroups = 8,  // workgroups may communicate through it
  kEndsProgram = 16,
  kJumps = 32,                // always leaves the straight line
  kBranches = 64,             // may go to immediate
  kIndirect = 128,            // goes to an address in registers
  kLiteralIsSource1 = 256,    // v_fmamk: S0 * K + S1
  kLiteralIsSource2 = 2048,   // v_fmaak: S0 * S1 + K
  kTruthTable = 4096,         // v_bitop3: the modifier bits of the encoding are its truth table
  kSelectsDwords = 8192,      // v_pk_mov: op_sel is not applied when operands are prepared
  kSelectsByte = 16384,       // op_sel names bytes, in Instruction::byte_select
  kIfDeviceScope = 32768,     // kOrdersWorkgroups holds for instructions with kDeviceScope only
  kAccumulatorSource = 512,   // source[0] is an AGPR, whatever the encoding's bits say
  kAccumulatorResult = 1024,  // so is the destination
};

/// One operation of the instruction set: the declarative row that adds it to the simulator.
struct Row {
  std::string_view mnemonic;  // without encoding suffix
  Handler execute = nullptr;
  InstructionClass counted_as = InstructionClass::kOther;
  Type destination = Type::kNone;
  std::array<Type, 3> source{};
  uint16_t traits = kNoTraits;
};

/// How many registers a vector memory instruction takes its lanes' addresses from.
inline int address_registers(const Instruction& instruction, const Row& row) {
  if (row.mnemonic.starts_with("buffer_") || row.mnemonic.starts_with("tbuffer_"))
    return (instruction.memory_flags & kOffsetEnable ? 1 : 0) +
           (instruction.memory_flags & kIndexEnable ? 1 : 0);
  // With a scalar base they are offsets of 32 bits.
  return instruction.scalar_base != kNoScalarBase ? 1 : registers_of(row.source[0]);
}

}  // namespace mhcheck::simulator

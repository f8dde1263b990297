#pragma once

#include <array>
#include <type_traits>
#include <utility>

#include "kernels/simulator/handlers/formats.h"
#include "kernels/simulator/instruction.h"
#include "kernels/simulator/wave.h"

// The frame of every vector instruction: sources become arrays of 64 lanes, a loop computes, the result is
// written where EXEC allows. Modifiers, DPP and SDWA are passes before and after the loop, so that an
// operation is stated once.
namespace mhcheck::simulator::MHCHECK_ISA {

/// What an operation may ask for besides its operands.
struct Context {
  int lane;
  uint32_t mode;
  bool clamp;
  bool ieee() const { return mode & mode_bits::kIeee; }
};

// ---- Element types: how a lane is read and written. `Lane` is what the operation computes with.

template <Type kType>
struct Bits16 {
  static constexpr Type type = kType;
  using Lane = std::conditional_t<kType == Type::kI16, int32_t, uint32_t>;
  MHCHECK_LANE Lane load(const uint32_t* p, int lane) {
    return kType == Type::kI16 ? static_cast<Lane>(static_cast<int16_t>(p[lane]))
                               : static_cast<Lane>(p[lane] & 0xffffu);
  }
  MHCHECK_LANE void store(uint32_t* p, int lane, Lane value) {
    p[lane] = static_cast<uint32_t>(value) & 0xffffu;
  }
};
template <Type kType>
struct Bits32 {
  static constexpr Type type = kType;
  using Lane = std::conditional_t<kType == Type::kI32, int32_t, uint32_t>;
  MHCHECK_LANE Lane load(const uint32_t* p, int lane) { return static_cast<Lane>(p[lane]); }
  MHCHECK_LANE void store(uint32_t* p, int lane, Lane value) { p[lane] = static_cast<uint32_t>(value); }
};
template <Type kType>
struct Bits64 {
  static constexpr Type type = kType;
  using Lane = std::conditional_t<kType == Type::kI64, int64_t, uint64_t>;
  MHCHECK_LANE Lane load(const uint32_t* p, int lane) {
    return static_cast<Lane>(p[lane] | static_cast<uint64_t>(p[lane + kLanes]) << 32);
  }
  MHCHECK_LANE void store(uint32_t* p, int lane, Lane value) {
    p[lane] = static_cast<uint32_t>(value);
    p[lane + kLanes] = static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32);
  }
};
using B16 = Bits16<Type::kB16>;
using U16 = Bits16<Type::kU16>;
using I16 = Bits16<Type::kI16>;
using H16 = Bits16<Type::kF16>;    // f16 as its bits
using Bf16 = Bits16<Type::kBf16>;  // bf16 as its bits
using B32 = Bits32<Type::kB32>;
using U32 = Bits32<Type::kU32>;
using I32 = Bits32<Type::kI32>;
using S32 = Bits32<Type::kF32>;      // f32 as its bits
using PkB16 = Bits32<Type::kPkB16>;  // two halves as one dword
using PkF16 = Bits32<Type::kPkF16>;
using PkBf16 = Bits32<Type::kPkBf16>;
using B64 = Bits64<Type::kB64>;
using U64 = Bits64<Type::kU64>;
using I64 = Bits64<Type::kI64>;
using S64 = Bits64<Type::kF64>;    // f64 as its bits
using Mask = Bits32<Type::kMask>;  // all ones or zero

struct F32 {
  static constexpr Type type = Type::kF32;
  using Lane = float;
  MHCHECK_LANE Lane load(const uint32_t* p, int lane) { return f32(p[lane]); }
  MHCHECK_LANE void store(uint32_t* p, int lane, Lane value) { p[lane] = bits(value); }
};
struct F64 {
  static constexpr Type type = Type::kF64;
  using Lane = double;
  MHCHECK_LANE Lane load(const uint32_t* p, int lane) { return f64(B64::load(p, lane)); }
  MHCHECK_LANE void store(uint32_t* p, int lane, Lane value) { B64::store(p, lane, bits(value)); }
};
/// Operands that are f16 in the register and f32 in the computation; a result is rounded to f16 on its way
/// out.
struct F16 {
  static constexpr Type type = Type::kF16;
  using Lane = float;
  MHCHECK_LANE Lane load(const uint32_t* p, int lane) { return half_to_float(p[lane]); }
  MHCHECK_LANE void store(uint32_t* p, int lane, Lane value) { p[lane] = float_to_half(value); }
  MHCHECK_LANE void store(uint32_t* p, int lane, Lane value, Round round, bool saturate) {
    p[lane] = float_to_half(value, round, saturate);
  }
};
/// f32, or a half chosen by op_sel, already widened by the preparation of the operand.
struct MixF16 {
  static constexpr Type type = Type::kMixF16;
  using Lane = float;
  MHCHECK_LANE Lane load(const uint32_t* p, int lane) { return f32(p[lane]); }
};

constexpr bool is_float(Type type) {
  return type == Type::kF16 || type == Type::kF32 || type == Type::kF64 || type == Type::kPkF16 ||
         type == Type::kPkF32 || type == Type::kMixF16;
}

// ---- Operands (operands.cpp)

/// The lane that a lane reads under a DPP control (gfx950.md, section 2), or kInvalidLane.
constexpr int kInvalidLane = -1;
int dpp_source_lane(unsigned control, int lane);
/// The lane that a lane reads in ds_swizzle_b32 with this offset (lds.cpp).
int swizzle_source(uint32_t offset, int lane);

/// Everything but a plain vector register: scalars, constants, modifiers, DPP, SDWA, flushed denormals. The
/// result lies in wave.operand[k], or in the register file where nothing had to change.
const uint32_t* prepare_source(Wave& wave, const Instruction& instruction, int k, Type type);
/// Output modifiers, DPP's write mask, SDWA's placing, flushed denormals; then the write.
void write_modified_result(Wave& wave, const Instruction& instruction, Type type);
/// Gives NaN results the first NaN operand, quieted, or the default NaN: the host's choice depends on how the
/// compiler ordered the operands. Null pointers for operands that are no floats of the result's type.
void settle_nans(uint32_t* result, Type type, const uint32_t* a, const uint32_t* b, const uint32_t* c);
/// The host's rounding direction as MODE asks for this type; back to nearest.
void begin_rounding(const Wave& wave, Type type);
void end_rounding();

/// What has one value for all lanes, of 32 or 64 bits: a scalar register, a constant, or what is computed on
/// reading.
MHCHECK_LANE uint64_t scalar_operand(const Wave& wave, const Source& from, bool wide) {
  switch (from.kind) {
    case SourceKind::kScalar:
    case SourceKind::kScalarModified:
      return wide ? wave.scalar64(from.index) : wave.scalar[from.index];
    case SourceKind::kConstantSigned:
      return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(from.value)));
    case SourceKind::kConstantHigh:
      return static_cast<uint64_t>(from.value) << 32;
    case SourceKind::kInverseTwoPi64:
      return 0x3fc45f306dc9c882u;
    case SourceKind::kSpecial:
      break;
    default:
      return from.value;
  }
  switch (from.index) {
    case special_source::kSharedBase:
      return kSharedAperture;
    case special_source::kSharedLimit:
      return kSharedAperture + kApertureSize - 1;
    case special_source::kPrivateBase:
      return kPrivateAperture;
    case special_source::kPrivateLimit:
      return kPrivateAperture + kApertureSize - 1;
    case special_source::kVccz:
      return wave.scalar64(scalar_register::kVcc) == 0;
    case special_source::kExecz:
      return wave.exec() == 0;
    case special_source::kScc:
      return wave.scc;
    default:
      return 0;
  }
}

MHCHECK_LANE uint32_t* vector_register(Wave& wave, unsigned index) { return wave.vector + index * kLanes; }

template <class Element>
MHCHECK_LANE const uint32_t* source(Wave& wave, const Instruction& instruction, int k) {
  const Source& from = instruction.source[k];
  if constexpr (is_float(Element::type)) {
    if (!wave.default_floats) return prepare_source(wave, instruction, k, Element::type);
  }
  if (from.kind == SourceKind::kVector && Element::type != Type::kMixF16)
    return vector_register(wave, from.index);
  if constexpr (registers_of(Element::type) == 1) {
    if (from.kind == SourceKind::kScalar || from.kind == SourceKind::kConstant) {
      const uint32_t value = from.kind == SourceKind::kScalar ? wave.scalar[from.index] : from.value;
      uint32_t* lanes = wave.operand[k];
      for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = value;
      return lanes;
    }
  }
  return prepare_source(wave, instruction, k, Element::type);
}

MHCHECK_LANE void write_lanes(Wave& wave, uint32_t* target, const uint32_t* values) {
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint32_t mask = wave.lane_mask[lane];
    target[lane] = (values[lane] & mask) | (target[lane] & ~mask);
  }
}

template <class Element>
MHCHECK_LANE void write_result(Wave& wave, const Instruction& instruction) {
  if (!instruction.plain_result || (is_float(Element::type) && !wave.default_floats)) {
    write_modified_result(wave, instruction, Element::type);
    return;
  }
  uint32_t* target = vector_register(wave, instruction.destination);
  write_lanes(wave, target, wave.result);
  if constexpr (registers_of(Element::type) == 2) write_lanes(wave, target + kLanes, wave.result + kLanes);
}

// ---- Scalar state

MHCHECK_LANE void spread_exec(Wave& wave) {
  const uint64_t exec = wave.exec();
  for (int lane = 0; lane < kLanes; ++lane) wave.lane_mask[lane] = exec >> lane & 1 ? ~0u : 0u;
}
MHCHECK_LANE void write_scalar(Wave& wave, unsigned index, uint32_t value) {
  wave.scalar[index] = value;
  if (index >= scalar_register::kExec) spread_exec(wave);
}
MHCHECK_LANE void write_scalar64(Wave& wave, unsigned index, uint64_t value) {
  wave.scalar[index] = static_cast<uint32_t>(value);
  wave.scalar[index + 1] = static_cast<uint32_t>(value >> 32);
  if (index >= scalar_register::kExec) spread_exec(wave);
}
/// Lane flags (0 or 1) of active lanes as a bit mask.
MHCHECK_LANE uint64_t gather_mask(const Wave& wave, const uint32_t* flags) {
  uint64_t mask = 0;
  for (int lane = 0; lane < kLanes; ++lane) mask |= static_cast<uint64_t>(flags[lane]) << lane;
  return mask & wave.exec();
}

// ---- Rows of vector operations

template <class Op, class... Lanes>
MHCHECK_LANE auto apply(Op op, const Context& context, Lanes... lanes) {
  if constexpr (std::is_invocable_v<Op, const Context&, Lanes...>) {
    return op(context, lanes...);
  } else {
    return op(lanes...);
  }
}

enum class Rounding : uint8_t {
  kNone,  // nothing is rounded, or the operation says itself how
  kMode,  // rounded as MODE says; NaN results follow the rule of settle_nans
};

template <class Signature, class Op, Rounding kRounding>
struct VectorOperation;

template <class D, class... S, class Op, Rounding kRounding>
struct VectorOperation<D(S...), Op, kRounding> {
  static constexpr Type kDestination = D::type;
  static constexpr std::array<Type, 3> kSources = [] {
    std::array<Type, 3> types{};
    int k = 0;
    ((types[k++] = S::type), ...);
    return types;
  }();

  template <size_t... K>
  MHCHECK_LANE void run(Wave& wave, const Instruction& instruction, std::index_sequence<K...>) {
    const uint32_t* operands[] = {source<S>(wave, instruction, K)..., nullptr, nullptr, nullptr};
    const bool directed = kRounding == Rounding::kMode && !wave.default_floats;
    if (directed) begin_rounding(wave, D::type);
    uint32_t* result = wave.result;
    const uint32_t mode = wave.mode;
    const bool clamp = instruction.clamp;
    if constexpr (std::is_same_v<D, F16>) {
      if (directed) {
        const Round round{mode >> mode_bits::kRoundF16F64 & mode_bits::kRoundMask};
        for (int lane = 0; lane < kLanes; ++lane) {
          const float value = apply(Op{}, Context{lane, mode, clamp}, S::load(operands[K], lane)...);
          D::store(result, lane, value, round, mode & mode_bits::kF16Overflow);
        }
        end_rounding();
        finish(wave, instruction, operands);
        return;
      }
    }
    uint32_t any_nan = 0;  // not bool: the loop would not become vector code
#pragma GCC ivdep
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto value = apply(Op{}, Context{lane, mode, clamp}, S::load(operands[K], lane)...);
      if constexpr (kRounding == Rounding::kMode) any_nan |= value != value ? 1u : 0u;
      D::store(result, lane, value);
    }
    if (directed) end_rounding();
    if constexpr (kRounding == Rounding::kMode) {
      if (any_nan) [[unlikely]] {
        finish(wave, instruction, operands);
        return;
      }
    }
    write_result<D>(wave, instruction);
  }

  [[gnu::noinline]] static void finish(Wave& wave, const Instruction& instruction,
                                       const uint32_t* const* operands) {
    const uint32_t* same_type[3] = {};
    for (size_t k = 0; k < sizeof...(S); ++k) {
      if (kSources[k] == D::type) same_type[k] = operands[k];
    }
    settle_nans(wave.result, D::type, same_type[0], same_type[1], same_type[2]);
    write_result<D>(wave, instruction);
  }

  static void execute(Wave& wave, const Instruction& instruction) {
    run(wave, instruction, std::index_sequence_for<S...>{});
  }
};

/// An operation that is exact or rounds by its own rule: moves, integers, comparisons of bits, conversions to
/// integers.
template <class Signature, class Op>
constexpr Row exact(std::string_view mnemonic, Op, uint16_t traits = kNoTraits) {
  using Operation = VectorOperation<Signature, Op, Rounding::kNone>;
  return {mnemonic, Operation::execute, InstructionClass::kValu, Operation::kDestination, Operation::kSources,
          traits};
}

/// Floating-point arithmetic that is rounded as MODE says.
template <class Signature, class Op>
constexpr Row rounded(std::string_view mnemonic, Op, uint16_t traits = kNoTraits) {
  using Operation = VectorOperation<Signature, Op, Rounding::kMode>;
  return {mnemonic, Operation::execute, InstructionClass::kValu, Operation::kDestination, Operation::kSources,
          traits};
}

}  // namespace mhcheck::simulator::MHCHECK_ISA

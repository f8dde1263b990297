#pragma once

#include <tuple>

#include "kernels/simulator/handlers/lanes.h"

// The frame of scalar (SALU) operations.
namespace mhcheck::simulator::MHCHECK_ISA {

/// What a scalar register counts that is the offset of a scalar memory access, in bytes: the scalar scratch
/// instructions have another unit than all others (CDNA4 ISA manual, S_SCRATCH_LOAD_DWORD).
inline constexpr uint64_t kPlainOffsetUnit = 1, kScratchOffsetUnit = 64;

/// The offset of a scalar memory access: an immediate in bytes, a scalar register or both.
MHCHECK_LANE uint64_t scalar_memory_offset(const Wave& wave, const Instruction& instruction,
                                           uint64_t register_unit = kPlainOffsetUnit) {
  auto offset = static_cast<uint64_t>(static_cast<int64_t>(instruction.immediate));
  if (instruction.source[2].kind == SourceKind::kScalar)
    offset += register_unit * wave.scalar[instruction.source[2].index];
  return offset;
}

/// What scalar memory accesses read of a buffer resource descriptor.
struct ScalarBuffer {
  explicit ScalarBuffer(const uint32_t* words)
      : base(words[0] | static_cast<uint64_t>(words[1] & 0xffff) << 32) {
    const uint64_t stride = words[1] >> 16 & 0x3fff;
    bytes = stride ? stride * words[2] : words[2];
  }
  uint64_t base, bytes;
};

enum class Scc : uint8_t { kKeep, kNonZero };  // kKeep: unchanged, or set by the operation itself

template <class Signature, class Op, Scc kScc>
struct ScalarOperation;

template <class D, class... S, class Op, Scc kScc>
struct ScalarOperation<D(S...), Op, kScc> {
  static constexpr std::array<Type, 3> kSources = [] {
    std::array<Type, 3> types{};
    int k = 0;
    ((types[k++] = S::type), ...);
    return types;
  }();
  static constexpr Type kDestination = D::type;

  template <size_t... K>
  MHCHECK_LANE void run(Wave& wave, const Instruction& instruction, std::index_sequence<K...>) {
    const auto invoke = [&](auto... operands) {
      if constexpr (std::is_invocable_v<Op, Wave&, decltype(operands)...>) {
        return Op{}(wave, operands...);
      } else {
        return Op{}(operands...);
      }
    };
    const auto value = static_cast<typename D::Lane>(invoke(static_cast<typename S::Lane>(
        scalar_operand(wave, instruction.source[K], registers_of(S::type) == 2))...));
    if constexpr (kScc == Scc::kNonZero) wave.scc = value != 0;
    if constexpr (registers_of(D::type) == 2) {
      write_scalar64(wave, instruction.destination, static_cast<uint64_t>(value));
    } else {
      write_scalar(wave, instruction.destination, static_cast<uint32_t>(value));
    }
  }
  static void execute(Wave& wave, const Instruction& instruction) {
    run(wave, instruction, std::index_sequence_for<S...>{});
  }
};

template <class Signature, Scc kScc = Scc::kKeep, class Op>
constexpr Row scalar(std::string_view mnemonic, Op) {
  using Operation = ScalarOperation<Signature, Op, kScc>;
  return {mnemonic, Operation::execute, InstructionClass::kSalu, Operation::kDestination, Operation::kSources,
          kNoTraits};
}

}  // namespace mhcheck::simulator::MHCHECK_ISA

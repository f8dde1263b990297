#pragma once

#include <tuple>

#include "kernels/simulator/handlers/lanes.h"

// The frame of scalar (SALU) operations.
namespace mhcheck::simulator::MHCHECK_ISA {

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

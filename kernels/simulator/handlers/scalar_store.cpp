#include <cstring>
#include <span>

#include "kernels/simulator/handlers/memory.h"
#include "kernels/simulator/handlers/scalar.h"

// SMEM that writes: scalar stores and atomics. Compilers emit none for gfx950, but its assembler takes them.
namespace mhcheck::simulator {
std::span<const Row> scalar_store_rows();

namespace {

using namespace MHCHECK_ISA;

// Sanitizers are asked at run time here, and not by a second copy of the handlers.
std::byte* observed_host(Wave& wave, AccessKind kind, unsigned first_register, uint64_t address,
                         uint32_t bytes) {
  const bool allowed = !wave.watch || observe_scalar(wave, kind, first_register, address, bytes);
  return allowed ? touch_global(wave, address, bytes) : nullptr;
}

// Where an access of `bytes` goes, a part of it at a time: plain memory, or a buffer that drops what lies
// beyond its end. Null where nothing is to be done.
class Plain {
 public:
  Plain(Wave& wave, const Instruction& instruction, uint32_t)
      : wave_(wave),
        address_((wave.scalar64(instruction.scalar_base) + scalar_memory_offset(wave, instruction)) &
                 ~uint64_t{3}) {}
  std::byte* host(AccessKind kind, unsigned first_register, uint32_t offset, uint32_t bytes) const {
    return observed_host(wave_, kind, first_register, address_ + offset, bytes);
  }

 private:
  Wave& wave_;
  uint64_t address_;
};
class Buffer {
 public:
  Buffer(Wave& wave, const Instruction& instruction, uint32_t bytes)
      : wave_(wave),
        buffer_(&wave.scalar[instruction.scalar_base]),
        start_(scalar_memory_offset(wave, instruction) & ~uint64_t{3}) {
    if (wave.watch) observe_resource(wave, buffer_.base, start_ + bytes > buffer_.bytes);
  }
  std::byte* host(AccessKind kind, unsigned first_register, uint32_t offset, uint32_t bytes) const {
    const uint64_t at = start_ + offset;
    if (at + bytes > buffer_.bytes) return nullptr;
    return observed_host(wave_, kind, first_register, buffer_.base + at, bytes);
  }

 private:
  Wave& wave_;
  ScalarBuffer buffer_;
  uint64_t start_;
};

template <class Space, unsigned kDwords>
void store(Wave& wave, const Instruction& instruction) {
  const Space space(wave, instruction, 4 * kDwords);
  for (unsigned d = 0; d < kDwords; ++d) {
    const unsigned data = instruction.destination + d;
    std::byte* const host = space.host(AccessKind::kStore, data, 4 * d, 4);
    if (!host) continue;
    std::memcpy(host, &wave.scalar[data], 4);
    wave.memory_bytes_written += 4;
  }
}

template <class Word, class Op>
constexpr bool kTakesTwo = requires(Word w) {
  Op::apply(w, w, w);
};

template <class Space, class Op>
void atomic(Wave& wave, const Instruction& instruction) {
  using Word = typename Op::Value;
  const auto operand = [&](unsigned which) {
    const unsigned index = instruction.destination + which * sizeof(Word) / 4;
    return static_cast<Word>(sizeof(Word) == 8 ? wave.scalar64(index) : wave.scalar[index]);
  };
  const Space space(wave, instruction, sizeof(Word));
  Word old{};
  if (std::byte* const host = space.host(AccessKind::kAtomic, instruction.destination, 0, sizeof(Word))) {
    std::memcpy(&old, host, sizeof old);
    Word updated;
    if constexpr (kTakesTwo<Word, Op>) {
      updated = Op::apply(old, operand(0), operand(1));
    } else {
      updated = Op::apply(old, operand(0));
    }
    std::memcpy(host, &updated, sizeof updated);
    wave.memory_bytes_read += sizeof old;
    wave.memory_bytes_written += sizeof old;
  }
  if (!(instruction.memory_flags & kReturnOld)) return;
  if constexpr (sizeof(Word) == 8) {
    write_scalar64(wave, instruction.destination, static_cast<uint64_t>(old));
  } else {
    write_scalar(wave, instruction.destination, static_cast<uint32_t>(old));
  }
}

template <class Space, unsigned kDwords>
constexpr Row store_row(std::string_view mnemonic) {
  constexpr Type data = kDwords == 1 ? Type::kB32 : kDwords == 2 ? Type::kB64 : Type::kB128;
  return {mnemonic,    store<Space, kDwords>, InstructionClass::kSmem,
          Type::kNone, {Type::kNone, data},   kNoTraits};
}
template <class Space, class Op>
constexpr Row atomic_row(std::string_view mnemonic) {
  using Word = typename Op::Value;
  constexpr Type result = sizeof(Word) == 8 ? Type::kB64 : Type::kB32;
  constexpr Type both = sizeof(Word) == 8 ? Type::kB128 : Type::kB64;
  return {mnemonic,
          atomic<Space, Op>,
          InstructionClass::kSmem,
          result,
          {Type::kNone, kTakesTwo<Word, Op> ? both : result},
          kOrdersWorkgroups};
}

#define MHCHECK_SCALAR_ATOMIC(name, Op)                          \
  atomic_row<Plain, Op<uint32_t>>("s_atomic_" name),             \
      atomic_row<Plain, Op<uint64_t>>("s_atomic_" name "_x2"),   \
      atomic_row<Buffer, Op<uint32_t>>("s_buffer_atomic_" name), \
      atomic_row<Buffer, Op<uint64_t>>("s_buffer_atomic_" name "_x2")

template <class Word>
using SignedMin = AtomicMin<std::make_signed_t<Word>>;
template <class Word>
using SignedMax = AtomicMax<std::make_signed_t<Word>>;

constexpr Row kRows[] = {
    store_row<Plain, 1>("s_store_dword"),           store_row<Plain, 2>("s_store_dwordx2"),
    store_row<Plain, 4>("s_store_dwordx4"),         store_row<Buffer, 1>("s_buffer_store_dword"),
    store_row<Buffer, 2>("s_buffer_store_dwordx2"), store_row<Buffer, 4>("s_buffer_store_dwordx4"),
    MHCHECK_SCALAR_ATOMIC("swap", AtomicSwap),      MHCHECK_SCALAR_ATOMIC("cmpswap", AtomicCompareSwap),
    MHCHECK_SCALAR_ATOMIC("add", AtomicAdd),        MHCHECK_SCALAR_ATOMIC("sub", AtomicSub),
    MHCHECK_SCALAR_ATOMIC("smin", SignedMin),       MHCHECK_SCALAR_ATOMIC("umin", AtomicMin),
    MHCHECK_SCALAR_ATOMIC("smax", SignedMax),       MHCHECK_SCALAR_ATOMIC("umax", AtomicMax),
    MHCHECK_SCALAR_ATOMIC("and", AtomicAnd),        MHCHECK_SCALAR_ATOMIC("or", AtomicOr),
    MHCHECK_SCALAR_ATOMIC("xor", AtomicXor),        MHCHECK_SCALAR_ATOMIC("inc", AtomicInc),
    MHCHECK_SCALAR_ATOMIC("dec", AtomicDec),
};

#undef MHCHECK_SCALAR_ATOMIC

}  // namespace

std::span<const Row> scalar_store_rows() { return kRows; }

}  // namespace mhcheck::simulator

#include <cstring>
#include <span>

#include "kernels/simulator/handlers/memory.h"
#include "kernels/simulator/handlers/scalar.h"

// SMEM that writes: scalar stores and atomics. Compilers emit none for gfx950, but its assembler takes them.
namespace mhcheck::simulator {
std::span<const Row> scalar_store_rows();

namespace {

using namespace MHCHECK_ISA;

// What a wave's one access touches: plain memory, or a buffer that drops what lies beyond its end.
template <uint64_t kRegisterUnit>
struct Pointer {
  static std::byte* host(Wave& wave, const Instruction& instruction, unsigned offset, unsigned bytes) {
    const uint64_t from_base = scalar_memory_offset(wave, instruction, kRegisterUnit);
    const uint64_t address = (wave.scalar64(instruction.scalar_base) + from_base) & ~uint64_t{3};
    return touch_global(wave, address + offset, bytes);
  }
};
using Plain = Pointer<kPlainOffsetUnit>;
using Scratch = Pointer<kScratchOffsetUnit>;
struct Buffer {
  static std::byte* host(Wave& wave, const Instruction& instruction, unsigned offset, unsigned bytes) {
    const ScalarBuffer buffer(&wave.scalar[instruction.scalar_base]);
    const uint64_t at = (scalar_memory_offset(wave, instruction) & ~uint64_t{3}) + offset;
    return at + bytes <= buffer.bytes ? touch_global(wave, buffer.base + at, bytes) : nullptr;
  }
};

template <class Space, unsigned kDwords>
void store(Wave& wave, const Instruction& instruction) {
  for (unsigned d = 0; d < kDwords; ++d) {
    std::byte* const host = Space::host(wave, instruction, 4 * d, 4);
    if (!host) continue;
    std::memcpy(host, &wave.scalar[instruction.destination + d], 4);
    wave.memory_bytes_written += 4;
  }
}

template <class Space, class Op>
void atomic(Wave& wave, const Instruction& instruction) {
  using Word = typename Op::Value;
  const auto operand = [&](unsigned which) {
    const unsigned index = instruction.destination + which * sizeof(Word) / 4;
    return static_cast<Word>(sizeof(Word) == 8 ? wave.scalar64(index) : wave.scalar[index]);
  };
  Word old{};
  if (std::byte* const host = Space::host(wave, instruction, 0, sizeof(Word))) {
    std::memcpy(&old, host, sizeof old);
    Word updated;
    if constexpr (requires(Word w) { Op::apply(w, w, w); }) {
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

constexpr Row smem(std::string_view mnemonic, Handler handler, uint16_t traits = kNoTraits) {
  return {mnemonic, handler, InstructionClass::kSmem, Type::kNone, {}, traits};
}

#define MHCHECK_SCALAR_ATOMIC(name, Op)                                               \
  smem("s_atomic_" name, atomic<Plain, Op<uint32_t>>, kOrdersWorkgroups),             \
      smem("s_atomic_" name "_x2", atomic<Plain, Op<uint64_t>>, kOrdersWorkgroups),   \
      smem("s_buffer_atomic_" name, atomic<Buffer, Op<uint32_t>>, kOrdersWorkgroups), \
      smem("s_buffer_atomic_" name "_x2", atomic<Buffer, Op<uint64_t>>, kOrdersWorkgroups)

template <class Word>
using SignedMin = AtomicMin<std::make_signed_t<Word>>;
template <class Word>
using SignedMax = AtomicMax<std::make_signed_t<Word>>;

constexpr Row kRows[] = {
    smem("s_scratch_store_dword", store<Scratch, 1>),
    smem("s_scratch_store_dwordx2", store<Scratch, 2>),
    smem("s_scratch_store_dwordx4", store<Scratch, 4>),
    smem("s_store_dword", store<Plain, 1>),
    smem("s_store_dwordx2", store<Plain, 2>),
    smem("s_store_dwordx4", store<Plain, 4>),
    smem("s_buffer_store_dword", store<Buffer, 1>),
    smem("s_buffer_store_dwordx2", store<Buffer, 2>),
    smem("s_buffer_store_dwordx4", store<Buffer, 4>),
    MHCHECK_SCALAR_ATOMIC("swap", AtomicSwap),
    MHCHECK_SCALAR_ATOMIC("cmpswap", AtomicCompareSwap),
    MHCHECK_SCALAR_ATOMIC("add", AtomicAdd),
    MHCHECK_SCALAR_ATOMIC("sub", AtomicSub),
    MHCHECK_SCALAR_ATOMIC("smin", SignedMin),
    MHCHECK_SCALAR_ATOMIC("umin", AtomicMin),
    MHCHECK_SCALAR_ATOMIC("smax", SignedMax),
    MHCHECK_SCALAR_ATOMIC("umax", AtomicMax),
    MHCHECK_SCALAR_ATOMIC("and", AtomicAnd),
    MHCHECK_SCALAR_ATOMIC("or", AtomicOr),
    MHCHECK_SCALAR_ATOMIC("xor", AtomicXor),
    MHCHECK_SCALAR_ATOMIC("inc", AtomicInc),
    MHCHECK_SCALAR_ATOMIC("dec", AtomicDec),
};

#undef MHCHECK_SCALAR_ATOMIC

}  // namespace

std::span<const Row> scalar_store_rows() { return kRows; }

}  // namespace mhcheck::simulator

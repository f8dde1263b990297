#pragma once

#include "kernels/simulator/handlers/lanes.h"
#include "kernels/simulator/memory_access.h"

// One lane's part of a tuple of registers as a row of elements packed without gaps: six-bit elements cross
// from one register into the next.
namespace mhcheck::simulator::MHCHECK_ISA {

/// The registers of a source that has more than two of them.
MHCHECK_LANE const uint32_t* tuple_source(Wave& wave, const Instruction& instruction, int k) {
  const SourceKind kind = instruction.source[k].kind;
  if (kind != SourceKind::kVector && kind != SourceKind::kVectorModified)
    raise_illegal("a register tuple is not made of vector registers");
  return vector_register(wave, instruction.source[k].index);
}

MHCHECK_LANE uint32_t element_mask(int width) { return ~0u >> (32 - width); }

MHCHECK_LANE uint32_t tuple_element(const uint32_t* registers, int lane, int element, int width) {
  const int bit = element * width, word = bit / 32;
  const bool crosses = bit % 32 + width > 32;
  const uint64_t both = registers[word * kLanes + lane] |
                        (crosses ? static_cast<uint64_t>(registers[(word + 1) * kLanes + lane]) << 32 : 0);
  return static_cast<uint32_t>(both >> (bit % 32)) & element_mask(width);
}

/// Fills a row from its first element to its last, in dwords of its own: the tuple that the elements come
/// from may be the one that the row goes to.
template <int kRegisters>
class TupleRow {
 public:
  [[gnu::always_inline]] void append(uint32_t value, int width) {
    const int word = bits_ / 32, shift = bits_ % 32;
    words_[word] |= value << shift;
    if (shift + width > 32) words_[word + 1] |= value >> (32 - shift);
    bits_ += width;
  }
  [[gnu::always_inline]] void write(uint32_t* registers, int lane) const {
    for (int r = 0; r < kRegisters; ++r) registers[r * kLanes + lane] = words_[r];
  }

 private:
  uint32_t words_[kRegisters] = {};
  int bits_ = 0;
};

}  // namespace mhcheck::simulator::MHCHECK_ISA

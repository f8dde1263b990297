#pragma once

#include <array>
#include <cstdint>

#include "kernels/simulator/instruction.h"
#include "kernels/simulator/sanitizers/access_history.h"

namespace mhcheck::simulator {

/// How undefined and doubtful bits get from an instruction's operands into its result.
enum class Flow : uint8_t {
  kNothing,     // no result that matters, or a result that is always good
  kBlend,       // a bad bit of an operand spoils the whole result (or the half, of packed operations)
  kBits,        // moves and bit logic: result bits depend on few operand bits, found by trying both values
  kCarries,     // sums and products of integers: a bad bit spoils the result from there upwards
  kPackHalves,  // two operands to the two halves of the result
  kMatrix,
  kReadFirstLane,
  kReadLane,
  kWriteLane,
  kSwap,
  kSwapHalves,
  kSwapRows,
  kPermuteBackward,
  kPermuteForward,
  kSwizzle,
  kVectorMemory,  // global, buffer, flat, scratch, LDS: data moves as the observed accesses say
  kScalarMemory,
  kScalarBlend,
  kScalarBits,
};

/// What hardware counts an instruction by until its data is there (gfx950.md, section 6).
enum class WaitCounter : uint8_t { kNone, kVector, kLds, kScalar, kFlat };

/// What is decided by an operand beside the result.
enum class OperandRole : uint8_t { kData, kAddress };

struct RegisterRange {
  uint16_t first = 0;
  uint8_t count = 0;
  bool scalar = false;
  OperandRole role = OperandRole::kData;
};

/// Facts about one decoded instruction.
struct InstructionFacts {
  Flow flow = Flow::kNothing;
  WaitCounter counter = WaitCounter::kNone;
  bool reads_scc = false, writes_scc = false;
  bool writes_exec = false;
  bool branches_on_scc = false, branches_on_vcc = false;
  bool returns_data = false;  // to registers, later than the instruction
  bool to_lds = false;        // a load whose data goes to LDS
  bool is_wait = false;
  AccessScope scope = AccessScope::kPlain;  // of its accesses to global memory and LDS
  bool orders = false;       // other accesses are ordered by it: it has a scope and is no float atomic
  bool acquires = false;     // and it gets the value
  bool fences = false;       // stores of the whole workgroup become complete with it, for other workgroups
  bool writes_back = false;  // scalar stores, from the scalar cache
  // Of loads to registers: bits of each destination dword that are written.
  uint32_t loaded_bits = ~0u;
  bool sign_extended = false;
  uint8_t transposed_bits = 0;  // width of ds_read_*_tr_* elements
  uint8_t nan_bits = 0;         // of a matrix product: width of the input elements; 0: no NaN in the format
  uint8_t read_count = 0, write_count = 0;
  std::array<RegisterRange, 10> reads{};
  std::array<RegisterRange, 4> writes{};
};

InstructionFacts facts_of(const Instruction& instruction, const Row& row);

}  // namespace mhcheck::simulator

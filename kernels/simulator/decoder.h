#pragma once

#include <cstdint>
#include <span>

#include "kernels/simulator/instruction.h"

namespace mhcheck::simulator {

/// Reads the operand fields of one gfx950 instruction out of its encoding. `words` holds at least `length`
/// dwords of an instruction that the disassembler has accepted as `row`.
Instruction decode_fields(std::span<const uint32_t> words, unsigned length, const Row& row,
                          uint16_t row_index);

}  // namespace mhcheck::simulator

#include <bit>

#include "kernels/simulator/handlers/scalar.h"
#include "kernels/simulator/handlers/tables.h"

// Vector operations that move values between lanes, or between lanes and scalar registers.
namespace mhcheck::simulator::MHCHECK_ISA {
namespace {

void read_first_lane(Wave& wave, const Instruction& instruction) {
  const uint32_t* lanes = source<B32>(wave, instruction, 0);
  const uint64_t exec = wave.exec();
  write_scalar(wave, instruction.destination, lanes[exec ? std::countr_zero(exec) : 0]);
}

// EXEC does not matter to these two.
void read_lane(Wave& wave, const Instruction& instruction) {
  const uint32_t* lanes = source<B32>(wave, instruction, 0);
  const auto lane = static_cast<uint32_t>(scalar_operand(wave, instruction.source[1], false)) & 63;
  write_scalar(wave, instruction.destination, lanes[lane]);
}
void write_lane(Wave& wave, const Instruction& instruction) {
  const auto value = static_cast<uint32_t>(scalar_operand(wave, instruction.source[0], false));
  const auto lane = static_cast<uint32_t>(scalar_operand(wave, instruction.source[1], false)) & 63;
  vector_register(wave, instruction.destination)[lane] = value;
}

void exchange(const Wave& wave, uint32_t* a, int lane_a, uint32_t* b, int lane_b) {
  const uint32_t old_a = a[lane_a], old_b = b[lane_b];
  if (wave.lane_mask[lane_a]) a[lane_a] = old_b;
  if (wave.lane_mask[lane_b]) b[lane_b] = old_a;
}

void swap(Wave& wave, const Instruction& instruction) {
  uint32_t* a = vector_register(wave, instruction.destination);
  uint32_t* b = vector_register(wave, instruction.source[0].index);
  for (int lane = 0; lane < kLanes; ++lane) exchange(wave, a, lane, b, lane);
}

// Lanes 32 to 63 of the destination against lanes 0 to 31 of the source. Inactive lanes keep what they have.
void swap_halves(Wave& wave, const Instruction& instruction) {
  uint32_t* a = vector_register(wave, instruction.destination);
  uint32_t* b = vector_register(wave, instruction.source[0].index);
  for (int lane = 0; lane < 32; ++lane) exchange(wave, a, lane + 32, b, lane);
}
// Odd rows of 16 lanes of the destination against even rows of the source.
void swap_rows(Wave& wave, const Instruction& instruction) {
  uint32_t* a = vector_register(wave, instruction.destination);
  uint32_t* b = vector_register(wave, instruction.source[0].index);
  for (int row : {0, 32}) {
    for (int lane = 0; lane < 16; ++lane) exchange(wave, a, row + 16 + lane, b, row + lane);
  }
}

constexpr Row valu(std::string_view mnemonic, Handler handler, std::array<Type, 3> sources,
                   uint16_t traits = kNoTraits) {
  return {mnemonic, handler, InstructionClass::kValu, Type::kB32, sources, traits};
}

constexpr Row kRows[] = {
    valu("v_readfirstlane_b32", read_first_lane, {Type::kB32}, kScalarResult),
    valu("v_readlane_b32", read_lane, {Type::kB32, Type::kU32}, kScalarResult),
    valu("v_writelane_b32", write_lane, {Type::kB32, Type::kU32}),
    valu("v_swap_b32", swap, {Type::kB32}),
    valu("v_permlane32_swap_b32", swap_halves, {Type::kB32}),
    valu("v_permlane16_swap_b32", swap_rows, {Type::kB32}),
};

}  // namespace

std::span<const Row> cross_lane_rows() { return kRows; }

}  // namespace mhcheck::simulator::MHCHECK_ISA

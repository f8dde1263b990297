#include "kernels/simulator/handlers/memory.h"
#include "kernels/simulator/handlers/scalar.h"
#include "kernels/simulator/handlers/tables.h"

// SMEM: scalar loads, and the counters of time.
namespace mhcheck::simulator::MHCHECK_ISA {
namespace {

template <int kDwords>
void load(Wave& wave, const Instruction& instruction) {
  const uint64_t address =
      (wave.scalar64(instruction.scalar_base) + scalar_memory_offset(wave, instruction)) & ~uint64_t{3};
  uint32_t values[kDwords] = {};
  if (!kWatched || observe_scalar(wave, AccessKind::kLoad, instruction.destination, address, sizeof values))
    std::memcpy(values, touch_global(wave, address, sizeof values), sizeof values);
  wave.memory_bytes_read += sizeof values;
  for (unsigned d = 0; d < kDwords; ++d) write_scalar(wave, instruction.destination + d, values[d]);
}

// Dwords beyond the buffer's end read 0.
template <int kDwords>
void buffer_load(Wave& wave, const Instruction& instruction) {
  const ScalarBuffer buffer(&wave.scalar[instruction.scalar_base]);
  const uint64_t offset = scalar_memory_offset(wave, instruction) & ~uint64_t{3};
  if constexpr (kWatched) observe_resource(wave, buffer.base, offset + 4 * kDwords > buffer.bytes);
  for (unsigned d = 0; d < kDwords; ++d) {
    uint32_t value = 0;
    if (offset + 4 * (d + 1) <= buffer.bytes &&
        (!kWatched || observe_scalar(wave, AccessKind::kLoad, instruction.destination + d,
                                     buffer.base + offset + 4 * d, 4))) {
      std::memcpy(&value, touch_global(wave, buffer.base + offset + 4 * d, 4), 4);
      wave.memory_bytes_read += 4;
    }
    write_scalar(wave, instruction.destination + d, value);
  }
}

// Time is the wave's own instruction count: runs repeat exactly.
void read_time(Wave& wave, const Instruction& instruction) {
  const uint64_t time = wave.instructions_done - static_cast<uint64_t>(wave.remaining);
  write_scalar64(wave, instruction.destination, time);
}
void nothing(Wave&, const Instruction&) {}

constexpr Row smem(std::string_view mnemonic, Handler handler, Type destination,
                   uint16_t traits = kNoTraits) {
  return {mnemonic, handler, InstructionClass::kSmem, destination, {}, traits};
}

constexpr Row kRows[] = {
    smem("s_load_dword", load<1>, Type::kB32),
    smem("s_load_dwordx2", load<2>, Type::kB64),
    smem("s_load_dwordx4", load<4>, Type::kB128),
    smem("s_load_dwordx8", load<8>, Type::kB256),
    smem("s_load_dwordx16", load<16>, Type::kB512),
    smem("s_buffer_load_dword", buffer_load<1>, Type::kB32),
    smem("s_buffer_load_dwordx2", buffer_load<2>, Type::kB64),
    smem("s_buffer_load_dwordx4", buffer_load<4>, Type::kB128),
    smem("s_buffer_load_dwordx8", buffer_load<8>, Type::kB256),
    smem("s_buffer_load_dwordx16", buffer_load<16>, Type::kB512),
    smem("s_memtime", read_time, Type::kB64),
    smem("s_memrealtime", read_time, Type::kB64),
    smem("s_dcache_inv", nothing, Type::kNone),
    smem("s_dcache_wb", nothing, Type::kNone),
    smem("s_dcache_inv_vol", nothing, Type::kNone),
    smem("s_dcache_wb_vol", nothing, Type::kNone),
};

}  // namespace

std::span<const Row> scalar_memory_rows() { return kRows; }

}  // namespace mhcheck::simulator::MHCHECK_ISA

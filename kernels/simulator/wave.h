#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/simulator/instruction.h"
#include "kernels/simulator/simulator.h"

namespace mhcheck::simulator {

inline constexpr int kLanes = 64;
inline constexpr int kVectorRegisters = 512;  // v0..v255, a0..a255

class WaveWatch;  // sanitizers/wave_watch.h

enum class WaveStatus : uint8_t { kRunning, kAtBarrier, kEnded };

/// What all waves of a workgroup share.
struct Workgroup {
  std::array<uint32_t, 3> id{};
  std::byte* lds = nullptr;
  uint32_t lds_bytes = 0;
};

/// Bits of the MODE register (s_setreg id 1).
namespace mode_bits {
inline constexpr uint32_t kRoundMask = 0x3, kDenormMask = 0x3;
inline constexpr int kRoundF32 = 0, kRoundF16F64 = 2, kDenormF32 = 4, kDenormF16F64 = 6;
inline constexpr uint32_t kDx10Clamp = 1u << 8, kIeee = 1u << 9, kF16Overflow = 1u << 23;
}  // namespace mode_bits

/// The architectural state of one wave, and buffers that handlers work in. Plain data: handlers compiled for
/// several host instruction sets share it.
struct Wave {
  const Instruction* pc = nullptr;
  int64_t remaining = 0;  // instructions left in the current time slice; 0 stops the wave
  uint32_t scc = 0;
  uint32_t mode = 0;
  bool default_floats = true;  // MODE rounds to nearest and keeps denormals, for f32 and for f16 and f64
  WaveStatus status = WaveStatus::kRunning;
  uint32_t* vector = nullptr;    // [kVectorRegisters][kLanes]
  std::byte* scratch = nullptr;  // lane after lane, scratch_bytes each
  uint32_t scratch_bytes = 0;
  Workgroup* group = nullptr;
  Code* code = nullptr;
  Memory* memory = nullptr;
  const Options* options = nullptr;
  const Allocation* recent_allocation = nullptr;
  WaveWatch* watch = nullptr;  // null unless a sanitizer is on
  uint32_t index_in_group = 0;
  uint32_t preset_scalars = 0;     // s0 up to here hold what the dispatcher put there
  uint64_t instructions_done = 0;  // of earlier time slices
  uint64_t executed[static_cast<int>(InstructionClass::kCount)] = {};
  uint64_t memory_bytes_read = 0, memory_bytes_written = 0, lds_bytes_read = 0, lds_bytes_written = 0;
  uint64_t lds_bank_conflicts = 0;
  uint64_t buffer_lanes_clamped = 0;  // counted by sanitizers only

  alignas(64) uint32_t scalar[scalar_register::kCount];
  alignas(64) uint32_t lane_mask[kLanes];  // all ones where EXEC has the lane; follows every write of EXEC
  // What the current instruction prepares: sources after modifiers, and the result before it is written.
  alignas(64) uint32_t operand[3][2 * kLanes];
  alignas(64) uint32_t result[2 * kLanes];
  alignas(64) uint64_t address[kLanes];

  uint64_t scalar64(unsigned index) const {
    return scalar[index] | static_cast<uint64_t>(scalar[index + 1]) << 32;
  }
  uint64_t exec() const { return scalar64(scalar_register::kExec); }
};

/// Address ranges that FLAT instructions route to LDS and to scratch (gfx9: 4 GiB each).
inline constexpr uint64_t kSharedAperture = uint64_t{1} << 48, kPrivateAperture = uint64_t{1} << 49;
inline constexpr uint64_t kApertureSize = uint64_t{1} << 32;

}  // namespace mhcheck::simulator

#pragma once

#include "kernels/simulator/handlers/memory.h"
#include "kernels/simulator/handlers/scalar.h"

// How MUBUF and MTBUF instructions find memory: through a buffer resource descriptor, with its range check.
namespace mhcheck::simulator::MHCHECK_ISA {

struct Resource {
  explicit Resource(const uint32_t* words)
      : base(words[0] | static_cast<uint64_t>(words[1] & 0xffff) << 32),
        stride(words[1] >> 16 & 0x3fff),
        records(words[2]),
        swizzled(words[1] >> 31),
        adds_lane(words[3] >> 23 & 1) {}
  uint64_t base;
  uint32_t stride, records;
  bool swizzled, adds_lane;
};

// Lanes' addresses, and how many of each lane's first bytes the range check lets pass.
struct Accesses {
  uint64_t whole = 0;  // lanes whose every byte is in range
  uint32_t passed[kLanes];
};

[[maybe_unused]] static void place_buffer(Wave& wave, const Instruction& instruction, uint32_t bytes,
                                          bool by_dword, Accesses& accesses) {
  const Resource resource(&wave.scalar[instruction.scalar_base]);
  if (resource.swizzled)
    raise_illegal("a buffer access through a swizzled resource, which only graphics code uses");
  const bool has_index = instruction.memory_flags & kIndexEnable,
             has_offset = instruction.memory_flags & kOffsetEnable;
  const uint32_t* first =
      has_index || has_offset ? vector_register(wave, instruction.source[0].index) : nullptr;
  const uint32_t* offsets = has_index ? first + kLanes : first;
  const auto scalar_offset = static_cast<uint32_t>(scalar_operand(wave, instruction.source[2], false));
  const auto immediate = static_cast<uint32_t>(instruction.immediate);
  const bool structured = has_index && resource.stride != 0;
  const bool unchecked = resource.adds_lane && !has_index;
  const uint64_t exec = wave.exec();
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint32_t index =
        (has_index ? first[lane] : 0) + (resource.adds_lane ? static_cast<uint32_t>(lane) : 0);
    const uint64_t offset = uint64_t{has_offset ? offsets[lane] : 0} + immediate;
    wave.address[lane] = resource.base + scalar_offset + uint64_t{resource.stride} * index + offset;
    uint32_t passed = bytes;
    if (structured) {
      passed = index < resource.records ? bytes : 0;
    } else if (!unchecked) {
      const uint64_t start = offset + scalar_offset;
      const uint64_t room = start < resource.records ? resource.records - start : 0;
      if (room < bytes) passed = by_dword ? static_cast<uint32_t>(room) & ~3u : 0;
    }
    accesses.passed[lane] = passed;
    accesses.whole |= static_cast<uint64_t>(passed == bytes) << lane;
  }
  accesses.whole &= exec;
  if constexpr (kWatched) observe_resource(wave, resource.base, exec & ~accesses.whole);
}

// What an access that the range check cut short may still touch.
MHCHECK_LANE uint32_t observed_part(Wave& wave, AccessKind kind, int lane, uint32_t bytes) {
  if constexpr (kWatched) return bytes && observe_part(wave, kind, lane, bytes) ? bytes : 0;
  return bytes;
}

/// Where the first lane of a load to LDS delivers.
MHCHECK_LANE uint32_t lds_base(const Wave& wave, const Instruction& instruction) {
  return (wave.scalar[scalar_register::kM0] & 0x3ffff) + static_cast<uint32_t>(instruction.immediate);
}

}  // namespace mhcheck::simulator::MHCHECK_ISA

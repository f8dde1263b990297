#pragma once

#include <cstdint>
#include <memory>

#include "kernels/simulator/wave.h"

namespace mhcheck::simulator {

/// Which bits of a wave's registers nobody has written, and which values are doubtful and since when. A lane
/// whose bit in `undefined_lanes` (`doubtful_lanes`) is clear is good whatever its words hold, so that most
/// instructions touch two masks and no words.
struct RegisterShadow {
  RegisterShadow()
      : undefined(new uint32_t[size_t{kVectorRegisters} * kLanes]),
        origin(new uint32_t[size_t{kVectorRegisters} * kLanes]) {}

  /// Everything is undefined, as when a wave starts.
  void poison() {
    for (unsigned r = 0; r < kVectorRegisters; ++r) {
      undefined_lanes[r] = ~uint64_t{0};
      doubtful_lanes[r] = 0;
      written_by[r] = 0;
    }
    for (size_t i = 0; i < size_t{kVectorRegisters} * kLanes; ++i) undefined[i] = ~0u;
    for (unsigned s = 0; s < scalar_register::kCount; ++s) {
      scalar_undefined[s] = ~0u;
      scalar_doubtful[s] = scalar_origin[s] = 0;
    }
    scc_undefined = true;
    scc_origin = 0;
  }

  uint32_t undefined_bits(unsigned r, int lane) const {
    return undefined_lanes[r] >> lane & 1 ? undefined[r * kLanes + static_cast<unsigned>(lane)] : 0;
  }
  uint32_t origin_of(unsigned r, int lane) const {
    return doubtful_lanes[r] >> lane & 1 ? origin[r * kLanes + static_cast<unsigned>(lane)] : 0;
  }
  void set(unsigned r, int lane, uint32_t undefined_word, uint32_t origin_word) {
    const uint64_t bit = uint64_t{1} << lane;
    undefined_lanes[r] = undefined_word ? undefined_lanes[r] | bit : undefined_lanes[r] & ~bit;
    doubtful_lanes[r] = origin_word ? doubtful_lanes[r] | bit : doubtful_lanes[r] & ~bit;
    undefined[r * kLanes + static_cast<unsigned>(lane)] = undefined_word;
    origin[r * kLanes + static_cast<unsigned>(lane)] = origin_word;
  }
  void set_good(unsigned r, uint64_t lanes) {
    undefined_lanes[r] &= ~lanes;
    doubtful_lanes[r] &= ~lanes;
  }
  void set_scalar(unsigned s, uint32_t undefined_word, uint32_t doubtful_word, uint32_t origin_word) {
    scalar_undefined[s] = undefined_word;
    scalar_doubtful[s] = doubtful_word;
    scalar_origin[s] = origin_word;
  }

  std::unique_ptr<uint32_t[]> undefined;  // [register][lane], a bit for a bit
  std::unique_ptr<uint32_t[]> origin;     // [register][lane], LaunchWatch::origin
  uint64_t undefined_lanes[kVectorRegisters], doubtful_lanes[kVectorRegisters];
  uint64_t written_by[kVectorRegisters];  // lanes that took part in the last write
  uint32_t scalar_undefined[scalar_register::kCount], scalar_doubtful[scalar_register::kCount];
  uint32_t scalar_origin[scalar_register::kCount];
  bool scc_undefined = true;
  uint32_t scc_origin = 0;
};

}  // namespace mhcheck::simulator

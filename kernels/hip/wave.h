// Sums and exchanges among the 64 lanes of a wave.
//
// Every lane of the wave has to take part: a lane that a branch or a loop has switched off gives 0 or
// garbage. So each function here is called where all lanes are, and never below an `if` on a lane or thread
// number; lanes without data bring the neutral element instead.
#pragma once

#include <hip/hip_runtime.h>

namespace mhc {

constexpr int kWaveSize = 64;

__device__ inline int lane_id() { return threadIdx.x % kWaveSize; }

// What another lane holds.
__device__ inline float from_lane(float value, int lane) {
  return __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute(4 * lane, __builtin_bit_cast(int, value)));
}

// Butterflies: lanes that differ in the bits [first, end) of their number get the same sum or maximum, in the
// same order of additions, so that all of them hold the same bits.
template <int first, int end>
__device__ inline float sum_over_lane_bits(float value) {
  for (int mask = first; mask < end; mask *= 2) value += from_lane(value, lane_id() ^ mask);
  return value;
}

template <int first, int end>
__device__ inline float max_over_lane_bits(float value) {
  for (int mask = first; mask < end; mask *= 2)
    value = __builtin_fmaxf(value, from_lane(value, lane_id() ^ mask));
  return value;
}

__device__ inline float wave_sum(float value) { return sum_over_lane_bits<1, kWaveSize>(value); }

}  // namespace mhc

// Exchanges among the 64 lanes of a wave. Every lane has to take part.
#pragma once

#include <hip/hip_runtime.h>

namespace mutants {

constexpr int kWaveSize = 64;

__device__ inline int lane_id() { return threadIdx.x % kWaveSize; }
__device__ inline int wave_id() { return threadIdx.x / kWaveSize; }

// What another lane holds.
__device__ inline float from_lane(float value, int lane) {
  return __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute(4 * lane, __builtin_bit_cast(int, value)));
}

// Over the lanes that differ in bits [first, end) of their number; each of them gets the result.
template <int first, int end>
__device__ inline float lane_sum(float value) {
  for (int mask = first; mask < end; mask *= 2) value += from_lane(value, lane_id() ^ mask);
  return value;
}

template <int first, int end>
__device__ inline float lane_max(float value) {
  for (int mask = first; mask < end; mask *= 2)
    value = __builtin_fmaxf(value, from_lane(value, lane_id() ^ mask));
  return value;
}

}  // namespace mutants

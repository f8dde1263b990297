// Sums and maxima over lanes, waves and workgroups.
//
// Every lane has to take part: one that a branch or a loop has switched off gives garbage, and a sum that
// misses half of a wave is wrong by a factor that no crash shows. So each function here is called where all
// lanes are, and never below a branch on a lane or thread number; lanes without data bring the neutral
// element instead.
#pragma once

#include "kernels/hip/gpu.h"
#include "kernels/hip/shape.h"

namespace mhc {

constexpr int kWaves = kThreads / kWaveSize;

// Butterflies: lanes that differ in the bits [kFirst, kEnd) of their number get the same sum or maximum, in
// the same order of additions, so that all of them hold the same bits.
template <int kFirst, int kEnd>
MHC_DEVICE float sum_over_bits(float value) {
  if constexpr (kFirst < kEnd) return sum_over_bits<2 * kFirst, kEnd>(value + partner<kFirst>(value));
  return value;
}

template <int kFirst, int kEnd>
MHC_DEVICE float max_over_bits(float value) {
  if constexpr (kFirst < kEnd)
    return max_over_bits<2 * kFirst, kEnd>(__builtin_fmaxf(value, partner<kFirst>(value)));
  return value;
}

// The sum over all threads, for all threads.
MHC_DEVICE float workgroup_sum(float value) {
  static MHC_SHARED float of_wave[kWaves];
  const float sum = sum_over_bits<1, kWaveSize>(value);
  if (lane_id() == 0) of_wave[wave_id()] = sum;
  barrier();
  float total = 0;
#pragma unroll
  for (int wave = 0; wave < kWaves; ++wave) total += of_wave[wave];
  return total;
}

}  // namespace mhc

#pragma once

#include "kernels/mutants/base/lanes.h"
#include "kernels/mutants/base/shape.h"

namespace mutants {

// Everyone's sums, to everyone. Once a launch: nothing keeps a second call from the first one's LDS.
template <class P, int kCount>
__device__ void workgroup_sum(float (&sums)[kCount]) {
  constexpr int kWaves = kThreads / kWaveSize;
  __shared__ float of_wave[kWaves][kCount];
  for (int i = 0; i < kCount; ++i) {
    const float sum = P::wave_sum(sums[i]);
    if (lane_id() == 0) of_wave[wave_id()][i] = sum;
  }
  P::barrier();
  for (int i = 0; i < kCount; ++i) {
    sums[i] = 0;
    for (int wave = 0; wave < kWaves; ++wave) sums[i] += of_wave[wave][i];
  }
}

}  // namespace mutants

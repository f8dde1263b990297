// Mutants whose result depends on which wave or workgroup comes first. All but missing_barrier are right when
// they run one after the other.
#pragma once

#include "kernels/mutants/base/sums.h"

namespace mutants {

// Waves read what the others have not stored yet.
struct missing_barrier : CorrectSums {
  static __device__ void barrier() { __builtin_amdgcn_wave_barrier(); }
};

struct missing_barrier_last_wave_adds : missing_barrier {
  static __device__ int adding_wave() { return kWaves - 1; }
};

// Every wave stores the sum of squares that one of them owns; only that one stores the whole.
struct sqrsum_stored_by_every_wave : CorrectSums {
  static __device__ int adding_wave() { return wave_id(); }
  static __device__ float over_waves(const float (*of_wave)[kSums], int m) {
    const bool owner = m < kMixes || wave_id() == kWaves - 1;
    return owner ? CorrectSums::over_waves(of_wave, m) : of_wave[wave_id()][m];
  }
  static __device__ void store_sum(SumsOut out, int m, float sum) {
    if (m == kMixes || wave_id() == 0) CorrectSums::store_sum(out, m, sum);
  }
};

// One tile of LDS for one sum after the other, filled again while the adding wave may still read it.
struct tile_refilled_too_early : CorrectSums {
  template <class P>
  static __device__ void reduce(const float* sums, SumsOut out) {
    __shared__ float of_wave[kWaves];
    for (int m = 0; m < kSums; ++m) {
      const float sum = wave_sum(sums[m]);
      if (lane_id() == 0) of_wave[wave_id()] = sum;
      __syncthreads();
      if (threadIdx.x == 0) {
        float total = 0;
        for (int wave = 0; wave < kWaves; ++wave) total += of_wave[wave];
        store_sum(out, m, total);
      }
    }
  }
};

// Atomics add in the order in which the waves come. The sums begin at zero, which the launch sees to.
struct waves_added_by_atomics : CorrectSums {
  template <class P>
  static __device__ void reduce(const float* sums, SumsOut out) {
    for (int m = 0; m < kSums; ++m) {
      const float sum = wave_sum(sums[m]);
      if (lane_id() == 0) atomicAdd(m < kMixes ? out.mul + m : out.sqrsum, sum);
    }
  }
};

// Every split adds to the sums of the first, in the order in which workgroups come. Those of the others stay
// zero.
struct splits_added_by_atomics : CorrectSums {
  static __device__ void store_sum(SumsOut out, int m, float sum) {
    const size_t rows_before = static_cast<size_t>(blockIdx.y) * gridDim.x;
    atomicAdd(m < kMixes ? out.mul - rows_before * kMixes + m : out.sqrsum - rows_before, sum);
  }
};

}  // namespace mutants

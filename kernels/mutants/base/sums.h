// First launch of mhc_pre: gemm_out_mul[split,token,m] and gemm_out_sqrsum[split,token], each over the
// split's part of a row. Grid: tokens x splits.
#pragma once

#include "kernels/mutants/base/formats.h"
#include "kernels/mutants/base/lanes.h"
#include "kernels/mutants/base/shape.h"

namespace mutants {

struct Part {
  int begin, end;
};

// Where the sums of this workgroup go.
struct SumsOut {
  float* mul;  // kMixes of them
  float* sqrsum;
};

// What a mutant of this launch can break; this is how it is right.
struct CorrectSums {
  static constexpr int kWaves = kThreads / kWaveSize;

  static __device__ Part part_of(int split, int num_splits, int length) {
    const int part = (length + num_splits - 1) / num_splits;
    const int begin = min(split * part, length);
    return {begin, min(begin + part, length)};
  }
  static __device__ float element(const void* rows, size_t token, int k, int length, int format) {
    return load(rows, token * length + k, format);
  }
  static __device__ float weight(const float* fn, int m, int k, int length) {
    return fn[static_cast<size_t>(m) * length + k];
  }
  static __device__ float square(float value, int /*k*/, int /*length*/) { return value * value; }
  static __device__ float wave_sum(float value) { return lane_sum<1, kWaveSize>(value); }
  static __device__ void barrier() { __syncthreads(); }
  // The wave whose lanes add up what the waves found.
  static __device__ int adding_wave() { return 0; }
  static __device__ float over_waves(const float (*of_wave)[kSums], int m) {
    float sum = 0;
    for (int wave = 0; wave < kWaves; ++wave) sum += of_wave[wave][m];
    return sum;
  }
  static __device__ void store_sum(SumsOut out, int m, float sum) {
    if (m < kMixes) {
      out.mul[m] = sum;
    } else {
      *out.sqrsum = sum;
    }
  }

  // Every thread brings its own part of each sum.
  template <class P>
  static __device__ void reduce(const float* sums, SumsOut out) {
    __shared__ float of_wave[P::kWaves][kSums];
    for (int m = 0; m < kSums; ++m) {
      const float sum = P::wave_sum(sums[m]);
      if (lane_id() == 0) of_wave[wave_id()][m] = sum;
    }
    P::barrier();
    if (wave_id() == P::adding_wave() && lane_id() < kSums) {
      P::store_sum(out, lane_id(), P::over_waves(of_wave, lane_id()));
    }
  }
};

template <class P>
__device__ void sums(const void* rows, const float* fn, float* gemm_out_mul, float* gemm_out_sqrsum,
                     int num_tokens, int length, int format) {
  const size_t token = blockIdx.x, split = blockIdx.y;
  const Part part = P::part_of(blockIdx.y, gridDim.y, length);
  float sum[kSums] = {};
  for (int k = part.begin + threadIdx.x; k < part.end; k += P::kWaves * kWaveSize) {
    const float value = P::element(rows, token, k, length, format);
    for (int m = 0; m < kMixes; ++m) sum[m] += value * P::weight(fn, m, k, length);
    sum[kMixes] += P::square(value, k, length);
  }
  const size_t row = split * num_tokens + token;
  P::template reduce<P>(sum, {gemm_out_mul + row * kMixes, gemm_out_sqrsum + row});
}

}  // namespace mutants

// The launch called NAME; FUNCTION takes its arguments.
#define MHC_SUMS_KERNEL(NAME, FUNCTION)                                                           \
  extern "C" __global__ void __launch_bounds__(mutants::kThreads)                                 \
      sums_##NAME(const void* rows, const float* fn, float* gemm_out_mul, float* gemm_out_sqrsum, \
                  int num_tokens, int length, int format) {                                       \
    FUNCTION(rows, fn, gemm_out_mul, gemm_out_sqrsum, num_tokens, length, format);                \
  }
#define MHC_SUMS(MUTANT) MHC_SUMS_KERNEL(MUTANT, mutants::sums<mutants::MUTANT>)

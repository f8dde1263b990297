// rmsnorm alone, one workgroup a token, of rows with a stride of their own.
#pragma once

#include "kernels/mutants/base/formats.h"
#include "kernels/mutants/base/workgroup_sum.h"

namespace mutants {

struct NormArguments {
  const void* x;
  const void* norm_weight;
  void* y;
  int hidden_size;
  int row_stride;  // of x, in elements
  int format, weight_format;
  float norm_eps;

  __device__ float element(size_t token, int h) const { return load(x, token * row_stride + h, format); }
};

// What a mutant of this launch can break; this is how it is right.
struct CorrectNorm {
  static __device__ float summed(const NormArguments& a, size_t token, int h) { return a.element(token, h); }
  static __device__ float wave_sum(float value) { return lane_sum<1, kWaveSize>(value); }
  static __device__ void barrier() { __syncthreads(); }
  static __device__ float factor(const NormArguments& a, float sqrsum) {
    return 1.0f / sqrtf(sqrsum / static_cast<float>(a.hidden_size) + a.norm_eps);
  }
  static __device__ float normalised(const NormArguments& a, size_t token, int h) {
    return a.element(token, h);
  }
  static __device__ float weighted(const NormArguments&, float normed, float weight) {
    return normed * weight;
  }
};

template <class P>
__device__ void norm(const NormArguments& a) {
  const size_t token = blockIdx.x;
  float squares[1] = {};
  for (int h = threadIdx.x; h < a.hidden_size; h += kThreads) {
    const float x = P::summed(a, token, h);
    squares[0] += x * x;
  }
  workgroup_sum<P>(squares);
  const float factor = P::factor(a, squares[0]);
  for (int h = threadIdx.x; h < a.hidden_size; h += kThreads) {
    const float normed = P::normalised(a, token, h) * factor;
    store(a.y, token * a.hidden_size + h, a.format,
          P::weighted(a, normed, load(a.norm_weight, h, a.weight_format)));
  }
}

}  // namespace mutants

// The launch called NAME.
#define MHC_NORM_KERNEL(NAME, POLICY)                                                               \
  extern "C" __global__ void __launch_bounds__(mutants::kThreads)                                   \
      norm_##NAME(const void* x, const void* norm_weight, void* y, int hidden_size, int row_stride, \
                  int format, int weight_format, float norm_eps) {                                  \
    mutants::norm<mutants::POLICY>(                                                                 \
        {x, norm_weight, y, hidden_size, row_stride, format, weight_format, norm_eps});             \
  }
#define MHC_NORM(MUTANT) MHC_NORM_KERNEL(MUTANT, MUTANT)

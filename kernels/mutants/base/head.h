// hc_head in one launch, one workgroup a token: sums over K, gates, collapse.
#pragma once

#include "kernels/mutants/base/formats.h"
#include "kernels/mutants/base/gates.h"
#include "kernels/mutants/base/workgroup_sum.h"

namespace mutants {

struct HeadArguments {
  const void* residual;
  const float* fn;        // [kStreams, length]
  const float* hc_scale;  // one, for all streams
  const float* hc_base;
  void* layer_input;
  int hidden_size;
  int format;
  float rms_eps, hc_pre_eps;

  __device__ int length() const { return kStreams * hidden_size; }
};

// What a mutant of this launch can break; this is how it is right.
struct CorrectHead {
  static __device__ float weight(const HeadArguments& a, int j, int k) {
    return a.fn[static_cast<size_t>(j) * a.length() + k];
  }
  static __device__ float wave_sum(float value) { return lane_sum<1, kWaveSize>(value); }
  static __device__ void barrier() { __syncthreads(); }
  static __device__ float mean_square(const HeadArguments& a, float sqrsum) {
    return sqrsum / static_cast<float>(a.length());
  }
  static __device__ float scale(const HeadArguments& a, int /*j*/) { return a.hc_scale[0]; }
  static __device__ float pre(const HeadArguments& a, float logit) { return sigmoid(logit) + a.hc_pre_eps; }
  // Between the lanes that leave a token's gates in LDS and all that read them.
  static __device__ void barrier_of_gates() { __syncthreads(); }
  // The row's elements that are stored.
  static __device__ int stored(const HeadArguments& a) { return a.hidden_size; }
};

template <class P>
__device__ void head(const HeadArguments& a) {
  const size_t token = blockIdx.x;
  float sums[kStreams + 1] = {};  // the last one of squares
  for (int k = threadIdx.x; k < a.length(); k += kThreads) {
    const float value = load(a.residual, token * a.length() + k, a.format);
    for (int j = 0; j < kStreams; ++j) sums[j] += value * P::weight(a, j, k);
    sums[kStreams] += value * value;
  }
  workgroup_sum<P>(sums);
  const float inverse_rms = 1.0f / sqrtf(P::mean_square(a, sums[kStreams]) + a.rms_eps);

  __shared__ float gates[kStreams];
  for (int j = 0; j < kStreams; ++j) {
    if (threadIdx.x == j) gates[j] = P::pre(a, sums[j] * inverse_rms * P::scale(a, j) + a.hc_base[j]);
  }
  P::barrier_of_gates();
  for (int h = threadIdx.x; h < P::stored(a); h += kThreads) {
    float value = 0;
    for (int j = 0; j < kStreams; ++j)
      value += gates[j] * load(a.residual, (token * kStreams + j) * a.hidden_size + h, a.format);
    store(a.layer_input, token * a.hidden_size + h, a.format, value);
  }
}

}  // namespace mutants

// The launch called NAME.
#define MHC_HEAD_KERNEL(NAME, POLICY)                                                                 \
  extern "C" __global__ void __launch_bounds__(mutants::kThreads)                                     \
      head_##NAME(const void* residual, const float* fn, const float* hc_scale, const float* hc_base, \
                  void* layer_input, int hidden_size, int format, float rms_eps, float hc_pre_eps) {  \
    mutants::head<mutants::POLICY>(                                                                   \
        {residual, fn, hc_scale, hc_base, layer_input, hidden_size, format, rms_eps, hc_pre_eps});    \
  }
#define MHC_HEAD(MUTANT) MHC_HEAD_KERNEL(MUTANT, MUTANT)

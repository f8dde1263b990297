// next_residual[j,h] = post_mix[j] * x[h] + sum_i comb_mix[i,j] * residual[i,h], in fp32, rounded once.
//
// One workgroup a token; its threads share the hidden dimension. Any hidden_size.
#include <hip/hip_runtime.h>

#include "kernels/hip/shape.h"

namespace mhc {

template <class Element>
__device__ inline void post(const Element* x, const Element* residual, const float* post_mix,
                            const float* comb_mix, Element* next_residual, int hidden_size) {
  const size_t token = blockIdx.x;
  x += token * hidden_size;
  residual += token * kStreams * hidden_size;
  next_residual += token * kStreams * hidden_size;
  post_mix += token * kStreams;
  comb_mix += token * kStreams * kStreams;

  for (int h = threadIdx.x; h < hidden_size; h += kThreads) {
    float streams[kStreams];
    for (int i = 0; i < kStreams; ++i) streams[i] = static_cast<float>(residual[size_t(i) * hidden_size + h]);
    const float from_layer = static_cast<float>(x[h]);
    for (int j = 0; j < kStreams; ++j) {
      float sum = post_mix[j] * from_layer;
      for (int i = 0; i < kStreams; ++i) sum += comb_mix[i * kStreams + j] * streams[i];
      next_residual[size_t(j) * hidden_size + h] = static_cast<Element>(sum);
    }
  }
}

}  // namespace mhc

extern "C" __global__ void __launch_bounds__(mhc::kThreads)
    mhc_post_bf16(const __bf16* x, const __bf16* residual, const float* post_mix, const float* comb_mix,
                  __bf16* next_residual, int hidden_size) {
  mhc::post(x, residual, post_mix, comb_mix, next_residual, hidden_size);
}

extern "C" __global__ void __launch_bounds__(mhc::kThreads)
    mhc_post_fp16(const _Float16* x, const _Float16* residual, const float* post_mix, const float* comb_mix,
                  _Float16* next_residual, int hidden_size) {
  mhc::post(x, residual, post_mix, comb_mix, next_residual, hidden_size);
}

// hc_collapse, one workgroup a token, of a residual with strides of its own.
#pragma once

#include "kernels/mutants/base/formats.h"
#include "kernels/mutants/base/shape.h"

namespace mutants {

struct CollapseArguments {
  const void* residual;
  const float* pre_mix;
  void* layer_input;
  int num_tokens, hidden_size;
  int token_stride, stream_stride;  // of residual, in elements
  int format;
};

// What a mutant of this launch can break; this is how it is right.
struct CorrectCollapse {
  static __device__ float pre(const CollapseArguments& a, size_t token, int j) {
    return a.pre_mix[token * kStreams + j];
  }
  // Of a residual element, from the tensor's first.
  static __device__ ptrdiff_t place(const CollapseArguments& a, size_t token, int j, int h) {
    return token * a.token_stride + static_cast<size_t>(j) * a.stream_stride + h;
  }
  static __device__ float added(const CollapseArguments&, float sum, float term) { return sum + term; }
};

template <class P>
__device__ void collapse(const CollapseArguments& a) {
  const size_t token = blockIdx.x;
  for (int h = threadIdx.x; h < a.hidden_size; h += kThreads) {
    float value = 0;
    for (int j = 0; j < kStreams; ++j) {
      const float element = load(a.residual, P::place(a, token, j, h), a.format);
      value = P::added(a, value, P::pre(a, token, j) * element);
    }
    store(a.layer_input, token * a.hidden_size + h, a.format, value);
  }
}

}  // namespace mutants

// The launch called NAME.
#define MHC_COLLAPSE_KERNEL(NAME, POLICY)                                                                \
  extern "C" __global__ void __launch_bounds__(mutants::kThreads)                                        \
      collapse_##NAME(const void* residual, const float* pre_mix, void* layer_input, int num_tokens,     \
                      int hidden_size, int token_stride, int stream_stride, int format) {                \
    mutants::collapse<mutants::POLICY>(                                                                  \
        {residual, pre_mix, layer_input, num_tokens, hidden_size, token_stride, stream_stride, format}); \
  }
#define MHC_COLLAPSE(MUTANT) MHC_COLLAPSE_KERNEL(MUTANT, MUTANT)

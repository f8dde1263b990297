// mhc_post, one workgroup a token.
#pragma once

#include "kernels/mutants/base/formats.h"
#include "kernels/mutants/base/lanes.h"
#include "kernels/mutants/base/shape.h"

namespace mutants {

// What a mutant of this launch can break; this is how it is right.
struct CorrectPost {
  static __device__ float post(const float* post_mix, size_t token, int j) {
    return post_mix[token * kStreams + j];
  }
  static __device__ float comb(const float* comb_mix, size_t token, int i, int j) {
    return comb_mix[(token * kStreams + i) * kStreams + j];
  }
  static __device__ size_t x_row(size_t token) { return token; }
  // Of a residual element, counted from the tensor's first.
  static __device__ size_t place(size_t element) { return element; }
  static __device__ void store_element(void* next_residual, const void* /*residual*/, size_t index,
                                       int format, float value) {
    store(next_residual, index, format, value);
  }
};

template <class P>
__device__ void post(const void* x, const void* residual, const float* post_mix, const float* comb_mix,
                     void* next_residual, int hidden_size, int format, int out_format) {
  const size_t token = blockIdx.x;
  for (int h = threadIdx.x; h < hidden_size; h += kThreads) {
    const auto place = [&](int j) { return (token * kStreams + j) * hidden_size + h; };
    float streams[kStreams];
    for (int i = 0; i < kStreams; ++i) streams[i] = load(residual, P::place(place(i)), format);
    const float from_layer = load(x, P::x_row(token) * hidden_size + h, format);
    for (int j = 0; j < kStreams; ++j) {
      float sum = P::post(post_mix, token, j) * from_layer;
      for (int i = 0; i < kStreams; ++i) sum += P::comb(comb_mix, token, i, j) * streams[i];
      P::store_element(next_residual, residual, place(j), out_format, sum);
    }
  }
}

}  // namespace mutants

// The launch called NAME; FUNCTION takes its arguments.
#define MHC_POST_KERNEL(NAME, FUNCTION)                                                              \
  extern "C" __global__ void __launch_bounds__(mutants::kThreads)                                    \
      post_##NAME(const void* x, const void* residual, const float* post_mix, const float* comb_mix, \
                  void* next_residual, int hidden_size, int format, int out_format) {                \
    FUNCTION(x, residual, post_mix, comb_mix, next_residual, hidden_size, format, out_format);       \
  }
#define MHC_POST(MUTANT) MHC_POST_KERNEL(MUTANT, mutants::post<mutants::MUTANT>)

// hc_expand, one workgroup a token.
#pragma once

#include "kernels/mutants/base/formats.h"
#include "kernels/mutants/base/shape.h"

namespace mutants {

struct ExpandArguments {
  const void* x;
  void* residual;
  int num_tokens, hidden_size;
  int format;
};

// What a mutant of this launch can break; this is how it is right.
struct CorrectExpand {
  // The token whose x a stream gets.
  static __device__ size_t source(const ExpandArguments&, size_t token, int /*j*/) { return token; }
  static __device__ float copied(const ExpandArguments&, float value) { return value; }
  // In the residual.
  static __device__ size_t place(const ExpandArguments& a, size_t token, int j, int h) {
    return (token * kStreams + j) * a.hidden_size + h;
  }
  static __device__ int streams() { return kStreams; }
};

template <class P>
__device__ void expand(const ExpandArguments& a) {
  const size_t token = blockIdx.x;
  for (int h = threadIdx.x; h < a.hidden_size; h += kThreads) {
    for (int j = 0; j < P::streams(); ++j) {
      const float value = load(a.x, P::source(a, token, j) * a.hidden_size + h, a.format);
      store(a.residual, P::place(a, token, j, h), a.format, P::copied(a, value));
    }
  }
}

}  // namespace mutants

// The launch called NAME.
#define MHC_EXPAND_KERNEL(NAME, POLICY)                                                           \
  extern "C" __global__ void __launch_bounds__(mutants::kThreads)                                 \
      expand_##NAME(const void* x, void* residual, int num_tokens, int hidden_size, int format) { \
    mutants::expand<mutants::POLICY>({x, residual, num_tokens, hidden_size, format});             \
  }
#define MHC_EXPAND(MUTANT) MHC_EXPAND_KERNEL(MUTANT, MUTANT)

// sinkhorn alone: sixteen tokens a workgroup, a lane an element.
#pragma once

#include "kernels/mutants/base/gates.h"

namespace mutants {

constexpr int kMatrix = kStreams * kStreams;  // elements of a token's comb
constexpr int kTokensOfGroup = kThreads / kMatrix;

struct SinkhornArguments {
  const float* logits;
  float* comb_mix;
  int num_tokens;
  float hc_sinkhorn_eps;
  int sinkhorn_repeat;
};

// What a mutant of this launch can break; this is how it is right.
struct CorrectSinkhorn {
  static __device__ bool takes(const SinkhornArguments& a, size_t token) { return token < a.num_tokens; }
  static __device__ size_t place(size_t token, int element) { return token * kMatrix + element; }
  static __device__ float balanced(const SinkhornArguments& a, float logit) {
    return balance(logit, a.hc_sinkhorn_eps, a.sinkhorn_repeat);
  }
};

template <class P>
__device__ void sinkhorn(const SinkhornArguments& a) {
  const size_t token = static_cast<size_t>(blockIdx.x) * kTokensOfGroup + threadIdx.x / kMatrix;
  const int element = threadIdx.x % kMatrix;
  const bool taken = P::takes(a, token);
  // Lanes without a token take part in the exchanges.
  const float comb = P::balanced(a, taken ? a.logits[P::place(token, element)] : 0.0f);
  if (taken) a.comb_mix[token * kMatrix + element] = comb;
}

}  // namespace mutants

// The launch called NAME.
#define MHC_SINKHORN_KERNEL(NAME, POLICY)                                                                 \
  extern "C" __global__ void __launch_bounds__(mutants::kThreads) sinkhorn_##NAME(                        \
      const float* logits, float* comb_mix, int num_tokens, float hc_sinkhorn_eps, int sinkhorn_repeat) { \
    mutants::sinkhorn<mutants::POLICY>({logits, comb_mix, num_tokens, hc_sinkhorn_eps, sinkhorn_repeat}); \
  }
#define MHC_SINKHORN(MUTANT) MHC_SINKHORN_KERNEL(MUTANT, MUTANT)

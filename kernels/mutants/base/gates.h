// From logits to gates and to comb.
#pragma once

#include "kernels/mutants/base/lanes.h"
#include "kernels/mutants/base/shape.h"

namespace mutants {

__device__ inline float sigmoid(float z) { return 1.0f / (1.0f + expf(-z)); }

// Sums over one 4 x 4 matrix, element i*4+j in every lane whose number ends in those four bits.
__device__ inline float sum_over_j(float c) { return lane_sum<1, kStreams>(c); }
__device__ inline float sum_over_i(float c) { return lane_sum<kStreams, kStreams * kStreams>(c); }

__device__ inline float softmax_over_j(float logit) {
  const float e = expf(logit - lane_max<1, kStreams>(logit));
  return e / sum_over_j(e);
}

// Sinkhorn's balance of such a matrix.
__device__ inline float balance(float logit, float eps, int repeat) {
  float c = softmax_over_j(logit) + eps;
  c = c / (sum_over_i(c) + eps);
  for (int pass = 1; pass < repeat; ++pass) {
    c = c / (sum_over_j(c) + eps);
    c = c / (sum_over_i(c) + eps);
  }
  return c;
}

}  // namespace mutants

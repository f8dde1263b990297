// Mutants of rmsnorm alone.
#pragma once

#include "kernels/mutants/base/norm.h"

namespace mutants {

// One of the two passes over a row knows its stride.
struct second_pass_ignores_row_stride : CorrectNorm {
  static __device__ float normalised(const NormArguments& a, size_t token, int h) {
    return load(a.x, token * a.hidden_size + h, a.format);
  }
};

// Two roundings: of what is normalised, and of its product with the weight.
struct rmsnorm_rounded_before_the_weight : CorrectNorm {
  static __device__ float weighted(const NormArguments& a, float normed, float weight) {
    return rounded(normed, a.format) * weight;
  }
};

// The mean over a block of threads' elements, which reaches beyond the row.
struct rmsnorm_mean_over_a_power_of_two : CorrectNorm {
  static __device__ float factor(NormArguments a, float sqrsum) {
    int block = 1;
    while (block < a.hidden_size) block *= 2;
    a.hidden_size = block;
    return CorrectNorm::factor(a, sqrsum);
  }
};

struct norm_eps_built_in : CorrectNorm {
  static __device__ float factor(NormArguments a, float sqrsum) {
    a.norm_eps = 1e-5f;
    return CorrectNorm::factor(a, sqrsum);
  }
};

}  // namespace mutants

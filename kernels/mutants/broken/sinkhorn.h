// Mutants of sinkhorn alone.
#pragma once

#include "kernels/mutants/base/sinkhorn.h"

namespace mutants {

// The stride of a row where that of a matrix belongs.
struct matrices_one_row_apart : CorrectSinkhorn {
  static __device__ size_t place(size_t token, int element) { return token * kStreams + element; }
};

// Stops when the rows are near 1 as well, whatever number of passes was asked for.
struct sinkhorn_stops_when_rows_agree : CorrectSinkhorn {
  static __device__ float balanced(const SinkhornArguments& a, float logit) {
    constexpr float kNear = 1e-3f;
    const float eps = a.hc_sinkhorn_eps;
    float c = balance(logit, eps, 1);
    for (int pass = 1; pass < a.sinkhorn_repeat; ++pass) {
      const float row = sum_over_j(c);
      const float off = lane_max<kStreams, kMatrix>(fabsf(row - 1.0f));
      const float next = c / (row + eps);
      const float balanced = next / (sum_over_i(next) + eps);
      if (off > kNear) c = balanced;
    }
    return c;
  }
};

struct hc_sinkhorn_eps_in_the_sum_of_exponentials : CorrectSinkhorn {
  static __device__ float balanced(const SinkhornArguments& a, float logit) {
    const float eps = a.hc_sinkhorn_eps;
    const float e = expf(logit - lane_max<1, kStreams>(logit));
    float c = e / (sum_over_j(e) + eps);
    c = c / (sum_over_i(c) + eps);
    for (int pass = 1; pass < a.sinkhorn_repeat; ++pass) {
      c = c / (sum_over_j(c) + eps);
      c = c / (sum_over_i(c) + eps);
    }
    return c;
  }
};

// On logarithms, where eps has no place.
struct sinkhorn_of_logarithms : CorrectSinkhorn {
  static __device__ float balanced(const SinkhornArguments& a, float logit) {
    const auto over_j = [](float z) {
      const float most = lane_max<1, kStreams>(z);
      return most + logf(sum_over_j(expf(z - most)));
    };
    const auto over_i = [](float z) {
      const float most = lane_max<kStreams, kMatrix>(z);
      return most + logf(sum_over_i(expf(z - most)));
    };
    for (int pass = 0; pass < a.sinkhorn_repeat; ++pass) {
      logit -= over_j(logit);
      logit -= over_i(logit);
    }
    return expf(logit);
  }
};

// A last group of fewer tokens is left out.
struct sinkhorn_of_whole_groups_only : CorrectSinkhorn {
  static __device__ bool takes(const SinkhornArguments& a, size_t token) {
    return (token / kTokensOfGroup + 1) * kTokensOfGroup <= a.num_tokens;
  }
};

// It is filled up with tokens that are not there.
struct sinkhorn_of_phantom_tokens : CorrectSinkhorn {
  static __device__ bool takes(const SinkhornArguments&, size_t) { return true; }
};

}  // namespace mutants

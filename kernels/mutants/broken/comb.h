// Mutants of the Sinkhorn balance.
#pragma once

#include "kernels/mutants/base/finish.h"

namespace mutants {

struct sinkhorn_one_pass_short : CorrectFinish {
  static __device__ float sinkhorn(FinishArguments a, float logit) {
    --a.sinkhorn_repeat;
    return CorrectFinish::sinkhorn(a, logit);
  }
};

struct sinkhorn_always_twenty_passes : CorrectFinish {
  static __device__ float sinkhorn(FinishArguments a, float logit) {
    a.sinkhorn_repeat = 20;
    return CorrectFinish::sinkhorn(a, logit);
  }
};

struct sinkhorn_rows_first : CorrectFinish {
  static __device__ float sinkhorn(const FinishArguments& a, float logit) {
    const float eps = a.hc_sinkhorn_eps;
    float c = softmax_over_j(logit) + eps;
    for (int pass = 0; pass < a.sinkhorn_repeat; ++pass) {
      c = c / (sum_over_j(c) + eps);
      c = c / (sum_over_i(c) + eps);
    }
    return c;
  }
};

struct softmax_along_the_wrong_axis : CorrectFinish {
  static __device__ float sinkhorn(const FinishArguments& a, float logit) {
    const float eps = a.hc_sinkhorn_eps;
    const float e = expf(logit - lane_max<kStreams, kStreams * kStreams>(logit));
    float c = e / sum_over_i(e) + eps;
    c = c / (sum_over_i(c) + eps);
    for (int pass = 1; pass < a.sinkhorn_repeat; ++pass) {
      c = c / (sum_over_j(c) + eps);
      c = c / (sum_over_i(c) + eps);
    }
    return c;
  }
};

struct sinkhorn_ends_with_rows : CorrectFinish {
  static __device__ float sinkhorn(const FinishArguments& a, float logit) {
    const float eps = a.hc_sinkhorn_eps;
    float c = softmax_over_j(logit) + eps;
    if (a.sinkhorn_repeat > 1) c = c / (sum_over_i(c) + eps);
    for (int pass = 1; pass < a.sinkhorn_repeat; ++pass) {
      c = c / (sum_over_j(c) + eps);
      if (pass + 1 < a.sinkhorn_repeat) c = c / (sum_over_i(c) + eps);
    }
    return c;
  }
};

struct hc_sinkhorn_eps_left_out : CorrectFinish {
  static __device__ float sinkhorn(FinishArguments a, float logit) {
    a.hc_sinkhorn_eps = 0;
    return CorrectFinish::sinkhorn(a, logit);
  }
};

struct hc_sinkhorn_eps_not_in_softmax : CorrectFinish {
  static __device__ float sinkhorn(const FinishArguments& a, float logit) {
    const float eps = a.hc_sinkhorn_eps;
    float c = softmax_over_j(logit);
    c = c / (sum_over_i(c) + eps);
    for (int pass = 1; pass < a.sinkhorn_repeat; ++pass) {
      c = c / (sum_over_j(c) + eps);
      c = c / (sum_over_i(c) + eps);
    }
    return c;
  }
};

struct hc_sinkhorn_eps_not_in_the_sums : CorrectFinish {
  static __device__ float sinkhorn(const FinishArguments& a, float logit) {
    float c = softmax_over_j(logit) + a.hc_sinkhorn_eps;
    c = c / sum_over_i(c);
    for (int pass = 1; pass < a.sinkhorn_repeat; ++pass) {
      c = c / sum_over_j(c);
      c = c / sum_over_i(c);
    }
    return c;
  }
};

struct comb_stored_transposed : CorrectFinish {
  static __device__ int comb_place(int element) { return element % kStreams * kStreams + element / kStreams; }
};

}  // namespace mutants

// Mutants between the sums over K and the gates: splits, mean, eps, scale, base, post multiplier.
#pragma once

#include "kernels/mutants/base/finish.h"

namespace mutants {

// The sum over the splits, a term for each.
template <class Term>
__device__ float over_splits(int begin, int end, Term term) {
  float sum = 0;
  for (int split = begin; split < end; ++split) sum += term(split);
  return sum;
}

__device__ inline float partial_sum(const FinishArguments& a, size_t token, int m, size_t split) {
  const size_t row = split * a.num_tokens + token;
  return m < kMixes ? a.gemm_out_mul[row * kMixes + m] : a.gemm_out_sqrsum[row];
}

struct split_lost : CorrectFinish {
  static __device__ float total(const FinishArguments& a, size_t token, int m) {
    return over_splits(0, a.num_splits - 1, [&](int split) { return partial_sum(a, token, m, split); });
  }
};

struct split_counted_twice : CorrectFinish {
  static __device__ float total(const FinishArguments& a, size_t token, int m) {
    return CorrectFinish::total(a, token, m) + partial_sum(a, token, m, a.num_splits - 1);
  }
};

// A loop unrolled for a power of two of splits.
struct split_read_past_the_end : CorrectFinish {
  static __device__ float total(const FinishArguments& a, size_t token, int m) {
    int splits = 1;
    while (splits < a.num_splits) splits *= 2;
    return over_splits(0, splits, [&](int split) { return partial_sum(a, token, m, split); });
  }
};

// [T,S,M] read where [S,T,M] was written.
struct splits_and_tokens_confused : CorrectFinish {
  static __device__ float total(const FinishArguments& a, size_t token, int m) {
    return over_splits(0, a.num_splits, [&](int split) {
      const size_t row = token * a.num_splits + split;
      return m < kMixes ? a.gemm_out_mul[row * kMixes + m] : a.gemm_out_sqrsum[row];
    });
  }
};

struct mix_of_the_neighbour_token : CorrectFinish {
  static __device__ float total(const FinishArguments& a, size_t token, int m) {
    return CorrectFinish::total(a, (token ^ 1) < a.num_tokens ? token ^ 1 : token, m);
  }
};

// A mask that multiplies: right for every finite number.
struct other_tokens_times_zero : CorrectFinish {
  static __device__ float total(const FinishArguments& a, size_t token, int m) {
    return CorrectFinish::total(a, token, m) + 0.0f * CorrectFinish::total(a, a.num_tokens - 1, m);
  }
};

struct mean_over_hidden_size : CorrectFinish {
  static __device__ float inverse_rms(const FinishArguments& a, float sqrsum) {
    return 1.0f / sqrtf(sqrsum / static_cast<float>(a.hidden_size) + a.rms_eps);
  }
};

struct mean_over_all_streams : CorrectFinish {
  static __device__ float inverse_rms(const FinishArguments& a, float sqrsum) {
    return 1.0f / sqrtf(sqrsum / static_cast<float>(kStreams * a.hidden_size) + a.rms_eps);
  }
};

// As a variance without bias does.
struct mean_over_one_less : CorrectFinish {
  static __device__ float inverse_rms(const FinishArguments& a, float sqrsum) {
    return 1.0f / sqrtf(sqrsum / static_cast<float>(a.length - 1) + a.rms_eps);
  }
};

struct rms_eps_left_out : CorrectFinish {
  static __device__ float inverse_rms(const FinishArguments& a, float sqrsum) {
    return 1.0f / sqrtf(sqrsum / static_cast<float>(a.length));
  }
};

struct rms_eps_outside_the_root : CorrectFinish {
  static __device__ float inverse_rms(const FinishArguments& a, float sqrsum) {
    return 1.0f / (sqrtf(sqrsum / static_cast<float>(a.length)) + a.rms_eps);
  }
};

struct rms_eps_before_the_division : CorrectFinish {
  static __device__ float inverse_rms(const FinishArguments& a, float sqrsum) {
    return 1.0f / sqrtf((sqrsum + a.rms_eps) / static_cast<float>(a.length));
  }
};

struct inverse_rms_rounded_to_bf16 : CorrectFinish {
  static __device__ float inverse_rms(const FinishArguments& a, float sqrsum) {
    return rounded(CorrectFinish::inverse_rms(a, sqrsum), kBf16);
  }
};

struct scale_of_the_wrong_group : CorrectFinish {
  static __device__ int scale_of(int m) { return m < kStreams ? 1 : m < 2 * kStreams ? 0 : 2; }
};

struct base_of_the_wrong_group : CorrectFinish {
  static __device__ int base_of(int m) { return m < 2 * kStreams ? m ^ kStreams : m; }
};

struct base_offset_by_one : CorrectFinish {
  static __device__ int base_of(int m) { return (m + 1) % kMixes; }
};

struct hc_pre_eps_left_out : CorrectFinish {
  static __device__ float pre(const FinishArguments&, float logit) { return sigmoid(logit); }
};

struct hc_pre_eps_inside_the_gate : CorrectFinish {
  static __device__ float pre(const FinishArguments& a, float logit) { return sigmoid(logit + a.hc_pre_eps); }
};

struct next_pre_mix_without_eps : CorrectFinish {
  static __device__ float next_pre(const FinishArguments& a, float pre) { return pre - a.hc_pre_eps; }
};

// What the sublayer before handed on is handed on again.
struct pre_mix_handed_on_unchanged : CorrectFinish {
  static __device__ float next_pre(const FinishArguments& a, float) {
    return a.pre_mix[blockIdx.x * kStreams + lane_id() % kStreams];
  }
};

struct post_multiplier_ignored : CorrectFinish {
  static __device__ float post(const FinishArguments&, float logit) { return sigmoid(logit); }
};

struct post_multiplier_on_the_logit : CorrectFinish {
  static __device__ float post(const FinishArguments& a, float logit) {
    return sigmoid(logit * a.hc_post_mult_value);
  }
};

}  // namespace mutants

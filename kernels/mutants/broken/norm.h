// Mutants of the fused rmsnorm.
#pragma once

#include "kernels/mutants/base/finish.h"

namespace mutants {

struct norm_eps_left_out : CorrectFinish {
  static __device__ float norm_factor(const FinishArguments& a, float sqrsum) {
    return 1.0f / sqrtf(sqrsum / static_cast<float>(a.hidden_size));
  }
};

struct norm_eps_outside_the_root : CorrectFinish {
  static __device__ float norm_factor(const FinishArguments& a, float sqrsum) {
    return 1.0f / (sqrtf(sqrsum / static_cast<float>(a.hidden_size)) + a.norm_eps);
  }
};

struct norm_eps_as_a_floor : CorrectFinish {
  static __device__ float norm_factor(const FinishArguments& a, float sqrsum) {
    return 1.0f / sqrtf(__builtin_fmaxf(sqrsum / static_cast<float>(a.hidden_size), a.norm_eps));
  }
};

struct norm_mean_over_all_streams : CorrectFinish {
  static __device__ float norm_factor(const FinishArguments& a, float sqrsum) {
    return 1.0f / sqrtf(sqrsum / static_cast<float>(kStreams * a.hidden_size) + a.norm_eps);
  }
};

struct norm_divides_by_one_less : CorrectFinish {
  static __device__ float norm_factor(const FinishArguments& a, float sqrsum) {
    return 1.0f / sqrtf(sqrsum / static_cast<float>(a.hidden_size - 1) + a.norm_eps);
  }
};

struct norm_half_wave_reduced : CorrectFinish {
  static __device__ float wave_sum(float value) { return lane_sum<1, 32>(value); }
};

struct norm_of_the_unrounded_collapse : CorrectFinish {
  static __device__ float squared(float collapsed, int) { return collapsed; }
  static __device__ float normalised(float collapsed, int) { return collapsed; }
};

struct norm_squares_before_rounding : CorrectFinish {
  static __device__ float squared(float collapsed, int) { return collapsed; }
};

struct norm_weight_offset_by_one : CorrectFinish {
  static __device__ float weight(const FinishArguments& a, int h) {
    return CorrectFinish::weight(a, (h + 1) % a.hidden_size);
  }
};

struct norm_weight_in_the_streams_format : CorrectFinish {
  static __device__ float weight(const FinishArguments& a, int h) {
    // fp32 weights are wider: the first half of the tensor is read.
    return load(a.norm_weight, h, a.format);
  }
};

struct norm_weight_plus_one : CorrectFinish {
  static __device__ float weight(const FinishArguments& a, int h) {
    return 1.0f + CorrectFinish::weight(a, h);
  }
};

}  // namespace mutants

// Mutants of hc_head.
#pragma once

#include "kernels/mutants/base/head.h"

namespace mutants {

// mhc_pre has three scales, the head has one.
struct head_scale_of_each_stream : CorrectHead {
  static __device__ float scale(const HeadArguments& a, int j) { return a.hc_scale[j]; }
};

struct head_eps_left_out : CorrectHead {
  static __device__ float pre(const HeadArguments&, float logit) { return sigmoid(logit); }
};

// The gate of mhc_pre's post, with the multiplier that the model has.
struct head_gate_doubled : CorrectHead {
  static __device__ float pre(const HeadArguments& a, float logit) {
    return 2.0f * sigmoid(logit) + a.hc_pre_eps;
  }
};

struct head_mean_over_hidden_size : CorrectHead {
  static __device__ float mean_square(const HeadArguments& a, float sqrsum) {
    return sqrsum / static_cast<float>(a.hidden_size);
  }
};

// The first wave finds its gates in LDS; whether the others do is a matter of who comes first.
struct head_gates_read_before_the_barrier : CorrectHead {
  static __device__ void barrier_of_gates() { __builtin_amdgcn_wave_barrier(); }
};

// Stores of eight elements, and none for what is left of the row.
struct head_stores_whole_vectors_only : CorrectHead {
  static constexpr int kVector = 8;
  static __device__ int stored(const HeadArguments& a) { return a.hidden_size / kVector * kVector; }
};

}  // namespace mutants

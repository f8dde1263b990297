// Second launch of mhc_pre and mhc_pre_delayed: mixes from the finished sums, split, Sinkhorn, collapse,
// rmsnorm. One workgroup a token; every wave computes the mixes for itself, lane m mix m.
#pragma once

#include "kernels/mutants/base/formats.h"
#include "kernels/mutants/base/gates.h"
#include "kernels/mutants/base/lanes.h"
#include "kernels/mutants/base/shape.h"
#include "kernels/mutants/base/workgroup_sum.h"

namespace mutants {

// What the collapse of a token weighs its streams with.
enum Collapse : int { kThisPre = 0, kPreviousPre = 1, kFirstStream = 2 };

struct FinishArguments {
  const float* gemm_out_mul;
  const float* gemm_out_sqrsum;
  const void* residual;
  const float* pre_mix;  // of the sublayer before; kPreviousPre only
  const float* hc_scale;
  const float* hc_base;
  const void* norm_weight;  // null: no rmsnorm
  float* post_mix;          // null in head mode, as comb_mix
  float* comb_mix;
  void* layer_input;
  float* next_pre_mix;  // null where the operator has none
  int num_tokens, hidden_size;
  int length;  // of the projected rows
  int num_splits;
  int collapse;  // Collapse
  int format, weight_format;
  float rms_eps, hc_pre_eps, hc_sinkhorn_eps, hc_post_mult_value, norm_eps;
  int sinkhorn_repeat;
};

// What a mutant of this launch can break; this is how it is right.
struct CorrectFinish {
  // ---- mixes ----
  static __device__ float total(const FinishArguments& a, size_t token, int m) {
    float sum = 0;
    for (size_t split = 0; split < a.num_splits; ++split) {
      const size_t row = split * a.num_tokens + token;
      sum += m < kMixes ? a.gemm_out_mul[row * kMixes + m] : a.gemm_out_sqrsum[row];
    }
    return sum;
  }
  static __device__ float inverse_rms(const FinishArguments& a, float sqrsum) {
    return 1.0f / sqrtf(sqrsum / static_cast<float>(a.length) + a.rms_eps);
  }

  // ---- split ----
  static __device__ int scale_of(int m) { return m < kStreams ? 0 : m < 2 * kStreams ? 1 : 2; }
  static __device__ int base_of(int m) { return m; }
  static __device__ float pre(const FinishArguments& a, float logit) { return sigmoid(logit) + a.hc_pre_eps; }
  static __device__ float post(const FinishArguments& a, float logit) {
    return sigmoid(logit) * a.hc_post_mult_value;
  }
  static __device__ float next_pre(const FinishArguments&, float pre) { return pre; }

  // ---- comb ----
  static __device__ float sinkhorn(const FinishArguments& a, float logit) {
    return balance(logit, a.hc_sinkhorn_eps, a.sinkhorn_repeat);
  }
  static __device__ int comb_place(int element) { return element; }

  // ---- collapse ----
  static __device__ bool writes(const FinishArguments&, size_t /*token*/) { return true; }
  static __device__ int collapse(const FinishArguments& a) { return a.collapse; }
  static __device__ float stream_weight(const FinishArguments& a, size_t token, int j, float pre) {
    return a.collapse == kThisPre ? pre : a.pre_mix[token * kStreams + j];
  }
  static __device__ void store_element(const FinishArguments& a, size_t row, int h, float value) {
    store(a.layer_input, row + h, a.format, value);
  }

  // ---- rmsnorm ----
  static __device__ float squared(float collapsed, int format) { return rounded(collapsed, format); }
  static __device__ float normalised(float collapsed, int format) { return rounded(collapsed, format); }
  static __device__ float wave_sum(float value) { return lane_sum<1, kWaveSize>(value); }
  static __device__ void barrier() { __syncthreads(); }
  static __device__ float norm_factor(const FinishArguments& a, float sqrsum) {
    return 1.0f / sqrtf(sqrsum / static_cast<float>(a.hidden_size) + a.norm_eps);
  }
  static __device__ float weight(const FinishArguments& a, int h) {
    return load(a.norm_weight, h, a.weight_format);
  }
};

template <class P>
__device__ void finish(const FinishArguments& a) {
  const size_t token = blockIdx.x;
  const int lane = lane_id(), m = min(lane, kMixes - 1);
  const float sum = lane < kSums ? P::total(a, token, lane) : 0.0f;
  const float mix = sum * P::inverse_rms(a, from_lane(sum, kMixes));
  const float logit = mix * a.hc_scale[P::scale_of(m)] + a.hc_base[P::base_of(m)];

  if (!P::writes(a, token)) return;  // the whole workgroup or nobody
  if (a.post_mix != nullptr) {
    const float comb = P::sinkhorn(a, from_lane(logit, 2 * kStreams + lane % (kStreams * kStreams)));
    if (wave_id() == 0) {
      if (lane >= kStreams && lane < 2 * kStreams) {
        a.post_mix[token * kStreams + lane - kStreams] = P::post(a, logit);
      }
      if (lane < kStreams * kStreams) a.comb_mix[token * kStreams * kStreams + P::comb_place(lane)] = comb;
    }
  }
  const float pre = P::pre(a, logit);
  if (a.next_pre_mix != nullptr && threadIdx.x < kStreams) {
    a.next_pre_mix[token * kStreams + lane] = P::next_pre(a, pre);
  }

  float weights[kStreams];
  const bool first_stream = P::collapse(a) == kFirstStream;
  for (int j = 0; j < kStreams; ++j) {
    const float this_pre = from_lane(pre, j);
    weights[j] = first_stream ? 0.0f : P::stream_weight(a, token, j, this_pre);
  }
  const auto collapsed = [&](int h) {
    const size_t first = token * kStreams * a.hidden_size + h;
    if (first_stream) return load(a.residual, first, a.format);
    float value = 0;
    for (size_t j = 0; j < kStreams; ++j)
      value += weights[j] * load(a.residual, first + j * a.hidden_size, a.format);
    return value;
  };

  const size_t row = token * a.hidden_size;
  if (a.norm_weight == nullptr) {
    for (int h = threadIdx.x; h < a.hidden_size; h += kThreads) P::store_element(a, row, h, collapsed(h));
    return;
  }
  float squares[1] = {};
  for (int h = threadIdx.x; h < a.hidden_size; h += kThreads) {
    const float y = P::squared(collapsed(h), a.format);
    squares[0] += y * y;
  }
  workgroup_sum<P>(squares);
  const float factor = P::norm_factor(a, squares[0]);
  for (int h = threadIdx.x; h < a.hidden_size; h += kThreads) {
    const float y = P::normalised(collapsed(h), a.format) * factor * P::weight(a, h);
    P::store_element(a, row, h, y);
  }
}

}  // namespace mutants

// The launch called NAME; FUNCTION takes its arguments.
#define MHC_FINISH_KERNEL(NAME, FUNCTION)                                                                   \
  extern "C" __global__ void __launch_bounds__(mutants::kThreads) finish_##NAME(                            \
      const float* gemm_out_mul, const float* gemm_out_sqrsum, const void* residual, const float* pre_mix,  \
      const float* hc_scale, const float* hc_base, const void* norm_weight, float* post_mix,                \
      float* comb_mix, void* layer_input, float* next_pre_mix, int num_tokens, int hidden_size, int length, \
      int num_splits, int collapse, int format, int weight_format, float rms_eps, float hc_pre_eps,         \
      float hc_sinkhorn_eps, float hc_post_mult_value, float norm_eps, int sinkhorn_repeat) {               \
    FUNCTION({gemm_out_mul,    gemm_out_sqrsum,                                                             \
              residual,        pre_mix,                                                                     \
              hc_scale,        hc_base,                                                                     \
              norm_weight,     post_mix,                                                                    \
              comb_mix,        layer_input,                                                                 \
              next_pre_mix,    num_tokens,                                                                  \
              hidden_size,     length,                                                                      \
              num_splits,      collapse,                                                                    \
              format,          weight_format,                                                               \
              rms_eps,         hc_pre_eps,                                                                  \
              hc_sinkhorn_eps, hc_post_mult_value,                                                          \
              norm_eps,        sinkhorn_repeat});                                                           \
  }
#define MHC_FINISH(MUTANT) MHC_FINISH_KERNEL(MUTANT, mutants::finish<mutants::MUTANT>)

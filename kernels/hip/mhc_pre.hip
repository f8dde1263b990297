// mhc_pre in two launches, as production does it: the projection with its sum of squares, split over K, and
// then everything that needs the finished sums: split, Sinkhorn, collapse.
#include <hip/hip_runtime.h>

#include "kernels/hip/shape.h"
#include "kernels/hip/wave.h"

namespace mhc {

constexpr int kSums = kMixes + 1;  // and the sum of squares
constexpr int kWaves = kThreads / kWaveSize;

// gemm_out_mul[split, token, m] = sum of residual[token, k] * fn[m, k], and gemm_out_sqrsum[split, token] =
// sum of residual[token, k]^2, over the split's part of K. Grid: tokens x splits. A split may be empty; it
// then writes zeros.
template <class Element>
__device__ inline void gemm_sqrsum(const Element* residual, const float* fn, float* gemm_out_mul,
                                   float* gemm_out_sqrsum, int num_tokens, int hc_hidden_size) {
  const size_t token = blockIdx.x;
  const int split = blockIdx.y, num_splits = gridDim.y;
  const int part = (hc_hidden_size + num_splits - 1) / num_splits;
  const int begin = min(split * part, hc_hidden_size), end = min(begin + part, hc_hidden_size);
  residual += token * hc_hidden_size;

  float sums[kSums] = {};
  for (int k = begin + threadIdx.x; k < end; k += kThreads) {
    const float value = static_cast<float>(residual[k]);
    for (int m = 0; m < kMixes; ++m) sums[m] += value * fn[size_t(m) * hc_hidden_size + k];
    sums[kMixes] += value * value;
  }

  // All threads are here again: those whose k ran out bring what they have.
  __shared__ float of_wave[kWaves][kSums];
  for (int m = 0; m < kSums; ++m) {
    const float sum = wave_sum(sums[m]);
    if (lane_id() == 0) of_wave[threadIdx.x / kWaveSize][m] = sum;
  }
  __syncthreads();

  if (threadIdx.x < kSums) {
    const int m = threadIdx.x;
    float sum = 0;
    for (int wave = 0; wave < kWaves; ++wave) sum += of_wave[wave][m];
    const size_t row = size_t(split) * num_tokens + token;
    if (m < kMixes) {
      gemm_out_mul[row * kMixes + m] = sum;
    } else {
      gemm_out_sqrsum[row] = sum;
    }
  }
}

__device__ inline float sigmoid(float z) { return 1.0f / (1.0f + expf(-z)); }

// One 4 x 4 matrix, element i*4+j in every lane whose number ends in those four bits.
__device__ inline float sinkhorn(float logit, float eps, int repeat) {
  const auto over_columns = [](float c) { return sum_over_lane_bits<1, kStreams>(c); };  // sum over j
  const auto over_rows = [](float c) {
    return sum_over_lane_bits<kStreams, kStreams * kStreams>(c);
  };  // sum over i
  float c = expf(logit - max_over_lane_bits<1, kStreams>(logit));
  c = c / over_columns(c) + eps;
  c = c / (over_rows(c) + eps);
  for (int round = 1; round < repeat; ++round) {
    c = c / (over_columns(c) + eps);
    c = c / (over_rows(c) + eps);
  }
  return c;
}

// From the sums over K to post_mix, comb_mix and layer_input. Grid: tokens. Every wave of a workgroup
// computes all mixes for itself, which costs less than a barrier. In head mode (sinkhorn_repeat 0) post_mix
// and comb_mix are null.
template <class Element>
__device__ inline void big_fuse(const float* gemm_out_mul, const float* gemm_out_sqrsum,
                                const Element* residual, const float* hc_scale, const float* hc_base,
                                float* post_mix, float* comb_mix, Element* layer_input, int num_tokens,
                                int hidden_size, int num_splits, float rms_eps, float hc_pre_eps,
                                float hc_sinkhorn_eps, float hc_post_mult_value, int sinkhorn_repeat) {
  const size_t token = blockIdx.x;
  const int lane = lane_id();

  // Lane m holds the sum of mix m, and the lane after the last one the sum of squares.
  float sum = 0;
  if (lane < kSums) {
    for (int split = 0; split < num_splits; ++split) {
      const size_t row = size_t(split) * num_tokens + token;
      sum += lane < kMixes ? gemm_out_mul[row * kMixes + lane] : gemm_out_sqrsum[row];
    }
  }
  const float mean_square = from_lane(sum, kMixes) / static_cast<float>(kStreams * hidden_size);
  const float mix = sum * (1.0f / sqrtf(mean_square + rms_eps));

  // Mixes 0..3 are pre, 4..7 post, 8..23 comb, each with a scale of its own.
  const int group = lane < kStreams ? 0 : lane < 2 * kStreams ? 1 : 2;
  const float base = lane < kMixes ? hc_base[lane] : 0;
  const float logit = mix * hc_scale[group] + base;
  const float gate = sigmoid(logit);

  if (post_mix != nullptr) {  // the same for the whole grid: no wave is split
    if (threadIdx.x >= kStreams && threadIdx.x < 2 * kStreams) {
      post_mix[token * kStreams + threadIdx.x - kStreams] = gate * hc_post_mult_value;
    }
    const float comb_logit = from_lane(logit, 2 * kStreams + lane % (kStreams * kStreams));
    const float comb = sinkhorn(comb_logit, hc_sinkhorn_eps, sinkhorn_repeat);
    if (threadIdx.x < kStreams * kStreams) comb_mix[token * kStreams * kStreams + threadIdx.x] = comb;
  }

  float pre[kStreams];
  for (int j = 0; j < kStreams; ++j) pre[j] = from_lane(gate, j) + hc_pre_eps;
  residual += token * kStreams * hidden_size;
  for (int h = threadIdx.x; h < hidden_size; h += kThreads) {
    float collapsed = 0;
    for (int j = 0; j < kStreams; ++j)
      collapsed += pre[j] * static_cast<float>(residual[size_t(j) * hidden_size + h]);
    layer_input[token * hidden_size + h] = static_cast<Element>(collapsed);
  }
}

}  // namespace mhc

// The entry points: one of each a storage format, with names that a manifest can write.
#define MHC_PRE_KERNELS(SUFFIX, ELEMENT)                                                                   \
  extern "C" __global__ void __launch_bounds__(mhc::kThreads)                                              \
      mhc_pre_gemm_sqrsum_##SUFFIX(const ELEMENT* residual, const float* fn, float* gemm_out_mul,          \
                                   float* gemm_out_sqrsum, int num_tokens, int hc_hidden_size) {           \
    mhc::gemm_sqrsum(residual, fn, gemm_out_mul, gemm_out_sqrsum, num_tokens, hc_hidden_size);             \
  }                                                                                                        \
  extern "C" __global__ void __launch_bounds__(mhc::kThreads) mhc_pre_big_fuse_##SUFFIX(                   \
      const float* gemm_out_mul, const float* gemm_out_sqrsum, const ELEMENT* residual,                    \
      const float* hc_scale, const float* hc_base, float* post_mix, float* comb_mix, ELEMENT* layer_input, \
      int num_tokens, int hidden_size, int num_splits, float rms_eps, float hc_pre_eps,                    \
      float hc_sinkhorn_eps, float hc_post_mult_value, int sinkhorn_repeat) {                              \
    mhc::big_fuse(gemm_out_mul, gemm_out_sqrsum, residual, hc_scale, hc_base, post_mix, comb_mix,          \
                  layer_input, num_tokens, hidden_size, num_splits, rms_eps, hc_pre_eps, hc_sinkhorn_eps,  \
                  hc_post_mult_value, sinkhorn_repeat);                                                    \
  }
MHC_PRE_KERNELS(bf16, __bf16)
MHC_PRE_KERNELS(fp16, _Float16)

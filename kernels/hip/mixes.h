// From the sums of the projection to pre, post and comb. One wave does all of a token, a mix a lane.
#pragma once

#include "kernels/hip/gpu.h"
#include "kernels/hip/shape.h"
#include "kernels/hip/wave.h"

namespace mhc {

constexpr float kLog2E = 1.44269504088896340736f;

// The parameters of section 1 of the contract, in its order.
struct Parameters {
  float rms_eps;
  float hc_pre_eps;
  float hc_sinkhorn_eps;
  float hc_post_mult_value;
  int sinkhorn_repeat;
};

MHC_DEVICE float exponential(float x) { return exp2(x * kLog2E); }
MHC_DEVICE float sigmoid(float z) { return reciprocal(1.0f + exponential(-z)); }

// 1/sqrt of the mean square, after eps.
MHC_DEVICE float inverse_rms(float sum_of_squares, int count, float eps) {
  return reciprocal_root(sum_of_squares * reciprocal(static_cast<float>(count)) + eps);
}

// Every 16 lanes hold a 4 x 4 matrix, element i*4+j in lane i*4+j.
MHC_DEVICE float sum_over_j(float c) { return sum_over_bits<1, kStreams>(c); }
MHC_DEVICE float sum_over_i(float c) { return sum_over_bits<kStreams, kComb>(c); }

MHC_DEVICE float sinkhorn(float logit, float eps, int repeat) {
  float c = exponential(logit - max_over_bits<1, kStreams>(logit));
  c = c * reciprocal(sum_over_j(c)) + eps;
  c *= reciprocal(sum_over_i(c) + eps);
  for (int round = 1; round < repeat; ++round) {
    c *= reciprocal(sum_over_j(c) + eps);
    c *= reciprocal(sum_over_i(c) + eps);
  }
  return c;
}

// Which lane of a wave holds what: comb first, so that it lies as sinkhorn() wants it. Lanes 32 to 63 repeat
// them.
namespace mix_lane {
constexpr int kPre = kComb, kPost = kPre + kStreams, kSquares = kPost + kStreams, kEnd = kSquares + 1;
}
constexpr int kMixLanes = 32;

// The row of the projection that a mix lane holds.
MHC_DEVICE int mix_row(int lane) {
  return lane < mix_lane::kPre ? 2 * kStreams + lane : lane - mix_lane::kPre;
}

// This wave's logits of one token, from its partial sums [split, token, mix] and [split, token].
MHC_DEVICE float mix_logit(const float* gemm_out_mul, const float* gemm_out_sqrsum, const float* hc_scale,
                           const float* hc_base, int token, int num_tokens, int num_splits, int length,
                           float rms_eps) {
  // The lanes above kMixLanes, where a wave has them, take every second split.
  constexpr int kShares = kWaveSize / kMixLanes;
  const int lane = lane_id() % kMixLanes, share = lane_id() / kMixLanes;
  const bool is_mix = lane < mix_lane::kSquares, is_squares = lane == mix_lane::kSquares;
  const int row = is_mix ? mix_row(lane) : 0;
  float sum = 0;
  if (is_mix || is_squares) {
    const float* from =
        is_mix ? gemm_out_mul + static_cast<long>(token) * kMixes + row : gemm_out_sqrsum + token;
    const long stride = static_cast<long>(num_tokens) * (is_mix ? kMixes : 1);
    for (int split = share; split < num_splits; split += kShares) sum += from[split * stride];
  }
  sum = sum_over_bits<kMixLanes, kWaveSize>(sum);

  const float mix = sum * inverse_rms(from_lane(sum, mix_lane::kSquares), length, rms_eps);
  const float scale = hc_scale[lane < mix_lane::kPre ? 2 : lane < mix_lane::kPost ? 0 : 1];
  return mix * scale + (is_mix ? hc_base[row] : 0.0f);
}

// What the wave's lanes leave of their logits in the outputs. Null pointers are not written.
MHC_DEVICE void store_mixes(float logit, int token, const Parameters& p, float* post_mix, float* comb_mix,
                            float* next_pre_mix) {
  const int lane = lane_id();
  const float gate = sigmoid(logit);
  if (post_mix != nullptr) {
    if (lane >= mix_lane::kPost && lane < mix_lane::kPost + kStreams) {
      post_mix[static_cast<long>(token) * kStreams + lane - mix_lane::kPost] = gate * p.hc_post_mult_value;
    }
    const float comb = sinkhorn(logit, p.hc_sinkhorn_eps, p.sinkhorn_repeat);
    if (lane < kComb) comb_mix[static_cast<long>(token) * kComb + lane] = comb;
  }
  if (next_pre_mix != nullptr) {
    if (lane >= mix_lane::kPre && lane < mix_lane::kPre + kStreams) {
      next_pre_mix[static_cast<long>(token) * kStreams + lane - mix_lane::kPre] = gate + p.hc_pre_eps;
    }
  }
}

}  // namespace mhc

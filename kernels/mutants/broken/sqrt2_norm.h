// The norm that came out sqrt(2) too large (vLLM #56342), rebuilt.
//
// 96 threads: on 64-lane waves, one whole wave and a half one. A branch at thread 32 gives the first 32
// threads the mixes, and the other 64 the collapse and its norm. Those 64 are no wave: 32 are the upper half
// of the first, 32 the lower half of the second. Their sum of squares is taken by a butterfly over 64 lanes
// inside the branch, whose step across 32 asks lanes that the branch has switched off, and gets 0: each half
// keeps its own half of the sum.
#pragma once

#include "kernels/mutants/base/finish.h"

namespace mutants {

constexpr int kSqrt2Threads = 96, kMixThreads = 32, kRowThreads = kSqrt2Threads - kMixThreads;

__device__ inline void sqrt2_norm(const FinishArguments& a) {
  using Right = CorrectFinish;
  const size_t token = blockIdx.x;
  const int lane = lane_id(), thread = threadIdx.x;
  // All lanes of the wave that adds are here.
  __shared__ float logits[kMixes];
  if (wave_id() == 0) {
    const float sum = lane < kSums ? Right::total(a, token, lane) : 0.0f;
    const float mix = sum * Right::inverse_rms(a, from_lane(sum, kMixes));
    if (lane < kMixes) logits[lane] = mix * a.hc_scale[Right::scale_of(lane)] + a.hc_base[lane];
  }
  __syncthreads();

  if (thread < kMixThreads) {
    if (a.post_mix != nullptr) {
      if (thread < kStreams)
        a.post_mix[token * kStreams + thread] = Right::post(a, logits[kStreams + thread]);
      const float comb = Right::sinkhorn(a, logits[2 * kStreams + thread % (kStreams * kStreams)]);
      if (thread < kStreams * kStreams) a.comb_mix[token * kStreams * kStreams + thread] = comb;
    }
  } else {
    float pre[kStreams];
    for (int j = 0; j < kStreams; ++j) pre[j] = Right::pre(a, logits[j]);
    const auto collapsed = [&](int h) {
      float value = 0;
      for (size_t j = 0; j < kStreams; ++j)
        value += pre[j] * load(a.residual, (token * kStreams + j) * a.hidden_size + h, a.format);
      return rounded(value, a.format);
    };
    float factor = 1;
    if (a.norm_weight != nullptr) {
      float squares = 0;
      for (int h = thread - kMixThreads; h < a.hidden_size; h += kRowThreads)
        squares += collapsed(h) * collapsed(h);
      factor = Right::norm_factor(a, lane_sum<1, kRowThreads>(squares));
    }
    for (int h = thread - kMixThreads; h < a.hidden_size; h += kRowThreads) {
      const float weight = a.norm_weight != nullptr ? Right::weight(a, h) : 1.0f;
      store(a.layer_input, token * a.hidden_size + h, a.format, collapsed(h) * factor * weight);
    }
  }
}

}  // namespace mutants

// mhc_post: posted[j,h] = post_mix[j] * x[h] + sum over i of comb_mix[i,j] * residual[i,h].
#pragma once

#include "kernels/hip/gpu.h"
#include "kernels/hip/row.h"
#include "kernels/hip/shape.h"

namespace mhc {

// The factors of one token.
struct PostFactors {
  Vec4<float> post;            // by j
  Vec4<float> comb[kStreams];  // by i, then j

  MHC_DEVICE static PostFactors load(const float* post_mix, const float* comb_mix, int token) {
    PostFactors factors;
    factors.post = reinterpret_cast<const Vec4<float>*>(post_mix)[token];
#pragma unroll
    for (int i = 0; i < kStreams; ++i) {
      factors.comb[i] =
          reinterpret_cast<const Vec4<float>*>(comb_mix)[static_cast<long>(token) * kStreams + i];
    }
    return factors;
  }
};

// Neighbouring elements of a token's x and of its streams.
template <class Element, int kWidth>
struct PostInputs {
  Pack<Element, kWidth> x;
  Pack<Element, kWidth> streams[kStreams];

  // The result, stream by stream. All streams of an element are formed together: their factors are
  // neighbours.
  MHC_DEVICE void posted(const PostFactors& factors, Pack<Element, kWidth> (&result)[kStreams]) const {
    Pack<float, kWidth> sums[kStreams];
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      Vec4<float> sum = factors.post * static_cast<float>(x[e]);
#pragma unroll
      for (int i = 0; i < kStreams; ++i) sum += factors.comb[i] * static_cast<float>(streams[i][e]);
#pragma unroll
      for (int j = 0; j < kStreams; ++j) sums[j][e] = sum[j];
    }
#pragma unroll
    for (int j = 0; j < kStreams; ++j) result[j] = to_elements<Element, kWidth>(sums[j]);
  }
};

// A row of next_residual for each j. One workgroup a token.
template <int kWidth, class Element>
MHC_DEVICE void post(const PostFactors& factors, const Element* x, const Element* residual,
                     Element* next_residual, int hidden_size) {
  for (int h = kWidth * thread_id(); h < hidden_size; h += kWidth * kThreads) {
    PostInputs<Element, kWidth> inputs;
    inputs.x = load<kWidth>(x, h);
#pragma unroll
    for (int i = 0; i < kStreams; ++i) {
      inputs.streams[i] = load<kWidth>(residual + static_cast<long>(i) * hidden_size, h);
    }
    Pack<Element, kWidth> posted[kStreams];
    inputs.posted(factors, posted);
#pragma unroll
    for (int j = 0; j < kStreams; ++j) {
      store<kWidth>(next_residual + static_cast<long>(j) * hidden_size, h, posted[j]);
    }
  }
}

}  // namespace mhc

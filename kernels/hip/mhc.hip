// The entry points, which manifests name: one for each stream format, and where they have a fused rmsnorm,
// for each format of its weight ("none" without one).
//
// Every workgroup has kThreads threads. Tensors are as docs/contract.md has them and begin on 16 bytes.
#include "kernels/hip/collapse.h"
#include "kernels/hip/gpu.h"
#include "kernels/hip/head.h"
#include "kernels/hip/mixes.h"
#include "kernels/hip/post.h"
#include "kernels/hip/projection.h"
#include "kernels/hip/row.h"
#include "kernels/hip/shape.h"
#include "kernels/hip/wave.h"

namespace mhc {

// Second launch of mhc_pre and mhc_fused_post_pre. One workgroup a token. In head mode post_mix and comb_mix
// are null.
template <class Element, class Weight>
MHC_DEVICE void big_fuse(const float* gemm_out_mul, const float* gemm_out_sqrsum, const Element* residual,
                         const float* hc_scale, const float* hc_base, const Weight* norm_weight,
                         float* post_mix, float* comb_mix, Element* layer_input, int num_tokens,
                         int hidden_size, int num_splits, const Parameters& p, float norm_eps) {
  const int token = workgroup_x(), length = kStreams * hidden_size;
  // Each wave for itself: all of them need pre, and the sums are few.
  const float logit = mix_logit(gemm_out_mul, gemm_out_sqrsum, hc_scale, hc_base, token, num_tokens,
                                num_splits, length, p.rms_eps);
  Collapse<Element> collapse{residual + static_cast<long>(token) * length, hidden_size, {}};
  const float pre = sigmoid(logit) + p.hc_pre_eps;
#pragma unroll
  for (int j = 0; j < kStreams; ++j) collapse.pre[j] = from_lane(pre, mix_lane::kPre + j);
  if (wave_id() == 0) store_mixes(logit, token, p, post_mix, comb_mix, /*next_pre_mix=*/nullptr);
  store_row(collapse, norm_weight, norm_eps, layer_input + static_cast<long>(token) * hidden_size,
            hidden_size);
}

// Second launch of mhc_pre_delayed and mhc_fused_post_pre_delayed. One workgroup a token. `length` is that of
// the projected rows. Without a pre_mix from the layer before, the layer's input is the first stream.
template <class Element, class Weight>
MHC_DEVICE void big_fuse_delayed(const float* gemm_out_mul, const float* gemm_out_sqrsum,
                                 const Element* residual, const float* pre_mix, const float* hc_scale,
                                 const float* hc_base, const Weight* norm_weight, float* post_mix,
                                 float* comb_mix, Element* layer_input, float* next_pre_mix, int num_tokens,
                                 int hidden_size, int length, int num_splits, const Parameters& p,
                                 float norm_eps) {
  const int token = workgroup_x();
  if (wave_id() == 0) {
    const float logit = mix_logit(gemm_out_mul, gemm_out_sqrsum, hc_scale, hc_base, token, num_tokens,
                                  num_splits, length, p.rms_eps);
    store_mixes(logit, token, p, post_mix, comb_mix, next_pre_mix);
  }
  const Element* const streams = residual + static_cast<long>(token) * kStreams * hidden_size;
  Element* const output = layer_input + static_cast<long>(token) * hidden_size;
  if (pre_mix != nullptr) {
    Collapse<Element> collapse{streams, hidden_size, {}};
#pragma unroll
    for (int j = 0; j < kStreams; ++j) collapse.pre[j] = pre_mix[static_cast<long>(token) * kStreams + j];
    store_row(collapse, norm_weight, norm_eps, output, hidden_size);
  } else {
    store_row(Copy<Element>{streams}, norm_weight, norm_eps, output, hidden_size);
  }
}

// One workgroup a token.
template <class Element>
MHC_DEVICE void post(const Element* x, const Element* residual, const float* post_mix, const float* comb_mix,
                     Element* next_residual, int hidden_size) {
  const int token = workgroup_x();
  const PostFactors factors = PostFactors::load(post_mix, comb_mix, token);
  x += static_cast<long>(token) * hidden_size;
  residual += static_cast<long>(token) * kStreams * hidden_size;
  next_residual += static_cast<long>(token) * kStreams * hidden_size;
  if (hidden_size % kWidest == 0) {
    post<kWidest>(factors, x, residual, next_residual, hidden_size);
  } else {
    post<1>(factors, x, residual, next_residual, hidden_size);
  }
}

// One workgroup a token.
template <int kWidth, class Element>
MHC_DEVICE void expand_row(const Element* x, Element* residual, int hidden_size) {
  for (int h = kWidth * thread_id(); h < hidden_size; h += kWidth * kThreads) {
    const auto elements = load<kWidth>(x, h);
#pragma unroll
    for (int j = 0; j < kStreams; ++j)
      store<kWidth>(residual + static_cast<long>(j) * hidden_size, h, elements);
  }
}

template <class Element>
MHC_DEVICE void expand(const Element* x, Element* residual, int hidden_size) {
  x += static_cast<long>(workgroup_x()) * hidden_size;
  residual += static_cast<long>(workgroup_x()) * kStreams * hidden_size;
  if (hidden_size % kWidest == 0) {
    expand_row<kWidest>(x, residual, hidden_size);
  } else {
    expand_row<1>(x, residual, hidden_size);
  }
}

}  // namespace mhc

// A matrix element a thread.
MHC_KERNEL void sinkhorn(const float* logits, float* comb_mix, int num_tokens, float hc_sinkhorn_eps,
                         int sinkhorn_repeat) {
  const long element = static_cast<long>(mhc::workgroup_x()) * mhc::kThreads + mhc::thread_id();
  const bool inside = element < static_cast<long>(num_tokens) * mhc::kComb;
  const float comb = mhc::sinkhorn(inside ? logits[element] : 0.0f, hc_sinkhorn_eps, sinkhorn_repeat);
  if (inside) comb_mix[element] = comb;
}

#define MHC_PROJECT(PRODUCTS, SUFFIX, TOKENS, ELEMENT, NAME)                                                \
  MHC_KERNEL void mhc_pre_gemm_sqrsum_##SUFFIX##_tile##TOKENS##_##NAME(                                     \
      const ELEMENT* __restrict__ rows, const float* __restrict__ fn, float* __restrict__ gemm_out_mul,     \
      float* __restrict__ gemm_out_sqrsum, int num_tokens, int length, int num_splits) {                    \
    mhc::project<mhc::Products::PRODUCTS, TOKENS / mhc::kTileRows>(rows, fn, gemm_out_mul, gemm_out_sqrsum, \
                                                                   num_tokens, length, num_splits);         \
  }

#define MHC_POST_AND_PROJECT(PRODUCTS, SUFFIX, ELEMENT, NAME)                                               \
  MHC_KERNEL void mhc_fused_post_pre_gemm_sqrsum_##SUFFIX##_##NAME(                                         \
      const ELEMENT* __restrict__ x, const ELEMENT* __restrict__ residual,                                  \
      const float* __restrict__ post_mix, const float* __restrict__ comb_mix, const float* __restrict__ fn, \
      ELEMENT* __restrict__ next_residual, float* __restrict__ gemm_out_mul,                                \
      float* __restrict__ gemm_out_sqrsum, int num_tokens, int hidden_size, int num_splits) {               \
    mhc::post_and_project<mhc::Products::PRODUCTS>(x, residual, post_mix, comb_mix, fn, next_residual,      \
                                                   gemm_out_mul, gemm_out_sqrsum, num_tokens, hidden_size,  \
                                                   num_splits);                                             \
  }

#define MHC_BIG_FUSE(ELEMENT, NAME, WEIGHT, WEIGHT_NAME)                                                    \
  MHC_KERNEL void mhc_pre_big_fuse_##NAME##_norm_##WEIGHT_NAME(                                             \
      const float* __restrict__ gemm_out_mul, const float* __restrict__ gemm_out_sqrsum,                    \
      const ELEMENT* __restrict__ residual, const float* __restrict__ hc_scale,                             \
      const float* __restrict__ hc_base, const WEIGHT* __restrict__ norm_weight,                            \
      float* __restrict__ post_mix, float* __restrict__ comb_mix, ELEMENT* __restrict__ layer_input,        \
      int num_tokens, int hidden_size, int num_splits, float rms_eps, float hc_pre_eps,                     \
      float hc_sinkhorn_eps, float hc_post_mult_value, int sinkhorn_repeat, float norm_eps) {               \
    const mhc::Parameters p{rms_eps, hc_pre_eps, hc_sinkhorn_eps, hc_post_mult_value, sinkhorn_repeat};     \
    mhc::big_fuse(gemm_out_mul, gemm_out_sqrsum, residual, hc_scale, hc_base, norm_weight, post_mix,        \
                  comb_mix, layer_input, num_tokens, hidden_size, num_splits, p, norm_eps);                 \
  }                                                                                                         \
  MHC_KERNEL void mhc_pre_big_fuse_delayed_##NAME##_norm_##WEIGHT_NAME(                                     \
      const float* __restrict__ gemm_out_mul, const float* __restrict__ gemm_out_sqrsum,                    \
      const ELEMENT* __restrict__ residual, const float* __restrict__ pre_mix,                              \
      const float* __restrict__ hc_scale, const float* __restrict__ hc_base,                                \
      const WEIGHT* __restrict__ norm_weight, float* __restrict__ post_mix, float* __restrict__ comb_mix,   \
      ELEMENT* __restrict__ layer_input, float* __restrict__ next_pre_mix, int num_tokens, int hidden_size, \
      int length, int num_splits, float rms_eps, float hc_pre_eps, float hc_sinkhorn_eps,                   \
      float hc_post_mult_value, int sinkhorn_repeat, float norm_eps) {                                      \
    const mhc::Parameters p{rms_eps, hc_pre_eps, hc_sinkhorn_eps, hc_post_mult_value, sinkhorn_repeat};     \
    mhc::big_fuse_delayed(gemm_out_mul, gemm_out_sqrsum, residual, pre_mix, hc_scale, hc_base, norm_weight, \
                          post_mix, comb_mix, layer_input, next_pre_mix, num_tokens, hidden_size, length,   \
                          num_splits, p, norm_eps);                                                         \
  }

#define MHC_RMSNORM(ELEMENT, NAME, WEIGHT, WEIGHT_NAME)                                               \
  MHC_KERNEL void rmsnorm_##NAME##_norm_##WEIGHT_NAME(                                                \
      const ELEMENT* __restrict__ x, const WEIGHT* __restrict__ norm_weight, ELEMENT* __restrict__ y, \
      int hidden_size, float norm_eps) {                                                              \
    const long row = static_cast<long>(mhc::workgroup_x()) * hidden_size;                             \
    mhc::store_row(mhc::Copy<ELEMENT>{x + row}, norm_weight, norm_eps, y + row, hidden_size);         \
  }

#define MHC_KERNELS(ELEMENT, NAME)                                                                         \
  MHC_PROJECT(kFp32, fp32, 16, ELEMENT, NAME)                                                              \
  MHC_PROJECT(kFp32, fp32, 64, ELEMENT, NAME)                                                              \
  MHC_PROJECT(kBf16x2, bf16x2, 16, ELEMENT, NAME)                                                          \
  MHC_PROJECT(kBf16x2, bf16x2, 64, ELEMENT, NAME)                                                          \
  MHC_POST_AND_PROJECT(kFp32, fp32, ELEMENT, NAME)                                                         \
  MHC_POST_AND_PROJECT(kBf16x2, bf16x2, ELEMENT, NAME)                                                     \
  MHC_BIG_FUSE(ELEMENT, NAME, mhc::NoNorm, none)                                                           \
  MHC_BIG_FUSE(ELEMENT, NAME, mhc::bf16, bf16)                                                             \
  MHC_BIG_FUSE(ELEMENT, NAME, mhc::fp16, fp16)                                                             \
  MHC_BIG_FUSE(ELEMENT, NAME, float, fp32)                                                                 \
  MHC_RMSNORM(ELEMENT, NAME, mhc::bf16, bf16)                                                              \
  MHC_RMSNORM(ELEMENT, NAME, mhc::fp16, fp16)                                                              \
  MHC_RMSNORM(ELEMENT, NAME, float, fp32)                                                                  \
                                                                                                           \
  MHC_KERNEL void mhc_post_##NAME(const ELEMENT* __restrict__ x, const ELEMENT* __restrict__ residual,     \
                                  const float* __restrict__ post_mix, const float* __restrict__ comb_mix,  \
                                  ELEMENT* __restrict__ next_residual, int hidden_size) {                  \
    mhc::post(x, residual, post_mix, comb_mix, next_residual, hidden_size);                                \
  }                                                                                                        \
  MHC_KERNEL void hc_head_##NAME(const ELEMENT* __restrict__ residual, const float* __restrict__ fn,       \
                                 const float* __restrict__ hc_scale, const float* __restrict__ hc_base,    \
                                 ELEMENT* __restrict__ layer_input, int num_tokens, int hidden_size,       \
                                 float rms_eps, float hc_pre_eps) {                                        \
    mhc::head(residual, fn, hc_scale, hc_base, layer_input, num_tokens, hidden_size, rms_eps, hc_pre_eps); \
  }                                                                                                        \
  MHC_KERNEL void hc_collapse_##NAME(const ELEMENT* __restrict__ residual,                                 \
                                     const float* __restrict__ pre_mix, ELEMENT* __restrict__ layer_input, \
                                     int hidden_size) {                                                    \
    const int token = mhc::workgroup_x();                                                                  \
    mhc::Collapse<ELEMENT> collapse{                                                                       \
        residual + static_cast<long>(token) * mhc::kStreams * hidden_size, hidden_size, {}};               \
    for (int j = 0; j < mhc::kStreams; ++j)                                                                \
      collapse.pre[j] = pre_mix[static_cast<long>(token) * mhc::kStreams + j];                             \
    mhc::store_row<mhc::Collapse<ELEMENT>, mhc::NoNorm>(                                                   \
        collapse, nullptr, 0, layer_input + static_cast<long>(token) * hidden_size, hidden_size);          \
  }                                                                                                        \
  MHC_KERNEL void hc_expand_##NAME(const ELEMENT* __restrict__ x, ELEMENT* __restrict__ residual,          \
                                   int hidden_size) {                                                      \
    mhc::expand(x, residual, hidden_size);                                                                 \
  }
MHC_KERNELS(mhc::bf16, bf16)
MHC_KERNELS(mhc::fp16, fp16)

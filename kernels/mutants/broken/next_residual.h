// Mutants of mhc_post.
#pragma once

#include "kernels/mutants/base/post.h"

namespace mutants {

struct comb_used_untransposed : CorrectPost {
  static __device__ float comb(const float* comb_mix, size_t token, int i, int j) {
    return CorrectPost::comb(comb_mix, token, j, i);
  }
};

struct residual_stream_dropped : CorrectPost {
  static __device__ float comb(const float* comb_mix, size_t token, int i, int j) {
    return i + 1 < kStreams ? CorrectPost::comb(comb_mix, token, i, j) : 0.0f;
  }
};

struct post_mix_of_one_stream : CorrectPost {
  static __device__ float post(const float* post_mix, size_t token, int) {
    return CorrectPost::post(post_mix, token, 0);
  }
};

struct comb_rounded_to_bf16 : CorrectPost {
  static __device__ float comb(const float* comb_mix, size_t token, int i, int j) {
    return rounded(CorrectPost::comb(comb_mix, token, i, j), kBf16);
  }
};

// The sublayer's output of the token before, as a loop that prefetches takes it when it forgets to move on.
struct x_of_the_token_before : CorrectPost {
  static __device__ size_t x_row(size_t token) { return token > 0 ? token - 1 : 0; }
};

// The new residual also goes where the old one stands.
struct residual_updated_in_place : CorrectPost {
  static __device__ void store_element(void* next_residual, const void* residual, size_t index, int format,
                                       float value) {
    store(next_residual, index, format, value);
    store(const_cast<void*>(residual), index, format, value);
  }
};

// The distance in bytes through a 24-bit multiply, the fast one of the hardware: wraps as int32 does, at 16
// MiB.
struct byte_offset_wraps : CorrectPost {
  static __device__ size_t place(size_t element) {
    constexpr unsigned kBytes = 2;
    return __umul24(static_cast<unsigned>(element * kBytes), 1) / kBytes;
  }
};

// A mask that is one lane short.
struct lane_left_out : CorrectPost {
  static __device__ void store_element(void* next_residual, const void*, size_t index, int format,
                                       float value) {
    if (threadIdx.x % (2 * kWaveSize) != 2 * kWaveSize - 1) store(next_residual, index, format, value);
  }
};

// Tokens times streams in grid.y, which ends at 65535.
__device__ inline void streams_in_grid_y(const void* x, const void* residual, const float* post_mix,
                                         const float* comb_mix, void* next_residual, int hidden_size,
                                         int format, int out_format) {
  const size_t token = blockIdx.y / kStreams;
  const int j = blockIdx.y % kStreams;
  for (int h = threadIdx.x; h < hidden_size; h += kThreads) {
    float sum = CorrectPost::post(post_mix, token, j) * load(x, token * hidden_size + h, format);
    for (int i = 0; i < kStreams; ++i) {
      sum += CorrectPost::comb(comb_mix, token, i, j) *
             load(residual, (token * kStreams + i) * hidden_size + h, format);
    }
    store(next_residual, (token * kStreams + j) * hidden_size + h, out_format, sum);
  }
}

}  // namespace mutants

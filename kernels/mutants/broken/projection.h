// Mutants of the projection: wrong products, wrong parts of K, lost and doubled terms.
#pragma once

#include "kernels/mutants/base/sums.h"

namespace mutants {

struct projection_zero : CorrectSums {
  static __device__ float weight(const float*, int, int, int) { return 0.0f; }
};

struct fn_rounded_to_bf16 : CorrectSums {
  static __device__ float weight(const float* fn, int m, int k, int length) {
    return rounded(CorrectSums::weight(fn, m, k, length), kBf16);
  }
};

// The low 13 bits of fn cut off, as a tf32 unit reads it, where fp32 products are promised.
struct fn_cut_to_tf32 : CorrectSums {
  static __device__ float weight(const float* fn, int m, int k, int length) {
    const auto bits = __builtin_bit_cast(unsigned, CorrectSums::weight(fn, m, k, length));
    return __builtin_bit_cast(float, bits & 0xffffe000u);
  }
};

struct last_tile_dropped : CorrectSums {
  static constexpr int kTile = 64;
  static __device__ Part part_of(int split, int num_splits, int length) {
    Part part = CorrectSums::part_of(split, num_splits, length);
    if (part.end == length) part.end -= kTile;
    return part;
  }
};

// Whole tiles only: right wherever K is a multiple of the tile.
struct ragged_tail_dropped : CorrectSums {
  static constexpr int kTile = 64;
  static __device__ Part part_of(int split, int num_splits, int length) {
    Part part = CorrectSums::part_of(split, num_splits, length);
    part.end = part.begin + (part.end - part.begin) / kTile * kTile;
    return part;
  }
};

// Whole tiles, the last one beyond the split's part: what the next split adds, this one has added already.
struct ragged_tail_overread : CorrectSums {
  static constexpr int kTile = 64;
  static __device__ Part part_of(int split, int num_splits, int length) {
    const Part part = CorrectSums::part_of(split, num_splits, length);
    const int tiles = (part.end - part.begin + kTile - 1) / kTile;
    return {part.begin, min(part.begin + tiles * kTile, length)};
  }
};

// The same at the end of a row, which runs on into the next token's and, in the last token, out of the
// tensor.
struct row_end_overread : CorrectSums {
  static constexpr int kTile = 64;
  static __device__ Part part_of(int split, int num_splits, int length) {
    Part part = CorrectSums::part_of(split, num_splits, length);
    if (part.end == length) part.end = part.begin + (part.end - part.begin + kTile - 1) / kTile * kTile;
    return part;
  }
  static __device__ float weight(const float* fn, int m, int k, int length) {
    return fn[static_cast<size_t>(m) * length + min(k, length - 1)];
  }
};

// K divided with rounding down: what is left over belongs to no split.
struct split_remainder_dropped : CorrectSums {
  static __device__ Part part_of(int split, int num_splits, int length) {
    const int part = length / num_splits;
    return {split * part, (split + 1) * part};
  }
};

struct stream_not_projected : CorrectSums {
  static __device__ float element(const void* rows, size_t token, int k, int length, int format) {
    return k < length / kStreams * (kStreams - 1) ? CorrectSums::element(rows, token, k, length, format)
                                                  : 0.0f;
  }
};

struct streams_swapped_in_fn : CorrectSums {
  static __device__ float weight(const float* fn, int m, int k, int length) {
    const int hidden = length / kStreams, stream = k / hidden;
    return CorrectSums::weight(fn, m, (stream ^ 1) * hidden + k % hidden, length);
  }
};

struct sqrsum_of_one_stream : CorrectSums {
  static __device__ float square(float value, int k, int length) {
    return k < length / kStreams ? kStreams * value * value : 0.0f;
  }
};

struct squares_rounded_to_bf16 : CorrectSums {
  static __device__ float square(float value, int, int) { return rounded(value * value, kBf16); }
};

struct fn_offset_by_one : CorrectSums {
  static __device__ float weight(const float* fn, int m, int k, int length) {
    return fn[static_cast<size_t>(m) * length + (k + 1) % length];
  }
};

struct fn_read_past_its_end : CorrectSums {
  static __device__ float weight(const float* fn, int m, int k, int length) {
    return k + 1 < length ? fn[static_cast<size_t>(m) * length + k]
                          : fn[static_cast<size_t>(m) * length + k + 1];
  }
};

struct fn_read_column_major : CorrectSums {
  static __device__ float weight(const float* fn, int m, int k, int) {
    return fn[static_cast<size_t>(k) * kMixes + m];
  }
};

// A kernel for 32-lane waves: its butterfly stops at 16, so lane 0 never hears of the upper half.
struct half_wave_reduced : CorrectSums {
  static __device__ float wave_sum(float value) { return lane_sum<1, 32>(value); }
};

// A tree over the waves of a workgroup that is no power of two: of three waves the last is left out.
struct tree_of_three_waves : CorrectSums {
  static constexpr int kWaves = 3;
  static __device__ float over_waves(const float (*of_wave)[kSums], int m) {
    float sums[kWaves];
    for (int wave = 0; wave < kWaves; ++wave) sums[wave] = of_wave[wave][m];
    for (int step = kWaves / 2; step > 0; step /= 2) {
      for (int wave = 0; wave < step; ++wave) sums[wave] += sums[wave + step];
    }
    return sums[0];
  }
};

// Adds to what the output held, which nobody has set to zero.
struct sums_added_to_garbage : CorrectSums {
  static __device__ void store_sum(SumsOut out, int m, float sum) {
    CorrectSums::store_sum(out, m, sum + (m < kMixes ? out.mul[m] : *out.sqrsum));
  }
};

// Each sum in one accumulator that rounds down, as those of matrix units do. No error of an element is above
// what rounding to nearest may add up to; but all of them have one sign.
__device__ inline void accumulators_round_down(const void* rows, const float* fn, float* gemm_out_mul,
                                               float* gemm_out_sqrsum, int num_tokens, int length,
                                               int format) {
  const size_t token = blockIdx.x, split = blockIdx.y;
  const int m = threadIdx.x;
  if (m >= kSums) return;
  const Part part = CorrectSums::part_of(blockIdx.y, gridDim.y, length);
  float sum = 0;
  for (int k = part.begin; k < part.end; ++k) {
    const double value = CorrectSums::element(rows, token, k, length, format);
    const double factor = m < kMixes ? CorrectSums::weight(fn, m, k, length) : value;
    const double exact = sum + value * factor;
    sum = static_cast<float>(exact);
    if (sum > exact) sum = nextafterf(sum, -INFINITY);
  }
  const size_t row = split * num_tokens + token;
  CorrectSums::store_sum({gemm_out_mul + row * kMixes, gemm_out_sqrsum + row}, m, sum);
}

}  // namespace mutants

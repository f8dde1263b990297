// Mutants of the collapse and of how its row is stored.
#pragma once

#include "kernels/mutants/base/finish.h"

namespace mutants {

struct stream_not_collapsed : CorrectFinish {
  static __device__ float stream_weight(const FinishArguments& a, size_t token, int j, float pre) {
    return j + 1 < kStreams ? CorrectFinish::stream_weight(a, token, j, pre) : 0.0f;
  }
};

struct weights_of_streams_reversed : CorrectFinish {
  static __device__ float stream_weight(const FinishArguments& a, size_t token, int j, float) {
    return a.pre_mix[token * kStreams + (kStreams - 1 - j)];
  }
};

// V4.1: the pre_mix of the sublayer before is what the collapse takes.
struct collapse_with_this_pre_mix : CorrectFinish {
  static __device__ float stream_weight(const FinishArguments&, size_t, int, float pre) { return pre; }
};

struct entry_collapsed_like_carried : CorrectFinish {
  static __device__ int collapse(const FinishArguments& a) {
    return a.collapse == kFirstStream ? kThisPre : a.collapse;
  }
  static __device__ float stream_weight(const FinishArguments& a, size_t token, int j, float pre) {
    return a.collapse == kPreviousPre ? a.pre_mix[token * kStreams + j] : pre;
  }
};

struct truncated_to_bf16 : CorrectFinish {
  static __device__ void store_element(const FinishArguments& a, size_t row, int h, float value) {
    const float cut = __builtin_bit_cast(float, __builtin_bit_cast(unsigned, value) & 0xffff0000u);
    CorrectFinish::store_element(a, row, h, a.format == kBf16 ? cut : value);
  }
};

struct rounded_through_fp16 : CorrectFinish {
  static __device__ void store_element(const FinishArguments& a, size_t row, int h, float value) {
    CorrectFinish::store_element(a, row, h, rounded(value, kFp16));
  }
};

struct last_row_unwritten : CorrectFinish {
  static __device__ bool writes(const FinishArguments& a, size_t token) { return token + 1 < a.num_tokens; }
};

// Stores pairs of elements, the last of which reaches into the next row where hidden_size is odd.
struct one_element_past_the_row : CorrectFinish {
  static __device__ void store_element(const FinishArguments& a, size_t row, int h, float value) {
    CorrectFinish::store_element(a, row, h, value);
    if (h % 2 == 0 && h + 1 == a.hidden_size) CorrectFinish::store_element(a, row, h + 1, 0.0f);
  }
};

}  // namespace mutants

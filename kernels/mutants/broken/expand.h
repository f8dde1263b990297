// Mutants of hc_expand.
#pragma once

#include "kernels/mutants/base/expand.h"

namespace mutants {

// All tokens once, then all again: right for one token.
struct repeated_as_a_whole : CorrectExpand {
  static __device__ size_t source(const ExpandArguments& a, size_t token, int j) {
    return (token * kStreams + j) % a.num_tokens;
  }
};

// Streams as the fastest index.
struct streams_behind_each_element : CorrectExpand {
  static __device__ size_t place(const ExpandArguments& a, size_t token, int j, int h) {
    return (token * a.hidden_size + h) * kStreams + j;
  }
};

struct expanded_through_fp16 : CorrectExpand {
  static __device__ float copied(const ExpandArguments&, float value) { return rounded(value, kFp16); }
};

struct only_the_first_stream_expanded : CorrectExpand {
  static __device__ int streams() { return 1; }
};

}  // namespace mutants

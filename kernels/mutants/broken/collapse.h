// Mutants of hc_collapse alone: what its residual's strides and its pre_mix are taken for.
#pragma once

#include "kernels/mutants/base/collapse.h"

namespace mutants {

// Right where the streams of a token lie close together.
struct stream_stride_from_token_stride : CorrectCollapse {
  static __device__ ptrdiff_t place(CollapseArguments a, size_t token, int j, int h) {
    a.stream_stride = a.token_stride / kStreams;
    return CorrectCollapse::place(a, token, j, h);
  }
};

// The distance in bytes in 32 bits with a sign.
struct token_offset_wraps_at_2_gib : CorrectCollapse {
  static __device__ ptrdiff_t place(const CollapseArguments& a, size_t token, int j, int h) {
    constexpr int kBytes = 2;
    const auto wrapped = static_cast<int>(static_cast<unsigned>(token) * a.token_stride * kBytes);
    return wrapped / kBytes + static_cast<ptrdiff_t>(CorrectCollapse::place(a, 0, j, h));
  }
};

// pre_mix [T,n] read as [n,T].
struct pre_mix_read_stream_major : CorrectCollapse {
  static __device__ float pre(const CollapseArguments& a, size_t token, int j) {
    return a.pre_mix[static_cast<size_t>(j) * a.num_tokens + token];
  }
};

struct pre_mix_rounded_to_bf16 : CorrectCollapse {
  static __device__ float pre(const CollapseArguments& a, size_t token, int j) {
    return rounded(CorrectCollapse::pre(a, token, j), kBf16);
  }
};

// An accumulator in the format of the streams.
struct collapse_rounded_at_every_stream : CorrectCollapse {
  static __device__ float added(const CollapseArguments& a, float sum, float term) {
    return rounded(sum + term, a.format);
  }
};

}  // namespace mutants

// The layer's input: a token's streams collapsed by pre, with or without an rmsnorm. One workgroup a token.
//
// The rmsnorm is of the rounded collapse, and its sum of squares of the rounded values too (rounding profile
// `storage`): the fused operator gives the bits of the two that it replaces.
#pragma once

#include "kernels/hip/gpu.h"
#include "kernels/hip/mixes.h"
#include "kernels/hip/row.h"
#include "kernels/hip/shape.h"
#include "kernels/hip/wave.h"

namespace mhc {

// ---- What a row is made of -------------------------------------------------------------------------------

template <class E>
struct Collapse {  // sum over j of pre[j] * stream j
  using Element = E;
  const Element* streams;
  int hidden_size;
  float pre[kStreams];

  template <int kWidth>
  MHC_DEVICE Pack<Element, kWidth> at(int h) const {
    Pack<float, kWidth> sum = {};
#pragma unroll
    for (int j = 0; j < kStreams; ++j) {
      const Element* stream = streams + static_cast<long>(j) * hidden_size;
      sum += pre[j] * to_floats<kWidth>(load<kWidth>(stream, h));
    }
    return to_elements<Element, kWidth>(sum);
  }
};

template <class E>
struct Copy {  // the row as it is
  using Element = E;
  const Element* row;

  template <int kWidth>
  MHC_DEVICE Pack<Element, kWidth> at(int h) const {
    return load<kWidth>(row, h);
  }
};

// ---- What becomes of it ----------------------------------------------------------------------------------

// The row itself.
struct NoNorm {};

template <int kWidth, class Source, class Element>
MHC_DEVICE void store_row(const Source& source, const NoNorm*, float, Element* output, int hidden_size) {
  for (int h = kWidth * thread_id(); h < hidden_size; h += kWidth * kThreads) {
    store<kWidth>(output, h, source.template at<kWidth>(h));
  }
}

// Its rmsnorm. The row waits in shared memory, hidden_size elements of it, for its sum of squares; each
// thread reads only what it wrote itself.
extern MHC_SHARED Vec4<unsigned> dynamic_shared_memory[];

template <int kWidth, class Source, class Element, class Weight>
MHC_DEVICE void store_row(const Source& source, const Weight* norm_weight, float norm_eps, Element* output,
                          int hidden_size) {
  auto* const row = reinterpret_cast<Element*>(dynamic_shared_memory);
  Pack<float, kWidth> squares = {};
  for (int h = kWidth * thread_id(); h < hidden_size; h += kWidth * kThreads) {
    const auto elements = source.template at<kWidth>(h);
    store<kWidth>(row, h, elements);
    const auto values = to_floats<kWidth>(elements);
    squares += values * values;
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) sum += squares[i];
  const float scale = inverse_rms(workgroup_sum(sum), hidden_size, norm_eps);

  for (int h = kWidth * thread_id(); h < hidden_size; h += kWidth * kThreads) {
    const auto weight = to_floats<kWidth>(load<kWidth>(norm_weight, h));
    const auto values = to_floats<kWidth>(load<kWidth>(row, h));
    store<kWidth>(output, h, to_elements<Element, kWidth>(values * scale * weight));
  }
}

template <class Source, class Weight>
MHC_DEVICE void store_row(const Source& source, const Weight* norm_weight, float norm_eps,
                          typename Source::Element* output, int hidden_size) {
  if (hidden_size % kWidest == 0) {
    store_row<kWidest>(source, norm_weight, norm_eps, output, hidden_size);
  } else {
    store_row<1>(source, norm_weight, norm_eps, output, hidden_size);
  }
}

}  // namespace mhc

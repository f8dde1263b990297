// hc_head in one launch: projection with the four rows of fn, gates, collapse.
//
// A workgroup takes four tokens, as many as there are rows of fn: the matrix unit multiplies four by four
// rows in blocks of lanes, each block with columns of its own.
#pragma once

#include "kernels/hip/collapse.h"
#include "kernels/hip/columns.h"
#include "kernels/hip/gpu.h"
#include "kernels/hip/mixes.h"
#include "kernels/hip/row.h"
#include "kernels/hip/shape.h"
#include "kernels/hip/wave.h"

namespace mhc {

constexpr int kHeadTokens = 4;
constexpr int kHeadDepth = kWaveSize / kHeadTokens * kWidest;  // columns that a wave takes at a time

// The sums of one wave's columns.
struct HeadSums {
  float products[kHeadTokens][kStreams];
  float squares[kHeadTokens];
};

template <Columns kColumns, class Element>
MHC_DEVICE void sum_columns(const Element* tokens, unsigned token_row, const float* fn, unsigned fn_row,
                            int length, HeadSums& result) {
  Vec4<float> products = {};
  float squares = 0;
  for (int step = wave_id(); step * kHeadDepth < length; step += kWaves) {
    const int k = step * kHeadDepth + lane_id() / kHeadTokens * kWidest;
    const Floats weights = load_columns<kColumns>(fn, fn_row, k, length);
    const Floats values = to_floats<kWidest>(load_columns<kColumns>(tokens, token_row, k, length));
#pragma unroll
    for (int i = 0; i < kWidest; ++i) {
      multiply_add_quads(products, weights[i], values[i]);
      squares += values[i] * values[i];
    }
  }
  const int token = lane_id() % kHeadTokens;
#pragma unroll
  for (int j = 0; j < kStreams; ++j) {
    const float sum = sum_over_bits<kHeadTokens, kWaveSize>(products[j]);
    if (lane_id() < kHeadTokens) result.products[token][j] = sum;
  }
  const float sum = sum_over_bits<kHeadTokens, kWaveSize>(squares);
  if (lane_id() < kHeadTokens) result.squares[token] = sum;
}

template <int kWidth, class Element>
MHC_DEVICE void store_share(const Collapse<Element>& collapse, int share, int num_shares, Element* output) {
  for (int h = kWidth * (lane_id() + kWaveSize * share); h < collapse.hidden_size;
       h += kWidth * kWaveSize * num_shares) {
    store<kWidth>(output, h, collapse.template at<kWidth>(h));
  }
}

template <class Element>
MHC_DEVICE void head(const Element* residual, const float* fn, const float* hc_scale, const float* hc_base,
                     Element* layer_input, int num_tokens, int hidden_size, float rms_eps, float hc_pre_eps) {
  static MHC_SHARED HeadSums of_wave[kWaves];
  const int first_token = workgroup_x() * kHeadTokens, length = kStreams * hidden_size;
  {
    const int row = lane_id() % kHeadTokens;
    const Element* const tokens = residual + static_cast<long>(first_token) * length;
    // Past the last token comes the last one again: its sums are dropped.
    const unsigned token_row = min(row, num_tokens - 1 - first_token) * length, fn_row = row * length;
    if (length % kHeadDepth == 0) {
      sum_columns<Columns::kWhole>(tokens, token_row, fn, fn_row, length, of_wave[wave_id()]);
    } else {
      sum_columns<Columns::kRagged>(tokens, token_row, fn, fn_row, length, of_wave[wave_id()]);
    }
  }
  barrier();

  // From here on a wave has one token, or a share of it.
  constexpr int kShares = kWaves / kHeadTokens;
  const int in_group = wave_id() % kHeadTokens, share = wave_id() / kHeadTokens;
  const int token = first_token + in_group;
  const int j = lane_id() % kStreams;
  float product = 0, squares = 0;
#pragma unroll
  for (int wave = 0; wave < kWaves; ++wave) {
    product += of_wave[wave].products[in_group][j];
    squares += of_wave[wave].squares[in_group];
  }
  const float mix = product * inverse_rms(squares, length, rms_eps);
  const float pre = sigmoid(mix * hc_scale[0] + hc_base[j]) + hc_pre_eps;
  Collapse<Element> collapse{residual + static_cast<long>(token) * length, hidden_size, {}};
#pragma unroll
  for (int stream = 0; stream < kStreams; ++stream) collapse.pre[stream] = from_lane(pre, stream);
  if (token >= num_tokens) return;

  Element* const output = layer_input + static_cast<long>(token) * hidden_size;
  if (hidden_size % kWidest == 0) {
    store_share<kWidest>(collapse, share, kShares, output);
  } else {
    store_share<1>(collapse, share, kShares, output);
  }
}

}  // namespace mhc

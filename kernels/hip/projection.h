// The projection of tokens with the 24 rows of fn, and their sums of squares, over a part of K.
//
// A wave takes 32 columns of 16 tokens and of fn at a time to the matrix unit. The waves of a workgroup take
// such steps in turns; their sums meet in shared memory and are added in the order of the waves. A token's
// sums are thus formed in one order, which depends on the length and the number of splits alone: not on the
// other tokens, nor on how many of them a workgroup takes.
#pragma once

#include "kernels/hip/columns.h"
#include "kernels/hip/gpu.h"
#include "kernels/hip/post.h"
#include "kernels/hip/row.h"
#include "kernels/hip/shape.h"
#include "kernels/hip/wave.h"

namespace mhc {

constexpr int kDepth = 32;                                       // columns of a fragment
constexpr int kTileRows = 16;                                    // rows of a fragment
constexpr int kRowTiles = (kMixes + kTileRows - 1) / kTileRows;  // of fn; the last one is half empty

// ---- How products are formed -----------------------------------------------------------------------------

enum class Products {
  kFp32,    // in fp32: exact for bf16 and fp16 streams but for the rounding
  kBf16x2,  // of bf16 numbers: fn is cut into two of them, high + low, and so is an fp16 element, exactly
};

// Fragments as the matrix unit takes them: numbers that add up to the fragments'.
template <class Number, int kParts, int kTiles>
struct Fragments {
  Vec8<Number> part[kParts][kTiles][kFragmentVectors];

  MHC_DEVICE void set(int tile, int vector, Floats values) {
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
      part[p][tile][vector] = to_elements<Number, kWidest>(values);
      if (p + 1 < kParts) values -= to_floats<kWidest>(part[p][tile][vector]);
    }
  }
};

template <Products, class Element>
struct Factors {
  using Fn = Fragments<float, 1, kRowTiles>;
  template <int kTiles>
  using Tokens = Fragments<float, 1, kTiles>;
};
template <>
struct Factors<Products::kBf16x2, bf16> {
  using Fn = Fragments<bf16, 2, kRowTiles>;
  template <int kTiles>
  using Tokens = Fragments<bf16, 1, kTiles>;
};
template <>
struct Factors<Products::kBf16x2, fp16> {
  using Fn = Fragments<bf16, 2, kRowTiles>;
  template <int kTiles>
  using Tokens = Fragments<bf16, 2, kTiles>;  // 8 of an fp16's 11 bits, and the 3 others
};

// ---- Sums of one wave ------------------------------------------------------------------------------------

template <int kTokenTiles>
struct WaveSums {
  Tile products[kTokenTiles][kRowTiles] = {};
  float squares[kTokenTiles][kFragmentVectors] = {};  // of the lane's columns

  template <class Fn, class Tokens>
  MHC_DEVICE void add_products(const Fn& fn, const Tokens& tokens) {
#pragma unroll
    for (const auto& fn_part : fn.part) {
#pragma unroll
      for (const auto& token_part : tokens.part) multiply_add(products, fn_part, token_part);
    }
  }

  MHC_DEVICE void add_squares(int tile, int vector, const Floats& values) {
#pragma unroll
    for (int i = 0; i < kWidest; ++i) squares[tile][vector] += values[i] * values[i];
  }
};

// The rows of fn that a lane loads. The tile that is half empty repeats the last row, and its products are
// dropped.
struct FnRows {
  const float* fn;
  unsigned row[kRowTiles][kFragmentVectors];  // where it begins

  MHC_DEVICE FnRows(const float* fn, int length) : fn(fn) {
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
      for (int v = 0; v < kFragmentVectors; ++v) {
        row[tile][v] = min(kTileRows * tile + fragment_row(v), kMixes - 1) * length;
      }
    }
  }

  // Columns k to k + 7; those from `end` on are zero.
  template <Columns kColumns, class Fn>
  MHC_DEVICE Fn load(int k, int end) const {
    Fn fragments;
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
      for (int v = 0; v < kFragmentVectors; ++v) {
        fragments.set(tile, v, load_columns<kColumns>(fn, row[tile][v], k, end));
      }
    }
    return fragments;
  }
};

// ---- The split of K --------------------------------------------------------------------------------------

// The steps of kDepth that a split takes: equal parts but for the last ones, which may be shorter or empty.
struct Steps {
  int begin, end;

  MHC_DEVICE Steps(int length, int split, int num_splits) {
    const int all = (length + kDepth - 1) / kDepth, part = (all + num_splits - 1) / num_splits;
    begin = min(split * part, all);
    end = min(begin + part, all);
  }
};

// Adds the workgroup's waves and stores gemm_out_mul[split, token, m] and gemm_out_sqrsum[split, token] of
// its tokens.
template <int kTokenTiles>
MHC_DEVICE void store_sums(const WaveSums<kTokenTiles>& sums, int first_token, int num_tokens, int split,
                           float* gemm_out_mul, float* gemm_out_sqrsum) {
  struct alignas(16) TokenSums {
    float products[kMixes];
    float squares;
  };
  static MHC_SHARED TokenSums of_wave[kWaves][kTileRows];

#pragma unroll
  for (int tile = 0; tile < kTokenTiles; ++tile) {
    if (tile != 0) barrier();  // until the tile before has been read
    TokenSums* const mine = of_wave[wave_id()];
#pragma unroll
    for (int rows = 0; rows < kRowTiles; ++rows) {
#pragma unroll
      for (int result = 0; result < kTileResults; ++result) {
        const int m = kTileRows * rows + tile_i(result);
        if (m < kMixes) mine[tile_j(result)].products[m] = sums.products[tile][rows][result];
      }
    }
#pragma unroll
    for (int v = 0; v < kFragmentVectors; ++v) {
      const float squares = sum_over_bits<kFragmentLanesBegin, kFragmentLanesEnd>(sums.squares[tile][v]);
      if (fragment_column() == 0) mine[fragment_row(v)].squares = squares;
    }
    barrier();

    // Four mixes of a token a thread, and the sums of squares in another wave.
    constexpr int kFours = kMixes / 4, kSquaresThreads = kThreads / 2;
    const int thread = thread_id();
    const auto row_of = [&](int in_tile) {
      return static_cast<long>(split) * num_tokens + first_token + kTileRows * tile + in_tile;
    };
    if (thread < kTileRows * kFours) {
      const int in_tile = thread / kFours, four = thread % kFours;
      Vec4<float> sum = {};
#pragma unroll
      for (int wave = 0; wave < kWaves; ++wave) {
        sum += reinterpret_cast<const Vec4<float>*>(of_wave[wave][in_tile].products)[four];
      }
      if (first_token + kTileRows * tile + in_tile < num_tokens) {
        reinterpret_cast<Vec4<float>*>(gemm_out_mul + row_of(in_tile) * kMixes)[four] = sum;
      }
    } else if (thread >= kSquaresThreads && thread < kSquaresThreads + kTileRows) {
      const int in_tile = thread - kSquaresThreads;
      float sum = 0;
#pragma unroll
      for (int wave = 0; wave < kWaves; ++wave) sum += of_wave[wave][in_tile].squares;
      if (first_token + kTileRows * tile + in_tile < num_tokens) gemm_out_sqrsum[row_of(in_tile)] = sum;
    }
  }
}

// ---- The two kernels -------------------------------------------------------------------------------------

// The tokens whose columns a lane loads, counted from the workgroup's first one. Past the last token comes
// the last one again: its sums are dropped.
template <int kTokenTiles>
struct LaneTokens {
  int token[kTokenTiles][kFragmentVectors];

  MHC_DEVICE explicit LaneTokens(int tokens_left) {
#pragma unroll
    for (int tile = 0; tile < kTokenTiles; ++tile) {
#pragma unroll
      for (int v = 0; v < kFragmentVectors; ++v) {
        token[tile][v] = min(kTileRows * tile + fragment_row(v), tokens_left - 1);
      }
    }
  }
};

template <Columns kColumns, Products kProducts, int kTokenTiles, class Element>
MHC_DEVICE void project_steps(const Steps& steps, const LaneTokens<kTokenTiles>& tokens, const Element* rows,
                              const float* fn, int length, WaveSums<kTokenTiles>& sums) {
  using Fn = typename Factors<kProducts, Element>::Fn;
  using Tokens = typename Factors<kProducts, Element>::template Tokens<kTokenTiles>;
  const FnRows fn_rows(fn, length);
  for (int step = steps.begin + wave_id(); step < steps.end; step += kWaves) {
    const int k = kDepth * step + fragment_column();
    Tokens token_fragments;
#pragma unroll
    for (int tile = 0; tile < kTokenTiles; ++tile) {
#pragma unroll
      for (int v = 0; v < kFragmentVectors; ++v) {
        const unsigned row = tokens.token[tile][v] * length;
        const Floats values = to_floats<kWidest>(load_columns<kColumns>(rows, row, k, length));
        token_fragments.set(tile, v, values);
        sums.add_squares(tile, v, values);
      }
    }
    sums.add_products(fn_rows.load<kColumns, Fn>(k, length), token_fragments);
  }
}

// rows [token, length] times fn [m, length]. A workgroup takes kTokenTiles times 16 tokens and one split.
template <Products kProducts, int kTokenTiles, class Element>
MHC_DEVICE void project(const Element* rows, const float* fn, float* gemm_out_mul, float* gemm_out_sqrsum,
                        int num_tokens, int length, int num_splits) {
  const int first_token = workgroup_x() * kTileRows * kTokenTiles, split = workgroup_y();
  rows += static_cast<long>(first_token) * length;
  const Steps steps(length, split, num_splits);
  const LaneTokens<kTokenTiles> tokens(num_tokens - first_token);
  WaveSums<kTokenTiles> sums;
  if (length % kDepth == 0) {
    project_steps<Columns::kWhole, kProducts>(steps, tokens, rows, fn, length, sums);
  } else {
    project_steps<Columns::kRagged, kProducts>(steps, tokens, rows, fn, length, sums);
  }
  store_sums(sums, first_token, num_tokens, split, gemm_out_mul, gemm_out_sqrsum);
}

template <Columns kColumns, Products kProducts, class Element>
MHC_DEVICE void post_and_project_steps(const Steps& steps, const LaneTokens<1>& tokens, int tokens_left,
                                       const Element* x, const Element* residual, const float* post_mix,
                                       const float* comb_mix, const float* fn, Element* next_residual,
                                       int hidden_size, WaveSums<1>& sums) {
  using Fn = typename Factors<kProducts, Element>::Fn;
  using Tokens = typename Factors<kProducts, Element>::template Tokens<1>;
  const FnRows fn_rows(fn, kStreams * hidden_size);
  PostFactors factors[kFragmentVectors];
#pragma unroll
  for (int v = 0; v < kFragmentVectors; ++v) {
    factors[v] = PostFactors::load(post_mix, comb_mix, tokens.token[0][v]);
  }

  for (int step = steps.begin + wave_id(); step < steps.end; step += kWaves) {
    const int h = kDepth * step + fragment_column();
    Pack<Element, kWidest> posted[kFragmentVectors][kStreams];
#pragma unroll
    for (int v = 0; v < kFragmentVectors; ++v) {
      const unsigned row = tokens.token[0][v] * hidden_size;
      PostInputs<Element, kWidest> inputs;
      inputs.x = load_columns<kColumns>(x, row, h, hidden_size);
#pragma unroll
      for (int i = 0; i < kStreams; ++i) {
        inputs.streams[i] =
            load_columns<kColumns>(residual, kStreams * row + i * hidden_size, h, hidden_size);
      }
      inputs.posted(factors[v], posted[v]);
    }
#pragma unroll
    for (int j = 0; j < kStreams; ++j) {
      Tokens token_fragments;
#pragma unroll
      for (int v = 0; v < kFragmentVectors; ++v) {
        if (fragment_row(v) < tokens_left) {
          const unsigned row = (kStreams * tokens.token[0][v] + j) * hidden_size;
          store_columns<kColumns>(next_residual, row, h, hidden_size, posted[v][j]);
        }
        const Floats values = to_floats<kWidest>(posted[v][j]);
        token_fragments.set(/*tile=*/0, v, values);
        sums.add_squares(/*tile=*/0, v, values);
      }
      const int k = j * hidden_size + h, end = (j + 1) * hidden_size;
      sums.add_products(fn_rows.load<kColumns, Fn>(k, end), token_fragments);
    }
  }
}

// The same of mhc_post's result, which is stored on the way. What is projected are the stored, rounded values
// (rounding profile `rounded`). A split is a part of hidden_size, of all four streams.
template <Products kProducts, class Element>
MHC_DEVICE void post_and_project(const Element* x, const Element* residual, const float* post_mix,
                                 const float* comb_mix, const float* fn, Element* next_residual,
                                 float* gemm_out_mul, float* gemm_out_sqrsum, int num_tokens, int hidden_size,
                                 int num_splits) {
  const int first_token = workgroup_x() * kTileRows, split = workgroup_y(),
            tokens_left = num_tokens - first_token;
  x += static_cast<long>(first_token) * hidden_size;
  residual += static_cast<long>(first_token) * kStreams * hidden_size;
  next_residual += static_cast<long>(first_token) * kStreams * hidden_size;
  post_mix += static_cast<long>(first_token) * kStreams;
  comb_mix += static_cast<long>(first_token) * kComb;
  const Steps steps(hidden_size, split, num_splits);
  const LaneTokens<1> tokens(tokens_left);
  WaveSums<1> sums;
  if (hidden_size % kDepth == 0) {
    post_and_project_steps<Columns::kWhole, kProducts>(steps, tokens, tokens_left, x, residual, post_mix,
                                                       comb_mix, fn, next_residual, hidden_size, sums);
  } else {
    post_and_project_steps<Columns::kRagged, kProducts>(steps, tokens, tokens_left, x, residual, post_mix,
                                                        comb_mix, fn, next_residual, hidden_size, sums);
  }
  store_sums(sums, first_token, num_tokens, split, gemm_out_mul, gemm_out_sqrsum);
}

}  // namespace mhc

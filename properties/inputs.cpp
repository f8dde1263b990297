// Every input tensor of every operator, by name: one row a tensor.

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "properties/regimes.h"
#include "reference/base/vectorised.h"

namespace mhcheck::properties {
namespace {

// Elements generated at a time: a multiple of 8, small enough for the first cache.
constexpr std::int64_t kRun = 4096;

void for_each_row(std::int64_t rows, const auto& fill) { tbb::parallel_for(std::int64_t{0}, rows, fill); }

// Stores `values` from element `at` on, each rounded once.
MHCHECK_VECTORISED
void store(std::span<const float> values, Tensor& tensor, std::size_t at) {
  const auto encode_all = [&]<Dtype D>() {
    const std::span<std::uint16_t> out = tensor.halves().subspan(at, values.size());
    for (std::size_t i = 0; i < values.size(); ++i) out[i] = static_cast<std::uint16_t>(encode<D>(values[i]));
  };
  switch (tensor.dtype()) {
    case Dtype::bf16:
      return encode_all.operator()<Dtype::bf16>();
    case Dtype::fp16:
      return encode_all.operator()<Dtype::fp16>();
    case Dtype::fp32:
      std::ranges::copy(values, tensor.floats().subspan(at, values.size()).begin());
  }
}

float draw(const Range& range, const RandomRow& random, std::uint32_t lane, std::int64_t element) {
  const float magnitude = range.low + (range.high - range.low) * random.uniform(lane, element);
  // uniform() uses the upper 24 bits of the word, the sign its lowest.
  const bool negative = range.either_sign && (random.word(lane, element) & 1u) != 0;
  return negative ? -magnitude : magnitude;
}

// What a tensor is made from.
struct Recipe {
  const Case& c;
  const Regime& regime;
  std::string_view tensor;

  RandomRow row(std::int64_t index) const { return {c.seed, tensor, index}; }
};

// ---- residual, x ---------------------------------------------------------------------------------------

// One stream of one token, or a token of x, to its place in the tensor.
void make_stream(const Recipe& recipe, const RandomRow& random, std::int64_t token, int stream,
                 Tensor& tensor, std::size_t at) {
  const std::int64_t H = recipe.c.problem.hidden_size;
  std::array<float, kRun> buffer;
  const auto lane = static_cast<std::uint32_t>(std::max(stream, 0));
  for (std::int64_t first = 0; first < H; first += kRun) {
    const std::span<float> values =
        std::span(buffer).first(static_cast<std::size_t>(std::min(kRun, H - first)));
    random.gaussians(lane, first, values);
    recipe.regime.shape_streams({recipe.c.problem, recipe.c.seed, random, token, stream, first, values});
    store(values, tensor, at + static_cast<std::size_t>(first));
  }
}

void make_x(const Recipe& recipe, const TensorMap&, Tensor& x) {
  const std::int64_t H = recipe.c.problem.hidden_size;
  for_each_row(recipe.c.problem.num_tokens, [&](std::int64_t token) {
    make_stream(recipe, recipe.row(token), token, StreamRun::kWholeToken, x,
                static_cast<std::size_t>(token * H));
  });
}

void make_residual(const Recipe& recipe, const TensorMap&, Tensor& residual) {
  const Problem& p = recipe.c.problem;
  // At the broadcast entry every stream is x.
  const bool broadcast = p.entry == Entry::broadcast;
  const Recipe source{recipe.c, recipe.regime, broadcast ? "x" : recipe.tensor};
  for_each_row(p.num_tokens, [&](std::int64_t token) {
    const RandomRow random = source.row(token);
    for (int stream = 0; stream < p.hc_mult; ++stream) {
      make_stream(source, random, token, broadcast ? StreamRun::kWholeToken : stream, residual,
                  static_cast<std::size_t>((token * p.hc_mult + stream) * p.hidden_size));
    }
  });
}

// ---- fn ------------------------------------------------------------------------------------------------

// N(0, 1/K): against streams of any scale the mixes, which are divided by its root mean square, come out
// near 1.
void make_weights(const Recipe& recipe, const RandomRow& random, std::uint32_t lane, std::span<float> row) {
  random.gaussians(lane, /*first=*/0, row);
  recipe.regime.shape_weights({random, lane, row});
  const float scale = 1 / std::sqrt(static_cast<float>(row.size()));
  for (float& value : row) value *= scale;
}

void make_fn(const Recipe& recipe, const TensorMap&, Tensor& fn) {
  const auto K = static_cast<std::size_t>(recipe.c.problem.hc_hidden_size());
  for_each_row(fn.shape()[0], [&](std::int64_t m) {
    make_weights(recipe, recipe.row(m), /*lane=*/0, fn.floats().subspan(static_cast<std::size_t>(m) * K, K));
  });
}

// sum_j fn[m,j,h] of the fn that the carried form would get.
void make_fn_broadcast(const Recipe& recipe, const TensorMap&, Tensor& fn_broadcast) {
  const auto H = static_cast<std::size_t>(recipe.c.problem.hidden_size);
  const auto n = static_cast<std::size_t>(recipe.c.problem.hc_mult);
  const Recipe carried{recipe.c, recipe.regime, "fn"};
  for_each_row(fn_broadcast.shape()[0], [&](std::int64_t m) {
    std::vector<float> fn(n * H);
    make_weights(carried, carried.row(m), /*lane=*/0, fn);
    const std::span<float> sums = fn_broadcast.floats().subspan(static_cast<std::size_t>(m) * H, H);
    for (std::size_t h = 0; h < H; ++h) {
      double sum = 0;  // exact unless the terms lie more than 2^26 apart
      for (std::size_t j = 0; j < n; ++j) sum += fn[j * H + h];
      sums[h] = static_cast<float>(sum);
    }
  });
}

// ---- hc_scale, hc_base, logits -------------------------------------------------------------------------

void make_hc_scale(const Recipe& recipe, const TensorMap&, Tensor& hc_scale) {
  const RandomRow random = recipe.row(0);
  const std::span<float> scales = hc_scale.floats();
  for (std::size_t group = 0; group < scales.size(); ++group) {
    scales[group] =
        recipe.regime.hc_scale[group] * (0.75f + 0.5f * random.uniform(0, static_cast<int>(group)));
  }
}

const Range& comb_base(const Regime& regime, std::size_t entry, std::size_t n) {
  const std::size_t row = entry / n, column = entry % n;
  return column >= row ? regime.hc_base.comb : regime.hc_base.comb_below;
}

void make_hc_base(const Recipe& recipe, const TensorMap&, Tensor& hc_base) {
  const auto n = static_cast<std::size_t>(recipe.c.problem.hc_mult);
  const BaseRanges& ranges = recipe.regime.hc_base;
  const RandomRow random = recipe.row(0);
  const std::span<float> bases = hc_base.floats();
  for (std::size_t m = 0; m < bases.size(); ++m) {
    const Range& range = m < n       ? ranges.pre
                         : m < 2 * n ? ranges.post
                                     : comb_base(recipe.regime, m - 2 * n, n);
    bases[m] = draw(range, random, 0, static_cast<std::int64_t>(m));
  }
}

// As the comb logits of mhc_pre: a mix of about 1, scaled, with a base; here each token has its own base.
void make_logits(const Recipe& recipe, const TensorMap&, Tensor& logits) {
  const auto n = static_cast<std::size_t>(recipe.c.problem.hc_mult);
  for_each_row(recipe.c.problem.num_tokens, [&](std::int64_t token) {
    const RandomRow random = recipe.row(token);
    const std::span<float> values = logits.floats().subspan(static_cast<std::size_t>(token) * n * n, n * n);
    random.gaussians(/*lane=*/0, 0, values);
    for (std::size_t entry = 0; entry < n * n; ++entry) {
      values[entry] =
          recipe.regime.hc_scale[2] * values[entry] +
          draw(comb_base(recipe.regime, entry, n), random, /*lane=*/1, static_cast<std::int64_t>(entry));
    }
  });
}

// ---- post_mix, pre_mix, comb_mix, norm_weight ----------------------------------------------------------

// n numbers for each token.
void make_gates(const Recipe& recipe, const Range& range, Tensor& gates) {
  const auto n = static_cast<std::size_t>(recipe.c.problem.hc_mult);
  for_each_row(recipe.c.problem.num_tokens, [&](std::int64_t token) {
    const RandomRow random = recipe.row(token);
    const std::span<float> row = gates.floats().subspan(static_cast<std::size_t>(token) * n, n);
    for (std::size_t j = 0; j < n; ++j) row[j] = draw(range, random, 0, static_cast<std::int64_t>(j));
  });
}

void make_post_mix(const Recipe& recipe, const TensorMap&, Tensor& post_mix) {
  make_gates(recipe, {0.02f, 1.98f}, post_mix);
}

void make_pre_mix(const Recipe& recipe, const TensorMap&, Tensor& pre_mix) {
  make_gates(recipe, {0.02f, 0.98f}, pre_mix);
}

// Random positive entries, rows normalised once and then columns: the columns sum to 1 and the rows nearly,
// as Sinkhorn leaves them. More rounds would make it doubly stochastic, and for n = 2 symmetric: a transposed
// use could not be seen.
void make_comb_mix(const Recipe& recipe, const TensorMap&, Tensor& comb_mix) {
  const auto n = static_cast<std::size_t>(recipe.c.problem.hc_mult);
  for_each_row(recipe.c.problem.num_tokens, [&](std::int64_t token) {
    const RandomRow random = recipe.row(token);
    std::array<double, kMaxHcMult * kMaxHcMult> comb;
    for (std::size_t i = 0; i < n * n; ++i) {
      comb[i] = draw({0.02f, 1}, random, 0, static_cast<std::int64_t>(i));
    }
    const auto normalise = [&](std::size_t from, std::size_t step) {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += comb[from + i * step];
      for (std::size_t i = 0; i < n; ++i) comb[from + i * step] /= sum;
    };
    for (std::size_t row = 0; row < n; ++row) normalise(row * n, 1);
    for (std::size_t column = 0; column < n; ++column) normalise(column, n);
    const std::span<float> out = comb_mix.floats().subspan(static_cast<std::size_t>(token) * n * n, n * n);
    for (std::size_t i = 0; i < n * n; ++i) out[i] = static_cast<float>(comb[i]);
  });
}

void make_norm_weight(const Recipe& recipe, const TensorMap&, Tensor& norm_weight) {
  std::vector<float> values(norm_weight.size());
  recipe.row(0).gaussians(/*lane=*/0, 0, values);
  for (float& value : values) value = 1 + 0.25f * value;
  store(values, norm_weight, 0);
}

// ---- gemm_out_sqrsum, gemm_out_mul ---------------------------------------------------------------------

double sum_of_squares(const Tensor& residual, std::int64_t token, std::int64_t elements) {
  double sum = 0;
  for (std::int64_t k = 0; k < elements; ++k) {
    const double value = residual.value(static_cast<std::size_t>(token * elements + k));
    sum += value * value;
  }
  return sum;
}

// Parts of the residual's own sum of squares: random, positive, within a factor of 3 of each other.
void make_gemm_out_sqrsum(const Recipe& recipe, const TensorMap& inputs, Tensor& gemm_out_sqrsum) {
  const Problem& p = recipe.c.problem;
  const Tensor& residual = inputs.at("residual");
  for_each_row(p.num_tokens, [&](std::int64_t token) {
    const RandomRow random = recipe.row(token);
    std::vector<double> shares(static_cast<std::size_t>(p.split_k));
    double all_shares = 0;
    for (std::size_t s = 0; s < shares.size(); ++s) {
      shares[s] = 0.5 + random.uniform(0, static_cast<std::int64_t>(s));
      all_shares += shares[s];
    }
    const double total = sum_of_squares(residual, token, p.hc_hidden_size());
    for (std::size_t s = 0; s < shares.size(); ++s) {
      gemm_out_sqrsum.floats()[s * static_cast<std::size_t>(p.num_tokens) + static_cast<std::size_t>(token)] =
          static_cast<float>(total * shares[s] / all_shares);
    }
  });
}

// Partial sums of projections that give mixes of the size that fn would give, drawn like a row of S weights.
void make_gemm_out_mul(const Recipe& recipe, const TensorMap& inputs, Tensor& gemm_out_mul) {
  const Problem& p = recipe.c.problem;
  const Tensor& residual = inputs.at("residual");
  const std::int64_t T = p.num_tokens, M = p.hc_mult3(), K = p.hc_hidden_size();
  for_each_row(T, [&](std::int64_t token) {
    const double mean_square = sum_of_squares(residual, token, K) / static_cast<double>(K);
    const auto root_mean_square = static_cast<float>(std::sqrt(mean_square));
    const RandomRow random = recipe.row(token);
    std::vector<float> parts(static_cast<std::size_t>(p.split_k));
    for (std::int64_t m = 0; m < M; ++m) {
      make_weights(recipe, random, static_cast<std::uint32_t>(m), parts);
      for (std::size_t s = 0; s < parts.size(); ++s) {
        gemm_out_mul.floats()[s * static_cast<std::size_t>(T * M) + static_cast<std::size_t>(token * M + m)] =
            parts[s] * root_mean_square;
      }
    }
  });
}

// ---- The rows ------------------------------------------------------------------------------------------

struct TensorRow {
  std::string_view name;
  void (*make)(const Recipe&, const TensorMap& earlier, Tensor&);
};

// In an order in which each finds the tensors that it is made from.
constexpr TensorRow kTensors[] = {
    {"x", make_x},
    {"residual", make_residual},
    {"fn", make_fn},
    {"fn_broadcast", make_fn_broadcast},
    {"hc_scale", make_hc_scale},
    {"hc_base", make_hc_base},
    {"logits", make_logits},
    {"post_mix", make_post_mix},
    {"comb_mix", make_comb_mix},
    {"pre_mix", make_pre_mix},
    {"norm_weight", make_norm_weight},
    {"gemm_out_sqrsum", make_gemm_out_sqrsum},
    {"gemm_out_mul", make_gemm_out_mul},
};

const Regime& regime_of(const Case& c) {
  if (const Regime* regime = find_regime(c.regime)) return *regime;
  std::string names;
  for (const Regime& regime : all_regimes()) names += fmt::format(" {}", regime.name);
  throw UnknownRegime(fmt::format("no input regime is called '{}'; there are{}", c.regime, names));
}

}  // namespace

TensorMap make_inputs(const Case& c) {
  if (const std::string reason = why_illegal(c.problem); !reason.empty()) throw std::invalid_argument(reason);
  const Regime& regime = regime_of(c);
  TensorMap inputs;
  const std::vector<TensorSpec> specs = input_specs(c.problem);
  for (const TensorRow& row : kTensors) {
    const auto spec = std::ranges::find(specs, row.name, &TensorSpec::name);
    if (spec == specs.end()) continue;
    Tensor tensor(spec->dtype, spec->shape);
    row.make({c, regime, row.name}, inputs, tensor);
    inputs.emplace(row.name, std::move(tensor));
  }
  if (regime.finish != nullptr) regime.finish(c, inputs);
  return inputs;
}

}  // namespace mhcheck::properties

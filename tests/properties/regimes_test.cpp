// Each regime is what its name says.

#include "properties/regimes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace mhcheck::properties {
namespace {

constexpr std::size_t kTokens = 32, kStreams = 4, kHidden = 1024, kSum = kStreams * kHidden, kRows = 24;

TensorMap inputs_of(std::string_view op, std::string_view regime, Dtype dtype = Dtype::bf16) {
  return make_inputs(parse_descriptor(std::string(op) + ":" + std::string(name_of(dtype)) +
                                      ":t32:n4:h1024:in=" + std::string(regime)));
}

std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values(tensor.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = tensor.value(i);
  return values;
}

double mean_square(const std::vector<double>& values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0) /
         static_cast<double>(values.size());
}

double largest_magnitude(const std::vector<double>& values) {
  return std::fabs(*std::ranges::max_element(values, {}, [](double v) { return std::fabs(v); }));
}

double mean_square_of_stream(const Tensor& residual, std::size_t token, std::size_t stream) {
  double sum = 0;
  for (std::size_t h = 0; h < kHidden; ++h)
    sum += std::pow(residual.value((token * kStreams + stream) * kHidden + h), 2);
  return sum / kHidden;
}

// The mixes of mhc_pre in plain double, and how far the projection sums cancel.
struct Mixes {
  std::vector<double> mixes;         // [T,M]
  std::vector<double> cancellation;  // |sum| / sum of absolute terms
};

Mixes mixes_of(const TensorMap& inputs) {
  const Tensor &residual = inputs.at("residual"), &fn = inputs.at("fn");
  Mixes result;
  for (std::size_t t = 0; t < kTokens; ++t) {
    double squares = 0;
    for (std::size_t k = 0; k < kSum; ++k) squares += std::pow(residual.value(t * kSum + k), 2);
    for (std::size_t m = 0; m < kRows; ++m) {
      double sum = 0, absolute = 0;
      for (std::size_t k = 0; k < kSum; ++k) {
        const double term = residual.value(t * kSum + k) * fn.value(m * kSum + k);
        sum += term;
        absolute += std::fabs(term);
      }
      result.mixes.push_back(sum / std::sqrt(squares / kSum + 1e-6));
      if (absolute > 0) result.cancellation.push_back(std::fabs(sum) / absolute);
    }
  }
  return result;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

TEST(Regimes, AreFoundByTheirNamesAndExplainThemselves) {
  std::set<std::string_view> names;
  for (const Regime& regime : all_regimes()) {
    EXPECT_EQ(find_regime(regime.name), &regime);
    EXPECT_FALSE(regime.purpose.empty()) << regime.name;
    names.insert(regime.name);
  }
  EXPECT_EQ(names.size(), all_regimes().size());
  EXPECT_EQ(find_regime("Gauss"), nullptr);
  EXPECT_EQ(find_regime(""), nullptr);
}

TEST(Regimes, MixesAreNearOneInEveryRegime) {
  for (const Regime& regime : all_regimes()) {
    const double size = std::sqrt(mean_square(mixes_of(inputs_of("mhc_pre", regime.name)).mixes));
    // tiny loses a factor sqrt(2) to rms_eps, zero_rows a quarter of the tokens.
    EXPECT_GT(size, 0.4) << regime.name;
    EXPECT_LT(size, 2.5) << regime.name;
  }
}

TEST(Regimes, GaussHasUnitStreamsAndOrdinaryMixingTensors) {
  const TensorMap inputs = inputs_of("mhc_fused_post_pre", "gauss");
  EXPECT_NEAR(mean_square(values_of(inputs.at("residual"))), 1, 0.02);
  EXPECT_NEAR(mean_square(values_of(inputs.at("x"))), 1, 0.04);
  EXPECT_NEAR(mean_square(values_of(inputs.at("fn"))) * kSum, 1, 0.03);
  for (const double scale : values_of(inputs.at("hc_scale"))) {
    EXPECT_GE(scale, 0.75);
    EXPECT_LE(scale, 1.25);
  }
  EXPECT_LE(largest_magnitude(values_of(inputs.at("hc_base"))), 1);
  EXPECT_GT(mean_square(values_of(inputs.at("hc_base"))), 0.1);
  for (const double post : values_of(inputs.at("post_mix"))) {
    EXPECT_GT(post, 0);
    EXPECT_LT(post, 2);
  }
}

TEST(Regimes, CombIsPositiveNearlyDoublyStochasticAndNeitherSymmetricNorNearIdentity) {
  for (const int n : {2, 4, 8}) {
    const Case c = parse_descriptor("mhc_post:bf16:t64:n" + std::to_string(n) + ":h1");
    const TensorMap inputs = make_inputs(c);
    const std::vector<double> comb = values_of(inputs.at("comb_mix"));
    double asymmetry = 0, diagonal = 0, row_error = 0;
    for (int t = 0; t < 64; ++t) {
      const auto at = [&](int i, int j) { return comb[static_cast<std::size_t>((t * n + i) * n + j)]; };
      for (int i = 0; i < n; ++i) {
        double row = 0, column = 0;
        for (int j = 0; j < n; ++j) {
          EXPECT_GT(at(i, j), 0);
          row += at(i, j);
          column += at(j, i);
          asymmetry += std::fabs(at(i, j) - at(j, i));
        }
        EXPECT_NEAR(column, 1, 1e-6);
        EXPECT_NEAR(row, 1, 0.8);
        row_error += std::fabs(row - 1);
        diagonal += at(i, i);
      }
    }
    EXPECT_LT(row_error / (64 * n), 0.15) << n;
    EXPECT_GT(asymmetry / (64 * n), 0.05) << n;
    EXPECT_LT(diagonal / (64 * n), 1.3 / n) << n;
  }
}

TEST(Regimes, PreMixLiesBetweenZeroAndOne) {
  for (const double pre : values_of(inputs_of("hc_collapse", "gauss").at("pre_mix"))) {
    EXPECT_GT(pre, 0);
    EXPECT_LT(pre, 1);
  }
}

TEST(Regimes, NormWeightSpreadsAroundOne) {
  const TensorMap inputs = make_inputs(parse_descriptor("rmsnorm:bf16:t1:n4:h4096:norm=bf16"));
  const std::vector<double> weights = values_of(inputs.at("norm_weight"));
  EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0) / 4096, 1, 0.02);
  EXPECT_NEAR(mean_square(weights) - 1, 0.0625, 0.02);
}

TEST(Regimes, MassiveHasAFewActivationsFarAboveTheRest) {
  for (const auto& [dtype, low, high] :
       {std::tuple{Dtype::bf16, 8192.0, 16384.0}, std::tuple{Dtype::fp16, 1024.0, 2048.0}}) {
    const std::vector<double> values = values_of(inputs_of("mhc_pre", "massive", dtype).at("residual"));
    std::size_t massive = 0;
    for (const double value : values) {
      if (std::fabs(value) >= low && std::fabs(value) <= high) {
        ++massive;
      } else {
        EXPECT_LE(std::fabs(value), 4.25);
      }
    }
    EXPECT_EQ(massive, 3 * kTokens * kStreams);
  }
}

// Streams are generated piece by piece: what a regime puts at single places must come once, in the right
// piece.
TEST(Regimes, SinglePlacesOfLongStreamsAreFilledOnce) {
  constexpr std::size_t kLong = 7168, kRowsOfX = 16;
  std::size_t in_the_second_piece = 0;
  for (const auto& [regime, fewest, most, bound] :
       {std::tuple{"massive", 3u, 3u, 1000.0}, std::tuple{"sparse", 1u, 2u, 0.0}}) {
    const TensorMap inputs =
        make_inputs(parse_descriptor("hc_expand:bf16:t16:n4:h7168:in=" + std::string(regime)));
    for (std::size_t t = 0; t < kRowsOfX; ++t) {
      unsigned filled = 0;
      for (std::size_t h = 0; h < kLong; ++h) {
        if (std::fabs(inputs.at("x").value(t * kLong + h)) <= bound) continue;
        ++filled;
        in_the_second_piece += h >= 4096;
      }
      EXPECT_GE(filled, fewest) << regime << " token " << t;
      EXPECT_LE(filled, most) << regime << " token " << t;
    }
  }
  EXPECT_GT(in_the_second_piece, 0u);
}

TEST(Regimes, TinyHasMeanSquaresLikeTheUsualEps) {
  const TensorMap inputs = inputs_of("mhc_post", "tiny", Dtype::fp16);
  for (const std::string name : {"x", "residual"}) {
    const std::vector<double> values = values_of(inputs.at(name));
    EXPECT_NEAR(mean_square(values), 1e-6, 0.2e-6);
    EXPECT_TRUE(std::ranges::any_of(values, [](double v) { return v != 0 && std::fabs(v) < 0x1p-14; }))
        << "fp16 subnormals";
  }
}

TEST(Regimes, ZeroRowsHasZeroTokensStreamsAndX) {
  const TensorMap inputs = inputs_of("mhc_post", "zero_rows");
  const Tensor &residual = inputs.at("residual"), &x = inputs.at("x");
  for (std::size_t t = 0; t < kTokens; ++t) {
    double x_square = 0;
    for (std::size_t h = 0; h < kHidden; ++h) x_square += std::pow(x.value(t * kHidden + h), 2);
    EXPECT_EQ(x_square == 0, t % 4 == 0 || t % 4 == 2) << t;
    for (std::size_t j = 0; j < kStreams; ++j) {
      EXPECT_EQ(mean_square_of_stream(residual, t, j) == 0, t % 4 == 0 || (t % 4 == 1 && j % 2 == 1))
          << t << " " << j;
    }
  }
}

TEST(Regimes, CancellingSumsAreFarBelowTheirTerms) {
  const double gauss = median(mixes_of(inputs_of("mhc_pre", "gauss")).cancellation);
  const double cancelling = median(mixes_of(inputs_of("mhc_pre", "cancelling")).cancellation);
  EXPECT_LT(cancelling, 1e-3);
  EXPECT_LT(cancelling, gauss / 20);
}

TEST(Regimes, CancellingPartialSumsCancelToo) {
  const TensorMap inputs =
      make_inputs(parse_descriptor("mhc_pre_big_fuse:bf16:t32:n4:h64:in=cancelling:sk16"));
  const Tensor& parts = inputs.at("gemm_out_mul");
  std::vector<double> cancellation;
  for (std::size_t i = 0; i < kTokens * kRows; ++i) {
    double sum = 0, absolute = 0;
    for (std::size_t s = 0; s < 16; ++s) {
      sum += parts.value(s * kTokens * kRows + i);
      absolute += std::fabs(parts.value(s * kTokens * kRows + i));
    }
    cancellation.push_back(std::fabs(sum) / absolute);
  }
  EXPECT_LT(median(cancellation), 0.02);
}

TEST(Regimes, StrongLogitsAreStrongAndBelowTheDiagonalWeak) {
  const std::vector<double> base = values_of(inputs_of("mhc_pre", "strong_logits").at("hc_base"));
  const std::vector<double> logits = values_of(inputs_of("sinkhorn", "strong_logits").at("logits"));
  for (std::size_t entry = 0; entry < kStreams * kStreams; ++entry) {
    const bool below = entry / kStreams > entry % kStreams;
    const double of_base = base[2 * kStreams + entry];
    EXPECT_TRUE(below ? of_base >= -30 && of_base <= -10 : of_base >= 10 && of_base <= 14) << entry;
    double mean = 0;
    for (std::size_t t = 0; t < kTokens; ++t) mean += logits[t * kStreams * kStreams + entry] / kTokens;
    EXPECT_NEAR(mean, below ? -20 : 12, 5) << entry;
  }
}

// Rows that do not sum to 1 after 20 iterations have not converged.
TEST(Regimes, StrongLogitsAreFarFromConvergedAfterTwentyIterations) {
  const std::vector<double> logits = values_of(inputs_of("sinkhorn", "strong_logits").at("logits"));
  std::vector<double> row_errors;
  for (std::size_t t = 0; t < kTokens; ++t) {
    std::array<double, kStreams * kStreams> c;
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = std::exp(logits[t * c.size() + i]);
    for (int iteration = 0; iteration < 20; ++iteration) {
      for (const auto& [from, step] :
           {std::pair{kStreams, std::size_t{1}}, std::pair{std::size_t{1}, kStreams}}) {
        for (std::size_t line = 0; line < kStreams; ++line) {
          double sum = 0;
          for (std::size_t i = 0; i < kStreams; ++i) sum += c[line * from + i * step];
          for (std::size_t i = 0; i < kStreams; ++i) c[line * from + i * step] /= sum;
        }
      }
    }
    for (std::size_t i = 0; i < kStreams; ++i) {
      double row = 0;
      for (std::size_t j = 0; j < kStreams; ++j) row += c[i * kStreams + j];
      row_errors.push_back(std::fabs(row - 1));
    }
  }
  EXPECT_GT(*std::ranges::max_element(row_errors), 0.03);
  EXPECT_GT(median(row_errors), 1e-3);
}

TEST(Regimes, WeakLogitsAreWeak) {
  EXPECT_LT(largest_magnitude(values_of(inputs_of("sinkhorn", "weak_logits").at("logits"))), 0.125);
  const TensorMap inputs = inputs_of("mhc_pre", "weak_logits");
  EXPECT_LT(largest_magnitude(values_of(inputs.at("hc_scale"))), 0.02);
  EXPECT_LT(largest_magnitude(values_of(inputs.at("hc_base"))), 0.004);
}

TEST(Regimes, ClosedGatesAreClosed) {
  const TensorMap inputs = inputs_of("mhc_pre", "closed_gates");
  for (std::size_t m = 0; m < 2 * kStreams; ++m) {
    EXPECT_LE(inputs.at("hc_base").value(m), -12);
    EXPECT_GE(inputs.at("hc_base").value(m), -16);
  }
}

TEST(Regimes, RaggedScalesHasAScaleForEachTokenAndStream) {
  const TensorMap inputs = inputs_of("mhc_post", "ragged_scales");
  std::set<int> exponents;
  for (std::size_t t = 0; t < kTokens; ++t) {
    for (std::size_t j = 0; j < kStreams; ++j) {
      const double exponent = std::log2(mean_square_of_stream(inputs.at("residual"), t, j)) / 2;
      EXPECT_NEAR(exponent, std::round(exponent), 0.2);
      exponents.insert(static_cast<int>(std::round(exponent)));
    }
  }
  EXPECT_EQ(*exponents.begin(), -8);
  EXPECT_EQ(*exponents.rbegin(), 8);
  EXPECT_EQ(exponents.size(), 17u);
}

TEST(Regimes, HeavyTailHasATailThatFallsLikeOneOverX) {
  const std::vector<double> values = values_of(inputs_of("mhc_post", "heavy_tail").at("residual"));
  const auto share_above = [&](double bound) {
    return static_cast<double>(
               std::ranges::count_if(values, [&](double v) { return std::fabs(v) > bound; })) /
           static_cast<double>(values.size());
  };
  EXPECT_NEAR(share_above(8) / share_above(32), 4, 1);
  EXPECT_NEAR(share_above(32) / share_above(128), 4, 1);
  EXPECT_GT(largest_magnitude(values), 500);
}

TEST(Regimes, SparseHasAtMostTwoElementsAStreamAndNeverNone) {
  const TensorMap inputs = inputs_of("mhc_post", "sparse");
  for (const std::string name : {"residual", "x"}) {
    const Tensor& tensor = inputs.at(name);
    for (std::size_t row = 0; row < tensor.size() / kHidden; ++row) {
      std::size_t filled = 0;
      for (std::size_t h = 0; h < kHidden; ++h) filled += tensor.value(row * kHidden + h) != 0;
      EXPECT_GE(filled, 1u) << name << " row " << row;
      EXPECT_LE(filled, 2u) << name << " row " << row;
    }
  }
}

TEST(Regimes, SameSignHasPositiveTermsOnly) {
  const TensorMap inputs = inputs_of("mhc_fused_post_pre", "same_sign");
  for (const std::string name : {"x", "residual", "fn"}) {
    EXPECT_TRUE(std::ranges::all_of(values_of(inputs.at(name)), [](double v) { return v >= 0; })) << name;
  }
  for (const double cancellation : mixes_of(inputs_of("mhc_pre", "same_sign")).cancellation) {
    EXPECT_NEAR(cancellation, 1, 1e-12);
  }
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// The collapse of a token before it is rounded, with pre as mhc_pre computes it from `streams` [n,H].
std::vector<double> collapse_of(const std::vector<double>& streams, const TensorMap& inputs, int n, int H) {
  const std::vector<double> fn = values_of(inputs.at("fn"));
  const double K = n * H;
  std::vector<double> collapse(static_cast<std::size_t>(H), 0.0);
  for (int j = 0; j < n; ++j) {
    double sum = 0;
    for (std::size_t k = 0; k < streams.size(); ++k)
      sum += streams[k] * fn[static_cast<std::size_t>(j) * streams.size() + k];
    const double mix = sum / std::sqrt(mean_square(streams) * static_cast<double>(streams.size()) / K + 1e-6);
    const double pre = sigmoid(mix * inputs.at("hc_scale").value(0) +
                               inputs.at("hc_base").value(static_cast<std::size_t>(j))) +
                       1e-6;
    for (int h = 0; h < H; ++h) {
      collapse[static_cast<std::size_t>(h)] += pre * streams[static_cast<std::size_t>(j * H + h)];
    }
  }
  return collapse;
}

TEST(Regimes, ConstantCollapseRoundsToOneButIsNotOne) {
  EXPECT_FALSE(find_regime("constant_collapse")->independent_roundings);
  constexpr int H = 64;
  for (const Dtype dtype : {Dtype::bf16, Dtype::fp16}) {
    const double ulp_of_one = ulp(dtype, 1.0);
    for (int n = 1; n <= kMaxHcMult; ++n) {
      const std::string shape =
          std::string(name_of(dtype)) + ":t3:n" + std::to_string(n) + ":h64:in=constant_collapse";
      const auto check = [&](const std::vector<double>& collapse, const char* where) {
        for (const double value : collapse) {
          EXPECT_EQ(decode(dtype, encode(dtype, value)), 1) << where << " " << shape;
          EXPECT_GT(value - 1, ulp_of_one / 8) << where << " " << shape;
        }
      };
      const TensorMap pre = make_inputs(parse_descriptor("mhc_pre:" + shape));
      std::vector<double> streams = values_of(pre.at("residual"));
      streams.resize(static_cast<std::size_t>(n * H));
      check(collapse_of(streams, pre, n, H), "mhc_pre");

      // Through mhc_post the streams come out as the same constants.
      const TensorMap fused = make_inputs(parse_descriptor("mhc_fused_post_pre:" + shape));
      std::vector<double> next(static_cast<std::size_t>(n * H));
      for (std::size_t j = 0; j < static_cast<std::size_t>(n); ++j) {
        for (std::size_t h = 0; h < H; ++h) {
          double sum = fused.at("post_mix").value(j) * fused.at("x").value(h);
          for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
            sum += fused.at("comb_mix").value(i * static_cast<std::size_t>(n) + j) *
                   fused.at("residual").value(i * H + h);
          }
          next[j * H + h] = decode(dtype, encode(dtype, sum));
        }
      }
      EXPECT_EQ(next, streams) << shape;
      check(collapse_of(next, fused, n, H), "mhc_fused_post_pre");

      const TensorMap carried = make_inputs(parse_descriptor("hc_collapse:" + shape));
      std::vector<double> collapse(H, 0.0);
      for (std::size_t j = 0; j < static_cast<std::size_t>(n); ++j) {
        for (std::size_t h = 0; h < H; ++h) {
          collapse[h] += carried.at("pre_mix").value(j) * carried.at("residual").value(j * H + h);
        }
      }
      check(collapse, "hc_collapse");
    }
  }
}

}  // namespace
}  // namespace mhcheck::properties

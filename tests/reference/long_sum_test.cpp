// The bound on a long sum: kernels that add up in any order, with any rounding that the model allows, stay
// within it; and it is not far above what they do.
#include "reference/sums/long_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <vector>

#include "reference/reference.h"
#include "reference/sums/projection.h"
#include "tests/reference/big.h"
#include "tests/reference/hard_rows.h"
#include "tests/reference/random.h"

namespace mhcheck::sums {
namespace {

using error_model::kUnit;
using testing::Big;
using testing::Random;

struct Terms {
  std::vector<double> x, f;
  LongSum sum;
  Big exact;
};

Terms terms_of(std::vector<double> x, std::vector<double> f) {
  Terms terms{std::move(x), std::move(f), {}, {}};
  const std::vector<float> fn(terms.f.begin(), terms.f.end());
  const Projection projection(fn, 1, 1, static_cast<std::int64_t>(fn.size()));
  ProjectedRow row;
  row.parts.push_back({terms.x.data(), nullptr, nullptr});
  terms.sum = projection.multiply(std::vector{row})[0].projection[0];
  for (std::size_t k = 0; k < fn.size(); ++k) terms.exact = terms.exact + Big(terms.x[k]) * Big(terms.f[k]);
  return terms;
}

// A kernel whose every operation is off by the share theta of what the model allows, in a direction that
// `theta` chooses; it runs in double, whose own errors are far below the slack of the bound.
using Theta = std::function<double(double exact_result)>;

struct Adversary {
  std::string_view name;
  Theta (*make)(Random& random);
};

const Adversary kAdversaries[] = {
    {"always away from zero", [](Random&) -> Theta { return [](double) { return 1.0; }; }},
    {"always towards zero", [](Random&) -> Theta { return [](double) { return -1.0; }; }},
    {"always up", [](Random&) -> Theta { return [](double result) { return result < 0 ? -1.0 : 1.0; }; }},
    {"alternating", [](Random&) -> Theta { return [last = 1.0](double) mutable { return last = -last; }; }},
    {"random", [](Random& random) -> Theta { return [&random](double) { return random.symmetric(); }; }},
};

double off_by(double exact, double units, const Theta& theta) {
  return exact * (1 + theta(exact) * units * kUnit);
}

// Orders in which a kernel may take the terms.
struct Order {
  std::string_view name;
  void (*arrange)(std::vector<std::size_t>& places, const Terms& terms, Random& random);
};

double term(const Terms& terms, std::size_t k) { return terms.x[k] * terms.f[k]; }

const Order kOrders[] = {
    {"as they stand", [](std::vector<std::size_t>&, const Terms&, Random&) {}},
    {"positive first",
     [](std::vector<std::size_t>& p, const Terms& t, Random&) {
       std::ranges::stable_partition(p, [&](std::size_t k) { return term(t, k) > 0; });
     }},
    {"ascending", [](std::vector<std::size_t>& p, const Terms& t,
                     Random&) { std::ranges::sort(p, {}, [&](std::size_t k) { return term(t, k); }); }},
    {"largest first",
     [](std::vector<std::size_t>& p, const Terms& t, Random&) {
       std::ranges::sort(p, std::greater(), [&](std::size_t k) { return std::fabs(term(t, k)); });
     }},
    {"shuffled",
     [](std::vector<std::size_t>& p, const Terms&, Random& random) {
       for (std::size_t k = p.size(); k > 1; --k) std::swap(p[k - 1], p[random.below(k)]);
     }},
};

// One after another, products and sums rounded apart.
double sequential(const Terms& terms, const std::vector<std::size_t>& order, const Theta& theta) {
  double sum = 0;
  for (const std::size_t k : order) {
    const double product = off_by(term(terms, k), 1, theta);
    sum = sum == 0 || product == 0 ? sum + product : off_by(sum + product, 1, theta);
  }
  return sum;
}

// Fused, in lanes of a random width that are added up at the end.
double fused_lanes(const Terms& terms, const std::vector<std::size_t>& order, const Theta& theta,
                   std::size_t lanes) {
  std::vector<double> sums(lanes);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double added = term(terms, order[i]);
    if (added != 0)
      sums[i % lanes] = off_by(sums[i % lanes] + added, 1, theta);  // adding zero rounds nothing
  }
  double sum = 0;
  for (const double lane : sums) {
    sum = sum == 0 || lane == 0 ? sum + lane : off_by(sum + lane, 1, theta);
  }
  return sum;
}

double pairwise(const Terms& terms, std::span<const std::size_t> order, const Theta& theta) {
  if (order.empty()) return 0;
  if (order.size() == 1) return off_by(term(terms, order[0]), 1, theta);
  const double left = pairwise(terms, order.first(order.size() / 2), theta);
  const double right = pairwise(terms, order.subspan(order.size() / 2), theta);
  return left == 0 || right == 0 ? left + right : off_by(left + right, 1, theta);
}

double excess(const Terms& terms, double kernel, double radius) {
  return (abs(Big(kernel) - terms.exact) / Big(radius)).nearest();
}

TEST(LongSum, NoOrderAndNoRoundingLeavesTheDeterministicRadius) {
  Random random(41);
  double worst = 0;
  for (const testing::RowKind& kind : testing::kRowKinds) {
    if (kind.name == "all exponents") continue;  // the kernel below knows no flushing
    for (const std::size_t size : {1u, 2u, 17u, 400u}) {
      const Terms terms =
          terms_of(testing::stored(Dtype::bf16, row_of(kind, size, random)),
                   testing::stored(Dtype::fp32, row_of(testing::kRowKinds[random.below(3)], size, random)));
      const double radius = bounded(terms.sum, {}).kernel[Radii::kDeterministic];
      if (terms.sum.magnitude == 0) {
        EXPECT_EQ(radius, 0);
        continue;
      }
      for (const Order& order : kOrders) {
        std::vector<std::size_t> places(size);
        for (std::size_t k = 0; k < size; ++k) places[k] = k;
        order.arrange(places, terms, random);
        for (const Adversary& adversary : kAdversaries) {
          const Theta theta = adversary.make(random);
          for (const double kernel :
               {sequential(terms, places, theta), fused_lanes(terms, places, theta, 1 + random.below(64)),
                pairwise(terms, places, theta)}) {
            const double share = excess(terms, kernel, radius);
            ASSERT_LE(share, 1) << kind.name << ", " << order.name << ", " << adversary.name << ", " << size;
            worst = std::max(worst, share);
          }
        }
      }
    }
  }
  EXPECT_GT(worst, 0.9);  // the adversary comes close: the bound is not loose
}

// A factor that the multiplier sees off by the share that its format allows, always the same way.
double with_wrong_factors(const Terms& terms, ProjectionPrecision precision, bool both, const Theta& theta) {
  double sum = 0;
  for (std::size_t k = 0; k < terms.x.size(); ++k) {
    double x = terms.x[k], f = terms.f[k];
    const double direction = theta(x * f);
    switch (precision) {
      case ProjectionPrecision::fp32:
        break;
      case ProjectionPrecision::tf32:
        f *= 1 + direction * 0x1p-10;
        if (both) x *= 1 + direction * 0x1p-10;
        break;
      case ProjectionPrecision::bf16x2: {
        // Two products and additions: a part that is as much too large as the other corrects.
        const double high = f * (1 + direction * 0x1p-8), low = f - high + direction * 0x1p-16 * f;
        sum = off_by(sum + x * high, 1, theta);
        f = low;
        break;
      }
      case ProjectionPrecision::bf16x1:
        f *= 1 + direction * 0x1p-8;
        break;
    }
    sum = off_by(sum + x * f, precision == ProjectionPrecision::fp32 ? 1 : 1.25, theta);
  }
  return sum;
}

TEST(LongSum, NoCutFactorLeavesTheDeterministicRadius) {
  Random random(42);
  for (const ProjectionPrecision precision : {ProjectionPrecision::fp32, ProjectionPrecision::tf32,
                                              ProjectionPrecision::bf16x2, ProjectionPrecision::bf16x1}) {
    for (const bool both : {false, true}) {
      const SumModel model{precision, true, both};
      for (std::size_t kind = 0; kind < 4; ++kind) {
        // In a short sum the factors' errors are nearly all of the radius.
        for (const std::size_t size : {3u, 3000u}) {
          const Terms terms =
              terms_of(testing::stored(Dtype::bf16, row_of(testing::kRowKinds[kind], size, random)),
                       testing::stored(Dtype::fp32, row_of(testing::kRowKinds[0], size, random)));
          const double radius = bounded(terms.sum, model).kernel[Radii::kDeterministic];
          for (const Adversary& adversary : kAdversaries) {
            const double kernel = with_wrong_factors(terms, precision, both, adversary.make(random));
            ASSERT_LE(excess(terms, kernel, radius), 1) << adversary.name << " " << both << " " << size;
          }
        }
      }
    }
  }
}

// Every partial sum is the largest that the terms allow, and cancels at the end.
TEST(LongSum, RoundedProductsAndAdditionsOfOneSignStayWithin) {
  for (const std::size_t size : {2u, 3u, 10u, 1000u}) {
    std::vector<double> x(size, 0x1p-60);
    x.front() = 1;
    x.back() = -1;
    const Terms terms = terms_of(x, std::vector<double>(size, 1.0));
    std::vector<std::size_t> places(size);
    for (std::size_t k = 0; k < size; ++k) places[k] = k;
    const double kernel = sequential(terms, places, [](double result) { return result < 0 ? -1.0 : 1.0; });
    const double share = excess(terms, kernel, bounded(terms.sum, {}).kernel[Radii::kDeterministic]);
    EXPECT_LE(share, 1) << size;
    EXPECT_GE(share, 0.45) << size;
  }
}

TEST(LongSum, AllTermsOfOneSignAndAllErrorsOfOneSignStayWithin) {
  // Nothing cancels, so the radius is reached as nearly as it can be.
  const std::size_t size = 30000;
  for (const ProjectionPrecision precision : {ProjectionPrecision::fp32, ProjectionPrecision::tf32,
                                              ProjectionPrecision::bf16x2, ProjectionPrecision::bf16x1}) {
    const Terms terms = terms_of(std::vector<double>(size, 1.0), std::vector<double>(size, 1.0));
    for (const double direction : {1.0, -1.0}) {
      const double kernel = with_wrong_factors(terms, precision, true, [=](double) { return direction; });
      EXPECT_LE(excess(terms, kernel, bounded(terms.sum, {precision, true, true}).kernel[0]), 1);
    }
  }
}

TEST(LongSum, TermsThatAreOffCountInTheKernelsRounding) {
  // Exactly nothing, but every term of the kernel is off, all one way.
  LongSum sum;
  sum.terms = 1000;
  sum.along.r.fill(1000);
  double kernel = 0;
  for (int k = 0; k < 1000; ++k) kernel = (kernel + 1 * (1 + kUnit)) * (1 + kUnit);
  EXPECT_LE(kernel, bounded(sum, {}).kernel[Radii::kDeterministic]);
}

TEST(LongSum, RadiiAreInOrder) {
  Random random(43);
  for (int round = 0; round < 20000; ++round) {
    LongSum sum;
    sum.magnitude = std::ldexp(1 + random.uniform(), random.between(-140, 120));
    sum.value = sum.magnitude * random.symmetric();
    sum.rad = random.one_in(2) ? 0 : sum.magnitude * std::ldexp(1.0, random.between(-60, 0));
    sum.terms = static_cast<double>(1 + random.below(100000));
    sum.largest = sum.magnitude * (random.one_in(3) ? 1 : 1 / sum.terms);
    if (random.one_in(2)) sum.swallowed = sum.magnitude * random.uniform();
    if (random.one_in(2)) sum.along.r.fill(sum.magnitude * std::ldexp(1.0, random.between(-30, 2)));
    for (const ProjectionPrecision precision : {ProjectionPrecision::fp32, ProjectionPrecision::tf32,
                                                ProjectionPrecision::bf16x2, ProjectionPrecision::bf16x1}) {
      const Tracked independent = bounded(sum, {precision, true, random.one_in(2)});
      ASSERT_LE(independent.kernel[Radii::kSystematic], independent.kernel[Radii::kProbabilistic]);
      ASSERT_LE(independent.kernel[Radii::kProbabilistic], independent.kernel[Radii::kDeterministic]);
      const Tracked repeated = bounded(sum, {precision, false, false});
      ASSERT_EQ(repeated.kernel[Radii::kProbabilistic], repeated.kernel[Radii::kDeterministic]);
    }
  }
}

TEST(LongSum, WhatMayOverflowHasNoBound) {
  LongSum sum;
  sum.value = 1;
  sum.magnitude = 0x1p128;
  sum.terms = 2;
  EXPECT_EQ(bounded(sum, {}).kernel[Radii::kDeterministic], HUGE_VAL);
  sum.magnitude = 0x1.ffffffp127;  // not the exact partial sums, but rounded ones
  EXPECT_EQ(bounded(sum, {}).kernel[Radii::kDeterministic], HUGE_VAL);
  sum.magnitude = 0x1p127;
  EXPECT_TRUE(std::isfinite(bounded(sum, {}).kernel[Radii::kDeterministic]));
}

// fp32 sums of random rows, as kernels form them, against the radius that holds with probability
// 1 - 2 exp(-kLambda^2 / 2).
TEST(LongSum, TheProbabilisticRadiusHoldsAndIsNeitherIdle) {
  Random random(44);
  double worst_probabilistic = 0, worst_deterministic = 0, mean_square = 0;
  const int sums = 600;
  const std::size_t size = 4096;
  for (int round = 0; round < sums; ++round) {
    // Terms of one sign: partial sums that grow are where errors gather.
    std::vector<double> x(size), f(size);
    for (std::size_t k = 0; k < size; ++k) {
      x[k] = decode(Dtype::bf16, encode<Dtype::bf16>(std::fabs(random.gauss())));
      f[k] = static_cast<float>(std::fabs(random.gauss()));
    }
    const Terms terms = terms_of(x, f);
    const Tracked radii = bounded(terms.sum, {});
    float kernel = 0;
    for (std::size_t k = 0; k < size; ++k)
      kernel = std::fma(static_cast<float>(x[k]), static_cast<float>(f[k]), kernel);
    const double probabilistic = excess(terms, kernel, radii.kernel[Radii::kProbabilistic]);
    worst_probabilistic = std::max(worst_probabilistic, probabilistic);
    worst_deterministic =
        std::max(worst_deterministic, excess(terms, kernel, radii.kernel[Radii::kDeterministic]));
    mean_square += probabilistic * probabilistic / sums;
  }
  RecordProperty("worst_share_of_probabilistic", std::to_string(worst_probabilistic));
  RecordProperty("worst_share_of_deterministic", std::to_string(worst_deterministic));
  // kLambda standard deviations make the radius: a typical error is at most one, so the worst of 600 stays
  // below five.
  EXPECT_LE(std::sqrt(mean_square), 1 / reference::kLambda);
  EXPECT_LE(worst_probabilistic, 5 / reference::kLambda);
  // Within 100 times of what plain sequential summation does.
  EXPECT_GE(worst_probabilistic, 0.01);
  EXPECT_GE(worst_deterministic, 0.0005);
}

// One fp32 accumulator over all squares of a long row, the plainest correct kernel there is. What its
// additions lose has one sign: the terms of a heavy tail are swallowed by its few large ones.
TEST(LongSum, APlainSumOfSquaresStaysWithinItsRadiiWhateverTheTail) {
  Random random(45);
  const std::size_t size = 57344;
  const auto heavy_tail = [&] {  // times 2^k with probability 2^-(k+1)
    int exponent = 0;
    while (exponent < 9 && random.one_in(2)) ++exponent;
    return std::ldexp(random.gauss(), exponent);
  };
  const std::pair<std::string_view, std::function<double()>> inputs[] = {
      {"normal", [&] { return random.gauss(); }},
      {"heavy tail", heavy_tail},
      // Nothing is swallowed here: the bias is that of the squares' last bits.
      {"1 to 2", [&] { return 1 + random.uniform(); }}};
  for (const auto& [name, draw] : inputs) {
    double mean_error = 0, worst = 0, systematic = 0;
    const int rows = 20;
    for (int round = 0; round < rows; ++round) {
      std::vector<double> x(size);
      for (double& value : x) {
        value = decode(Dtype::bf16, encode<Dtype::bf16>(draw()));
      }
      const std::vector<float> fn(size);
      const Projection projection(fn, 1, 1, static_cast<std::int64_t>(size));
      ProjectedRow row;
      row.parts.push_back({x.data(), nullptr, nullptr});
      const LongSum squares = projection.multiply(std::vector{row})[0].sqrsum;
      const Tracked radii = bounded(squares, {});
      float kernel = 0;
      for (const double value : x) {
        kernel += static_cast<float>(value) * static_cast<float>(value);  // the square is exact
      }
      const double error = static_cast<double>(kernel) - squares.value;
      worst = std::max(worst, std::fabs(error) / radii.kernel[Radii::kProbabilistic]);
      mean_error += error / squares.value / rows;
      systematic = std::max(systematic, radii.kernel[Radii::kSystematic] / squares.value);
    }
    EXPECT_LE(worst, 0.9) << name;
    EXPECT_GE(worst, 0.01) << name;
    EXPECT_LE(std::fabs(mean_error), systematic) << name;
  }
}

}  // namespace
}  // namespace mhcheck::sums

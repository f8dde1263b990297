// The projection's sums against exact ones: every field of a LongSum is what it says.
#include "reference/sums/projection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <vector>

#include "reference/sums/exact_product.h"
#include "tests/reference/big.h"
#include "tests/reference/hard_rows.h"
#include "tests/reference/random.h"

namespace mhcheck::sums {

void exact_product_baseline(const double* x, int rows, int depth, const double* f, int columns, double* out);
#if defined(__x86_64__)
void exact_product_avx2(const double* x, int rows, int depth, const double* f, int columns, double* out);
#endif

namespace {

using testing::Big;
using testing::Random;

// A row with what the reference and a kernel may have wrong in it; empty: nothing.
struct Row {
  std::vector<double> mid, rad, off;
};

ProjectedRow as_projected(const Row& row, int parts) {
  const std::size_t length = row.mid.size() / static_cast<std::size_t>(parts);
  ProjectedRow result;
  for (int part = 0; part < parts; ++part) {
    const std::size_t first = static_cast<std::size_t>(part) * length;
    result.parts.push_back({&row.mid[first], row.rad.empty() ? nullptr : &row.rad[first],
                            row.off.empty() ? nullptr : &row.off[first]});
  }
  return result;
}

Big size(const Row& row, std::size_t k) {
  return abs(Big(row.mid[k])) + Big(row.rad.empty() ? 0 : row.rad[k]);
}
double off(const Row& row, std::size_t k) { return row.off.empty() ? 0 : row.off[k]; }
double rad(const Row& row, std::size_t k) { return row.rad.empty() ? 0 : row.rad[k]; }

// What a LongSum has to be for the sum of first_k * second_k, whose second factors are exact.
void expect_true(const LongSum& sum, const Row& row, const std::vector<double>& factors) {
  Big middle, reach, magnitude, along, largest;
  double terms = 0;
  for (std::size_t k = 0; k < row.mid.size(); ++k) {
    const Big factor = abs(Big(factors[k]));
    middle = middle + Big(row.mid[k]) * Big(factors[k]);
    reach = reach + Big(rad(row, k)) * factor;
    magnitude = magnitude + size(row, k) * factor;
    along = along + Big(off(row, k)) * factor;
    largest = std::max(largest, size(row, k) * factor);
    terms += factors[k] != 0 && (row.mid[k] != 0 || rad(row, k) != 0 || off(row, k) != 0);
  }
  // The exact sum may be anywhere within `reach` of the middle.
  ASSERT_TRUE(abs(Big(sum.value) - middle) + reach <= Big(sum.rad))
      << "value " << sum.value << " rad " << sum.rad << " true error "
      << (abs(Big(sum.value) - middle) + reach).nearest();
  ASSERT_TRUE(magnitude <= Big(sum.magnitude)) << sum.magnitude << " below " << magnitude.nearest();
  ASSERT_TRUE(largest <= Big(sum.largest)) << sum.largest << " below " << largest.nearest();
  ASSERT_GE(sum.terms, terms);
  for (int kind = 0; kind < Radii::kKinds; ++kind) {
    ASSERT_TRUE(along <= Big(sum.along[kind])) << sum.along[kind] << " below " << along.nearest();
  }
}

void expect_true_squares(const LongSum& sum, const Row& row) {
  Big lowest, highest, along;
  double terms = 0;
  for (std::size_t k = 0; k < row.mid.size(); ++k) {
    const Big most = size(row, k), least = std::max(Big(0), abs(Big(row.mid[k])) - Big(rad(row, k)));
    highest = highest + most * most;
    lowest = lowest + least * least;
    along = along + Big(off(row, k)) * (Big(2) * most + Big(off(row, k)));
    terms += row.mid[k] != 0 || rad(row, k) != 0 || off(row, k) != 0;
  }
  ASSERT_TRUE(highest - Big(sum.value) <= Big(sum.rad)) << "value " << sum.value << " rad " << sum.rad;
  ASSERT_TRUE(Big(sum.value) - lowest <= Big(sum.rad)) << "value " << sum.value << " rad " << sum.rad;
  ASSERT_TRUE(highest <= Big(sum.magnitude)) << sum.magnitude;
  ASSERT_GE(sum.terms, terms);
  for (int kind = 0; kind < Radii::kKinds; ++kind) {
    ASSERT_TRUE(along <= Big(sum.along[kind])) << sum.along[kind] << " below " << along.nearest();
  }
}

std::vector<double> offsets(Random& random, const std::vector<double>& mid, int exponent) {
  std::vector<double> result(mid.size());
  const bool sparse = random.one_in(2);
  for (std::size_t k = 0; k < mid.size(); ++k) {
    if (sparse && !random.one_in(30)) continue;
    const double scale = mid[k] != 0 ? std::fabs(mid[k]) : 1e-3;
    result[k] = scale * std::ldexp(random.uniform(), exponent);
  }
  return result;
}

struct Shape {
  int rows, parts;
  std::int64_t length;
};
constexpr Shape kShapes[] = {{1, 1, 1},   {3, 1, 2},   {24, 4, 7}, {5, 2, 255},
                             {8, 1, 256}, {3, 3, 257}, {2, 2, 600}};

// fn whose row m is of kind m, and so on round.
std::vector<float> weights(const Shape& shape, Random& random, std::size_t first_kind) {
  std::vector<float> fn;
  for (int m = 0; m < shape.rows; ++m) {
    const testing::RowKind& kind =
        testing::kRowKinds[(first_kind + static_cast<std::size_t>(m)) % std::size(testing::kRowKinds)];
    const auto length = static_cast<std::size_t>(shape.parts) * static_cast<std::size_t>(shape.length);
    for (const double value : testing::stored(Dtype::fp32, row_of(kind, length, random)))
      fn.push_back(static_cast<float>(value));
  }
  return fn;
}

// One token of each kind of row in each format, with and without radii.
std::vector<Row> rows_of_every_kind(const Shape& shape, Random& random) {
  const auto length = static_cast<std::size_t>(shape.parts) * static_cast<std::size_t>(shape.length);
  std::vector<Row> rows;
  for (const testing::RowKind& kind : testing::kRowKinds) {
    rows.push_back({testing::stored(Dtype::bf16, row_of(kind, length, random)), {}, {}});
    Row fp16{testing::stored(Dtype::fp16, row_of(kind, length, random)), {}, {}};
    fp16.off = offsets(random, fp16.mid, -10);
    rows.push_back(std::move(fp16));
    Row unrounded{row_of(kind, length, random), {}, {}};
    unrounded.rad = offsets(random, unrounded.mid, random.between(-52, 0));
    unrounded.off = offsets(random, unrounded.mid, random.between(-24, 4));
    rows.push_back(std::move(unrounded));
  }
  return rows;
}

TEST(Projection, EveryFieldIsTrueForHardRows) {
  Random random(31);
  for (const Shape& shape : kShapes) {
    for (std::size_t first_kind = 0; first_kind < std::size(testing::kRowKinds); first_kind += 4) {
      const std::vector<float> fn = weights(shape, random, first_kind);
      const Projection projection(fn, shape.rows, shape.parts, shape.length);
      const std::vector<Row> rows = rows_of_every_kind(shape, random);
      std::vector<ProjectedRow> projected;
      for (const Row& row : rows) projected.push_back(as_projected(row, shape.parts));
      const std::vector<TokenSums> sums = projection.multiply(projected);
      for (std::size_t t = 0; t < rows.size(); ++t) {
        const std::size_t length = rows[t].mid.size();
        for (int m = 0; m < shape.rows; ++m) {
          const std::size_t first = static_cast<std::size_t>(m) * length;
          expect_true(sums[t].projection[static_cast<std::size_t>(m)], rows[t],
                      std::vector<double>(fn.begin() + static_cast<std::ptrdiff_t>(first),
                                          fn.begin() + static_cast<std::ptrdiff_t>(first + length)));
          if (HasFatalFailure()) FAIL() << "row " << m << ", token " << t << ", length " << length;
        }
        expect_true_squares(sums[t].sqrsum, rows[t]);
        if (HasFatalFailure()) FAIL() << "squares, token " << t << ", length " << length;
      }
    }
  }
}

// The entry is rounded up to its slice, and the part of fn that no slice holds meets the rounded entry.
TEST(Projection, TheRadiusCoversWhatIsDroppedWhenAnEntryIsRoundedUp) {
  std::vector<float> fn(64, 0.0f);
  fn[0] = 1.0f;                                           // sets the grid
  fn[1] = std::bit_cast<float>((97u << 23) | 0x2aaaafu);  // 2^-30 * 1.x, its low bits just below half a grid
  Row row{std::vector<double>(64), {}, {}};
  row.mid[1] = 1 + 0.75 * 0x1p-20;
  const Projection projection(fn, 1, 1, 64);
  expect_true(projection.multiply(std::vector{as_projected(row, 1)})[0].projection[0], row,
              std::vector<double>(fn.begin(), fn.end()));
}

TEST(Projection, SumsAreNearlyWithoutError) {
  Random random(32);
  const Shape shape{24, 4, 1280};
  const std::vector<float> fn = [&] {
    std::vector<float> values(24 * 4 * 1280);
    for (float& value : values) value = static_cast<float>(random.gauss() * 0.01);
    return values;
  }();
  const Projection projection(fn, shape.rows, shape.parts, shape.length);
  const Row row{testing::stored(Dtype::bf16, row_of(testing::kRowKinds[0], 4 * 1280, random)), {}, {}};
  const TokenSums sums = projection.multiply(std::vector{as_projected(row, 4)})[0];
  for (const LongSum& sum : sums.projection) {
    EXPECT_LE(sum.rad, sum.magnitude * 0x1p-45);
    EXPECT_GE(sum.terms, 5000);
  }
  EXPECT_LE(sums.sqrsum.rad, sums.sqrsum.value * 0x1p-51);
}

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

void expect_same(const LongSum& a, const LongSum& b) {
  EXPECT_TRUE(same_bits(a.value, b.value));
  EXPECT_TRUE(same_bits(a.rad, b.rad));
  EXPECT_TRUE(same_bits(a.magnitude, b.magnitude));
  EXPECT_TRUE(same_bits(a.terms, b.terms));
  EXPECT_TRUE(same_bits(a.largest, b.largest));
  for (int k = 0; k < Radii::kKinds; ++k) EXPECT_TRUE(same_bits(a.along[k], b.along[k]));
}

TEST(Projection, AnyGroupingOfTokensGivesTheSameBits) {
  Random random(33);
  for (const Shape& shape : kShapes) {
    const std::vector<float> fn = weights(shape, random, 0);
    const Projection projection(fn, shape.rows, shape.parts, shape.length);
    const std::vector<Row> rows = rows_of_every_kind(shape, random);
    std::vector<ProjectedRow> all;
    for (const Row& row : rows) all.push_back(as_projected(row, shape.parts));
    const std::vector<TokenSums> together = projection.multiply(all);
    for (std::size_t group : {1u, 3u, 8u}) {
      for (std::size_t first = 0; first < all.size(); first += group) {
        const std::size_t count = std::min(group, all.size() - first);
        const std::vector<TokenSums> apart = projection.multiply(std::span(all).subspan(first, count));
        for (std::size_t t = 0; t < count; ++t) {
          for (std::size_t m = 0; m < apart[t].projection.size(); ++m)
            expect_same(apart[t].projection[m], together[first + t].projection[m]);
          expect_same(apart[t].sqrsum, together[first + t].sqrsum);
        }
      }
    }
  }
}

TEST(Projection, AnInfiniteEntryOrRadiusLeavesItsTokenUnknownAndNoOther) {
  const Shape shape{4, 2, 300};
  Random random(34);
  const std::vector<float> fn = weights(shape, random, 0);
  const Projection projection(fn, shape.rows, shape.parts, shape.length);
  const Row good{testing::stored(Dtype::bf16, row_of(testing::kRowKinds[0], 600, random)), {}, {}};
  Row infinite = good, unbounded = good;
  infinite.mid[17] = HUGE_VAL;
  unbounded.off.assign(600, 0.0);
  for (std::size_t k = 0; k < 600; k += 2) unbounded.off[k] = HUGE_VAL;
  const std::vector<TokenSums> sums = projection.multiply(
      std::vector{as_projected(infinite, 2), as_projected(good, 2), as_projected(unbounded, 2)});
  const TokenSums alone = projection.multiply(std::vector{as_projected(good, 2)})[0];
  for (std::size_t m = 0; m < 4; ++m) {
    expect_same(sums[1].projection[m], alone.projection[m]);
    EXPECT_FALSE(std::isfinite(sums[0].projection[m].value) && std::isfinite(sums[0].projection[m].rad));
    EXPECT_FALSE(std::isfinite(bounded(sums[2].projection[m], {}).kernel[Radii::kDeterministic]));
  }
  expect_same(sums[1].sqrsum, alone.sqrsum);
  EXPECT_FALSE(std::isfinite(bounded(sums[2].sqrsum, {}).kernel[Radii::kDeterministic]));
}

// Entries whose products and sums a double holds exactly: the largest that the slices allow.
TEST(ExactProduct, EveryInstructionSetGivesTheExactProduct) {
  Random random(35);
  for (const int rows : {1, 2, 3, 7, 32, 33}) {
    for (const int depth : {1, 5, 64, 255, 256}) {
      for (const int columns : {1, 3, 4, 24, 48}) {
        std::vector<double> x(static_cast<std::size_t>(rows) * depth),
            f(static_cast<std::size_t>(depth) * columns);
        for (double& value : x) value = random.one_in(4) ? 0x1p21 : std::floor(random.symmetric() * 0x1p21);
        for (double& value : f) value = random.one_in(4) ? 0x1p24 : std::floor(random.symmetric() * 0x1p24);
        std::vector<double> exact(static_cast<std::size_t>(rows) * columns);
        for (int i = 0; i < rows; ++i) {
          for (int j = 0; j < columns; ++j) {
            std::int64_t sum = 0;
            for (int k = 0; k < depth; ++k) {
              sum += static_cast<std::int64_t>(x[static_cast<std::size_t>(i) * depth + k]) *
                     static_cast<std::int64_t>(f[static_cast<std::size_t>(k) * columns + j]);
            }
            exact[static_cast<std::size_t>(i) * columns + j] = static_cast<double>(sum);
            ASSERT_EQ(static_cast<std::int64_t>(exact[static_cast<std::size_t>(i) * columns + j]), sum);
          }
        }
        std::vector<double> chosen(exact.size(), -1), baseline(exact.size(), -1);
        exact_product(x.data(), rows, depth, f.data(), columns, chosen.data());
        exact_product_baseline(x.data(), rows, depth, f.data(), columns, baseline.data());
        EXPECT_EQ(chosen, exact);
        EXPECT_EQ(baseline, exact);
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
          std::vector<double> avx2(exact.size(), -1);
          exact_product_avx2(x.data(), rows, depth, f.data(), columns, avx2.data());
          EXPECT_EQ(avx2, exact);
        }
#endif
      }
    }
  }
}

}  // namespace
}  // namespace mhcheck::sums

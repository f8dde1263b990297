// Rows in double with running radii: the reference's radius holds the exact row, the kernel's radii hold
// every kernel that errs as much as the error model allows, and a rounding on the way may go either way.
#include "reference/arithmetic/tracked_arithmetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tests/reference/big.h"
#include "tests/reference/random.h"

namespace mhcheck {
namespace {

using error_model::kDivision;
using error_model::kFlush;
using error_model::kReciprocalRoot;
using error_model::kUnit;
using testing::Big;
using testing::Random;

constexpr std::size_t kSize = 40;

double place(Random& random) { return random.one_in(3) ? random.symmetric() : random.sign(); }

// A row, and one exact row and one kernel's row that it stands for.
struct RowSample {
  TrackedArithmetic::Row row;
  std::vector<Big> exact, kernel;
};

struct ScalarSample {
  Tracked tracked;
  Big exact, kernel;
};

double random_radius(Random& random, double mid, int low, int high) {
  return (mid != 0 ? std::fabs(mid) : 0x1p-10) * std::ldexp(1.0, random.between(low, high));
}

RowSample random_row(Random& random, bool with_radii, int low_exponent = -10, int high_exponent = 10) {
  auto row = std::make_shared<TrackedRow>();
  std::vector<double> rad(kSize), off(kSize);
  RowSample sample;
  for (std::size_t h = 0; h < kSize; ++h) {
    const double mid = random.one_in(8) ? 0 : random.of_size(low_exponent, high_exponent, 8);
    row->mid.push_back(mid);
    if (with_radii && !random.one_in(4)) rad[h] = random_radius(random, mid, -53, -20);
    if (with_radii && !random.one_in(4)) off[h] = random_radius(random, mid, -24, -1);
    sample.exact.push_back(Big(mid) + Big(place(random)) * Big(rad[h]));
    sample.kernel.push_back(sample.exact.back() + Big(place(random)) * Big(off[h]));
  }
  if (with_radii) {
    row->rad = std::make_shared<const std::vector<double>>(rad);
    row->kernel.fill(std::make_shared<const std::vector<double>>(off));
  }
  sample.row = row;
  return sample;
}

ScalarSample random_scalar(Random& random, int low_exponent = -8, int high_exponent = 4) {
  ScalarSample c;
  c.tracked = Tracked(random.one_in(12) ? 0 : random.of_size(low_exponent, high_exponent, 24));
  if (random.one_in(2)) c.tracked.rad = random_radius(random, c.tracked.mid, -53, -20);
  if (random.one_in(2)) c.tracked.kernel.r.fill(random_radius(random, c.tracked.mid, -24, -1));
  c.exact = Big(c.tracked.mid) + Big(place(random)) * Big(c.tracked.rad);
  c.kernel = c.exact + Big(place(random)) * Big(c.tracked.kernel[0]);
  return c;
}

Big rounded(Random& random, const Big& exact, double units) {
  const Big result = exact * (Big(1) + Big(place(random) * units * kUnit));
  return random.one_in(2) && abs(result) < Big(kFlush) ? Big(0) : result;
}
Big read(Random& random, const Big& operand) {
  return random.one_in(2) && abs(operand) < Big(kFlush) ? Big(0) : operand;
}

void expect_within(const TrackedRow& row, std::size_t h, const Big& exact, const Big& kernel) {
  const double rad = row.rad ? row.rad->at(h) : 0;
  ASSERT_TRUE(abs(exact - Big(row.mid[h])) <= Big(rad))
      << h << ": exact " << exact.nearest() << ", mid " << row.mid[h] << ", rad " << rad;
  for (int k = 0; k < Radii::kKinds; ++k) {
    const double radius = row.kernel[k] ? row.kernel[k]->at(h) : 0;
    ASSERT_TRUE(abs(kernel - exact) <= Big(radius))
        << h << ": exact " << exact.nearest() << ", kernel off by " << abs(kernel - exact).nearest()
        << ", radius " << radius;
  }
}

// Answers from the exact row, and remembers that it was asked.
class ExactResolver : public RowResolver {
 public:
  explicit ExactResolver(Dtype dtype) : dtype_(dtype) {}
  std::uint32_t resolve(contract::RowId, std::size_t index) override {
    ++asked;
    return round_to(dtype_, exact.at(index).number());
  }
  std::vector<Big> exact;
  int asked = 0;

 private:
  Dtype dtype_;
};

struct Arithmetic {
  explicit Arithmetic(Dtype dtype) : resolver(dtype), arithmetic(dtype, {}, resolver) {}
  ExactResolver resolver;
  TrackedArithmetic arithmetic;
};

struct Sizes {
  int coefficient_low, coefficient_high, row_low, row_high;
};
// Ordinary numbers, and such as lie around the smallest normal.
constexpr Sizes kSizes[] = {{-8, 4, -10, 10}, {-130, -120, -4, 20}, {-4, 20, -135, -120}};

TEST(TrackedRows, CombinationsHoldEveryCorrectKernel) {
  Random random(51);
  Arithmetic a(Dtype::bf16);
  for (int round = 0; round < 700; ++round) {
    const Sizes& sizes = kSizes[random.below(3)];
    const std::size_t count = 1 + random.below(9);
    std::vector<ScalarSample> c;
    std::vector<RowSample> rows;
    std::vector<Tracked> tracked;
    std::vector<TrackedArithmetic::Row> tracked_rows;
    const bool exact_inputs = random.one_in(3);
    for (std::size_t j = 0; j < count; ++j) {
      c.push_back(random_scalar(random, sizes.coefficient_low, sizes.coefficient_high));
      if (exact_inputs) {
        c.back().tracked = Tracked(c.back().tracked.mid);
        c.back().exact = c.back().kernel = Big(c.back().tracked.mid);
      }
      rows.push_back(random_row(random, !exact_inputs && random.one_in(2), sizes.row_low, sizes.row_high));
      tracked.push_back(c.back().tracked);
      tracked_rows.push_back(rows.back().row);
    }
    const TrackedArithmetic::Row result = a.arithmetic.combine(tracked, tracked_rows);
    for (std::size_t h = 0; h < kSize; ++h) {
      Big exact, kernel;
      const bool fused = random.one_in(2);
      const std::size_t first = random.below(count);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t j = (first + i) % count;
        exact = exact + c[j].exact * rows[j].exact[h];
        const Big product = read(random, c[j].kernel) * read(random, rows[j].kernel[h]);
        if (product == Big(0)) continue;
        const Big term = fused ? product : rounded(random, product, 1);
        kernel = i == 0 && !fused ? term : rounded(random, kernel + term, 1);
      }
      expect_within(*result, h, exact, kernel);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(TrackedRows, ACombinationThatMayOverflowOnTheWayIsUnbounded) {
  Arithmetic a(Dtype::bf16);
  auto row = std::make_shared<TrackedRow>();
  row->mid = {0x1p127, 1.0};
  const std::vector<Tracked> c{Tracked(1.5), Tracked(1.5), Tracked(-2.0)};
  const std::vector<TrackedArithmetic::Row> rows{row, row, row};
  const TrackedArithmetic::Row result = a.arithmetic.combine(c, rows);
  EXPECT_EQ(result->kernel[0]->at(0), HUGE_VAL);  // 2^127 in the end, but 3 * 2^127 before
  EXPECT_LT(result->kernel[0]->at(1), 1e-5);
}

TEST(TrackedRows, MeanSquaresHoldEveryCorrectKernel) {
  Random random(52);
  Arithmetic a(Dtype::bf16);
  for (int round = 0; round < 3000; ++round) {
    const RowSample y = random_row(random, random.one_in(2));
    const Tracked result = a.arithmetic.mean_square(y.row);
    Big exact, kernel;
    for (std::size_t h = 0; h < kSize; ++h) {
      exact = exact + y.exact[h] * y.exact[h];
      if (y.kernel[h] == Big(0)) continue;
      kernel = rounded(random, kernel + rounded(random, y.kernel[h] * y.kernel[h], 1), 1);
    }
    exact = exact / Big(kSize);
    kernel = rounded(random, kernel / Big(kSize), kDivision);
    ASSERT_TRUE(abs(exact - Big(result.mid)) <= Big(result.rad)) << result.mid << " " << result.rad;
    ASSERT_TRUE(abs(kernel - exact) <= Big(result.kernel[Radii::kDeterministic])) << round;
  }
}

TEST(TrackedRows, AMeanSquareThatUnderflowsIsNotCalledZero) {
  Arithmetic a(Dtype::bf16);
  auto row = std::make_shared<TrackedRow>();
  row->mid = {0x1p-600, 0};
  EXPECT_GT(a.arithmetic.mean_square(row).rad, 0);
  row->mid = {0, 0};
  EXPECT_EQ(a.arithmetic.mean_square(row).rad, 0);
}

TEST(TrackedRows, AZeroRowOverTheRootOfWhatMayBeFlushedIsUnbounded) {
  Random random(54);
  Arithmetic a(Dtype::bf16);
  RowSample y = random_row(random, false, -2, 2);
  const RowSample w = random_row(random, false, -2, 2);
  auto zeros = std::make_shared<TrackedRow>(*y.row);
  zeros->mid.assign(zeros->mid.size(), 0.0);
  const auto radius = [&](double eps) {
    return a.arithmetic.divide_by_root(zeros, Tracked(0.0) + Tracked(eps), w.row)->kernel_data(0)[0];
  };
  EXPECT_EQ(radius(0x1p-130), HUGE_VAL);
  EXPECT_EQ(radius(0x1p-100), 0);
}

TEST(TrackedRows, NormalisedRowsHoldEveryCorrectKernel) {
  Random random(53);
  Arithmetic a(Dtype::bf16);
  for (int round = 0; round < 900; ++round) {
    const Sizes& sizes = kSizes[random.below(3)];
    const RowSample y = random_row(random, random.one_in(2), sizes.row_low, sizes.row_high);
    const RowSample w = random_row(random, false, sizes.coefficient_low, sizes.coefficient_high);
    ScalarSample s = random_scalar(random, -30, 10);
    if (!(s.tracked.mid > 0)) continue;
    s.tracked.kernel.r.fill(std::min(s.tracked.kernel[0], s.tracked.mid / 4));
    s.kernel = s.exact + Big(place(random)) * Big(s.tracked.kernel[0]);
    const TrackedArithmetic::Row result = a.arithmetic.divide_by_root(y.row, s.tracked, w.row);
    for (std::size_t h = 0; h < kSize; ++h) {
      const Big exact = y.exact[h] / sqrt(s.exact) * w.exact[h];
      const Big inverse = rounded(random, rounded(random, Big(1) / sqrt(s.kernel), kReciprocalRoot), 1);
      const Big yk = read(random, y.kernel[h]), wk = read(random, w.kernel[h]);
      expect_within(*result, h, exact, rounded(random, rounded(random, yk * inverse, 1) * wk, 1));
      expect_within(*result, h, exact, rounded(random, rounded(random, yk * wk, 1) * inverse, 1));
      expect_within(*result, h, exact, rounded(random, yk * rounded(random, inverse * wk, 1), 1));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(TrackedRows, EveryWayThatAKernelMayRoundIsInside) {
  Random random(54);
  for (const Dtype dtype : {Dtype::bf16, Dtype::fp16}) {
    int flips = 0, exact_radii = 0;
    for (int round = 0; round < 600; ++round) {
      Arithmetic a(dtype);
      auto row = std::make_shared<TrackedRow>();
      std::vector<double> rad(kSize), off(kSize);
      for (std::size_t h = 0; h < kSize; ++h) {
        // Near a boundary between two patterns, from subnormal to the largest.
        const std::uint32_t bits = static_cast<std::uint32_t>(
            random.one_in(3) ? random.below(8) : random.below(format_of(dtype).infinity()));
        const double low = decode(dtype, bits), step = ulp(dtype, low);
        const double mid = random.sign() * (low + (0.5 + 0.1 * random.symmetric() * random.uniform()) * step);
        row->mid.push_back(mid);
        rad[h] = step * std::ldexp(1.0, random.between(-50, -5));
        off[h] = step * std::ldexp(1.0, random.between(-24, 1));
        a.resolver.exact.push_back(Big(mid) + Big(place(random)) * Big(rad[h]));
      }
      row->rad = std::make_shared<const std::vector<double>>(rad);
      row->kernel.fill(std::make_shared<const std::vector<double>>(off));
      const TrackedArithmetic::Row result = a.arithmetic.round(row, {contract::RowKind::collapsed, 0});
      ASSERT_EQ(result->rad_data(), nullptr);
      for (std::size_t h = 0; h < kSize; ++h) {
        const Big& exact = a.resolver.exact[h];
        const double right = decode(dtype, round_to(dtype, exact.number()));
        ASSERT_EQ(result->mid[h], right);
        const double radius = result->kernel[0]->at(h);
        exact_radii += radius == 0;
        for (const double where : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
          const Big kernel = exact + Big(where) * Big(off[h]);
          const double stored = decode(dtype, round_to(dtype, kernel.number()));
          if (std::isinf(stored) || std::isinf(right)) {
            ASSERT_TRUE(stored == right || radius == HUGE_VAL);
            continue;
          }
          ASSERT_LE(std::fabs(stored - right), radius) << exact.nearest() << " off " << off[h];
          flips += stored != right;
        }
      }
    }
    EXPECT_GT(flips, 1000);
    EXPECT_GT(exact_radii, 1000);
  }
}

TEST(TrackedRows, StoredNumbersAreKeptWithTheSignOfTheirZeros) {
  auto row = std::make_shared<TrackedRow>();
  row->mid = {0.0, -0.0, 1.0, -3.5};
  ExactResolver resolver(Dtype::bf16);
  const std::vector<std::uint32_t> bits =
      certify(*row, Dtype::bf16, {contract::RowKind::layer_input, 0}, resolver);
  EXPECT_EQ(bits, (std::vector<std::uint32_t>{0, 0x8000, 0x3f80, 0xc060}));
  EXPECT_EQ(resolver.asked, 0);
}

TEST(TrackedRows, RoundingIsCertifiedOnlyWhereTheRadiusLeavesNoDoubt) {
  Random random(55);
  for (const Dtype dtype : {Dtype::bf16, Dtype::fp16}) {
    int asked = 0, decided = 0;
    for (int round = 0; round < 300; ++round) {
      ExactResolver resolver(dtype);
      auto row = std::make_shared<TrackedRow>();
      std::vector<double> rad(kSize);
      for (std::size_t h = 0; h < kSize; ++h) {
        const auto bits = static_cast<std::uint32_t>(
            random.one_in(3) ? random.below(8) : random.below(format_of(dtype).infinity()));
        const double step = ulp(dtype, decode(dtype, bits));
        const double mid =
            random.sign() * (decode(dtype, bits) +
                             (0.5 + random.symmetric() * std::ldexp(1.0, -random.between(1, 40))) * step);
        row->mid.push_back(mid);
        rad[h] = step * std::ldexp(random.uniform(), -random.between(1, 45));
        resolver.exact.push_back(Big(mid) + Big(place(random)) * Big(rad[h]));
      }
      row->rad = std::make_shared<const std::vector<double>>(rad);
      const std::vector<std::uint32_t> bits =
          certify(*row, dtype, {contract::RowKind::layer_input, 0}, resolver);
      for (std::size_t h = 0; h < kSize; ++h)
        ASSERT_EQ(bits[h], round_to(dtype, resolver.exact[h].number())) << resolver.exact[h].nearest();
      asked += resolver.asked;
      decided += static_cast<int>(kSize) - resolver.asked;
    }
    EXPECT_GT(asked, 100);
    EXPECT_GT(decided, 100);
  }
}

}  // namespace
}  // namespace mhcheck

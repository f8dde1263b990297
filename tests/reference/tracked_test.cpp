// Running errors, operation by operation: the reference's radius holds the exact value, and a kernel whose
// operation errs as much as error_model.h allows, on operands as wrong as they may be, stays within its
// radii.
#include "reference/arithmetic/tracked.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/reference/big.h"
#include "tests/reference/random.h"

namespace mhcheck {
namespace {

using error_model::kDivision;
using error_model::kFlush;
using error_model::kReciprocalRoot;
using error_model::kRounding;
using error_model::kUnit;
using testing::Big;
using testing::Random;

constexpr int kDeterministic = Radii::kDeterministic;

// A Tracked, and one of the exact values and one of the kernel's values that it stands for.
struct Operand {
  Tracked tracked;
  Big exact;
  Big kernel;
};

// The ends of the radii are the hard points.
double place(Random& random) { return random.one_in(3) ? random.symmetric() : random.sign(); }

Operand operand_at(Random& random, double mid, double rad, double kernel_radius) {
  Operand x;
  x.tracked = Tracked(mid);
  x.tracked.rad = rad;
  x.tracked.kernel.r.fill(kernel_radius);
  x.exact = Big(mid) + Big(place(random)) * Big(rad);
  x.kernel = x.exact + Big(place(random)) * Big(kernel_radius);
  return x;
}

// Radii from none at all to larger than the number.
Operand random_operand(Random& random, int low_exponent, int high_exponent) {
  const double mid = random.one_in(20) ? 0 : random.of_size(low_exponent, high_exponent, 24);
  const double size = mid != 0 ? std::fabs(mid) : std::ldexp(1.0, low_exponent);
  const double rad = random.one_in(3) ? 0 : size * std::ldexp(1.0, random.between(-60, -1));
  const double kernel = random.one_in(3) ? 0 : size * std::ldexp(1.0, random.between(-30, 2));
  return operand_at(random, mid, rad, kernel);
}

// `exact` as a kernel gets it whose operation is off by up to `units` of u, and which may flush.
Big rounded(Random& random, const Big& exact, double units) {
  const Big result = exact * (Big(1) + Big(place(random) * units * kUnit));
  return random.one_in(2) && abs(result) < Big(kFlush) ? Big(0) : result;
}

// A subnormal operand may be read as zero.
Big read(Random& random, const Big& operand) {
  return random.one_in(2) && abs(operand) < Big(kFlush) ? Big(0) : operand;
}

void expect_within(const Tracked& z, const Big& exact, const Big& kernel, const char* what) {
  ASSERT_TRUE(abs(exact - Big(z.mid)) <= Big(z.rad))
      << what << ": exact " << exact.nearest() << ", mid " << z.mid << ", rad " << z.rad;
  ASSERT_TRUE(abs(kernel - exact) <= Big(z.kernel[kDeterministic]))
      << what << ": exact " << exact.nearest() << ", kernel off by " << abs(kernel - exact).nearest()
      << ", radius " << z.kernel[kDeterministic];
}

// How often the radius is not infinite: bounds that say nothing would pass every test.
class Share {
 public:
  void count(const Tracked& z) {
    ++all_;
    finite_ += std::isfinite(z.kernel[kDeterministic]) && std::isfinite(z.rad);
  }
  double value() const { return static_cast<double>(finite_) / all_; }

 private:
  int all_ = 0, finite_ = 0;
};

struct Range {
  int low, high;
};
// Ordinary numbers, and such as lie around the smallest normal.
constexpr Range kRanges[] = {{-20, 20}, {-140, -110}, {-149, -120}};

TEST(Tracked, SumsAndDifferencesHoldEveryCorrectKernel) {
  Random random(21);
  for (int round = 0; round < 60000; ++round) {
    const Range range = kRanges[random.below(3)];
    const Operand x = random_operand(random, range.low, range.high),
                  y = random_operand(random, range.low, range.high);
    const Big kx = read(random, x.kernel), ky = read(random, y.kernel);
    expect_within(x.tracked + y.tracked, x.exact + y.exact, rounded(random, kx + ky, kRounding), "sum");
    expect_within(x.tracked - y.tracked, x.exact - y.exact, rounded(random, kx - ky, kRounding),
                  "difference");
    if (HasFatalFailure()) return;
  }
}

TEST(Tracked, ProductsHoldEveryCorrectKernel) {
  Random random(22);
  for (int round = 0; round < 60000; ++round) {
    const Range range = kRanges[random.below(3)];
    const Operand x = random_operand(random, range.low, range.high), y = random_operand(random, -20, 20);
    const Big kx = read(random, x.kernel), ky = read(random, y.kernel);
    expect_within(x.tracked * y.tracked, x.exact * y.exact, rounded(random, kx * ky, kRounding), "product");
    if (HasFatalFailure()) return;
  }
}

TEST(Tracked, QuotientsHoldEveryCorrectKernel) {
  Random random(23);
  Share share;
  for (int round = 0; round < 60000; ++round) {
    const Operand x = random_operand(random, -20, 20), y = random_operand(random, -20, 20);
    const Tracked z = x.tracked / y.tracked;
    share.count(z);
    if (!std::isfinite(z.kernel[kDeterministic])) continue;
    expect_within(z, x.exact / y.exact, rounded(random, x.kernel / y.kernel, kDivision), "quotient");
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(share.value(), 0.7);
}

TEST(Tracked, QuotientsByRootsHoldEveryCorrectKernel) {
  Random random(24);
  Share share;
  for (int round = 0; round < 60000; ++round) {
    const Operand x = random_operand(random, -20, 20);
    const double s_mid = std::fabs(random.of_size(-40, 40));
    const Operand s =
        operand_at(random, s_mid, random.one_in(3) ? 0 : s_mid * std::ldexp(0.99, -random.between(0, 50)),
                   random.one_in(3) ? 0 : s_mid * std::ldexp(0.99, -random.between(0, 30)));
    const Tracked z = divide_by_root(x.tracked, s.tracked);
    share.count(z);
    if (!std::isfinite(z.kernel[kDeterministic])) continue;
    const Big exact = x.exact / sqrt(s.exact);
    const Big inverse = rounded(random, Big(1) / sqrt(s.kernel), kReciprocalRoot);
    expect_within(z, exact, rounded(random, x.kernel * inverse, kRounding), "x * rsqrt(s)");
    // A root of 2u, then a quotient of kDivision.
    expect_within(z, exact, rounded(random, x.kernel / rounded(random, sqrt(s.kernel), 2), kDivision),
                  "x / sqrt(s)");
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(share.value(), 0.7);
}

// 1 / (1 + exp(-z)) in a kernel.
Big kernel_sigmoid(Random& random, const Big& z) {
  const double units = exp_error(std::fabs(z.nearest())) / kUnit;
  Big e = exp(-z) * (Big(1) + Big(place(random) * units * kUnit));
  if (e < Big(0)) e = Big(0);                  // an error beyond 100 % still gives no negative number
  if (e > Big(0x1.fffffep127)) return Big(0);  // 1 / infinity
  if (abs(e) < Big(kFlush) && random.one_in(2)) e = Big(0);
  return rounded(random, Big(1) / rounded(random, Big(1) + e, kRounding), kDivision);
}

TEST(Tracked, SigmoidHoldsEveryCorrectKernel) {
  Random random(25);
  for (int round = 0; round < 40000; ++round) {
    const double mid = random.one_in(10) ? 0 : random.of_size(-10, 6) * (random.one_in(3) ? 10 : 1);
    const double rad = random.one_in(3) ? 0 : std::ldexp(1.0, random.between(-60, 8));
    const double kernel = random.one_in(3) ? 0 : std::ldexp(1.0, random.between(-30, 9));
    const Operand z = operand_at(random, mid, rad, kernel);
    expect_within(sigmoid(z.tracked), testing::sigmoid(z.exact), kernel_sigmoid(random, z.kernel), "sigmoid");
    if (HasFatalFailure()) return;
  }
}

// Beyond 735 the slope at the middle is no double any more, at the ends of the radius it is.
TEST(Tracked, SigmoidHoldsWhereAWideRadiusReachesFromTheFlatPartToTheSteep) {
  Random random(26);
  for (const double far : {-600.0, -740.0, -1000.0, -30000.0, 740.0, 1e6}) {
    for (const double beyond : {-20.0, -1.0, 0.0, 5.0}) {
      const double radius = std::fabs(far) + beyond;
      const Operand in_kernel = operand_at(random, far, 0, radius);
      const Big reached = Big(far) + Big(far < 0 ? radius : -radius);
      const Tracked s = sigmoid(in_kernel.tracked);
      EXPECT_TRUE(abs(testing::sigmoid(reached) - testing::sigmoid(Big(far))) <=
                  Big(s.kernel[kDeterministic]))
          << far << " +- " << radius << ": " << s.kernel[kDeterministic];
      const Operand in_reference = operand_at(random, far, radius, 0);
      const Tracked r = sigmoid(in_reference.tracked);
      EXPECT_TRUE(abs(testing::sigmoid(reached) - Big(r.mid)) <= Big(r.rad))
          << far << " +- " << radius << ": " << r.rad;
    }
  }
}

TEST(Tracked, SigmoidOfAnUnboundedNumberIsUnbounded) {
  Tracked z(1.0);
  z.kernel.r.fill(HUGE_VAL);  // fp32 may have overflowed, and its NaN goes through every sigmoid
  for (int k = 0; k < Radii::kKinds; ++k) EXPECT_EQ(sigmoid(z).kernel[k], HUGE_VAL);
}

TEST(Tracked, WhatMayOverflowInFp32IsUnbounded) {
  const Tracked large(0x1p100);
  EXPECT_EQ((large * large).kernel[kDeterministic], HUGE_VAL);
  EXPECT_EQ((Tracked(0x1.fffffep127) + Tracked(0x1p105)).kernel[kDeterministic], HUGE_VAL);
  EXPECT_TRUE(std::isfinite((Tracked(0x1p126) + Tracked(0x1p125)).kernel[kDeterministic]));
}

TEST(Tracked, ExactZerosStayExact) {
  const Tracked zero(0.0), five(5.0);
  for (const Tracked& z : {zero + zero, zero * five, divide_by_root(zero, five)}) {
    EXPECT_EQ(z.mid, 0);
    EXPECT_EQ(z.rad, 0);
    EXPECT_TRUE(z.kernel.zero());
  }
}

TEST(Tracked, QuotientsByWhatIsOrMayBeZeroAreUnknown) {
  Tracked perhaps_zero(0x1p-30);
  perhaps_zero.rad = 0x1p-29;
  for (const Tracked& z :
       {Tracked(1.0) / perhaps_zero, divide_by_root(Tracked(1.0), perhaps_zero), Tracked(1.0) / Tracked(0.0),
        divide_by_root(Tracked(0.0), Tracked(0.0)), divide_by_root(Tracked(1.0), Tracked(-1.0))}) {
    EXPECT_EQ(z.rad, HUGE_VAL);
    EXPECT_EQ(z.kernel[kDeterministic], HUGE_VAL);
  }
}

// An epsilon below the normal numbers may be flushed to zero, and 0 * rsqrt(0) is a NaN.
TEST(Tracked, EvenZeroOverTheRootOfWhatMayBeFlushedIsUnbounded) {
  const Tracked zero(0.0);
  for (const double eps : {0x1p-149, 0x1p-130, 0x1p-126}) {
    EXPECT_EQ(divide_by_root(zero, zero + Tracked(eps)).kernel[kDeterministic], HUGE_VAL) << eps;
  }
  EXPECT_LT(divide_by_root(zero, zero + Tracked(0x1p-100)).kernel[kDeterministic], 0x1p-120);
}

TEST(Tracked, RadiiKeepTheirOrder) {
  Random random(27);
  const auto with_ordered_radii = [&](double mid) {
    Tracked x(mid);
    x.kernel[Radii::kDeterministic] = std::fabs(mid) * std::ldexp(1.0, random.between(-20, 1));
    x.kernel[Radii::kProbabilistic] = x.kernel[Radii::kDeterministic] * random.uniform();
    x.kernel[Radii::kSystematic] = x.kernel[Radii::kProbabilistic] * random.uniform();
    return x;
  };
  for (int round = 0; round < 20000; ++round) {
    const Tracked x = with_ordered_radii(random.of_size(-8, 8)),
                  y = with_ordered_radii(std::fabs(random.of_size(-8, 8)));
    for (const Tracked& z : {x + y, x * y, x / y, divide_by_root(x, y), sigmoid(x)}) {
      ASSERT_LE(z.kernel[Radii::kSystematic], z.kernel[Radii::kProbabilistic]);
      ASSERT_LE(z.kernel[Radii::kProbabilistic], z.kernel[Radii::kDeterministic]);
    }
  }
}

}  // namespace
}  // namespace mhcheck

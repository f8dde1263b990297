// The comparator must pass what is right, and must catch and name what is wrong.
#include "conformance/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "reference/acceptance.h"
#include "tests/conformance/synthetic_output.h"

namespace mhcheck::conformance {
namespace {

using reference::Acceptance;
using reference::accepted;
using reference::half_spacing;
using reference::membership;
using reference::Membership;
using testing::gaussian_output;
using testing::Random;
using testing::SyntheticOutput;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

const Finding* find(const OutputVerdict& verdict, FailureKind kind) {
  for (const Finding& f : verdict.findings) {
    if (f.kind == kind) return &f;
  }
  return nullptr;
}

std::string kinds(const OutputVerdict& verdict) {
  std::string names;
  for (const Finding& f : verdict.findings) {
    names += std::string(row_of(f.kind).name) + "(" + std::to_string(f.count) + ") " + f.detail + "\n";
  }
  return names;
}

// An output of one element: what the comparator says to `stored` for value +- radius.
OutputVerdict judge_one(Dtype dtype, double value, double radius, std::uint32_t stored) {
  SyntheticOutput o = gaussian_output(dtype, 1, 1);
  o.value = {value};
  o.deterministic = {radius};
  o.probabilistic = {radius};
  o.systematic = {0.0};
  o.store(0, stored);
  return o.judge();
}

class EveryDtype : public ::testing::TestWithParam<Dtype> {};
INSTANTIATE_TEST_SUITE_P(Dtypes, EveryDtype, ::testing::ValuesIn(kAllDtypes),
                         [](const auto& dtype) { return std::string(name_of(dtype.param)); });

// ---- what is right must pass ----

TEST_P(EveryDtype, CorrectDataPassAtManySizesAndRadii) {
  for (const auto& [tokens, row] : {std::pair<int, int>{1, 1}, {1, 4}, {3, 16}, {33, 520}, {128, 64}}) {
    for (const double radius : {1e-7, 3e-6, 1e-4, 1e-2}) {
      SyntheticOutput o =
          gaussian_output(GetParam(), tokens, row, radius, /*seed=*/static_cast<std::uint64_t>(row));
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        o.store_correct(seed);
        const OutputVerdict v = o.judge();
        EXPECT_TRUE(v.conforms()) << tokens << "x" << row << " radius " << radius << "\n" << kinds(v);
        ASSERT_TRUE(v.worst);
        EXPECT_LE(v.worst->bound_units, 1);
      }
    }
  }
}

TEST_P(EveryDtype, ErrorsThatReachTheRadiusEverywherePass) {
  // The worst that a correct kernel may do in each token: every element off by its whole radius, with one
  // sign.
  for (const double sign : {-1.0, 1.0}) {
    SyntheticOutput o = gaussian_output(GetParam(), 1, 4096, 1e-4);
    o.store_all([&](std::size_t i, double v) { return v + sign * o.probabilistic[i]; });
    EXPECT_TRUE(o.judge().conforms()) << kinds(o.judge());
  }
  // Over many tokens only the systematic part may keep one sign.
  for (const double sign : {-1.0, 1.0}) {
    SyntheticOutput o = gaussian_output(GetParam(), 200, 256, 1e-4);
    o.store_all([&](std::size_t i, double v) { return v + sign * o.systematic[i]; });
    EXPECT_TRUE(o.judge().conforms()) << kinds(o.judge());
    o.store_all(
        [&](std::size_t, double v) { return v * (1 + sign * 1e-5); });  // the same as a relative error
    EXPECT_TRUE(o.judge().conforms()) << kinds(o.judge());
  }
}

TEST_P(EveryDtype, ErrorsSharedByAWholeTokenPass) {
  // One random factor a token, as a rounding of its norm gives: the strongest correlation that the model has.
  SyntheticOutput o = gaussian_output(GetParam(), 256, 512, 1e-4);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Random random(seed);
    std::vector<double> factor(256);
    for (double& f : factor) f = 0.9e-4 / reference::kLambda * random.normal();
    o.store_all([&](std::size_t i, double v) { return v * (1 + 0.1e-4 + factor[i / 512]); });
    EXPECT_TRUE(o.judge().conforms()) << kinds(o.judge());
  }
}

TEST_P(EveryDtype, FewDistinctMantissasDoNotFoolTheAggregates) {
  // hc_mult 1: one factor a token times 16-bit inputs, so a hundred elements round the same way at once.
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SyntheticOutput o = gaussian_output(GetParam(), 8, 4096, 1e-5);
    Random random(seed);
    for (std::size_t t = 0; t < 8; ++t) {
      const double factor = random.uniform();
      for (std::size_t i = 0; i < 4096; ++i) {
        double& v = o.value[t * 4096 + i];
        v = factor * decode(Dtype::bf16, encode(Dtype::bf16, 1 + std::fabs(v)));
      }
    }
    o.set_radii(4e-5, 1e-5, 1e-6);
    const double shared = 0.9e-5 * random.symmetric();
    o.store_all([&](std::size_t, double v) { return v * (1 + shared); });
    // All tokens share the error here, so they are not independent of each other.
    EXPECT_TRUE(o.judge(/*independent_tokens=*/false).conforms()) << kinds(o.judge(false));
    // Another error in every token: then they are.
    std::vector<double> factors(8);
    for (double& f : factors) f = 1e-6 + 0.9e-5 / reference::kLambda * random.normal();
    o.store_all([&](std::size_t i, double v) { return v * (1 + factors[i / 4096]); });
    EXPECT_TRUE(o.judge().conforms()) << kinds(o.judge());
  }
}

TEST_P(EveryDtype, TokensAlikeCountAsOne) {
  // 300 copies of one token: a kernel makes the same errors in each, which is no bias.
  SyntheticOutput o = gaussian_output(GetParam(), 300, 64, 1e-4);
  for (std::size_t i = 64; i < o.size(); ++i) o.value[i] = o.value[i % 64];
  o.set_radii(4e-4, 1e-4, 1e-6);
  Random random(5);
  std::vector<double> error(64);
  for (double& e : error) e = 0.5e-4 * (0.3 + random.uniform());
  o.store_all([&](std::size_t i, double v) { return v * (1 + error[i % 64]); });
  EXPECT_TRUE(o.judge().conforms()) << kinds(o.judge());
}

TEST(Acceptance, TiesGoToEvenAndBothNeighboursAreRightOnlyWithinTheRadius) {
  const double tie = 1.0 + 0x1p-8;  // halfway between bf16 1.0 (even) and 1.0078125 (odd)
  EXPECT_TRUE(judge_one(Dtype::bf16, tie, 0, 0x3f80).conforms());
  EXPECT_FALSE(judge_one(Dtype::bf16, tie, 0, 0x3f81).conforms());
  EXPECT_TRUE(judge_one(Dtype::bf16, tie, 1e-9, 0x3f80).conforms());
  EXPECT_TRUE(judge_one(Dtype::bf16, tie, 1e-9, 0x3f81).conforms());
  EXPECT_FALSE(judge_one(Dtype::bf16, tie - 1e-6, 1e-9, 0x3f81).conforms());
  EXPECT_FALSE(judge_one(Dtype::bf16, tie + 1e-6, 1e-9, 0x3f80).conforms());
}

TEST(Acceptance, TheIntervalIsNeverNarrowedByDoubleArithmetic) {
  // value +- radius lies beyond the tie, but the nearest double is the tie itself, which rounds back to even.
  const double tie = 1.0 + 0x1p-8;
  for (const double beyond : {0x1p-60, 0x1p-90}) {
    const double radius = 0x1p-52 + beyond;
    const double below = std::nextafter(tie, 0), odd_tie = 1.0 + 0x1.8p-7;  // between 0x3f81 (odd) and 0x3f82
    ASSERT_EQ(below + radius, tie);
    EXPECT_TRUE(judge_one(Dtype::bf16, below, radius, 0x3f81).conforms()) << beyond;
    EXPECT_TRUE(judge_one(Dtype::bf16, std::nextafter(odd_tie, 2), radius, 0x3f81).conforms()) << beyond;
  }
  Random random(3);
  for (int i = 0; i < 100000; ++i) {
    const double v = random.normal(), r = std::fabs(v) * std::exp2(-60 * random.uniform());
    const double at = v + r * random.symmetric();  // in long double this may be outside by a rounding at most
    const Acceptance a = accepted<Dtype::fp32>(v, r, encode<Dtype::fp32>(v));
    EXPECT_NE(membership(Dtype::fp32, a, encode<Dtype::fp32>(at)), Membership::outside) << v << " " << r;
  }
}

TEST(Acceptance, TheTwoZerosAreOnePoint) {
  for (const Dtype d : kAllDtypes) {
    const std::uint32_t minus_zero = format_of(d).sign_mask();
    EXPECT_TRUE(judge_one(d, 0.0, 0, 0).conforms());
    EXPECT_TRUE(judge_one(d, 0.0, 0, minus_zero).conforms());
    EXPECT_TRUE(judge_one(d, -0.0, 0, 0).conforms());
    EXPECT_FALSE(judge_one(d, 0.0, 0, 1).conforms());
    EXPECT_FALSE(judge_one(d, 0.0, 0, minus_zero | 1).conforms());
  }
}

TEST(Acceptance, SubnormalsAreJudgedToTheLastStep) {
  for (const Dtype d : kAllDtypes) {
    const double step = decode(d, 1);
    EXPECT_TRUE(judge_one(d, 7 * step, 0.01 * step, 7).conforms());
    EXPECT_FALSE(judge_one(d, 7 * step, 0.01 * step, 8).conforms());
    EXPECT_FALSE(judge_one(d, 7 * step, 0.01 * step, 6).conforms());
    EXPECT_TRUE(judge_one(d, 7 * step, 1.2 * step, 8).conforms());
  }
}

TEST(Acceptance, OnlyFp32ResultsBelowTheNormalRangeMayBeFlushed) {
  EXPECT_TRUE(judge_one(Dtype::fp32, 0x1p-127, 0x1p-150, 0).conforms());
  EXPECT_EQ(judge_one(Dtype::fp32, 0x1p-127, 0x1p-150, 0).flushed, 1u);
  EXPECT_TRUE(judge_one(Dtype::fp32, -0x1.8p-126, 0x1p-127 + 0x1p-140, 0x80000000).conforms());  // touches it
  EXPECT_FALSE(judge_one(Dtype::fp32, 0x1.8p-126, 0x1p-128, 0).conforms());
  EXPECT_FALSE(judge_one(Dtype::fp32, 0x1p-126, 0, 0).conforms());
  EXPECT_FALSE(judge_one(Dtype::bf16, 0x1p-127, 0x1p-150, 0).conforms());
  EXPECT_FALSE(judge_one(Dtype::fp16, 0x1p-15, 0x1p-40, 0).conforms());
  // Flushing everything is no bias, and counts for nothing.
  SyntheticOutput o = gaussian_output(Dtype::fp32, 4, 64);
  for (double& v : o.value) v = 0x1p-130 * (1 + v * v);
  o.set_radii(1e-6, 1e-6, 0);
  o.store_all([](std::size_t, double) { return 0.0; });
  EXPECT_TRUE(o.judge().conforms());
  EXPECT_EQ(o.judge().flushed, o.size());
}

TEST(Acceptance, OverflowIsRightWhereTheIntervalReachesIt) {
  const std::uint32_t infinity = format_of(Dtype::fp16).infinity();
  EXPECT_TRUE(judge_one(Dtype::fp16, 65519, 2, infinity).conforms());
  EXPECT_TRUE(judge_one(Dtype::fp16, 65519, 2, infinity - 1).conforms());
  EXPECT_TRUE(judge_one(Dtype::fp16, 70000, 2, infinity).conforms());
  const OutputVerdict v = judge_one(Dtype::fp16, 60000, 2, infinity);
  ASSERT_FALSE(v.conforms());
  EXPECT_EQ(v.findings[0].kind, FailureKind::not_a_number);
}

TEST(Acceptance, WhereTheContractDefinesNothingAnythingIsRightOnceItIsWritten) {
  for (const auto& [value, radius] : {std::pair{kNaN, 0.0}, {1.0, kInfinity}, {kNaN, kNaN}}) {
    for (const std::uint32_t stored : {0u, 0x7f800000u, 0x7fc00000u, 0x3f800000u}) {
      const OutputVerdict v = judge_one(Dtype::fp32, value, radius, stored);
      EXPECT_TRUE(v.conforms());
      EXPECT_EQ(v.undefined, 1u);
    }
    const OutputVerdict v = judge_one(Dtype::fp32, value, radius, poison_bits(Dtype::fp32));
    ASSERT_FALSE(v.conforms());
    EXPECT_EQ(v.findings[0].kind, FailureKind::unwritten);
  }
}

TEST(Acceptance, HalfSpacingAgreesWithUlp) {
  Random random(11);
  for (int i = 0; i < 10000; ++i) {
    const double v = random.symmetric() * std::exp2(300 * random.symmetric());
    EXPECT_EQ(half_spacing<Dtype::bf16>(v, 0), 0.5 * ulp(Dtype::bf16, v)) << v;
    EXPECT_EQ(half_spacing<Dtype::fp16>(v, 0), 0.5 * ulp(Dtype::fp16, v)) << v;
    EXPECT_EQ(half_spacing<Dtype::fp32>(v, 0), 0.5 * ulp(Dtype::fp32, v)) << v;
  }
  EXPECT_EQ(half_spacing<Dtype::bf16>(0, 0), 0.5 * decode(Dtype::bf16, 1));
}

// ---- what is wrong must be caught, and named ----

TEST_P(EveryDtype, OneUlpOffIsCaughtOnEachSide) {
  const Dtype d = GetParam();
  for (const bool up : {false, true}) {
    SyntheticOutput o = gaussian_output(d, 33, 520, 1e-9);
    const std::size_t at = 17 * 520 + 333;
    o.value[at] = decode(d, encode(d, 1.234));  // on a grid point, so that one step is one ulp of error
    o.store(at, up ? next_up(d, encode(d, 1.234)) : next_down(d, encode(d, 1.234)));
    const OutputVerdict v = o.judge();
    const Finding* f = find(v, FailureKind::outside_deterministic);
    ASSERT_NE(f, nullptr) << kinds(v);
    EXPECT_EQ(f->count, 1u);
    EXPECT_EQ(f->worst->token, 17);
    EXPECT_EQ(f->worst->index, 333);
    EXPECT_EQ(f->worst->flat, at);
    EXPECT_DOUBLE_EQ(f->worst->ulps, up ? 1 : -1);
    EXPECT_GT(f->worst->bound_units, 1.9);
    EXPECT_EQ(f->worst->expected_bits, encode(d, 1.234));
    EXPECT_EQ(f->worst->lo_bits, f->worst->hi_bits);
  }
}

TEST_P(EveryDtype, BetweenTheRadiiIsImprobableBeyondBothImpossible) {
  SyntheticOutput o = gaussian_output(GetParam(), 4, 64);
  const double ulp_here = ulp(GetParam(), 1.0);
  o.value[70] = 1.0;
  o.probabilistic[70] = 2 * ulp_here;
  o.deterministic[70] = 6 * ulp_here;
  o.systematic[70] = 0;
  const auto verdict_at = [&](int steps) {
    o.store(70, encode(GetParam(), 1.0 + steps * ulp_here));
    return o.judge();
  };
  EXPECT_TRUE(verdict_at(2).conforms());
  EXPECT_EQ(verdict_at(4).findings.at(0).kind, FailureKind::outside_probabilistic);
  EXPECT_EQ(verdict_at(6).findings.at(0).kind, FailureKind::outside_probabilistic);
  EXPECT_EQ(verdict_at(7).findings.at(0).kind, FailureKind::outside_deterministic);
  EXPECT_EQ(verdict_at(7).findings.at(0).worst->flat, 70u);
}

TEST_P(EveryDtype, ScaledByOneTenThousandthIsCaughtInOneToken) {
  for (const double factor : {1 + 1e-4, 1 - 1e-4}) {
    SyntheticOutput o = gaussian_output(GetParam(), 1, 4096);
    o.store_all([&](std::size_t, double v) { return v * factor; });
    const OutputVerdict v = o.judge();
    ASSERT_NE(find(v, FailureKind::outside_deterministic), nullptr) << kinds(v);
    ASSERT_NE(find(v, FailureKind::wrong_aggregate), nullptr) << kinds(v);
    // What is fitted is the stored tensor, with the noise of its rounding.
    EXPECT_NEAR(v.aggregates.scale.value, factor - 1, 6e-5);
    EXPECT_EQ(v.aggregates.scale.worst_token.token, 0);
  }
}

TEST_P(EveryDtype, ScaledByOneHundredThousandthIsCaughtOnALargeTensor) {
  for (const double factor : {1 + 1e-5, 1 - 1e-5}) {
    SyntheticOutput o = gaussian_output(GetParam(), 256, 1024);
    o.store_all([&](std::size_t, double v) { return v * factor; });
    const OutputVerdict v = o.judge();
    ASSERT_NE(find(v, FailureKind::wrong_aggregate), nullptr) << kinds(v);
    EXPECT_NEAR(v.aggregates.scale.value, factor - 1, 3e-6);
    EXPECT_GT(std::fabs(v.aggregates.scale.value), v.aggregates.scale.tolerance);
  }
}

TEST_P(EveryDtype, ABiasBelowEveryElementsRadiusIsCaughtByTheTensorAlone) {
  // Radii of 1e-4, one tenth systematic: no element shows a factor of 1 + 5e-5, which is half of its radius.
  SyntheticOutput o = gaussian_output(GetParam(), 1024, 512, 1e-4);
  o.store_all([&](std::size_t, double v) { return v * (1 + 5e-5); });
  const OutputVerdict v = o.judge();
  ASSERT_FALSE(v.conforms());
  for (const Finding& f : v.findings) EXPECT_EQ(f.kind, FailureKind::wrong_aggregate) << kinds(v);
  EXPECT_NEAR(v.aggregates.scale.value, 5e-5, 5e-6);
  // The same data, where tokens are not independent, proves nothing.
  EXPECT_TRUE(o.judge(/*independent_tokens=*/false).conforms());
}

TEST_P(EveryDtype, AConstantOffsetBelowEveryRadiusIsCaughtByMeanAndSigns) {
  SyntheticOutput o = gaussian_output(GetParam(), 1024, 64, 1e-4);
  for (double& v : o.value) v = 1 + 0.1 * v;
  const double spacing = ulp(GetParam(), 1.0);
  for (std::size_t i = 0; i < o.size(); ++i) {
    o.deterministic[i] = 4 * spacing;
    o.probabilistic[i] = 2 * spacing;
    o.systematic[i] = 0.1 * spacing;
  }
  o.store_all([&](std::size_t, double v) { return v + spacing; });
  const OutputVerdict v = o.judge();
  ASSERT_FALSE(v.conforms());
  for (const Finding& f : v.findings) EXPECT_EQ(f.kind, FailureKind::wrong_aggregate) << kinds(v);
  EXPECT_FALSE(v.aggregates.mean.conforms());
  EXPECT_FALSE(v.aggregates.signs.conforms());
  EXPECT_GT(v.aggregates.signs.counts.far_above, v.aggregates.signs.counts.below);
  EXPECT_NEAR(v.aggregates.mean.value, spacing, 0.05 * spacing);
}

TEST_P(EveryDtype, ChainsTooShortForStatisticsMayRoundOneWay) {
  // The deterministic radius is all that is known: an error of one sign within it proves nothing.
  SyntheticOutput o = gaussian_output(GetParam(), 1024, 16, 3e-7);
  o.set_radii(3e-7, 3e-7, 1e-8);
  o.store_all([&](std::size_t, double v) { return v * (1 - 2e-7); });
  EXPECT_TRUE(o.judge().conforms()) << kinds(o.judge());
}

TEST_P(EveryDtype, TruncationInPlaceOfRoundToNearestEvenIsCaught) {
  const Dtype d = GetParam();
  SyntheticOutput o = gaussian_output(d, 3, 520, 1e-9);
  for (std::size_t i = 0; i < o.size(); ++i) {
    const std::uint32_t nearest = encode(d, o.value[i]);
    const bool beyond = std::fabs(decode(d, nearest)) > std::fabs(o.value[i]);
    o.store(i, beyond ? nearest - 1 : nearest);  // towards zero
  }
  const OutputVerdict v = o.judge();
  const Finding* f = find(v, FailureKind::outside_deterministic);
  ASSERT_NE(f, nullptr) << kinds(v);
  EXPECT_GT(f->count, o.size() / 3);
  EXPECT_LT(std::fabs(f->worst->ulps), 1.0);  // no element is off by a whole ulp
  EXPECT_GT(std::fabs(f->worst->ulps), 0.9);
  EXPECT_NE(find(v, FailureKind::wrong_aggregate), nullptr);
  EXPECT_LT(v.aggregates.scale.value, 0);
}

TEST_P(EveryDtype, OneTieRoundedAwayIsCaught) {
  const Dtype d = GetParam();
  SyntheticOutput o = gaussian_output(d, 5, 64, 1e-9);
  const std::uint32_t even = encode(d, 1.5);
  o.value[100] = 1.5 + 0.5 * ulp(d, 1.5);
  o.probabilistic[100] = o.deterministic[100] = o.systematic[100] = 0;
  o.store(100, even);
  EXPECT_TRUE(o.judge().conforms()) << kinds(o.judge());
  o.store(100, even + 1);
  const OutputVerdict v = o.judge();
  ASSERT_FALSE(v.conforms());
  EXPECT_EQ(v.findings[0].kind, FailureKind::outside_deterministic);
  EXPECT_EQ(v.findings[0].worst->flat, 100u);
}

TEST_P(EveryDtype, SwappedRowsAreCaughtAndOnlyTheyAreBlamed) {
  SyntheticOutput o = gaussian_output(GetParam(), 64, 128);
  for (std::size_t i = 0; i < 128; ++i) {
    const std::uint32_t a = o.stored(20 * 128 + i), b = o.stored(41 * 128 + i);
    o.store(20 * 128 + i, b);
    o.store(41 * 128 + i, a);
  }
  const OutputVerdict v = o.judge();
  const Finding* f = find(v, FailureKind::outside_deterministic);
  ASSERT_NE(f, nullptr);
  EXPECT_GT(f->count, 240u);
  EXPECT_LE(f->count, 256u);
  EXPECT_TRUE(f->worst->token == 20 || f->worst->token == 41);
  const Finding* bias = find(v, FailureKind::wrong_aggregate);
  ASSERT_NE(bias, nullptr);
  EXPECT_EQ(v.aggregates.scale.biased_tokens, 2u);
}

TEST(Verdict, TransposedCombIsCaught) {
  SyntheticOutput o = gaussian_output(Dtype::fp32, 17, 16, 1e-5);
  o.spec = {"comb_mix", Dtype::fp32, {17, 4, 4}};
  for (double& v : o.value) v = 0.25 + 0.05 * v;  // symmetric to look at: rows and columns sum to about one
  o.set_radii(2e-5, 1e-5, 1e-6);
  o.store_correct();
  ASSERT_TRUE(o.judge().conforms());
  for (std::size_t t = 0; t < 17; ++t) {
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const std::size_t a = t * 16 + i * 4 + j, b = t * 16 + j * 4 + i;
        const std::uint32_t upper = o.stored(b);
        o.store(b, o.stored(a));
        o.store(a, upper);
      }
    }
  }
  const OutputVerdict v = o.judge();
  const Finding* f = find(v, FailureKind::outside_deterministic);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->count, 17u * 12u);  // all but the diagonals
  EXPECT_NE(f->worst->index % 5, 0);
}

TEST_P(EveryDtype, OneUnwrittenElementIsCaughtWhereverItIs) {
  for (const std::size_t at : {std::size_t{0}, std::size_t{1000}, std::size_t{33 * 520 - 1}}) {
    SyntheticOutput o = gaussian_output(GetParam(), 33, 520);
    o.store(at, poison_bits(GetParam()));
    const OutputVerdict v = o.judge();
    ASSERT_EQ(v.findings.size(), 1u) << kinds(v);
    EXPECT_EQ(v.findings[0].kind, FailureKind::unwritten);
    EXPECT_EQ(v.findings[0].count, 1u);
    EXPECT_EQ(v.findings[0].worst->flat, at);
    EXPECT_EQ(v.findings[0].worst->token, static_cast<std::int64_t>(at / 520));
  }
}

TEST_P(EveryDtype, NotANumberIsCaughtAtTheVeryEnd) {
  const FloatFormat f = format_of(GetParam());
  for (const std::uint32_t bits : {f.quiet_nan(), f.quiet_nan() | f.sign_mask(), f.infinity() | 1u,
                                   f.infinity(), f.infinity() | f.sign_mask()}) {
    SyntheticOutput o = gaussian_output(GetParam(), 65, 520);
    o.store(o.size() - 1, bits);
    const OutputVerdict v = o.judge();
    ASSERT_EQ(v.findings.size(), 1u) << kinds(v);
    EXPECT_EQ(v.findings[0].kind, FailureKind::not_a_number);
    EXPECT_EQ(v.findings[0].worst->token, 64);
    EXPECT_EQ(v.findings[0].worst->index, 519);
    EXPECT_EQ(v.findings[0].worst->got_bits, bits);
  }
}

TEST(Verdict, OneTokensMixesReplacedByItsNeighboursAreCaught) {
  SyntheticOutput o = gaussian_output(Dtype::fp32, 33, 4, 1e-5);
  o.spec = {"post_mix", Dtype::fp32, {33, 4, 1}};
  for (std::size_t j = 0; j < 4; ++j) o.store(12 * 4 + j, o.stored(13 * 4 + j));
  const OutputVerdict v = o.judge();
  const Finding* f = find(v, FailureKind::outside_deterministic);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->count, 4u);
  EXPECT_EQ(f->worst->token, 12);
}

TEST_P(EveryDtype, RootTwoOnOneTokenIsNamedWithItsFactor) {
  SyntheticOutput o = gaussian_output(GetParam(), 100, 512);
  for (std::size_t i = 0; i < 512; ++i) {
    o.store(63 * 512 + i, encode(GetParam(), std::sqrt(2.0) * o.value[63 * 512 + i]));
  }
  const OutputVerdict v = o.judge();
  EXPECT_NE(find(v, FailureKind::outside_deterministic), nullptr);
  ASSERT_NE(find(v, FailureKind::wrong_aggregate), nullptr);
  EXPECT_EQ(v.aggregates.scale.biased_tokens, 1u);
  EXPECT_EQ(v.aggregates.scale.worst_token.token, 63);
  EXPECT_NEAR(1 + v.aggregates.scale.worst_token.value, 1.41421, 1e-3);
  EXPECT_THAT(find(v, FailureKind::wrong_aggregate)->detail, ::testing::HasSubstr("token 63: +0.41"));
}

TEST(Verdict, ChangedGuardBytesAreCaughtOnBothSides) {
  Problem problem;
  problem.num_tokens = 3;
  const TensorSpec spec = output_specs(problem).back();
  ASSERT_EQ(spec.name, "layer_input");
  const kernels::OutputRegion whole = poisoned_outputs(problem).at("layer_input");
  EXPECT_FALSE(judge_guards(spec, whole));
  EXPECT_GE(whole.guard, 512u * 2u);
  const std::size_t end = whole.bytes.size();
  for (const std::size_t at : {std::size_t{0}, whole.guard - 1, end - whole.guard, end - 1}) {
    kernels::OutputRegion region = whole;
    region.bytes[at] = std::byte{0};
    const std::optional<Finding> f = judge_guards(spec, region);
    ASSERT_TRUE(f);
    EXPECT_EQ(f->kind, FailureKind::written_outside);
    EXPECT_EQ(f->count, 1u);
    EXPECT_THAT(f->detail, ::testing::HasSubstr(at < whole.guard ? "before the first" : "behind the last"));
  }
  kernels::OutputRegion region = whole;
  region.payload().front() = std::byte{0};
  region.payload().back() = std::byte{0};
  EXPECT_FALSE(judge_guards(spec, region));
}

TEST(Verdict, EveryElementOfAFreshRegionIsPoison) {
  Problem problem;
  problem.num_tokens = 2;
  problem.dtype = Dtype::fp16;
  for (const TensorSpec& spec : output_specs(problem)) {
    const kernels::OutputRegion region = poisoned_outputs(problem).at(std::string(spec.name));
    const std::span<const std::byte> payload = region.payload();
    ASSERT_EQ(payload.size(), element_count(spec.shape) * size_of(spec.dtype));
    for (std::size_t i = 0; i < element_count(spec.shape); ++i) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, payload.data() + i * size_of(spec.dtype), size_of(spec.dtype));
      ASSERT_EQ(bits, poison_bits(spec.dtype));
    }
  }
  for (const Dtype d : kAllDtypes) {
    EXPECT_TRUE(is_nan(d, poison_bits(d)));
    EXPECT_NE(poison_bits(d), format_of(d).quiet_nan());
    EXPECT_EQ(poison_bits(d) & format_of(d).quiet_nan(), format_of(d).quiet_nan());  // quiet
  }
}

TEST(Verdict, AChangedInputIsCaughtAndNamed) {
  TensorMap before;
  before.emplace("fn", Tensor(Dtype::fp32, {24, 64}));
  before.emplace("residual", Tensor(Dtype::bf16, {3, 4, 16}));
  TensorMap after = before;
  EXPECT_FALSE(judge_inputs(before, after));
  after.at("residual").set_bits(191, 0x8000);  // -0 in place of +0 is a change
  const std::optional<Finding> f = judge_inputs(before, after);
  ASSERT_TRUE(f);
  EXPECT_EQ(f->kind, FailureKind::input_changed);
  EXPECT_EQ(f->count, 1u);
  EXPECT_THAT(f->detail, ::testing::HasSubstr("residual element 191: 0x0000 became 0x8000"));
}

TEST_P(EveryDtype, ToleranceDoesNotGrowWithWhatCameBefore) {
  // The same wrong last element, behind correct data, wrong data, undefined data: the same report each time.
  const Dtype d = GetParam();
  SyntheticOutput o = gaussian_output(d, 96, 520, 0);
  const std::size_t last = o.size() - 1;
  o.value[last] = decode(d, encode(d, 1.234));
  o.store(last, encode(d, o.value[last]) + 1);
  const OutputVerdict alone = o.judge();
  ASSERT_EQ(find(alone, FailureKind::outside_deterministic)->count, 1u);
  const ElementReport expected = *find(alone, FailureKind::outside_deterministic)->worst;

  SyntheticOutput wrong =
      o;  // every other element off by half an ulp more than it may be: less than the last
  for (std::size_t i = 0; i < last; ++i) {
    const std::uint32_t nearest = encode(d, wrong.value[i]);
    const double up = decode(d, next_up(d, nearest)), down = decode(d, next_down(d, nearest));
    wrong.store(i, up - wrong.value[i] < wrong.value[i] - down ? next_up(d, nearest) : next_down(d, nearest));
  }
  const OutputVerdict after_wrong = wrong.judge();
  EXPECT_EQ(find(after_wrong, FailureKind::outside_deterministic)->count, wrong.size());
  const ElementReport& worst = *find(after_wrong, FailureKind::outside_deterministic)->worst;
  EXPECT_EQ(worst.flat, last);

  SyntheticOutput undefined = o;
  for (std::size_t i = 0; i < last; ++i) undefined.probabilistic[i] = kInfinity;
  const OutputVerdict after_undefined = undefined.judge();
  ASSERT_EQ(find(after_undefined, FailureKind::outside_deterministic)->count, 1u);

  for (const ElementReport* e :
       {&worst, &*find(after_undefined, FailureKind::outside_deterministic)->worst}) {
    EXPECT_EQ(e->flat, expected.flat);
    EXPECT_EQ(e->bound_units, expected.bound_units);
    EXPECT_EQ(e->lo_bits, expected.lo_bits);
    EXPECT_EQ(e->hi_bits, expected.hi_bits);
    EXPECT_EQ(e->ulps, expected.ulps);
  }
}

TEST_P(EveryDtype, TheVerdictDoesNotDependOnTheBlocksThatMembershipIsJudgedIn) {
  SyntheticOutput o = gaussian_output(GetParam(), 100, 130);
  for (std::size_t i = 0; i < o.size(); i += 97)
    o.store(i, next_up(GetParam(), next_up(GetParam(), o.stored(i))));
  const OutputVerdict a = o.judge(true, 32), b = o.judge(true, 1), c = o.judge(true, 100);
  for (const OutputVerdict* v : {&b, &c}) {
    ASSERT_EQ(v->findings.size(), a.findings.size());
    for (std::size_t f = 0; f < a.findings.size(); ++f) {
      EXPECT_EQ(v->findings[f].kind, a.findings[f].kind);
      EXPECT_EQ(v->findings[f].count, a.findings[f].count);
      ASSERT_EQ(v->findings[f].worst.has_value(), a.findings[f].worst.has_value());
      if (a.findings[f].worst) {
        EXPECT_EQ(v->findings[f].worst->flat, a.findings[f].worst->flat);
      }
    }
    EXPECT_EQ(v->worst->flat, a.worst->flat);
    EXPECT_NEAR(v->aggregates.scale.value, a.aggregates.scale.value, 1e-12);
  }
}

// ---- partial sums ----

SyntheticOutput partial_sums(std::int64_t splits) {
  SyntheticOutput o = gaussian_output(Dtype::fp32, 33, 24, 1e-6);
  o.spec = {"gemm_out_mul", Dtype::fp32, {splits, 33, 24}, /*partial_sums=*/true};
  o.payload.resize(o.size() * 4 * static_cast<std::size_t>(splits));
  std::fill(o.deterministic.begin(), o.deterministic.end(), 4e-6);
  std::fill(o.probabilistic.begin(), o.probabilistic.end(), 1e-6);
  Random random(9);
  for (std::size_t i = 0; i < o.size(); ++i) {
    double rest = o.value[i];
    for (std::size_t s = 0; s < static_cast<std::size_t>(splits); ++s) {
      const bool last = s + 1 == static_cast<std::size_t>(splits);
      const double part = last ? rest : 0.3 * random.normal();
      const std::uint32_t bits = encode<Dtype::fp32>(part);
      rest -= decode(Dtype::fp32, bits);
      o.store(s * o.size() + i, bits);
    }
  }
  return o;
}

TEST(PartialSums, TheirSumIsJudgedAtEverySplitCount) {
  for (const std::int64_t splits : {1, 2, 7, 64}) {
    const OutputVerdict v = partial_sums(splits).judge();
    EXPECT_TRUE(v.conforms()) << kinds(v);
    EXPECT_EQ(v.elements, 33u * 24u);
  }
}

TEST(PartialSums, TheirExactSumCancels) {
  SyntheticOutput o = partial_sums(3);
  o.store(5, encode<Dtype::fp32>(0x1p60));
  o.store(o.size() + 5, encode<Dtype::fp32>(o.value[5]));
  o.store(2 * o.size() + 5, encode<Dtype::fp32>(-0x1p60));
  EXPECT_TRUE(o.judge().conforms()) << kinds(o.judge());
}

TEST(PartialSums, ALostADoubledAndAnUnwrittenSplitAreCaught) {
  for (const auto& [stored, kind] : {std::pair{0u, FailureKind::outside_deterministic},
                                     {poison_bits(Dtype::fp32), FailureKind::unwritten},
                                     {0x7fc00000u, FailureKind::not_a_number},
                                     {0xff800000u, FailureKind::not_a_number}}) {
    SyntheticOutput o = partial_sums(7);
    o.store(3 * o.size() + 20 * 24 + 11, stored);  // split 3 of token 20
    const OutputVerdict v = o.judge();
    ASSERT_FALSE(v.conforms());
    EXPECT_EQ(v.findings[0].kind, kind) << kinds(v);
    EXPECT_EQ(v.findings[0].count, 1u);
    EXPECT_EQ(v.findings[0].worst->token, 20);
    EXPECT_EQ(v.findings[0].worst->index, 11);
    EXPECT_TRUE(v.findings[0].worst->partial_sums);
  }
  SyntheticOutput doubled = partial_sums(7);
  for (std::size_t i = 0; i < doubled.size(); ++i)
    doubled.store(2 * doubled.size() + i, doubled.stored(4 * doubled.size() + i));
  EXPECT_EQ(doubled.judge().findings.at(0).kind, FailureKind::outside_deterministic);
}

TEST(Verdict, APayloadOfAnotherSizeIsAnError) {
  SyntheticOutput o = gaussian_output(Dtype::bf16, 3, 16);
  o.payload.pop_back();
  EXPECT_THROW(o.judge(), std::invalid_argument);
}

}  // namespace
}  // namespace mhcheck::conformance

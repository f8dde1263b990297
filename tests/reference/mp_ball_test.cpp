// Multiprecision balls: the radius holds the exact value, finite sums are exact, and no rounding is ever
// certified wrongly.
#include "reference/arithmetic/mp_ball.h"

#include <gmp.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tests/reference/big.h"
#include "tests/reference/random.h"

namespace mhcheck {
namespace {

using testing::Big;
using testing::Random;

// Rounding by integers: |value| = significand * 2^exponent is divided by the spacing with remainder. Knows
// nothing of MPFR's rounding.
std::uint32_t rounded_by_integers(Dtype dtype, const Mpfr& value) {
  const FloatFormat f = format_of(dtype);
  if (mpfr_zero_p(value.get()) != 0) return mpfr_signbit(value.get()) != 0 ? f.sign_mask() : 0;
  mpz_t significand, spacings, rest, half;
  mpz_inits(significand, spacings, rest, half, nullptr);
  const mpfr_exp_t exponent = mpfr_get_z_2exp(significand, value.get());
  const bool negative = mpz_sgn(significand) < 0;
  mpz_abs(significand, significand);
  const mpfr_exp_t leading = exponent + static_cast<mpfr_exp_t>(mpz_sizeinbase(significand, 2)) - 1;
  const mpfr_exp_t spacing = std::max<mpfr_exp_t>(leading, f.min_exponent) - f.mantissa_bits();
  // significand * 2^(exponent - spacing) = spacings + rest / 2^shift
  const mpfr_exp_t shift = std::max<mpfr_exp_t>(spacing - exponent, 0);
  if (exponent > spacing)
    mpz_mul_2exp(significand, significand, static_cast<mp_bitcnt_t>(exponent - spacing));
  mpz_fdiv_q_2exp(spacings, significand, static_cast<mp_bitcnt_t>(shift));
  mpz_fdiv_r_2exp(rest, significand, static_cast<mp_bitcnt_t>(shift));
  std::uint64_t count = mpz_get_ui(spacings);
  if (shift > 0) {
    mpz_setbit(half, static_cast<mp_bitcnt_t>(shift - 1));
    const int against_half = mpz_cmp(rest, half);
    if (against_half > 0 || (against_half == 0 && count % 2 == 1)) ++count;
  }
  mpz_clears(significand, spacings, rest, half, nullptr);
  // Patterns count spacings: those of one binade follow those of the one below.
  const auto binade = static_cast<std::uint64_t>(std::max<mpfr_exp_t>(leading - f.min_exponent, 0));
  const std::uint64_t pattern = (binade << f.mantissa_bits()) + count;
  const std::uint32_t magnitude =
      pattern >= f.infinity() ? f.infinity() : static_cast<std::uint32_t>(pattern);
  return magnitude | (negative ? f.sign_mask() : 0);
}

Mpfr number(double value, mpfr_prec_t bits = 53) {
  Mpfr result(bits);
  mpfr_set_d(result.get(), value, MPFR_RNDN);
  return result;
}

// The middle of two neighbouring patterns; beyond the largest, of it and 2^(max_exponent + 1).
Mpfr boundary_above(Dtype dtype, std::uint32_t bits) {
  const FloatFormat f = format_of(dtype);
  const double above =
      bits + 1 == f.infinity() ? std::ldexp(1.0, f.max_exponent + 1) : decode(dtype, bits + 1);
  return number(0.5 * (decode(dtype, bits) + above));
}

bool holds(const MpBall& ball, const Big& exact) {
  return abs(exact - Big(ball.mid())) <= Big(ball.radius());
}

// A ball of any width and a point in it: results of low precision have wide radii.
struct Sample {
  MpBall ball;
  Big point;
};

Sample random_sample(Random& random) {
  const double value = random.of_size(-8, 8);
  if (random.one_in(6)) return {MpBall(value), Big(value)};
  const MpBall::ScopedPrecision low(random.between(2, 60));
  MpBall ball = MpBall(value) * MpBall(random.of_size(-4, 4));
  if (random.one_in(3)) ball = ball - MpBall(value * random.uniform());
  if (random.one_in(4)) ball = MpBall(0.0) - ball * MpBall(random.of_size(-30, 2));
  // Ends of the ball are the hard points.
  const double place = random.one_in(3) ? random.sign() : random.symmetric();
  return {ball, Big(ball.mid()) + Big(place) * Big(ball.radius())};
}

struct BinaryOperation {
  const char* name;
  MpBall (*of_balls)(const MpBall&, const MpBall&);
  Big (*exact)(const Big&, const Big&);
};

constexpr BinaryOperation kBinary[] = {
    {"+", [](const MpBall& x, const MpBall& y) { return x + y; },
     [](const Big& x, const Big& y) { return x + y; }},
    {"-", [](const MpBall& x, const MpBall& y) { return x - y; },
     [](const Big& x, const Big& y) { return x - y; }},
    {"*", [](const MpBall& x, const MpBall& y) { return x * y; },
     [](const Big& x, const Big& y) { return x * y; }},
    {"/", [](const MpBall& x, const MpBall& y) { return x / y; },
     [](const Big& x, const Big& y) { return x / y; }},
    {"add_product",
     [](const MpBall& x, const MpBall& y) {
       MpBall sum = x;
       sum.add_product(y, -1.7);
       return sum;
     },
     [](const Big& x, const Big& y) { return x + y * Big(-1.7); }},
};

struct UnaryOperation {
  const char* name;
  MpBall (*of_ball)(const MpBall&);
  Big (*exact)(const Big&);
  bool nonnegative_only;
};

constexpr UnaryOperation kUnary[] = {
    {"negation", [](const MpBall& x) { return -x; }, [](const Big& x) { return -x; }, false},
    {"sqrt", [](const MpBall& x) { return sqrt(x); }, [](const Big& x) { return sqrt(x); }, true},
    {"exp", [](const MpBall& x) { return exp(x); }, [](const Big& x) { return exp(x); }, false},
    {"sigmoid", [](const MpBall& x) { return sigmoid(x); }, [](const Big& x) { return testing::sigmoid(x); },
     false},
};

TEST(MpBall, HoldsTheExactResultOfEveryBinaryOperation) {
  Random random(1);
  int bounded = 0;
  for (int round = 0; round < 20000; ++round) {
    const Sample x = random_sample(random), y = random_sample(random);
    const MpBall::ScopedPrecision precision(random.between(2, 300));
    for (const BinaryOperation& operation : kBinary) {
      const MpBall z = operation.of_balls(x.ball, y.ball);
      if (z.undefined()) continue;
      ASSERT_TRUE(holds(z, operation.exact(x.point, y.point)))
          << operation.name << " of " << x.point.nearest() << " and " << y.point.nearest();
      bounded += mpfr_number_p(z.radius().get()) != 0;
    }
  }
  EXPECT_GT(bounded, 80000);  // not by unbounded radii
}

TEST(MpBall, HoldsTheExactResultOfEveryUnaryOperation) {
  Random random(2);
  int bounded = 0;
  for (int round = 0; round < 6000; ++round) {
    const Sample x = random_sample(random);
    const MpBall::ScopedPrecision precision(random.between(2, 300));
    for (const UnaryOperation& operation : kUnary) {
      if (operation.nonnegative_only && x.point < Big(0)) continue;
      const MpBall z = operation.of_ball(x.ball);
      ASSERT_FALSE(z.undefined()) << operation.name << " of " << x.point.nearest();
      ASSERT_TRUE(holds(z, operation.exact(x.point))) << operation.name << " of " << x.point.nearest();
      bounded += mpfr_number_p(z.radius().get()) != 0;
    }
  }
  EXPECT_GT(bounded, 18000);
}

TEST(MpBall, ExpAndSigmoidHoldWhereTheResultIsTinyOrNearlyOne) {
  const MpBall::ScopedPrecision precision(1024);
  for (const double x : {-1e30, -1e6, -65537.0, -65536.0, -65535.0, -746.0, -88.0, -0x1p-300, 0x1p-300, 88.0,
                         746.0, 65535.0, 65537.0, 1e6, 1e30}) {
    if (std::fabs(x) <= 65537) {
      EXPECT_TRUE(holds(exp(MpBall(x)), exp(Big(x)))) << x;
      EXPECT_TRUE(holds(sigmoid(MpBall(x)), testing::sigmoid(Big(x)))) << x;
    }
    // However far out, the rounding is certain.
    const std::optional<std::uint32_t> gate = sigmoid(MpBall(x)).rounded(Dtype::fp32);
    ASSERT_TRUE(gate.has_value()) << x;
    if (std::fabs(x) > 746) {
      EXPECT_EQ(decode(Dtype::fp32, *gate), x < 0 ? 0.0 : 1.0) << x;
    }
  }
}

TEST(MpBall, FiniteSumsOfProductsAreExact) {
  Random random(3);
  for (int round = 0; round < 2000; ++round) {
    const MpBall::ScopedPrecision precision(512);
    MpBall sum, running;
    Big exact;
    for (int term = 0; term < 20; ++term) {
      const double x = random.of_size(-60, 60), y = random.of_size(-60, 60);
      sum = sum + MpBall(x) * MpBall(y);
      running.add_product(MpBall(x), y);
      exact = exact + Big(x) * Big(y);
    }
    ASSERT_TRUE(sum.exact());
    ASSERT_TRUE(running.exact());
    ASSERT_TRUE(Big(sum.mid()) == exact);
    ASSERT_TRUE(Big(running.mid()) == exact);
  }
}

TEST(MpBall, SumsBeyondThePrecisionAreNotCalledExact) {
  const MpBall::ScopedPrecision precision(64);
  EXPECT_FALSE((MpBall(1.0) + MpBall(0x1p-64)).exact());
  EXPECT_FALSE((MpBall(1.0) / MpBall(3.0)).exact());
  EXPECT_FALSE(sqrt(MpBall(2.0)).exact());
  EXPECT_FALSE(exp(MpBall(1.0)).exact());
  EXPECT_TRUE((MpBall(1.0) + MpBall(0x1p-63)).exact());
  EXPECT_TRUE((MpBall(1.0) / MpBall(4.0)).exact());
  EXPECT_TRUE(sqrt(MpBall(2.25)).exact());
  EXPECT_TRUE(exp(MpBall(0.0)).exact());
  EXPECT_TRUE(sigmoid(MpBall(0.0)).exact());
}

TEST(MpBall, UndefinedIsWhatHasNoValue) {
  const MpBall zero(0.0), one(1.0);
  EXPECT_TRUE((zero / zero).undefined());
  EXPECT_TRUE((one / zero).undefined());
  EXPECT_TRUE(sqrt(MpBall(-1.0)).undefined());
  const MpBall nothing = zero / zero;
  for (const MpBall& z : {nothing + one, one - nothing, nothing * zero, one / nothing, sqrt(nothing),
                          exp(nothing), sigmoid(nothing)}) {
    EXPECT_TRUE(z.undefined());
    EXPECT_EQ(z.rounded(Dtype::bf16), format_of(Dtype::bf16).quiet_nan());
  }
}

TEST(MpBall, ARootOfWhatIsNegativeForCertainIsUndefined) {
  const MpBall third = MpBall(-1.0) / MpBall(3.0);
  ASSERT_FALSE(third.exact());
  EXPECT_TRUE(sqrt(third).undefined());
}

TEST(MpBall, ARootOrQuotientThatMayBeUndefinedIsOnlyUnknown) {
  const MpBall::ScopedPrecision precision(64);
  const MpBall third = MpBall(1.0) / MpBall(3.0);
  const MpBall perhaps_zero = third + third + third - MpBall(1.0);
  ASSERT_FALSE(perhaps_zero.exact());
  EXPECT_FALSE((MpBall(1.0) / perhaps_zero).undefined());
  EXPECT_FALSE((MpBall(1.0) / perhaps_zero).rounded(Dtype::fp32).has_value());
  EXPECT_FALSE(sqrt(perhaps_zero).undefined());
  EXPECT_FALSE((MpBall(1.0) / sqrt(perhaps_zero)).rounded(Dtype::fp32).has_value());
}

TEST(RoundTo, EveryBoundaryIsATieToEvenAndNothingElseIs) {
  for (const Dtype dtype : kAllDtypes) {
    const FloatFormat f = format_of(dtype);
    Random random(4);
    for (int round = 0; round < 20000; ++round) {
      // All patterns of the ends of the range, and random ones.
      std::uint32_t bits = static_cast<std::uint32_t>(round % 40);
      if (round % 4 == 1) bits = f.infinity() - 1 - static_cast<std::uint32_t>(round % 40);
      if (round % 4 == 2) bits = (1u << f.mantissa_bits()) + static_cast<std::uint32_t>(round % 20) - 10;
      if (round % 4 == 3) bits = static_cast<std::uint32_t>(random.below(f.infinity()));
      const Mpfr tie = boundary_above(dtype, bits);
      const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
      ASSERT_EQ(round_to(dtype, tie), even) << hex_bits(dtype, bits);

      Mpfr beside(400);
      mpfr_set_ui_2exp(beside.get(), 1, mpfr_get_exp(tie.get()) - 300, MPFR_RNDN);
      Mpfr above(400), below(400);
      mpfr_add(above.get(), tie.get(), beside.get(), MPFR_RNDN);
      mpfr_sub(below.get(), tie.get(), beside.get(), MPFR_RNDN);
      ASSERT_EQ(round_to(dtype, above), bits + 1);
      ASSERT_EQ(round_to(dtype, below), bits);
      mpfr_neg(above.get(), above.get(), MPFR_RNDN);
      ASSERT_EQ(round_to(dtype, above), (bits + 1) | f.sign_mask());
    }
  }
}

TEST(RoundTo, AgreesWithRoundingByIntegers) {
  Random random(5);
  for (const Dtype dtype : kAllDtypes) {
    for (int round = 0; round < 40000; ++round) {
      const mpfr_prec_t precision = random.between(2, 200);
      Mpfr value(precision);
      mpfr_set_d(value.get(), random.of_size(-1, 1), MPFR_RNDN);
      if (precision > 60) {  // bits beyond those of a double
        mpfr_mul_d(value.get(), value.get(), random.of_size(0, 0), MPFR_RNDN);
      }
      const int exponents[] = {0, format_of(dtype).min_exponent, format_of(dtype).max_exponent,
                               format_of(dtype).min_exponent - format_of(dtype).mantissa_bits()};
      mpfr_mul_2si(value.get(), value.get(), exponents[random.below(4)] + random.between(-4, 4), MPFR_RNDN);
      ASSERT_EQ(round_to(dtype, value), rounded_by_integers(dtype, value))
          << mpfr_get_d(value.get(), MPFR_RNDN);
    }
  }
}

TEST(RoundTo, TakesSpecialValues) {
  Mpfr value(53);
  for (const Dtype dtype : kAllDtypes) {
    const FloatFormat f = format_of(dtype);
    mpfr_set_nan(value.get());
    EXPECT_EQ(round_to(dtype, value), f.quiet_nan());
    mpfr_set_inf(value.get(), -1);
    EXPECT_EQ(round_to(dtype, value), f.infinity() | f.sign_mask());
    mpfr_set_ui_2exp(value.get(), 1, 100000, MPFR_RNDN);
    EXPECT_EQ(round_to(dtype, value), f.infinity());
    mpfr_set_ui_2exp(value.get(), 1, -100000, MPFR_RNDN);
    EXPECT_EQ(round_to(dtype, value), 0u);
  }
}

TEST(Rounded, NeverCertifiesAnotherPatternThanThatOfThePoint) {
  Random random(6);
  int certain = 0, open = 0;
  for (int round = 0; round < 60000; ++round) {
    const Dtype dtype = kAllDtypes[random.below(3)];
    // Around a boundary, or anywhere.
    const double place =
        random.one_in(2)
            ? mpfr_get_d(
                  boundary_above(dtype, static_cast<std::uint32_t>(random.below(format_of(dtype).infinity())))
                      .get(),
                  MPFR_RNDN)
            : random.of_size(-30, 30);
    const MpBall::ScopedPrecision precision(random.between(20, 90));
    const MpBall ball =
        MpBall(place) * (MpBall(1.0) + MpBall(random.symmetric()) * MpBall(0x1p-24) / MpBall(3.0));
    const std::optional<std::uint32_t> bits = ball.rounded(dtype);
    (bits ? certain : open) += 1;
    if (!bits) continue;
    for (const double where : {-1.0, -0.3, 0.0, 0.7, 1.0}) {
      const Big point = Big(ball.mid()) + Big(where) * Big(ball.radius());
      const std::uint32_t right = rounded_by_integers(dtype, point.number());
      ASSERT_TRUE(*bits == right || (ordinal(dtype, *bits) == 0 && ordinal(dtype, right) == 0)) << place;
    }
  }
  EXPECT_GT(certain, 10000);
  EXPECT_GT(open, 3000);
}

TEST(Rounded, AnExactTieIsDecidedAtEveryPrecisionThatHoldsIt) {
  for (const int bits : {64, 128, 256, 1024, 8192}) {
    const MpBall::ScopedPrecision precision(bits);
    // 1 + 2^-8 is the middle of 1 and 1 + 2^-7 of bf16; 1 + 3 * 2^-8 that of two others.
    EXPECT_EQ((MpBall(0.75) + MpBall(0.25 + 0x1p-8)).rounded(Dtype::bf16), encode<Dtype::bf16>(1.0));
    EXPECT_EQ((MpBall(0.75) + MpBall(0.25 + 0x1.8p-7)).rounded(Dtype::bf16), encode<Dtype::bf16>(1 + 0x1p-6));
  }
}

TEST(Rounded, ADoubtThatOnlyTheSignOfAZeroLeavesEnds) {
  const auto tiny_of_unknown_sign = [] {
    const MpBall third = MpBall(1.0) / MpBall(3.0);
    return (third + third + third - MpBall(1.0)) * MpBall(0x1p-300);
  };
  {
    const MpBall::ScopedPrecision precision(128);
    EXPECT_FALSE(tiny_of_unknown_sign().rounded(Dtype::bf16).has_value());
  }
  const MpBall::ScopedPrecision precision(1024);
  EXPECT_EQ(tiny_of_unknown_sign().rounded(Dtype::bf16), 0u);
}

TEST(MpBall, PrecisionIsScoped) {
  const mpfr_prec_t before = MpBall::precision();
  {
    const MpBall::ScopedPrecision outer(77);
    {
      const MpBall::ScopedPrecision inner(999);
      EXPECT_EQ(MpBall::precision(), 999);
    }
    EXPECT_EQ(MpBall::precision(), 77);
  }
  EXPECT_EQ(MpBall::precision(), before);
}

}  // namespace
}  // namespace mhcheck

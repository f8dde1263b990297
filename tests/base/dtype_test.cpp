#include "reference/base/dtype.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace mhcheck {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ---- What MPFR says: the oracle of this file -----------------------------------------------------------

// An MPFR number of one precision, cleared at the end of its scope.
class Mpfr {
 public:
  explicit Mpfr(int precision) { mpfr_init2(value_, precision); }
  ~Mpfr() { mpfr_clear(value_); }
  Mpfr(const Mpfr&) = delete;
  Mpfr& operator=(const Mpfr&) = delete;
  mpfr_t& operator*() { return value_; }

 private:
  mpfr_t value_;
};

// The pattern of a value that already is one of the format.
std::uint32_t pattern_of(FloatFormat f, mpfr_t value) {
  const std::uint32_t sign = mpfr_signbit(value) != 0 ? f.sign_mask() : 0;
  if (mpfr_inf_p(value) != 0) return sign | f.infinity();
  if (mpfr_zero_p(value) != 0) return sign;
  // MPFR's exponents are those of 0.1m, the format's those of 1.m.
  const int exponent = std::max(static_cast<int>(mpfr_get_exp(value)) - 1, f.min_exponent);
  mpfr_abs(value, value, MPFR_RNDN);
  mpfr_mul_2si(value, value, f.mantissa_bits() - exponent, MPFR_RNDN);
  const auto significand = static_cast<std::uint32_t>(mpfr_get_ui(value, MPFR_RNDN));
  // The implicit bit of a normal number counts as one step of the exponent field.
  return sign | ((static_cast<std::uint32_t>(exponent - f.min_exponent) << f.mantissa_bits()) + significand);
}

// `value`, which is no NaN, rounded once by MPFR in the format's exponent range.
std::uint32_t rounded_by_mpfr(Dtype dtype, double value) {
  const FloatFormat f = format_of(dtype);
  const mpfr_exp_t old_min = mpfr_get_emin(), old_max = mpfr_get_emax();
  mpfr_set_emin(f.min_exponent - f.mantissa_bits() + 1);
  mpfr_set_emax(f.max_exponent + 1);
  Mpfr rounded(f.precision);
  const int ternary = mpfr_set_d(*rounded, value, MPFR_RNDN);
  mpfr_subnormalize(*rounded, ternary, MPFR_RNDN);
  mpfr_set_emin(old_min);
  mpfr_set_emax(old_max);
  return pattern_of(f, *rounded);
}

std::uint32_t encode_by_template(Dtype dtype, double value) {
  switch (dtype) {
    case Dtype::bf16:
      return encode<Dtype::bf16>(value);
    case Dtype::fp16:
      return encode<Dtype::fp16>(value);
    case Dtype::fp32:
      return encode<Dtype::fp32>(value);
  }
  return 0;
}

// Says false and explains itself once, so that a broken encode does not print a million lines.
testing::AssertionResult encodes_as_mpfr(Dtype dtype, double value) {
  const std::uint32_t expected = rounded_by_mpfr(dtype, value);
  for (const std::uint32_t got : {encode(dtype, value), encode_by_template(dtype, value)}) {
    if (got != expected) {
      return testing::AssertionFailure()
             << name_of(dtype) << " of " << std::hexfloat << value << " is " << hex_bits(dtype, got)
             << ", MPFR says " << hex_bits(dtype, expected);
    }
  }
  return testing::AssertionSuccess();
}

// ---- The 16-bit formats, exhaustively ------------------------------------------------------------------

class HalfFormat : public testing::TestWithParam<Dtype> {
 protected:
  static constexpr std::uint32_t kPatterns = 1u << 16;
};

TEST_P(HalfFormat, DecodesEveryPatternAsMpfrComposesIt) {
  const Dtype dtype = GetParam();
  const FloatFormat f = format_of(dtype);
  Mpfr exact(f.precision);
  for (std::uint32_t bits = 0; bits < kPatterns; ++bits) {
    const double value = decode(dtype, bits);
    const std::uint32_t magnitude = bits & 0x7fff;
    ASSERT_EQ(is_nan(dtype, bits), magnitude > f.infinity());
    ASSERT_EQ(is_infinite(dtype, bits), magnitude == f.infinity());
    ASSERT_EQ(is_finite(dtype, bits), magnitude < f.infinity());
    if (is_nan(dtype, bits)) {
      ASSERT_TRUE(std::isnan(value)) << hex_bits(dtype, bits);
      continue;
    }
    ASSERT_EQ(std::signbit(value), bits >= 0x8000) << hex_bits(dtype, bits);
    if (is_infinite(dtype, bits)) {
      ASSERT_TRUE(std::isinf(value)) << hex_bits(dtype, bits);
      continue;
    }
    const auto field = static_cast<int>(magnitude >> f.mantissa_bits());
    const std::uint32_t fraction = magnitude & ((1u << f.mantissa_bits()) - 1);
    const std::uint32_t significand = field == 0 ? fraction : fraction + (1u << f.mantissa_bits());
    mpfr_set_ui_2exp(*exact, significand, f.min_exponent - f.mantissa_bits() + std::max(field - 1, 0),
                     MPFR_RNDN);
    ASSERT_EQ(mpfr_cmp_d(*exact, std::fabs(value)), 0) << hex_bits(dtype, bits);
  }
}

TEST_P(HalfFormat, EncodesEveryDecodedPatternBack) {
  const Dtype dtype = GetParam();
  for (std::uint32_t bits = 0; bits < kPatterns; ++bits) {
    if (is_nan(dtype, bits)) continue;
    ASSERT_EQ(encode(dtype, decode(dtype, bits)), bits);
    ASSERT_EQ(encode_by_template(dtype, decode(dtype, bits)), bits);
  }
}

TEST_P(HalfFormat, EncodesAtAndBesideEveryMidpointAsMpfr) {
  const Dtype dtype = GetParam();
  const FloatFormat f = format_of(dtype);
  for (std::uint32_t bits = 0; bits < f.infinity(); ++bits) {
    const double low = decode(dtype, bits);
    // Rounding decides about overflow as if the format went on: the step after the largest is a power of two.
    const double high =
        bits + 1 < f.infinity() ? decode(dtype, bits + 1) : std::ldexp(1.0, f.max_exponent + 1);
    const double middle = low + (high - low) / 2;  // exact: one bit more than the format
    for (const double value : {middle, std::nextafter(middle, low), std::nextafter(middle, high),
                               std::nextafter(low, high), std::nextafter(high, low)}) {
      ASSERT_TRUE(encodes_as_mpfr(dtype, value));
      ASSERT_TRUE(encodes_as_mpfr(dtype, -value));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dtype, HalfFormat, testing::Values(Dtype::bf16, Dtype::fp16),
                         [](const auto& test) { return std::string(name_of(test.param)); });

// ---- All formats ---------------------------------------------------------------------------------------

class AnyFormat : public testing::TestWithParam<Dtype> {};

TEST_P(AnyFormat, EncodesRandomDoublesAsMpfr) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (std::isnan(value)) continue;
    ASSERT_TRUE(encodes_as_mpfr(GetParam(), value));
  }
}

TEST_P(AnyFormat, EncodesBesideRandomMidpointsAsMpfr) {
  const Dtype dtype = GetParam();
  const FloatFormat f = format_of(dtype);
  std::mt19937_64 random(2);
  std::uniform_int_distribution<std::uint32_t> finite(0, f.infinity() - 2);
  for (int i = 0; i < 200'000; ++i) {
    const std::uint32_t bits = finite(random);
    const double low = decode(dtype, bits), high = decode(dtype, bits + 1);
    const double middle = low + (high - low) / 2;
    for (const double value : {middle, std::nextafter(middle, low), std::nextafter(middle, high)}) {
      ASSERT_TRUE(encodes_as_mpfr(dtype, value));
      ASSERT_TRUE(encodes_as_mpfr(dtype, -value));
    }
  }
}

TEST_P(AnyFormat, EncodesSpecialValues) {
  const Dtype dtype = GetParam();
  const FloatFormat f = format_of(dtype);
  EXPECT_EQ(encode(dtype, 0.0), 0u);
  EXPECT_EQ(encode(dtype, -0.0), f.sign_mask());
  EXPECT_EQ(encode(dtype, kInfinity), f.infinity());
  EXPECT_EQ(encode(dtype, -kInfinity), f.infinity() | f.sign_mask());
  EXPECT_EQ(encode(dtype, kNan), f.quiet_nan());
  EXPECT_EQ(encode(dtype, -kNan), f.quiet_nan() | f.sign_mask());
  // A signalling NaN, and one whose payload lies in the bits that are dropped: it must not become infinity.
  EXPECT_EQ(encode(dtype, std::bit_cast<double>(0x7ff0000000000001ull)), f.quiet_nan());

  const double smallest = std::ldexp(1.0, f.min_exponent - f.mantissa_bits());
  EXPECT_EQ(encode(dtype, smallest), 1u);
  EXPECT_EQ(encode(dtype, smallest / 2), 0u) << "a tie between 0 and the smallest subnormal goes to 0";
  EXPECT_EQ(encode(dtype, -smallest / 2), f.sign_mask());
  EXPECT_EQ(encode(dtype, std::nextafter(smallest / 2, 1.0)), 1u);
  EXPECT_EQ(encode(dtype, smallest * 1.5), 2u) << "a tie between 1 and 2 subnormals goes to 2";
  EXPECT_EQ(encode(dtype, std::numeric_limits<double>::denorm_min()), 0u);
  EXPECT_EQ(encode(dtype, std::numeric_limits<double>::min()), 0u);

  // From the largest subnormal a rounding may step into the normal range.
  const double smallest_normal = std::ldexp(1.0, f.min_exponent);
  EXPECT_EQ(encode(dtype, smallest_normal), 1u << f.mantissa_bits());
  EXPECT_EQ(encode(dtype, smallest_normal - smallest / 2), 1u << f.mantissa_bits());
  EXPECT_EQ(encode(dtype, std::nextafter(smallest_normal - smallest / 2, 0.0)),
            (1u << f.mantissa_bits()) - 1);

  const std::uint32_t largest_bits = f.infinity() - 1;
  const double largest = decode(dtype, largest_bits);
  const double overflow = std::ldexp(1.0, f.max_exponent + 1) - std::ldexp(1.0, f.max_exponent - f.precision);
  EXPECT_EQ(encode(dtype, largest), largest_bits);
  EXPECT_EQ(encode(dtype, std::nextafter(overflow, 0.0)), largest_bits);
  EXPECT_EQ(encode(dtype, overflow), f.infinity());
  EXPECT_EQ(encode(dtype, -overflow), f.infinity() | f.sign_mask());
  EXPECT_EQ(encode(dtype, std::numeric_limits<double>::max()), f.infinity());
}

// Values that a rounding to fp32 first would put on a tie of a 16-bit format.
TEST(Dtype, RoundsOnceFromTheDouble) {
  EXPECT_EQ(encode(Dtype::bf16, 1 + 0x1p-8 + 0x1p-40), 0x3f81u);
  EXPECT_EQ(encode(Dtype::bf16, 1 + 0x3p-8 - 0x1p-40), 0x3f81u);
  EXPECT_EQ(encode(Dtype::fp16, 1 + 0x1p-11 + 0x1p-40), 0x3c01u);
  EXPECT_EQ(encode(Dtype::fp16, 1 + 0x3p-11 - 0x1p-40), 0x3c01u);
  // The same among the subnormals of fp16, whose spacing is 2^-24.
  EXPECT_EQ(encode(Dtype::fp16, 0x1p-25 + 0x1p-60), 1u);
  EXPECT_EQ(encode(Dtype::fp16, 0x3p-25 - 0x1p-60), 1u);
}

TEST_P(AnyFormat, NeighboursAreOneStepApartAndOrdered) {
  const Dtype dtype = GetParam();
  const FloatFormat f = format_of(dtype);
  const std::uint32_t minus_infinity = f.infinity() | f.sign_mask();
  std::mt19937_64 random(3);
  std::uniform_int_distribution<std::uint32_t> any_magnitude(0, f.infinity());
  std::vector<std::uint32_t> patterns;
  if (f.bits == 16) {
    for (std::uint32_t magnitude = 0; magnitude <= f.infinity(); ++magnitude) patterns.push_back(magnitude);
  } else {
    patterns = {0, 1, 2, 0x007fffff, 0x00800000, 0x3f800000, f.infinity() - 1, f.infinity()};
    for (int i = 0; i < 100'000; ++i) patterns.push_back(any_magnitude(random));
  }
  for (const std::uint32_t magnitude : patterns) {
    for (const std::uint32_t bits : {magnitude, magnitude | f.sign_mask()}) {
      const std::uint32_t up = next_up(dtype, bits), down = next_down(dtype, bits);
      if (bits == f.infinity()) {
        ASSERT_EQ(up, bits);
      } else {
        ASSERT_EQ(ordinal(dtype, up), ordinal(dtype, bits) + 1) << hex_bits(dtype, bits);
        ASSERT_GT(decode(dtype, up), decode(dtype, bits)) << hex_bits(dtype, bits);
      }
      if (bits == minus_infinity) {
        ASSERT_EQ(down, bits);
      } else {
        ASSERT_EQ(ordinal(dtype, down), ordinal(dtype, bits) - 1) << hex_bits(dtype, bits);
        ASSERT_LT(decode(dtype, down), decode(dtype, bits)) << hex_bits(dtype, bits);
      }
      ASSERT_NE(up, f.sign_mask()) << "zero is written +0";
      ASSERT_NE(down, f.sign_mask()) << "zero is written +0";
    }
  }
  EXPECT_EQ(next_up(dtype, f.quiet_nan()), f.quiet_nan());
  EXPECT_EQ(next_down(dtype, f.quiet_nan()), f.quiet_nan());
  EXPECT_EQ(ordinal(dtype, 0), 0);
  EXPECT_EQ(ordinal(dtype, f.sign_mask()), 0);
  EXPECT_EQ(ordinal(dtype, 1), 1);
  EXPECT_EQ(ordinal(dtype, f.sign_mask() | 1), -1);
}

TEST_P(AnyFormat, UlpIsTheStepUpwardsFromEveryMagnitude) {
  const Dtype dtype = GetParam();
  const FloatFormat f = format_of(dtype);
  const std::uint32_t stride = f.bits == 16 ? 1 : 10'007;  // a prime: every exponent, many fractions
  for (std::uint32_t bits = 0; bits < f.infinity() - 1; bits += stride) {
    const double low = decode(dtype, bits), high = decode(dtype, bits + 1);
    const double step = high - low;
    ASSERT_EQ(ulp(dtype, low), step) << hex_bits(dtype, bits);
    ASSERT_EQ(ulp(dtype, -low), step) << hex_bits(dtype, bits);
    ASSERT_EQ(ulp(dtype, low + step / 4), step) << hex_bits(dtype, bits);
    ASSERT_EQ(ulp(dtype, std::nextafter(high, low)), step) << hex_bits(dtype, bits);
  }
  const double smallest = std::ldexp(1.0, f.min_exponent - f.mantissa_bits());
  EXPECT_EQ(ulp(dtype, 0), smallest);
  EXPECT_EQ(ulp(dtype, smallest / 16), smallest);
  const double last = std::ldexp(1.0, f.max_exponent - f.mantissa_bits());
  EXPECT_EQ(ulp(dtype, decode(dtype, f.infinity() - 1)), last);
  EXPECT_EQ(ulp(dtype, std::ldexp(1.0, f.max_exponent + 3)), last);
  EXPECT_EQ(ulp(dtype, kInfinity), last);
}

TEST_P(AnyFormat, UlpDistanceIsASignedFraction) {
  const Dtype dtype = GetParam();
  const FloatFormat f = format_of(dtype);
  const std::uint32_t one = encode(dtype, 1.0);
  const double step = std::ldexp(1.0, -f.mantissa_bits());
  EXPECT_EQ(ulp_distance(dtype, one, 1.0), 0);
  EXPECT_EQ(ulp_distance(dtype, next_up(dtype, one), 1.0), 1);
  EXPECT_EQ(ulp_distance(dtype, next_down(dtype, one), 1.0), -0.5) << "the step below a power of two is half";
  EXPECT_EQ(ulp_distance(dtype, one, 1.0 + step / 4), -0.25);
  EXPECT_EQ(ulp_distance(dtype, one | f.sign_mask(), -1.0 - step / 4), 0.25);
  EXPECT_EQ(ulp_distance(dtype, 1, 0.0), 1) << "one smallest subnormal";
  EXPECT_EQ(ulp_distance(dtype, f.sign_mask(), 0.0), 0) << "-0 is 0";
  EXPECT_EQ(ulp_distance(dtype, one, -1.0), 2 / step);

  EXPECT_EQ(ulp_distance(dtype, f.infinity(), kInfinity), 0);
  EXPECT_EQ(ulp_distance(dtype, f.infinity(), -kInfinity), kInfinity);
  EXPECT_EQ(ulp_distance(dtype, f.infinity(), 1.0), kInfinity);
  EXPECT_EQ(ulp_distance(dtype, one, kInfinity), kInfinity);
  EXPECT_EQ(ulp_distance(dtype, f.quiet_nan(), 1.0), kInfinity);
  EXPECT_EQ(ulp_distance(dtype, f.quiet_nan(), kNan), kInfinity);
  EXPECT_EQ(ulp_distance(dtype, one, kNan), kInfinity);
}

TEST_P(AnyFormat, NameReadsBack) {
  EXPECT_EQ(dtype_from_name(name_of(GetParam())), GetParam());
  EXPECT_EQ(size_of(GetParam()), GetParam() == Dtype::fp32 ? 4u : 2u);
}

INSTANTIATE_TEST_SUITE_P(Dtype, AnyFormat, testing::ValuesIn(kAllDtypes),
                         [](const auto& test) { return std::string(name_of(test.param)); });

TEST(Dtype, UnknownNamesAreNone) {
  for (const std::string_view name : {"", "BF16", "float", "bf16 ", "fp64"}) {
    EXPECT_EQ(dtype_from_name(name), std::nullopt) << name;
  }
}

TEST(Dtype, HexBitsHaveTheWidthOfTheFormat) {
  EXPECT_EQ(hex_bits(Dtype::bf16, 0x3f80), "0x3f80");
  EXPECT_EQ(hex_bits(Dtype::fp16, 0), "0x0000");
  EXPECT_EQ(hex_bits(Dtype::fp16, 0xfc00), "0xfc00");
  EXPECT_EQ(hex_bits(Dtype::fp32, 0x3f800000), "0x3f800000");
  EXPECT_EQ(hex_bits(Dtype::fp32, 1), "0x00000001");
}

}  // namespace
}  // namespace mhcheck

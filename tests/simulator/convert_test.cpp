#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

#include "tests/simulator/exact_real.h"
#include "tests/simulator/single_wave.h"
#include "tests/simulator/tested_mnemonics.h"
#include "tests/simulator/vector_row.h"

namespace mhcheck::simulator::testing {
namespace {

using I = const Inputs&;
using K = Kind;

constexpr Format kFp8{3, 4}, kBf8{2, 5};

Real whole_number(int64_t value) {
  Real real(80);
  mpfr_set_sj(real.get(), value, MPFR_RNDN);
  return real;
}
std::function<uint64_t(I)> from_integer(Format to, int bits, bool is_signed) {
  return [=](I in) {
    const auto value = static_cast<int64_t>(in.value[0]);
    const int64_t flip = int64_t{1} << (bits - 1);
    return encode(to, whole_number(is_signed ? (value ^ flip) - flip : value), in.direction);
  };
}
// Truncated (or rounded by `round`), saturated, NaN to zero.
std::function<uint64_t(I)> to_integer(Kind from, double low, double high,
                                      int (*round)(mpfr_ptr, mpfr_srcptr) = mpfr_trunc) {
  return [=](I in) -> uint64_t {
    Real x = decode(format_of(from), in.value[0]);
    if (mpfr_nan_p(x.get())) return 0;
    round(x.get(), x.get());
    if (mpfr_cmp_d(x.get(), low) < 0) mpfr_set_d(x.get(), low, MPFR_RNDN);
    if (mpfr_cmp_d(x.get(), high) > 0) mpfr_set_d(x.get(), high, MPFR_RNDN);
    return static_cast<uint64_t>(mpfr_get_sj(x.get(), MPFR_RNDN));
  };
}
int up_from_half(mpfr_ptr r, mpfr_srcptr x) {
  mpfr_add_d(r, x, 0.5, MPFR_RNDN);
  return mpfr_floor(r, r);
}
std::function<uint64_t(I)> between(Format from, Format to) {
  return [=](I in) { return encode(to, decode(from, in.value[0]), in.direction); };
}
uint64_t pair(uint64_t low, uint64_t high) { return low | high << 16; }

// A NaN's payload is nobody's business; this is the one that the simulator gives: the operand's upper bits,
// quiet.
uint64_t narrowed(Format to, uint64_t x, Direction direction) {
  if (!kSingle.is_nan(x)) return encode(to, decode(kSingle, x), direction);
  return (x >> 16 & 0x8000) | to.nan() | (x >> (23 - to.mantissa_bits) & (to.quiet() - 1));
}
uint64_t fixed_point(Format from, uint64_t x, double scale, double low) {
  Real real = decode(from, x);
  if (mpfr_nan_p(real.get())) return 0;
  if (mpfr_cmp_d(real.get(), low) < 0) mpfr_set_d(real.get(), low, MPFR_RNDN);
  if (mpfr_cmp_d(real.get(), 1) > 0) mpfr_set_d(real.get(), 1, MPFR_RNDN);
  // The product is rounded to f32 before it becomes a whole number.
  mpfr_mul_d(real.get(), real.get(), scale, MPFR_RNDN);
  Real rounded = decode(kSingle, encode(kSingle, real));
  mpfr_roundeven(rounded.get(), rounded.get());
  return static_cast<uint64_t>(mpfr_get_sj(rounded.get(), MPFR_RNDN)) & 0xffff;
}

// OCP fp8: S.1111.111 is NaN and there is no infinity in E4M3; E5M2 is like IEEE.
uint64_t from_small(Format small, uint64_t byte) {
  byte &= 0xff;
  if (small.mantissa_bits == 3) {
    if ((byte & 0x7f) == 0x7f) return kSingle.nan() | (byte & 0x80) << 24;
    if ((byte & 0x78) == 0x78) {  // the exponent that IEEE keeps for infinity holds numbers
      Real x(64);
      mpfr_set_ui_2exp(x.get(), 8 + (byte & 7), 8 - 3, MPFR_RNDN);
      if (byte & 0x80) mpfr_neg(x.get(), x.get(), MPFR_RNDN);
      return encode(kSingle, x);
    }
  }
  const uint64_t wide = encode(kSingle, decode(small, byte));
  return kSingle.is_nan(wide) ? kSingle.nan() | (byte & 0x80) << 24 : wide;
}
uint64_t to_small(Format small, uint64_t single) {
  const uint64_t sign = single >> 24 & 0x80;
  if (kSingle.is_nan(single)) return sign | 0x7f;
  // The nearest of all finite values, ties to the even code; beyond the largest by half a step, overflow.
  const uint64_t top = small.mantissa_bits == 3 ? 0x7e : 0x7b,
                 overflow = small.mantissa_bits == 3 ? 0x7f : 0x7c;
  if (kSingle.is_infinite(single)) return sign | overflow;
  Real x = decode(kSingle, single & 0x7fffffff), best(200), distance(200);
  uint64_t chosen = 0;
  for (uint64_t code = 0; code <= top; ++code) {
    mpfr_sub(distance.get(), decode(kSingle, from_small(small, code)).get(), x.get(), MPFR_RNDN);
    mpfr_abs(distance.get(), distance.get(), MPFR_RNDN);
    const int closer = code == 0 ? -1 : mpfr_cmp(distance.get(), best.get());
    if (closer < 0 || (closer == 0 && code % 2 == 0)) {
      chosen = code;
      mpfr_set(best.get(), distance.get(), MPFR_RNDN);
    }
  }
  if (chosen == top) {  // does it lie past the midpoint to where the next code would be?
    Real step(64), limit(64);
    mpfr_sub(step.get(), decode(kSingle, from_small(small, top)).get(),
             decode(kSingle, from_small(small, top - 1)).get(), MPFR_RNDN);
    mpfr_div_ui(step.get(), step.get(), 2, MPFR_RNDN);
    mpfr_add(limit.get(), decode(kSingle, from_small(small, top)).get(), step.get(), MPFR_RNDN);
    const int beyond = mpfr_cmp(x.get(), limit.get());
    if (beyond > 0 || (beyond == 0 && top % 2 == 1)) chosen = overflow;
  }
  return sign | chosen;
}

const std::vector<VectorRow>& rows() {
  static const std::vector<VectorRow> kRows = [] {
    std::vector<VectorRow> list;
    const auto rounded = [&](const char* name, Kind to, Kind from, std::function<uint64_t(I)> f) {
      list.push_back({name, to, {from}, std::move(f), true});
    };
    const auto exact = [&](const char* name, Kind to, std::vector<Kind> from, std::function<uint64_t(I)> f) {
      list.push_back({name, to, std::move(from), std::move(f), false, false, false});
    };
    const double i32_low = -2147483648.0, i32_high = 2147483647.0, u32_high = 4294967295.0;
    rounded("v_cvt_f32_i32", K::kF32, K::kI32, from_integer(kSingle, 32, true));
    rounded("v_cvt_f32_u32", K::kF32, K::kI32, from_integer(kSingle, 32, false));
    rounded("v_cvt_f16_i16", K::kF16, K::kI16, from_integer(kHalf, 16, true));
    rounded("v_cvt_f16_u16", K::kF16, K::kI16, from_integer(kHalf, 16, false));
    rounded("v_cvt_f32_f64", K::kF32, K::kF64, between(kDouble, kSingle));
    rounded("v_cvt_f16_f32", K::kF16, K::kF32, between(kSingle, kHalf));
    exact("v_cvt_f64_i32", K::kF64, {K::kI32}, from_integer(kDouble, 32, true));
    exact("v_cvt_f64_u32", K::kF64, {K::kI32}, from_integer(kDouble, 32, false));
    exact("v_cvt_f64_f32", K::kF64, {K::kF32}, between(kSingle, kDouble));
    exact("v_cvt_f32_f16", K::kF32, {K::kF16}, between(kHalf, kSingle));
    exact("v_cvt_i32_f32", K::kI32, {K::kF32}, to_integer(K::kF32, i32_low, i32_high));
    exact("v_cvt_u32_f32", K::kI32, {K::kF32}, to_integer(K::kF32, 0, u32_high));
    exact("v_cvt_rpi_i32_f32", K::kI32, {K::kF32}, to_integer(K::kF32, i32_low, i32_high, up_from_half));
    exact("v_cvt_flr_i32_f32", K::kI32, {K::kF32}, to_integer(K::kF32, i32_low, i32_high, mpfr_floor));
    exact("v_cvt_i32_f64", K::kI32, {K::kF64}, to_integer(K::kF64, i32_low, i32_high));
    exact("v_cvt_u32_f64", K::kI32, {K::kF64}, to_integer(K::kF64, 0, u32_high));
    exact("v_cvt_i16_f16", K::kI16, {K::kF16}, to_integer(K::kF16, -32768, 32767));
    exact("v_cvt_u16_f16", K::kI16, {K::kF16}, to_integer(K::kF16, 0, 65535));
    exact("v_cvt_norm_i16_f16", K::kI16, {K::kF16},
          [](I in) { return fixed_point(kHalf, in.value[0], 32767, -1); });
    exact("v_cvt_norm_u16_f16", K::kI16, {K::kF16},
          [](I in) { return fixed_point(kHalf, in.value[0], 65535, 0); });
    for (int byte = 0; byte < 4; ++byte) {
      exact(fmt::format("v_cvt_f32_ubyte{}", byte).c_str(), K::kF32, {K::kI32}, [=](I in) {
        return encode(kSingle, whole_number(static_cast<int64_t>(in.value[0] >> (8 * byte) & 255)));
      });
    }
    exact("v_cvt_off_f32_i4", K::kF32, {K::kI32}, [](I in) {
      Real x = whole_number(static_cast<int64_t>((in.value[0] & 15) ^ 8) - 8);
      mpfr_div_ui(x.get(), x.get(), 16, MPFR_RNDN);
      return mpfr_zero_p(x.get()) ? 0 : encode(kSingle, x);
    });
    exact("v_cvt_pk_bf16_f32", K::kI32, {K::kF32, K::kF32}, [](I in) {
      return pair(narrowed(kBfloat16, in.value[0], Direction::kNearest),
                  narrowed(kBfloat16, in.value[1], Direction::kNearest));
    });
    exact("v_cvt_pk_f16_f32", K::kI32, {K::kF32, K::kF32}, [](I in) {
      return pair(narrowed(kHalf, in.value[0], Direction::kNearest),
                  narrowed(kHalf, in.value[1], Direction::kNearest));
    });
    exact("v_cvt_pkrtz_f16_f32", K::kI32, {K::kF32, K::kF32}, [](I in) {
      return pair(narrowed(kHalf, in.value[0], Direction::kZero),
                  narrowed(kHalf, in.value[1], Direction::kZero));
    });
    exact("v_cvt_pknorm_i16_f32", K::kI32, {K::kF32, K::kF32}, [](I in) {
      return pair(fixed_point(kSingle, in.value[0], 32767, -1), fixed_point(kSingle, in.value[1], 32767, -1));
    });
    exact("v_cvt_pknorm_u16_f32", K::kI32, {K::kF32, K::kF32}, [](I in) {
      return pair(fixed_point(kSingle, in.value[0], 65535, 0), fixed_point(kSingle, in.value[1], 65535, 0));
    });
    exact("v_cvt_pknorm_i16_f16", K::kI32, {K::kF16, K::kF16}, [](I in) {
      return pair(fixed_point(kHalf, in.value[0], 32767, -1), fixed_point(kHalf, in.value[1], 32767, -1));
    });
    exact("v_cvt_pknorm_u16_f16", K::kI32, {K::kF16, K::kF16}, [](I in) {
      return pair(fixed_point(kHalf, in.value[0], 65535, 0), fixed_point(kHalf, in.value[1], 65535, 0));
    });
    exact("v_cvt_pk_u8_f32", K::kI32, {K::kF32, K::kI32, K::kI32}, [](I in) {
      const uint64_t byte = to_integer(K::kF32, 0, 255, mpfr_roundeven)(in), shift = in.value[1] % 4 * 8;
      return (in.value[2] & ~(uint64_t{255} << shift)) | byte << shift;
    });
    exact("v_cvt_f32_fp8", K::kF32, {K::kI32}, [](I in) { return from_small(kFp8, in.value[0]); });
    exact("v_cvt_f32_bf8", K::kF32, {K::kI32}, [](I in) { return from_small(kBf8, in.value[0]); });
    exact("v_cvt_pk_f32_fp8", K::kI64, {K::kI16},
          [](I in) { return from_small(kFp8, in.value[0]) | from_small(kFp8, in.value[0] >> 8) << 32; });
    exact("v_cvt_pk_f32_bf8", K::kI64, {K::kI16},
          [](I in) { return from_small(kBf8, in.value[0]) | from_small(kBf8, in.value[0] >> 8) << 32; });
    return list;
  }();
  return kRows;
}
const Tests kTested(rows());

class Convert : public ::testing::TestWithParam<VectorRow> {};
TEST_P(Convert, AgreesWithMpfr) { check_row(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Rows, Convert, ::testing::ValuesIn(rows()),
                         [](const auto& row) { return row.param.mnemonic; });

// ---- Conversions that keep a part of their destination

void fill(SingleWave& wave, std::mt19937_64& random) {
  for (int lane = 0; lane < kLanes; ++lane) {
    wave.v(0, lane) = static_cast<uint32_t>(random());
    for (unsigned reg = 1; reg < 8; ++reg) {
      // Around the range of 8-bit floats, and some of everything.
      const auto small =
          static_cast<uint32_t>(118 + random() % 20) << 23 | static_cast<uint32_t>(random() & 0x807fffff);
      wave.v(reg, lane) = lane % 3 ? small : static_cast<uint32_t>(random_operand(Kind::kF32, random));
    }
  }
}

const Tests kSmallTested{"v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32", "v_cvt_sr_fp8_f32",
                         "v_cvt_sr_bf8_f32", "v_cvt_sr_f16_f32", "v_cvt_sr_bf16_f32"};
TEST(SmallFloats, PairsGoToTheChosenHalf) {
  std::mt19937_64 random(21);
  const struct {
    const char* name;
    Format format;
  } cases[] = {{"fp8", kFp8}, {"bf8", kBf8}};
  for (const auto& [name, format] : cases) {
    for (bool high : {false, true}) {
      SingleWave wave;
      fill(wave, random);
      uint32_t old[kLanes];
      for (int l = 0; l < kLanes; ++l) old[l] = wave.v(0, l);
      wave.run(fmt::format("v_cvt_pk_{}_f32 v0, v1, v2{}", name, high ? " op_sel:[0,0,1]" : ""));
      for (int l = 0; l < kLanes; ++l) {
        const auto bytes =
            static_cast<uint32_t>(to_small(format, wave.v(1, l)) | to_small(format, wave.v(2, l)) << 8);
        ASSERT_EQ(wave.v(0, l), high ? (old[l] & 0xffff) | bytes << 16 : (old[l] & 0xffff0000) | bytes)
            << name << fmt::format(" {:#x} {:#x}", wave.v(1, l), wave.v(2, l));
      }
    }
  }
}
TEST(SmallFloats, StochasticRoundingIsTruncationAfterTheRandomBits) {
  std::mt19937_64 random(22);
  const struct {
    const char* name;
    Format format;
  } cases[] = {{"fp8", kFp8}, {"bf8", kBf8}};
  for (const auto& [name, format] : cases) {
    SingleWave wave;
    for (int l = 0; l < kLanes; ++l) {
      wave.v(0, l) = 0xa5a5a5a5;
      wave.v(1, l) = static_cast<uint32_t>((124 + random() % 6) << 23 |
                                           (random() & 0x807fffff));  // normal in both formats
      wave.v(2, l) = static_cast<uint32_t>(random());
    }
    const struct {
      const char* op_sel;
      int byte;
    } bytes[] = {{"", 0}, {" op_sel:[0,0,1,0]", 1}, {" op_sel:[0,0,0,1]", 2}, {" op_sel:[0,0,1,1]", 3}};
    for (const auto& [op_sel, byte] : bytes) {
      for (int l = 0; l < kLanes; ++l) wave.v(0, l) = 0xa5a5a5a5;
      wave.run(fmt::format("v_cvt_sr_{}_f32 v0, v1, v2{}", name, op_sel));
      const int dropped = 23 - format.mantissa_bits;
      for (int l = 0; l < kLanes; ++l) {
        const uint32_t magnitude = (wave.v(1, l) & 0x7fffffff) + (wave.v(2, l) >> (32 - dropped));
        const uint64_t code = to_small(format, magnitude >> dropped << dropped) | (wave.v(1, l) >> 24 & 0x80);
        ASSERT_EQ(wave.v(0, l), (0xa5a5a5a5u & ~(0xffu << (8 * byte))) | static_cast<uint32_t>(code)
                                                                             << (8 * byte))
            << name << op_sel;
      }
    }
  }
  SingleWave wave;
  for (int l = 0; l < kLanes; ++l) {
    wave.v(1, l) = static_cast<uint32_t>((120 + random() % 20) << 23 | (random() & 0x807fffff));
    wave.v(2, l) = static_cast<uint32_t>(random());
  }
  wave.run("v_cvt_sr_f16_f32 v3, v1, v2\nv_cvt_sr_bf16_f32 v4, v1, v2");
  for (int l = 0; l < kLanes; ++l) {
    const uint32_t x = wave.v(1, l), r = wave.v(2, l);
    const uint32_t half_sum = (x & 0x7fffffff) + (r >> 19);
    EXPECT_EQ(wave.v(3, l) & 0xffff,
              encode(kHalf, decode(kSingle, half_sum), Direction::kZero) | (x >> 16 & 0x8000));
    EXPECT_EQ(wave.v(4, l) & 0xffff, (x + (r >> 16)) >> 16);
  }
}

// ---- Scaled conversions

uint64_t times_power(uint64_t single, int power) {
  Real x = decode(kSingle, single);
  mpfr_mul_2si(x.get(), x.get(), power, MPFR_RNDN);
  const uint64_t result = encode(kSingle, x);
  return kSingle.is_nan(result) ? kSingle.nan() : result;
}
const Tests kScaled{"v_cvt_scalef32_f32_fp8",     "v_cvt_scalef32_f32_bf8",    "v_cvt_scalef32_f16_fp8",
                    "v_cvt_scalef32_f16_bf8",     "v_cvt_scalef32_pk_f32_fp8", "v_cvt_scalef32_pk_f32_bf8",
                    "v_cvt_scalef32_pk_f16_fp8",  "v_cvt_scalef32_pk_f16_bf8", "v_cvt_scalef32_pk_bf16_fp8",
                    "v_cvt_scalef32_pk_bf16_bf8", "v_cvt_scalef32_pk_fp8_f32", "v_cvt_scalef32_pk_bf8_f32",
                    "v_cvt_scalef32_pk_fp8_f16",  "v_cvt_scalef32_pk_bf8_f16", "v_cvt_scalef32_pk_fp8_bf16",
                    "v_cvt_scalef32_pk_bf8_bf16"};
TEST(ScaledConversions, MultiplyOnTheWayUpAndDivideOnTheWayDown) {
  const struct {
    const char* name;
    Format format;
  } smalls[] = {{"fp8", kFp8}, {"bf8", kBf8}};
  for (const auto& [name, format] : smalls) {
    for (int power : {0, 3, -5}) {
      SingleWave wave;
      std::mt19937_64 random(23);
      for (int l = 0; l < kLanes; ++l) {
        wave.v(1, l) = static_cast<uint32_t>(random()) & 0xbfbfbfbf;  // no NaN, no infinity
        wave.v(2, l) = static_cast<uint32_t>(127 + power) << 23 | static_cast<uint32_t>(random() & 0x7fffff);
        for (unsigned reg : {3u, 4u})
          wave.v(reg, l) = static_cast<uint32_t>((120 + random() % 10) << 23 | (random() & 0x807fffff));
        wave.v(5, l) = static_cast<uint32_t>(0x30003000 + (random() & 0x87ff87ff));
        wave.v(6, l) = static_cast<uint32_t>(0x3e003e00 + (random() & 0x80ff80ff));
        for (unsigned reg = 10; reg < 40; ++reg) wave.v(reg, l) = 0x12345678;
      }
      std::string text;
      text += fmt::format("v_cvt_scalef32_f32_{} v10, v1, v2 op_sel:[1,1,0]\n", name);
      text += fmt::format("v_cvt_scalef32_f16_{} v12, v1, v2 op_sel:[0,1,1]\n", name);
      text += fmt::format("v_cvt_scalef32_pk_f32_{} v[14:15], v1, v2 op_sel:[1,0,0]\n", name);
      text += fmt::format("v_cvt_scalef32_pk_f16_{} v16, v1, v2\n", name);
      text += fmt::format("v_cvt_scalef32_pk_bf16_{} v18, v1, v2 op_sel:[1,0,0]\n", name);
      text += fmt::format("v_cvt_scalef32_pk_{}_f32 v20, v3, v4, v2\n", name);
      text += fmt::format("v_cvt_scalef32_pk_{}_f16 v22, v5, v2 op_sel:[0,0,1]\n", name);
      text += fmt::format("v_cvt_scalef32_pk_{}_bf16 v24, v6, v2\n", name);
      wave.run(text);
      for (int l = 0; l < kLanes; ++l) {
        const auto up = [&](int byte) {
          return times_power(from_small(format, wave.v(1, l) >> (8 * byte)), power);
        };
        const auto down = [&](uint64_t single) { return to_small(format, times_power(single, -power)); };
        const auto half = [&](uint64_t bits, int at) {
          return encode(kSingle, decode(kHalf, bits >> at & 0xffff));
        };
        ASSERT_EQ(wave.v(10, l), up(3)) << name;
        ASSERT_EQ(wave.v(12, l), 0x5678u | static_cast<uint32_t>(encode(kHalf, decode(kSingle, up(2)))) << 16)
            << name;
        ASSERT_EQ(wave.v64(14, l), up(2) | up(3) << 32) << name;
        ASSERT_EQ(wave.v(16, l),
                  pair(encode(kHalf, decode(kSingle, up(0))), encode(kHalf, decode(kSingle, up(1)))))
            << name;
        ASSERT_EQ(wave.v(18, l),
                  pair(encode(kBfloat16, decode(kSingle, up(2))), encode(kBfloat16, decode(kSingle, up(3)))))
            << name;
        ASSERT_EQ(wave.v(20, l),
                  0x12340000u | static_cast<uint32_t>(down(wave.v(3, l)) | down(wave.v(4, l)) << 8))
            << name;
        ASSERT_EQ(
            wave.v(22, l),
            0x5678u | static_cast<uint32_t>(down(half(wave.v(5, l), 0)) | down(half(wave.v(5, l), 16)) << 8)
                          << 16)
            << name;
        ASSERT_EQ(wave.v(24, l),
                  0x12340000u | static_cast<uint32_t>(down(uint64_t{wave.v(6, l)} << 16 & 0xffffffff) |
                                                      down(wave.v(6, l) & 0xffff0000) << 8))
            << name;
      }
    }
  }
}

const Tests kBfloat{"v_cvt_f32_bf16"};
TEST(Bfloat, WidensExactly) {
  SingleWave wave;
  for (int l = 0; l < kLanes; ++l) wave.v(1, l) = static_cast<uint32_t>(l) * 0x04110411u;
  wave.run(
      "v_cvt_f32_bf16_e32 v0, v1\nv_cvt_f32_bf16_sdwa v2, v1 dst_sel:DWORD dst_unused:UNUSED_PAD "
      "src0_sel:WORD_1");
  for (int l = 0; l < kLanes; ++l) {
    const auto wide = [](uint32_t half) {
      const uint32_t x = half << 16;
      return kSingle.is_nan(x) ? x | 0x400000 : x;
    };
    EXPECT_EQ(wave.v(0, l), wide(wave.v(1, l) & 0xffff));
    EXPECT_EQ(wave.v(2, l), wide(wave.v(1, l) >> 16));
  }
}

}  // namespace
}  // namespace mhcheck::simulator::testing

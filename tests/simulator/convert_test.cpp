#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

#include "tests/simulator/exact_real.h"
#include "tests/simulator/single_wave.h"
#include "tests/simulator/small_float.h"
#include "tests/simulator/tested_mnemonics.h"
#include "tests/simulator/vector_row.h"

namespace mhcheck::simulator::testing {
namespace {

using I = const Inputs&;
using K = Kind;

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
    const auto insert_byte = [](I in) {
      const uint64_t byte = to_integer(K::kF32, 0, 255, mpfr_roundeven)(in), shift = in.value[1] % 4 * 8;
      return (in.value[2] & ~(uint64_t{255} << shift)) | byte << shift;
    };
    exact("v_cvt_pk_u8_f32", K::kI32, {K::kF32, K::kI32, K::kI32}, insert_byte);
    list.push_back({"v_cvt_pkaccum_u8_f32",
                    K::kI32,
                    {K::kF32, K::kI32, K::kI32},
                    insert_byte,
                    /*rounds=*/false,
                    /*reads_destination=*/true,
                    /*clamps=*/false});
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
    SmallFormat format;
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
    SmallFormat format;
  } cases[] = {{"fp8", kFp8}, {"bf8", kBf8}};
  for (const auto& [name, format] : cases) {
    SingleWave wave;
    for (int l = 0; l < kLanes; ++l) {
      wave.v(0, l) = 0xa5a5a5a5;
      wave.v(1, l) = l % 3 ? static_cast<uint32_t>((100 + random() % 44) << 23 | (random() & 0x807fffff))
                           : static_cast<uint32_t>(random_operand(Kind::kF32, random));
      wave.v(2, l) = static_cast<uint32_t>(random());
    }
    const struct {
      const char* op_sel;
      int byte;
    } bytes[] = {{"", 0}, {" op_sel:[0,0,1,0]", 1}, {" op_sel:[0,0,0,1]", 2}, {" op_sel:[0,0,1,1]", 3}};
    for (const auto& [op_sel, byte] : bytes) {
      for (int l = 0; l < kLanes; ++l) wave.v(0, l) = 0xa5a5a5a5;
      wave.run(fmt::format("v_cvt_sr_{}_f32 v0, v1, v2{}", name, op_sel));
      for (int l = 0; l < kLanes; ++l) {
        const uint64_t code = to_small_stochastic(format, wave.v(1, l), wave.v(2, l));
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

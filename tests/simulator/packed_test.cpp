#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>

#include "tests/simulator/exact_real.h"
#include "tests/simulator/single_wave.h"
#include "tests/simulator/tested_mnemonics.h"
#include "tests/simulator/vector_row.h"

namespace mhcheck::simulator::testing {
namespace {

using Three = std::array<uint64_t, 3>;

struct Row {
  std::string mnemonic;
  Kind element;  // kF32 in pairs of registers, kF16 and kI16 in halves
  size_t operands;
  std::function<uint64_t(const Three&, bool clamp, Direction)> expected;
  bool accumulates = false;
};

uint64_t fused(Kind kind, const Three& x, Direction direction, int operation) {  // 0 add, 1 multiply, 2 fma
  constexpr mpfr_rnd_t kModes[] = {MPFR_RNDN, MPFR_RNDU, MPFR_RNDD, MPFR_RNDZ};
  const Format f = format_of(kind);
  const Real a = decode(f, x[0]), b = decode(f, x[1]), c = decode(f, x[2]);
  const mpfr_rnd_t mode = kModes[static_cast<int>(direction)];
  Real r;
  if (operation == 0) mpfr_add(r.get(), a.get(), b.get(), mode);
  if (operation == 1) mpfr_mul(r.get(), a.get(), b.get(), mode);
  if (operation == 2) mpfr_fma(r.get(), a.get(), b.get(), c.get(), mode);
  return encode(f, r, direction);
}
uint64_t extreme(const Three& x, bool greatest) {
  for (size_t k : {0u, 1u})
    if (kHalf.is_nan(x[k]) && !(x[k] & kHalf.quiet())) return kHalf.nan();
  if (kHalf.is_nan(x[0])) return x[1];
  if (kHalf.is_nan(x[1])) return x[0];
  const int order = mpfr_cmp(decode(kHalf, x[0]).get(), decode(kHalf, x[1]).get());
  if (order == 0) return greatest ? x[0] & x[1] : x[0] | x[1];
  return (order > 0) == greatest ? x[0] : x[1];
}
uint64_t propagating(const Three& x, bool greatest) {
  for (uint64_t v : x)
    if (kHalf.is_nan(v)) return kHalf.nan();
  return extreme({extreme(x, greatest), x[2], 0}, greatest);
}
int64_t s16(uint64_t x) { return static_cast<int16_t>(x); }

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = [] {
    std::vector<Row> list;
    const auto real = [&](const char* name, Kind kind, int operation, bool accumulates = false) {
      list.push_back({name, kind, operation == 2 ? 3u : 2u,
                      [=](const Three& x, bool, Direction d) { return fused(kind, x, d, operation); },
                      accumulates});
    };
    real("v_pk_add_f32", Kind::kF32, 0), real("v_pk_mul_f32", Kind::kF32, 1),
        real("v_pk_fma_f32", Kind::kF32, 2);
    real("v_pk_add_f16", Kind::kF16, 0), real("v_pk_mul_f16", Kind::kF16, 1),
        real("v_pk_fma_f16", Kind::kF16, 2);
    real("v_pk_fmac_f16", Kind::kF16, 2, true);
    list.push_back(
        {"v_pk_min_f16", Kind::kF16, 2, [](const Three& x, bool, Direction) { return extreme(x, false); }});
    list.push_back(
        {"v_pk_max_f16", Kind::kF16, 2, [](const Three& x, bool, Direction) { return extreme(x, true); }});
    list.push_back({"v_pk_minimum3_f16", Kind::kF16, 3,
                    [](const Three& x, bool, Direction) { return propagating(x, false); }});
    list.push_back({"v_pk_maximum3_f16", Kind::kF16, 3,
                    [](const Three& x, bool, Direction) { return propagating(x, true); }});
    const auto integer = [&](const char* name, size_t operands, std::function<int64_t(const Three&)> f,
                             int64_t low, int64_t high) {
      list.push_back({name, Kind::kI16, operands, [=](const Three& x, bool clamp, Direction) {
                        return static_cast<uint64_t>(clamp ? std::clamp(f(x), low, high) : f(x)) & 0xffff;
                      }});
    };
    const auto u = [](const Three& x, size_t k) { return static_cast<int64_t>(x[k]); };
    integer(
        "v_pk_add_u16", 2, [=](const Three& x) { return u(x, 0) + u(x, 1); }, 0, 65535);
    integer(
        "v_pk_sub_u16", 2, [=](const Three& x) { return u(x, 0) - u(x, 1); }, 0, 65535);
    integer(
        "v_pk_mad_u16", 3, [=](const Three& x) { return u(x, 0) * u(x, 1) + u(x, 2); }, 0, 65535);
    integer(
        "v_pk_add_i16", 2, [](const Three& x) { return s16(x[0]) + s16(x[1]); }, -32768, 32767);
    integer(
        "v_pk_sub_i16", 2, [](const Three& x) { return s16(x[0]) - s16(x[1]); }, -32768, 32767);
    integer(
        "v_pk_mad_i16", 3, [](const Three& x) { return s16(x[0]) * s16(x[1]) + s16(x[2]); }, -32768, 32767);
    const auto plain = [&](const char* name, std::function<int64_t(const Three&)> f) {
      list.push_back({name, Kind::kNone, 2,
                      [=](const Three& x, bool, Direction) { return static_cast<uint64_t>(f(x)) & 0xffff; }});
    };
    plain("v_pk_mul_lo_u16", [=](const Three& x) { return u(x, 0) * u(x, 1); });
    plain("v_pk_min_u16", [=](const Three& x) { return std::min(u(x, 0), u(x, 1)); });
    plain("v_pk_max_u16", [=](const Three& x) { return std::max(u(x, 0), u(x, 1)); });
    plain("v_pk_min_i16", [](const Three& x) { return std::min(s16(x[0]), s16(x[1])); });
    plain("v_pk_max_i16", [](const Three& x) { return std::max(s16(x[0]), s16(x[1])); });
    plain("v_pk_lshlrev_b16", [=](const Three& x) { return u(x, 1) << u(x, 0) % 16; });
    plain("v_pk_lshrrev_b16", [=](const Three& x) { return u(x, 1) >> u(x, 0) % 16; });
    plain("v_pk_ashrrev_i16", [=](const Three& x) { return s16(x[1]) >> u(x, 0) % 16; });
    return list;
  }();
  return kRows;
}
const Tests kTested(rows());

class Packed : public ::testing::TestWithParam<Row> {
 protected:
  bool pairs() const { return GetParam().element == Kind::kF32; }
  bool floats() const { return is_float(GetParam().element); }
  uint64_t element(uint64_t value, bool high) const {
    return pairs() ? value >> (high ? 32 : 0) & 0xffffffff : value >> (high ? 16 : 0) & 0xffff;
  }
};

TEST_P(Packed, EveryChoiceOfHalvesAndSigns) {
  const Row& row = GetParam();
  const size_t written = row.operands - (row.accumulates ? 1 : 0);
  std::mt19937_64 random(std::hash<std::string>{}(row.mnemonic));
  SingleWave wave;
  const std::string reg[] = {pairs() ? "v[2:3]" : "v2", pairs() ? "v[4:5]" : "v4", pairs() ? "v[6:7]" : "v6"};
  for (unsigned variant = 0; variant < 40; ++variant) {
    unsigned select = variant ? static_cast<unsigned>(random() % 8) : 0,
             select_high = variant ? static_cast<unsigned>(random() % 8) : 7;
    unsigned negate = variant % 2 && floats() ? static_cast<unsigned>(random() % 8) : 0,
             negate_high = variant % 2 && floats() ? static_cast<unsigned>(random() % 8) : 0;
    const bool clamp = variant % 5 == 4 && row.element != Kind::kNone;
    const bool scalar = variant % 7 == 3;
    if (row.accumulates) select = 0, select_high = 7, negate = negate_high = 0;
    const Direction direction = row.element == Kind::kI16 || row.element == Kind::kNone
                                    ? Direction::kNearest
                                    : static_cast<Direction>(variant / 10);
    const auto list = [&](unsigned bits) {
      std::string text;
      for (size_t k = 0; k < written; ++k) text += fmt::format("{}{}", k ? "," : "", bits >> k & 1);
      return text;
    };
    std::string text = fmt::format("{} {}, {}", row.mnemonic, pairs() ? "v[10:11]" : "v10",
                                   scalar ? (pairs() ? "s[2:3]" : "s2") : reg[0].c_str());
    for (size_t k = 1; k < written; ++k) text += fmt::format(", {}", reg[k]);
    if (!row.accumulates) {
      text += fmt::format(" op_sel:[{}] op_sel_hi:[{}]", list(select), list(select_high));
      if (floats()) text += fmt::format(" neg_lo:[{}] neg_hi:[{}]", list(negate), list(negate_high));
      if (clamp) text += " clamp";
    }
    const bool clamps = clamp && !row.accumulates;
    Program program = SingleWave::program_of("");
    try {
      program = SingleWave::program_of(text);
    } catch (const std::invalid_argument& error) {
      ASSERT_TRUE(clamp && !floats()) << error.what();  // some integer forms have no clamp
      continue;
    }
    uint64_t values[3][kLanes], old[kLanes];
    const uint64_t scalar_value = random_operand(pairs() ? Kind::kF32 : GetParam().element, random) |
                                  random_operand(pairs() ? Kind::kF32 : GetParam().element, random)
                                      << (pairs() ? 32 : 16);
    wave.set_s64(2, scalar_value);
    for (size_t k = 0; k < 3; ++k) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const Kind kind = pairs() ? Kind::kF32 : floats() ? Kind::kF16 : Kind::kI16;
        values[k][lane] = random_operand(kind, random) | random_operand(kind, random) << (pairs() ? 32 : 16);
        wave.set_v64(2 + 2 * static_cast<unsigned>(k), lane, values[k][lane]);
      }
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      old[lane] = row.accumulates ? values[2][lane] : random();
      wave.set_v64(10, lane, old[lane]);
    }
    const uint64_t exec = variant % 3 == 2 ? 0xdeadbeef12345678u : ~uint64_t{0};
    wave.set_exec(exec);
    const auto round = static_cast<uint32_t>(direction);
    wave.set_mode(0x3f0 | (pairs() ? round : round << 2));
    wave.run(program);
    for (int lane = 0; lane < kLanes; ++lane) {
      for (bool high : {false, true}) {
        Three x{};
        for (size_t k = 0; k < row.operands; ++k) {
          const uint64_t value = k == 0 && scalar            ? scalar_value
                                 : row.accumulates && k == 2 ? old[lane]
                                                             : values[k][lane];
          x[k] = element(value, (high ? select_high : select) >> k & 1);
          if ((high ? negate_high : negate) >> k & 1) x[k] ^= pairs() ? 0x80000000u : 0x8000u;
        }
        uint64_t result = row.expected(x, clamps, direction);
        if (floats() && clamps) {
          const Format f = format_of(row.element);
          const uint64_t one = static_cast<uint64_t>(f.bias()) << f.mantissa_bits;
          result = f.is_nan(result) || result & f.sign() ? 0 : std::min(result, one);
        }
        const uint64_t got = element(wave.v64(10, lane), high);
        if (!(exec >> lane & 1)) {
          ASSERT_EQ(got, element(old[lane], high)) << text;
        } else if (floats() && format_of(row.element).is_nan(result)) {
          ASSERT_TRUE(format_of(row.element).is_nan(got)) << text << " lane " << lane;
        } else {
          ASSERT_EQ(got, result) << text
                                 << fmt::format(" lane {} operands {:#x} {:#x} {:#x}", lane, x[0], x[1],
                                                x[2]);
        }
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Rows, Packed, ::testing::ValuesIn(rows()),
                         [](const auto& row) { return row.param.mnemonic; });

const Tests kMove{"v_pk_mov_b32"};
TEST(PackedMove, TakesOneDwordOfEachOperand) {
  for (int low : {0, 1}) {
    for (int high : {0, 1}) {
      SingleWave wave;
      for (int lane = 0; lane < kLanes; ++lane)
        wave.set_v64(2, lane, 0x200000001 + static_cast<uint64_t>(lane)), wave.set_v64(4, lane, 0x400000003);
      wave.run(fmt::format("v_pk_mov_b32 v[0:1], v[2:3], v[4:5] op_sel:[{},{}]", low, high));
      EXPECT_EQ(wave.v(0, 5), low ? 2u : 6u);
      EXPECT_EQ(wave.v(1, 5), high ? 4u : 3u);
    }
  }
}

const Tests kMix{"v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16"};
TEST(FmaMix, ReadsHalvesOrWholesAndRoundsOnce) {
  std::mt19937_64 random(31);
  for (unsigned variant = 0; variant < 64; ++variant) {
    const unsigned half = variant % 8, high = static_cast<unsigned>(random() % 8) & half,
                   absolute = static_cast<unsigned>(random() % 8),
                   negate = static_cast<unsigned>(random() % 8);
    SingleWave wave;
    for (unsigned k = 0; k < 3; ++k) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const Kind kind = half >> k & 1 ? Kind::kF16 : Kind::kF32;
        const uint64_t x = random_operand(kind, random);
        wave.v(2 + k, lane) =
            static_cast<uint32_t>(kind == Kind::kF16 ? x | random_operand(kind, random) << 16 : x);
      }
    }
    const auto operand = [&](unsigned k) {
      return fmt::format("{}{}v{}{}", negate >> k & 1 ? "-" : "", absolute >> k & 1 ? "|" : "", 2 + k,
                         absolute >> k & 1 ? "|" : "");
    };
    const std::string tail =
        fmt::format(", {}, {}, {} op_sel:[{},{},{}] op_sel_hi:[{},{},{}]", operand(0), operand(1), operand(2),
                    high & 1, high >> 1 & 1, high >> 2, half & 1, half >> 1 & 1, half >> 2);
    for (int lane = 0; lane < kLanes; ++lane) wave.v(11, lane) = wave.v(12, lane) = 0x12345678;
    wave.run("v_fma_mix_f32 v10" + tail + "\nv_fma_mixlo_f16 v11" + tail + "\nv_fma_mixhi_f16 v12" + tail);
    for (int lane = 0; lane < kLanes; ++lane) {
      std::vector<Real> x;
      for (unsigned k = 0; k < 3; ++k) {
        const uint32_t word = wave.v(2 + k, lane);
        Real value =
            half >> k & 1 ? decode(kHalf, high >> k & 1 ? word >> 16 : word & 0xffff) : decode(kSingle, word);
        if (absolute >> k & 1) mpfr_abs(value.get(), value.get(), MPFR_RNDN);
        if (negate >> k & 1) mpfr_neg(value.get(), value.get(), MPFR_RNDN);
        x.push_back(value);
      }
      Real sum;
      mpfr_fma(sum.get(), x[0].get(), x[1].get(), x[2].get(), MPFR_RNDN);
      const uint64_t wide = encode(kSingle, sum), narrow = encode(kHalf, sum);
      if (mpfr_nan_p(sum.get())) {
        ASSERT_TRUE(kSingle.is_nan(wave.v(10, lane)));
        ASSERT_TRUE(kHalf.is_nan(wave.v(11, lane) & 0xffff) && kHalf.is_nan(wave.v(12, lane) >> 16));
      } else {
        ASSERT_EQ(wave.v(10, lane), wide) << tail;
        ASSERT_EQ(wave.v(11, lane), 0x12340000u | narrow) << tail;
        ASSERT_EQ(wave.v(12, lane), 0x5678u | narrow << 16) << tail;
      }
    }
  }
}

const Tests kDots{"v_dot2_f32_f16", "v_dot2_f32_bf16", "v_dot2c_f32_f16", "v_dot2c_f32_bf16"};
TEST(Dot, SumsTwoProductsAndRoundsOnce) {
  std::mt19937_64 random(32);
  const struct {
    const char* type;
    Format format;
  } types[] = {{"f16", kHalf}, {"bf16", kBfloat16}};
  for (const auto& [type, format] : types) {
    SingleWave wave;
    for (int lane = 0; lane < kLanes; ++lane) {
      for (unsigned reg = 2; reg < 4; ++reg) {
        const auto half = [&] {
          return (random() & 0x8000) |
                 (static_cast<uint64_t>(format.bias() - 4) + random() % 8) << format.mantissa_bits |
                 (random() & (format.quiet() * 2 - 1));
        };
        wave.v(reg, lane) = static_cast<uint32_t>(half() | half() << 16);
      }
      wave.v(4, lane) = wave.v(5, lane) =
          static_cast<uint32_t>((124 + random() % 8) << 23 | (random() & 0x807fffff));
    }
    wave.run(fmt::format("v_dot2_f32_{0} v10, v2, v3, v4\nv_dot2c_f32_{0} v5, v2, v3", type));
    for (int lane = 0; lane < kLanes; ++lane) {
      Real sum = decode(kSingle, wave.v(4, lane));
      for (int shift : {0, 16}) {
        const Real a = decode(format, wave.v(2, lane) >> shift & 0xffff),
                   b = decode(format, wave.v(3, lane) >> shift & 0xffff);
        mpfr_fma(sum.get(), a.get(), b.get(), sum.get(), MPFR_RNDN);
      }
      EXPECT_EQ(wave.v(10, lane), encode(kSingle, sum)) << type;
      EXPECT_EQ(wave.v(5, lane), encode(kSingle, sum)) << type;
    }
  }
}

// ---- Literals in place of a third operand

const Tests kLiterals{"v_fmamk_f32", "v_fmaak_f32", "v_madmk_f16", "v_madak_f16"};
TEST(FmaLiterals, StandForTheFactorOrTheAddend) {
  SingleWave wave;
  for (int lane = 0; lane < kLanes; ++lane) {
    wave.v(2, lane) = std::bit_cast<uint32_t>(static_cast<float>(lane));
    wave.v(3, lane) = std::bit_cast<uint32_t>(10.0f);
  }
  wave.run("v_fmamk_f32 v0, v2, 0x40400000, v3\nv_fmaak_f32 v1, v2, v3, 0x40400000");
  for (int lane = 0; lane < kLanes; ++lane) {
    EXPECT_EQ(std::bit_cast<float>(wave.v(0, lane)), 3.0f * static_cast<float>(lane) + 10.0f);
    EXPECT_EQ(std::bit_cast<float>(wave.v(1, lane)), 10.0f * static_cast<float>(lane) + 3.0f);
  }
  const auto half = [](int x) {
    Real real;
    mpfr_set_si(real.get(), x, MPFR_RNDN);
    return static_cast<uint32_t>(encode(kHalf, real));
  };
  for (int lane = 0; lane < kLanes; ++lane) wave.v(2, lane) = half(lane), wave.v(3, lane) = half(10);
  wave.run("v_madmk_f16 v0, v2, 0x4200, v3\nv_madak_f16 v1, v2, v3, 0x4200");
  for (int lane = 0; lane < kLanes; ++lane) {
    EXPECT_EQ(wave.v(0, lane) & 0xffff, half(3 * lane + 10));
    EXPECT_EQ(wave.v(1, lane) & 0xffff, half(10 * lane + 3));
  }
}

// ---- Division: the sequence that compilers emit gives the correctly rounded quotient

const Tests kDivision{"v_div_scale_f32", "v_div_fmas_f32", "v_div_scale_f64", "v_div_fmas_f64"};
TEST(Division, TheFullSequenceRoundsCorrectly) {
  std::mt19937_64 random(33);
  SingleWave wave;
  for (int trial = 0; trial < 60; ++trial) {
    for (int lane = 0; lane < kLanes; ++lane) {
      wave.v(1, lane) = static_cast<uint32_t>(random_operand(Kind::kF32, random));
      wave.v(2, lane) = static_cast<uint32_t>(random_operand(Kind::kF32, random));
      wave.set_v64(20, lane, random_operand(Kind::kF64, random));
      wave.set_v64(22, lane, random_operand(Kind::kF64, random));
    }
    wave.run(
        "v_div_scale_f32 v3, s[0:1], v2, v2, v1\nv_div_scale_f32 v5, vcc, v1, v2, v1\nv_rcp_f32_e32 v4, v3\n"
        "v_fma_f32 v6, -v3, v4, 1.0\nv_fmac_f32_e32 v4, v6, v4\nv_mul_f32_e32 v7, v5, v4\nv_fma_f32 v6, -v3, "
        "v7, v5\n"
        "v_fmac_f32_e32 v7, v6, v4\nv_fma_f32 v3, -v3, v7, v5\nv_div_fmas_f32 v3, v3, v4, "
        "v7\nv_div_fixup_f32 v0, v3, v2, v1\n"
        "v_div_scale_f64 v[24:25], s[0:1], v[22:23], v[22:23], v[20:21]\nv_div_scale_f64 v[30:31], vcc, "
        "v[20:21], v[22:23], v[20:21]\n"
        "v_rcp_f64_e32 v[26:27], v[24:25]\nv_fma_f64 v[28:29], -v[24:25], v[26:27], 1.0\nv_fmac_f64_e32 "
        "v[26:27], v[26:27], v[28:29]\n"
        "v_fma_f64 v[28:29], -v[24:25], v[26:27], 1.0\nv_fmac_f64_e32 v[26:27], v[26:27], v[28:29]\n"
        "v_mul_f64 v[32:33], v[30:31], v[26:27]\nv_fma_f64 v[24:25], -v[24:25], v[32:33], v[30:31]\n"
        "v_div_fmas_f64 v[24:25], v[24:25], v[26:27], v[32:33]\nv_div_fixup_f64 v[18:19], v[24:25], "
        "v[22:23], v[20:21]");
    for (int lane = 0; lane < kLanes; ++lane) {
      Real quotient(3000);
      mpfr_div(quotient.get(), decode(kSingle, wave.v(1, lane)).get(), decode(kSingle, wave.v(2, lane)).get(),
               MPFR_RNDN);
      const uint64_t single = encode(kSingle, quotient);
      if (kSingle.is_nan(single)) {
        ASSERT_TRUE(kSingle.is_nan(wave.v(0, lane)));
      } else {
        ASSERT_EQ(wave.v(0, lane), single) << fmt::format("{:#x} / {:#x}", wave.v(1, lane), wave.v(2, lane));
      }
      mpfr_div(quotient.get(), decode(kDouble, wave.v64(20, lane)).get(),
               decode(kDouble, wave.v64(22, lane)).get(), MPFR_RNDN);
      const uint64_t twice = encode(kDouble, quotient);
      if (kDouble.is_nan(twice)) {
        ASSERT_TRUE(kDouble.is_nan(wave.v64(18, lane)));
      } else {
        ASSERT_EQ(wave.v64(18, lane), twice)
            << fmt::format("{:#x} / {:#x}", wave.v64(20, lane), wave.v64(22, lane));
      }
    }
  }
}

}  // namespace
}  // namespace mhcheck::simulator::testing

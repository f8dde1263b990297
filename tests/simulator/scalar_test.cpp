#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <random>

#include "tests/simulator/single_wave.h"
#include "tests/simulator/tested_mnemonics.h"
#include "tests/simulator/vector_row.h"

namespace mhcheck::simulator::testing {
namespace {

__extension__ using Wide = __int128;

struct Outcome {
  std::optional<uint64_t> result;  // nothing: the destination is kept
  std::optional<bool> scc;         // nothing: SCC is kept
};
struct In {
  uint64_t a, b, old, exec;
  bool scc;
  uint32_t u(int k) const { return static_cast<uint32_t>(k ? b : a); }
  int32_t s(int k) const { return static_cast<int32_t>(u(k)); }
};
struct Row {
  std::string mnemonic;
  int result_bits, a_bits, b_bits;  // 0: none; b_bits 16: an immediate of SOPK, and then `old` is the operand
  std::function<Outcome(const In&)> expected;
};

bool overflows(Wide x) { return x > 0x7fffffff || x < -Wide{0x80000000}; }
uint64_t ones(uint64_t x) {
  uint64_t n = 0;
  for (; x; x &= x - 1) ++n;
  return n;
}
uint64_t first(uint64_t x, int bits) {
  for (int i = 0; i < bits; ++i)
    if (x >> i & 1) return static_cast<uint64_t>(i);
  return 0xffffffff;
}
uint64_t from_top(uint64_t x, int bits) {
  for (int i = 0; i < bits; ++i)
    if (x >> (bits - 1 - i) & 1) return static_cast<uint64_t>(i);
  return 0xffffffff;
}
uint64_t mirrored(uint64_t x, int bits) {
  uint64_t r = 0;
  for (int i = 0; i < bits; ++i) r |= (x >> i & 1) << (bits - 1 - i);
  return r;
}
uint64_t low(int bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

Outcome nonzero(uint64_t x, int bits) {
  x &= low(bits);
  return {x, x != 0};
}

// Bit i of the field is bit offset+i of the operand continued by zeros, or by its sign.
uint64_t field(uint64_t value, int bits, uint32_t spec, bool is_signed) {
  const int offset = static_cast<int>(spec & static_cast<uint32_t>(bits - 1)),
            width = std::min<int>(spec >> 16 & 127, bits);
  const bool sign = is_signed && value >> (bits - 1) & 1;
  uint64_t result = 0;
  for (int i = 0; i < width; ++i)
    result |= (offset + i < bits ? value >> (offset + i) & 1 : uint64_t{sign}) << i;
  if (is_signed && width > 0 && result >> (width - 1) & 1) result |= ~low(width);
  return result & low(bits);
}
uint64_t quads(uint64_t x, int bits, bool whole) {
  uint64_t result = 0;
  for (int q = 0; q < bits / 4; ++q) {
    if (x >> (4 * q) & 15) result |= whole ? uint64_t{15} << (4 * q) : uint64_t{1} << q;
  }
  return result;
}

std::vector<Row> make_rows() {
  std::vector<Row> rows;
  const auto add = [&](std::string name, int r, int a, int b, std::function<Outcome(const In&)> f) {
    rows.push_back({std::move(name), r, a, b, std::move(f)});
  };
  add("s_mov_b32", 32, 32, 0, [](const In& i) { return Outcome{i.a, {}}; });
  add("s_mov_b64", 64, 64, 0, [](const In& i) { return Outcome{i.a, {}}; });
  add("s_cmov_b32", 32, 32, 0, [](const In& i) { return i.scc ? Outcome{i.a, {}} : Outcome{}; });
  add("s_cmov_b64", 64, 64, 0, [](const In& i) { return i.scc ? Outcome{i.a, {}} : Outcome{}; });
  add("s_cselect_b32", 32, 32, 32, [](const In& i) { return Outcome{i.scc ? i.a : i.b, {}}; });
  add("s_cselect_b64", 64, 64, 64, [](const In& i) { return Outcome{i.scc ? i.a : i.b, {}}; });
  add("s_pack_ll_b32_b16", 32, 32, 32, [](const In& i) {
    return Outcome{i.a % 65536 + i.b % 65536 * 65536, {}};
  });
  add("s_pack_lh_b32_b16", 32, 32, 32, [](const In& i) {
    return Outcome{i.a % 65536 + i.b / 65536 * 65536, {}};
  });
  add("s_pack_hh_b32_b16", 32, 32, 32, [](const In& i) {
    return Outcome{i.a / 65536 + i.b / 65536 * 65536, {}};
  });
  add("s_sext_i32_i8", 32, 32, 0, [](const In& i) { return Outcome{(i.a % 256 ^ 128) - 128, {}}; });
  add("s_sext_i32_i16", 32, 32, 0, [](const In& i) { return Outcome{(i.a % 65536 ^ 32768) - 32768, {}}; });
  add("s_add_u32", 32, 32, 32, [](const In& i) {
    const uint64_t x = i.a + i.b;
    return Outcome{x, x >> 32 != 0};
  });
  add("s_addc_u32", 32, 32, 32, [](const In& i) {
    const uint64_t x = i.a + i.b + i.scc;
    return Outcome{x, x >> 32 != 0};
  });
  add("s_sub_u32", 32, 32, 32, [](const In& i) {
    const Wide x = Wide{i.a} - i.b;
    return Outcome{static_cast<uint64_t>(x), x < 0};
  });
  add("s_subb_u32", 32, 32, 32, [](const In& i) {
    const Wide x = Wide{i.a} - i.b - i.scc;
    return Outcome{static_cast<uint64_t>(x), x < 0};
  });
  add("s_add_i32", 32, 32, 32, [](const In& i) {
    const Wide x = Wide{i.s(0)} + i.s(1);
    return Outcome{static_cast<uint64_t>(x), overflows(x)};
  });
  add("s_sub_i32", 32, 32, 32, [](const In& i) {
    const Wide x = Wide{i.s(0)} - i.s(1);
    return Outcome{static_cast<uint64_t>(x), overflows(x)};
  });
  add("s_addk_i32", 32, 0, 16, [](const In& i) {
    const Wide x = Wide{static_cast<int32_t>(i.old)} + i.s(1);
    return Outcome{static_cast<uint64_t>(x), overflows(x)};
  });
  add("s_mulk_i32", 32, 0, 16, [](const In& i) { return Outcome{i.old * i.b, {}}; });
  add("s_movk_i32", 32, 0, 16, [](const In& i) { return Outcome{i.b, {}}; });
  add("s_cmovk_i32", 32, 0, 16, [](const In& i) { return i.scc ? Outcome{i.b, {}} : Outcome{}; });
  add("s_mul_i32", 32, 32, 32, [](const In& i) { return Outcome{i.a * i.b, {}}; });
  add("s_mul_hi_u32", 32, 32, 32, [](const In& i) { return Outcome{i.a * i.b >> 32, {}}; });
  add("s_mul_hi_i32", 32, 32, 32, [](const In& i) {
    return Outcome{static_cast<uint64_t>(Wide{i.s(0)} * i.s(1) >> 32), {}};
  });
  for (int n = 1; n <= 4; ++n) {
    add(fmt::format("s_lshl{}_add_u32", n), 32, 32, 32, [n](const In& i) {
      const uint64_t x = (i.a << n) + i.b;
      return Outcome{x, x >> 32 != 0};
    });
  }
  add("s_abs_i32", 32, 32, 0,
      [](const In& i) { return nonzero(static_cast<uint64_t>(std::abs(int64_t{i.s(0)})), 32); });
  add("s_absdiff_i32", 32, 32, 32, [](const In& i) {
    const auto difference = static_cast<int32_t>(i.u(0) - i.u(1));  // wraps first, then the sign goes
    return nonzero(static_cast<uint64_t>(std::abs(int64_t{difference})), 32);
  });
  add("s_min_i32", 32, 32, 32, [](const In& i) {
    return Outcome{i.s(0) < i.s(1) ? i.a : i.b, i.s(0) < i.s(1)};
  });
  add("s_min_u32", 32, 32, 32, [](const In& i) { return Outcome{i.a < i.b ? i.a : i.b, i.a < i.b}; });
  add("s_max_i32", 32, 32, 32, [](const In& i) {
    return Outcome{i.s(0) >= i.s(1) ? i.a : i.b, i.s(0) >= i.s(1)};
  });
  add("s_max_u32", 32, 32, 32, [](const In& i) { return Outcome{i.a >= i.b ? i.a : i.b, i.a >= i.b}; });
  for (int n : {32, 64}) {
    const auto named = [n](const char* stem, const char* tail = "") {
      return fmt::format("{}{}{}", stem, n, tail);
    };
    add(named("s_not_b"), n, n, 0, [n](const In& i) { return nonzero(~i.a, n); });
    add(named("s_and_b"), n, n, n, [n](const In& i) { return nonzero(i.a & i.b, n); });
    add(named("s_or_b"), n, n, n, [n](const In& i) { return nonzero(i.a | i.b, n); });
    add(named("s_xor_b"), n, n, n, [n](const In& i) { return nonzero(i.a ^ i.b, n); });
    add(named("s_andn2_b"), n, n, n, [n](const In& i) { return nonzero(i.a & ~i.b, n); });
    add(named("s_orn2_b"), n, n, n, [n](const In& i) { return nonzero(i.a | ~i.b, n); });
    add(named("s_nand_b"), n, n, n, [n](const In& i) { return nonzero(~(i.a & i.b), n); });
    add(named("s_nor_b"), n, n, n, [n](const In& i) { return nonzero(~(i.a | i.b), n); });
    add(named("s_xnor_b"), n, n, n, [n](const In& i) { return nonzero(~(i.a ^ i.b), n); });
    add(named("s_lshl_b"), n, n, 32, [n](const In& i) { return nonzero(i.a << i.b % unsigned(n), n); });
    add(named("s_lshr_b"), n, n, 32, [n](const In& i) { return nonzero(i.a >> i.b % unsigned(n), n); });
    add(named("s_ashr_i"), n, n, 32, [n](const In& i) {
      const Wide x = n == 32 ? Wide{i.s(0)} : Wide{static_cast<int64_t>(i.a)};
      return nonzero(static_cast<uint64_t>(x >> i.b % unsigned(n)), n);
    });
    add(named("s_bfe_u"), n, n, 32, [n](const In& i) { return nonzero(field(i.a, n, i.u(1), false), n); });
    add(named("s_bfe_i"), n, n, 32, [n](const In& i) { return nonzero(field(i.a, n, i.u(1), true), n); });
    add(named("s_bfm_b"), n, 32, 32, [n](const In& i) {
      return Outcome{low(static_cast<int>(i.a % unsigned(n))) << i.b % unsigned(n), {}};
    });
    add(named("s_brev_b"), n, n, 0, [n](const In& i) { return Outcome{mirrored(i.a, n), {}}; });
    add(named("s_bcnt0_i32_b"), 32, n, 0,
        [n](const In& i) { return nonzero(static_cast<uint64_t>(n) - ones(i.a), 32); });
    add(named("s_bcnt1_i32_b"), 32, n, 0, [](const In& i) { return nonzero(ones(i.a), 32); });
    add(named("s_ff0_i32_b"), 32, n, 0, [n](const In& i) { return Outcome{first(~i.a, n), {}}; });
    add(named("s_ff1_i32_b"), 32, n, 0, [n](const In& i) { return Outcome{first(i.a, n), {}}; });
    add(named("s_flbit_i32_b"), 32, n, 0, [n](const In& i) { return Outcome{from_top(i.a, n), {}}; });
    add(named("s_wqm_b"), n, n, 0, [n](const In& i) { return nonzero(quads(i.a, n, true), n); });
    add(named("s_quadmask_b"), n, n, 0, [n](const In& i) { return nonzero(quads(i.a, n, false), n); });
    add(named("s_bitset0_b"), n, 32, 0, [n](const In& i) {
      return Outcome{i.old & ~(uint64_t{1} << i.a % unsigned(n)), {}};
    });
    add(named("s_bitset1_b"), n, 32, 0, [n](const In& i) {
      return Outcome{i.old | uint64_t{1} << i.a % unsigned(n), {}};
    });
    add(named("s_bitcmp0_b"), 0, n, 32, [n](const In& i) {
      return Outcome{{}, !(i.a >> i.b % unsigned(n) & 1)};
    });
    add(named("s_bitcmp1_b"), 0, n, 32, [n](const In& i) {
      return Outcome{{}, (i.a >> i.b % unsigned(n) & 1) != 0};
    });
  }
  add("s_flbit_i32", 32, 32, 0, [](const In& i) {
    return Outcome{from_top(i.s(0) < 0 ? ~i.a & 0xffffffff : i.a, 32), {}};
  });
  add("s_flbit_i32_i64", 32, 64, 0, [](const In& i) {
    return Outcome{from_top(i.a >> 63 ? ~i.a : i.a, 64), {}};
  });
  add("s_bitreplicate_b64_b32", 64, 32, 0, [](const In& i) {
    uint64_t x = 0;
    for (int bit = 0; bit < 64; ++bit) x |= (i.a >> (bit / 2) & 1) << bit;
    return Outcome{x, {}};
  });
  const auto saveexec = [&](const char* name, uint64_t (*f)(uint64_t, uint64_t)) {
    add(name, 64, 64, 0, [f](const In& i) { return Outcome{i.exec, f(i.a, i.exec) != 0}; });
  };
  saveexec("s_and_saveexec_b64", [](uint64_t s, uint64_t e) { return s & e; });
  saveexec("s_or_saveexec_b64", [](uint64_t s, uint64_t e) { return s | e; });
  saveexec("s_xor_saveexec_b64", [](uint64_t s, uint64_t e) { return s ^ e; });
  saveexec("s_andn2_saveexec_b64", [](uint64_t s, uint64_t e) { return s & ~e; });
  saveexec("s_orn2_saveexec_b64", [](uint64_t s, uint64_t e) { return s | ~e; });
  saveexec("s_nand_saveexec_b64", [](uint64_t s, uint64_t e) { return ~(s & e); });
  saveexec("s_nor_saveexec_b64", [](uint64_t s, uint64_t e) { return ~(s | e); });
  saveexec("s_xnor_saveexec_b64", [](uint64_t s, uint64_t e) { return ~(s ^ e); });
  saveexec("s_andn1_saveexec_b64", [](uint64_t s, uint64_t e) { return ~s & e; });
  saveexec("s_orn1_saveexec_b64", [](uint64_t s, uint64_t e) { return ~s | e; });
  add("s_andn1_wrexec_b64", 64, 64, 0, [](const In& i) { return nonzero(~i.a & i.exec, 64); });
  add("s_andn2_wrexec_b64", 64, 64, 0, [](const In& i) { return nonzero(i.a & ~i.exec, 64); });
  const struct {
    const char* name;
    bool less, equal, greater;
  } conditions[] = {{"eq", false, true, false}, {"lg", true, false, true},  {"gt", false, false, true},
                    {"ge", false, true, true},  {"lt", true, false, false}, {"le", true, true, false}};
  for (const auto& c : conditions) {
    for (bool is_signed : {false, true}) {
      const auto compare = [c, is_signed](const In& i, uint32_t a, uint32_t b) {
        const int64_t x = is_signed ? int64_t{static_cast<int32_t>(a)} : int64_t{a},
                      y = is_signed ? int64_t{static_cast<int32_t>(b)} : int64_t{b};
        (void)i;
        return Outcome{{}, x < y ? c.less : x == y ? c.equal : c.greater};
      };
      const char type = is_signed ? 'i' : 'u';
      add(fmt::format("s_cmp_{}_{}32", c.name, type), 0, 32, 32,
          [=](const In& i) { return compare(i, i.u(0), i.u(1)); });
      add(fmt::format("s_cmpk_{}_{}32", c.name, type), 0, 0, 16, [=](const In& i) {
        return compare(i, static_cast<uint32_t>(i.old), is_signed ? i.u(1) : i.u(1) & 0xffff);
      });
    }
  }
  add("s_cmp_eq_u64", 0, 64, 64, [](const In& i) { return Outcome{{}, i.a == i.b}; });
  add("s_cmp_lg_u64", 0, 64, 64, [](const In& i) { return Outcome{{}, i.a != i.b}; });
  return rows;
}
const std::vector<Row> kRows = make_rows();
const Tests kTested(kRows);

std::string scalars(unsigned at, int bits) {
  return bits == 64 ? fmt::format("s[{}:{}]", at, at + 1) : fmt::format("s{}", at);
}

uint64_t new_exec(const std::string& mnemonic, uint64_t s, uint64_t e) {
  if (mnemonic.find("exec") == std::string::npos) return e;
  const auto is = [&](const char* stem) { return mnemonic.starts_with(stem); };
  if (is("s_and_")) return s & e;
  if (is("s_or_")) return s | e;
  if (is("s_xor_")) return s ^ e;
  if (is("s_andn2_")) return s & ~e;
  if (is("s_orn2_")) return s | ~e;
  if (is("s_nand_")) return ~(s & e);
  if (is("s_nor_")) return ~(s | e);
  if (is("s_xnor_")) return ~(s ^ e);
  return is("s_andn1_") ? ~s & e : ~s | e;
}

class Scalar : public ::testing::TestWithParam<Row> {};

TEST_P(Scalar, AgreesWithPlainIntegers) {
  const Row& row = GetParam();
  std::mt19937_64 random(std::hash<std::string>{}(row.mnemonic));
  SingleWave wave;
  const bool constant = row.b_bits == 16;
  for (int trial = 0; trial < 60; ++trial) {
    In in{};
    in.a = random_operand(row.a_bits == 64 ? Kind::kI64 : Kind::kI32, random);
    in.b = random_operand(row.b_bits == 64 ? Kind::kI64 : Kind::kI32, random);
    if (trial % 4 == 0) in.b = in.a & low(row.b_bits == 64 ? 64 : 32);
    in.old = random_operand(row.result_bits == 64 ? Kind::kI64 : Kind::kI32, random);
    in.scc = random() & 1;
    in.exec = random();
    std::string text = row.mnemonic;
    if (constant) {
      in.b = static_cast<uint64_t>(static_cast<int16_t>(random()));
      if (trial % 4 == 0) in.old = in.b & 0xffffffff;
      text += fmt::format(" s20, {:#x}", in.b & 0xffff);
    } else {
      if (row.result_bits) text += fmt::format(" {},", scalars(20, row.result_bits));
      text += fmt::format(" {}", scalars(10, row.a_bits));
      if (row.b_bits) text += fmt::format(", {}", scalars(12, row.b_bits));
    }
    wave.set_s64(10, in.a);
    wave.set_s64(12, in.b);
    wave.set_s64(20, in.old);
    wave.s(22) = 0x77777777;
    wave.scc() = in.scc;
    wave.set_exec(in.exec);
    wave.run(text);
    const Outcome expected = row.expected(in);
    const int bits = row.result_bits ? row.result_bits : 32;
    const std::string where = fmt::format("{} with {:#x} {:#x} old {:#x} scc {} exec {:#x}", text, in.a, in.b,
                                          in.old, in.scc, in.exec);
    ASSERT_EQ(wave.s64(20) & low(bits), expected.result.value_or(in.old) & low(bits)) << where;
    ASSERT_EQ(wave.scc(), expected.scc.value_or(in.scc)) << where;
    ASSERT_EQ(wave.exec(), new_exec(row.mnemonic, in.a, in.exec)) << where;
    ASSERT_EQ(wave.s(22), 0x77777777u) << where;
  }
}
INSTANTIATE_TEST_SUITE_P(Rows, Scalar, ::testing::ValuesIn(kRows),
                         [](const auto& row) { return row.param.mnemonic; });

TEST(ScalarOperands, ConstantsAndSpecialRegisters) {
  SingleWave wave;
  wave.set_s64(106, 0);
  wave.scc() = 1;
  wave.run(
      "s_mov_b32 s0, 64\ns_mov_b32 s1, -16\ns_mov_b32 s2, 0.5\ns_mov_b32 s3, 0xdeadbeef\ns_mov_b64 s[4:5], "
      "-3\n"
      "s_mov_b64 s[6:7], 1.0\ns_mov_b32 s8, src_scc\ns_mov_b64 s[10:11], src_shared_base\ns_mov_b64 "
      "s[12:13], src_private_base\n"
      "s_mov_b32 m0, 17\ns_mov_b32 s14, m0\ns_mov_b64 s[16:17], 0x12345678\ns_mov_b32 s15, "
      "0.15915494309189532");
  EXPECT_EQ(wave.s(0), 64u);
  EXPECT_EQ(wave.s(1), 0xfffffff0u);
  EXPECT_EQ(wave.s(2), 0x3f000000u);
  EXPECT_EQ(wave.s(3), 0xdeadbeefu);
  EXPECT_EQ(wave.s64(4), ~uint64_t{2});
  EXPECT_EQ(wave.s64(6), uint64_t{0x3ff00000} << 32);
  EXPECT_EQ(wave.s(8), 1u);
  EXPECT_EQ(wave.s64(10), kSharedAperture);
  EXPECT_EQ(wave.s64(12), kPrivateAperture);
  EXPECT_EQ(wave.s(14), 17u);
  EXPECT_EQ(wave.s64(16), 0x12345678u);
  EXPECT_EQ(wave.s(15), 0x3e22f983u);
}

const Tests kRelative{"s_movrels_b32", "s_movrels_b64", "s_movreld_b32", "s_movreld_b64"};
TEST(ScalarRelative, AddsM0ToTheRegisterNumber) {
  SingleWave wave;
  wave.s(124) = 2;
  for (unsigned i = 0; i < 20; ++i) wave.s(i) = 100 + i;
  wave.run(
      "s_movrels_b32 s20, s3\ns_movrels_b64 s[22:23], s[4:5]\ns_movreld_b32 s30, s7\ns_movreld_b64 s[40:41], "
      "s[8:9]");
  EXPECT_EQ(wave.s(20), 105u);
  EXPECT_EQ(wave.s64(22), uint64_t{107} << 32 | 106);
  EXPECT_EQ(wave.s(32), 107u);
  EXPECT_EQ(wave.s64(42), uint64_t{109} << 32 | 108);
}

}  // namespace
}  // namespace mhcheck::simulator::testing

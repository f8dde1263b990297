#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <random>

#include "tests/simulator/single_wave.h"
#include "tests/simulator/tested_mnemonics.h"

namespace mhcheck::simulator::testing {
namespace {

constexpr uint64_t kAll = ~uint64_t{0}, kSome = 0xf0f0ff00a5c3e71fu;

void fill(SingleWave& wave, uint64_t exec) {
  std::mt19937 random(7);
  for (unsigned reg = 0; reg < 12; ++reg) {
    for (int lane = 0; lane < kLanes; ++lane) wave.v(reg, lane) = static_cast<uint32_t>(random());
  }
  wave.set_exec(exec);
}
std::vector<uint32_t> lanes(SingleWave& wave, unsigned reg) {
  std::vector<uint32_t> values(kLanes);
  for (int lane = 0; lane < kLanes; ++lane) values[static_cast<size_t>(lane)] = wave.v(reg, lane);
  return values;
}

// ---- DPP: every control, against the table of gfx950.md written as a search: which lane's value arrives?

struct DppCase {
  std::string control;
  std::function<int(int)> source;  // -1: none
};
std::vector<DppCase> dpp_cases() {
  std::vector<DppCase> cases;
  const auto in_row = [](int lane, int to) { return to < 0 || to > 15 ? -1 : lane - lane % 16 + to; };
  for (int n = 1; n < 16; ++n) {
    cases.push_back({fmt::format("row_shl:{}", n), [=](int l) { return in_row(l, l % 16 + n); }});
    cases.push_back({fmt::format("row_shr:{}", n), [=](int l) { return in_row(l, l % 16 - n); }});
    cases.push_back({fmt::format("row_ror:{}", n), [=](int l) { return in_row(l, (l % 16 + 16 - n) % 16); }});
  }
  for (int n = 0; n < 16; ++n)
    cases.push_back({fmt::format("row_newbcast:{}", n), [=](int l) { return in_row(l, n); }});
  cases.push_back({"quad_perm:[1,1,3,0]", [](int l) {
                     return l - l % 4 + std::array{1, 1, 3, 0}[static_cast<size_t>(l % 4)];
                   }});
  cases.push_back({"wave_shl:1", [](int l) { return l == 63 ? -1 : l + 1; }});
  cases.push_back({"wave_rol:1", [](int l) { return l == 63 ? 0 : l + 1; }});
  cases.push_back({"wave_shr:1", [](int l) { return l - 1; }});
  cases.push_back({"wave_ror:1", [](int l) { return l == 0 ? 63 : l - 1; }});
  cases.push_back({"row_mirror", [=](int l) { return in_row(l, 15 - l % 16); }});
  cases.push_back({"row_half_mirror", [=](int l) { return in_row(l, l % 16 < 8 ? 7 - l % 8 : 15 - l % 8); }});
  cases.push_back({"row_bcast:15", [](int l) { return l < 16 ? -1 : l / 16 * 16 - 1; }});
  cases.push_back({"row_bcast:31", [](int l) { return l < 32 ? -1 : 31; }});
  return cases;
}

TEST(Dpp, EveryControlReadsTheRightLane) {
  for (const DppCase& c : dpp_cases()) {
    for (bool zero : {false, true}) {
      for (uint64_t exec : {kAll, kSome}) {
        SingleWave wave;
        fill(wave, exec);
        const auto old = lanes(wave, 0), from = lanes(wave, 1);
        wave.run(fmt::format("v_mov_b32_dpp v0, v1 {} row_mask:0xd bank_mask:0x7{}", c.control,
                             zero ? " bound_ctrl:1" : ""));
        for (int l = 0; l < kLanes; ++l) {
          const int source = c.source(l);
          const bool valid = source >= 0 && exec >> source & 1;
          const bool enabled = exec >> l & 1 && l / 16 != 1 && l / 4 % 4 != 3;
          const auto i = static_cast<size_t>(l);
          const uint32_t expected = !enabled ? old[i]
                                    : valid  ? from[static_cast<size_t>(source)]
                                    : zero   ? 0
                                             : old[i];
          ASSERT_EQ(wave.v(0, l), expected) << c.control << (zero ? " zero" : "") << " lane " << l;
        }
      }
    }
  }
}

TEST(Dpp, SixtyFourBitOperandsTakeARowBroadcast) {
  SingleWave wave;
  fill(wave, kAll);
  const auto low = lanes(wave, 2), high = lanes(wave, 3);
  wave.run("v_mov_b64_dpp v[0:1], v[2:3] row_newbcast:5 row_mask:0xf bank_mask:0xf");
  for (int l = 0; l < kLanes; ++l) {
    const auto from = static_cast<size_t>(l / 16 * 16 + 5);
    ASSERT_EQ(wave.v64(0, l), low[from] | static_cast<uint64_t>(high[from]) << 32);
  }
}

// ---- Lanes and scalar registers

const Tests kScalars{"v_readfirstlane_b32", "v_readlane_b32", "v_writelane_b32"};
TEST(LaneScalars, ReadAndWriteOneLane) {
  SingleWave wave;
  fill(wave, kSome << 3);
  const auto v1 = lanes(wave, 1);
  wave.s(5) = 64 + 9;  // modulo 64
  wave.s(6) = 0xabcd;
  wave.run(
      "v_readfirstlane_b32 s0, v1\nv_readlane_b32 s1, v1, s5\nv_readlane_b32 s2, v1, 63\nv_writelane_b32 v2, "
      "s6, 2");
  EXPECT_EQ(wave.s(0), v1[3]);
  EXPECT_EQ(wave.s(1), v1[9]);
  EXPECT_EQ(wave.s(2), v1[63]);
  EXPECT_EQ(wave.v(2, 2), 0xabcdu);  // lane 2 is inactive: EXEC does not matter
  wave.set_exec(0);
  wave.run("v_readfirstlane_b32 s3, v1");
  EXPECT_EQ(wave.s(3), v1[0]);
}

const Tests kSwaps{"v_swap_b32", "v_permlane32_swap_b32", "v_permlane16_swap_b32"};
TEST(Swaps, ExchangeTheHalvesAndRowsThatTheyName) {
  const struct {
    const char* text;
    std::function<int(int)> to_source;
  } cases[] = {{"v_swap_b32 v0, v1", [](int l) { return l; }},
               {"v_permlane32_swap_b32 v0, v1", [](int l) { return l >= 32 ? l - 32 : -1; }},
               {"v_permlane16_swap_b32 v0, v1", [](int l) { return l / 16 % 2 == 1 ? l - 16 : -1; }}};
  for (const auto& c : cases) {
    SingleWave wave;
    fill(wave, kAll);
    auto d = lanes(wave, 0), s = lanes(wave, 1);
    for (int l = 0; l < kLanes; ++l) {
      if (c.to_source(l) >= 0) std::swap(d[static_cast<size_t>(l)], s[static_cast<size_t>(c.to_source(l))]);
    }
    wave.run(c.text);
    EXPECT_EQ(lanes(wave, 0), d) << c.text;
    EXPECT_EQ(lanes(wave, 1), s) << c.text;
  }
}

// ---- The LDS crossbar

const Tests kCrossbar{"ds_bpermute_b32", "ds_permute_b32", "ds_swizzle_b32"};
TEST(Crossbar, BackwardPermutePulls) {
  for (uint64_t exec : {kAll, kSome}) {
    SingleWave wave;
    fill(wave, exec);
    const auto address = lanes(wave, 1), data = lanes(wave, 2), old = lanes(wave, 0);
    wave.run("ds_bpermute_b32 v0, v1, v2 offset:8");
    for (size_t l = 0; l < 64; ++l) {
      const size_t from = (address[l] + 8) / 4 % 64;
      EXPECT_EQ(wave.v(0, static_cast<int>(l)), exec >> l & 1 ? (exec >> from & 1 ? data[from] : 0) : old[l]);
    }
  }
}
TEST(Crossbar, ForwardPermutePushesAndTheHighestLaneWins) {
  for (uint64_t exec : {kAll, kSome}) {
    SingleWave wave;
    fill(wave, exec);
    const auto address = lanes(wave, 1), data = lanes(wave, 2), old = lanes(wave, 0);
    wave.run("ds_permute_b32 v0, v1, v2");
    for (size_t l = 0; l < 64; ++l) {
      uint32_t expected = 0;
      for (size_t from = 0; from < 64; ++from) {
        if (exec >> from & 1 && address[from] / 4 % 64 == l) expected = data[from];
      }
      EXPECT_EQ(wave.v(0, static_cast<int>(l)), exec >> l & 1 ? expected : old[l]);
    }
  }
}
TEST(Crossbar, SwizzlePatterns) {
  const struct {
    const char* pattern;
    std::function<int(int)> source;
  } cases[] = {
      {"swizzle(QUAD_PERM, 2, 0, 3, 1)",
       [](int l) {
         return l - l % 4 + std::array{2, 0, 3, 1}[static_cast<size_t>(l % 4)];
       }},
      {"swizzle(SWAP, 4)", [](int l) { return l ^ 4; }},
      {"swizzle(REVERSE, 8)", [](int l) { return l - l % 8 + 7 - l % 8; }},
      {"swizzle(BROADCAST, 16, 5)", [](int l) { return l - l % 16 + 5; }},
      {"swizzle(BITMASK_PERM, \"01pi0\")", [](int l) { return l / 32 * 32 + (8 | (l & 4) | (~l & 2)); }}};
  for (const auto& c : cases) {
    SingleWave wave;
    fill(wave, kAll);
    const auto data = lanes(wave, 1);
    wave.run(fmt::format("ds_swizzle_b32 v0, v1 offset:{}", c.pattern));
    for (int l = 0; l < kLanes; ++l)
      EXPECT_EQ(wave.v(0, l), data[static_cast<size_t>(c.source(l))]) << c.pattern << " lane " << l;
  }
}

// ---- Conditional moves, AGPRs, masks

const Tests kSelections{"v_cndmask_b32", "v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32"};
TEST(Selection, TakesTheSecondOperandWhereTheMaskIsSet) {
  SingleWave wave;
  fill(wave, kSome);
  const auto a = lanes(wave, 1), b = lanes(wave, 2), old = lanes(wave, 0), old3 = lanes(wave, 3);
  const uint64_t mask = 0x123456789abcdef0u, vcc = ~mask * 3;
  wave.set_s64(20, mask);
  wave.set_s64(106, vcc);
  wave.run(
      "v_cndmask_b32_e64 v0, v1, v2, s[20:21]\nv_cndmask_b32_e32 v3, v1, v2, vcc\nv_cndmask_b32_e64 v4, -v1, "
      "|v2|, s[20:21]");
  for (size_t l = 0; l < 64; ++l) {
    const bool active = kSome >> l & 1;
    EXPECT_EQ(wave.v(0, static_cast<int>(l)), active ? (mask >> l & 1 ? b[l] : a[l]) : old[l]);
    EXPECT_EQ(wave.v(3, static_cast<int>(l)), active ? (vcc >> l & 1 ? b[l] : a[l]) : old3[l]);
    if (active) {
      EXPECT_EQ(wave.v(4, static_cast<int>(l)), mask >> l & 1 ? b[l] & 0x7fffffff : a[l] ^ 0x80000000);
    }
  }
}
TEST(Accumulators, AreAFileOfTheirOwn) {
  SingleWave wave;
  fill(wave, kAll);
  const auto v1 = lanes(wave, 1);
  for (int l = 0; l < kLanes; ++l) wave.a(1, l) = 5;
  wave.run(
      "v_accvgpr_write_b32 a3, v1\nv_accvgpr_mov_b32 a4, a3\nv_accvgpr_read_b32 v0, a4\nv_accvgpr_write_b32 "
      "a5, 1.0");
  for (int l = 0; l < kLanes; ++l) {
    EXPECT_EQ(wave.v(0, l), v1[static_cast<size_t>(l)]);
    EXPECT_EQ(wave.a(1, l), 5u);
    EXPECT_EQ(wave.a(5, l), 0x3f800000u);
  }
}

// ---- Carries, and multiplications that carry

const Tests kCarries{"v_add_co_u32",  "v_sub_co_u32",     "v_subrev_co_u32", "v_addc_co_u32",
                     "v_subb_co_u32", "v_subbrev_co_u32", "v_mad_u64_u32",   "v_mad_i64_i32"};
TEST(Carries, MakeSixtyFourBitSums) {
  __extension__ using Wide = __int128;
  SingleWave wave;
  for (uint64_t exec : {kAll, kSome}) {
    fill(wave, exec);
    wave.v(2, 0) = ~0u;  // carries through
    std::vector<uint64_t> a(64), b(64);
    for (int l = 0; l < kLanes; ++l)
      a[static_cast<size_t>(l)] = wave.v64(2, l), b[static_cast<size_t>(l)] = wave.v64(4, l);
    wave.run(
        "v_add_co_u32_e32 v6, vcc, v2, v4\nv_addc_co_u32_e64 v7, s[20:21], v3, v5, vcc\n"
        "v_sub_co_u32_e64 v8, s[22:23], v2, v4\nv_subb_co_u32_e64 v9, s[24:25], v3, v5, s[22:23]\n"
        "v_subrev_co_u32_e32 v10, vcc, v2, v4\nv_subbrev_co_u32_e32 v11, vcc, v3, v5, vcc");
    for (size_t l = 0; l < 64; ++l) {
      if (!(exec >> l & 1)) {
        EXPECT_EQ(wave.s64(20) >> l & 1, 0u);
        continue;
      }
      const int lane = static_cast<int>(l);
      EXPECT_EQ(wave.v64(6, lane), a[l] + b[l]);
      EXPECT_EQ(wave.s64(20) >> l & 1, (Wide{a[l]} + b[l]) >> 64 != 0);
      EXPECT_EQ(wave.v64(8, lane), a[l] - b[l]);
      EXPECT_EQ(wave.s64(24) >> l & 1, a[l] < b[l]);
      EXPECT_EQ(wave.v64(10, lane), b[l] - a[l]);
      EXPECT_EQ(wave.s64(106) >> l & 1, b[l] < a[l]);
    }
  }
}
TEST(Carries, WideMultiplyAddsOverflowIntoTheMask) {
  __extension__ using Wide = __int128;
  __extension__ using UnsignedWide = unsigned __int128;
  SingleWave wave;
  fill(wave, kAll);
  std::vector<uint64_t> c(64);
  std::vector<uint32_t> a = lanes(wave, 2), b = lanes(wave, 3);
  for (int l = 0; l < kLanes; ++l) c[static_cast<size_t>(l)] = wave.v64(4, l);
  wave.run("v_mad_u64_u32 v[6:7], s[20:21], v2, v3, v[4:5]\nv_mad_i64_i32 v[8:9], s[22:23], v2, v3, v[4:5]");
  for (size_t l = 0; l < 64; ++l) {
    const UnsignedWide sum = UnsignedWide{a[l]} * b[l] + c[l];
    const Wide signed_sum =
        Wide{static_cast<int32_t>(a[l])} * static_cast<int32_t>(b[l]) + static_cast<int64_t>(c[l]);
    EXPECT_EQ(wave.v64(6, static_cast<int>(l)), static_cast<uint64_t>(sum));
    EXPECT_EQ(wave.s64(20) >> l & 1, static_cast<uint64_t>(sum >> 64));
    EXPECT_EQ(wave.v64(8, static_cast<int>(l)), static_cast<uint64_t>(signed_sum));
    EXPECT_EQ(wave.s64(22) >> l & 1, signed_sum != static_cast<int64_t>(signed_sum));
  }
}

const Tests kTables{"v_bitop3_b32", "v_bitop3_b16"};
TEST(BitOperation, FollowsItsTruthTable) {
  for (unsigned table : {0x36u, 0xc8u, 0x6cu, 0x78u, 0x01u, 0x80u, 0xf0u, 0xccu, 0xaau}) {
    SingleWave wave;
    fill(wave, kAll);
    const auto a = lanes(wave, 1), b = lanes(wave, 2), c = lanes(wave, 3);
    wave.run(fmt::format("v_bitop3_b32 v0, v1, v2, v3 bitop3:{:#x}\nv_bitop3_b16 v4, v1, v2, v3 bitop3:{:#x}",
                         table, table));
    for (size_t l = 0; l < 64; ++l) {
      uint32_t expected = 0;
      for (int bit = 0; bit < 32; ++bit) {
        const unsigned index = (a[l] >> bit & 1) << 2 | (b[l] >> bit & 1) << 1 | (c[l] >> bit & 1);
        expected |= (table >> index & 1) << bit;
      }
      ASSERT_EQ(wave.v(0, static_cast<int>(l)), expected) << table;
      ASSERT_EQ(wave.v(4, static_cast<int>(l)), expected & 0xffff) << table;
    }
  }
}

}  // namespace
}  // namespace mhcheck::simulator::testing

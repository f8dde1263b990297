#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "tests/simulator/single_wave.h"
#include "tests/simulator/tested_mnemonics.h"

namespace mhcheck::simulator::testing {
namespace {

constexpr uint64_t kSome = 0xf0f0ff00a5c3e71fu;
constexpr uint32_t kSize = 8192;

// LDS full of random bytes, and the same bytes here.
class Lds : public ::testing::Test {
 protected:
  void SetUp() override {
    for (std::byte& byte : bytes_) byte = static_cast<std::byte>(random_());
    std::memcpy(wave_.lds(), bytes_.data(), bytes_.size());
    for (unsigned reg = 0; reg < 24; ++reg) {
      for (int lane = 0; lane < kLanes; ++lane) wave_.v(reg, lane) = static_cast<uint32_t>(random_());
    }
    wave_.set_exec(kSome);
  }
  void set_addresses(std::function<uint32_t(int)> address) {
    for (int lane = 0; lane < kLanes; ++lane) wave_.v(1, lane) = address(lane);
  }
  uint64_t read(uint64_t at, unsigned count) const {
    uint64_t value = 0;
    if (at + count <= kSize) std::memcpy(&value, &bytes_[at], count);
    return value;
  }
  static bool active(int lane) { return kSome >> lane & 1; }

  std::mt19937 random_{11};
  SingleWave wave_{kSize};
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kSize);
};

struct Read {
  const char* mnemonic;
  unsigned bytes;
  std::function<uint32_t(uint32_t, uint32_t)> widen;  // (memory, old register) for what is no whole dword
};
const std::vector<Read> kReads = {
    {"ds_read_b32", 4, {}},
    {"ds_read_b64", 8, {}},
    {"ds_read_b96", 12, {}},
    {"ds_read_b128", 16, {}},
    {"ds_read_u8", 1, [](uint32_t m, uint32_t) { return m; }},
    {"ds_read_i8", 1, [](uint32_t m, uint32_t) { return (m ^ 0x80) - 0x80; }},
    {"ds_read_u16", 2, [](uint32_t m, uint32_t) { return m; }},
    {"ds_read_i16", 2, [](uint32_t m, uint32_t) { return (m ^ 0x8000) - 0x8000; }},
    {"ds_read_u8_d16", 1, [](uint32_t m, uint32_t old) { return (old & 0xffff0000) | m; }},
    {"ds_read_u8_d16_hi", 1, [](uint32_t m, uint32_t old) { return (old & 0xffff) | m << 16; }},
    {"ds_read_i8_d16", 1,
     [](uint32_t m, uint32_t old) { return (old & 0xffff0000) | (((m ^ 0x80) - 0x80) & 0xffff); }},
    {"ds_read_i8_d16_hi", 1,
     [](uint32_t m, uint32_t old) { return (old & 0xffff) | ((m ^ 0x80) - 0x80) << 16; }},
    {"ds_read_u16_d16", 2, [](uint32_t m, uint32_t old) { return (old & 0xffff0000) | m; }},
    {"ds_read_u16_d16_hi", 2, [](uint32_t m, uint32_t old) { return (old & 0xffff) | m << 16; }}};
const Tests kReadTests(kReads);

std::string tuple(unsigned first, unsigned bytes) {
  return bytes <= 4 ? fmt::format("v{}", first) : fmt::format("v[{}:{}]", first, first + bytes / 4 - 1);
}

TEST_F(Lds, ReadsEveryWidthAndNothingBeyondItsEnd) {
  for (const Read& c : kReads) {
    SetUp();
    set_addresses([](int lane) {
      return lane == 2   ? static_cast<uint32_t>(-24)
             : lane == 3 ? kSize - 8
             : lane == 8 ? static_cast<uint32_t>(-20)
             : lane == 9 ? kSize + 100
                         : static_cast<uint32_t>(lane * 37 % 4000);
    });
    uint32_t old[4][kLanes];
    for (unsigned r = 0; r < 4; ++r)
      for (int l = 0; l < kLanes; ++l) old[r][l] = wave_.v(4 + r, l);
    wave_.run(fmt::format("{} {}, v1 offset:24", c.mnemonic, tuple(4, c.bytes)));
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint64_t at = wave_.v(1, lane) + 24;  // 32 bits: compilers fold offsets into negative bases
      for (unsigned r = 0; r < (c.bytes + 3) / 4; ++r) {
        uint32_t expected = old[r][lane];
        const bool inside = at + c.bytes <= kSize;
        if (active(lane) && c.widen) expected = c.widen(static_cast<uint32_t>(read(at, c.bytes)), expected);
        if (active(lane) && !c.widen) expected = inside ? static_cast<uint32_t>(read(at + 4 * r, 4)) : 0;
        ASSERT_EQ(wave_.v(4 + r, lane), expected) << c.mnemonic << " lane " << lane;
      }
    }
  }
}

struct Write {
  const char* mnemonic;
  unsigned bytes;
  unsigned shift;
};
const std::vector<Write> kWrites = {{"ds_write_b8", 1, 0},   {"ds_write_b8_d16_hi", 1, 16},
                                    {"ds_write_b16", 2, 0},  {"ds_write_b16_d16_hi", 2, 16},
                                    {"ds_write_b32", 4, 0},  {"ds_write_b64", 8, 0},
                                    {"ds_write_b96", 12, 0}, {"ds_write_b128", 16, 0}};
const Tests kWriteTests(kWrites);

TEST_F(Lds, WritesEveryWidthAndNothingBeyondItsEnd) {
  for (const Write& c : kWrites) {
    SetUp();
    set_addresses([](int lane) {
      return lane == 2   ? static_cast<uint32_t>(-12)
             : lane == 3 ? kSize + 4
                         : static_cast<uint32_t>(lane * 64 + lane % 3);
    });
    wave_.run(fmt::format("{} v1, {} offset:16", c.mnemonic, tuple(4, c.bytes)));
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint64_t at = wave_.v(1, lane) + 16;
      if (!active(lane) || at + c.bytes > kSize) continue;
      for (unsigned b = 0; b < c.bytes; ++b)
        bytes_[at + b] = static_cast<std::byte>(wave_.v(4 + b / 4, lane) >> c.shift >> (8 * (b % 4)));
    }
    ASSERT_EQ(std::memcmp(wave_.lds(), bytes_.data(), kSize), 0) << c.mnemonic;
  }
}

const Tests kPairs{"ds_read2_b32",       "ds_read2_b64",           "ds_read2st64_b32",
                   "ds_read2st64_b64",   "ds_write2_b32",          "ds_write2_b64",
                   "ds_write2st64_b32",  "ds_write2st64_b64",      "ds_wrxchg2_rtn_b32",
                   "ds_wrxchg2_rtn_b64", "ds_wrxchg2st64_rtn_b32", "ds_wrxchg2st64_rtn_b64"};
TEST_F(Lds, PairedAccessesScaleTheirOffsets) {
  for (unsigned bytes : {4u, 8u}) {
    for (bool st64 : {false, true}) {
      const std::string suffix = fmt::format("{}_b{}", st64 ? "2st64" : "2", 8 * bytes);
      const unsigned scale = bytes * (st64 ? 64 : 1), offsets[] = {st64 ? 3u : 9u, st64 ? 1u : 200u};
      for (const char* kind : {"ds_read", "ds_write", "ds_wrxchg"}) {
        SetUp();
        set_addresses([&](int lane) { return static_cast<uint32_t>(lane) * bytes; });
        const bool writes = std::string(kind) != "ds_read", reads = std::string(kind) != "ds_write";
        std::string text = fmt::format("{}{} ", kind, suffix);
        if (std::string(kind) == "ds_wrxchg")
          text = fmt::format("ds_wrxchg{}_rtn_b{} ", st64 ? "2st64" : "2", 8 * bytes);
        if (reads) text += tuple(12, 2 * bytes) + ", ";
        text += "v1";
        if (writes) text += ", " + tuple(4, bytes) + ", " + tuple(8, bytes);
        wave_.run(fmt::format("{} offset0:{} offset1:{}", text, offsets[0], offsets[1]));
        for (int lane = 0; lane < kLanes; ++lane) {
          if (!active(lane)) continue;
          for (unsigned which = 0; which < 2 && reads; ++which) {
            const uint64_t at = wave_.v(1, lane) + offsets[which] * scale;
            for (unsigned r = 0; r < bytes / 4; ++r)
              ASSERT_EQ(wave_.v(12 + which * bytes / 4 + r, lane), read(at + 4 * r, 4)) << text;
          }
        }
        for (unsigned which = 0; which < 2 && writes; ++which) {
          for (int lane = 0; lane < kLanes; ++lane) {
            const uint64_t at = wave_.v(1, lane) + offsets[which] * scale;
            if (!active(lane)) continue;
            for (unsigned r = 0; r < bytes / 4; ++r) {
              const uint32_t word = wave_.v((which ? 8 : 4) + r, lane);
              std::memcpy(&bytes_[at + 4 * r], &word, 4);
            }
          }
        }
        ASSERT_EQ(std::memcmp(wave_.lds(), bytes_.data(), kSize), 0) << text;
      }
    }
  }
}

// ---- Atomics: old value and operands to new value

template <class T>
T as(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
uint64_t bits(T value) {
  uint64_t raw = 0;
  std::memcpy(&raw, &value, sizeof value);
  return raw;
}

struct Atomic {
  std::string mnemonic;
  unsigned bytes;
  std::function<uint64_t(uint64_t, uint64_t, uint64_t)> update;
  bool two_operands = false;
};
std::vector<Atomic> atomics() {
  std::vector<Atomic> list;
  const auto both = [&](const std::string& name, const std::string& type, unsigned bytes,
                        std::function<uint64_t(uint64_t, uint64_t, uint64_t)> f, bool two = false) {
    list.push_back({fmt::format("ds_{}_{}", name, type), bytes, f, two});
    list.push_back({fmt::format("ds_{}_rtn_{}", name, type), bytes, f, two});
  };
  for (unsigned n : {4u, 8u}) {
    const std::string u = fmt::format("u{}", 8 * n), b = fmt::format("b{}", 8 * n),
                      i = fmt::format("i{}", 8 * n);
    const int64_t flip = n == 4 ? 0x80000000ll : INT64_MIN;
    const auto less = [flip](uint64_t x, uint64_t y) {
      return (x ^ static_cast<uint64_t>(flip)) < (y ^ static_cast<uint64_t>(flip));
    };
    both("add", u, n, [](uint64_t o, uint64_t d, uint64_t) { return o + d; });
    both("sub", u, n, [](uint64_t o, uint64_t d, uint64_t) { return o - d; });
    both("rsub", u, n, [](uint64_t o, uint64_t d, uint64_t) { return d - o; });
    both("inc", u, n, [](uint64_t o, uint64_t d, uint64_t) { return o >= d ? 0 : o + 1; });
    both("dec", u, n, [](uint64_t o, uint64_t d, uint64_t) { return o == 0 || o > d ? d : o - 1; });
    both("min", i, n, [less](uint64_t o, uint64_t d, uint64_t) { return less(d, o) ? d : o; });
    both("max", i, n, [less](uint64_t o, uint64_t d, uint64_t) { return less(o, d) ? d : o; });
    both("min", u, n, [](uint64_t o, uint64_t d, uint64_t) { return std::min(o, d); });
    both("max", u, n, [](uint64_t o, uint64_t d, uint64_t) { return std::max(o, d); });
    both("and", b, n, [](uint64_t o, uint64_t d, uint64_t) { return o & d; });
    both("or", b, n, [](uint64_t o, uint64_t d, uint64_t) { return o | d; });
    both("xor", b, n, [](uint64_t o, uint64_t d, uint64_t) { return o ^ d; });
    both(
        "mskor", b, n, [](uint64_t o, uint64_t d, uint64_t e) { return (o & ~d) | e; }, true);
    both(
        "cmpst", b, n, [](uint64_t o, uint64_t d, uint64_t e) { return o == d ? e : o; }, true);
    list.push_back({fmt::format("ds_wrxchg_rtn_{}", b), n, [](uint64_t, uint64_t d, uint64_t) { return d; }});
  }
  list.push_back({"ds_wrap_rtn_b32", 4,
                  [](uint64_t o, uint64_t d, uint64_t e) { return o >= d ? o - d : o + e; }, true});
  both("add", "f32", 4, [](uint64_t o, uint64_t d, uint64_t) { return bits(as<float>(o) + as<float>(d)); });
  both("add", "f64", 8, [](uint64_t o, uint64_t d, uint64_t) { return bits(as<double>(o) + as<double>(d)); });
  both("min", "f32", 4,
       [](uint64_t o, uint64_t d, uint64_t) { return bits(std::fmin(as<float>(o), as<float>(d))); });
  both("max", "f32", 4,
       [](uint64_t o, uint64_t d, uint64_t) { return bits(std::fmax(as<float>(o), as<float>(d))); });
  both("min", "f64", 8,
       [](uint64_t o, uint64_t d, uint64_t) { return bits(std::fmin(as<double>(o), as<double>(d))); });
  both("max", "f64", 8,
       [](uint64_t o, uint64_t d, uint64_t) { return bits(std::fmax(as<double>(o), as<double>(d))); });
  return list;
}
const Tests kAtomicTests(atomics());

TEST_F(Lds, AtomicsUpdateInLaneOrderAndReturnTheOldValue) {
  for (const Atomic& c : atomics()) {
    SetUp();
    set_addresses([&](int lane) { return static_cast<uint32_t>(lane % 24) * 8; });  // several lanes meet
    const bool floats = c.mnemonic.find("_f") != std::string::npos;
    const uint64_t low = c.bytes == 4 ? 0xffffffffu : ~uint64_t{0};
    for (uint32_t at = 0; at < 24 * 8; at += 8) {  // moderate numbers, and equal ones for the comparisons
      const uint64_t value = !floats        ? random_() % 7
                             : c.bytes == 4 ? bits(static_cast<float>(random_() % 100))
                                            : bits(static_cast<double>(random_() % 100));
      std::memcpy(&bytes_[at], &value, 8);
    }
    std::memcpy(wave_.lds(), bytes_.data(), kSize);
    for (int lane = 0; lane < kLanes; ++lane) {
      wave_.set_v64(4, lane,
                    !floats        ? random_() % 7
                    : c.bytes == 4 ? bits(1.5f * static_cast<float>(lane))
                                   : bits(1.5 * lane));
      wave_.set_v64(6, lane, random_());
    }
    const bool returns = c.mnemonic.find("_rtn_") != std::string::npos;
    std::string text = c.mnemonic + " ";
    if (returns) text += tuple(12, c.bytes) + ", ";
    text += "v1, " + tuple(4, c.bytes);
    if (c.two_operands) text += ", " + tuple(6, c.bytes);
    wave_.run(text);
    for (int lane = 0; lane < kLanes; ++lane) {
      if (!active(lane)) continue;
      const uint64_t at = wave_.v(1, lane), old = read(at, c.bytes);
      const uint64_t updated = c.update(old, wave_.v64(4, lane) & low, wave_.v64(6, lane) & low);
      std::memcpy(&bytes_[at], &updated, c.bytes);
      if (returns) {
        ASSERT_EQ(wave_.v64(12, lane) & low, old) << text << " lane " << lane;
      }
    }
    ASSERT_EQ(std::memcmp(wave_.lds(), bytes_.data(), kSize), 0) << text;
  }
}

const Tests kPackedAdds{"ds_pk_add_f16", "ds_pk_add_rtn_f16", "ds_pk_add_bf16", "ds_pk_add_rtn_bf16"};
TEST_F(Lds, PackedAtomicsAddBothHalves) {
  const struct {
    const char* mnemonic;
    uint32_t one_two, three_half;
    uint32_t sum;
  } cases[] = {{"ds_pk_add_f16 v1, v4", 0x40003c00, 0x38004200, 0x41004400},  // {1, 2} + {3, 0.5} = {4, 2.5}
               {"ds_pk_add_rtn_f16 v12, v1, v4", 0x40003c00, 0x38004200, 0x41004400},
               {"ds_pk_add_bf16 v1, v4", 0x40003f80, 0x3f004040, 0x40204080},
               {"ds_pk_add_rtn_bf16 v12, v1, v4", 0x40003f80, 0x3f004040, 0x40204080}};
  for (const auto& c : cases) {
    SetUp();
    set_addresses([](int lane) { return static_cast<uint32_t>(lane) * 4; });
    for (int lane = 0; lane < kLanes; ++lane) {
      std::memcpy(wave_.lds() + 4 * lane, &c.one_two, 4);
      wave_.v(4, lane) = c.three_half;
    }
    wave_.run(c.mnemonic);
    for (int lane = 0; lane < kLanes; ++lane) {
      uint32_t word;
      std::memcpy(&word, wave_.lds() + 4 * lane, 4);
      EXPECT_EQ(word, active(lane) ? c.sum : c.one_two) << c.mnemonic;
      if (active(lane) && std::string(c.mnemonic).find("rtn") != std::string::npos) {
        EXPECT_EQ(wave_.v(12, lane), c.one_two);
      }
    }
  }
}

const Tests kFloatCompares{"ds_cmpst_f32", "ds_cmpst_rtn_f32", "ds_cmpst_f64", "ds_cmpst_rtn_f64"};
TEST_F(Lds, FloatComparesAreOfNumbersAndFlushDenormalsAsModeSays) {
  // Zeros of both signs, a denormal of each, ordinary numbers, infinity, quiet and signalling NaN.
  const std::vector<uint64_t> single = {0,          0x80000000, 1,          0x807fffff, 0x3f800000,
                                        0xbf800000, 0x7f800000, 0x7fc00000, 0x7f800001};
  std::vector<uint64_t> wide;
  for (uint64_t x : single) {
    const uint64_t magnitude = x & 0x7fffffff, sign = x >> 31 << 63;
    wide.push_back(sign | (magnitude < 0x800000      ? magnitude
                           : magnitude == 0x3f800000 ? uint64_t{0x3ff} << 52
                                                     : uint64_t{0x7ff} << 52 | (magnitude & 0x7fffff) << 29));
  }
  constexpr uint32_t kDefault = 0xf0, kFlushSingle = 0xe0, kFlushWide = 0xb0;
  for (unsigned bytes : {4u, 8u}) {
    const auto& values = bytes == 4 ? single : wide;
    const uint64_t sign = uint64_t{1} << (8 * bytes - 1), infinity = values[6], low = sign | (sign - 1);
    for (const uint32_t mode : {kDefault, kFlushSingle, kFlushWide}) {
      const bool flushes = mode == (bytes == 4 ? kFlushSingle : kFlushWide);
      const auto flushed = [&](uint64_t x) { return flushes && (x & infinity) == 0 ? x & sign : x; };
      const auto equal = [&](uint64_t x, uint64_t y) {
        if (bytes == 4) return as<float>(flushed(x)) == as<float>(flushed(y));
        return as<double>(flushed(x)) == as<double>(flushed(y));
      };
      for (bool returns : {false, true}) {
        for (size_t compared = 0; compared < values.size(); ++compared) {
          SetUp();
          set_addresses([](int lane) { return static_cast<uint32_t>(lane) * 8; });
          for (int lane = 0; lane < kLanes; ++lane) {
            const uint64_t old = values[static_cast<size_t>(lane) % values.size()];
            std::memcpy(&bytes_[static_cast<size_t>(lane) * 8 + 16], &old, bytes);
            wave_.set_v64(4, lane, values[compared]);
            wave_.set_v64(6, lane, lane % 2 ? 3 : random_());
          }
          std::memcpy(wave_.lds(), bytes_.data(), kSize);
          wave_.set_mode(mode | 3u << 8);
          wave_.run(fmt::format("ds_cmpst_{}f{} {}v1, {}, {} offset:16", returns ? "rtn_" : "", 8 * bytes,
                                returns ? tuple(12, bytes) + ", " : "", tuple(4, bytes), tuple(6, bytes)));
          for (int lane = 0; lane < kLanes; ++lane) {
            if (!active(lane)) continue;
            const size_t at = static_cast<size_t>(lane) * 8 + 16;
            const uint64_t old = read(at, bytes), data = wave_.v64(6, lane) & low;
            const uint64_t updated = flushed(equal(old, values[compared]) ? data : old);
            std::memcpy(&bytes_[at], &updated, bytes);
            if (returns) {
              ASSERT_EQ(wave_.v64(12, lane) & low, old) << bytes << " lane " << lane;
            }
          }
          ASSERT_EQ(std::memcmp(wave_.lds(), bytes_.data(), kSize), 0)
              << "f" << 8 * bytes << " mode " << mode << " compared with " << values[compared];
        }
      }
    }
  }
}

const Tests kMarked{"ds_condxchg32_rtn_b64"};
TEST_F(Lds, MarkedExchangesReplaceEachDwordThatHasItsTopBitSet) {
  set_addresses(
      [](int lane) { return static_cast<uint32_t>(lane % 40) * 12; });  // some not aligned, some equal
  wave_.run("ds_condxchg32_rtn_b64 v[12:13], v1, v[4:5] offset:20");
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!active(lane)) continue;
    const size_t at = (wave_.v(1, lane) + 20) / 8 * 8;
    ASSERT_EQ(wave_.v64(12, lane), read(at, 8)) << lane;
    for (unsigned half : {0u, 1u}) {
      const uint32_t data = wave_.v(4 + half, lane);
      const uint32_t unmarked = data - 0x80000000u;
      if (data >= 0x80000000u) std::memcpy(&bytes_[at + 4 * half], &unmarked, 4);
    }
  }
  ASSERT_EQ(std::memcmp(wave_.lds(), bytes_.data(), kSize), 0);
}

const Tests kByLane{"ds_read_addtid_b32", "ds_write_addtid_b32", "ds_append", "ds_consume", "ds_nop"};
TEST_F(Lds, AddressesByLaneAndCounters) {
  wave_.s(124) = 256;
  wave_.run("ds_read_addtid_b32 v2 offset:8\nds_write_addtid_b32 v3 offset:1024\nds_nop");
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!active(lane)) continue;
    EXPECT_EQ(wave_.v(2, lane), read(256 + 8 + 4 * static_cast<uint64_t>(lane), 4));
    uint32_t word;
    std::memcpy(&word, wave_.lds() + 256 + 1024 + 4 * lane, 4);
    EXPECT_EQ(word, wave_.v(3, lane));
  }
  const uint32_t start = 1000;
  std::memcpy(wave_.lds() + 256 + 16, &start, 4);
  wave_.run("ds_append v5 offset:16\nds_consume v6 offset:16");
  const auto count = static_cast<uint32_t>(std::popcount(kSome));
  EXPECT_EQ(wave_.v(5, 0), start);
  EXPECT_EQ(wave_.v(6, 0), start + count);
}

const Tests kTransposes{"ds_read_b64_tr_b16", "ds_read_b64_tr_b8", "ds_read_b64_tr_b4", "ds_read_b96_tr_b6"};
TEST_F(Lds, TransposingReadsExchangeRowsAndColumns) {
  // Every 16 lanes address a tile; what they read is its transpose. Each element holds its own number.
  wave_.set_exec(~uint64_t{0});
  set_addresses([](int lane) { return static_cast<uint32_t>(lane) * 8; });
  for (uint16_t i = 0; i < 4 * 64; ++i) std::memcpy(wave_.lds() + 2 * i, &i, 2);
  wave_.run("ds_read_b64_tr_b16 v[4:5], v1");
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int n = 0; n < 4; ++n) {
      const int from = (lane & ~15) + (lane >> 2 & 3) + 4 * n;
      EXPECT_EQ(wave_.v64(4, lane) >> (16 * n) & 0xffff, static_cast<uint64_t>(4 * from + (lane & 3)));
    }
  }
  for (int i = 0; i < 512; ++i) wave_.lds()[i] = static_cast<std::byte>(i * 7 + i / 256);
  wave_.run("ds_read_b64_tr_b8 v[4:5], v1");
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int n = 0; n < 8; ++n) {
      const int at = 8 * ((lane & ~15) + (lane >> 3 & 1) + 2 * n) + (lane & 7);
      EXPECT_EQ(wave_.v64(4, lane) >> (8 * n) & 0xff, static_cast<uint64_t>((at * 7 + at / 256) & 0xff));
    }
  }
}

TEST_F(Lds, TransposingReadsOfNibbles) {
  wave_.set_exec(~uint64_t{0});
  set_addresses([](int lane) { return static_cast<uint32_t>(lane) * 8; });
  wave_.run("ds_read_b64_tr_b4 v[4:5], v1");
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int n = 0; n < 16; ++n) {
      const uint64_t row = read(8 * static_cast<uint64_t>((lane & ~15) + n), 8);
      EXPECT_EQ(wave_.v64(4, lane) >> (4 * n) & 15, row >> (4 * (lane & 15)) & 15);
    }
  }
}

// As AMD's rocRoller uses it: rows of 16 six-bit elements, each padded to 16 bytes.
TEST_F(Lds, TransposingReadsOfSixBitElements) {
  wave_.set_exec(~uint64_t{0});
  set_addresses([](int lane) { return static_cast<uint32_t>(lane) * 16; });
  const auto element = [](const auto& bit, int at) {
    uint32_t value = 0;
    for (int i = 0; i < 6; ++i) value |= bit(6 * at + i) << i;
    return value;
  };
  wave_.run("ds_read_b96_tr_b6 v[4:6], v1");
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int n = 0; n < 16; ++n) {
      const auto loaded = [&](int i) {
        return wave_.v(4 + static_cast<unsigned>(i) / 32, lane) >> (i % 32) & 1;
      };
      const auto stored = [&](int i) {
        const size_t row = 16 * static_cast<size_t>((lane & ~15) + n);
        return static_cast<uint32_t>(bytes_[row + static_cast<size_t>(i) / 8]) >> (i % 8) & 1;
      };
      ASSERT_EQ(element(loaded, n), element(stored, lane & 15)) << "lane " << lane << " element " << n;
    }
  }
}

TEST_F(Lds, BankConflictsCountTheExtraCycles) {
  wave_.set_exec(~uint64_t{0});
  const auto conflicts = [&](std::function<uint32_t(int)> address, const char* text) {
    set_addresses(address);
    const uint64_t before = wave_.wave().lds_bank_conflicts;
    wave_.run(text);
    return wave_.wave().lds_bank_conflicts - before;
  };
  EXPECT_EQ(conflicts([](int lane) { return 4 * static_cast<uint32_t>(lane); }, "ds_read_b32 v4, v1"), 0u);
  EXPECT_EQ(conflicts([](int) { return 0; }, "ds_read_b32 v4, v1"), 0u);  // one dword for all
  EXPECT_EQ(conflicts([](int lane) { return 8 * static_cast<uint32_t>(lane); }, "ds_read_b32 v4, v1"),
            1u);  // 32 banks, 2 deep
  EXPECT_EQ(conflicts([](int lane) { return 128 * static_cast<uint32_t>(lane % 32); }, "ds_read_b32 v4, v1"),
            15u);
  EXPECT_EQ(conflicts([](int lane) { return 16 * static_cast<uint32_t>(lane); }, "ds_read_b128 v[4:7], v1"),
            0u);
}

}  // namespace
}  // namespace mhcheck::simulator::testing

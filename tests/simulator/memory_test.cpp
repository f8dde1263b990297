#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "tests/simulator/single_wave.h"
#include "tests/simulator/tested_mnemonics.h"

namespace mhcheck::simulator::testing {
namespace {

constexpr uint64_t kSome = 0xf0f0ff00a5c3e71fu;
constexpr uint64_t kSize = 4096;

std::string tuple(unsigned first, unsigned bytes) {
  return bytes <= 4 ? fmt::format("v{}", first) : fmt::format("v[{}:{}]", first, first + bytes / 4 - 1);
}

// How an instruction family is addressed. Offsets are byte offsets of lanes into a 4096-byte area.
struct Space {
  std::string name;      // "global", ...
  std::string operands;  // after the data: address operands and modifiers
};

class MemoryAccess : public ::testing::Test {
 protected:
  void SetUp() override {
    if (area_) wave_.memory().free(area_);
    area_ = wave_.memory().allocate(kSize, "area");
    for (std::byte& byte : bytes_) byte = static_cast<std::byte>(random_());
    wave_.memory().write(area_, bytes_);
    std::memcpy(wave_.lds(), bytes_.data(), kSize);
    for (unsigned reg = 0; reg < 24; ++reg) {
      for (int lane = 0; lane < kLanes; ++lane) wave_.v(reg, lane) = static_cast<uint32_t>(random_());
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      std::memcpy(wave_.wave().scratch + static_cast<size_t>(lane) * kSize, bytes_.data(), kSize);
    }
    wave_.set_exec(kSome);
    wave_.set_s64(8, area_);
    // A raw buffer over the area.
    wave_.s(12) = static_cast<uint32_t>(area_);
    wave_.s(13) = static_cast<uint32_t>(area_ >> 32);
    wave_.s(14) = kSize;
    wave_.s(15) = 0x00020000;
    wave_.s(17) = 32;
  }
  // v[20:21] the flat address, v22 the offset; all for byte `offset(lane)` once 16 (and for buffers soffset
  // 32) is added.
  void set_offsets(const Space& space, std::function<uint64_t(int)> offset) {
    for (int lane = 0; lane < kLanes; ++lane) {
      offset_[lane] = offset(lane);
      const uint64_t base = space.name == "lds"       ? kSharedAperture
                            : space.name == "private" ? kPrivateAperture
                                                      : area_;
      wave_.set_v64(20, lane, base + offset_[lane] - 16);
      wave_.v(22, lane) = static_cast<uint32_t>(offset_[lane] - 16 - (space.name == "buffer" ? 32 : 0));
    }
  }
  std::string family(const Space& space) const {
    return space.name == "lds" || space.name == "private" ? "flat" : space.name;
  }
  uint32_t expected_word(uint64_t at, unsigned count) const {
    uint32_t word = 0;
    std::memcpy(&word, &bytes_[at], count);
    return word;
  }
  std::vector<std::byte> contents(const Space& space, int lane) {
    std::vector<std::byte> now(kSize);
    if (space.name == "lds") {
      std::memcpy(now.data(), wave_.lds(), kSize);
    } else if (space.name == "private" || space.name == "scratch") {
      std::memcpy(now.data(), wave_.wave().scratch + static_cast<size_t>(lane) * kSize, kSize);
    } else {
      wave_.memory().read(area_, now);
    }
    return now;
  }
  static bool active(int lane) { return kSome >> lane & 1; }

  std::mt19937 random_{5};
  SingleWave wave_{kSize, kSize};
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kSize);
  uint64_t area_ = 0;
  uint64_t offset_[kLanes];
};

const std::vector<Space> kSpaces = {{"global", "v[20:21], off offset:16"},
                                    {"global", "v22, s[8:9] offset:16"},
                                    {"flat", "v[20:21] offset:16"},
                                    {"lds", "v[20:21] offset:16"},
                                    {"private", "v[20:21] offset:16"},
                                    {"scratch", "v22, off offset:16"},
                                    {"buffer", "v22, s[12:15], s17 offen offset:16"}};

// GLOBAL, FLAT and SCRATCH stores name the address first, buffers the data.
std::string load_text(const std::string& mnemonic, const std::string& data, const Space& space) {
  return fmt::format("{} {}, {}", mnemonic, data, space.operands);
}
std::string store_text(const std::string& mnemonic, const std::string& data, const Space& space) {
  if (space.name == "buffer") return load_text(mnemonic, data, space);
  const size_t comma = space.operands.find(',');
  const size_t end = comma == std::string::npos || space.operands.starts_with("v[20:21] ")
                         ? space.operands.find(' ')
                         : comma;
  return fmt::format("{} {}, {}{}", mnemonic, space.operands.substr(0, end), data,
                     space.operands.substr(end));
}

struct Load {
  const char* suffix;
  unsigned bytes;
  std::function<uint32_t(uint32_t, uint32_t)> widen;
};
const std::vector<Load> kLoads = {
    {"ubyte", 1, [](uint32_t m, uint32_t) { return m; }},
    {"sbyte", 1, [](uint32_t m, uint32_t) { return (m ^ 0x80) - 0x80; }},
    {"ushort", 2, [](uint32_t m, uint32_t) { return m; }},
    {"sshort", 2, [](uint32_t m, uint32_t) { return (m ^ 0x8000) - 0x8000; }},
    {"dword", 4, {}},
    {"dwordx2", 8, {}},
    {"dwordx3", 12, {}},
    {"dwordx4", 16, {}},
    {"ubyte_d16", 1, [](uint32_t m, uint32_t old) { return (old & 0xffff0000) | m; }},
    {"ubyte_d16_hi", 1, [](uint32_t m, uint32_t old) { return (old & 0xffff) | m << 16; }},
    {"sbyte_d16", 1,
     [](uint32_t m, uint32_t old) { return (old & 0xffff0000) | (((m ^ 0x80) - 0x80) & 0xffff); }},
    {"sbyte_d16_hi", 1, [](uint32_t m, uint32_t old) { return (old & 0xffff) | ((m ^ 0x80) - 0x80) << 16; }},
    {"short_d16", 2, [](uint32_t m, uint32_t old) { return (old & 0xffff0000) | m; }},
    {"short_d16_hi", 2, [](uint32_t m, uint32_t old) { return (old & 0xffff) | m << 16; }}};
struct Store {
  const char* suffix;
  unsigned bytes, shift;
};
const std::vector<Store> kStores = {{"byte", 1, 0},          {"byte_d16_hi", 1, 16}, {"short", 2, 0},
                                    {"short_d16_hi", 2, 16}, {"dword", 4, 0},        {"dwordx2", 8, 0},
                                    {"dwordx3", 12, 0},      {"dwordx4", 16, 0}};

const bool kRegistered = [] {
  for (const char* family : {"global", "flat", "scratch", "buffer"}) {
    for (const Load& load : kLoads) tested_mnemonics().insert(fmt::format("{}_load_{}", family, load.suffix));
    for (const Store& store : kStores)
      tested_mnemonics().insert(fmt::format("{}_store_{}", family, store.suffix));
  }
  return true;
}();

TEST_F(MemoryAccess, LoadsOfEveryWidthInEverySpace) {
  ASSERT_TRUE(kRegistered);
  for (const Space& space : kSpaces) {
    for (const Load& load : kLoads) {
      for (bool scattered : {false, true}) {
        SetUp();
        set_offsets(space, [&](int lane) {
          return 64u + (scattered ? static_cast<uint64_t>(lane * 61 % 3000)
                                  : static_cast<uint64_t>(lane) * load.bytes);
        });
        if (!scattered) wave_.set_exec(~uint64_t{0});
        uint32_t old[4][kLanes];
        for (unsigned r = 0; r < 4; ++r)
          for (int l = 0; l < kLanes; ++l) old[r][l] = wave_.v(4 + r, l);
        const std::string text =
            load_text(fmt::format("{}_load_{}", family(space), load.suffix), tuple(4, load.bytes), space);
        wave_.run(text);
        for (int lane = 0; lane < kLanes; ++lane) {
          for (unsigned r = 0; r < (load.bytes + 3) / 4; ++r) {
            uint32_t expected = old[r][lane];
            if (!scattered || active(lane)) {
              const uint32_t word = expected_word(offset_[lane] + 4 * r, std::min(load.bytes, 4u));
              expected = load.widen ? load.widen(word, expected) : word;
            }
            ASSERT_EQ(wave_.v(4 + r, lane), expected) << text << " lane " << lane;
          }
        }
      }
    }
  }
}

TEST_F(MemoryAccess, StoresOfEveryWidthInEverySpace) {
  for (const Space& space : kSpaces) {
    for (const Store& store : kStores) {
      for (bool partial : {false, true}) {
        SetUp();
        set_offsets(space, [&](int lane) {
          return 64u + static_cast<uint64_t>(lane) * (partial ? 19 : store.bytes);
        });
        if (!partial) wave_.set_exec(~uint64_t{0});
        const std::string text =
            store_text(fmt::format("{}_store_{}", family(space), store.suffix), tuple(4, store.bytes), space);
        wave_.run(text);
        const bool own = space.name == "scratch" || space.name == "private";
        for (int lane = 0; lane < kLanes; ++lane) {
          std::vector<std::byte> alone = bytes_;
          if (partial && !active(lane)) continue;
          for (unsigned b = 0; b < store.bytes; ++b) {
            const auto value =
                static_cast<std::byte>(wave_.v(4 + b / 4, lane) >> store.shift >> (8 * (b % 4)));
            (own ? alone : bytes_)[offset_[lane] + b] = value;
          }
          if (own) {
            ASSERT_EQ(contents(space, lane), alone) << text << " lane " << lane;
          }
        }
        if (!own) {
          ASSERT_EQ(contents(space, 0), bytes_) << text;
        }
      }
    }
  }
}

// ---- Atomics

struct AtomicCase {
  std::string suffix;
  unsigned bytes;
  std::function<uint64_t(uint64_t, uint64_t, uint64_t)> update;  // old, data, second data
  enum { kInteger, kFloat, kDouble, kHalves } operands = kInteger;
};
template <class T>
T as(uint64_t raw) {
  T value;
  std::memcpy(&value, &raw, sizeof value);
  return value;
}
template <class T>
uint64_t raw(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
const std::vector<AtomicCase>& atomic_cases() {
  static const std::vector<AtomicCase> kCases = [] {
    std::vector<AtomicCase> cases;
    for (unsigned n : {4u, 8u}) {
      const auto add = [&](const char* name, std::function<uint64_t(uint64_t, uint64_t, uint64_t)> f) {
        cases.push_back({std::string(name) + (n == 8 ? "_x2" : ""), n, std::move(f)});
      };
      const uint64_t flip = n == 4 ? 0x80000000u : uint64_t{1} << 63;
      const auto less = [flip](uint64_t x, uint64_t y) { return (x ^ flip) < (y ^ flip); };
      add("swap", [](uint64_t, uint64_t d, uint64_t) { return d; });
      add("cmpswap", [](uint64_t o, uint64_t d, uint64_t e) { return o == e ? d : o; });
      add("add", [](uint64_t o, uint64_t d, uint64_t) { return o + d; });
      add("sub", [](uint64_t o, uint64_t d, uint64_t) { return o - d; });
      add("smin", [less](uint64_t o, uint64_t d, uint64_t) { return less(d, o) ? d : o; });
      add("umin", [](uint64_t o, uint64_t d, uint64_t) { return std::min(o, d); });
      add("smax", [less](uint64_t o, uint64_t d, uint64_t) { return less(o, d) ? d : o; });
      add("umax", [](uint64_t o, uint64_t d, uint64_t) { return std::max(o, d); });
      add("and", [](uint64_t o, uint64_t d, uint64_t) { return o & d; });
      add("or", [](uint64_t o, uint64_t d, uint64_t) { return o | d; });
      add("xor", [](uint64_t o, uint64_t d, uint64_t) { return o ^ d; });
      add("inc", [](uint64_t o, uint64_t d, uint64_t) { return o >= d ? 0 : o + 1; });
      add("dec", [](uint64_t o, uint64_t d, uint64_t) { return o == 0 || o > d ? d : o - 1; });
    }
    cases.push_back({"add_f32", 4,
                     [](uint64_t o, uint64_t d, uint64_t) { return raw(as<float>(o) + as<float>(d)); },
                     AtomicCase::kFloat});
    cases.push_back({"add_f64", 8,
                     [](uint64_t o, uint64_t d, uint64_t) { return raw(as<double>(o) + as<double>(d)); },
                     AtomicCase::kDouble});
    cases.push_back(
        {"min_f64", 8,
         [](uint64_t o, uint64_t d, uint64_t) { return raw(std::fmin(as<double>(o), as<double>(d))); },
         AtomicCase::kDouble});
    cases.push_back(
        {"max_f64", 8,
         [](uint64_t o, uint64_t d, uint64_t) { return raw(std::fmax(as<double>(o), as<double>(d))); },
         AtomicCase::kDouble});
    // Small whole numbers as halves: i is (i + 4) << 7 | ... in neither format, so the sums are of 1 and 1,
    // which are 2.
    cases.push_back({"pk_add_f16", 4,
                     [](uint64_t o, uint64_t, uint64_t) {
                       return o == 0x3c003c00 ? 0x40004000 : o == 0x40004000 ? 0x42004200 : 0x44004400;
                     },
                     AtomicCase::kHalves});
    cases.push_back({"pk_add_bf16", 4,
                     [](uint64_t o, uint64_t, uint64_t) {
                       return o == 0x3f803f80 ? 0x40004000 : o == 0x40004000 ? 0x40404040 : 0x40804080;
                     },
                     AtomicCase::kHalves});
    return cases;
  }();
  return kCases;
}
const bool kAtomicsRegistered = [] {
  for (const char* family : {"global", "flat", "buffer"}) {
    for (const AtomicCase& c : atomic_cases())
      tested_mnemonics().insert(fmt::format("{}_atomic_{}", family, c.suffix));
  }
  return true;
}();

TEST_F(MemoryAccess, AtomicsUpdateInLaneOrderAndReturnTheOldValueOnRequest) {
  ASSERT_TRUE(kAtomicsRegistered);
  for (const Space& space : kSpaces) {
    if (space.name == "scratch" || space.name == "private")
      continue;  // no such instructions; scratch has one owner
    for (const AtomicCase& c : atomic_cases()) {
      for (bool returns : {false, true}) {
        SetUp();
        const bool halves = c.operands == AtomicCase::kHalves;
        const uint32_t one = c.suffix == "pk_add_f16" ? 0x3c003c00 : 0x3f803f80;
        set_offsets(space, [&](int lane) { return 64u + static_cast<uint64_t>(lane % 28) * 8; });
        const auto value = [&](int i) -> uint64_t {
          if (halves) return one;
          if (c.operands == AtomicCase::kFloat) return raw(0.25f * static_cast<float>(i) - 3.0f);
          if (c.operands == AtomicCase::kDouble) return raw(0.25 * i - 3.0);
          return i % 5 == 4 ? ~uint64_t{0} - static_cast<uint64_t>(i) : static_cast<uint64_t>(i % 7);
        };
        for (int i = 0; i < 28; ++i) {
          const uint64_t initial = value(i * 3);
          std::memcpy(&bytes_[64 + 8 * static_cast<size_t>(i)], &initial, 8);
        }
        wave_.memory().write(area_, bytes_);
        std::memcpy(wave_.lds(), bytes_.data(), kSize);
        for (int lane = 0; lane < kLanes; ++lane) {
          // {data, comparison value}, adjacent registers of the operand's width
          wave_.set_v64(4, lane,
                        c.bytes == 8 ? value(lane) : (value(lane) & 0xffffffff) | value(lane + 1) << 32);
          wave_.set_v64(6, lane, value(lane + 1));
        }
        uint64_t data[kLanes], second[kLanes];
        for (int lane = 0; lane < kLanes; ++lane) {
          data[lane] = c.bytes == 8 ? wave_.v64(4, lane) : wave_.v(4, lane);
          second[lane] = c.bytes == 8 ? wave_.v64(6, lane) : wave_.v(5, lane);
        }
        const bool compares = c.suffix.starts_with("cmpswap");
        const std::string operand = tuple(4, c.bytes * (compares ? 2 : 1));
        const std::string mnemonic = fmt::format("{}_atomic_{}", family(space), c.suffix);
        std::string text = store_text(mnemonic, operand, space);
        unsigned result = 4;
        if (returns) {
          if (space.name != "buffer") {
            result = 12;
            text = mnemonic + " " + tuple(12, c.bytes) + "," + text.substr(mnemonic.size());
          }
          text += " sc0";
        }
        wave_.run(text);
        for (int lane = 0; lane < kLanes; ++lane) {
          if (!active(lane)) continue;
          uint64_t old = 0;
          std::memcpy(&old, &bytes_[offset_[lane]], c.bytes);
          const uint64_t updated = c.update(old, data[lane], second[lane]);
          std::memcpy(&bytes_[offset_[lane]], &updated, c.bytes);
          if (returns) {
            const uint64_t got = c.bytes == 8 ? wave_.v64(result, lane) : wave_.v(result, lane);
            ASSERT_EQ(got, old) << text << " lane " << lane;
          }
        }
        ASSERT_EQ(contents(space, 0), bytes_) << text;
      }
    }
  }
}

// ---- Buffers

TEST_F(MemoryAccess, BufferRangeChecks) {
  const Space space{"buffer", ""};
  wave_.set_exec(~uint64_t{0});
  for (int lane = 0; lane < kLanes; ++lane) wave_.v(22, lane) = static_cast<uint32_t>(lane) * 8;
  wave_.s(14) = 300;  // bytes; the last whole dword ends there
  wave_.run("buffer_load_dwordx4 v[4:7], v22, s[12:15], 0 offen");
  for (int lane = 0; lane < kLanes; ++lane) {
    for (unsigned r = 0; r < 4; ++r) {
      const uint64_t at = static_cast<uint64_t>(lane) * 8 + 4 * r;
      EXPECT_EQ(wave_.v(4 + r, lane), at + 4 <= 300 ? expected_word(at, 4) : 0)
          << "lane " << lane << " dword " << r;
    }
  }
  wave_.run("buffer_store_dwordx2 v[4:5], v22, s[12:15], 0 offen offset:16");
  std::vector<std::byte> expected = bytes_;
  for (int lane = 0; lane < kLanes; ++lane) {
    for (unsigned r = 0; r < 2; ++r) {
      const uint64_t at = static_cast<uint64_t>(lane) * 8 + 4 * r + 16;
      const uint32_t word = wave_.v(4 + r, lane);
      if (at + 4 <= 300) std::memcpy(&expected[at], &word, 4);
    }
  }
  EXPECT_EQ(contents(space, 0), expected);
  // Structured: the index against the number of records, whole elements.
  wave_.s(13) |= 24u << 16;
  wave_.s(14) = 10;
  for (int lane = 0; lane < kLanes; ++lane) {
    wave_.v(20, lane) = static_cast<uint32_t>(lane);
    wave_.v(21, lane) = 4;
  }
  wave_.run("buffer_load_dwordx2 v[4:5], v[20:21], s[12:15], 0 idxen offen offset:8");
  for (int lane = 0; lane < kLanes; ++lane) {
    uint32_t word = 0;
    std::memcpy(&word, &expected[static_cast<size_t>(lane) * 24 + 12], 4);
    EXPECT_EQ(wave_.v(4, lane), lane < 10 ? word : 0) << "lane " << lane;
  }
  // An all-zero descriptor loads zero.
  for (unsigned r = 12; r < 16; ++r) wave_.s(r) = 0;
  wave_.run("buffer_load_dword v4, off, s[12:15], 0");
  EXPECT_EQ(wave_.v(4, 7), 0u);
}

// ---- Loads to LDS

const Tests kLdsLoads{"global_load_lds_ubyte",   "global_load_lds_sbyte",   "global_load_lds_ushort",
                      "global_load_lds_sshort",  "global_load_lds_dword",   "global_load_lds_dwordx3",
                      "global_load_lds_dwordx4", "scratch_load_lds_ubyte",  "scratch_load_lds_sbyte",
                      "scratch_load_lds_ushort", "scratch_load_lds_sshort", "scratch_load_lds_dword"};
TEST_F(MemoryAccess, LoadsToLdsPlaceLanesBehindM0) {
  const struct {
    const char* suffix;
    unsigned bytes;
    int sign;
  } cases[] = {{"ubyte", 1, 0}, {"sbyte", 1, 0x80}, {"ushort", 2, 0},  {"sshort", 2, 0x8000},
               {"dword", 4, 0}, {"dwordx3", 12, 0}, {"dwordx4", 16, 0}};
  for (const auto& c : cases) {
    for (const std::string space : {"buffer", "global", "scratch"}) {
      if (space == "scratch" && c.bytes > 4) continue;  // no such instructions
      SetUp();
      std::vector<std::byte> expected = bytes_;
      wave_.s(124) = 128;
      set_offsets({space, ""}, [](int lane) { return 96u + static_cast<uint64_t>(lane * 29 % 2000); });
      wave_.run(space == "buffer"
                    ? fmt::format("buffer_load_{} v22, s[12:15], s17 offen offset:16 lds", c.suffix)
                : space == "global" ? fmt::format("global_load_lds_{} v22, s[8:9] offset:16", c.suffix)
                                    : fmt::format("scratch_load_lds_{} v22, off offset:16", c.suffix));
      for (int lane = 0; lane < kLanes; ++lane) {
        if (!active(lane)) continue;
        const size_t at = 128 + 16 + static_cast<size_t>(lane) * (c.bytes > 4 ? 16 : 4);
        if (c.bytes >= 4) {
          std::memcpy(&expected[at], &bytes_[offset_[lane]], c.bytes);
        } else {
          uint32_t word = expected_word(offset_[lane], c.bytes);
          if (c.sign) word = (word ^ static_cast<uint32_t>(c.sign)) - static_cast<uint32_t>(c.sign);
          std::memcpy(&expected[at], &word, 4);
        }
      }
      ASSERT_EQ(std::memcmp(wave_.lds(), expected.data(), kSize), 0) << c.suffix << " " << space;
    }
  }
}
TEST_F(MemoryAccess, OutOfRangeLanesOfABufferLoadToLdsWriteZero) {
  wave_.set_exec(~uint64_t{0});
  wave_.s(124) = 0;
  wave_.s(14) = 128;
  for (int lane = 0; lane < kLanes; ++lane) wave_.v(22, lane) = 4 * static_cast<uint32_t>(lane);
  wave_.run("buffer_load_dword v22, s[12:15], 0 offen lds");
  for (size_t lane = 0; lane < 64; ++lane) {
    uint32_t word = 1;
    std::memcpy(&word, wave_.lds() + 4 * lane, 4);
    EXPECT_EQ(word, lane < 32 ? expected_word(4 * lane, 4) : 0) << lane;
  }
}

// ---- Scalar memory

const Tests kScalarLoads{"s_load_dword",          "s_load_dwordx2",        "s_load_dwordx4",
                         "s_load_dwordx8",        "s_load_dwordx16",       "s_buffer_load_dword",
                         "s_buffer_load_dwordx2", "s_buffer_load_dwordx4", "s_buffer_load_dwordx8",
                         "s_buffer_load_dwordx16"};
TEST_F(MemoryAccess, ScalarLoadsOfEverySize) {
  for (unsigned n : {1u, 2u, 4u, 8u, 16u}) {
    const std::string name = n == 1 ? "" : fmt::format("x{}", n);
    const std::string target = n == 1 ? "s40" : fmt::format("s[40:{}]", 40 + n - 1);
    const struct {
      std::string text;
      uint64_t at;
      bool buffer;
    } forms[] = {{fmt::format("s_load_dword{} {}, s[8:9], 0x44", name, target), 0x44, false},
                 {fmt::format("s_load_dword{} {}, s[8:9], s17", name, target), 32, false},
                 {fmt::format("s_load_dword{} {}, s[10:11], -0x10", name, target), 0x30, false},
                 {fmt::format("s_buffer_load_dword{} {}, s[12:15], 0x44", name, target), 0x44, true},
                 {fmt::format("s_buffer_load_dword{} {}, s[12:15], s17", name, target), 32, true}};
    for (const auto& form : forms) {
      SetUp();
      wave_.set_s64(10, area_ + 0x40);
      wave_.s(14) = 80;  // the buffer ends: what lies beyond reads 0
      wave_.run(form.text);
      for (unsigned d = 0; d < n; ++d) {
        const uint64_t at = form.at + 4 * d;
        ASSERT_EQ(wave_.s(40 + d), form.buffer && at + 4 > 80 ? 0 : expected_word(at, 4))
            << form.text << " dword " << d;
      }
    }
  }
}

// A register counts 64 bytes, an immediate one.
const Tests kScalarScratch{"s_scratch_load_dword",  "s_scratch_load_dwordx2",  "s_scratch_load_dwordx4",
                           "s_scratch_store_dword", "s_scratch_store_dwordx2", "s_scratch_store_dwordx4"};
TEST_F(MemoryAccess, ScalarScratchCountsRegistersInUnitsOf64Bytes) {
  for (unsigned n : {1u, 2u, 4u}) {
    const std::string name = n == 1 ? "" : fmt::format("x{}", n);
    const std::string data = n == 1 ? "s40" : fmt::format("s[40:{}]", 40 + n - 1);
    const struct {
      const char* offset;
      uint64_t at;
    } forms[] = {{"0x44", 0x44}, {"s17", 32 * 64}, {"s17 offset:-0x10", 32 * 64 - 0x10}, {"0x46", 0x44}};
    for (const auto& form : forms) {
      SetUp();
      wave_.run(fmt::format("s_scratch_load_dword{} {}, s[8:9], {}", name, data, form.offset));
      for (unsigned d = 0; d < n; ++d)
        ASSERT_EQ(wave_.s(40 + d), expected_word(form.at + 4 * d, 4)) << form.offset << " dword " << d;
      for (unsigned d = 0; d < n; ++d) {
        wave_.s(40 + d) = static_cast<uint32_t>(random_());
        std::memcpy(&bytes_[form.at + 4 * d], &wave_.s(40 + d), 4);
      }
      wave_.run(fmt::format("s_scratch_store_dword{} {}, s[8:9], {}", name, data, form.offset));
      std::vector<std::byte> after(kSize);
      wave_.memory().read(area_, after);
      ASSERT_EQ(after, bytes_) << "stored at " << form.offset;
    }
  }
}

const Tests kCacheControl{"s_dcache_discard", "s_dcache_discard_x2", "s_atc_probe", "s_atc_probe_buffer"};
TEST_F(MemoryAccess, CacheControlChangesNothing) {
  wave_.s(40) = 0x12345678;
  std::memcpy(&bytes_[0x44], &wave_.s(40), 4);
  const uint64_t lines = wave_.memory().count_touched_lines();
  wave_.run(
      "s_store_dword s40, s[8:9], 0x44\ns_dcache_discard s[8:9], 0x44\ns_dcache_discard_x2 s[8:9], s17\n"
      "s_atc_probe 1, s[8:9], 0x10000\ns_atc_probe_buffer 1, s[12:15], 0x10");
  std::vector<std::byte> after(kSize);
  wave_.memory().read(area_, after);
  EXPECT_EQ(after, bytes_);
  EXPECT_EQ(wave_.s(40), 0x12345678u);
  EXPECT_EQ(wave_.memory().count_touched_lines(), lines + 1);  // the store's
}

const Tests kScalarStores{"s_store_dword",        "s_store_dwordx2",        "s_store_dwordx4",
                          "s_buffer_store_dword", "s_buffer_store_dwordx2", "s_buffer_store_dwordx4"};
TEST_F(MemoryAccess, ScalarStoresOfEverySize) {
  for (unsigned n : {1u, 2u, 4u}) {
    const std::string name = n == 1 ? "" : fmt::format("x{}", n);
    const std::string data = n == 1 ? "s40" : fmt::format("s[40:{}]", 40 + n - 1);
    const struct {
      std::string text;
      uint64_t at, end;
    } forms[] = {{fmt::format("s_store_dword{} {}, s[8:9], 0x44", name, data), 0x44, kSize},
                 {fmt::format("s_store_dword{} {}, s[8:9], s17", name, data), 32, kSize},
                 {fmt::format("s_store_dword{} {}, s[10:11], -0x10", name, data), 0x30, kSize},
                 {fmt::format("s_buffer_store_dword{} {}, s[12:15], 0x44", name, data), 0x44, 0x4c},
                 {fmt::format("s_buffer_store_dword{} {}, s[12:15], s17", name, data), 32, 0x4c}};
    for (const auto& form : forms) {
      SetUp();
      wave_.set_s64(10, area_ + 0x40);
      wave_.s(14) = 0x4c;  // the buffer ends: what lies beyond is dropped
      for (unsigned d = 0; d < n; ++d) {
        wave_.s(40 + d) = static_cast<uint32_t>(random_());
        const uint64_t at = form.at + 4 * d;
        if (at + 4 <= form.end) std::memcpy(&bytes_[at], &wave_.s(40 + d), 4);
      }
      wave_.run(form.text);
      std::vector<std::byte> after(kSize);
      wave_.memory().read(area_, after);
      ASSERT_TRUE(std::equal(after.begin(), after.end(), bytes_.begin())) << form.text;
    }
  }
}

const bool kScalarAtomicsRegistered = [] {
  for (const AtomicCase& c : atomic_cases()) {
    if (c.operands != AtomicCase::kInteger) continue;
    tested_mnemonics().insert("s_atomic_" + c.suffix);
    tested_mnemonics().insert("s_buffer_atomic_" + c.suffix);
  }
  return true;
}();
TEST_F(MemoryAccess, ScalarAtomicsUpdateOnceAndReturnTheOldValueOnRequest) {
  ASSERT_TRUE(kScalarAtomicsRegistered);
  for (const AtomicCase& c : atomic_cases()) {
    if (c.operands != AtomicCase::kInteger) continue;
    for (const bool returns : {false, true}) {
      for (const std::string address : {"s[8:9], 0x44", "s[12:15], 0x44", "s[12:15], s17"}) {
        for (uint64_t old :
             {uint64_t{0}, uint64_t{3}, ~uint64_t{0} - 2, uint64_t{1} << 31, uint64_t{1} << 63}) {
          for (uint64_t data : {uint64_t{0}, uint64_t{3}, ~uint64_t{0}, uint64_t{0x80000001}}) {
            SetUp();
            const bool buffer = address.starts_with("s[12"), scalar = address.ends_with("s17");
            const uint64_t at = scalar ? 32 : 0x44, mask = c.bytes == 8 ? ~uint64_t{0} : 0xffffffffu;
            wave_.s(14) = scalar ? 32 + c.bytes - 1 : kSize;  // in the last form one byte too short
            std::memcpy(&bytes_[at], &old, c.bytes);
            wave_.memory().write(area_, bytes_);
            for (unsigned r = 40; r < 44; ++r) wave_.s(r) = 3;
            wave_.set_s64(40, c.bytes == 8 ? data : (data & mask) | uint64_t{3} << 32);
            wave_.set_s64(42, 3);
            const uint64_t compare = 3;
            const unsigned registers = c.bytes / 4 * (c.suffix.starts_with("cmpswap") ? 2 : 1);
            wave_.run(fmt::format("s_{}atomic_{} {}, {}{}", buffer ? "buffer_" : "", c.suffix,
                                  registers == 1 ? "s40" : fmt::format("s[40:{}]", 39 + registers), address,
                                  returns ? " glc" : ""));
            const bool reached = !scalar;
            const uint64_t updated = reached ? c.update(old & mask, data & mask, compare) & mask : old & mask;
            uint64_t after = 0;
            wave_.memory().read(area_ + at, std::as_writable_bytes(std::span(&after, 1)).first(c.bytes));
            ASSERT_EQ(after, updated) << c.suffix << " " << address << " " << old << " " << data;
            const uint64_t result = c.bytes == 8 ? wave_.s64(40) : wave_.s(40);
            ASSERT_EQ(result, !returns  ? data & mask
                              : reached ? old & mask
                                        : 0)
                << c.suffix << " " << address;
          }
        }
      }
    }
  }
}

// ---- Faults and counters

TEST_F(MemoryAccess, AnAccessOutsideNamesTheAllocation) {
  wave_.set_exec(uint64_t{1} << 5);
  wave_.set_v64(20, 5, area_ + kSize - 2);
  try {
    wave_.run("global_load_dword v4, v[20:21], off");
    FAIL() << "no fault";
  } catch (const MemoryFault& fault) {
    EXPECT_EQ(fault.address(), area_ + kSize);
    EXPECT_NE(std::string(fault.what()).find("0 bytes past the end of area"), std::string::npos)
        << fault.what();
    EXPECT_NE(std::string(fault.what()).find("global_load_dword v4, v[20:21], off"), std::string::npos)
        << fault.what();
    EXPECT_NE(std::string(fault.what()).find("kernel single_wave"), std::string::npos) << fault.what();
  }
}
TEST_F(MemoryAccess, ScratchAndLdsApertureEndWhereTheKernelSays) {
  wave_.set_exec(1);
  wave_.set_v64(20, 0, kPrivateAperture + kSize - 2);
  EXPECT_THROW(wave_.run("flat_load_dword v4, v[20:21]"), MemoryFault);
  wave_.set_v64(20, 0, kSharedAperture + kSize);
  EXPECT_THROW(wave_.run("flat_store_byte v[20:21], v4"), MemoryFault);
  wave_.v(22, 0) = kSize - 3;
  EXPECT_THROW(wave_.run("scratch_load_dword v4, v22, off"), MemoryFault);
}
TEST_F(MemoryAccess, CountsBytesOfActiveLanesAndDistinctLines) {
  wave_.memory().clear_touched_lines();
  const uint64_t read = wave_.wave().memory_bytes_read, written = wave_.wave().memory_bytes_written;
  wave_.set_exec(0xffff);
  for (int lane = 0; lane < kLanes; ++lane) wave_.v(22, lane) = 16 * static_cast<uint32_t>(lane);
  wave_.run("global_load_dwordx4 v[4:7], v22, s[8:9]\nglobal_store_dword v22, v4, s[8:9]");
  EXPECT_EQ(wave_.wave().memory_bytes_read - read, 256u);
  EXPECT_EQ(wave_.wave().memory_bytes_written - written, 64u);
  EXPECT_EQ(wave_.memory().count_touched_lines(), 2u);
}

TEST(MemoryMap, AllocationsAreExactAndApart) {
  Memory memory;
  const uint64_t a = memory.allocate(100, "a"), b = memory.allocate(0, "b"), c = memory.allocate(7);
  EXPECT_GE(b - a, Memory::kRedZone);
  EXPECT_GE(c - b, Memory::kRedZone);
  EXPECT_NO_THROW(memory.translate(a + 96, 4));
  EXPECT_THROW(memory.translate(a + 97, 4), MemoryFault);
  EXPECT_THROW(memory.translate(b, 1), MemoryFault);
  EXPECT_THROW(memory.translate(~uint64_t{0} - 1, 8), MemoryFault);
  uint32_t poison = 0;
  memory.read(a, std::as_writable_bytes(std::span(&poison, 1)));
  EXPECT_EQ(poison, kPoison);
  memory.free(a);
  EXPECT_THROW(memory.translate(a, 1), MemoryFault);
  EXPECT_THROW(memory.free(a), MemoryFault);
}

}  // namespace
}  // namespace mhcheck::simulator::testing

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <sstream>

#include "kernels/simulator/fault.h"
#include "tests/simulator/exact_real.h"
#include "tests/simulator/single_wave.h"
#include "tests/simulator/tested_mnemonics.h"
#include "tests/simulator/vector_row.h"

namespace mhcheck::simulator::testing {
namespace {

constexpr uint64_t kSome = 0xf0f0ff00a5c3e71fu;
constexpr uint32_t kSize = 2048;

// Formats by their names in assembly, whose order is from the highest bits down; the index is the encoding.
constexpr const char* kDataNames[] = {"8",        "16",          "8_8",        "32",         "16_16",
                                      "10_11_11", "11_11_10",    "10_10_10_2", "2_10_10_10", "8_8_8_8",
                                      "32_32",    "16_16_16_16", "32_32_32",   "32_32_32_32"};
constexpr const char* kNumberNames[] = {"UNORM", "SNORM", "USCALED",    "SSCALED",
                                        "UINT",  "SINT",  "RESERVED_6", "FLOAT"};
enum Number { kUnorm, kSnorm, kUscaled, kSscaled, kUint, kSint, kReserved, kFloat };

std::vector<int> widths_of(const std::string& name) {
  std::vector<int> widths;
  std::istringstream parts(name);
  for (std::string part; std::getline(parts, part, '_');) widths.insert(widths.begin(), std::stoi(part));
  return widths;
}
bool has_floats(const std::string& name) {
  return std::ranges::all_of(widths_of(name), [](int w) { return w == 32 || w == 16; }) ||
         name.find("11") != std::string::npos;
}
Format float_of(int width) { return width == 16 ? kHalf : width == 11 ? Format{6, 5} : Format{5, 5}; }

struct Case {
  std::string data;
  int data_code;
  Number number;
  int channels;
  bool halves, high, in_instruction;
  std::string suffix() const {
    return fmt::format("{}{}", halves ? (high ? "d16_hi_" : "d16_") : "",
                       std::string("xyzw").substr(0, static_cast<size_t>(channels)));
  }
  std::string mnemonic(const char* kind) const {
    return fmt::format("{}buffer_{}_format_{}", in_instruction ? "t" : "", kind, suffix());
  }
  int registers() const { return halves ? (channels + 1) / 2 : channels; }
};

const bool kRegistered = [] {
  for (const char* kind : {"load", "store"}) {
    for (bool in_instruction : {false, true}) {
      for (int channels = 1; channels <= 4; ++channels) {
        for (bool halves : {false, true})
          tested_mnemonics().insert(
              Case{"", 0, kUnorm, channels, halves, false, in_instruction}.mnemonic(kind));
      }
    }
    tested_mnemonics().insert(Case{"", 0, kUnorm, 1, true, true, false}.mnemonic(kind));
  }
  return true;
}();

class TypedBuffer : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(kRegistered);
    area_ = wave_.memory().allocate(kSize, "area");
  }
  // Every lane's element lies `kStep` bytes behind the previous one's; the last lanes are out of range.
  static constexpr uint32_t kStep = 28, kRecords = 60 * kStep + 3;

  void prepare(const Case& c) {
    for (std::byte& byte : bytes_) byte = static_cast<std::byte>(random_());
    // Codes at the ends of their ranges, zeros, and ordinary floats.
    for (size_t at = 0; at + 4 <= kSize; at += 4) {
      if (random_() % 4) continue;
      const uint32_t word = random_() % 4 == 0   ? 0
                            : random_() % 3 == 0 ? ~0u
                            : random_() % 2      ? 0x80008080u
                                                 : 0x3f9e3555u;
      std::memcpy(&bytes_[at], &word, 4);
    }
    wave_.memory().write(area_, bytes_);
    for (unsigned r = 0; r < 16; ++r) {
      for (int lane = 0; lane < kLanes; ++lane) wave_.v(r, lane) = operand(c);
    }
    for (int lane = 0; lane < kLanes; ++lane) wave_.v(20, lane) = kStep * static_cast<uint32_t>(lane);
    wave_.set_exec(kSome);
    wave_.s(12) = static_cast<uint32_t>(area_);
    wave_.s(13) = static_cast<uint32_t>(area_ >> 32);
    wave_.s(14) = kRecords;
    wave_.s(15) = c.in_instruction
                      ? 0
                      : static_cast<uint32_t>(c.data_code) << 15 | static_cast<uint32_t>(c.number) << 12;
    for (int channel = 0; channel < 4; ++channel) {
      select_[channel] = 4 + channel;
      if (c.in_instruction) continue;
      constexpr int kSelections[] = {0, 1, 4, 5, 6, 7};
      select_[channel] = kSelections[random_() % 6];
      wave_.s(15) |= static_cast<uint32_t>(select_[channel]) << (3 * channel);
    }
  }
  uint32_t operand(const Case& c) {
    const auto any = static_cast<uint32_t>(random_());
    if (c.number == kUint || c.number == kSint)
      return random_() % 2 ? any % 300 : random_() % 2 ? 0 - any % 300 : any;
    if (!c.halves) {
      const auto near_one = static_cast<uint32_t>((118 + random_() % 24) << 23 | (any & 0x807fffff));
      return random_() % 4 ? near_one : static_cast<uint32_t>(random_operand(Kind::kF32, random_));
    }
    const auto half = [&] { return static_cast<uint32_t>(random_operand(Kind::kF16, random_)); };
    return half() | half() << 16;
  }
  std::string text(const Case& c, const char* kind) const {
    const std::string data = c.registers() == 1 ? "v4" : fmt::format("v[4:{}]", 3 + c.registers());
    const std::string format =
        c.in_instruction
            ? fmt::format(" format:[BUF_DATA_FORMAT_{},BUF_NUM_FORMAT_{}]", c.data, kNumberNames[c.number])
            : "";
    return fmt::format("{} {}, v20, s[12:15], 0{} offen offset:3", c.mnemonic(kind), data, format);
  }
  bool in_range(const Case& c, int lane) const {
    int bits = 0;
    for (int width : widths_of(c.data)) bits += width;
    return kStep * static_cast<uint64_t>(lane) + 3 + static_cast<uint64_t>(bits) / 8 <= kRecords;
  }
  static size_t first_bit(const Case& c, int lane, int component) {
    size_t at = (kStep * static_cast<size_t>(lane) + 3) * 8;
    const std::vector<int> widths = widths_of(c.data);
    for (int i = 0; i < component; ++i) at += static_cast<size_t>(widths[static_cast<size_t>(i)]);
    return at;
  }

  // ---- Loads

  // The component as a number, exactly where MPFR can hold it.
  static Real value(uint64_t raw, int width, Number number) {
    const uint64_t top = (uint64_t{1} << width) - 1, half = top >> 1;
    const int64_t with_sign = static_cast<int64_t>(raw) - (raw > half ? static_cast<int64_t>(top) + 1 : 0);
    Real x(400);
    switch (number) {
      case kUnorm:
      case kUscaled:
        mpfr_set_ui(x.get(), raw, MPFR_RNDN);
        if (number == kUnorm) mpfr_div_ui(x.get(), x.get(), top, MPFR_RNDN);
        return x;
      case kSnorm:
      case kSscaled:
        mpfr_set_sj(x.get(), with_sign, MPFR_RNDN);
        if (number == kSscaled) return x;
        mpfr_div_ui(x.get(), x.get(), half, MPFR_RNDN);
        if (mpfr_cmp_si(x.get(), -1) < 0) mpfr_set_si(x.get(), -1, MPFR_RNDN);
        return x;
      default:
        return decode(float_of(width), raw);
    }
  }
  uint64_t expected_channel(const Case& c, int lane, int channel, bool reachable) {
    const bool whole_numbers = c.number == kUint || c.number == kSint;
    const int select = select_[channel];
    if (select == 0) return 0;
    if (select == 1) return whole_numbers ? 1 : c.halves ? 0x3c00 : 0x3f800000;
    const int component = select - 4;
    const std::vector<int> widths = widths_of(c.data);
    if (component >= static_cast<int>(widths.size()) || !reachable) return 0;
    const int width = widths[static_cast<size_t>(component)];
    uint64_t raw = 0;
    for (int i = 0; i < width; ++i) {
      const size_t bit = first_bit(c, lane, component) + static_cast<size_t>(i);
      raw |= (static_cast<uint64_t>(bytes_[bit / 8]) >> (bit % 8) & 1) << i;
    }
    if (whole_numbers) {
      if (c.number == kSint && raw >> (width - 1)) raw -= uint64_t{1} << width;
      return raw & (c.halves ? 0xffff : 0xffffffff);
    }
    if (width == 32) return c.halves ? encode(kHalf, decode(kSingle, raw), Direction::kZero) : raw;
    return encode(c.halves ? kHalf : kSingle, value(raw, width, c.number));
  }
  static bool same(uint64_t a, uint64_t b, bool half) {
    const Format format = half ? kHalf : kSingle;
    return a == b || (format.is_nan(a) && format.is_nan(b));
  }

  // ---- Stores

  static uint64_t expected_code(const Case& c, uint64_t x, int width) {
    const uint64_t top = (uint64_t{1} << width) - 1, half = top >> 1;
    const Format source = c.halves ? kHalf : kSingle;
    if (c.number == kUint || c.number == kSint) {
      auto whole = static_cast<int64_t>(x);
      if (c.number == kSint && x >> (source.bits() - 1)) whole -= int64_t{1} << source.bits();
      if (width == 32) return static_cast<uint64_t>(whole) & 0xffffffff;
      const int64_t low = c.number == kUint ? 0 : -static_cast<int64_t>(half) - 1;
      const int64_t high = static_cast<int64_t>(c.number == kUint ? top : half);
      return static_cast<uint64_t>(std::clamp(whole, low, high)) & top;
    }
    if (width == 32) return c.halves ? encode(kSingle, decode(kHalf, x)) : x;
    Real real = decode(source, x);
    if (c.number == kFloat) {
      const bool negative = x & source.sign();
      if (width < 16 && negative && !source.is_nan(x)) return 0;
      return encode(float_of(width), real);
    }
    if (mpfr_nan_p(real.get())) return 0;
    const bool normal = c.number == kUnorm || c.number == kSnorm,
               is_signed = c.number == kSnorm || c.number == kSscaled;
    const auto high = static_cast<double>(is_signed ? half : top);
    const double low = !is_signed ? 0 : c.number == kSnorm ? -high : -high - 1;
    if (normal) mpfr_mul_d(real.get(), real.get(), high, MPFR_RNDN);
    if (mpfr_cmp_d(real.get(), low) < 0) mpfr_set_d(real.get(), low, MPFR_RNDN);
    if (mpfr_cmp_d(real.get(), high) > 0) mpfr_set_d(real.get(), high, MPFR_RNDN);
    mpfr_roundeven(real.get(), real.get());
    return static_cast<uint64_t>(mpfr_get_sj(real.get(), MPFR_RNDN)) & top;
  }
  uint64_t channel_in_registers(const Case& c, int lane, int channel) {
    if (!c.halves) return wave_.v(4 + static_cast<unsigned>(channel), lane);
    return wave_.v(4 + static_cast<unsigned>(channel) / 2, lane) >> (c.high || channel % 2 ? 16 : 0) & 0xffff;
  }

  void check_load(const Case& c) {
    prepare(c);
    std::vector<uint32_t> old;
    for (unsigned r = 4; r < 8; ++r)
      for (int lane = 0; lane < kLanes; ++lane) old.push_back(wave_.v(r, lane));
    wave_.run(text(c, "load"));
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int channel = 0; channel < 4; ++channel) {
        const bool active = kSome >> lane & 1;
        const auto before = [&](int r) { return old[static_cast<size_t>(r * kLanes + lane)]; };
        if (active && channel < c.channels) {
          const uint64_t want = expected_channel(c, lane, channel, in_range(c, lane)),
                         got = channel_in_registers(c, lane, channel);
          ASSERT_TRUE(same(want, got, c.halves))
              << text(c, "load") << " " << c.data << " " << kNumberNames[c.number] << " lane " << lane
              << " channel " << channel << fmt::format(": {:#x}, expected {:#x}", got, want);
        } else if (!active || channel >= c.registers()) {
          ASSERT_EQ(wave_.v(4 + static_cast<unsigned>(channel), lane), before(channel))
              << text(c, "load") << " lane " << lane;
        }
      }
      if (c.halves && c.channels == 1 && kSome >> lane & 1) {  // the other half stays
        const uint32_t kept = c.high ? 0xffffu : 0xffff0000u;
        ASSERT_EQ(wave_.v(4, lane) & kept, old[static_cast<size_t>(lane)] & kept) << text(c, "load");
      }
    }
  }
  void check_store(const Case& c) {
    prepare(c);
    wave_.run(text(c, "store"));
    std::vector<std::byte> now(kSize);
    wave_.memory().read(area_, now);
    const std::vector<int> widths = widths_of(c.data);
    const auto bits_at = [](const std::vector<std::byte>& from, size_t first, int width) {
      uint64_t raw = 0;
      for (int i = 0; i < width; ++i)
        raw |= (static_cast<uint64_t>(from[(first + static_cast<size_t>(i)) / 8]) >>
                    ((first + static_cast<size_t>(i)) % 8) &
                1)
               << i;
      return raw;
    };
    std::vector<bool> written(kSize * 8);
    for (int lane = 0; lane < kLanes; ++lane) {
      if (!(kSome >> lane & 1) || !in_range(c, lane)) continue;
      for (int component = 0; component < static_cast<int>(widths.size()); ++component) {
        const int width = widths[static_cast<size_t>(component)];
        const size_t first = first_bit(c, lane, component);
        for (int i = 0; i < width; ++i) written[first + static_cast<size_t>(i)] = true;
        const int* const from = std::find(select_, select_ + 4, 4 + component);
        const int channel = static_cast<int>(from - select_);
        const uint64_t want =
            from == select_ + 4
                ? 0
                : expected_code(c, channel_in_registers(c, lane, channel < c.channels ? channel : 0), width);
        const uint64_t got = bits_at(now, first, width);
        const bool floats = c.number == kFloat || (width == 32 && c.number != kUint && c.number != kSint);
        const Format stored = width == 32 ? kSingle : float_of(width);
        const bool nans = floats && stored.is_nan(want) && stored.is_nan(got);
        ASSERT_TRUE(got == want || nans)
            << text(c, "store") << " " << c.data << " " << kNumberNames[c.number] << " lane " << lane
            << " component " << component << fmt::format(": {:#x}, expected {:#x}", got, want);
      }
    }
    for (size_t bit = 0; bit < kSize * 8; ++bit) {
      if (written[bit]) continue;
      ASSERT_EQ(bits_at(now, bit, 1), bits_at(bytes_, bit, 1)) << text(c, "store") << " bit " << bit;
    }
  }

  std::mt19937_64 random_{static_cast<uint64_t>(GetParam()) + 77};
  SingleWave wave_{kSize};
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kSize);
  uint64_t area_ = 0;
  int select_[4] = {};
};

TEST_P(TypedBuffer, LoadsAndStoresConvert) {
  const std::string data = kDataNames[GetParam()];
  for (Number number : {kUnorm, kSnorm, kUscaled, kSscaled, kUint, kSint, kFloat}) {
    if (number == kFloat && !has_floats(data)) continue;
    for (int channels = 1; channels <= 4; ++channels) {
      for (bool in_instruction : {false, true}) {
        for (bool halves : {false, true}) {
          for (bool high : {false, true}) {
            if (high && (!halves || channels > 1 || in_instruction)) continue;
            const Case c{data, GetParam() + 1, number, channels, halves, high, in_instruction};
            check_load(c);
            if (HasFatalFailure()) return;
            check_store(c);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Formats, TypedBuffer, ::testing::Range(0, static_cast<int>(std::size(kDataNames))),
                         [](const auto& row) { return std::string("f") + kDataNames[row.param]; });

class TypedBufferEdges : public TypedBuffer {};
INSTANTIATE_TEST_SUITE_P(One, TypedBufferEdges, ::testing::Values(0));

TEST_P(TypedBufferEdges, AnInvalidFormatIsAnUnboundBuffer) {
  const Case c{"8", 0, kUnorm, 4, false, false, false};
  prepare(c);
  wave_.s(15) = 4 | 1 << 3 | 5 << 6;  // X, one, Y, zero
  wave_.run("buffer_load_format_xyzw v[4:7], v20, s[12:15], 0 offen");
  for (unsigned channel = 0; channel < 4; ++channel)
    EXPECT_EQ(wave_.v(4 + channel, 0), channel == 1 ? 0x3f800000u : 0u);
  wave_.run("buffer_store_format_xyzw v[4:7], v20, s[12:15], 0 offen");
  std::vector<std::byte> now(kSize);
  wave_.memory().read(area_, now);
  EXPECT_EQ(now, bytes_);
}
TEST_P(TypedBufferEdges, ReservedFormatsAndSelectionsAreFaults) {
  const Case c{"8", 1, kUnorm, 1, false, false, false};
  for (uint32_t word : {15u << 15 | 4u, 1u << 15 | 6u << 12 | 4u, 1u << 15 | 7u << 12 | 4u,
                        9u << 15 | 7u << 12 | 4u, 1u << 15 | 2u, 1u << 15 | 3u << 9}) {
    prepare(c);
    wave_.s(15) = word;
    EXPECT_THROW(wave_.run("buffer_load_format_x v4, v20, s[12:15], 0 offen"), IllegalOperation) << word;
    EXPECT_THROW(wave_.run("buffer_store_format_x v4, v20, s[12:15], 0 offen"), IllegalOperation) << word;
  }
}
TEST_P(TypedBufferEdges, FirstChannelsGoToLds) {
  const Case c{"16_16", 5, kSnorm, 1, false, false, false};
  prepare(c);
  wave_.s(124) = 64;
  std::memset(wave_.lds(), 0x5a, kSize);
  wave_.run("buffer_load_format_x v20, s[12:15], 0 offen offset:3 lds");
  for (int lane = 0; lane < kLanes; ++lane) {
    uint32_t word = 0;
    std::memcpy(&word, wave_.lds() + 64 + 3 + 4 * lane, 4);
    EXPECT_EQ(word, kSome >> lane & 1 ? expected_channel(c, lane, 0, in_range(c, lane)) : 0x5a5a5a5au)
        << lane;
  }
}

}  // namespace
}  // namespace mhcheck::simulator::testing

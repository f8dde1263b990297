#include "tests/simulator/vector_row.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "tests/simulator/single_wave.h"

namespace mhcheck::simulator::testing {
namespace {

constexpr unsigned kDestination = 10;
constexpr unsigned kSource[] = {2, 4, 6};  // vector and scalar registers alike

uint64_t mask_of(int bits) { return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

std::string registers(char file, unsigned first, int bits) {
  return bits == 64 ? fmt::format("{}[{}:{}]", file, first, first + 1) : fmt::format("{}{}", file, first);
}

// ---- One way of writing an instruction

enum class From { kVector, kScalar, kConstant };

struct Form {
  std::string suffix;          // "_e64", "_dpp", ...
  std::array<From, 3> from{};  // where each source is
  std::array<std::string, 3> constant{};
  std::array<uint64_t, 3> constant_value{};
  std::array<bool, 3> negate{}, absolute{};
  bool clamp = false;
  std::string tail;                                 // DPP and SDWA controls
  std::function<std::optional<int>(int)> dpp_lane;  // source lane of src0; nothing where it is invalid
  bool dpp_zero = false;                            // an invalid source reads 0
  std::function<bool(int)> dpp_writes;
  struct Sdwa {
    int shift[2], width[2];
    bool sign[2];
    int result_shift, result_width;
    enum { kPad, kSext, kPreserve } unused;
  };
  std::optional<Sdwa> sdwa;
  bool high_source0 = false, high_result = false;  // op_sel
};

std::string text_of(const VectorRow& row, const Form& form) {
  std::string text = row.mnemonic + form.suffix + " " + registers('v', kDestination, bits_of(row.result));
  const size_t written = row.sources.size() - (row.reads_destination ? 1 : 0);
  for (size_t k = 0; k < written; ++k) {
    std::string operand;
    switch (form.from[k]) {
      case From::kVector:
        operand = registers('v', kSource[k], bits_of(row.sources[k]));
        break;
      case From::kScalar:
        operand = registers('s', kSource[k], bits_of(row.sources[k]));
        break;
      case From::kConstant:
        operand = form.constant[k];
        break;
    }
    if (form.absolute[k]) operand = "|" + operand + "|";
    if (form.negate[k]) operand = "-" + operand;
    text += ", " + operand;
  }
  if (form.clamp) text += " clamp";
  return text + form.tail;
}

std::vector<Form> forms_of(const VectorRow& row) {
  std::vector<Form> forms;
  const auto add = [&](auto change) {
    Form form;
    change(form);
    forms.push_back(form);
  };
  const size_t written = row.sources.size() - (row.reads_destination ? 1 : 0);
  add([](Form&) {});
  add([](Form& f) { f.suffix = "_e64"; });
  for (size_t k = 0; k < written; ++k) {
    add([&](Form& f) { f.from[k] = From::kScalar; });
    add([&](Form& f) {
      const Kind kind = row.sources[k];
      f.from[k] = From::kConstant;
      f.constant[k] = is_float(kind) ? "-4.0" : "-5";
      f.constant_value[k] = kind == Kind::kF32   ? 0xc0800000u
                            : kind == Kind::kF16 ? 0xc400u
                            : kind == Kind::kF64 ? uint64_t{0xc0100000} << 32
                                                 : ~uint64_t{4} & mask_of(bits_of(kind));
    });
    if (is_float(row.sources[k]) && row.sign_modifiers) {
      add([&](Form& f) { f.suffix = "_e64", f.negate[k] = true; });
      add([&](Form& f) { f.suffix = "_e64", f.absolute[k] = true; });
      add([&](Form& f) { f.suffix = "_e64", f.absolute[k] = f.negate[k] = true; });
    }
  }
  if (bits_of(row.sources[0]) == 32) {
    add([&](Form& f) {  // a literal
      f.from[0] = From::kConstant;
      f.constant[0] = "0xc1234567";
      f.constant_value[0] = 0xc1234567u;
    });
  }
  if (row.clamps) add([](Form& f) { f.suffix = "_e64", f.clamp = true; });
  if (bits_of(row.sources[0]) <= 32) {
    add([](Form& f) {
      f.suffix = "_dpp", f.tail = " quad_perm:[3,0,2,1] row_mask:0xf bank_mask:0xf";
      f.dpp_lane = [](int lane) {
        constexpr int kPick[] = {3, 0, 2, 1};
        return (lane & ~3) + kPick[lane % 4];
      };
      f.dpp_writes = [](int) { return true; };
    });
    add([](Form& f) {
      f.suffix = "_dpp", f.tail = " row_shr:3 row_mask:0xb bank_mask:0xd";
      f.dpp_lane = [](int lane) { return lane % 16 >= 3 ? std::optional<int>(lane - 3) : std::nullopt; };
      f.dpp_writes = [](int lane) { return lane / 16 != 2 && lane / 4 % 4 != 1; };
    });
    add([](Form& f) {
      f.suffix = "_dpp", f.tail = " row_bcast:15 row_mask:0xf bank_mask:0xf bound_ctrl:1";
      f.dpp_lane = [](int lane) {
        return lane >= 16 ? std::optional<int>(lane / 16 * 16 - 1) : std::nullopt;
      };
      f.dpp_writes = [](int) { return true; };
      f.dpp_zero = true;
    });
    const bool two = row.sources.size() >= 2 && written >= 2;
    const bool integers = !is_float(row.sources[0]) && !is_float(row.result);
    add([&](Form& f) {
      f.suffix = "_sdwa";
      f.tail = std::string(" dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1") +
               (two ? " src1_sel:WORD_0" : "");
      f.sdwa = Form::Sdwa{{16, 0}, {16, 16}, {false, false}, 16, 16, Form::Sdwa::kPreserve};
    });
    if (integers) {
      add([&](Form& f) {
        f.suffix = "_sdwa";
        f.tail = std::string(" dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_3") +
                 (two ? " src1_sel:BYTE_2" : "");
        f.sdwa = Form::Sdwa{{24, 16}, {8, 8}, {false, false}, 8, 8, Form::Sdwa::kSext};
      });
      add([&](Form& f) {
        f.suffix = "_sdwa";
        f.tail = std::string(" dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0") +
                 (two ? " src1_sel:DWORD" : "");
        f.sdwa = Form::Sdwa{{0, 0}, {8, 32}, {false, false}, 0, 32, Form::Sdwa::kPad};
      });
    }
  }
  return forms;
}

// ---- What the form makes of operands and results

struct Modes {
  Direction direction = Direction::kNearest;
  bool flush_in = false, flush_out = false, ieee = true;
  uint32_t bits(bool single) const {
    const auto round = static_cast<uint32_t>(direction);
    const uint32_t denorm = (flush_in ? 0u : 1u) | (flush_out ? 0u : 2u);
    // The other pair of fields stays at its default, to show that they are independent.
    return (single ? round : round << 2) | (single ? denorm << 4 | 0xc0u : denorm << 6 | 0x30u) | 1u << 8 |
           (ieee ? 1u << 9 : 0u);
  }
};

uint64_t flushed(Kind kind, uint64_t bits, bool flush) {
  if (!flush || !is_float(kind)) return bits;
  const Format format = format_of(kind);
  return format.is_denormal(bits) ? bits & format.sign() : bits;
}

bool single(Kind kind) { return kind == Kind::kF32; }

uint64_t with_modifiers(const Form& form, size_t k, Kind kind, uint64_t value) {
  const uint64_t sign = uint64_t{1} << (bits_of(kind) - 1);
  if (form.absolute[k]) value &= ~sign;
  if (form.negate[k]) value ^= sign;
  return value;
}

uint64_t clamped(Kind kind, uint64_t value) {
  const Format format = format_of(kind);
  if (format.is_nan(value) || value & format.sign()) return 0;
  const uint64_t one = static_cast<uint64_t>(format.bias()) << format.mantissa_bits;
  return std::min(value, one);
}

bool same(Kind kind, uint64_t a, uint64_t b) {
  if (is_float(kind) && format_of(kind).is_nan(a)) return format_of(kind).is_nan(b);
  return a == b;
}

class RowTest {
 public:
  RowTest(const VectorRow& row, SingleWave& wave, uint64_t seed) : row_(row), wave_(wave), random_(seed) {}

  void run(const Form& form, const Program& program, const Modes& modes, uint64_t exec) {
    fill(exec);
    wave_.set_exec(exec);
    wave_.set_mode(modes.bits(single(row_.result) || (!is_float(row_.result) && single(row_.sources[0]))));
    wave_.run(program);
    for (int lane = 0; lane < kLanes && !::testing::Test::HasFailure(); ++lane)
      check(form, modes, exec, lane);
  }

 private:
  void fill(uint64_t) {
    for (size_t k = 0; k < row_.sources.size(); ++k) {
      wave_.set_s64(kSource[k], random_operand(row_.sources[k], random_));
      for (int lane = 0; lane < kLanes; ++lane) {
        // Upper halves of 16-bit operands hold something else.
        uint64_t value = random_operand(row_.sources[k], random_);
        if (bits_of(row_.sources[k]) == 16) value |= random_operand(row_.sources[k], random_) << 16;
        wave_.set_v64(kSource[k], lane, value);
        sources_[k][lane] = value;
      }
      scalars_[k] = wave_.s64(kSource[k]);
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      const Kind accumulated = row_.reads_destination ? row_.sources.back() : Kind::kI64;
      const uint64_t old = row_.reads_destination ? random_operand(accumulated, random_) : random_();
      wave_.set_v64(kDestination, lane, old);
      wave_.v(kDestination + 2, lane) = 0x5eed0000u + static_cast<uint32_t>(lane);
      old_[lane] = wave_.v64(kDestination, lane);
    }
  }

  uint64_t operand(const Form& form, const Modes& modes, size_t k, int lane) {
    const Kind kind = row_.sources[k];
    uint64_t value = 0;
    if (row_.reads_destination && k + 1 == row_.sources.size()) {
      value = old_[lane];
    } else if (form.from[k] == From::kConstant) {
      value = form.constant_value[k];
    } else if (form.from[k] == From::kScalar) {
      value = scalars_[k];
    } else {
      int from = lane;
      if (k == 0 && form.dpp_lane) {
        const std::optional<int> picked = form.dpp_lane(lane);
        if (!picked || !(exec_ >> *picked & 1)) {
          from = -1;
        } else {
          from = *picked;
        }
      }
      value = from < 0 ? 0 : sources_[k][from];
    }
    if (form.sdwa && k < 2) {
      value = (value & 0xffffffffu) >> form.sdwa->shift[k] & mask_of(form.sdwa->width[k]);
    }
    value &= mask_of(bits_of(kind));
    value = with_modifiers(form, k, kind, value);
    // Formats have denormal modes of their own; the flags are about the result's.
    const bool same_field = single(kind) == single(is_float(row_.result) ? row_.result : row_.sources[0]);
    return flushed(kind, value, modes.flush_in && same_field);
  }

  void check(const Form& form, const Modes& modes, uint64_t exec, int lane) {
    exec_ = exec;
    const uint64_t got = wave_.v64(kDestination, lane);
    uint64_t expected = old_[lane];
    Inputs in;
    nan_ = false;
    bool writes = exec >> lane & 1;
    if (form.dpp_lane) {
      const std::optional<int> picked = form.dpp_lane(lane);
      const bool valid = picked && exec >> *picked & 1;
      writes = writes && form.dpp_writes(lane) && (valid || form.dpp_zero);
    }
    if (writes) {
      for (size_t k = 0; k < row_.sources.size(); ++k) in.value[k] = operand(form, modes, k, lane);
      in.direction = modes.direction;
      in.lane = lane;
      in.clamp = form.clamp;
      in.ieee = modes.ieee;
      uint64_t result = row_.expected(in) & mask_of(bits_of(row_.result));
      if (form.clamp && is_float(row_.result)) result = clamped(row_.result, result);
      result = flushed(row_.result, result, modes.flush_out);
      nan_ = is_float(row_.result) && format_of(row_.result).is_nan(result);
      expected = placed(form, result, old_[lane]);
    }
    const bool equal = form.sdwa ? same_sdwa(form, expected, got) : same_register(expected, got, writes);
    EXPECT_TRUE(equal) << fmt::format(
        "{} lane {}: operands {:#x} {:#x} {:#x}, mode {:#x}, exec {:#x}: expected {:#x}, got {:#x}",
        text_of(row_, form), lane, in.value[0], in.value[1], in.value[2], modes.bits(single(row_.result)),
        exec, expected, got);
    EXPECT_EQ(wave_.v(kDestination + 2, lane), 0x5eed0000u + static_cast<uint32_t>(lane))
        << text_of(row_, form);
  }

  uint64_t placed(const Form& form, uint64_t result, uint64_t old) const {
    if (bits_of(row_.result) == 64) return result;
    uint64_t low = result;
    if (form.sdwa) {
      const auto& s = *form.sdwa;
      const uint64_t field = mask_of(s.result_width) << s.result_shift;
      low = result << s.result_shift & field;
      const bool negative = result >> (s.result_width - 1) & 1;
      if (s.unused == Form::Sdwa::kPreserve) low |= old & ~field & 0xffffffffu;
      if (s.unused == Form::Sdwa::kSext && negative)
        low |= 0xffffffffu & ~mask_of(s.result_shift + s.result_width);
    }
    return (old & ~uint64_t{0xffffffff}) | low;
  }

  bool same_register(uint64_t expected, uint64_t got, bool written) const {
    if (!written || !is_float(row_.result)) return expected == got;
    const uint64_t own = mask_of(bits_of(row_.result));
    return (expected & ~own) == (got & ~own) && same(row_.result, expected & own, got & own);
  }
  bool same_sdwa(const Form& form, uint64_t expected, uint64_t got) const {
    if (expected == got) return true;
    // A NaN may carry any payload, of which the field may hold any part.
    const uint64_t field = mask_of(form.sdwa->result_width) << form.sdwa->result_shift;
    return nan_ && (expected & ~field) == (got & ~field);
  }

  const VectorRow& row_;
  SingleWave& wave_;
  std::mt19937_64 random_;
  uint64_t exec_ = 0;
  bool nan_ = false;  // the result of the lane at hand
  uint64_t sources_[3][kLanes] = {};
  uint64_t scalars_[3] = {};
  uint64_t old_[kLanes] = {};
};

}  // namespace

int bits_of(Kind kind) {
  switch (kind) {
    case Kind::kI16:
    case Kind::kF16:
      return 16;
    case Kind::kI64:
    case Kind::kF64:
      return 64;
    default:
      return 32;
  }
}
bool is_float(Kind kind) { return kind == Kind::kF16 || kind == Kind::kF32 || kind == Kind::kF64; }
Format format_of(Kind kind) { return kind == Kind::kF16 ? kHalf : kind == Kind::kF32 ? kSingle : kDouble; }

uint64_t random_operand(Kind kind, std::mt19937_64& random) {
  const int bits = bits_of(kind);
  const uint64_t any = random() & mask_of(bits);
  if (!is_float(kind)) {
    switch (random() % 8) {
      case 0:
        return random() % 40;
      case 1:
        return mask_of(bits) - random() % 40;
      case 2:
        return uint64_t{1} << (bits - 1);
      case 3:
        return mask_of(bits - 1);
      default:
        return any;
    }
  }
  const Format format = format_of(kind);
  const uint64_t sign = any & format.sign();
  const uint64_t one = static_cast<uint64_t>(format.bias()) << format.mantissa_bits;
  switch (random() % 16) {
    case 0:
      return sign;
    case 1:
      return sign | format.infinity();
    case 2:
      return sign | format.nan() | (any & 0xf);
    case 3:
      return sign | format.infinity() | 1;  // signalling
    case 4:
      return sign | (any & (format.quiet() * 2 - 1));  // subnormal
    case 5:
      return sign | one;
    case 6:
      return sign | format.largest();
    case 7:
      return sign | (uint64_t{1} << format.mantissa_bits);  // smallest normal
    case 8:
      return sign | 1;
    case 9:
    case 10:
      return any;  // any exponent
    default: {     // around one, where sums interact
      const uint64_t exponent = static_cast<uint64_t>(format.bias()) - 6 + random() % 12;
      return sign | exponent << format.mantissa_bits | (any & (format.quiet() * 2 - 1));
    }
  }
}

void check_row(const VectorRow& row) {
  static SingleWave wave;
  constexpr uint64_t kMasks[] = {~uint64_t{0}, 0x9c3f0ff0a5a50001u, 0};
  int assembled = 0;
  uint64_t seed = std::hash<std::string>{}(row.mnemonic);
  for (const Form& form : forms_of(row)) {
    std::optional<Program> program;
    try {
      program.emplace(SingleWave::program_of(text_of(row, form)));
    } catch (const std::invalid_argument&) {
      continue;  // the operation does not have this form
    }
    ++assembled;
    RowTest test(row, wave, ++seed);
    for (uint64_t exec : kMasks) test.run(form, *program, Modes{}, exec);
    for (int repeat = 0; repeat < 4; ++repeat) test.run(form, *program, Modes{}, kMasks[0]);
    if (row.rounds) {
      for (Direction direction : {Direction::kNearest, Direction::kUp, Direction::kDown, Direction::kZero}) {
        for (int flush = 0; flush < 4; ++flush) {
          test.run(form, *program, Modes{direction, (flush & 1) != 0, (flush & 2) != 0, true},
                   kMasks[flush % 2]);
        }
      }
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GE(assembled, 1) << row.mnemonic << " was assembled in no form";
}

}  // namespace mhcheck::simulator::testing

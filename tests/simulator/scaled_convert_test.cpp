#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <stdexcept>

#include "tests/simulator/exact_real.h"
#include "tests/simulator/single_wave.h"
#include "tests/simulator/small_float.h"
#include "tests/simulator/tested_mnemonics.h"
#include "tests/simulator/vector_row.h"

namespace mhcheck::simulator::testing {
namespace {

enum class Shape { kOne, kPair, kTuple, kTwoTuples };

struct Conversion {
  std::string mnemonic;
  SmallFormat small;
  std::string wide;  // f32, f16 or bf16
  Shape shape;
  bool narrows, stochastic;
  int wide_bits() const { return wide == "f32" ? 32 : 16; }
  Format wide_format() const { return wide == "f32" ? kSingle : wide == "f16" ? kHalf : kBfloat16; }
  int elements() const { return shape == Shape::kOne ? 1 : shape == Shape::kPair ? 2 : 32; }
};

std::vector<Conversion> all_conversions() {
  const std::pair<const char*, SmallFormat> formats[] = {
      {"fp8", kFp8}, {"bf8", kBf8}, {"fp4", kFp4}, {"fp6", kFp6}, {"bf6", kBf6}};
  std::vector<Conversion> list;
  for (const auto& [name, small] : formats) {
    const auto add = [&, n = name, s = small](const char* pattern, const char* wide, Shape shape,
                                              bool narrows, bool stochastic) {
      list.push_back(
          {"v_cvt_scalef32_" + fmt::format(fmt::runtime(pattern), fmt::arg("s", n), fmt::arg("w", wide)), s,
           wide, shape, narrows, stochastic});
    };
    for (const char* wide : {"f32", "f16", "bf16"}) {
      const bool single = std::string(wide) == "f32";
      if (small.bits == 8) {
        if (std::string(wide) != "bf16") add("{w}_{s}", wide, Shape::kOne, false, false);
        add("sr_{s}_{w}", wide, Shape::kOne, true, true);
      }
      if (small.bits != 6) {
        add("pk_{w}_{s}", wide, Shape::kPair, false, false);
        add("pk_{s}_{w}", wide, Shape::kPair, true, false);
        if (small.bits == 4) add("sr_pk_{s}_{w}", wide, Shape::kPair, true, true);
      } else {
        add("pk32_{w}_{s}", wide, Shape::kTuple, false, false);
        add("sr_pk32_{s}_{w}", wide, Shape::kTuple, true, true);
        if (single) {
          add("2xpk16_{s}_{w}", wide, Shape::kTwoTuples, true, false);
        } else {
          add("pk32_{s}_{w}", wide, Shape::kTuple, true, false);
        }
      }
    }
  }
  return list;
}
const Tests kTested(all_conversions());

constexpr unsigned kA = 0, kB = 32, kRandom = 64, kScale = 66, kResult = 80, kRegisters = 120;

std::string registers(unsigned first, int count) {
  return count == 1 ? fmt::format("v{}", first)
                    : fmt::format("v[{}:{}]", first, first + static_cast<unsigned>(count) - 1);
}

// Bits of a row of elements that starts at a register.
class Row {
 public:
  Row(SingleWave& wave, unsigned first, int lane, int count) {
    for (int r = 0; r < count; ++r) words_.push_back(wave.v(first + static_cast<unsigned>(r), lane));
  }
  uint64_t get(int at, int width) const {
    uint64_t value = 0;
    for (int i = 0; i < width; ++i)
      value |= uint64_t{words_[static_cast<size_t>(at + i) / 32] >> ((at + i) % 32) & 1} << i;
    return value;
  }
  void set(int at, int width, uint64_t value) {
    for (int i = 0; i < width; ++i) {
      uint32_t& word = words_[static_cast<size_t>(at + i) / 32];
      const uint32_t bit = 1u << ((at + i) % 32);
      word = value >> i & 1 ? word | bit : word & ~bit;
    }
  }
  const std::vector<uint32_t>& words() const { return words_; }

 private:
  std::vector<uint32_t> words_;
};

// One way of writing the instruction.
struct Form {
  std::vector<int> op_sel;  // empty: none
  bool negate = false, absolute = false;
  bool bit(size_t i) const { return i < op_sel.size() && op_sel[i]; }
};

class ScaledConversion : public ::testing::TestWithParam<Conversion> {
 protected:
  const Conversion& c_ = GetParam();
  SingleWave wave_;
  std::mt19937_64 random_{std::hash<std::string>{}(c_.mnemonic)};

  int narrow_registers() const { return c_.shape >= Shape::kTuple ? 6 : 1; }
  int wide_registers() const {
    return c_.elements() * c_.wide_bits() > 32 ? c_.elements() * c_.wide_bits() / 32 : 1;
  }
  bool two_operands() const {
    return c_.shape == Shape::kTwoTuples ||
           (c_.shape == Shape::kPair && c_.narrows && !c_.stochastic && c_.wide == "f32");
  }

  // One for each source and one for the result, which has two where a byte is written.
  unsigned op_sel_bits() const {
    const bool three_sources = c_.stochastic || two_operands();
    return three_sources || (c_.narrows && c_.small.bits == 4) ? 4 : 3;
  }

  std::string text(const Form& form) const {
    const int source = two_operands() ? wide_registers() / 2
                       : c_.narrows   ? wide_registers()
                                      : narrow_registers();
    std::string a = registers(kA, source);
    if (form.absolute) a = "|" + a + "|";
    if (form.negate) a = "-" + a;
    std::string t =
        c_.mnemonic + " " + registers(kResult, c_.narrows ? narrow_registers() : wide_registers()) + ", " + a;
    if (two_operands()) t += ", " + registers(kB, source);
    if (c_.stochastic) t += ", " + registers(kRandom, 1);
    t += ", " + registers(kScale, 1);
    return form.op_sel.empty() ? t : t + fmt::format(" op_sel:[{}]", fmt::join(form.op_sel, ","));
  }

  // A scale's exponent field; the elements' values lie around what the scale brings into range.
  void fill(int scale_exponent) {
    for (int lane = 0; lane < kLanes; ++lane) {
      for (unsigned r = 0; r < kRegisters; ++r) wave_.v(r, lane) = static_cast<uint32_t>(random_());
      wave_.v(kScale, lane) =
          static_cast<uint32_t>(scale_exponent) << 23 | static_cast<uint32_t>(random_() & 0x807fffff);
      if (!c_.narrows) continue;
      const Format wide = c_.wide_format();
      for (unsigned r = 0; r < kRandom; ++r) {
        for (int at = 0; at < 32; at += wide.bits()) {
          const uint64_t any = random_() & ((uint64_t{1} << wide.bits()) - 1);
          const auto near = static_cast<uint64_t>(
              std::clamp(scale_exponent - 127 + wide.bias() - 8 + static_cast<int>(random_() % 16), 0,
                         (1 << wide.exponent_bits) - 1));
          uint64_t value = (any & ~wide.infinity()) | near << wide.mantissa_bits;
          if (random_() % 8 == 0) value = any;
          if (random_() % 16 == 0) value = (any & wide.sign()) | wide.infinity() | (any & 1);
          if (at == 0) wave_.v(r, lane) = 0;
          wave_.v(r, lane) |= static_cast<uint32_t>(value << at);
        }
      }
    }
  }

  // ---- The independent evaluation

  uint64_t scaled(uint64_t single, int lane, int direction) {
    const auto exponent = static_cast<int>(wave_.v(kScale, lane) >> 23 & 0xff);
    if (exponent == 0xff) return (single & kSingle.sign()) | kSingle.nan();
    Real x = decode(kSingle, single);
    mpfr_mul_2si(x.get(), x.get(), direction * (exponent - 127), MPFR_RNDN);
    if (mpfr_nan_p(x.get())) return (single & kSingle.sign()) | kSingle.nan();
    return encode(kSingle, x);
  }
  uint64_t widened(uint64_t code, int lane) {
    const uint64_t single = scaled(from_small(c_.small, code), lane, 1);
    if (kSingle.is_nan(single)) return c_.wide_format().nan();
    return encode(c_.wide_format(), decode(kSingle, single));
  }
  uint64_t narrowed(uint64_t wide, uint32_t random, int lane) {
    const Format format = c_.wide_format();
    const uint64_t sign = wide & format.sign() ? kSingle.sign() : 0;
    uint64_t single = format.is_nan(wide) ? sign | kSingle.nan() : encode(kSingle, decode(format, wide));
    single = scaled(single, lane, -1);
    return c_.stochastic ? to_small_stochastic(c_.small, single, random) : to_small(c_.small, single);
  }

  std::vector<uint32_t> expected(const Form& form, int lane) {
    const int n = c_.elements(), narrow = c_.small.bits, wide = c_.wide_bits();
    if (!c_.narrows) {
      const Row from(wave_, kA, lane, narrow_registers());
      Row to(wave_, kResult, lane, wide_registers());
      const int part = n == 1 || narrow == 4 ? 8 : 16;
      const int first = n == 32 ? 0 : part * ((form.bit(0) ? 1 : 0) + (part == 8 && form.bit(1) ? 2 : 0));
      const int target = n == 1 && wide == 16 && form.bit(2) ? 16 : 0;
      for (int i = 0; i < n; ++i)
        to.set(target + wide * i, wide, widened(from.get(first + narrow * i, narrow), lane));
      return to.words();
    }
    const Row a(wave_, kA, lane, wide_registers()), b(wave_, kB, lane, 16);
    Row to(wave_, kResult, lane, narrow_registers());
    const int half = form.bit(op_sel_bits() - 1) ? 16 : 0;
    const int byte = narrow * n == 8 && form.bit(2) ? 8 : 0;
    const int first = n == 32 ? 0 : half + byte;
    auto random = wave_.v(kRandom, lane);
    for (int i = 0; i < n; ++i) {
      uint64_t x = two_operands() ? (i % 2 ? b : a).get(wide * (i / 2), wide)
                                  : a.get(wide * i + (n == 1 && wide == 16 && form.bit(0) ? 16 : 0), wide);
      const uint64_t sign = c_.wide_format().sign();
      const bool modified = !two_operands() || i == 0;
      if (form.absolute && modified) x &= ~sign;
      if (form.negate && modified) x ^= sign;
      to.set(first + narrow * i, narrow, narrowed(x, random, lane));
      random = random << 1 ^ (random >> 31 ? 0xc5u : 0u);
    }
    return to.words();
  }

  // NaNs of a wide result are compared as NaNs.
  void expect_same(const std::vector<uint32_t>& want, int lane, const std::string& what) {
    const Row got(wave_, kResult, lane, static_cast<int>(want.size()));
    for (size_t r = 0; r < want.size(); ++r) {
      if (c_.narrows) {
        ASSERT_EQ(got.words()[r], want[r]) << what << " lane " << lane << " register " << r;
        continue;
      }
      const Format wide = c_.wide_format();
      for (int at = 0; at < 32; at += wide.bits()) {
        const uint64_t mask = (uint64_t{1} << wide.bits()) - 1, w = want[r] >> at & mask,
                       g = got.words()[r] >> at & mask;
        ASSERT_TRUE(w == g || (wide.is_nan(w) && wide.is_nan(g)))
            << what << " lane " << lane << " register " << r << fmt::format(" {:#x} {:#x}", w, g);
      }
    }
  }

  void check(const Form& form, const Program& program, int scale_exponent, uint64_t exec) {
    fill(scale_exponent);
    std::vector<std::vector<uint32_t>> want(kLanes);
    for (int lane = 0; lane < kLanes; ++lane) {
      const int results = c_.narrows ? narrow_registers() : wide_registers();
      want[static_cast<size_t>(lane)] =
          exec >> lane & 1 ? expected(form, lane) : Row(wave_, kResult, lane, results).words();
    }
    wave_.set_exec(exec);
    wave_.run(program);
    for (int lane = 0; lane < kLanes && !HasFatalFailure(); ++lane)
      expect_same(want[static_cast<size_t>(lane)], lane, text(form));
  }
};

TEST_P(ScaledConversion, AgreesWithASearchThroughAllValues) {
  std::vector<Form> forms{{}};
  for (unsigned bits = 1; bits < 1u << op_sel_bits(); ++bits) {
    Form form;
    for (unsigned i = 0; i < op_sel_bits(); ++i) form.op_sel.push_back(bits >> i & 1);
    forms.push_back(form);
  }
  forms.push_back({{}, true, false});
  forms.push_back({{}, true, true});
  int assembled = 0;
  for (const Form& form : forms) {
    std::optional<Program> program;
    try {
      program.emplace(SingleWave::program_of(text(form)));
    } catch (const std::invalid_argument&) {
      continue;  // the operation does not have this form
    }
    ++assembled;
    const bool plain = form.op_sel.empty() && !form.negate;
    for (int scale : {127, 130, 119, 1, 0, 254, 255}) {
      if (!plain && scale != 130) continue;
      check(form, *program, scale, plain && scale == 127 ? ~uint64_t{0} : 0x9c3f0ff0a5a50001u);
      if (HasFatalFailure()) return;
    }
  }
  // Parts of a register are chosen by op_sel; tuples have none.
  EXPECT_GE(assembled, c_.shape >= Shape::kTuple ? 1 : 2) << c_.mnemonic;
}
INSTANTIATE_TEST_SUITE_P(All, ScaledConversion, ::testing::ValuesIn(all_conversions()),
                         [](const auto& row) { return row.param.mnemonic; });

}  // namespace
}  // namespace mhcheck::simulator::testing

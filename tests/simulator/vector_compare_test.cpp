#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/simulator/exact_real.h"
#include "tests/simulator/single_wave.h"
#include "tests/simulator/tested_mnemonics.h"
#include "tests/simulator/vector_row.h"

namespace mhcheck::simulator::testing {
namespace {

enum class Order { kLess, kEqual, kGreater, kUnordered };

struct Condition {
  const char* name;
  bool less, equal, greater, unordered;
};
constexpr Condition kIntegerConditions[] = {
    {"f", false, false, false, false}, {"lt", true, false, false, false}, {"eq", false, true, false, false},
    {"le", true, true, false, false},  {"gt", false, false, true, false}, {"ne", true, false, true, false},
    {"ge", false, true, true, false},  {"t", true, true, true, false}};
constexpr Condition kFloatConditions[] = {
    {"f", false, false, false, false}, {"lt", true, false, false, false}, {"eq", false, true, false, false},
    {"le", true, true, false, false},  {"gt", false, false, true, false}, {"lg", true, false, true, false},
    {"ge", false, true, true, false},  {"o", true, true, true, false},    {"u", false, false, false, true},
    {"nge", true, false, false, true}, {"nlg", false, true, false, true}, {"ngt", true, true, false, true},
    {"nle", false, false, true, true}, {"neq", true, false, true, true},  {"nlt", false, true, true, true},
    {"tru", true, true, true, true}};
struct Operands {
  const char* name;
  Kind kind;
  bool is_signed;
};
constexpr Operands kIntegers[] = {{"i16", Kind::kI16, true}, {"u16", Kind::kI16, false},
                                  {"i32", Kind::kI32, true}, {"u32", Kind::kI32, false},
                                  {"i64", Kind::kI64, true}, {"u64", Kind::kI64, false}};
constexpr Operands kFloats[] = {
    {"f16", Kind::kF16, true}, {"f32", Kind::kF32, true}, {"f64", Kind::kF64, true}};

Order order(const Operands& type, uint64_t a, uint64_t b) {
  if (is_float(type.kind)) {
    const Real x = decode(format_of(type.kind), a), y = decode(format_of(type.kind), b);
    if (mpfr_nan_p(x.get()) || mpfr_nan_p(y.get())) return Order::kUnordered;
    const int sign = mpfr_cmp(x.get(), y.get());
    return sign < 0 ? Order::kLess : sign > 0 ? Order::kGreater : Order::kEqual;
  }
  const uint64_t flip = type.is_signed ? uint64_t{1} << (bits_of(type.kind) - 1) : 0;
  return (a ^ flip) < (b ^ flip) ? Order::kLess : a == b ? Order::kEqual : Order::kGreater;
}
bool holds(const Condition& condition, Order order) {
  switch (order) {
    case Order::kLess:
      return condition.less;
    case Order::kEqual:
      return condition.equal;
    case Order::kGreater:
      return condition.greater;
    default:
      return condition.unordered;
  }
}

struct Row {
  std::string mnemonic;
  Operands type;
  Condition condition;
  bool writes_exec;
};
std::vector<Row> make_rows() {
  std::vector<Row> rows;
  for (bool exec : {false, true}) {
    const char* stem = exec ? "v_cmpx" : "v_cmp";
    for (const Operands& type : kIntegers) {
      for (const Condition& c : kIntegerConditions)
        rows.push_back({fmt::format("{}_{}_{}", stem, c.name, type.name), type, c, exec});
    }
    for (const Operands& type : kFloats) {
      for (const Condition& c : kFloatConditions)
        rows.push_back({fmt::format("{}_{}_{}", stem, c.name, type.name), type, c, exec});
    }
  }
  return rows;
}
const std::vector<Row> kRows = make_rows();
const Tests kTested(kRows);

std::string registers(Kind kind, unsigned first) {
  return bits_of(kind) == 64 ? fmt::format("v[{}:{}]", first, first + 1) : fmt::format("v{}", first);
}

class Compare : public ::testing::TestWithParam<Row> {
 protected:
  void fill(std::mt19937_64& random) {
    for (int lane = 0; lane < kLanes; ++lane) {
      a_[lane] = random_operand(GetParam().type.kind, random);
      b_[lane] = lane % 5 == 0 ? a_[lane] : random_operand(GetParam().type.kind, random);
      wave_.set_v64(2, lane, a_[lane]);
      wave_.set_v64(4, lane, b_[lane]);
    }
  }
  uint64_t expected(uint64_t exec) const {
    uint64_t mask = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      const bool active = exec >> lane & 1;
      if (active && holds(GetParam().condition, order(GetParam().type, a_[lane], b_[lane])))
        mask |= uint64_t{1} << lane;
    }
    return mask;
  }
  SingleWave wave_;
  uint64_t a_[kLanes], b_[kLanes];
};

TEST_P(Compare, WritesOneBitAnActiveLane) {
  std::mt19937_64 random(std::hash<std::string>{}(GetParam().mnemonic));
  const std::string a = registers(GetParam().type.kind, 2), b = registers(GetParam().type.kind, 4);
  const struct {
    std::string text;
    unsigned result;
  } forms[] = {{fmt::format("{}_e32 vcc, {}, {}", GetParam().mnemonic, a, b), 106},
               {fmt::format("{}_e64 s[20:21], {}, {}", GetParam().mnemonic, a, b), 20}};
  for (const auto& form : forms) {
    const Program program = SingleWave::program_of(form.text);
    for (uint64_t exec : {~uint64_t{0}, uint64_t{0x5a5a00ff12345678}, uint64_t{0}}) {
      fill(random);
      wave_.set_exec(exec);
      wave_.set_s64(form.result, 0x123456789abcdef0u);
      wave_.run(program);
      const uint64_t mask = expected(exec);
      ASSERT_EQ(wave_.s64(form.result), mask) << form.text;
      ASSERT_EQ(wave_.exec(), GetParam().writes_exec ? mask : exec) << form.text;
      ASSERT_EQ(wave_.wave().lane_mask[3], wave_.exec() >> 3 & 1 ? ~0u : 0u) << form.text;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Rows, Compare, ::testing::ValuesIn(kRows),
                         [](const auto& row) { return row.param.mnemonic; });

TEST(CompareSdwa, SelectsWordsOfItsOperands) {
  SingleWave wave;
  for (int lane = 0; lane < kLanes; ++lane) {
    wave.v(2, lane) = (100u + static_cast<uint32_t>(lane)) << 16 | 7;
    wave.v(4, lane) = 0xffff0000u | 132;
  }
  wave.set_exec(~uint64_t{0});
  wave.run("v_cmp_lt_u16_sdwa s[20:21], v2, v4 src0_sel:WORD_1 src1_sel:WORD_0");
  EXPECT_EQ(wave.s64(20), 0xffffffffu);  // 100 + lane < 132
}

const Tests kClasses{"v_cmp_class_f16",  "v_cmp_class_f32",  "v_cmp_class_f64",
                     "v_cmpx_class_f16", "v_cmpx_class_f32", "v_cmpx_class_f64"};
TEST(CompareClass, TellsAllTenClassesApart) {
  for (const Operands& type : kFloats) {
    const Format f = format_of(type.kind);
    const uint64_t normal = f.nan() >> 1 & f.infinity();
    const uint64_t values[] = {f.infinity() | 1,
                               f.nan(),
                               f.sign() | f.infinity(),
                               f.sign() | normal,
                               f.sign() | 3,
                               f.sign(),
                               0,
                               5,
                               normal,
                               f.infinity()};
    for (const char* stem : {"v_cmp", "v_cmpx"}) {
      SingleWave wave;
      for (int lane = 0; lane < kLanes; ++lane) {
        wave.set_v64(2, lane, values[lane % 10]);
        wave.v(4, lane) = 1u << (lane / 6 % 10);
      }
      wave.set_exec(~uint64_t{0});
      wave.run(fmt::format("{}_class_{}_e32 vcc, {}, v4", stem, type.name, registers(type.kind, 2)));
      for (int lane = 0; lane < kLanes; ++lane) {
        EXPECT_EQ(wave.s64(106) >> lane & 1, lane % 10 == lane / 6 % 10)
            << stem << type.name << " lane " << lane;
      }
    }
  }
}

}  // namespace
}  // namespace mhcheck::simulator::testing

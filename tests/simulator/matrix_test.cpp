#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "tests/simulator/exact_real.h"
#include "tests/simulator/single_wave.h"
#include "tests/simulator/tested_mnemonics.h"

namespace mhcheck::simulator::testing {
namespace {

constexpr unsigned kA = 0, kB = 16, kC = 64, kD = 128;

// ---- Element formats: a table of values that are exact in all of them, and how a value is stored.

struct Element {
  const char* name;
  int bits;
  std::function<uint64_t(int)> encode;  // small whole numbers, -4..4
};
uint64_t in_format(Format format, int value) {
  Real real(64);
  mpfr_set_si(real.get(), value, MPFR_RNDN);
  return encode(format, real);
}
const Element kF32Element{"f32", 32, [](int x) { return in_format(kSingle, x); }};
const Element kF16Element{"f16", 16, [](int x) { return in_format(kHalf, x); }};
const Element kBf16Element{"bf16", 16, [](int x) { return in_format(kBfloat16, x); }};
const Element kFp8Element{"fp8", 8, [](int x) { return in_format(Format{3, 4}, x); }};
const Element kBf8Element{"bf8", 8, [](int x) { return in_format(Format{2, 5}, x); }};
const Element kI8Element{"i8", 8, [](int x) { return static_cast<uint64_t>(x) & 0xff; }};
const Element kF64Element{"f64", 64, [](int x) { return in_format(kDouble, x); }};

// ---- Shapes, as gfx950.md's layouts read

struct Row {
  std::string mnemonic;
  int m, k, blocks;
  Element a, b;
  bool integer() const { return a.name == std::string("i8"); }
  bool wide() const { return a.bits == 64; }
};
const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = [] {
    std::vector<Row> list;
    const auto add = [&](const std::string& mnemonic, int m, int k, int blocks, const Element& a,
                         const Element& b) {
      list.push_back({mnemonic, m, k, blocks, a, b});
    };
    const auto f32 = [&](int m, int k, int blocks, const Element& e) {
      const std::string count = blocks > 1 ? fmt::format("_{}b", blocks) : "";
      add(fmt::format("v_mfma_f32_{0}x{0}x{1}{2}_{3}", m, k, count, e.name), m, k, blocks, e, e);
    };
    f32(32, 1, 2, kF32Element), f32(16, 1, 4, kF32Element), f32(4, 1, 16, kF32Element),
        f32(32, 2, 1, kF32Element), f32(16, 4, 1, kF32Element);
    for (const Element& e : {kF16Element, kBf16Element}) {
      f32(32, 4, 2, e), f32(16, 4, 4, e), f32(4, 4, 16, e), f32(32, 8, 1, e), f32(16, 16, 1, e),
          f32(32, 16, 1, e), f32(16, 32, 1, e);
    }
    for (const Element& a : {kFp8Element, kBf8Element}) {
      for (const Element& b : {kFp8Element, kBf8Element}) {
        add(fmt::format("v_mfma_f32_16x16x32_{}_{}", a.name, b.name), 16, 32, 1, a, b);
        add(fmt::format("v_mfma_f32_32x32x16_{}_{}", a.name, b.name), 32, 16, 1, a, b);
      }
    }
    const auto i8 = [&](int m, int k, int blocks) {
      add(fmt::format("v_mfma_i32_{0}x{0}x{1}{2}_i8", m, k, blocks > 1 ? fmt::format("_{}b", blocks) : ""), m,
          k, blocks, kI8Element, kI8Element);
    };
    i8(32, 4, 2), i8(16, 4, 4), i8(4, 4, 16), i8(32, 16, 1), i8(16, 32, 1), i8(32, 32, 1), i8(16, 64, 1);
    add("v_mfma_f64_16x16x4_f64", 16, 4, 1, kF64Element, kF64Element);
    add("v_mfma_f64_4x4x4_4b_f64", 4, 4, 4, kF64Element, kF64Element);
    return list;
  }();
  return kRows;
}
const Tests kTested(rows());

struct Where {
  int lane, element;
};
// Lane and element that hold A[i][k] of a block (or B[k][j], with j for i).
Where input_place(const Row& row, int block, int i, int k) {
  if (row.wide() && row.m == 4) return {4 * block + 16 * k + i, 0};
  if (row.blocks > 1) return {block * row.m + i, k};
  const int in_lane = row.m * row.k / 64;
  return {i + row.m * (k / in_lane), k % in_lane};
}
// Lane and result register (or pair) that hold D[i][j] of a block.
Where output_place(const Row& row, int block, int i, int j) {
  if (row.wide()) return row.m == 4 ? Where{16 * i + 4 * block + j, 0} : Where{16 * (i % 4) + j, i / 4};
  if (row.m == 4) return {4 * block + j, i};
  if (row.m == 16) return {16 * (i / 4) + j, 4 * block + i % 4};
  return {32 * (i / 4 % 2) + j, 16 * block + 4 * (i / 8) + i % 4};
}

void put(SingleWave& wave, unsigned base, const Element& element, Where at, int value) {
  const uint64_t bits = element.encode(value);
  if (element.bits == 64) {
    wave.set_v64(base + 2 * static_cast<unsigned>(at.element), at.lane, bits);
    return;
  }
  const int per_register = 32 / element.bits, shift = at.element % per_register * element.bits;
  uint32_t& word = wave.v(base + static_cast<unsigned>(at.element / per_register), at.lane);
  const uint64_t mask = (uint64_t{1} << element.bits) - 1;
  word = static_cast<uint32_t>((word & ~(mask << shift)) | bits << shift);
}

std::string tuple(const char* file, unsigned first, int registers) {
  return registers == 1 ? fmt::format("{}{}", file, first)
                        : fmt::format("{}[{}:{}]", file, first, first + static_cast<unsigned>(registers) - 1);
}
int result_registers(const Row& row) { return row.m * row.m * row.blocks / 64 * (row.wide() ? 2 : 1); }
std::string text_of(const Row& row, const char* result_file, const std::string& addend) {
  const int inputs = std::max(1, row.m * row.k * row.blocks / 64 * row.a.bits / 32);
  return fmt::format("{} {}, {}, {}, {}", row.mnemonic,
                     tuple(result_file, result_file[0] == 'a' ? 0 : kD, result_registers(row)),
                     tuple("v", kA, inputs), tuple("v", kB, inputs), addend);
}
double result(SingleWave& wave, const Row& row, unsigned base, Where at) {
  if (row.wide())
    return std::bit_cast<double>(wave.v64(base + 2 * static_cast<unsigned>(at.element), at.lane));
  const uint32_t word = wave.v(base + static_cast<unsigned>(at.element), at.lane);
  return row.integer() ? static_cast<double>(static_cast<int32_t>(word))
                       : static_cast<double>(std::bit_cast<float>(word));
}
void clear(SingleWave& wave) {
  for (unsigned reg = 0; reg < kD + 32; ++reg)
    for (int lane = 0; lane < kLanes; ++lane) wave.v(reg, lane) = 0;
}

class Matrix : public ::testing::TestWithParam<Row> {};

// One element of A and one of B are 1: exactly the D of their row and column is 1, and that where their k is
// the same.
TEST_P(Matrix, OneHotOperandsLandWhereTheLayoutSays) {
  const Row& row = GetParam();
  SingleWave wave;
  const Program program = SingleWave::program_of(text_of(row, "v", "0"));
  std::mt19937 random(3);
  const auto pick = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  for (int trial = 0; trial < 60; ++trial) {
    const int block = pick(row.blocks), i = pick(row.m), j = pick(row.m), k = pick(row.k),
              other_k = pick(row.k);
    clear(wave);
    wave.set_exec(trial % 2 ? ~uint64_t{0} : 0x12345);  // EXEC does not matter
    put(wave, kA, row.a, input_place(row, block, i, k), 2);
    put(wave, kB, row.b, input_place(row, block, j, other_k), 3);
    wave.run(program);
    for (int b = 0; b < row.blocks; ++b) {
      for (int r = 0; r < row.m; ++r) {
        for (int c = 0; c < row.m; ++c) {
          const bool hit = b == block && r == i && c == j && k == other_k;
          ASSERT_EQ(result(wave, row, kD, output_place(row, b, r, c)), hit ? 6 : 0)
              << row.mnemonic << " A[" << i << "][" << k << "] B[" << other_k << "][" << j << "] D[" << r
              << "][" << c << "] block " << b;
        }
      }
    }
  }
}

// Whole small numbers: every order and every model of accumulation gives the exact product.
TEST_P(Matrix, FullProductsWithAnAddendInEveryModel) {
  const Row& row = GetParam();
  std::mt19937 random(4);
  for (MfmaAccumulation model :
       {MfmaAccumulation::kSequential, MfmaAccumulation::kCdna3, MfmaAccumulation::kExact}) {
    for (const char* file : {"v", "a"}) {
      SingleWave wave;
      wave.options().mfma_accumulation = model;
      clear(wave);
      std::vector<int> a(static_cast<size_t>(row.blocks * row.m * row.k)), b(a.size()),
          c(static_cast<size_t>(row.blocks * row.m * row.m));
      for (int& x : a) x = static_cast<int>(random() % 9) - 4;
      for (int& x : b) x = static_cast<int>(random() % 9) - 4;
      for (int& x : c) x = static_cast<int>(random() % 100) - 50;
      const bool in_accumulators = file[0] == 'a';
      const unsigned result_base = in_accumulators ? kFirstAccumulator : kD,
                     addend_base = in_accumulators ? kFirstAccumulator : kC;
      const Element addend{"", row.wide() ? 64 : 32,
                           row.wide() ? kF64Element.encode
                           : row.integer()
                               ? [](int x) { return static_cast<uint64_t>(static_cast<uint32_t>(x)); }
                               : kF32Element.encode};
      for (int block = 0; block < row.blocks; ++block) {
        for (int i = 0; i < row.m; ++i) {
          for (int k = 0; k < row.k; ++k) {
            put(wave, kA, row.a, input_place(row, block, i, k),
                a[static_cast<size_t>((block * row.m + i) * row.k + k)]);
            put(wave, kB, row.b, input_place(row, block, i, k),
                b[static_cast<size_t>((block * row.m + i) * row.k + k)]);
          }
          for (int j = 0; j < row.m; ++j)
            put(wave, addend_base, addend, output_place(row, block, i, j),
                c[static_cast<size_t>((block * row.m + i) * row.m + j)]);
        }
      }
      wave.run(text_of(row, file, tuple(file, in_accumulators ? 0 : kC, result_registers(row))));
      for (int block = 0; block < row.blocks; ++block) {
        for (int i = 0; i < row.m; ++i) {
          for (int j = 0; j < row.m; ++j) {
            int expected = c[static_cast<size_t>((block * row.m + i) * row.m + j)];
            for (int k = 0; k < row.k; ++k)
              expected += a[static_cast<size_t>((block * row.m + i) * row.k + k)] *
                          b[static_cast<size_t>((block * row.m + j) * row.k + k)];
            ASSERT_EQ(result(wave, row, result_base, output_place(row, block, i, j)), expected)
                << row.mnemonic << " " << file << " D[" << i << "][" << j << "] block " << block;
          }
        }
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Rows, Matrix, ::testing::ValuesIn(rows()),
                         [](const auto& row) { return row.param.mnemonic; });

// ---- Rounding of each model: 1 + many tiny products, which only some models keep

float one_plus_products(MfmaAccumulation model, const Row& row, float c, float a, float b) {
  SingleWave wave;
  wave.options().mfma_accumulation = model;
  clear(wave);
  const auto bits = [&](float x) {
    return row.a.bits == 32 ? std::bit_cast<uint32_t>(x) : std::bit_cast<uint32_t>(x) >> 16;
  };
  for (int k = 0; k < row.k; ++k) {
    const Where at = input_place(row, 0, 0, k);
    const int per = 32 / row.a.bits, shift = at.element % per * row.a.bits;
    wave.v(kA + static_cast<unsigned>(at.element / per), at.lane) |= bits(a) << shift;
    wave.v(kB + static_cast<unsigned>(at.element / per), at.lane) |= bits(b) << shift;
  }
  wave.v(kC, 0) = std::bit_cast<uint32_t>(c);
  wave.run(text_of(row, "v", tuple("v", kC, result_registers(row))));
  return std::bit_cast<float>(wave.v(kD, 0));
}
const Row& row_named(const std::string& mnemonic) {
  return *std::find_if(rows().begin(), rows().end(),
                       [&](const Row& row) { return row.mnemonic == mnemonic; });
}

TEST(MatrixRounding, ModelsDifferWhereTheyShould) {
  const Row& bf16 = row_named("v_mfma_f32_16x16x32_bf16");
  // 32 products of 2^-25 each add up to 2^-20; one at a time each is less than half an ulp of 1.
  const float tiny = 0x1p-25f;
  EXPECT_EQ(one_plus_products(MfmaAccumulation::kSequential, bf16, 1.0f, tiny, 1.0f), 1.0f);
  EXPECT_EQ(one_plus_products(MfmaAccumulation::kExact, bf16, 1.0f, tiny, 1.0f), 1.0f + 0x1p-20f);
  // Groups of 8: 2^-22 at a time, which is two ulps.
  EXPECT_EQ(one_plus_products(MfmaAccumulation::kCdna3, bf16, 1.0f, tiny, 1.0f), 1.0f + 0x1p-20f);
  // Negative tails are floored to the accumulator's grid, 31 fraction bits below its exponent.
  EXPECT_EQ(one_plus_products(MfmaAccumulation::kExact, bf16, 1.0f, -0x1p-60f, 1.0f), 1.0f);
  const Row& f32 = row_named("v_mfma_f32_16x16x4_f32");
  EXPECT_EQ(one_plus_products(MfmaAccumulation::kSequential, f32, 1.0f, tiny, 1.0f), 1.0f);
  EXPECT_EQ(one_plus_products(MfmaAccumulation::kExact, f32, 1.0f, tiny, 1.0f), 1.0f + 0x1p-23f);
  EXPECT_EQ(one_plus_products(MfmaAccumulation::kCdna3, f32, 1.0f, tiny, 1.0f), 1.0f);
}

TEST(MatrixRounding, ExactSumsAgreeWithMpfr) {
  const Row& row = row_named("v_mfma_f32_16x16x4_f32");
  std::mt19937_64 random(9);
  SingleWave wave;
  wave.options().mfma_accumulation = MfmaAccumulation::kExact;
  const Program program = SingleWave::program_of(text_of(row, "v", tuple("v", kC, 4)));
  for (int trial = 0; trial < 40; ++trial) {
    const auto draw = [&] {  // any exponent that keeps the sum finite, so that sums cancel and disappear
      const auto exponent = static_cast<uint32_t>(127 - 40 + random() % 80);
      return static_cast<uint32_t>(random() & 0x807fffff) | exponent << 23;
    };
    clear(wave);
    for (int lane = 0; lane < kLanes; ++lane) {
      wave.v(kA, lane) = draw();
      wave.v(kB, lane) = draw();
      for (unsigned r = 0; r < 4; ++r) wave.v(kC + r, lane) = draw();
    }
    wave.run(program);
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 16; ++j) {
        const Where at = output_place(row, 0, i, j);
        Real sum = decode(kSingle, wave.v(kC + static_cast<unsigned>(at.element), at.lane));
        for (int k = 0; k < 4; ++k) {
          const Real a = decode(kSingle, wave.v(kA, 16 * k + i)), b = decode(kSingle, wave.v(kB, 16 * k + j));
          mpfr_fma(sum.get(), a.get(), b.get(), sum.get(), MPFR_RNDN);
        }
        ASSERT_EQ(wave.v(kD + static_cast<unsigned>(at.element), at.lane), encode(kSingle, sum))
            << i << "," << j;
      }
    }
  }
}

TEST(MatrixRounding, InputDenormalsOfF32FollowMode) {
  const Row& row = row_named("v_mfma_f32_16x16x4_f32");
  for (bool keep : {true, false}) {
    SingleWave wave;
    clear(wave);
    wave.set_mode(keep ? 0x3f0 : 0x3c0);
    for (int k = 0; k < 4; ++k) wave.v(kA, 16 * k) = 1, wave.v(kB, 16 * k) = 0x7f000000;
    wave.run(text_of(row, "v", "0"));
    EXPECT_EQ(std::bit_cast<float>(wave.v(kD, 0)), keep ? 4 * 0x1p-149f * 0x1p127f : 0.0f);
  }
}

TEST(MatrixModifiers, BroadcastAndPatternsChooseLanes) {
  const Row& row = row_named("v_mfma_f32_4x4x1_16b_f32");
  const struct {
    const char* modifiers;
    std::function<int(int)> a, b;
  } cases[] = {{"cbsz:4 abid:3", [](int l) { return l % 4 + 12; }, [](int l) { return l; }},
               {"cbsz:2 abid:1", [](int l) { return l % 16 + 16; }, [](int l) { return l; }},
               {"blgp:1", [](int l) { return l; }, [](int l) { return l % 32; }},
               {"blgp:2", [](int l) { return l; }, [](int l) { return l % 32 + 32; }},
               {"blgp:3", [](int l) { return l; }, [](int l) { return (l + 16) % 64; }},
               {"blgp:6", [](int l) { return l; }, [](int l) { return l % 16 + 32; }}};
  for (const auto& c : cases) {
    SingleWave wave;
    clear(wave);
    for (int lane = 0; lane < kLanes; ++lane) {
      wave.v(kA, lane) = std::bit_cast<uint32_t>(static_cast<float>(lane + 1));
      wave.v(kB, lane) = std::bit_cast<uint32_t>(static_cast<float>(100 + lane));
    }
    wave.run(text_of(row, "v", "1.0") + " " + c.modifiers);
    for (int block = 0; block < 16; ++block) {
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
          const float expected =
              static_cast<float>((c.a(4 * block + i) + 1) * (100 + c.b(4 * block + j)) + 1);
          ASSERT_EQ(std::bit_cast<float>(wave.v(kD + static_cast<unsigned>(i), 4 * block + j)), expected)
              << c.modifiers;
        }
      }
    }
  }
}

const Tests kAnyFormat{"v_mfma_f32_16x16x128_f8f6f4", "v_mfma_f32_32x32x64_f8f6f4"};
TEST(MatrixFormats, EightSixAndFourBitOperandsMultiplyWholeNumbers) {
  // fp8 e4m3, bf8 e5m2, fp6 e2m3, bf6 e3m2, fp4 e2m1: 1, 2, 3 and 4 are exact in all of them.
  const Format formats[] = {{3, 4}, {2, 5}, {3, 2}, {2, 3}, {1, 2}};
  std::mt19937 random(8);
  for (int m : {16, 32}) {
    const int depth = m == 16 ? 128 : 64;
    for (int fa = 0; fa < 5; ++fa) {
      for (int fb = 0; fb < 5; ++fb) {
        SingleWave wave;
        clear(wave);
        std::vector<std::vector<int>> values[2];
        for (int which : {0, 1}) {
          const Format format = formats[which ? fb : fa];
          values[which].assign(static_cast<size_t>(m), std::vector<int>(static_cast<size_t>(depth)));
          for (int i = 0; i < m; ++i) {
            for (int k = 0; k < depth; ++k) {
              const int value = static_cast<int>(random() % 7) - 3;
              values[which][static_cast<size_t>(i)][static_cast<size_t>(k)] = value;
              const uint64_t bits = in_format(format, value);
              const int lane = i + m * (k / 32), bit = k % 32 * format.bits();
              for (int x = 0; x < format.bits(); ++x) {
                const unsigned reg = (which ? kB : kA) + static_cast<unsigned>((bit + x) / 32);
                wave.v(reg, lane) |= static_cast<uint32_t>(bits >> x & 1) << ((bit + x) % 32);
              }
            }
          }
        }
        const auto registers = [&](int f) { return f < 2 ? 8 : f < 4 ? 6 : 4; };
        wave.run(fmt::format("v_mfma_f32_{0}x{0}x{1}_f8f6f4 {2}, {3}, {4}, 0 cbsz:{5} blgp:{6}", m, depth,
                             tuple("v", kD, m * m / 64), tuple("v", kA, registers(fa)),
                             tuple("v", kB, registers(fb)), fa, fb));
        const Row shape{"", m, depth, 1, kF32Element, kF32Element};
        for (int i = 0; i < m; ++i) {
          for (int j = 0; j < m; ++j) {
            int expected = 0;
            for (size_t k = 0; k < static_cast<size_t>(depth); ++k)
              expected += values[0][static_cast<size_t>(i)][k] * values[1][static_cast<size_t>(j)][k];
            ASSERT_EQ(result(wave, shape, kD, output_place(shape, 0, i, j)), expected) << fa << "," << fb;
          }
        }
      }
    }
  }
}

// ---- Sparse products: A stores two of every four neighbours along k

struct SparseRow {
  std::string mnemonic;
  int m, k;  // of the dense product
  Element a, b;
};
const std::vector<SparseRow>& sparse_rows() {
  static const std::vector<SparseRow> kRows = [] {
    std::vector<SparseRow> list;
    const auto add = [&](int m, int k, const std::string& type, const Element& a, const Element& b) {
      list.push_back({fmt::format("v_smfmac_{0}_{1}x{1}x{2}_{3}", a.name == std::string("i8") ? "i32" : "f32",
                                  m, k, type),
                      m, k, a, b});
    };
    for (const auto& [m, k] : {std::pair{16, 32}, {32, 16}, {16, 64}, {32, 32}}) {
      for (const Element& e : {kF16Element, kBf16Element}) add(m, k, e.name, e, e);
    }
    for (const auto& [m, k] : {std::pair{16, 64}, {32, 32}, {16, 128}, {32, 64}}) {
      add(m, k, "i8", kI8Element, kI8Element);
      for (const Element& a : {kFp8Element, kBf8Element}) {
        for (const Element& b : {kFp8Element, kBf8Element})
          add(m, k, fmt::format("{}_{}", a.name, b.name), a, b);
      }
    }
    return list;
  }();
  return kRows;
}
const Tests kSparseTested(sparse_rows());

class Sparse : public ::testing::TestWithParam<SparseRow> {};
INSTANTIATE_TEST_SUITE_P(Rows, Sparse, ::testing::ValuesIn(sparse_rows()),
                         [](const auto& row) { return row.param.mnemonic; });

// The index operand of every lane has a part for each ABID; only one of them is meant.
TEST_P(Sparse, StoredElementsMeetTheColumnsThatTheirIndicesName) {
  const SparseRow& row = GetParam();
  const int stored = row.k / 2, in_lane = row.m * stored / 64, index_bits = 2 * in_lane;
  const Row dense{"", row.m, row.k, 1, row.b, row.b};
  const Row results{"", row.m, row.k, 1, row.a.name == std::string("i8") ? row.a : kF32Element, kF32Element};
  const Element addend{"", 32,
                       row.a.name == std::string("i8")
                           ? [](int x) { return static_cast<uint64_t>(static_cast<uint32_t>(x)); }
                           : kF32Element.encode};
  std::mt19937 random(12);
  const auto small = [&] { return static_cast<int>(random() % 9) - 4; };
  struct Control {
    int cbsz, abid;
  };
  for (const Control control : {Control{0, 0}, {0, 1}, {0, 3}, {1, 1}, {3, 2}, {4, 1}}) {
    for (const auto model :
         {MfmaAccumulation::kSequential, MfmaAccumulation::kCdna3, MfmaAccumulation::kExact}) {
      const bool in_accumulators = control.abid % 2 == 1;
      const unsigned base = in_accumulators ? kFirstAccumulator : kD;
      SingleWave wave;
      wave.options().mfma_accumulation = model;
      clear(wave);
      wave.set_exec(0x1234);
      const int sets = 32 / index_bits, set = control.cbsz % 4 ? 0 : control.abid % sets;
      std::vector<std::vector<int>> a(static_cast<size_t>(row.m),
                                      std::vector<int>(static_cast<size_t>(stored)));
      auto k_of = a, b = a, c = a;
      for (auto& column : b) column.resize(static_cast<size_t>(row.k));
      for (auto& line : c) line.resize(static_cast<size_t>(row.m));
      constexpr unsigned kIndex = 60;
      for (int lane = 0; lane < kLanes; ++lane) wave.v(kIndex, lane) = static_cast<uint32_t>(random());
      for (int i = 0; i < row.m; ++i) {
        const auto line = static_cast<size_t>(i);
        for (int s = 0; s < stored; ++s) {
          const auto at = static_cast<size_t>(s);
          const int lane = i + row.m * (s / in_lane), element = s % in_lane;
          a[line][at] = small();
          put(wave, kA, row.a, {lane, element}, a[line][at]);
          const uint32_t part = wave.v(kIndex, lane) >> (index_bits * set);
          k_of[line][at] = s / 2 * 4 + static_cast<int>(part >> (2 * element) & 3);
        }
        for (int k = 0; k < row.k; ++k) {
          b[line][static_cast<size_t>(k)] = small();
          put(wave, kB, row.b, input_place(dense, 0, i, k), b[line][static_cast<size_t>(k)]);
        }
        for (int j = 0; j < row.m; ++j) {
          c[line][static_cast<size_t>(j)] = small();
          put(wave, base, addend, output_place(results, 0, i, j), c[line][static_cast<size_t>(j)]);
        }
      }
      const char* file = in_accumulators ? "a" : "v";
      wave.run(fmt::format("{} {}, {}, {}, v{} cbsz:{} abid:{}", row.mnemonic,
                           tuple(file, in_accumulators ? 0 : kD, row.m * row.m / 64),
                           tuple("v", kA, in_lane * row.a.bits / 32),
                           tuple("v", kB, 2 * in_lane * row.b.bits / 32), kIndex, control.cbsz,
                           control.abid));
      for (size_t i = 0; i < a.size(); ++i) {
        for (size_t j = 0; j < a.size(); ++j) {
          int expected = c[i][j];
          for (size_t s = 0; s < a[i].size(); ++s)
            expected += a[i][s] * b[j][static_cast<size_t>(k_of[i][s])];
          ASSERT_EQ(
              result(wave, results, base, output_place(results, 0, static_cast<int>(i), static_cast<int>(j))),
              expected)
              << row.mnemonic << " cbsz " << control.cbsz << " abid " << control.abid << " D[" << i << "]["
              << j << "]";
        }
      }
    }
  }
}

// What A does not store is not multiplied, NaN or not.
TEST(SparseFormats, ElementsOfBThatNoIndexNamesDoNotMatter) {
  SingleWave wave;
  clear(wave);
  for (int lane = 0; lane < kLanes; ++lane) {
    wave.v(kA, lane) = wave.v(kA + 1, lane) = 0x3c003c00;  // four times 1
    wave.v(60, lane) = 0x99;                               // elements 1 and 2 of each four
    for (unsigned r = 0; r < 4; ++r) wave.v(kB + r, lane) = r % 2 ? 0x7e003c00 : 0x3c007e00;  // NaN 1 1 NaN
  }
  wave.run("v_smfmac_f32_16x16x32_f16 v[128:131], v[0:1], v[16:19], v60");
  for (unsigned r = 0; r < 4; ++r) {
    for (int lane = 0; lane < kLanes; ++lane) EXPECT_EQ(std::bit_cast<float>(wave.v(kD + r, lane)), 16.0f);
  }
}

// ---- Scaled products

const Tests kScaled{"v_mfma_scale_f32_16x16x128_f8f6f4", "v_mfma_scale_f32_32x32x64_f8f6f4"};

struct ScaledSetup {
  int m = 16, format_a = 0, format_b = 0, byte_a = 0, byte_b = 0;
  std::string text(const std::string& addend) const {
    const auto registers = [](int f) { return f < 2 ? 8 : f < 4 ? 6 : 4; };
    return fmt::format(
        "v_mfma_scale_f32_{0}x{0}x{1}_f8f6f4 {2}, {3}, {4}, {5}, v60, v61 op_sel:[{6},{7},0] "
        "op_sel_hi:[{8},{9},0] cbsz:{10} blgp:{11}",
        m, m == 16 ? 128 : 64, tuple("v", kD, m * m / 64), tuple("v", kA, registers(format_a)),
        tuple("v", kB, registers(format_b)), addend, byte_a & 1, byte_b & 1, byte_a >> 1, byte_b >> 1,
        format_a, format_b);
  }
};

// Whole numbers and scales of 2^-2 to 2^3: every sum is exact.
TEST(MatrixScales, ABlockOf32ElementsIsMultipliedByItsScale) {
  const Format formats[] = {{3, 4}, {2, 5}, {3, 2}, {2, 3}, {1, 2}};
  std::mt19937 random(21);
  for (int m : {16, 32}) {
    const int depth = m == 16 ? 128 : 64, blocks = depth / 32;
    for (int trial = 0; trial < 50; ++trial) {
      const ScaledSetup setup{m, trial % 5, trial / 5 % 5, static_cast<int>(random() % 4),
                              static_cast<int>(random() % 4)};
      SingleWave wave;
      clear(wave);
      wave.options().mfma_accumulation = trial % 3 == 0   ? MfmaAccumulation::kSequential
                                         : trial % 3 == 1 ? MfmaAccumulation::kCdna3
                                                          : MfmaAccumulation::kExact;
      std::vector<std::vector<double>> values[2];
      for (int which : {0, 1}) {
        const Format format = formats[which ? setup.format_b : setup.format_a];
        values[which].assign(static_cast<size_t>(m), std::vector<double>(static_cast<size_t>(depth)));
        for (int lane = 0; lane < kLanes; ++lane)
          wave.v(which ? 61 : 60, lane) = static_cast<uint32_t>(random());
        for (int i = 0; i < m; ++i) {
          for (int block = 0; block < blocks; ++block) {
            const int lane = i + m * block, exponent = static_cast<int>(random() % 6) - 2;
            const int shift = 8 * (which ? setup.byte_b : setup.byte_a);
            uint32_t& word = wave.v(which ? 61 : 60, lane);
            word = (word & ~(0xffu << shift)) | static_cast<uint32_t>(127 + exponent) << shift;
            for (int e = 0; e < 32; ++e) {
              const int value = static_cast<int>(random() % 7) - 3;
              values[which][static_cast<size_t>(i)][static_cast<size_t>(32 * block + e)] =
                  std::ldexp(value, exponent);
              const uint64_t bits = in_format(format, value);
              const int bit = e * format.bits();
              for (int x = 0; x < format.bits(); ++x) {
                const unsigned reg = (which ? kB : kA) + static_cast<unsigned>((bit + x) / 32);
                wave.v(reg, lane) |= static_cast<uint32_t>(bits >> x & 1) << ((bit + x) % 32);
              }
            }
          }
        }
      }
      wave.run(setup.text("1.0"));
      const Row shape{"", m, depth, 1, kF32Element, kF32Element};
      for (int i = 0; i < m; ++i) {
        for (int j = 0; j < m; ++j) {
          double expected = 1;
          for (size_t k = 0; k < static_cast<size_t>(depth); ++k)
            expected += values[0][static_cast<size_t>(i)][k] * values[1][static_cast<size_t>(j)][k];
          ASSERT_EQ(result(wave, shape, kD, output_place(shape, 0, i, j)), expected)
              << m << " formats " << setup.format_a << "," << setup.format_b;
        }
      }
    }
  }
}

// One product in lane 0 of each operand, in bf8, with scales whose own range a float does not have.
float one_scaled_product(uint32_t a, uint32_t scale_a, uint32_t b, uint32_t scale_b) {
  SingleWave wave;
  clear(wave);
  wave.v(kA, 0) = a;
  wave.v(kB, 0) = b;
  for (int lane = 0; lane < kLanes; ++lane) wave.v(60, lane) = wave.v(61, lane) = 127;
  wave.v(60, 0) = scale_a;
  wave.v(61, 0) = scale_b;
  wave.run(ScaledSetup{.m = 16, .format_a = 1, .format_b = 1}.text("0"));
  return std::bit_cast<float>(wave.v(kD, 0));
}
TEST(MatrixScales, ScalesReachBeyondTheRangeOfTheirElements) {
  constexpr uint32_t kOne = 0x3c, kLargest = 0x7b, kLeast = 0x01, kInfinity = 0x7c, kZero = 0;  // of e5m2
  EXPECT_EQ(one_scaled_product(kOne, 0, kOne, 254), 1.0f);
  EXPECT_EQ(one_scaled_product(kLargest, 254, kLargest, 0), 57344.0f * 57344.0f);
  EXPECT_EQ(one_scaled_product(kLargest, 254, kLeast, 114), 57344.0f * 0x1p-16f * 0x1p114f);
  EXPECT_EQ(one_scaled_product(kLeast, 0, kOne, 127), 0x1p-143f);
  EXPECT_EQ(one_scaled_product(kLeast, 0, kLeast, 0), 0.0f);
  EXPECT_EQ(one_scaled_product(kLargest, 254, kOne, 254), INFINITY);
  EXPECT_EQ(one_scaled_product(kZero, 254, kLargest, 254), 0.0f);
  EXPECT_EQ(one_scaled_product(kInfinity, 0, kOne, 0), INFINITY);
  EXPECT_TRUE(std::isnan(one_scaled_product(kInfinity, 127, kZero, 127)));
  EXPECT_TRUE(std::isnan(one_scaled_product(kOne, 255, kOne, 127)));
  EXPECT_TRUE(std::isnan(one_scaled_product(kOne, 127, kZero, 255)));
}

}  // namespace
}  // namespace mhcheck::simulator::testing

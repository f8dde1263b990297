#include <cmath>

#include "kernels/simulator/handlers/accumulate.h"
#include "kernels/simulator/handlers/float_row.h"
#include "kernels/simulator/handlers/lanes.h"
#include "kernels/simulator/handlers/tables.h"
#include "kernels/simulator/handlers/tuples.h"
#include "kernels/simulator/memory_access.h"

// MFMA: D = A B + C for one or several blocks, by all 64 lanes whatever EXEC says. Layouts: gfx950.md,
// section 4.
namespace mhcheck::simulator::MHCHECK_ISA {
namespace {

// ---- Where elements live. `kM` rows and columns a block, `kK` products a result, `kBlocks` blocks.

template <int kRowsAndColumns, int kDepth, int kBlockCount>
struct Shape {
  static constexpr int m = kRowsAndColumns, k = kDepth, blocks = kBlockCount;
  static constexpr int elements = m * k * blocks / kLanes;  // of A, and of B, in a lane
  static constexpr int results = m * m * blocks / kLanes;   // registers of D

  struct Place {
    int block, index, k;  // index: the row of A or the column of B
  };
  MHCHECK_LANE Place input(int lane, int element) {
    if constexpr (blocks > 1) return {lane / m, lane % m, element};
    return {0, lane % m, elements * (lane / m) + element};
  }
  struct Cell {
    int reg, lane;
  };
  MHCHECK_LANE Cell output(int block, int row, int column) {
    if constexpr (m == 4) return {row, 4 * block + column};
    if constexpr (m == 16) return {4 * block + row % 4, 16 * (row / 4) + column};
    return {16 * block + 4 * (row / 8) + row % 4, 32 * (row / 4 % 2) + column};
  }
};

// ---- What elements are

struct InF32 {
  static constexpr int bits = 32;
  using Value = float;
  MHCHECK_LANE float widen(uint32_t raw) { return f32(raw); }
};
struct InF16 {
  static constexpr int bits = 16;
  using Value = float;
  MHCHECK_LANE float widen(uint32_t raw) { return half_to_float(raw); }
};
struct InBf16 {
  static constexpr int bits = 16;
  using Value = float;
  MHCHECK_LANE float widen(uint32_t raw) { return bf16_to_float(raw); }
};
template <class Format>
struct InSmall {
  static constexpr int bits = 8;
  using Value = float;
  MHCHECK_LANE float widen(uint32_t raw) { return small_to_float<Format>(raw); }
};
using InFp8 = InSmall<E4m3>;
using InBf8 = InSmall<E5m2>;
struct InI8 {
  static constexpr int bits = 8;
  using Value = int32_t;
  MHCHECK_LANE int32_t widen(uint32_t raw) { return static_cast<int8_t>(raw); }
};

// ---- Lanes that A and B are read from

MHCHECK_LANE int lane_of_a(const Instruction& instruction, int lane) {
  const int size = kLanes >> instruction.broadcast_size;
  return lane % size + size * instruction.broadcast_index;
}
MHCHECK_LANE int lane_of_b(unsigned pattern, int lane) {
  switch (pattern) {
    case 0:
      return lane;
    case 1:
      return lane % 32;
    case 2:
      return 32 + lane % 32;
    case 3:
      return (lane + 16) % 64;
    default:
      return lane % 16 + 16 * static_cast<int>(pattern - 4);
  }
}

MHCHECK_LANE float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

uint32_t constant_bits(const Source& source) { return source.value; }

// How the products are added when the model is not the sequential one.
template <class Input>
float model_dot(MfmaAccumulation model, const float* a, const float* b, int count, float c) {
  if (model == MfmaAccumulation::kExact) return exact_dot(a, b, count, c);
  if (Input::bits == 8) return cdna3_dot(a, b, count, c, 16, true);
  return cdna3_dot(a, b, count, c, 8, false);
}

MHCHECK_LANE float multiply_add(float a, float b, float c) { return std::fma(a, b, c); }
MHCHECK_LANE int32_t multiply_add(int32_t a, int32_t b, int32_t c) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b) + static_cast<uint32_t>(c));
}

MHCHECK_LANE void settle(float& value) {
  if (value != value) value = f32(0x7fc00000u);
}
MHCHECK_LANE void settle(int32_t&) {}

/// All blocks, laid out so that registers move in and out in contiguous runs: A is transposed.
template <class S, class Value>
struct Operands {
  alignas(64) Value a[S::blocks][S::k][S::m];
  alignas(64) Value b[S::blocks][S::k][S::m];
  alignas(64) Value c[S::blocks][S::m][S::m];
};

template <class S, class Element, class Value>
MHCHECK_LANE void spread_elements(const uint32_t* registers, Value (&to)[S::blocks][S::k][S::m]) {
  constexpr int kPerRegister = 32 / Element::bits;
  for (int element = 0; element < S::elements; ++element) {
    const int shift = Element::bits * (element % kPerRegister) % 32;
    for (int group = 0; group < kLanes / S::m; ++group) {
      const auto place = S::input(group * S::m, element);
      const uint32_t* from = registers + element / kPerRegister * kLanes + group * S::m;
      Value* target = to[place.block][place.k];
      for (int i = 0; i < S::m; ++i) {
        target[i] = Element::widen(Element::bits == 32
                                       ? from[i]
                                       : from[i] >> shift &
                                             static_cast<uint32_t>((uint64_t{1} << Element::bits) - 1));
      }
    }
  }
}

template <int kRegisters, class LaneOf>
MHCHECK_LANE void permute_lanes(const uint32_t* from, uint32_t* to, LaneOf lane_of) {
  for (int r = 0; r < kRegisters; ++r) {
    for (int lane = 0; lane < kLanes; ++lane) to[r * kLanes + lane] = from[r * kLanes + lane_of(lane)];
  }
}

template <class S, class ElementA, class ElementB>
MHCHECK_LANE void gather_inputs(const Wave& wave, const Instruction& instruction, const uint32_t* a,
                                const uint32_t* b, Operands<S, typename ElementA::Value>& to) {
  constexpr int kRegisters = S::elements * ElementA::bits / 32;
  uint32_t permuted_a[kRegisters * kLanes], permuted_b[kRegisters * kLanes];
  if (instruction.broadcast_size) {
    permute_lanes<kRegisters>(a, permuted_a, [&](int lane) { return lane_of_a(instruction, lane); });
    a = permuted_a;
  }
  if (instruction.b_pattern) {
    permute_lanes<kRegisters>(b, permuted_b,
                              [&](int lane) { return lane_of_b(instruction.b_pattern, lane); });
    b = permuted_b;
  }
  spread_elements<S, ElementA>(a, to.a);
  spread_elements<S, ElementB>(b, to.b);
  if constexpr (ElementA::bits == 32) {
    if (wave.mode >> mode_bits::kDenormF32 & 1) return;
    for (auto* matrix : {&to.a, &to.b}) {
      for (auto& block : *matrix) {
        for (auto& row : block) {
          for (auto& value : row) value = flushed(value);
        }
      }
    }
  }
}

// Several rows at a time: their chains of dependent additions overlap.
template <class S, class Value>
MHCHECK_LANE void multiply_sequentially(Operands<S, Value>& data) {
  constexpr int kRows = S::m == 16 ? 8 : 4;
  for (int block = 0; block < S::blocks; ++block) {
    for (int row = 0; row < S::m; row += kRows) {
      Value sum[kRows][S::m];
      for (int r = 0; r < kRows; ++r) {
        for (int j = 0; j < S::m; ++j) sum[r][j] = data.c[block][row + r][j];
      }
      for (int k = 0; k < S::k; ++k) {
        for (int r = 0; r < kRows; ++r) {
          const Value factor = data.a[block][k][row + r];
          for (int j = 0; j < S::m; ++j) sum[r][j] = multiply_add(factor, data.b[block][k][j], sum[r][j]);
        }
      }
      for (int r = 0; r < kRows; ++r) {
        for (int j = 0; j < S::m; ++j) data.c[block][row + r][j] = sum[r][j];
      }
    }
  }
}

template <class S, class Input>
void multiply_by_model(MfmaAccumulation model, Operands<S, float>& data) {
  for (int block = 0; block < S::blocks; ++block) {
    for (int i = 0; i < S::m; ++i) {
      for (int j = 0; j < S::m; ++j) {
        float row[S::k], column[S::k];
        for (int k = 0; k < S::k; ++k) {
          row[k] = data.a[block][k][i];
          column[k] = data.b[block][k][j];
        }
        float& cell = data.c[block][i][j];
        cell = model_dot<Input>(model, row, column, S::k, cell);
      }
    }
  }
}

template <class S, class Value, bool kStore>
MHCHECK_LANE void move_results(uint32_t* registers, Operands<S, Value>& data) {
  for (int block = 0; block < S::blocks; ++block) {
    for (int row = 0; row < S::m; ++row) {
      const auto first = S::output(block, row, 0);
      uint32_t* words = registers + first.reg * kLanes + first.lane;  // a row's columns are neighbours
      for (int column = 0; column < S::m; ++column) {
        uint32_t& word = words[column];
        if (kStore) {
          Value value = data.c[block][row][column];
          settle(value);
          word = std::bit_cast<uint32_t>(value);
        } else {
          data.c[block][row][column] = std::bit_cast<Value>(word);
        }
      }
    }
  }
}

template <class S, class Value>
void load_addend(Wave& wave, const Instruction& instruction, Operands<S, Value>& data) {
  const Source& from = instruction.source[2];
  if (from.kind == SourceKind::kVector) {
    move_results<S, Value, false>(vector_register(wave, from.index), data);
    return;
  }
  const Value value = std::bit_cast<Value>(constant_bits(from));
  for (auto& block : data.c) {
    for (auto& row : block) {
      for (Value& cell : row) cell = value;
    }
  }
}

// The sequential model for blocks whose rows fill host registers: C goes from the wave's registers through
// the host's to D. All results are computed before the first is written, because D may lie over A or B.
template <class S>
void multiply_rows(Wave& wave, const Instruction& instruction, const Operands<S, float>& data) {
  constexpr int kPieces = S::m / FloatRow::kWidth, kRows = 8 / kPieces;
  const Source& addend = instruction.source[2];
  uint32_t results[S::results * kLanes];
  const uint32_t* registers =
      addend.kind == SourceKind::kVector ? vector_register(wave, addend.index) : nullptr;
  for (int block = 0; block < S::blocks; ++block) {
    for (int row = 0; row < S::m; row += kRows) {
      FloatRow sum[kRows][kPieces];
      for (int r = 0; r < kRows; ++r) {
        const auto cell = S::output(block, row + r, 0);
        for (int p = 0; p < kPieces; ++p) {
          if (registers) {
            sum[r][p].load(registers + cell.reg * kLanes + cell.lane + p * FloatRow::kWidth);
          } else {
            sum[r][p].fill(f32(addend.value));
          }
        }
      }
      for (int k = 0; k < S::k; ++k) {
        FloatRow b[kPieces];
        for (int p = 0; p < kPieces; ++p) b[p].load(data.b[block][k] + p * FloatRow::kWidth);
        for (int r = 0; r < kRows; ++r) {
          for (int p = 0; p < kPieces; ++p) sum[r][p].multiply_add(data.a[block][k][row + r], b[p]);
        }
      }
      for (int r = 0; r < kRows; ++r) {
        const auto cell = S::output(block, row + r, 0);
        for (int p = 0; p < kPieces; ++p)
          sum[r][p].store(results + cell.reg * kLanes + cell.lane + p * FloatRow::kWidth);
      }
    }
  }
  std::memcpy(vector_register(wave, instruction.destination), results, sizeof results);
}

template <class S, class ElementA, class ElementB>
void multiply(Wave& wave, const Instruction& instruction) {
  using Value = typename ElementA::Value;
  Operands<S, Value> data;
  gather_inputs<S, ElementA, ElementB>(wave, instruction, vector_register(wave, instruction.source[0].index),
                                       vector_register(wave, instruction.source[1].index), data);
  const MfmaAccumulation model = wave.options->mfma_accumulation;
  if constexpr (std::is_same_v<Value, float> && S::m >= FloatRow::kWidth) {
    if (model == MfmaAccumulation::kSequential) {
      multiply_rows(wave, instruction, data);
      return;
    }
  }
  load_addend(wave, instruction, data);
  if constexpr (std::is_same_v<Value, float>) {
    const bool as_sequential = ElementA::bits == 32 && model == MfmaAccumulation::kCdna3;
    if (model != MfmaAccumulation::kSequential && !as_sequential) {
      multiply_by_model<S, ElementA>(model, data);
      move_results<S, Value, true>(vector_register(wave, instruction.destination), data);
      return;
    }
  }
  multiply_sequentially(data);
  move_results<S, Value, true>(vector_register(wave, instruction.destination), data);
}

// One result after the other, by any model: for products that no block of registers holds in order.
template <class Input, class Value>
Value dot(const Wave& wave, const Value* a, const Value* b, int count, Value c) {
  if constexpr (std::is_same_v<Value, float>) {
    const MfmaAccumulation model = wave.options->mfma_accumulation;
    if (model != MfmaAccumulation::kSequential) return model_dot<Input>(model, a, b, count, c);
  }
  for (int k = 0; k < count; ++k) c = multiply_add(a[k], b[k], c);
  return c;
}

// ---- Sparse: of every four neighbours along k, A stores two. Two bits for each stored element, lowest
// first, say which of the four it is; they lie in the lane's dword of the third operand, of which ABID picks
// the part where there are several and CBSZ does not ask for the first. D is the addend too.

template <class S, class ElementA, class ElementB>
void multiply_sparse(Wave& wave, const Instruction& instruction) {
  using Value = typename ElementA::Value;
  constexpr int kStored = S::k / 2, kInLane = S::elements / 2, kIndexBits = 2 * kInLane;
  constexpr int kPerRegister = 32 / ElementA::bits, kSets = 32 / kIndexBits;
  const uint32_t* registers = vector_register(wave, instruction.source[0].index);
  const uint32_t* indices = vector_register(wave, instruction.source[2].index);
  const int set = instruction.broadcast_size & 3 ? 0 : instruction.broadcast_index % kSets;
  Value a[S::m][kStored];
  int k_of[S::m][kStored];
  for (int lane = 0; lane < kLanes; ++lane) {
    const int row = lane % S::m, first = lane / S::m * kInLane;
    const uint32_t index = indices[lane] >> (kIndexBits * set);
    for (int e = 0; e < kInLane; ++e) {
      const uint32_t word = registers[e / kPerRegister * kLanes + lane];
      const uint32_t raw = word >> (ElementA::bits * (e % kPerRegister)) & ((1u << ElementA::bits) - 1u);
      a[row][first + e] = ElementA::widen(raw);
      k_of[row][first + e] = 2 * first + 4 * (e / 2) + static_cast<int>(index >> (2 * e) & 3);
    }
  }
  Operands<S, Value> data;
  spread_elements<S, ElementB>(vector_register(wave, instruction.source[1].index), data.b);
  uint32_t* target = vector_register(wave, instruction.destination);
  move_results<S, Value, false>(target, data);
  for (int i = 0; i < S::m; ++i) {
    for (int j = 0; j < S::m; ++j) {
      Value column[kStored];
      for (int k = 0; k < kStored; ++k) column[k] = data.b[0][k_of[i][k]][j];
      data.c[0][i][j] = dot<ElementA>(wave, a[i], column, kStored, data.c[0][i][j]);
    }
  }
  move_results<S, Value, true>(target, data);
}

// ---- f8f6f4: the formats of A and B are in the instruction. 32 elements a lane, packed without gaps.

float packed_element(const uint32_t* registers, int lane, int element, unsigned format) {
  const int width = format < 2 ? 8 : format < 4 ? 6 : 4;
  const uint32_t raw = tuple_element(registers, lane, element, width);
  switch (format) {
    case 0:
      return small_to_float<E4m3>(raw);
    case 1:
      return small_to_float<E5m2>(raw);
    case 2:
      return small_to_float<E2m3>(raw);
    case 3:
      return small_to_float<E3m2>(raw);
    default:
      return small_to_float<E2m1>(raw);
  }
}
template <class S>
void gather_any_format(Wave& wave, const Instruction& instruction, Operands<S, float>& data) {
  const uint32_t* a = vector_register(wave, instruction.source[0].index);
  const uint32_t* b = vector_register(wave, instruction.source[1].index);
  if (instruction.broadcast_size > 4 || instruction.b_pattern > 4)
    raise_illegal("an f8f6f4 MFMA with an undefined element format");
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int element = 0; element < S::elements; ++element) {
      const auto place = S::input(lane, element);
      data.a[0][place.k][place.index] = packed_element(a, lane, element, instruction.broadcast_size);
      data.b[0][place.k][place.index] = packed_element(b, lane, element, instruction.b_pattern);
    }
  }
  load_addend(wave, instruction, data);
}
template <class S>
void multiply_any_format(Wave& wave, const Instruction& instruction) {
  Operands<S, float> data;
  gather_any_format(wave, instruction, data);
  const MfmaAccumulation model = wave.options->mfma_accumulation;
  if (model == MfmaAccumulation::kSequential) {
    multiply_sequentially(data);
  } else {
    multiply_by_model<S, InFp8>(model, data);
  }
  move_results<S, float, true>(vector_register(wave, instruction.destination), data);
}

// Scaled: a byte of each lane's dword is the exponent, biased by 127, of what its 32 elements are multiplied
// by; 0xff stands for NaN. OCP Microscaling Formats, E8M0.

struct Factors {
  float a, b;
};
// Both with half of the exponent, so that neither leaves the range of a float where their product does not.
Factors scaled(float a, float b, uint32_t scale_a, uint32_t scale_b) {
  constexpr uint32_t kNoNumber = 0xff;
  if (scale_a == kNoNumber || scale_b == kNoNumber) return {f32(0x7fc00000u), 1};
  if (a == 0 || b == 0) return {a, b};
  const int exponent = static_cast<int>(scale_a + scale_b) - 2 * 127, half = exponent / 2;
  return {std::ldexp(a, half), std::ldexp(b, exponent - half)};
}

template <class S>
void multiply_scaled(Wave& wave, const Instruction& instruction) {
  Operands<S, float> data;
  gather_any_format(wave, instruction, data);
  const MatrixScales scales = matrix_scales(instruction);
  const uint32_t* words_a = vector_register(wave, scales.a.index);
  const uint32_t* words_b = vector_register(wave, scales.b.index);
  uint32_t scale_a[kLanes], scale_b[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    scale_a[lane] = words_a[lane] >> (8 * scales.a.byte) & 0xff;
    scale_b[lane] = words_b[lane] >> (8 * scales.b.byte) & 0xff;
  }
  for (int i = 0; i < S::m; ++i) {
    for (int j = 0; j < S::m; ++j) {
      float row[S::k], column[S::k];
      for (int k = 0; k < S::k; ++k) {
        const int first_lane = k / S::elements * S::m;  // of the lanes that hold this k
        const Factors factors =
            scaled(data.a[0][k][i], data.b[0][k][j], scale_a[first_lane + i], scale_b[first_lane + j]);
        row[k] = factors.a;
        column[k] = factors.b;
      }
      data.c[0][i][j] = dot<InFp8>(wave, row, column, S::k, data.c[0][i][j]);
    }
  }
  move_results<S, float, true>(vector_register(wave, instruction.destination), data);
}

// ---- f64: sequential by any model; the pattern bits negate A, B and C.

MHCHECK_LANE double negated(double x, bool negate) { return negate ? -x : x; }
MHCHECK_LANE uint64_t settled_bits(double x) { return x != x ? uint64_t{0x7ff8} << 48 : bits(x); }

double addend64(const Wave& wave, const Instruction& instruction, int pair, int lane) {
  const Source& from = instruction.source[2];
  if (from.kind == SourceKind::kVector)
    return F64::load(wave.vector + (from.index + 2 * pair) * kLanes, lane);
  if (from.kind == SourceKind::kConstantHigh) return f64(static_cast<uint64_t>(from.value) << 32);
  if (from.kind == SourceKind::kInverseTwoPi64) return f64(0x3fc45f306dc9c882u);
  return f64(static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(from.value))));
}

void multiply_f64_16(Wave& wave, const Instruction& instruction) {
  const uint32_t* a = vector_register(wave, instruction.source[0].index);
  const uint32_t* b = vector_register(wave, instruction.source[1].index);
  double result[4][kLanes];
  for (int pair = 0; pair < 4; ++pair) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const int row = 4 * pair + lane / 16, column = lane % 16;
      double sum = negated(addend64(wave, instruction, pair, lane), instruction.b_pattern & 4);
      for (int k = 0; k < 4; ++k) {
        sum = std::fma(negated(F64::load(a, 16 * k + row), instruction.b_pattern & 1),
                       negated(F64::load(b, 16 * k + column), instruction.b_pattern & 2), sum);
      }
      result[pair][lane] = sum;
    }
  }
  uint32_t* target = vector_register(wave, instruction.destination);
  for (int pair = 0; pair < 4; ++pair) {
    for (int lane = 0; lane < kLanes; ++lane)
      B64::store(target + 2 * pair * kLanes, lane, settled_bits(result[pair][lane]));
  }
}

void multiply_f64_4(Wave& wave, const Instruction& instruction) {
  const uint32_t* a = vector_register(wave, instruction.source[0].index);
  const uint32_t* b = vector_register(wave, instruction.source[1].index);
  double result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const int row = lane / 16, block = lane / 4 % 4, column = lane % 4;
    double sum = negated(addend64(wave, instruction, 0, lane), instruction.b_pattern & 4);
    for (int k = 0; k < 4; ++k) {
      sum = std::fma(negated(F64::load(a, 16 * k + 4 * block + row), instruction.b_pattern & 1),
                     negated(F64::load(b, 16 * k + 4 * block + column), instruction.b_pattern & 2), sum);
    }
    result[lane] = sum;
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    B64::store(vector_register(wave, instruction.destination), lane, settled_bits(result[lane]));
  }
}

constexpr Type tuple_of(int registers) {
  switch (registers) {
    case 1:
      return Type::kB32;
    case 2:
      return Type::kB64;
    case 4:
      return Type::kB128;
    case 8:
      return Type::kB256;
    case 16:
      return Type::kB512;
    default:
      return Type::kB1024;
  }
}

template <class S, class ElementA, class ElementB = ElementA>
constexpr Row mfma(std::string_view mnemonic) {
  constexpr Type input = tuple_of(S::elements * ElementA::bits / 32);
  // The addend is typed f32 or i32 so that an inline constant is read as such; its registers are the
  // result's.
  constexpr Type result = tuple_of(S::results);
  return {mnemonic, multiply<S, ElementA, ElementB>, InstructionClass::kMfma,
          result,   {input, input, result},          kNoTraits};
}

template <class S, class ElementA, class ElementB = ElementA>
constexpr Row smfmac(std::string_view mnemonic) {
  return {mnemonic,
          multiply_sparse<S, ElementA, ElementB>,
          InstructionClass::kMfma,
          tuple_of(S::results),
          {tuple_of(S::elements / 2 * ElementA::bits / 32), tuple_of(S::elements * ElementB::bits / 32),
           Type::kB32},
          kReadsDestination};
}

constexpr Row kRows[] = {
    mfma<Shape<32, 1, 2>, InF32>("v_mfma_f32_32x32x1_2b_f32"),
    mfma<Shape<16, 1, 4>, InF32>("v_mfma_f32_16x16x1_4b_f32"),
    mfma<Shape<4, 1, 16>, InF32>("v_mfma_f32_4x4x1_16b_f32"),
    mfma<Shape<32, 2, 1>, InF32>("v_mfma_f32_32x32x2_f32"),
    mfma<Shape<16, 4, 1>, InF32>("v_mfma_f32_16x16x4_f32"),
    mfma<Shape<32, 4, 2>, InF16>("v_mfma_f32_32x32x4_2b_f16"),
    mfma<Shape<16, 4, 4>, InF16>("v_mfma_f32_16x16x4_4b_f16"),
    mfma<Shape<4, 4, 16>, InF16>("v_mfma_f32_4x4x4_16b_f16"),
    mfma<Shape<32, 8, 1>, InF16>("v_mfma_f32_32x32x8_f16"),
    mfma<Shape<16, 16, 1>, InF16>("v_mfma_f32_16x16x16_f16"),
    mfma<Shape<32, 16, 1>, InF16>("v_mfma_f32_32x32x16_f16"),
    mfma<Shape<16, 32, 1>, InF16>("v_mfma_f32_16x16x32_f16"),
    mfma<Shape<32, 4, 2>, InBf16>("v_mfma_f32_32x32x4_2b_bf16"),
    mfma<Shape<16, 4, 4>, InBf16>("v_mfma_f32_16x16x4_4b_bf16"),
    mfma<Shape<4, 4, 16>, InBf16>("v_mfma_f32_4x4x4_16b_bf16"),
    mfma<Shape<32, 8, 1>, InBf16>("v_mfma_f32_32x32x8_bf16"),
    mfma<Shape<16, 16, 1>, InBf16>("v_mfma_f32_16x16x16_bf16"),
    mfma<Shape<32, 16, 1>, InBf16>("v_mfma_f32_32x32x16_bf16"),
    mfma<Shape<16, 32, 1>, InBf16>("v_mfma_f32_16x16x32_bf16"),
    mfma<Shape<16, 32, 1>, InFp8, InFp8>("v_mfma_f32_16x16x32_fp8_fp8"),
    mfma<Shape<16, 32, 1>, InFp8, InBf8>("v_mfma_f32_16x16x32_fp8_bf8"),
    mfma<Shape<16, 32, 1>, InBf8, InFp8>("v_mfma_f32_16x16x32_bf8_fp8"),
    mfma<Shape<16, 32, 1>, InBf8, InBf8>("v_mfma_f32_16x16x32_bf8_bf8"),
    mfma<Shape<32, 16, 1>, InFp8, InFp8>("v_mfma_f32_32x32x16_fp8_fp8"),
    mfma<Shape<32, 16, 1>, InFp8, InBf8>("v_mfma_f32_32x32x16_fp8_bf8"),
    mfma<Shape<32, 16, 1>, InBf8, InFp8>("v_mfma_f32_32x32x16_bf8_fp8"),
    mfma<Shape<32, 16, 1>, InBf8, InBf8>("v_mfma_f32_32x32x16_bf8_bf8"),
    mfma<Shape<32, 4, 2>, InI8>("v_mfma_i32_32x32x4_2b_i8"),
    mfma<Shape<16, 4, 4>, InI8>("v_mfma_i32_16x16x4_4b_i8"),
    mfma<Shape<4, 4, 16>, InI8>("v_mfma_i32_4x4x4_16b_i8"),
    mfma<Shape<32, 16, 1>, InI8>("v_mfma_i32_32x32x16_i8"),
    mfma<Shape<16, 32, 1>, InI8>("v_mfma_i32_16x16x32_i8"),
    mfma<Shape<32, 32, 1>, InI8>("v_mfma_i32_32x32x32_i8"),
    mfma<Shape<16, 64, 1>, InI8>("v_mfma_i32_16x16x64_i8"),
    smfmac<Shape<16, 32, 1>, InF16, InF16>("v_smfmac_f32_16x16x32_f16"),
    smfmac<Shape<32, 16, 1>, InF16, InF16>("v_smfmac_f32_32x32x16_f16"),
    smfmac<Shape<16, 64, 1>, InF16, InF16>("v_smfmac_f32_16x16x64_f16"),
    smfmac<Shape<32, 32, 1>, InF16, InF16>("v_smfmac_f32_32x32x32_f16"),
    smfmac<Shape<16, 32, 1>, InBf16, InBf16>("v_smfmac_f32_16x16x32_bf16"),
    smfmac<Shape<32, 16, 1>, InBf16, InBf16>("v_smfmac_f32_32x32x16_bf16"),
    smfmac<Shape<16, 64, 1>, InBf16, InBf16>("v_smfmac_f32_16x16x64_bf16"),
    smfmac<Shape<32, 32, 1>, InBf16, InBf16>("v_smfmac_f32_32x32x32_bf16"),
    smfmac<Shape<16, 64, 1>, InI8, InI8>("v_smfmac_i32_16x16x64_i8"),
    smfmac<Shape<32, 32, 1>, InI8, InI8>("v_smfmac_i32_32x32x32_i8"),
    smfmac<Shape<16, 128, 1>, InI8, InI8>("v_smfmac_i32_16x16x128_i8"),
    smfmac<Shape<32, 64, 1>, InI8, InI8>("v_smfmac_i32_32x32x64_i8"),
    smfmac<Shape<16, 64, 1>, InFp8, InFp8>("v_smfmac_f32_16x16x64_fp8_fp8"),
    smfmac<Shape<32, 32, 1>, InFp8, InFp8>("v_smfmac_f32_32x32x32_fp8_fp8"),
    smfmac<Shape<16, 128, 1>, InFp8, InFp8>("v_smfmac_f32_16x16x128_fp8_fp8"),
    smfmac<Shape<32, 64, 1>, InFp8, InFp8>("v_smfmac_f32_32x32x64_fp8_fp8"),
    smfmac<Shape<16, 64, 1>, InFp8, InBf8>("v_smfmac_f32_16x16x64_fp8_bf8"),
    smfmac<Shape<32, 32, 1>, InFp8, InBf8>("v_smfmac_f32_32x32x32_fp8_bf8"),
    smfmac<Shape<16, 128, 1>, InFp8, InBf8>("v_smfmac_f32_16x16x128_fp8_bf8"),
    smfmac<Shape<32, 64, 1>, InFp8, InBf8>("v_smfmac_f32_32x32x64_fp8_bf8"),
    smfmac<Shape<16, 64, 1>, InBf8, InFp8>("v_smfmac_f32_16x16x64_bf8_fp8"),
    smfmac<Shape<32, 32, 1>, InBf8, InFp8>("v_smfmac_f32_32x32x32_bf8_fp8"),
    smfmac<Shape<16, 128, 1>, InBf8, InFp8>("v_smfmac_f32_16x16x128_bf8_fp8"),
    smfmac<Shape<32, 64, 1>, InBf8, InFp8>("v_smfmac_f32_32x32x64_bf8_fp8"),
    smfmac<Shape<16, 64, 1>, InBf8, InBf8>("v_smfmac_f32_16x16x64_bf8_bf8"),
    smfmac<Shape<32, 32, 1>, InBf8, InBf8>("v_smfmac_f32_32x32x32_bf8_bf8"),
    smfmac<Shape<16, 128, 1>, InBf8, InBf8>("v_smfmac_f32_16x16x128_bf8_bf8"),
    smfmac<Shape<32, 64, 1>, InBf8, InBf8>("v_smfmac_f32_32x32x64_bf8_bf8"),
    {"v_mfma_scale_f32_16x16x128_f8f6f4",
     multiply_scaled<Shape<16, 128, 1>>,
     InstructionClass::kMfma,
     Type::kB128,
     {Type::kB128, Type::kB128, Type::kB128},
     kNoTraits},
    {"v_mfma_scale_f32_32x32x64_f8f6f4",
     multiply_scaled<Shape<32, 64, 1>>,
     InstructionClass::kMfma,
     Type::kB512,
     {Type::kB128, Type::kB128, Type::kB512},
     kNoTraits},
    {"v_mfma_f32_16x16x128_f8f6f4",
     multiply_any_format<Shape<16, 128, 1>>,
     InstructionClass::kMfma,
     Type::kB128,
     {Type::kB128, Type::kB128, Type::kB128},
     kNoTraits},
    {"v_mfma_f32_32x32x64_f8f6f4",
     multiply_any_format<Shape<32, 64, 1>>,
     InstructionClass::kMfma,
     Type::kB512,
     {Type::kB128, Type::kB128, Type::kB512},
     kNoTraits},
    {"v_mfma_f64_16x16x4_f64",
     multiply_f64_16,
     InstructionClass::kMfma,
     Type::kB256,
     {Type::kF64, Type::kF64, Type::kF64},
     kNoTraits},
    {"v_mfma_f64_4x4x4_4b_f64",
     multiply_f64_4,
     InstructionClass::kMfma,
     Type::kF64,
     {Type::kF64, Type::kF64, Type::kF64},
     kNoTraits},
};

}  // namespace

std::span<const Row> matrix_rows() { return kRows; }

}  // namespace mhcheck::simulator::MHCHECK_ISA

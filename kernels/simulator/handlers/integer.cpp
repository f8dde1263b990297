#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/simulator/handlers/lanes.h"
#include "kernels/simulator/handlers/tables.h"
#include "kernels/simulator/handlers/tuples.h"

// Integer and bitwise vector operations.
namespace mhcheck::simulator::MHCHECK_ISA {
namespace {

// ---- Saturation, which the clamp modifier asks for

template <class Narrow>
MHCHECK_LANE Narrow saturate(int64_t value) {
  constexpr int64_t low = std::numeric_limits<Narrow>::min(), high = std::numeric_limits<Narrow>::max();
  return static_cast<Narrow>(value < low ? low : value > high ? high : value);
}
template <class Narrow>
MHCHECK_LANE Narrow narrow(const Context& context, int64_t value) {
  return context.clamp ? saturate<Narrow>(value) : static_cast<Narrow>(value);
}

MHCHECK_LANE uint32_t packed_bytes(int low, int high) {
  return (static_cast<uint32_t>(low) & 0xffu) | (static_cast<uint32_t>(high) & 0xffu) << 8;
}

MHCHECK_LANE uint32_t low24(uint32_t a) { return a & 0xffffffu; }
MHCHECK_LANE int32_t signed24(uint32_t a) { return static_cast<int32_t>(a << 8) >> 8; }

MHCHECK_LANE uint32_t extract_bits(uint32_t value, uint32_t offset, uint32_t width) {
  offset &= 31;
  width &= 31;
  return value >> offset & ((1u << width) - 1u);
}
MHCHECK_LANE int32_t extract_signed_bits(int32_t value, uint32_t offset, uint32_t width) {
  offset &= 31;
  width &= 31;
  const uint32_t field = static_cast<uint32_t>(value >> offset) & ((1u << width) - 1u);
  const uint32_t sign = width ? field >> (width - 1) & 1u : 0u;
  return static_cast<int32_t>(sign ? field | ~0u << width : field);
}

MHCHECK_LANE uint32_t reverse(uint32_t a) {
  a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
  a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
  a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
  a = (a >> 8 & 0x00ff00ffu) | (a & 0x00ff00ffu) << 8;
  return a >> 16 | a << 16;
}

MHCHECK_LANE uint32_t permuted_byte(uint32_t high, uint32_t low, uint32_t selector) {
  selector &= 0xff;
  if (selector >= 13) return 0xff;
  if (selector == 12) return 0;
  const uint64_t both = uint64_t{high} << 32 | low;
  if (selector >= 8) return both >> (16 * (selector - 8) + 15) & 1 ? 0xff : 0;
  return both >> (8 * selector) & 0xff;
}
MHCHECK_LANE uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t selectors) {
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) result |= permuted_byte(a, b, selectors >> (8 * i)) << (8 * i);
  return result;
}

MHCHECK_LANE uint32_t byte_of(uint32_t value, int i) { return value >> (8 * i) & 0xff; }
MHCHECK_LANE uint32_t distance(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }
MHCHECK_LANE uint32_t sum_of_byte_distances(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (int i = 0; i < 4; ++i) sum += distance(byte_of(a, i), byte_of(b, i));
  return sum;
}
MHCHECK_LANE uint32_t masked_sum_of_byte_distances(uint32_t a, uint32_t reference) {
  uint32_t sum = 0;
  for (int i = 0; i < 4; ++i) {
    if (byte_of(reference, i)) sum += distance(byte_of(a, i), byte_of(reference, i));
  }
  return sum;
}

// Four sums over windows of four bytes that start at each of the first four bytes of eight: v_qsad and
// v_mqsad.
template <uint32_t (*kSum)(uint32_t, uint32_t)>
MHCHECK_LANE uint64_t window_sums(const Context& context, uint64_t bytes, uint32_t reference,
                                  uint64_t addends) {
  uint64_t result = 0;
  for (int window = 0; window < 4; ++window) {
    const uint32_t sum = kSum(static_cast<uint32_t>(bytes >> (8 * window)), reference);
    const uint32_t total = sum + static_cast<uint32_t>(addends >> (16 * window) & 0xffff);
    result |= static_cast<uint64_t>(narrow<uint16_t>(context, total)) << (16 * window);
  }
  return result;
}
void masked_window_sums32(Wave& wave, const Instruction& instruction) {
  constexpr int kWindows = 4;
  const uint32_t* bytes = source<B64>(wave, instruction, 0);
  const uint32_t* reference = source<B32>(wave, instruction, 1);
  const uint32_t* addends = tuple_source(wave, instruction, 2);
  uint32_t sums[kWindows * kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const Context context{lane, wave.mode, instruction.clamp};
    for (int window = 0; window < kWindows; ++window) {
      const auto part = static_cast<uint32_t>(B64::load(bytes, lane) >> (8 * window));
      const int64_t sum = masked_sum_of_byte_distances(part, reference[lane]);
      sums[window * kLanes + lane] = narrow<uint32_t>(context, sum + addends[window * kLanes + lane]);
    }
  }
  uint32_t* target = vector_register(wave, instruction.destination);
  for (int r = 0; r < kWindows; ++r) write_lanes(wave, target + r * kLanes, sums + r * kLanes);
}

template <class T>
MHCHECK_LANE T median(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

template <int kBits, class Signed>
MHCHECK_LANE int64_t dot_product(uint32_t a, uint32_t b) {
  int64_t sum = 0;
  for (int i = 0; i < 32 / kBits; ++i) {
    const uint32_t field_a = a << (32 - kBits * (i + 1)), field_b = b << (32 - kBits * (i + 1));
    if (std::is_signed_v<Signed>) {
      sum += int64_t{static_cast<int32_t>(field_a) >> (32 - kBits)} *
             (static_cast<int32_t>(field_b) >> (32 - kBits));
    } else {
      sum += int64_t{field_a >> (32 - kBits)} * int64_t{field_b >> (32 - kBits)};
    }
  }
  return sum;
}

// ---- Additions with carries: the mask result has one bit a lane.

struct Carried {
  uint32_t value, carry;
};

template <class Signature, class Op>
struct CarryOperation;
template <class... S, class Op>
struct CarryOperation<void(S...), Op> {
  static constexpr std::array<Type, 3> kSources = VectorOperation<U32(S...), Op, Rounding::kNone>::kSources;
  static constexpr uint32_t kSaturated = Op::kBorrows ? 0u : ~0u;

  template <size_t... K>
  MHCHECK_LANE void run(Wave& wave, const Instruction& instruction, std::index_sequence<K...>) {
    const uint32_t* operands[] = {source<S>(wave, instruction, K)...};
    uint32_t* flags = wave.result + kLanes;
#pragma GCC ivdep
    for (int lane = 0; lane < kLanes; ++lane) {
      const Carried result = Op{}(S::load(operands[K], lane)...);
      wave.result[lane] = instruction.clamp && result.carry ? kSaturated : result.value;
      flags[lane] = result.carry;
    }
    const uint64_t mask = gather_mask(wave, flags);
    write_result<U32>(wave, instruction);
    write_scalar64(wave, instruction.scalar_destination, mask);
  }
  static void execute(Wave& wave, const Instruction& instruction) {
    run(wave, instruction, std::index_sequence_for<S...>{});
  }
};

template <bool kBorrow, bool kReversed>
struct Carry {
  static constexpr bool kBorrows = kBorrow;
  MHCHECK_LANE Carried combine(uint32_t a, uint32_t b, uint32_t carry) {
    if (kReversed) std::swap(a, b);
    if (kBorrow) return {a - b - carry, uint64_t{a} < uint64_t{b} + carry ? 1u : 0u};
    const uint64_t sum = uint64_t{a} + b + carry;
    return {static_cast<uint32_t>(sum), static_cast<uint32_t>(sum >> 32)};
  }
  Carried operator()(uint32_t a, uint32_t b) const { return combine(a, b, 0); }
  Carried operator()(uint32_t a, uint32_t b, uint32_t mask) const { return combine(a, b, mask & 1); }
};

template <class Signature, class Op>
constexpr Row carry(std::string_view mnemonic) {
  using Operation = CarryOperation<Signature, Op>;
  return {mnemonic,   Operation::execute,  InstructionClass::kValu,
          Type::kU32, Operation::kSources, kMaskResult};
}

// v_mad_u64_u32 and v_mad_i64_i32: a 65-bit sum whose top bit goes to the mask.
template <bool kSigned>
void multiply_add_wide(Wave& wave, const Instruction& instruction) {
  const uint32_t* a = source<U32>(wave, instruction, 0);
  const uint32_t* b = source<U32>(wave, instruction, 1);
  const uint32_t* c = source<U64>(wave, instruction, 2);
  uint64_t overflow = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint64_t addend = U64::load(c, lane);
    uint64_t sum = 0;
    bool carry = false;
    if (kSigned) {
      const int64_t product = int64_t{static_cast<int32_t>(a[lane])} * static_cast<int32_t>(b[lane]);
      int64_t wide = 0;
      carry = __builtin_add_overflow(product, static_cast<int64_t>(addend), &wide);
      sum = static_cast<uint64_t>(wide);
    } else {
      carry = __builtin_add_overflow(uint64_t{a[lane]} * b[lane], addend, &sum);
    }
    U64::store(wave.result, lane, sum);
    overflow |= static_cast<uint64_t>(carry) << lane;
  }
  overflow &= wave.exec();
  write_result<U64>(wave, instruction);
  write_scalar64(wave, instruction.scalar_destination, overflow);
}

// v_bitop3: the truth table is spread over the modifier fields: abs, op_sel and neg bits of VOP3 (see the
// decoder).
template <class Element>
void bit_operation(Wave& wave, const Instruction& instruction) {
  const uint32_t* a = source<Element>(wave, instruction, 0);
  const uint32_t* b = source<Element>(wave, instruction, 1);
  const uint32_t* c = source<Element>(wave, instruction, 2);
  const auto table = static_cast<uint32_t>(instruction.immediate);
  uint32_t term[8];
  for (int i = 0; i < 8; ++i) term[i] = table >> i & 1 ? ~0u : 0u;
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint32_t x = a[lane], y = b[lane], z = c[lane];
    uint32_t result = 0;
    for (uint32_t i = 0; i < 8; ++i) {
      result |= term[i] & (i & 4 ? x : ~x) & (i & 2 ? y : ~y) & (i & 1 ? z : ~z);
    }
    Element::store(wave.result, lane, result);
  }
  write_result<Element>(wave, instruction);
}

constexpr Row kRows[] = {
    // Moves
    exact<B32(B32)>("v_mov_b32", [](uint32_t a) { return a; }),
    exact<B64(B64)>("v_mov_b64", [](uint64_t a) { return a; }),
    exact<B32(B32)>(
        "v_accvgpr_read_b32", [](uint32_t a) { return a; }, kAccumulatorSource),
    exact<B32(B32)>(
        "v_accvgpr_write_b32", [](uint32_t a) { return a; }, kAccumulatorResult),
    exact<B32(B32)>(
        "v_accvgpr_mov_b32", [](uint32_t a) { return a; }, kAccumulatorSource | kAccumulatorResult),
    exact<B32(B32, B32, Mask)>("v_cndmask_b32",
                               [](uint32_t a, uint32_t b, uint32_t m) { return (a & ~m) | (b & m); }),
    exact<B32(B16, B16)>("v_pack_b32_f16", [](uint32_t a, uint32_t b) { return a | b << 16; }),

    // Addition
    exact<U32(U32, U32)>("v_add_u32", [](const Context& c, uint32_t a,
                                         uint32_t b) { return narrow<uint32_t>(c, int64_t{a} + b); }),
    exact<U32(U32, U32)>("v_sub_u32", [](const Context& c, uint32_t a,
                                         uint32_t b) { return narrow<uint32_t>(c, int64_t{a} - b); }),
    exact<U32(U32, U32)>("v_subrev_u32", [](const Context& c, uint32_t a,
                                            uint32_t b) { return narrow<uint32_t>(c, int64_t{b} - a); }),
    exact<I32(I32, I32)>("v_add_i32", [](const Context& c, int32_t a,
                                         int32_t b) { return narrow<int32_t>(c, int64_t{a} + b); }),
    exact<I32(I32, I32)>("v_sub_i32", [](const Context& c, int32_t a,
                                         int32_t b) { return narrow<int32_t>(c, int64_t{a} - b); }),
    exact<U16(U16, U16)>("v_add_u16", [](const Context& c, uint32_t a,
                                         uint32_t b) { return narrow<uint16_t>(c, int64_t{a} + b); }),
    exact<U16(U16, U16)>("v_sub_u16", [](const Context& c, uint32_t a,
                                         uint32_t b) { return narrow<uint16_t>(c, int64_t{a} - b); }),
    exact<U16(U16, U16)>("v_subrev_u16", [](const Context& c, uint32_t a,
                                            uint32_t b) { return narrow<uint16_t>(c, int64_t{b} - a); }),
    exact<I16(I16, I16)>("v_add_i16", [](const Context& c, int32_t a,
                                         int32_t b) { return narrow<int16_t>(c, int64_t{a} + b); }),
    exact<I16(I16, I16)>("v_sub_i16", [](const Context& c, int32_t a,
                                         int32_t b) { return narrow<int16_t>(c, int64_t{a} - b); }),
    carry<void(U32, U32), Carry<false, false>>("v_add_co_u32"),
    carry<void(U32, U32), Carry<true, false>>("v_sub_co_u32"),
    carry<void(U32, U32), Carry<true, true>>("v_subrev_co_u32"),
    carry<void(U32, U32, Mask), Carry<false, false>>("v_addc_co_u32"),
    carry<void(U32, U32, Mask), Carry<true, false>>("v_subb_co_u32"),
    carry<void(U32, U32, Mask), Carry<true, true>>("v_subbrev_co_u32"),
    exact<U32(U32, U32, U32)>("v_add3_u32", [](uint32_t a, uint32_t b, uint32_t c) { return a + b + c; }),
    exact<U32(U32, U32, U32)>("v_add_lshl_u32",
                              [](uint32_t a, uint32_t b, uint32_t c) { return (a + b) << (c & 31); }),
    exact<U32(U32, U32, U32)>("v_lshl_add_u32",
                              [](uint32_t a, uint32_t b, uint32_t c) { return (a << (b & 31)) + c; }),
    exact<U64(U64, U32, U64)>("v_lshl_add_u64",
                              [](uint64_t a, uint32_t b, uint64_t c) { return (a << (b & 7)) + c; }),
    exact<U32(U32, U32, U32)>("v_xad_u32", [](uint32_t a, uint32_t b, uint32_t c) { return (a ^ b) + c; }),

    // Multiplication
    exact<U32(U32, U32)>("v_mul_lo_u32", [](uint32_t a, uint32_t b) { return a * b; }),
    exact<U32(U32, U32)>("v_mul_hi_u32",
                         [](uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t{a} * b >> 32); }),
    exact<I32(I32, I32)>("v_mul_hi_i32",
                         [](int32_t a, int32_t b) { return static_cast<int32_t>(int64_t{a} * b >> 32); }),
    exact<U16(U16, U16)>("v_mul_lo_u16", [](uint32_t a, uint32_t b) { return a * b; }),
    exact<U32(U32, U32)>("v_mul_u32_u24", [](uint32_t a, uint32_t b) { return low24(a) * low24(b); }),
    exact<U32(U32, U32)>(
        "v_mul_hi_u32_u24",
        [](uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t{low24(a)} * low24(b) >> 32); }),
    exact<U32(U32, U32)>(
        "v_mul_i32_i24",
        [](uint32_t a, uint32_t b) { return static_cast<uint32_t>(int64_t{signed24(a)} * signed24(b)); }),
    exact<U32(U32, U32)>("v_mul_hi_i32_i24",
                         [](uint32_t a, uint32_t b) {
                           return static_cast<uint32_t>(int64_t{signed24(a)} * signed24(b) >> 32);
                         }),
    exact<U32(U32, U32, U32)>("v_mad_u32_u24",
                              [](const Context& k, uint32_t a, uint32_t b, uint32_t c) {
                                const uint64_t wide = uint64_t{low24(a)} * low24(b) + c;
                                return k.clamp && wide >> 32 ? ~0u : static_cast<uint32_t>(wide);
                              }),
    exact<I32(U32, U32, I32)>("v_mad_i32_i24",
                              [](const Context& k, uint32_t a, uint32_t b, int32_t c) {
                                return narrow<int32_t>(k, int64_t{signed24(a)} * signed24(b) + c);
                              }),
    exact<U16(U16, U16, U16)>("v_mad_u16",
                              [](const Context& k, uint32_t a, uint32_t b, uint32_t c) {
                                return narrow<uint16_t>(k, int64_t{a} * b + c);
                              }),
    exact<I16(I16, I16, I16)>("v_mad_i16", [](const Context& k, int32_t a, int32_t b,
                                              int32_t c) { return narrow<int16_t>(k, int64_t{a} * b + c); }),
    exact<U16(U16, U16, U16)>("v_mad_legacy_u16",
                              [](const Context& k, uint32_t a, uint32_t b, uint32_t c) {
                                return narrow<uint16_t>(k, int64_t{a} * b + c);
                              }),
    exact<I16(I16, I16, I16)>("v_mad_legacy_i16",
                              [](const Context& k, int32_t a, int32_t b, int32_t c) {
                                return narrow<int16_t>(k, int64_t{a} * b + c);
                              }),
    exact<U32(U16, U16, U32)>("v_mad_u32_u16",
                              [](const Context& k, uint32_t a, uint32_t b, uint32_t c) {
                                return narrow<uint32_t>(k, int64_t{a} * b + c);
                              }),
    exact<I32(I16, I16, I32)>("v_mad_i32_i16",
                              [](const Context& k, int32_t a, int32_t b, int32_t c) {
                                return narrow<int32_t>(k, int64_t{a} * b + c);
                              }),
    {"v_mad_u64_u32",
     multiply_add_wide<false>,
     InstructionClass::kValu,
     Type::kU64,
     {Type::kU32, Type::kU32, Type::kU64},
     kMaskResult},
    {"v_mad_i64_i32",
     multiply_add_wide<true>,
     InstructionClass::kValu,
     Type::kI64,
     {Type::kI32, Type::kI32, Type::kI64},
     kMaskResult},

    // Minimum, maximum, median
    exact<U32(U32, U32)>("v_min_u32", [](uint32_t a, uint32_t b) { return std::min(a, b); }),
    exact<U32(U32, U32)>("v_max_u32", [](uint32_t a, uint32_t b) { return std::max(a, b); }),
    exact<I32(I32, I32)>("v_min_i32", [](int32_t a, int32_t b) { return std::min(a, b); }),
    exact<I32(I32, I32)>("v_max_i32", [](int32_t a, int32_t b) { return std::max(a, b); }),
    exact<U16(U16, U16)>("v_min_u16", [](uint32_t a, uint32_t b) { return std::min(a, b); }),
    exact<U16(U16, U16)>("v_max_u16", [](uint32_t a, uint32_t b) { return std::max(a, b); }),
    exact<I16(I16, I16)>("v_min_i16", [](int32_t a, int32_t b) { return std::min(a, b); }),
    exact<I16(I16, I16)>("v_max_i16", [](int32_t a, int32_t b) { return std::max(a, b); }),
    exact<U32(U32, U32, U32)>("v_min3_u32",
                              [](uint32_t a, uint32_t b, uint32_t c) { return std::min(std::min(a, b), c); }),
    exact<U32(U32, U32, U32)>("v_max3_u32",
                              [](uint32_t a, uint32_t b, uint32_t c) { return std::max(std::max(a, b), c); }),
    exact<U32(U32, U32, U32)>("v_med3_u32",
                              [](uint32_t a, uint32_t b, uint32_t c) { return median(a, b, c); }),
    exact<I32(I32, I32, I32)>("v_min3_i32",
                              [](int32_t a, int32_t b, int32_t c) { return std::min(std::min(a, b), c); }),
    exact<I32(I32, I32, I32)>("v_max3_i32",
                              [](int32_t a, int32_t b, int32_t c) { return std::max(std::max(a, b), c); }),
    exact<I32(I32, I32, I32)>("v_med3_i32", [](int32_t a, int32_t b, int32_t c) { return median(a, b, c); }),
    exact<U16(U16, U16, U16)>("v_min3_u16",
                              [](uint32_t a, uint32_t b, uint32_t c) { return std::min(std::min(a, b), c); }),
    exact<U16(U16, U16, U16)>("v_max3_u16",
                              [](uint32_t a, uint32_t b, uint32_t c) { return std::max(std::max(a, b), c); }),
    exact<U16(U16, U16, U16)>("v_med3_u16",
                              [](uint32_t a, uint32_t b, uint32_t c) { return median(a, b, c); }),
    exact<I16(I16, I16, I16)>("v_min3_i16",
                              [](int32_t a, int32_t b, int32_t c) { return std::min(std::min(a, b), c); }),
    exact<I16(I16, I16, I16)>("v_max3_i16",
                              [](int32_t a, int32_t b, int32_t c) { return std::max(std::max(a, b), c); }),
    exact<I16(I16, I16, I16)>("v_med3_i16", [](int32_t a, int32_t b, int32_t c) { return median(a, b, c); }),

    // Bits
    exact<B32(B32)>("v_not_b32", [](uint32_t a) { return ~a; }),
    exact<B32(B32, B32)>("v_and_b32", [](uint32_t a, uint32_t b) { return a & b; }),
    exact<B32(B32, B32)>("v_or_b32", [](uint32_t a, uint32_t b) { return a | b; }),
    exact<B32(B32, B32)>("v_xor_b32", [](uint32_t a, uint32_t b) { return a ^ b; }),
    exact<B32(B32, B32)>("v_xnor_b32", [](uint32_t a, uint32_t b) { return ~(a ^ b); }),
    exact<B32(B32, B32, B32)>("v_and_or_b32", [](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | c; }),
    exact<B32(B32, B32, B32)>("v_or3_b32", [](uint32_t a, uint32_t b, uint32_t c) { return a | b | c; }),
    exact<B32(B32, U32, B32)>("v_lshl_or_b32",
                              [](uint32_t a, uint32_t b, uint32_t c) { return a << (b & 31) | c; }),
    {"v_bitop3_b32",
     bit_operation<B32>,
     InstructionClass::kValu,
     Type::kB32,
     {Type::kB32, Type::kB32, Type::kB32},
     kTruthTable},
    {"v_bitop3_b16",
     bit_operation<B16>,
     InstructionClass::kValu,
     Type::kB16,
     {Type::kB16, Type::kB16, Type::kB16},
     kTruthTable},
    exact<B32(B32, B32, B32)>("v_bfi_b32",
                              [](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | (~a & c); }),
    exact<U32(U32, U32, U32)>("v_bfe_u32",
                              [](uint32_t a, uint32_t b, uint32_t c) { return extract_bits(a, b, c); }),
    exact<I32(I32, U32, U32)>("v_bfe_i32",
                              [](int32_t a, uint32_t b, uint32_t c) { return extract_signed_bits(a, b, c); }),
    exact<B32(U32, U32)>("v_bfm_b32",
                         [](uint32_t a, uint32_t b) { return ((1u << (a & 31)) - 1u) << (b & 31); }),
    exact<B32(B32)>("v_bfrev_b32", [](uint32_t a) { return reverse(a); }),
    exact<U32(B32, U32)>("v_bcnt_u32_b32",
                         [](uint32_t a, uint32_t b) { return static_cast<uint32_t>(std::popcount(a)) + b; }),
    exact<U32(B32, U32)>("v_mbcnt_lo_u32_b32",
                         [](const Context& c, uint32_t a, uint32_t b) {
                           const uint32_t below = c.lane >= 32 ? ~0u : (1u << c.lane) - 1u;
                           return static_cast<uint32_t>(std::popcount(a & below)) + b;
                         }),
    exact<U32(B32, U32)>("v_mbcnt_hi_u32_b32",
                         [](const Context& c, uint32_t a, uint32_t b) {
                           const uint32_t below = c.lane < 32 ? 0u : (1u << (c.lane - 32)) - 1u;
                           return static_cast<uint32_t>(std::popcount(a & below)) + b;
                         }),
    exact<U32(U32)>("v_ffbh_u32",
                    [](uint32_t a) { return a ? static_cast<uint32_t>(std::countl_zero(a)) : ~0u; }),
    exact<U32(I32)>("v_ffbh_i32",
                    [](int32_t a) {
                      const auto unlike = static_cast<uint32_t>(a < 0 ? ~a : a);
                      return unlike ? static_cast<uint32_t>(std::countl_zero(unlike)) : ~0u;
                    }),
    exact<U32(B32)>("v_ffbl_b32",
                    [](uint32_t a) { return a ? static_cast<uint32_t>(std::countr_zero(a)) : ~0u; }),
    exact<B32(U32, B32)>("v_lshlrev_b32", [](uint32_t a, uint32_t b) { return b << (a & 31); }),
    exact<B32(U32, B32)>("v_lshrrev_b32", [](uint32_t a, uint32_t b) { return b >> (a & 31); }),
    exact<I32(U32, I32)>("v_ashrrev_i32", [](uint32_t a, int32_t b) { return b >> (a & 31); }),
    exact<B16(U16, B16)>("v_lshlrev_b16", [](uint32_t a, uint32_t b) { return b << (a & 15); }),
    exact<B16(U16, B16)>("v_lshrrev_b16", [](uint32_t a, uint32_t b) { return b >> (a & 15); }),
    exact<I16(U16, I16)>("v_ashrrev_i16", [](uint32_t a, int32_t b) { return b >> (a & 15); }),
    exact<B64(U32, B64)>("v_lshlrev_b64", [](uint32_t a, uint64_t b) { return b << (a & 63); }),
    exact<B64(U32, B64)>("v_lshrrev_b64", [](uint32_t a, uint64_t b) { return b >> (a & 63); }),
    exact<I64(U32, I64)>("v_ashrrev_i64", [](uint32_t a, int64_t b) { return b >> (a & 63); }),
    exact<U16(I32, I32, U32)>("v_ashr_pk_i8_i32",
                              [](int32_t a, int32_t b, uint32_t c) {
                                return packed_bytes(saturate<int8_t>(a >> (c & 31)),
                                                    saturate<int8_t>(b >> (c & 31)));
                              }),
    exact<U16(I32, I32, U32)>("v_ashr_pk_u8_i32",
                              [](int32_t a, int32_t b, uint32_t c) {
                                return packed_bytes(saturate<uint8_t>(a >> (c & 31)),
                                                    saturate<uint8_t>(b >> (c & 31)));
                              }),
    exact<B32(B32, B32, U32)>("v_alignbit_b32",
                              [](uint32_t a, uint32_t b, uint32_t c) {
                                return static_cast<uint32_t>((uint64_t{a} << 32 | b) >> (c & 31));
                              }),
    exact<B32(B32, B32, U32)>("v_alignbyte_b32",
                              [](uint32_t a, uint32_t b, uint32_t c) {
                                return static_cast<uint32_t>((uint64_t{a} << 32 | b) >> (8 * (c & 3)));
                              }),
    exact<B32(B32, B32, B32)>("v_perm_b32",
                              [](uint32_t a, uint32_t b, uint32_t c) { return permute_bytes(a, b, c); }),
    exact<B32(B32)>("v_prng_b32", [](uint32_t a) { return next_random(a); }),

    // Sums of absolute differences
    exact<U32(U32, U32, U32)>(
        "v_sad_u8", [](uint32_t a, uint32_t b, uint32_t c) { return sum_of_byte_distances(a, b) + c; }),
    exact<U32(U32, U32, U32)>(
        "v_sad_hi_u8",
        [](uint32_t a, uint32_t b, uint32_t c) { return (sum_of_byte_distances(a, b) << 16) + c; }),
    exact<U32(U32, U32, U32)>("v_sad_u16",
                              [](uint32_t a, uint32_t b, uint32_t c) {
                                return distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16) + c;
                              }),
    exact<U32(U32, U32, U32)>("v_sad_u32",
                              [](uint32_t a, uint32_t b, uint32_t c) { return distance(a, b) + c; }),
    exact<U32(U32, U32, U32)>("v_msad_u8", [](uint32_t a, uint32_t b,
                                              uint32_t c) { return masked_sum_of_byte_distances(a, b) + c; }),
    exact<B64(B64, B32, B64)>("v_qsad_pk_u16_u8",
                              [](const Context& k, uint64_t a, uint32_t b, uint64_t c) {
                                return window_sums<sum_of_byte_distances>(k, a, b, c);
                              }),
    exact<B64(B64, B32, B64)>("v_mqsad_pk_u16_u8",
                              [](const Context& k, uint64_t a, uint32_t b, uint64_t c) {
                                return window_sums<masked_sum_of_byte_distances>(k, a, b, c);
                              }),
    {"v_mqsad_u32_u8",
     masked_window_sums32,
     InstructionClass::kValu,
     Type::kB128,
     {Type::kB64, Type::kB32, Type::kB128},
     kNoTraits},
    exact<U32(U32, U32, U32)>("v_lerp_u8",
                              [](uint32_t a, uint32_t b, uint32_t c) {
                                uint32_t result = 0;
                                for (int i = 0; i < 4; ++i)
                                  result |=
                                      (byte_of(a, i) + byte_of(b, i) + (byte_of(c, i) & 1)) >> 1 << (8 * i);
                                return result;
                              }),

    // Dot products of integers
    exact<I32(PkB16, PkB16, I32)>("v_dot2_i32_i16",
                                  [](const Context& k, uint32_t a, uint32_t b, int32_t c) {
                                    return narrow<int32_t>(k, dot_product<16, int>(a, b) + c);
                                  }),
    exact<U32(PkB16, PkB16, U32)>("v_dot2_u32_u16",
                                  [](const Context& k, uint32_t a, uint32_t b, uint32_t c) {
                                    return narrow<uint32_t>(k, dot_product<16, unsigned>(a, b) + c);
                                  }),
    exact<I32(U32, U32, I32)>("v_dot4_i32_i8",
                              [](const Context& k, uint32_t a, uint32_t b, int32_t c) {
                                return narrow<int32_t>(k, dot_product<8, int>(a, b) + c);
                              }),
    exact<U32(U32, U32, U32)>("v_dot4_u32_u8",
                              [](const Context& k, uint32_t a, uint32_t b, uint32_t c) {
                                return narrow<uint32_t>(k, dot_product<8, unsigned>(a, b) + c);
                              }),
    exact<I32(U32, U32, I32)>("v_dot8_i32_i4",
                              [](const Context& k, uint32_t a, uint32_t b, int32_t c) {
                                return narrow<int32_t>(k, dot_product<4, int>(a, b) + c);
                              }),
    exact<U32(U32, U32, U32)>("v_dot8_u32_u4",
                              [](const Context& k, uint32_t a, uint32_t b, uint32_t c) {
                                return narrow<uint32_t>(k, dot_product<4, unsigned>(a, b) + c);
                              }),
    exact<I32(U32, U32, I32)>(
        "v_dot2c_i32_i16",
        [](uint32_t a, uint32_t b,
           int32_t c) { return static_cast<int32_t>(dot_product<16, int>(a, b) + c); },
        kReadsDestination),
    exact<I32(U32, U32, I32)>(
        "v_dot4c_i32_i8",
        [](uint32_t a, uint32_t b, int32_t c) { return static_cast<int32_t>(dot_product<8, int>(a, b) + c); },
        kReadsDestination),
    exact<I32(U32, U32, I32)>(
        "v_dot8c_i32_i4",
        [](uint32_t a, uint32_t b, int32_t c) { return static_cast<int32_t>(dot_product<4, int>(a, b) + c); },
        kReadsDestination),
};

}  // namespace

std::span<const Row> integer_rows() { return kRows; }

}  // namespace mhcheck::simulator::MHCHECK_ISA

#include "kernels/simulator/handlers/scalar.h"

#include <bit>

#include "kernels/simulator/handlers/tables.h"

namespace mhcheck::simulator::MHCHECK_ISA {
namespace {

// ---- Helpers that several rows share

MHCHECK_LANE uint32_t add_with_carry(Wave& wave, uint32_t a, uint32_t b, uint32_t carry) {
  const uint64_t sum = uint64_t{a} + b + carry;
  wave.scc = static_cast<uint32_t>(sum >> 32);
  return static_cast<uint32_t>(sum);
}
MHCHECK_LANE uint32_t subtract_with_borrow(Wave& wave, uint32_t a, uint32_t b, uint32_t borrow) {
  wave.scc = uint64_t{a} < uint64_t{b} + borrow;
  return a - b - borrow;
}
MHCHECK_LANE uint32_t add_signed(Wave& wave, uint32_t a, uint32_t b) {
  const uint32_t sum = a + b;
  wave.scc = (~(a ^ b) & (a ^ sum)) >> 31;
  return sum;
}
MHCHECK_LANE uint32_t subtract_signed(Wave& wave, uint32_t a, uint32_t b) {
  const uint32_t difference = a - b;
  wave.scc = ((a ^ b) & (a ^ difference)) >> 31;
  return difference;
}
template <int kShift>
MHCHECK_LANE uint32_t shift_and_add(Wave& wave, uint32_t a, uint32_t b) {
  const uint64_t sum = (uint64_t{a} << kShift) + b;
  wave.scc = sum >> 32 != 0;
  return static_cast<uint32_t>(sum);
}

template <class Word>
MHCHECK_LANE Word extract_unsigned(Word value, uint32_t field, unsigned offset_bits) {
  const unsigned offset = field & ((1u << offset_bits) - 1), width = field >> 16 & 0x7f;
  constexpr unsigned kBits = sizeof(Word) * 8;
  const Word shifted = value >> offset;
  return width == 0 ? Word(0) : width >= kBits ? shifted : shifted & ((Word(1) << width) - 1);
}
template <class Word>
MHCHECK_LANE Word extract_signed(Word value, uint32_t field, unsigned offset_bits) {
  using Signed = std::make_signed_t<Word>;
  constexpr unsigned kBits = sizeof(Word) * 8;
  const unsigned offset = field & ((1u << offset_bits) - 1), width = field >> 16 & 0x7f;
  if (width == 0) return 0;
  const Word shifted = static_cast<Word>(static_cast<Signed>(value) >> offset);
  if (width >= kBits) return shifted;
  return static_cast<Word>(static_cast<Signed>(shifted << (kBits - width)) >> (kBits - width));
}

template <class Word>
MHCHECK_LANE Word field_mask(Word width, Word offset) {
  constexpr unsigned kBits = sizeof(Word) * 8;
  return ((Word(1) << (width & (kBits - 1))) - 1) << (offset & (kBits - 1));
}

// Position of the first bit, from the low or from the high end; -1 where there is none.
template <class Word>
MHCHECK_LANE uint32_t first_low(Word value) {
  return value ? static_cast<uint32_t>(std::countr_zero(value)) : ~0u;
}
template <class Word>
MHCHECK_LANE uint32_t first_high(Word value) {
  return value ? static_cast<uint32_t>(std::countl_zero(value)) : ~0u;
}
template <class Word>
MHCHECK_LANE uint32_t first_unlike_sign(Word value) {
  using Signed = std::make_signed_t<Word>;
  return first_high(static_cast<Word>(static_cast<Signed>(value) < 0 ? ~value : value));
}

template <class Word>
MHCHECK_LANE Word reverse_bits(Word value) {
  Word reversed = 0;
  for (unsigned i = 0; i < sizeof(Word) * 8; ++i) reversed |= (value >> i & 1) << (sizeof(Word) * 8 - 1 - i);
  return reversed;
}

template <class Word>
MHCHECK_LANE Word whole_quads(Word value) {
  Word result = 0;
  for (unsigned i = 0; i < sizeof(Word) * 8; i += 4) result |= value >> i & 15 ? Word(15) << i : Word(0);
  return result;
}
template <class Word>
MHCHECK_LANE Word quad_mask(Word value) {
  Word result = 0;
  for (unsigned i = 0; i < sizeof(Word) * 2; ++i) result |= value >> (4 * i) & 15 ? Word(1) << i : Word(0);
  return result;
}

// ---- Shapes that are no plain function of their operands

template <class Signature, class Op>
struct Comparison;
template <class S0, class S1, class Op>
struct Comparison<void(S0, S1), Op> {
  static void execute(Wave& wave, const Instruction& instruction) {
    const auto a = static_cast<typename S0::Lane>(
        scalar_operand(wave, instruction.source[0], registers_of(S0::type) == 2));
    const auto b = static_cast<typename S1::Lane>(
        scalar_operand(wave, instruction.source[1], registers_of(S1::type) == 2));
    wave.scc = Op{}(a, b) ? 1 : 0;
  }
  static constexpr std::array<Type, 3> kSources{S0::type, S1::type, Type::kNone};
};
template <class Signature, class Op>
constexpr Row scalar_compare(std::string_view mnemonic, Op) {
  return {mnemonic,    Comparison<Signature, Op>::execute,  InstructionClass::kSalu,
          Type::kNone, Comparison<Signature, Op>::kSources, kNoTraits};
}

// SOPK: the destination register is also the first operand, the second is the immediate.
template <class Element, class Op>
struct ConstantOperation {
  static void compare(Wave& wave, const Instruction& instruction) {
    using Lane = typename Element::Lane;
    const auto immediate = std::is_signed_v<Lane> ? static_cast<Lane>(instruction.immediate)
                                                  : static_cast<Lane>(instruction.immediate & 0xffff);
    wave.scc = Op{}(static_cast<Lane>(wave.scalar[instruction.destination]), immediate) ? 1 : 0;
  }
  static void update(Wave& wave, const Instruction& instruction) {
    const uint32_t value =
        Op{}(wave, wave.scalar[instruction.destination], static_cast<uint32_t>(instruction.immediate));
    write_scalar(wave, instruction.destination, value);
  }
};
template <class Element, class Op>
constexpr Row compare_constant(std::string_view mnemonic, Op) {
  return {mnemonic, ConstantOperation<Element, Op>::compare, InstructionClass::kSalu, Type::kNone, {},
          kNoTraits};
}
template <class Op>
constexpr Row update_by_constant(std::string_view mnemonic, Op) {
  return {mnemonic, ConstantOperation<U32, Op>::update, InstructionClass::kSalu, Type::kB32, {}, kNoTraits};
}

// EXEC = op(source, EXEC); the old EXEC, or the new one (wrexec), goes to the destination.
template <class Op, bool kReturnOld>
struct ExecOperation {
  static void execute(Wave& wave, const Instruction& instruction) {
    const uint64_t old = wave.exec();
    const uint64_t updated = Op{}(scalar_operand(wave, instruction.source[0], true), old);
    write_scalar64(wave, scalar_register::kExec, updated);
    write_scalar64(wave, instruction.destination, kReturnOld ? old : updated);
    wave.scc = updated != 0;
  }
};
template <bool kReturnOld = true, class Op>
constexpr Row exec_operation(std::string_view mnemonic, Op) {
  return {mnemonic, ExecOperation<Op, kReturnOld>::execute, InstructionClass::kSalu, Type::kB64, {Type::kB64},
          kNoTraits};
}

template <bool kValue, bool kWide>
void set_bit(Wave& wave, const Instruction& instruction) {
  const auto position =
      static_cast<unsigned>(scalar_operand(wave, instruction.source[0], false)) & (kWide ? 63 : 31);
  const uint64_t bit = uint64_t{1} << position;
  const uint64_t old = kWide ? wave.scalar64(instruction.destination) : wave.scalar[instruction.destination];
  const uint64_t updated = kValue ? old | bit : old & ~bit;
  if (kWide) {
    write_scalar64(wave, instruction.destination, updated);
  } else {
    write_scalar(wave, instruction.destination, static_cast<uint32_t>(updated));
  }
}

template <bool kWide>
void move_if_scc(Wave& wave, const Instruction& instruction) {
  if (!wave.scc) return;
  const uint64_t value = scalar_operand(wave, instruction.source[0], kWide);
  if (kWide) {
    write_scalar64(wave, instruction.destination, value);
  } else {
    write_scalar(wave, instruction.destination, static_cast<uint32_t>(value));
  }
}

void move_constant(Wave& wave, const Instruction& instruction) {
  write_scalar(wave, instruction.destination, static_cast<uint32_t>(instruction.immediate));
}
void move_constant_if_scc(Wave& wave, const Instruction& instruction) {
  if (wave.scc) move_constant(wave, instruction);
}

// s_movrels and s_movreld: M0 is added to the number of the source or destination register.
template <bool kWide, bool kRelativeSource>
void move_relative(Wave& wave, const Instruction& instruction) {
  const unsigned offset = wave.scalar[scalar_register::kM0];
  const unsigned from = (instruction.source[0].index + (kRelativeSource ? offset : 0)) & 127;
  const unsigned to = (instruction.destination + (kRelativeSource ? 0 : offset)) & 127;
  uint64_t value = 0;
  if (kRelativeSource) {
    value = kWide ? wave.scalar64(from & ~1u) : wave.scalar[from];
  } else {
    value = scalar_operand(wave, instruction.source[0], kWide);
  }
  if (kWide) {
    write_scalar64(wave, to & ~1u, value);
  } else {
    write_scalar(wave, to, static_cast<uint32_t>(value));
  }
}

constexpr Row kRows[] = {
    // Moves and selections
    scalar<B32(B32)>("s_mov_b32", [](uint32_t a) { return a; }),
    scalar<B64(B64)>("s_mov_b64", [](uint64_t a) { return a; }),
    {"s_movk_i32", move_constant, InstructionClass::kSalu, Type::kB32, {}, kNoTraits},
    {"s_cmovk_i32", move_constant_if_scc, InstructionClass::kSalu, Type::kB32, {}, kNoTraits},
    {"s_cmov_b32", move_if_scc<false>, InstructionClass::kSalu, Type::kB32, {Type::kB32}, kNoTraits},
    {"s_cmov_b64", move_if_scc<true>, InstructionClass::kSalu, Type::kB64, {Type::kB64}, kNoTraits},
    {"s_movrels_b32",
     move_relative<false, true>,
     InstructionClass::kSalu,
     Type::kB32,
     {Type::kB32},
     kNoTraits},
    {"s_movrels_b64",
     move_relative<true, true>,
     InstructionClass::kSalu,
     Type::kB64,
     {Type::kB64},
     kNoTraits},
    {"s_movreld_b32",
     move_relative<false, false>,
     InstructionClass::kSalu,
     Type::kB32,
     {Type::kB32},
     kNoTraits},
    {"s_movreld_b64",
     move_relative<true, false>,
     InstructionClass::kSalu,
     Type::kB64,
     {Type::kB64},
     kNoTraits},
    scalar<B32(B32, B32)>("s_cselect_b32", [](Wave& w, uint32_t a, uint32_t b) { return w.scc ? a : b; }),
    scalar<B64(B64, B64)>("s_cselect_b64", [](Wave& w, uint64_t a, uint64_t b) { return w.scc ? a : b; }),
    scalar<B32(B32, B32)>("s_pack_ll_b32_b16", [](uint32_t a, uint32_t b) { return (a & 0xffff) | b << 16; }),
    scalar<B32(B32, B32)>("s_pack_lh_b32_b16",
                          [](uint32_t a, uint32_t b) { return (a & 0xffff) | (b & 0xffff0000u); }),
    scalar<B32(B32, B32)>("s_pack_hh_b32_b16",
                          [](uint32_t a, uint32_t b) { return a >> 16 | (b & 0xffff0000u); }),
    scalar<I32(B32)>("s_sext_i32_i8", [](uint32_t a) { return static_cast<int8_t>(a); }),
    scalar<I32(B32)>("s_sext_i32_i16", [](uint32_t a) { return static_cast<int16_t>(a); }),

    // Addition and multiplication
    scalar<U32(U32, U32)>("s_add_u32",
                          [](Wave& w, uint32_t a, uint32_t b) { return add_with_carry(w, a, b, 0); }),
    scalar<U32(U32, U32)>("s_addc_u32",
                          [](Wave& w, uint32_t a, uint32_t b) { return add_with_carry(w, a, b, w.scc); }),
    scalar<U32(U32, U32)>("s_sub_u32",
                          [](Wave& w, uint32_t a, uint32_t b) { return subtract_with_borrow(w, a, b, 0); }),
    scalar<U32(U32, U32)>(
        "s_subb_u32", [](Wave& w, uint32_t a, uint32_t b) { return subtract_with_borrow(w, a, b, w.scc); }),
    scalar<U32(U32, U32)>("s_add_i32", [](Wave& w, uint32_t a, uint32_t b) { return add_signed(w, a, b); }),
    scalar<U32(U32, U32)>("s_sub_i32",
                          [](Wave& w, uint32_t a, uint32_t b) { return subtract_signed(w, a, b); }),
    update_by_constant("s_addk_i32", [](Wave& w, uint32_t a, uint32_t k) { return add_signed(w, a, k); }),
    update_by_constant("s_mulk_i32", [](Wave&, uint32_t a, uint32_t k) { return a * k; }),
    scalar<U32(U32, U32)>("s_mul_i32", [](uint32_t a, uint32_t b) { return a * b; }),
    scalar<U32(U32, U32)>("s_mul_hi_u32", [](uint32_t a, uint32_t b) { return uint64_t{a} * b >> 32; }),
    scalar<I32(I32, I32)>("s_mul_hi_i32", [](int32_t a, int32_t b) { return int64_t{a} * b >> 32; }),
    scalar<U32(U32, U32)>("s_lshl1_add_u32",
                          [](Wave& w, uint32_t a, uint32_t b) { return shift_and_add<1>(w, a, b); }),
    scalar<U32(U32, U32)>("s_lshl2_add_u32",
                          [](Wave& w, uint32_t a, uint32_t b) { return shift_and_add<2>(w, a, b); }),
    scalar<U32(U32, U32)>("s_lshl3_add_u32",
                          [](Wave& w, uint32_t a, uint32_t b) { return shift_and_add<3>(w, a, b); }),
    scalar<U32(U32, U32)>("s_lshl4_add_u32",
                          [](Wave& w, uint32_t a, uint32_t b) { return shift_and_add<4>(w, a, b); }),
    scalar<U32(I32), Scc::kNonZero>("s_abs_i32",
                                    [](int32_t a) {
                                      const auto bits = static_cast<uint32_t>(a);
                                      return a < 0 ? 0u - bits : bits;
                                    }),
    scalar<U32(I32, I32), Scc::kNonZero>("s_absdiff_i32",
                                         [](int32_t a, int32_t b) {
                                           const uint32_t difference =
                                               static_cast<uint32_t>(a) - static_cast<uint32_t>(b);
                                           return static_cast<int32_t>(difference) < 0 ? 0u - difference
                                                                                       : difference;
                                         }),
    scalar<I32(I32, I32)>("s_min_i32",
                          [](Wave& w, int32_t a, int32_t b) {
                            w.scc = a < b;
                            return w.scc ? a : b;
                          }),
    scalar<U32(U32, U32)>("s_min_u32",
                          [](Wave& w, uint32_t a, uint32_t b) {
                            w.scc = a < b;
                            return w.scc ? a : b;
                          }),
    scalar<I32(I32, I32)>("s_max_i32",
                          [](Wave& w, int32_t a, int32_t b) {
                            w.scc = a >= b;
                            return w.scc ? a : b;
                          }),
    scalar<U32(U32, U32)>("s_max_u32",
                          [](Wave& w, uint32_t a, uint32_t b) {
                            w.scc = a >= b;
                            return w.scc ? a : b;
                          }),

    // Bits
    scalar<B32(B32), Scc::kNonZero>("s_not_b32", [](uint32_t a) { return ~a; }),
    scalar<B64(B64), Scc::kNonZero>("s_not_b64", [](uint64_t a) { return ~a; }),
    scalar<B32(B32, B32), Scc::kNonZero>("s_and_b32", [](uint32_t a, uint32_t b) { return a & b; }),
    scalar<B64(B64, B64), Scc::kNonZero>("s_and_b64", [](uint64_t a, uint64_t b) { return a & b; }),
    scalar<B32(B32, B32), Scc::kNonZero>("s_or_b32", [](uint32_t a, uint32_t b) { return a | b; }),
    scalar<B64(B64, B64), Scc::kNonZero>("s_or_b64", [](uint64_t a, uint64_t b) { return a | b; }),
    scalar<B32(B32, B32), Scc::kNonZero>("s_xor_b32", [](uint32_t a, uint32_t b) { return a ^ b; }),
    scalar<B64(B64, B64), Scc::kNonZero>("s_xor_b64", [](uint64_t a, uint64_t b) { return a ^ b; }),
    scalar<B32(B32, B32), Scc::kNonZero>("s_andn2_b32", [](uint32_t a, uint32_t b) { return a & ~b; }),
    scalar<B64(B64, B64), Scc::kNonZero>("s_andn2_b64", [](uint64_t a, uint64_t b) { return a & ~b; }),
    scalar<B32(B32, B32), Scc::kNonZero>("s_orn2_b32", [](uint32_t a, uint32_t b) { return a | ~b; }),
    scalar<B64(B64, B64), Scc::kNonZero>("s_orn2_b64", [](uint64_t a, uint64_t b) { return a | ~b; }),
    scalar<B32(B32, B32), Scc::kNonZero>("s_nand_b32", [](uint32_t a, uint32_t b) { return ~(a & b); }),
    scalar<B64(B64, B64), Scc::kNonZero>("s_nand_b64", [](uint64_t a, uint64_t b) { return ~(a & b); }),
    scalar<B32(B32, B32), Scc::kNonZero>("s_nor_b32", [](uint32_t a, uint32_t b) { return ~(a | b); }),
    scalar<B64(B64, B64), Scc::kNonZero>("s_nor_b64", [](uint64_t a, uint64_t b) { return ~(a | b); }),
    scalar<B32(B32, B32), Scc::kNonZero>("s_xnor_b32", [](uint32_t a, uint32_t b) { return ~(a ^ b); }),
    scalar<B64(B64, B64), Scc::kNonZero>("s_xnor_b64", [](uint64_t a, uint64_t b) { return ~(a ^ b); }),
    scalar<B32(B32, U32), Scc::kNonZero>("s_lshl_b32", [](uint32_t a, uint32_t b) { return a << (b & 31); }),
    scalar<B64(B64, U32), Scc::kNonZero>("s_lshl_b64", [](uint64_t a, uint32_t b) { return a << (b & 63); }),
    scalar<B32(B32, U32), Scc::kNonZero>("s_lshr_b32", [](uint32_t a, uint32_t b) { return a >> (b & 31); }),
    scalar<B64(B64, U32), Scc::kNonZero>("s_lshr_b64", [](uint64_t a, uint32_t b) { return a >> (b & 63); }),
    scalar<I32(I32, U32), Scc::kNonZero>("s_ashr_i32", [](int32_t a, uint32_t b) { return a >> (b & 31); }),
    scalar<I64(I64, U32), Scc::kNonZero>("s_ashr_i64", [](int64_t a, uint32_t b) { return a >> (b & 63); }),
    scalar<U32(U32, U32), Scc::kNonZero>("s_bfe_u32",
                                         [](uint32_t a, uint32_t b) { return extract_unsigned(a, b, 5); }),
    scalar<U64(U64, U32), Scc::kNonZero>("s_bfe_u64",
                                         [](uint64_t a, uint32_t b) { return extract_unsigned(a, b, 6); }),
    scalar<U32(U32, U32), Scc::kNonZero>("s_bfe_i32",
                                         [](uint32_t a, uint32_t b) { return extract_signed(a, b, 5); }),
    scalar<U64(U64, U32), Scc::kNonZero>("s_bfe_i64",
                                         [](uint64_t a, uint32_t b) { return extract_signed(a, b, 6); }),
    scalar<B32(U32, U32)>("s_bfm_b32", [](uint32_t a, uint32_t b) { return field_mask<uint32_t>(a, b); }),
    scalar<B64(U32, U32)>("s_bfm_b64", [](uint32_t a, uint32_t b) { return field_mask<uint64_t>(a, b); }),
    scalar<B32(B32)>("s_brev_b32", [](uint32_t a) { return reverse_bits(a); }),
    scalar<B64(B64)>("s_brev_b64", [](uint64_t a) { return reverse_bits(a); }),
    scalar<I32(B32), Scc::kNonZero>("s_bcnt0_i32_b32", [](uint32_t a) { return std::popcount(~a); }),
    scalar<I32(B64), Scc::kNonZero>("s_bcnt0_i32_b64", [](uint64_t a) { return std::popcount(~a); }),
    scalar<I32(B32), Scc::kNonZero>("s_bcnt1_i32_b32", [](uint32_t a) { return std::popcount(a); }),
    scalar<I32(B64), Scc::kNonZero>("s_bcnt1_i32_b64", [](uint64_t a) { return std::popcount(a); }),
    scalar<U32(B32)>("s_ff0_i32_b32", [](uint32_t a) { return first_low(~a); }),
    scalar<U32(B64)>("s_ff0_i32_b64", [](uint64_t a) { return first_low(~a); }),
    scalar<U32(B32)>("s_ff1_i32_b32", [](uint32_t a) { return first_low(a); }),
    scalar<U32(B64)>("s_ff1_i32_b64", [](uint64_t a) { return first_low(a); }),
    scalar<U32(B32)>("s_flbit_i32_b32", [](uint32_t a) { return first_high(a); }),
    scalar<U32(B64)>("s_flbit_i32_b64", [](uint64_t a) { return first_high(a); }),
    scalar<U32(U32)>("s_flbit_i32", [](uint32_t a) { return first_unlike_sign(a); }),
    scalar<U32(U64)>("s_flbit_i32_i64", [](uint64_t a) { return first_unlike_sign(a); }),
    scalar<B32(B32), Scc::kNonZero>("s_wqm_b32", [](uint32_t a) { return whole_quads(a); }),
    scalar<B64(B64), Scc::kNonZero>("s_wqm_b64", [](uint64_t a) { return whole_quads(a); }),
    scalar<B32(B32), Scc::kNonZero>("s_quadmask_b32", [](uint32_t a) { return quad_mask(a); }),
    scalar<B64(B64), Scc::kNonZero>("s_quadmask_b64", [](uint64_t a) { return quad_mask(a); }),
    scalar<B64(B32)>("s_bitreplicate_b64_b32",
                     [](uint32_t a) {
                       uint64_t doubled = 0;
                       for (int i = 0; i < 32; ++i)
                         doubled |= static_cast<uint64_t>(a >> i & 1) * 3 << (2 * i);
                       return doubled;
                     }),
    {"s_bitset0_b32", set_bit<false, false>, InstructionClass::kSalu, Type::kB32, {Type::kU32}, kNoTraits},
    {"s_bitset0_b64", set_bit<false, true>, InstructionClass::kSalu, Type::kB64, {Type::kU32}, kNoTraits},
    {"s_bitset1_b32", set_bit<true, false>, InstructionClass::kSalu, Type::kB32, {Type::kU32}, kNoTraits},
    {"s_bitset1_b64", set_bit<true, true>, InstructionClass::kSalu, Type::kB64, {Type::kU32}, kNoTraits},

    // EXEC
    exec_operation("s_and_saveexec_b64", [](uint64_t s, uint64_t exec) { return s & exec; }),
    exec_operation("s_or_saveexec_b64", [](uint64_t s, uint64_t exec) { return s | exec; }),
    exec_operation("s_xor_saveexec_b64", [](uint64_t s, uint64_t exec) { return s ^ exec; }),
    exec_operation("s_andn2_saveexec_b64", [](uint64_t s, uint64_t exec) { return s & ~exec; }),
    exec_operation("s_orn2_saveexec_b64", [](uint64_t s, uint64_t exec) { return s | ~exec; }),
    exec_operation("s_nand_saveexec_b64", [](uint64_t s, uint64_t exec) { return ~(s & exec); }),
    exec_operation("s_nor_saveexec_b64", [](uint64_t s, uint64_t exec) { return ~(s | exec); }),
    exec_operation("s_xnor_saveexec_b64", [](uint64_t s, uint64_t exec) { return ~(s ^ exec); }),
    exec_operation("s_andn1_saveexec_b64", [](uint64_t s, uint64_t exec) { return ~s & exec; }),
    exec_operation("s_orn1_saveexec_b64", [](uint64_t s, uint64_t exec) { return ~s | exec; }),
    exec_operation<false>("s_andn1_wrexec_b64", [](uint64_t s, uint64_t exec) { return ~s & exec; }),
    exec_operation<false>("s_andn2_wrexec_b64", [](uint64_t s, uint64_t exec) { return s & ~exec; }),

    // Comparisons
    scalar_compare<void(I32, I32)>("s_cmp_eq_i32", [](int32_t a, int32_t b) { return a == b; }),
    scalar_compare<void(I32, I32)>("s_cmp_lg_i32", [](int32_t a, int32_t b) { return a != b; }),
    scalar_compare<void(I32, I32)>("s_cmp_gt_i32", [](int32_t a, int32_t b) { return a > b; }),
    scalar_compare<void(I32, I32)>("s_cmp_ge_i32", [](int32_t a, int32_t b) { return a >= b; }),
    scalar_compare<void(I32, I32)>("s_cmp_lt_i32", [](int32_t a, int32_t b) { return a < b; }),
    scalar_compare<void(I32, I32)>("s_cmp_le_i32", [](int32_t a, int32_t b) { return a <= b; }),
    scalar_compare<void(U32, U32)>("s_cmp_eq_u32", [](uint32_t a, uint32_t b) { return a == b; }),
    scalar_compare<void(U32, U32)>("s_cmp_lg_u32", [](uint32_t a, uint32_t b) { return a != b; }),
    scalar_compare<void(U32, U32)>("s_cmp_gt_u32", [](uint32_t a, uint32_t b) { return a > b; }),
    scalar_compare<void(U32, U32)>("s_cmp_ge_u32", [](uint32_t a, uint32_t b) { return a >= b; }),
    scalar_compare<void(U32, U32)>("s_cmp_lt_u32", [](uint32_t a, uint32_t b) { return a < b; }),
    scalar_compare<void(U32, U32)>("s_cmp_le_u32", [](uint32_t a, uint32_t b) { return a <= b; }),
    scalar_compare<void(U64, U64)>("s_cmp_eq_u64", [](uint64_t a, uint64_t b) { return a == b; }),
    scalar_compare<void(U64, U64)>("s_cmp_lg_u64", [](uint64_t a, uint64_t b) { return a != b; }),
    scalar_compare<void(B32, U32)>("s_bitcmp0_b32",
                                   [](uint32_t a, uint32_t b) { return !(a >> (b & 31) & 1); }),
    scalar_compare<void(B32, U32)>("s_bitcmp1_b32",
                                   [](uint32_t a, uint32_t b) { return (a >> (b & 31) & 1) != 0; }),
    scalar_compare<void(B64, U32)>("s_bitcmp0_b64",
                                   [](uint64_t a, uint32_t b) { return !(a >> (b & 63) & 1); }),
    scalar_compare<void(B64, U32)>("s_bitcmp1_b64",
                                   [](uint64_t a, uint32_t b) { return (a >> (b & 63) & 1) != 0; }),
    compare_constant<I32>("s_cmpk_eq_i32", [](int32_t a, int32_t b) { return a == b; }),
    compare_constant<I32>("s_cmpk_lg_i32", [](int32_t a, int32_t b) { return a != b; }),
    compare_constant<I32>("s_cmpk_gt_i32", [](int32_t a, int32_t b) { return a > b; }),
    compare_constant<I32>("s_cmpk_ge_i32", [](int32_t a, int32_t b) { return a >= b; }),
    compare_constant<I32>("s_cmpk_lt_i32", [](int32_t a, int32_t b) { return a < b; }),
    compare_constant<I32>("s_cmpk_le_i32", [](int32_t a, int32_t b) { return a <= b; }),
    compare_constant<U32>("s_cmpk_eq_u32", [](uint32_t a, uint32_t b) { return a == b; }),
    compare_constant<U32>("s_cmpk_lg_u32", [](uint32_t a, uint32_t b) { return a != b; }),
    compare_constant<U32>("s_cmpk_gt_u32", [](uint32_t a, uint32_t b) { return a > b; }),
    compare_constant<U32>("s_cmpk_ge_u32", [](uint32_t a, uint32_t b) { return a >= b; }),
    compare_constant<U32>("s_cmpk_lt_u32", [](uint32_t a, uint32_t b) { return a < b; }),
    compare_constant<U32>("s_cmpk_le_u32", [](uint32_t a, uint32_t b) { return a <= b; }),
};

}  // namespace

std::span<const Row> scalar_rows() { return kRows; }

}  // namespace mhcheck::simulator::MHCHECK_ISA

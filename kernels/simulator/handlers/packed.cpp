#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/simulator/handlers/lanes.h"
#include "kernels/simulator/handlers/tables.h"

// VOP3P: two elements a register or register pair, and the mixed-precision forms.
namespace mhcheck::simulator::MHCHECK_ISA {
namespace {

// ---- Two f32 in a register pair: op_sel and neg are applied when the operands are prepared, so that the
// pair is simply 128 floats.

struct PkF32 {
  static constexpr Type type = Type::kPkF32;
};

template <int kOperands, class Op>
struct PackedFloat {
  static void execute(Wave& wave, const Instruction& instruction) {
    const uint32_t* a = source<PkF32>(wave, instruction, 0);
    const uint32_t* b = source<PkF32>(wave, instruction, 1);
    const uint32_t* c = kOperands == 3 ? source<PkF32>(wave, instruction, 2) : nullptr;
    const bool directed = !wave.default_floats;
    if (directed) begin_rounding(wave, Type::kPkF32);
    uint32_t any_nan = 0;
#pragma GCC ivdep
    for (int i = 0; i < 2 * kLanes; ++i) {
      float value;
      if constexpr (kOperands == 3) {
        value = Op{}(f32(a[i]), f32(b[i]), f32(c[i]));
      } else {
        value = Op{}(f32(a[i]), f32(b[i]));
      }
      any_nan |= value != value ? 1u : 0u;
      wave.result[i] = bits(value);
    }
    if (directed) end_rounding();
    if (any_nan) settle_nans(wave.result, Type::kPkF32, a, b, c);
    write_result<PkF32>(wave, instruction);
  }
};
template <int kOperands, class Op>
constexpr Row packed_float(std::string_view mnemonic, Op) {
  return {mnemonic,
          PackedFloat<kOperands, Op>::execute,
          InstructionClass::kValu,
          Type::kPkF32,
          {Type::kPkF32, Type::kPkF32, kOperands == 3 ? Type::kPkF32 : Type::kNone},
          kNoTraits};
}

// ---- Two halves in a register

template <class Op, int kOperands>
MHCHECK_LANE uint32_t each_half(const Context& context, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t result = 0;
  for (int shift : {0, 16}) {
    const uint32_t x = a >> shift & 0xffff, y = b >> shift & 0xffff, z = c >> shift & 0xffff;
    uint32_t half = 0;
    if constexpr (kOperands == 3) {
      half = apply(Op{}, context, x, y, z);
    } else {
      half = apply(Op{}, context, x, y);
    }
    result |= (half & 0xffff) << shift;
  }
  return result;
}

template <class Element, int kOperands, class Op>
struct PackedHalves {
  static void execute(Wave& wave, const Instruction& instruction) {
    const uint32_t* a = source<Element>(wave, instruction, 0);
    const uint32_t* b = source<Element>(wave, instruction, 1);
    const uint32_t* c = kOperands == 3 ? source<Element>(wave, instruction, 2) : a;
    const uint32_t mode = wave.mode;
    const bool clamp = instruction.clamp;
    const bool directed = is_float(Element::type) && !wave.default_floats;
    if (directed) begin_rounding(wave, Type::kF16);
#pragma GCC ivdep
    for (int lane = 0; lane < kLanes; ++lane) {
      wave.result[lane] = each_half<Op, kOperands>(Context{lane, mode, clamp}, a[lane], b[lane], c[lane]);
    }
    if (directed) end_rounding();
    write_result<Element>(wave, instruction);
  }
};
template <class Element, int kOperands, class Op>
constexpr Row packed_halves(std::string_view mnemonic, Op, uint16_t traits = kNoTraits) {
  return {mnemonic,
          PackedHalves<Element, kOperands, Op>::execute,
          InstructionClass::kValu,
          Element::type,
          {Element::type, Element::type, kOperands == 3 ? Element::type : Type::kNone},
          traits};
}

MHCHECK_LANE bool is_nan_half(uint32_t half) { return (half & 0x7fff) > 0x7c00; }
MHCHECK_LANE bool is_signalling_half(uint32_t half) { return is_nan_half(half) && !(half & 0x200); }

// A result that is NaN becomes the first NaN operand, quieted, or the default NaN.
MHCHECK_LANE uint32_t settled(float value, const Context& context, uint32_t a, uint32_t b, uint32_t c) {
  if (value != value) {
    const uint32_t nan = is_nan_half(a) ? a : is_nan_half(b) ? b : is_nan_half(c) ? c : 0x7e00u;
    return nan | 0x200u;
  }
  const Round round{context.mode >> mode_bits::kRoundF16F64 & mode_bits::kRoundMask};
  const bool saturate = context.mode & mode_bits::kF16Overflow;
  return round == Round::kNearest && !saturate ? float_to_half(value) : float_to_half(value, round, saturate);
}

MHCHECK_LANE float fma_to_odd(float a, float b, float c) {
  return to_odd_float(add_to_odd(static_cast<double>(a) * b, c));
}

template <bool kMax>
MHCHECK_LANE uint32_t half_extreme(bool ieee, uint32_t a, uint32_t b) {
  if (ieee && is_signalling_half(a)) return a | 0x200;
  if (ieee && is_signalling_half(b)) return b | 0x200;
  if (is_nan_half(a)) return b;
  if (is_nan_half(b)) return a;
  const auto order = [](uint32_t half) { return half & 0x8000 ? ~half & 0xffff : half | 0x8000; };
  return (kMax ? order(a) >= order(b) : order(a) <= order(b)) ? a : b;
}
template <bool kMax>
MHCHECK_LANE uint32_t half_propagating3(uint32_t a, uint32_t b, uint32_t c) {
  for (uint32_t operand : {a, b, c}) {
    if (is_nan_half(operand)) return operand | 0x200;
  }
  return half_extreme<kMax>(true, half_extreme<kMax>(true, a, b), c);
}

MHCHECK_LANE uint32_t clamp_unsigned(const Context& context, int32_t value) {
  return static_cast<uint32_t>(context.clamp ? std::clamp(value, 0, 0xffff) : value);
}
MHCHECK_LANE uint32_t clamp_signed(const Context& context, int64_t value) {
  return static_cast<uint32_t>(context.clamp ? std::clamp<int64_t>(value, -0x8000, 0x7fff) : value);
}
MHCHECK_LANE int32_t sign16(uint32_t half) { return static_cast<int16_t>(half); }

// ---- v_fma_mix: f32 fma of operands that are f32 or f16

void fma_mix(Wave& wave, const Instruction& instruction) {
  const uint32_t* a = source<MixF16>(wave, instruction, 0);
  const uint32_t* b = source<MixF16>(wave, instruction, 1);
  const uint32_t* c = source<MixF16>(wave, instruction, 2);
  const bool directed = !wave.default_floats;
  if (directed) begin_rounding(wave, Type::kF32);
  uint32_t any_nan = 0;
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) {
    const float value = std::fma(f32(a[lane]), f32(b[lane]), f32(c[lane]));
    any_nan |= value != value ? 1u : 0u;
    wave.result[lane] = bits(value);
  }
  if (directed) end_rounding();
  if (any_nan) settle_nans(wave.result, Type::kF32, a, b, c);
  write_result<F32>(wave, instruction);
}

// The result is rounded once, to f16, and replaces one half of the destination.
template <bool kHigh>
void fma_mix_half(Wave& wave, const Instruction& instruction) {
  const uint32_t* a = source<MixF16>(wave, instruction, 0);
  const uint32_t* b = source<MixF16>(wave, instruction, 1);
  const uint32_t* c = source<MixF16>(wave, instruction, 2);
  uint32_t* target = vector_register(wave, instruction.destination);
  const Round round{wave.mode >> mode_bits::kRoundF16F64 & mode_bits::kRoundMask};
  const bool saturate = wave.mode & mode_bits::kF16Overflow;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!wave.lane_mask[lane]) continue;
    float value = fma_to_odd(f32(a[lane]), f32(b[lane]), f32(c[lane]));
    if (instruction.clamp) value = value > 1 ? 1.0f : value > 0 ? value : 0.0f;
    uint32_t half = float_to_half(value, round, saturate);
    if (value != value) {
      const float nan = std::isnan(f32(a[lane]))   ? f32(a[lane])
                        : std::isnan(f32(b[lane])) ? f32(b[lane])
                                                   : f32(c[lane]);
      half = std::isnan(nan) ? float_to_half(nan) : 0x7e00;
    }
    target[lane] = kHigh ? (target[lane] & 0xffffu) | half << 16 : (target[lane] & 0xffff0000u) | half;
  }
}

// v_pk_mov_b32: the low result from src0 by op_sel[0], the high one from src1 by op_sel[1]. Only the dword
// that is chosen matters, so that the operands are prepared as packed pairs and read at the low and the high
// place.
void packed_move(Wave& wave, const Instruction& instruction) {
  const uint32_t* a = source<B64>(wave, instruction, 0);
  const uint32_t* b = source<B64>(wave, instruction, 1);
  const int from_a = instruction.source[0].modifiers & kSelect ? kLanes : 0;
  const int from_b = instruction.source[1].modifiers & kSelect ? kLanes : 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint32_t low = a[lane + from_a], high = b[lane + from_b];
    wave.result[lane] = low;
    wave.result[lane + kLanes] = high;
  }
  write_result<B64>(wave, instruction);
}

// ---- Dot products of halves: products are exact in f32's wider sum; one rounding here, denormals flushed,
// MODE ignored.
MHCHECK_LANE float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

template <bool kBf16>
MHCHECK_LANE float widened(uint32_t half) {
  if (kBf16) return flushed(bf16_to_float(half & 0xffff));
  return (half & 0x7c00) == 0 ? half_to_float(half & 0x8000) : half_to_float(half & 0xffff);
}
template <bool kBf16>
MHCHECK_LANE float dot2(uint32_t a, uint32_t b, float c) {
  const double low = static_cast<double>(widened<kBf16>(a)) * widened<kBf16>(b);
  const double high = static_cast<double>(widened<kBf16>(a >> 16)) * widened<kBf16>(b >> 16);
  return flushed(static_cast<float>(add_to_odd(add_to_odd(low, high), flushed(c))));
}

constexpr Row kRows[] = {
    packed_float<2>("v_pk_add_f32", [](float a, float b) { return a + b; }),
    packed_float<2>("v_pk_mul_f32", [](float a, float b) { return a * b; }),
    packed_float<3>("v_pk_fma_f32", [](float a, float b, float c) { return std::fma(a, b, c); }),
    {"v_pk_mov_b32",
     packed_move,
     InstructionClass::kValu,
     Type::kB64,
     {Type::kB64, Type::kB64},
     kSelectsDwords},

    packed_halves<PkF16, 2>("v_pk_add_f16",
                            [](const Context& k, uint32_t a, uint32_t b) {
                              return settled(half_to_float(a) + half_to_float(b), k, a, b, 0);
                            }),
    packed_halves<PkF16, 2>("v_pk_mul_f16",
                            [](const Context& k, uint32_t a, uint32_t b) {
                              return settled(half_to_float(a) * half_to_float(b), k, a, b, 0);
                            }),
    packed_halves<PkF16, 3>("v_pk_fma_f16",
                            [](const Context& k, uint32_t a, uint32_t b, uint32_t c) {
                              return settled(fma_to_odd(half_to_float(a), half_to_float(b), half_to_float(c)),
                                             k, a, b, c);
                            }),
    packed_halves<PkF16, 3>(
        "v_pk_fmac_f16",
        [](const Context& k, uint32_t a, uint32_t b, uint32_t c) {
          return settled(fma_to_odd(half_to_float(a), half_to_float(b), half_to_float(c)), k, a, b, c);
        },
        kReadsDestination),
    packed_halves<PkF16, 2>("v_pk_min_f16", [](const Context& k, uint32_t a,
                                               uint32_t b) { return half_extreme<false>(k.ieee(), a, b); }),
    packed_halves<PkF16, 2>("v_pk_max_f16", [](const Context& k, uint32_t a,
                                               uint32_t b) { return half_extreme<true>(k.ieee(), a, b); }),
    packed_halves<PkF16, 3>(
        "v_pk_minimum3_f16",
        [](uint32_t a, uint32_t b, uint32_t c) { return half_propagating3<false>(a, b, c); }),
    packed_halves<PkF16, 3>("v_pk_maximum3_f16", [](uint32_t a, uint32_t b,
                                                    uint32_t c) { return half_propagating3<true>(a, b, c); }),

    packed_halves<PkB16, 2>("v_pk_add_u16",
                            [](const Context& k, uint32_t a, uint32_t b) {
                              return clamp_unsigned(k, static_cast<int32_t>(a + b));
                            }),
    packed_halves<PkB16, 2>("v_pk_sub_u16",
                            [](const Context& k, uint32_t a, uint32_t b) {
                              return clamp_unsigned(k, static_cast<int32_t>(a) - static_cast<int32_t>(b));
                            }),
    packed_halves<PkB16, 2>(
        "v_pk_add_i16",
        [](const Context& k, uint32_t a, uint32_t b) { return clamp_signed(k, sign16(a) + sign16(b)); }),
    packed_halves<PkB16, 2>(
        "v_pk_sub_i16",
        [](const Context& k, uint32_t a, uint32_t b) { return clamp_signed(k, sign16(a) - sign16(b)); }),
    packed_halves<PkB16, 2>("v_pk_mul_lo_u16", [](uint32_t a, uint32_t b) { return a * b; }),
    packed_halves<PkB16, 3>("v_pk_mad_u16",
                            [](const Context& k, uint32_t a, uint32_t b, uint32_t c) {
                              const uint64_t wide = uint64_t{a} * b + c;
                              return k.clamp && wide > 0xffff ? 0xffffu : static_cast<uint32_t>(wide);
                            }),
    packed_halves<PkB16, 3>("v_pk_mad_i16",
                            [](const Context& k, uint32_t a, uint32_t b, uint32_t c) {
                              return clamp_signed(k, int64_t{sign16(a)} * sign16(b) + sign16(c));
                            }),
    packed_halves<PkB16, 2>("v_pk_min_u16", [](uint32_t a, uint32_t b) { return std::min(a, b); }),
    packed_halves<PkB16, 2>("v_pk_max_u16", [](uint32_t a, uint32_t b) { return std::max(a, b); }),
    packed_halves<PkB16, 2>("v_pk_min_i16",
                            [](uint32_t a, uint32_t b) { return sign16(a) < sign16(b) ? a : b; }),
    packed_halves<PkB16, 2>("v_pk_max_i16",
                            [](uint32_t a, uint32_t b) { return sign16(a) > sign16(b) ? a : b; }),
    packed_halves<PkB16, 2>("v_pk_lshlrev_b16", [](uint32_t a, uint32_t b) { return b << (a & 15); }),
    packed_halves<PkB16, 2>("v_pk_lshrrev_b16", [](uint32_t a, uint32_t b) { return b >> (a & 15); }),
    packed_halves<PkB16, 2>(
        "v_pk_ashrrev_i16",
        [](uint32_t a, uint32_t b) { return static_cast<uint32_t>(sign16(b) >> (a & 15)); }),

    {"v_fma_mix_f32",
     fma_mix,
     InstructionClass::kValu,
     Type::kF32,
     {Type::kMixF16, Type::kMixF16, Type::kMixF16},
     kNoTraits},
    {"v_fma_mixlo_f16",
     fma_mix_half<false>,
     InstructionClass::kValu,
     Type::kB32,
     {Type::kMixF16, Type::kMixF16, Type::kMixF16},
     kNoTraits},
    {"v_fma_mixhi_f16",
     fma_mix_half<true>,
     InstructionClass::kValu,
     Type::kB32,
     {Type::kMixF16, Type::kMixF16, Type::kMixF16},
     kNoTraits},

    exact<F32(PkF16, PkF16, F32)>("v_dot2_f32_f16",
                                  [](uint32_t a, uint32_t b, float c) { return dot2<false>(a, b, c); }),
    exact<F32(PkBf16, PkBf16, F32)>("v_dot2_f32_bf16",
                                    [](uint32_t a, uint32_t b, float c) { return dot2<true>(a, b, c); }),
    exact<F32(B32, B32, F32)>(
        "v_dot2c_f32_f16", [](uint32_t a, uint32_t b, float c) { return dot2<false>(a, b, c); },
        kReadsDestination),
    exact<F32(B32, B32, F32)>(
        "v_dot2c_f32_bf16", [](uint32_t a, uint32_t b, float c) { return dot2<true>(a, b, c); },
        kReadsDestination),
};

}  // namespace

std::span<const Row> packed_rows() { return kRows; }

}  // namespace mhcheck::simulator::MHCHECK_ISA

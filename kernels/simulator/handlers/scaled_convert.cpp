#include <cmath>

#include "kernels/simulator/handlers/lanes.h"
#include "kernels/simulator/handlers/tables.h"
#include "kernels/simulator/handlers/tuples.h"

// v_cvt_scalef32_*: between f32, f16 or bf16 and floats of 8, 6 or 4 bits. A power of two, the exponent field
// of an f32 operand, multiplies what is widened and divides what is narrowed. The scale is exact, so that one
// rounding remains. Denormals are kept whatever MODE says (AMD's HIP headers, amd_hip_ocp_host.hpp; the ISA
// manual is silent), which is why no operand is read as a float here.
namespace mhcheck::simulator::MHCHECK_ISA {
namespace {

// ---- The scale: all ones in its exponent makes every element NaN, with the element's sign.

constexpr uint32_t kNanScale = 0xff;
MHCHECK_LANE uint32_t scale_exponent(uint32_t scale) { return scale >> 23 & 0xff; }
MHCHECK_LANE double power(uint32_t exponent) { return std::ldexp(1.0, static_cast<int>(exponent) - 127); }

MHCHECK_LANE float times_scale(float x, uint32_t scale) {
  const uint32_t exponent = scale_exponent(scale);
  if (exponent == kNanScale) return std::copysign(f32(0x7fc00000u), x);
  return static_cast<float>(x * power(exponent));
}
MHCHECK_LANE float over_scale(float x, uint32_t scale) {
  const uint32_t exponent = scale_exponent(scale);
  if (exponent == kNanScale) return std::copysign(f32(0x7fc00000u), x);
  return to_odd_float(x / power(exponent));
}

// ---- The wide side

struct AsF32 {
  static constexpr int bits = 32;
  static constexpr Type element = Type::kF32, pair = Type::kB64, tuple = Type::kB1024;
  MHCHECK_LANE float widen(uint32_t raw) { return f32(raw); }
  MHCHECK_LANE uint32_t narrow(float x) { return simulator::MHCHECK_ISA::bits(x); }
};
struct AsF16 {
  static constexpr int bits = 16;
  static constexpr Type element = Type::kF16, pair = Type::kPkF16, tuple = Type::kB512;
  MHCHECK_LANE float widen(uint32_t raw) { return half_to_float(raw); }
  MHCHECK_LANE uint32_t narrow(float x) { return float_to_half(x); }
};
struct AsBf16 {
  static constexpr int bits = 16;
  static constexpr Type element = Type::kBf16, pair = Type::kPkBf16, tuple = Type::kB512;
  MHCHECK_LANE float widen(uint32_t raw) { return bf16_to_float(raw); }
  MHCHECK_LANE uint32_t narrow(float x) { return float_to_bf16(x); }
};

/// Sources of a type as its bits: never flushed, and modified as the row's type asks.
template <class Wide>
MHCHECK_LANE const uint32_t* wide_source(Wave& wave, const Instruction& instruction, int k) {
  if constexpr (Wide::bits == 32) return source<B32>(wave, instruction, k);
  return source<Bf16>(wave, instruction, k);
}

// ---- Where in a register narrow elements are: op_sel[1:0] choose the part that is read, op_sel[3:2] the
// part that is written, of which a part of 16 bits takes the upper one only.

template <int kPartBits>
MHCHECK_LANE unsigned part_read(const Instruction& instruction) {
  return kPartBits * (instruction.byte_select & (32u / kPartBits - 1u));
}
template <int kPartBits>
MHCHECK_LANE unsigned part_written(const Instruction& instruction) {
  const unsigned half = instruction.high_half ? 16 : 0;
  return kPartBits == 8 ? half + 8 * (instruction.byte_select >> 2 & 1u) : half;
}
template <int kPartBits>
MHCHECK_LANE void write_part(uint32_t& target, unsigned shift, uint32_t value) {
  target = (target & ~(element_mask(kPartBits) << shift)) | value << shift;
}

// ---- One element

// A 16-bit result goes to one half of the destination.
template <class Format, class Wide>
void from_one(Wave& wave, const Instruction& instruction) {
  const uint32_t* a = source<B32>(wave, instruction, 0);
  const uint32_t* scale = source<B32>(wave, instruction, 1);
  uint32_t* target = vector_register(wave, instruction.destination);
  const unsigned at = part_read<8>(instruction), to = instruction.high_half ? 16 : 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!wave.lane_mask[lane]) continue;
    const float value = times_scale(small_to_float<Format>(a[lane] >> at & 0xffu), scale[lane]);
    write_part<Wide::bits>(target[lane], Wide::bits == 16 ? to : 0, Wide::narrow(value));
  }
}
template <class Format, class Wide>
void to_one_stochastic(Wave& wave, const Instruction& instruction) {
  const uint32_t* a = wide_source<Wide>(wave, instruction, 0);
  const uint32_t* random = source<B32>(wave, instruction, 1);
  const uint32_t* scale = source<B32>(wave, instruction, 2);
  uint32_t* target = vector_register(wave, instruction.destination);
  const unsigned to = part_written<8>(instruction);
  const bool saturate = wave.mode & mode_bits::kF16Overflow;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!wave.lane_mask[lane]) continue;
    const float value = over_scale(Wide::widen(a[lane] & element_mask(Wide::bits)), scale[lane]);
    write_part<8>(target[lane], to, float_to_small<Format, true>(value, random[lane], saturate));
  }
}

// ---- Two elements: of 8 bits in half a register, of 4 bits in a byte

template <class Format, class Wide>
void from_pair(Wave& wave, const Instruction& instruction) {
  const uint32_t* a = source<B32>(wave, instruction, 0);
  const uint32_t* scale = source<B32>(wave, instruction, 1);
  uint32_t* target = vector_register(wave, instruction.destination);
  const unsigned at = part_read<2 * Format::kBits>(instruction);
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!wave.lane_mask[lane]) continue;
    TupleRow<Wide::bits / 16> row;
    for (const unsigned element : {at, at + Format::kBits}) {
      const float x = small_to_float<Format>(a[lane] >> element & element_mask(Format::kBits));
      row.append(Wide::narrow(times_scale(x, scale[lane])), Wide::bits);
    }
    row.write(target, lane);
  }
}
template <class Format>
MHCHECK_LANE uint32_t small_pair(float low, float high, uint32_t scale, bool saturate) {
  return float_to_small<Format, false>(over_scale(low, scale), 0, saturate) |
         float_to_small<Format, false>(over_scale(high, scale), 0, saturate) << Format::kBits;
}
// The two f32 are operands of their own; two 16-bit elements share one.
template <class Format, class Wide>
void to_pair(Wave& wave, const Instruction& instruction) {
  constexpr bool kTwoOperands = Wide::bits == 32;
  const uint32_t* a = kTwoOperands ? source<B32>(wave, instruction, 0) : source<PkBf16>(wave, instruction, 0);
  const uint32_t* b = kTwoOperands ? source<B32>(wave, instruction, 1) : nullptr;
  const uint32_t* scale = source<B32>(wave, instruction, kTwoOperands ? 2 : 1);
  uint32_t* target = vector_register(wave, instruction.destination);
  const unsigned to = part_written<2 * Format::kBits>(instruction);
  const bool saturate = wave.mode & mode_bits::kF16Overflow;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!wave.lane_mask[lane]) continue;
    const float low = Wide::widen(kTwoOperands ? a[lane] : a[lane] & 0xffffu),
                high = Wide::widen(kTwoOperands ? b[lane] : a[lane] >> 16);
    write_part<2 * Format::kBits>(target[lane], to, small_pair<Format>(low, high, scale[lane], saturate));
  }
}
// abs and neg, which no pass applies to both registers of a pair.
MHCHECK_LANE float with_modifiers(float x, uint8_t modifiers) {
  if (modifiers & kAbs) x = std::fabs(x);
  return modifiers & kNeg ? -x : x;
}
template <class Wide>
void to_pair_stochastic(Wave& wave, const Instruction& instruction) {
  constexpr bool kTwoRegisters = Wide::bits == 32;
  const uint32_t* a =
      kTwoRegisters ? tuple_source(wave, instruction, 0) : source<PkBf16>(wave, instruction, 0);
  const uint8_t modifiers = kTwoRegisters ? instruction.source[0].modifiers : 0;
  const uint32_t* random = source<B32>(wave, instruction, 1);
  const uint32_t* scale = source<B32>(wave, instruction, 2);
  uint32_t* target = vector_register(wave, instruction.destination);
  const unsigned to = part_written<8>(instruction);
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!wave.lane_mask[lane]) continue;
    uint32_t pair = 0, bits = random[lane];
    for (int element : {0, 1}) {
      const float x = with_modifiers(Wide::widen(tuple_element(a, lane, element, Wide::bits)), modifiers);
      pair |= float_to_small<E2m1, true>(over_scale(x, scale[lane]), bits, true) << (4 * element);
      bits = next_random(bits);
    }
    write_part<8>(target[lane], to, pair);
  }
}

// ---- 32 elements of six bits, in six registers

constexpr int kTupleElements = 32, kNarrowRegisters = 6;

template <class Format, class Wide>
void from_tuple(Wave& wave, const Instruction& instruction) {
  const uint32_t* a = tuple_source(wave, instruction, 0);
  const uint32_t* scale = source<B32>(wave, instruction, 1);
  uint32_t* target = vector_register(wave, instruction.destination);
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!wave.lane_mask[lane]) continue;
    TupleRow<Wide::bits> row;
    const uint32_t lane_scale = scale[lane];
    for (int element = 0; element < kTupleElements; ++element) {
      const float x = small_to_float<Format>(tuple_element(a, lane, element, Format::kBits));
      row.append(Wide::narrow(times_scale(x, lane_scale)), Wide::bits);
    }
    row.write(target, lane);
  }
}
template <class Format, class Wide, bool kStochastic>
void to_tuple(Wave& wave, const Instruction& instruction) {
  const uint32_t* a = tuple_source(wave, instruction, 0);
  const uint32_t* random = kStochastic ? source<B32>(wave, instruction, 1) : nullptr;
  const uint32_t* scale = source<B32>(wave, instruction, kStochastic ? 2 : 1);
  uint32_t* target = vector_register(wave, instruction.destination);
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!wave.lane_mask[lane]) continue;
    TupleRow<kNarrowRegisters> row;
    const uint32_t lane_scale = scale[lane];
    uint32_t bits = kStochastic ? random[lane] : 0;
    for (int element = 0; element < kTupleElements; ++element) {
      const float x = Wide::widen(tuple_element(a, lane, element, Wide::bits));
      row.append(float_to_small<Format, kStochastic>(over_scale(x, lane_scale), bits, true), Format::kBits);
      bits = next_random(bits);
    }
    row.write(target, lane);
  }
}
// Two tuples of 16 f32 each, whose elements alternate in the result.
template <class Format>
void to_tuple_from_two(Wave& wave, const Instruction& instruction) {
  const uint32_t* a = tuple_source(wave, instruction, 0);
  const uint32_t* b = tuple_source(wave, instruction, 1);
  const uint32_t* scale = source<B32>(wave, instruction, 2);
  uint32_t* target = vector_register(wave, instruction.destination);
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!wave.lane_mask[lane]) continue;
    TupleRow<kNarrowRegisters> row;
    const uint32_t lane_scale = scale[lane];
    for (int i = 0; i < kTupleElements / 2; ++i) {
      for (const uint32_t* from : {a, b}) {
        const float x = over_scale(f32(from[i * kLanes + lane]), lane_scale);
        row.append(float_to_small<Format, false>(x, 0, true), Format::kBits);
      }
    }
    row.write(target, lane);
  }
}

// ---- Rows

constexpr Row valu(std::string_view mnemonic, Handler handler, Type destination,
                   std::array<Type, 3> sources) {
  return {mnemonic, handler, InstructionClass::kValu, destination, sources, kSelectsByte};
}
template <class Format, class Wide>
constexpr Row one_from(std::string_view mnemonic) {
  return valu(mnemonic, from_one<Format, Wide>, Type::kB32, {Type::kB32, Type::kF32});
}
template <class Format, class Wide>
constexpr Row one_to(std::string_view mnemonic) {
  return valu(mnemonic, to_one_stochastic<Format, Wide>, Type::kB32, {Wide::element, Type::kB32, Type::kF32});
}
template <class Format, class Wide>
constexpr Row pair_from(std::string_view mnemonic) {
  return valu(mnemonic, from_pair<Format, Wide>, Wide::bits == 32 ? Type::kB64 : Type::kB32,
              {Type::kB32, Type::kF32});
}
template <class Format, class Wide>
constexpr Row pair_to(std::string_view mnemonic) {
  if (Wide::bits == 32)
    return valu(mnemonic, to_pair<Format, Wide>, Type::kB32, {Type::kF32, Type::kF32, Type::kF32});
  return valu(mnemonic, to_pair<Format, Wide>, Type::kB32, {Wide::pair, Type::kF32});
}
template <class Wide>
constexpr Row pair_to_stochastic(std::string_view mnemonic) {
  return valu(mnemonic, to_pair_stochastic<Wide>, Type::kB32, {Wide::pair, Type::kB32, Type::kF32});
}
template <class Format, class Wide>
constexpr Row tuple_from(std::string_view mnemonic) {
  return valu(mnemonic, from_tuple<Format, Wide>, Wide::tuple, {Type::kB192, Type::kF32});
}
template <class Format, class Wide>
constexpr Row tuple_to(std::string_view mnemonic) {
  return valu(mnemonic, to_tuple<Format, Wide, false>, Type::kB192, {Wide::tuple, Type::kF32});
}
template <class Format, class Wide>
constexpr Row tuple_to_stochastic(std::string_view mnemonic) {
  return valu(mnemonic, to_tuple<Format, Wide, true>, Type::kB192, {Wide::tuple, Type::kB32, Type::kF32});
}
template <class Format>
constexpr Row two_tuples_to(std::string_view mnemonic) {
  return valu(mnemonic, to_tuple_from_two<Format>, Type::kB192, {Type::kB512, Type::kB512, Type::kF32});
}

constexpr Row kRows[] = {
    one_from<E4m3, AsF32>("v_cvt_scalef32_f32_fp8"),
    one_from<E5m2, AsF32>("v_cvt_scalef32_f32_bf8"),
    one_from<E4m3, AsF16>("v_cvt_scalef32_f16_fp8"),
    one_from<E5m2, AsF16>("v_cvt_scalef32_f16_bf8"),
    one_to<E4m3, AsF32>("v_cvt_scalef32_sr_fp8_f32"),
    one_to<E5m2, AsF32>("v_cvt_scalef32_sr_bf8_f32"),
    one_to<E4m3, AsF16>("v_cvt_scalef32_sr_fp8_f16"),
    one_to<E5m2, AsF16>("v_cvt_scalef32_sr_bf8_f16"),
    one_to<E4m3, AsBf16>("v_cvt_scalef32_sr_fp8_bf16"),
    one_to<E5m2, AsBf16>("v_cvt_scalef32_sr_bf8_bf16"),

    pair_from<E4m3, AsF32>("v_cvt_scalef32_pk_f32_fp8"),
    pair_from<E5m2, AsF32>("v_cvt_scalef32_pk_f32_bf8"),
    pair_from<E2m1, AsF32>("v_cvt_scalef32_pk_f32_fp4"),
    pair_from<E4m3, AsF16>("v_cvt_scalef32_pk_f16_fp8"),
    pair_from<E5m2, AsF16>("v_cvt_scalef32_pk_f16_bf8"),
    pair_from<E2m1, AsF16>("v_cvt_scalef32_pk_f16_fp4"),
    pair_from<E4m3, AsBf16>("v_cvt_scalef32_pk_bf16_fp8"),
    pair_from<E5m2, AsBf16>("v_cvt_scalef32_pk_bf16_bf8"),
    pair_from<E2m1, AsBf16>("v_cvt_scalef32_pk_bf16_fp4"),
    pair_to<E4m3, AsF32>("v_cvt_scalef32_pk_fp8_f32"),
    pair_to<E5m2, AsF32>("v_cvt_scalef32_pk_bf8_f32"),
    pair_to<E2m1, AsF32>("v_cvt_scalef32_pk_fp4_f32"),
    pair_to<E4m3, AsF16>("v_cvt_scalef32_pk_fp8_f16"),
    pair_to<E5m2, AsF16>("v_cvt_scalef32_pk_bf8_f16"),
    pair_to<E2m1, AsF16>("v_cvt_scalef32_pk_fp4_f16"),
    pair_to<E4m3, AsBf16>("v_cvt_scalef32_pk_fp8_bf16"),
    pair_to<E5m2, AsBf16>("v_cvt_scalef32_pk_bf8_bf16"),
    pair_to<E2m1, AsBf16>("v_cvt_scalef32_pk_fp4_bf16"),
    pair_to_stochastic<AsF32>("v_cvt_scalef32_sr_pk_fp4_f32"),
    pair_to_stochastic<AsF16>("v_cvt_scalef32_sr_pk_fp4_f16"),
    pair_to_stochastic<AsBf16>("v_cvt_scalef32_sr_pk_fp4_bf16"),

    tuple_from<E2m3, AsF32>("v_cvt_scalef32_pk32_f32_fp6"),
    tuple_from<E3m2, AsF32>("v_cvt_scalef32_pk32_f32_bf6"),
    tuple_from<E2m3, AsF16>("v_cvt_scalef32_pk32_f16_fp6"),
    tuple_from<E3m2, AsF16>("v_cvt_scalef32_pk32_f16_bf6"),
    tuple_from<E2m3, AsBf16>("v_cvt_scalef32_pk32_bf16_fp6"),
    tuple_from<E3m2, AsBf16>("v_cvt_scalef32_pk32_bf16_bf6"),
    tuple_to<E2m3, AsF16>("v_cvt_scalef32_pk32_fp6_f16"),
    tuple_to<E3m2, AsF16>("v_cvt_scalef32_pk32_bf6_f16"),
    tuple_to<E2m3, AsBf16>("v_cvt_scalef32_pk32_fp6_bf16"),
    tuple_to<E3m2, AsBf16>("v_cvt_scalef32_pk32_bf6_bf16"),
    tuple_to_stochastic<E2m3, AsF32>("v_cvt_scalef32_sr_pk32_fp6_f32"),
    tuple_to_stochastic<E3m2, AsF32>("v_cvt_scalef32_sr_pk32_bf6_f32"),
    tuple_to_stochastic<E2m3, AsF16>("v_cvt_scalef32_sr_pk32_fp6_f16"),
    tuple_to_stochastic<E3m2, AsF16>("v_cvt_scalef32_sr_pk32_bf6_f16"),
    tuple_to_stochastic<E2m3, AsBf16>("v_cvt_scalef32_sr_pk32_fp6_bf16"),
    tuple_to_stochastic<E3m2, AsBf16>("v_cvt_scalef32_sr_pk32_bf6_bf16"),
    two_tuples_to<E2m3>("v_cvt_scalef32_2xpk16_fp6_f32"),
    two_tuples_to<E3m2>("v_cvt_scalef32_2xpk16_bf6_f32"),
};

}  // namespace

std::span<const Row> scaled_conversion_rows() { return kRows; }

}  // namespace mhcheck::simulator::MHCHECK_ISA

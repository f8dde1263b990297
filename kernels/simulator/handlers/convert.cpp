#include <algorithm>
#include <cmath>

#include "kernels/simulator/handlers/lanes.h"
#include "kernels/simulator/handlers/tables.h"

// Conversions between formats.
namespace mhcheck::simulator::MHCHECK_ISA {
namespace {

// Truncation towards zero, saturation, NaN to zero.
template <class Integer, class Real>
MHCHECK_LANE Integer to_integer(Real x, Real low, Real high, Integer lowest, Integer highest) {
  const Real inside = x > low ? (x < high ? x : Real(0)) : Real(0);
  const auto converted = static_cast<Integer>(inside);
  return x >= high ? highest : x <= low ? lowest : converted;
}
MHCHECK_LANE int32_t to_i32(double x) {
  return to_integer<int32_t, double>(x, -2147483648.0, 2147483647.0, INT32_MIN, INT32_MAX);
}
MHCHECK_LANE uint32_t to_u32(double x) {
  return to_integer<uint32_t, double>(x, 0.0, 4294967295.0, 0, UINT32_MAX);
}
MHCHECK_LANE int32_t to_i16(float x) {
  return to_integer<int32_t, float>(x, -32768.0f, 32767.0f, -32768, 32767);
}
MHCHECK_LANE uint32_t to_u16(float x) { return to_integer<uint32_t, float>(x, 0.0f, 65535.0f, 0, 65535); }
MHCHECK_LANE int32_t saturated(int32_t x, int32_t low, int32_t high) {
  return x < low ? low : x > high ? high : x;
}

// [-1, 1] to signed, [0, 1] to unsigned 16-bit fixed point, rounded to nearest even.
MHCHECK_LANE uint32_t normal_i16(float x) {
  const float bounded = x != x ? 0.0f : std::clamp(x, -1.0f, 1.0f);
  return static_cast<uint32_t>(static_cast<int32_t>(__builtin_roundevenf(bounded * 32767.0f))) & 0xffffu;
}
MHCHECK_LANE uint32_t normal_u16(float x) {
  const float bounded = x != x ? 0.0f : std::clamp(x, 0.0f, 1.0f);
  return static_cast<uint32_t>(__builtin_roundevenf(bounded * 65535.0f)) & 0xffffu;
}

MHCHECK_LANE uint32_t to_half_by_mode(const Context& context, float x) {
  const Round round{context.mode >> mode_bits::kRoundF16F64 & mode_bits::kRoundMask};
  return float_to_half(x, round, context.mode & mode_bits::kF16Overflow);
}

// Adds the random bits below the last kept bit, then truncates.
MHCHECK_LANE uint32_t stochastic_half(float x, uint32_t random) {
  if (std::isnan(x) || std::isinf(x) || std::fabs(x) < 0x1p-14f) return float_to_half(x, Round::kZero, false);
  return float_to_half(f32(bits(x) + (random >> 19)), Round::kZero, false) |
         (std::fabs(f32(bits(x) + (random >> 19))) >= 65536.0f ? 0x7c00u : 0u);
}
MHCHECK_LANE uint32_t stochastic_bf16(float x, uint32_t random) {
  if (std::isnan(x) || std::isinf(x)) return float_to_bf16(x);
  return (bits(x) + (random >> 16)) >> 16;
}

// Writes one or two bytes of the destination's half that op_sel[3] chooses and keeps the rest.
template <class Format>
void to_small_pair(Wave& wave, const Instruction& instruction) {
  const uint32_t* a = source<F32>(wave, instruction, 0);
  const uint32_t* b = source<F32>(wave, instruction, 1);
  uint32_t* target = vector_register(wave, instruction.destination);
  const unsigned shift = instruction.high_half ? 16 : 0;
  const bool saturate = wave.mode & mode_bits::kF16Overflow;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!wave.lane_mask[lane]) continue;
    const uint32_t pair = float_to_small<Format, false>(f32(a[lane]), 0, saturate) |
                          float_to_small<Format, false>(f32(b[lane]), 0, saturate) << 8;
    target[lane] = (target[lane] & ~(0xffffu << shift)) | pair << shift;
  }
}
// v_cvt_sr_*8_f32: op_sel[3:2] choose the byte, S1 holds the random bits.
template <class Format>
void to_small_stochastic(Wave& wave, const Instruction& instruction) {
  const uint32_t* a = source<F32>(wave, instruction, 0);
  const uint32_t* b = source<B32>(wave, instruction, 1);
  uint32_t* target = vector_register(wave, instruction.destination);
  const unsigned shift = 8 * ((instruction.high_half ? 2u : 0u) + (instruction.byte_select >> 2 & 1u));
  const bool saturate = wave.mode & mode_bits::kF16Overflow;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!wave.lane_mask[lane]) continue;
    const uint32_t byte = float_to_small<Format, true>(f32(a[lane]), b[lane], saturate);
    target[lane] = (target[lane] & ~(0xffu << shift)) | byte << shift;
  }
}

template <class Format>
MHCHECK_LANE float small_at(uint32_t value, unsigned byte) {
  return small_to_float<Format>(value >> (8 * byte) & 0xff);
}

constexpr auto insert_byte = [](float a, uint32_t b, uint32_t c) {
  const unsigned shift = 8 * (b & 3);
  const auto byte = to_integer<uint32_t, float>(__builtin_roundevenf(a), 0.0f, 255.0f, 0, 255);
  return (c & ~(0xffu << shift)) | byte << shift;
};

constexpr Row valu(std::string_view mnemonic, Handler handler, Type destination, std::array<Type, 3> sources,
                   uint16_t traits = kNoTraits) {
  return {mnemonic, handler, InstructionClass::kValu, destination, sources, traits};
}

constexpr Row kRows[] = {
    rounded<F32(I32)>("v_cvt_f32_i32", [](int32_t a) { return static_cast<float>(a); }),
    rounded<F32(U32)>("v_cvt_f32_u32", [](uint32_t a) { return static_cast<float>(a); }),
    exact<I32(F32)>("v_cvt_i32_f32", [](float a) { return to_i32(a); }),
    exact<U32(F32)>("v_cvt_u32_f32", [](float a) { return to_u32(a); }),
    exact<I32(F32)>("v_cvt_rpi_i32_f32", [](float a) { return to_i32(std::floor(a + 0.5)); }),
    exact<I32(F32)>("v_cvt_flr_i32_f32", [](float a) { return to_i32(std::floor(a)); }),
    exact<F64(I32)>("v_cvt_f64_i32", [](int32_t a) { return static_cast<double>(a); }),
    exact<F64(U32)>("v_cvt_f64_u32", [](uint32_t a) { return static_cast<double>(a); }),
    exact<I32(F64)>("v_cvt_i32_f64", [](double a) { return to_i32(a); }),
    exact<U32(F64)>("v_cvt_u32_f64", [](double a) { return to_u32(a); }),
    exact<S64(F32)>("v_cvt_f64_f32", [](float a) { return bits(static_cast<double>(a)); }),
    rounded<F32(F64)>("v_cvt_f32_f64", [](double a) { return static_cast<float>(a); }),
    exact<S32(H16)>("v_cvt_f32_f16",
                    [](uint32_t a) {
                      const uint32_t wide = bits(half_to_float(a));
                      return (wide & 0x7fffffffu) > 0x7f800000u ? wide | 0x400000u : wide;
                    }),
    exact<H16(F32)>("v_cvt_f16_f32", [](const Context& k, float a) { return to_half_by_mode(k, a); }),
    exact<S32(Bf16)>("v_cvt_f32_bf16",
                     [](uint32_t a) {
                       const uint32_t wide = a << 16;
                       return (wide & 0x7fffffffu) > 0x7f800000u ? wide | 0x400000u : wide;
                     }),
    rounded<F16(U16)>("v_cvt_f16_u16", [](uint32_t a) { return static_cast<float>(a); }),
    rounded<F16(I16)>("v_cvt_f16_i16", [](int32_t a) { return static_cast<float>(a); }),
    exact<U16(F16)>("v_cvt_u16_f16", [](float a) { return to_u16(a); }),
    exact<I16(F16)>("v_cvt_i16_f16", [](float a) { return to_i16(a); }),
    exact<F32(B32)>("v_cvt_f32_ubyte0", [](uint32_t a) { return static_cast<float>(a & 0xff); }),
    exact<F32(B32)>("v_cvt_f32_ubyte1", [](uint32_t a) { return static_cast<float>(a >> 8 & 0xff); }),
    exact<F32(B32)>("v_cvt_f32_ubyte2", [](uint32_t a) { return static_cast<float>(a >> 16 & 0xff); }),
    exact<F32(B32)>("v_cvt_f32_ubyte3", [](uint32_t a) { return static_cast<float>(a >> 24); }),
    exact<F32(B32)>(
        "v_cvt_off_f32_i4",
        [](uint32_t a) { return static_cast<float>(static_cast<int32_t>(a << 28) >> 28) * 0.0625f; }),
    exact<U16(F16)>("v_cvt_norm_i16_f16", [](float a) { return normal_i16(a); }),
    exact<U16(F16)>("v_cvt_norm_u16_f16", [](float a) { return normal_u16(a); }),
    exact<B32(I32)>("v_sat_pk_u8_i16",
                    [](int32_t a) {
                      const auto low = static_cast<uint32_t>(saturated(static_cast<int16_t>(a), 0, 255));
                      return low | static_cast<uint32_t>(saturated(a >> 16, 0, 255)) << 8;
                    }),

    // Two results in one register
    exact<B32(F32, F32)>("v_cvt_pk_bf16_f32",
                         [](float a, float b) { return float_to_bf16(a) | float_to_bf16(b) << 16; }),
    exact<B32(F32, F32)>("v_cvt_pk_f16_f32",
                         [](float a, float b) { return float_to_half(a) | float_to_half(b) << 16; }),
    exact<B32(F32, F32)>("v_cvt_pkrtz_f16_f32",
                         [](float a, float b) {
                           return float_to_half(a, Round::kZero, false) |
                                  float_to_half(b, Round::kZero, false) << 16;
                         }),
    exact<B32(F32, F32)>("v_cvt_pknorm_i16_f32",
                         [](float a, float b) { return normal_i16(a) | normal_i16(b) << 16; }),
    exact<B32(F32, F32)>("v_cvt_pknorm_u16_f32",
                         [](float a, float b) { return normal_u16(a) | normal_u16(b) << 16; }),
    exact<B32(F16, F16)>("v_cvt_pknorm_i16_f16",
                         [](float a, float b) { return normal_i16(a) | normal_i16(b) << 16; }),
    exact<B32(F16, F16)>("v_cvt_pknorm_u16_f16",
                         [](float a, float b) { return normal_u16(a) | normal_u16(b) << 16; }),
    exact<B32(U32, U32)>(
        "v_cvt_pk_u16_u32",
        [](uint32_t a, uint32_t b) { return std::min(a, 0xffffu) | std::min(b, 0xffffu) << 16; }),
    exact<B32(I32, I32)>("v_cvt_pk_i16_i32",
                         [](int32_t a, int32_t b) {
                           return (static_cast<uint32_t>(saturated(a, -32768, 32767)) & 0xffffu) |
                                  static_cast<uint32_t>(saturated(b, -32768, 32767)) << 16;
                         }),
    exact<B32(F32, U32, B32)>("v_cvt_pk_u8_f32", insert_byte),
    exact<B32(F32, U32, B32)>("v_cvt_pkaccum_u8_f32", insert_byte, kReadsDestination),

    // 8-bit floats
    exact<F32(B32)>("v_cvt_f32_fp8", [](uint32_t a) { return small_at<E4m3>(a, 0); }),
    exact<F32(B32)>("v_cvt_f32_bf8", [](uint32_t a) { return small_at<E5m2>(a, 0); }),
    exact<B64(B16)>(
        "v_cvt_pk_f32_fp8",
        [](uint32_t a) { return bits(small_at<E4m3>(a, 0)) | uint64_t{bits(small_at<E4m3>(a, 1))} << 32; }),
    exact<B64(B16)>(
        "v_cvt_pk_f32_bf8",
        [](uint32_t a) { return bits(small_at<E5m2>(a, 0)) | uint64_t{bits(small_at<E5m2>(a, 1))} << 32; }),
    valu("v_cvt_pk_fp8_f32", to_small_pair<E4m3>, Type::kB32, {Type::kF32, Type::kF32}),
    valu("v_cvt_pk_bf8_f32", to_small_pair<E5m2>, Type::kB32, {Type::kF32, Type::kF32}),
    valu("v_cvt_sr_fp8_f32", to_small_stochastic<E4m3>, Type::kB32, {Type::kF32, Type::kB32}, kSelectsByte),
    valu("v_cvt_sr_bf8_f32", to_small_stochastic<E5m2>, Type::kB32, {Type::kF32, Type::kB32}, kSelectsByte),
    exact<H16(F32, B32)>("v_cvt_sr_f16_f32", [](float a, uint32_t b) { return stochastic_half(a, b); }),
    exact<B16(F32, B32)>("v_cvt_sr_bf16_f32", [](float a, uint32_t b) { return stochastic_bf16(a, b); }),
};

}  // namespace

std::span<const Row> conversion_rows() { return kRows; }

}  // namespace mhcheck::simulator::MHCHECK_ISA

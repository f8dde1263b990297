#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "kernels/simulator/handlers/elementary.h"
#include "kernels/simulator/handlers/lanes.h"
#include "kernels/simulator/handlers/tables.h"

// Floating-point arithmetic of f16, f32 and f64.
namespace mhcheck::simulator::MHCHECK_ISA {
namespace {

// ---- Bit-level views, one set of helpers for the three formats

template <class Word, int kMantissaBits, int kExponentBits>
struct Layout {
  using Bits = Word;
  static constexpr int mantissa_bits = kMantissaBits;
  static constexpr int bias = (1 << (kExponentBits - 1)) - 1;
  static constexpr int top_exponent = (1 << kExponentBits) - 1;
  static constexpr Word sign = Word(1) << (kMantissaBits + kExponentBits);
  static constexpr Word infinity = Word(top_exponent) << kMantissaBits;
  static constexpr Word quiet = Word(1) << (kMantissaBits - 1);
  static constexpr Word mantissa = (Word(1) << kMantissaBits) - 1;
  static constexpr Word one = Word(bias) << kMantissaBits;
  static constexpr Word default_nan = infinity | quiet;

  MHCHECK_LANE Word magnitude(Word a) { return a & (sign - 1); }
  MHCHECK_LANE bool is_nan(Word a) { return magnitude(a) > infinity; }
  MHCHECK_LANE bool is_signalling(Word a) { return is_nan(a) && !(a & quiet); }
  MHCHECK_LANE bool is_infinite(Word a) { return magnitude(a) == infinity; }
  MHCHECK_LANE bool is_zero(Word a) { return magnitude(a) == 0; }
  MHCHECK_LANE int exponent(Word a) { return static_cast<int>(a >> kMantissaBits & Word(top_exponent)); }
  // Order of the reals as order of unsigned integers, -0 below +0.
  MHCHECK_LANE Word order(Word a) {
    return a & sign ? static_cast<Word>(~a & (sign | (sign - 1))) : a | sign;
  }
};
using Half = Layout<uint32_t, 10, 5>;
using Single = Layout<uint32_t, 23, 8>;
using Double = Layout<uint64_t, 52, 11>;

// ---- Minimum and maximum (gfx950.md, section 3)

template <class L, bool kMax, class Word>
MHCHECK_LANE Word extreme(bool ieee, Word a, Word b) {
  if (ieee && L::is_signalling(a)) return a | L::quiet;
  if (ieee && L::is_signalling(b)) return b | L::quiet;
  if (L::is_nan(a)) return b;
  if (L::is_nan(b)) return a;
  const bool first = kMax ? L::order(a) >= L::order(b) : L::order(a) <= L::order(b);
  return first ? a : b;
}
template <class L, bool kMax, class Word>
MHCHECK_LANE Word extreme3(bool ieee, Word a, Word b, Word c) {
  return extreme<L, kMax>(ieee, extreme<L, kMax>(ieee, a, b), c);
}
template <class L, class Word>
MHCHECK_LANE Word median(bool ieee, Word a, Word b, Word c) {
  if (L::is_nan(a) || L::is_nan(b) || L::is_nan(c)) return extreme3<L, false>(ieee, a, b, c);
  const Word low = extreme<L, false>(ieee, a, b), high = extreme<L, true>(ieee, a, b);
  return extreme<L, true>(ieee, low, extreme<L, false>(ieee, high, c));
}
// v_minimum3 and v_maximum3: a NaN operand is the result.
template <class L, bool kMax, class Word>
MHCHECK_LANE Word propagating3(Word a, Word b, Word c) {
  for (Word operand : {a, b, c}) {
    if (L::is_nan(operand)) return operand | L::quiet;
  }
  return extreme3<L, kMax>(true, a, b, c);
}

// ---- Taking numbers apart

template <class L, class Word>
MHCHECK_LANE int leading_exponent(Word a) {  // of |a| = m * 2^e with m in [0.5, 1); a is finite and not zero
  const Word magnitude = L::magnitude(a);
  if (L::exponent(a)) return L::exponent(a) - L::bias + 1;
  int exponent = 2 - L::bias - 1;
  for (Word bit = Word(1) << (L::mantissa_bits - 1); !(magnitude & bit); bit >>= 1) --exponent;
  return exponent;
}
template <class L, class Word>
MHCHECK_LANE int32_t exponent_of(Word a) {
  return L::is_nan(a) || L::is_infinite(a) || L::is_zero(a) ? 0 : leading_exponent<L>(a);
}
template <class L, class Word>
MHCHECK_LANE Word significand_of(Word a) {  // a / 2^exponent_of(a), in [0.5, 1)
  if (L::is_nan(a)) return a | L::quiet;
  if (L::is_infinite(a) || L::is_zero(a)) return a;
  Word magnitude = L::magnitude(a);
  if (!L::exponent(a)) {
    while (!(magnitude >> L::mantissa_bits)) magnitude <<= 1;
  }
  return (a & L::sign) | (magnitude & L::mantissa) | Word(L::bias - 1) << L::mantissa_bits;
}

// Half-even whatever direction the host rounds in.
MHCHECK_LANE float nearest_integer(float x) { return __builtin_roundevenf(x); }
MHCHECK_LANE double nearest_integer(double x) { return __builtin_roundeven(x); }

template <class Real>
MHCHECK_LANE Real below_one(Real fraction, Real largest) {
  return fraction < largest ? fraction : largest;
}
template <class Real>
MHCHECK_LANE Real fraction(Real x, Real largest_below_one) {
  if (std::isinf(x)) return std::numeric_limits<Real>::quiet_NaN();
  return x != x ? x : below_one(x - std::floor(x), largest_below_one);
}

// ---- Division steps (gfx950.md, section 3)

struct Division32 {
  using L = Single;
  using Element = S32;
  static constexpr int kFar = 96, kSmall = 23;
  MHCHECK_LANE uint32_t scaled(uint32_t a, int power) {
    return bits(f32(a) * (power > 0 ? 0x1p64f : 0x1p-64f));
  }
  MHCHECK_LANE bool reciprocal_is_denormal(uint32_t a) { return L::exponent(a) >= 253; }
};
struct Division64 {
  using L = Double;
  using Element = S64;
  static constexpr int kFar = 768, kSmall = 53;
  MHCHECK_LANE uint64_t scaled(uint64_t a, int power) {
    return bits(f64(a) * (power > 0 ? 0x1p128 : 0x1p-128));
  }
  MHCHECK_LANE bool reciprocal_is_denormal(uint64_t a) { return L::exponent(a) >= 2045; }
};

template <class D, class Word>
MHCHECK_LANE Word scale_for_division(Word operand, Word denominator, Word numerator, bool& flag) {
  using L = typename D::L;
  flag = false;
  const bool is_denominator = operand == denominator;
  const bool is_numerator = operand == numerator && !is_denominator;
  if (L::is_zero(denominator) || L::is_zero(numerator)) return L::default_nan;
  const int distance = L::exponent(numerator) - L::exponent(denominator);
  if (distance >= D::kFar) {
    flag = true;
    return is_denominator ? D::scaled(operand, 1) : operand;
  }
  if (L::exponent(denominator) == 0) return D::scaled(operand, 1);
  if (D::reciprocal_is_denormal(denominator)) {
    flag = distance <= -D::kFar;
    return flag && is_numerator ? operand : D::scaled(operand, -1);
  }
  if (distance <= -D::kFar) {
    flag = true;
    return is_numerator ? D::scaled(operand, 1) : operand;
  }
  if (L::exponent(numerator) <= D::kSmall) return D::scaled(operand, 1);
  return operand;
}

template <class D>
void division_scale(Wave& wave, const Instruction& instruction) {
  using Element = typename D::Element;
  const uint32_t* a = source<Element>(wave, instruction, 0);
  const uint32_t* b = source<Element>(wave, instruction, 1);
  const uint32_t* c = source<Element>(wave, instruction, 2);
  uint64_t flags = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    bool flag = false;
    Element::store(
        wave.result, lane,
        scale_for_division<D>(Element::load(a, lane), Element::load(b, lane), Element::load(c, lane), flag));
    flags |= static_cast<uint64_t>(flag) << lane;
  }
  flags &= wave.exec();
  write_result<Element>(wave, instruction);
  write_scalar64(wave, instruction.scalar_destination, flags);
}

// fma, then times a power of two where VCC has the lane. One rounding: a result that stays normal scales
// exactly, and one that becomes subnormal is computed in the wider type or rounded to odd first.
MHCHECK_LANE float scaled_fma(float a, float b, float c, float scale) {
  const double exact_product = static_cast<double>(a) * b;
  return static_cast<float>(add_to_odd(exact_product, c) * scale);
}
MHCHECK_LANE double scaled_fma(double a, double b, double c, double scale) {
  const double nearest = std::fma(a, b, c);
  const double result = nearest * scale;
  if (std::fabs(result) >= 0x1p-1022 || scale > 1.0 || nearest == 0 || !std::isfinite(nearest)) return result;
  // A subnormal result: `nearest` is rounded again, to the step that scaling makes the smallest subnormal.
  // That goes wrong only when `nearest` lies halfway between two steps and the exact sum does not.
  constexpr double kStep = 0x1p-946;  // 2^-1074 * 2^128
  const double aligner =
      std::copysign(0x1p-894, nearest);  // 2^52 steps: sums of more have kStep as last place
  const double rounded = (nearest + aligner) - aligner;
  const double rest = nearest - rounded;
  // a b + c = sum + sum_error + product_error exactly.
  const double product = a * b, product_error = std::fma(a, b, -product);
  const double sum = product + c, part = sum - product;
  const double sum_error = (product - (sum - part)) + (c - part);
  const double error = ((sum - nearest) + sum_error) + product_error;
  const bool beyond = std::fabs(rest) == kStep / 2 && error != 0 && (error > 0) == (rest > 0);
  return (beyond ? rounded + std::copysign(kStep, rest) : rounded) * scale;
}

template <class Element, class Real>
void division_fmas(Wave& wave, const Instruction& instruction, Real up, Real down, Real one) {
  const uint32_t* a = source<Element>(wave, instruction, 0);
  const uint32_t* b = source<Element>(wave, instruction, 1);
  const uint32_t* c = source<Element>(wave, instruction, 2);
  const uint64_t vcc = wave.scalar64(scalar_register::kVcc);
  const bool directed = !wave.default_floats;
  if (directed) begin_rounding(wave, Element::type);
  uint32_t any_nan = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const Real x = Element::load(a, lane), y = Element::load(b, lane), z = Element::load(c, lane);
    const bool scale = vcc >> lane & 1;
    // The exponent of S2 tells which way the quotient was scaled.
    const Real factor = !scale ? one : std::fabs(z) >= Real(2) ? up : down;
    // In a directed mode rounding twice in the same direction is rounding once.
    const Real value = !scale     ? std::fma(x, y, z)
                       : directed ? std::fma(x, y, z) * factor
                                  : scaled_fma(x, y, z, factor);
    any_nan |= value != value ? 1u : 0u;
    Element::store(wave.result, lane, value);
  }
  if (directed) end_rounding();
  if (any_nan) settle_nans(wave.result, Element::type, a, b, c);
  write_result<Element>(wave, instruction);
}
void division_fmas32(Wave& wave, const Instruction& instruction) {
  division_fmas<F32, float>(wave, instruction, 0x1p64f, 0x1p-64f, 1.0f);
}
void division_fmas64(Wave& wave, const Instruction& instruction) {
  division_fmas<F64, double>(wave, instruction, 0x1p128, 0x1p-128, 1.0);
}

template <class L, class Word>
MHCHECK_LANE Word fix_quotient(Word quotient, Word denominator, Word numerator) {
  const Word sign = (denominator ^ numerator) & L::sign;
  if (L::is_nan(numerator)) return numerator | L::quiet;
  if (L::is_nan(denominator)) return denominator | L::quiet;
  if (L::is_zero(numerator) && L::is_zero(denominator)) return L::sign | L::default_nan;
  if (L::is_infinite(numerator) && L::is_infinite(denominator)) return L::sign | L::default_nan;
  if (L::is_zero(denominator) || L::is_infinite(numerator)) return sign | L::infinity;
  if (L::is_zero(numerator) || L::is_infinite(denominator)) return sign;
  constexpr int kUnderflow = L::bias + L::mantissa_bits;  // 150 for f32
  if (L::exponent(numerator) - L::exponent(denominator) < -kUnderflow && L::mantissa_bits > 10) return sign;
  if (L::is_nan(quotient)) return sign | L::infinity;
  return sign | L::magnitude(quotient);
}

// ---- ldexp: one rounding, any exponent. Two multiplications by powers of two would round twice when the
// result is subnormal; the wider type absorbs that for f16 and f32, and an exact first step does for f64.
MHCHECK_LANE double power_of_two(int exponent) {
  return f64(static_cast<uint64_t>(exponent + 1023) << 52);  // -1022 <= exponent <= 1023
}
MHCHECK_LANE float scale_by_power(float x, int32_t exponent) {
  const int bounded = exponent < -400 ? -400 : exponent > 400 ? 400 : exponent;
  return static_cast<float>(static_cast<double>(x) * power_of_two(bounded));
}
MHCHECK_LANE float scale_half_by_power(float x, int32_t exponent) {
  const int bounded = exponent < -60 ? -60 : exponent > 60 ? 60 : exponent;
  return x * static_cast<float>(power_of_two(bounded));
}
MHCHECK_LANE double scale_by_power(double x, int32_t exponent) {
  if (x == 0 || !std::isfinite(x)) return x;
  int at = leading_exponent<Double>(bits(x));
  const double significand = f64(significand_of<Double>(bits(x)));
  const int target = exponent > 5000 ? 5000 : exponent < -5000 ? -5000 : exponent;
  at += target;  // x * 2^exponent = significand * 2^at
  if (at > 1024) return significand * 0x1p1023 * 0x1p1023;
  if (at < -1100) return significand * 0x1p-1022 * 0x1p-1022;
  if (at > 1000) return significand * 2.0 * power_of_two(at - 1);
  if (at >= -1021) return significand * power_of_two(at);
  return significand * 0x1p-1021 * power_of_two(at + 1021);
}

MHCHECK_LANE float half_fma(float a, float b, float c) {
  return to_odd_float(add_to_odd(static_cast<double>(a) * b, c));
}

// ---- Cube maps: the face that a direction (x, y, z) points to, and coordinates on it. Of equal magnitudes
// the later axis wins.

enum class Axis : uint8_t { kX, kY, kZ };
MHCHECK_LANE Axis major_axis(float x, float y, float z) {
  if (std::fabs(z) >= std::fabs(x) && std::fabs(z) >= std::fabs(y)) return Axis::kZ;
  return std::fabs(y) >= std::fabs(x) ? Axis::kY : Axis::kX;
}
MHCHECK_LANE float cube_face(float x, float y, float z) {
  const Axis axis = major_axis(x, y, z);
  const float major = axis == Axis::kZ ? z : axis == Axis::kY ? y : x;
  return 2.0f * static_cast<float>(axis) + (major < 0.0f ? 1.0f : 0.0f);
}
MHCHECK_LANE float cube_s(float x, float y, float z) {
  switch (major_axis(x, y, z)) {
    case Axis::kZ:
      return z < 0.0f ? -x : x;
    case Axis::kY:
      return x;
    default:
      return x < 0.0f ? z : -z;
  }
}
MHCHECK_LANE float cube_t(float x, float y, float z) {
  return major_axis(x, y, z) != Axis::kY ? -y : y < 0.0f ? -z : z;
}
MHCHECK_LANE float twice_major_axis(float x, float y, float z) {
  const Axis axis = major_axis(x, y, z);
  return 2.0f * (axis == Axis::kZ ? z : axis == Axis::kY ? y : x);
}

MHCHECK_LANE float legacy_multiply(float a, float b) { return a == 0 || b == 0 ? 0.0f : a * b; }

// ---- Transcendental functions

MHCHECK_LANE float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

uint64_t mixed(uint64_t x) {  // the finaliser of SplitMix64
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

// Moves finite results by one unit in the last place, by a hash that makes runs repeatable.
template <class L, class Element>
void perturb(Wave& wave, const Instruction& instruction, const uint32_t* operand) {
  const uint64_t salt = mixed(wave.options->transcendental_seed + 0x9e3779b97f4a7c15u) ^ instruction.row;
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto value = Element::load(wave.result, lane);
    if (L::exponent(value) == 0 || L::exponent(value) >= L::top_exponent) continue;
    const uint64_t draw = mixed(mixed(salt) ^ Element::load(operand, lane)) % 3;
    const auto moved = draw == 0 ? value - 1 : draw == 1 ? value : value + 1;
    const int exponent = L::exponent(moved);
    if (exponent != 0 && exponent < L::top_exponent) Element::store(wave.result, lane, moved);
  }
}

template <class L, class Element, class Op>
struct Transcendental {
  static void execute(Wave& wave, const Instruction& instruction) {
    const uint32_t* operand = source<Element>(wave, instruction, 0);
    uint32_t kept[2 * kLanes];
    std::memcpy(kept, operand, kLanes * sizeof(uint32_t) * registers_of(Element::type));
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto x = Element::load(kept, lane);
      Element::store(wave.result, lane, L::is_nan(x) ? x | L::quiet : Op{}(x));
    }
    if (wave.options->transcendentals == Transcendentals::kPerturbed)
      perturb<L, Element>(wave, instruction, kept);
    write_result<Element>(wave, instruction);
  }
};
template <class L, class Element, class Op>
constexpr Row transcendental(std::string_view mnemonic, Op) {
  return {mnemonic,
          Transcendental<L, Element, Op>::execute,
          InstructionClass::kValu,
          Element::type,
          {Element::type},
          kNoTraits};
}

// The f32 units neither take nor give denormals; operations that do are built around them by the compiler.
template <class Op>
constexpr Row unit32(std::string_view mnemonic, Op) {
  return transcendental<Single, S32>(mnemonic, [](uint32_t x) {
    const float value = Op{}(flushed(f32(x)));
    return value != value ? Single::default_nan : bits(flushed(value));
  });
}
// f16 results come from f32 ones that are rounded to odd, or are exact to far more bits than f16 has.
template <class Op>
constexpr Row unit16(std::string_view mnemonic, Op) {
  return transcendental<Half, H16>(mnemonic, [](uint32_t x) {
    const double value = Op{}(static_cast<double>(half_to_float(x)));
    return value != value ? uint32_t{Half::default_nan} : float_to_half(to_odd_float(value));
  });
}
template <class Op>
constexpr Row unit64(std::string_view mnemonic, Op) {
  return transcendental<Double, S64>(mnemonic, [](uint64_t x) {
    const double value = Op{}(f64(x));
    return value != value ? Double::default_nan : bits(value);
  });
}

// ---- Unfused f16: the product is rounded before the addend comes in, and denormals are flushed whatever
// MODE says. Not measured on gfx950. The CDNA4 ISA manual gives these instructions' properties as rounding
// mode, exception flags and saturation, without the "denormals" that it has for v_mul_f16 and v_add_f16; LLVM
// uses them only where all f16 denormals are flushed (SITargetLowering::isFMADLegal); and in no mode that
// keeps denormals do compilers emit them.

MHCHECK_LANE float flushed_half(float x) { return std::fabs(x) < 0x1p-14f ? std::copysign(0.0f, x) : x; }
MHCHECK_LANE float half_multiply_add(const Context& context, float a, float b, float c) {
  const Round round{context.mode >> mode_bits::kRoundF16F64 & mode_bits::kRoundMask};
  const auto as_half = [&](float x) {
    if (!std::isfinite(x)) return x;
    return flushed_half(half_to_float(float_to_half(x, round, context.mode & mode_bits::kF16Overflow)));
  };
  return as_half(as_half(flushed_half(a) * flushed_half(b)) + flushed_half(c));
}

// ---- Argument reduction: 53 bits of 2/pi, from which segment and the operand's exponent say.
//
// Where the table ends is not known for gfx950. The CDNA4 ISA manual writes of 1201 bits; a capture from
// gfx1201 that others published shows 1184, and zeros behind them; LLVM, folding the instruction, gives 0 for
// a segment that reaches beyond what it has. This table has 1216 bits, and what would reach beyond them is 0:
// results agree while a segment ends within bit 1184, which all do that a reduction with the first three
// segments asks for.

constexpr uint32_t kTwoOverPi[] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
    0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
    0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
    0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
    0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab};
MHCHECK_LANE uint64_t trig_preop(uint64_t a, uint32_t segment) {
  if (Double::is_nan(a)) return a | Double::quiet;
  const int exponent = Double::exponent(a);
  const int shift = static_cast<int>(segment & 31) * 53 + std::max(0, exponent - 1077);
  const size_t first = static_cast<size_t>(shift) / 32;
  if (first + 2 >= std::size(kTwoOverPi)) return 0;
  const int within = shift % 32;
  const uint64_t high = static_cast<uint64_t>(kTwoOverPi[first]) << 32 | kTwoOverPi[first + 1];
  const uint64_t window = high << within | static_cast<uint64_t>(kTwoOverPi[first + 2]) << within >> 32;
  const int scale = -53 - shift + (exponent >= 1968 ? 128 : 0);
  return bits(std::ldexp(static_cast<double>(window >> 11), scale));
}

constexpr double kLargestHalfBelowOne = 0x1.ffcp-1;

constexpr auto half_mad = [](const Context& k, float a, float b, float c) {
  return half_multiply_add(k, a, b, c);
};

constexpr Row kRows[] = {
    // f32
    rounded<F32(F32, F32)>("v_add_f32", [](float a, float b) { return a + b; }),
    rounded<F32(F32, F32)>("v_sub_f32", [](float a, float b) { return a - b; }),
    rounded<F32(F32, F32)>("v_subrev_f32", [](float a, float b) { return b - a; }),
    rounded<F32(F32, F32)>("v_mul_f32", [](float a, float b) { return a * b; }),
    rounded<F32(F32, F32)>("v_mul_legacy_f32", [](float a, float b) { return legacy_multiply(a, b); }),
    rounded<F32(F32, F32, F32)>("v_fma_f32", [](float a, float b, float c) { return std::fma(a, b, c); }),
    rounded<F32(F32, F32, F32)>(
        "v_fmac_f32", [](float a, float b, float c) { return std::fma(a, b, c); }, kReadsDestination),
    rounded<F32(F32, F32, F32)>(
        "v_fmamk_f32", [](float a, float b, float c) { return std::fma(a, b, c); }, kLiteralIsSource1),
    rounded<F32(F32, F32, F32)>(
        "v_fmaak_f32", [](float a, float b, float c) { return std::fma(a, b, c); }, kLiteralIsSource2),
    exact<S32(S32, S32)>("v_min_f32", [](const Context& k, uint32_t a,
                                         uint32_t b) { return extreme<Single, false>(k.ieee(), a, b); }),
    exact<S32(S32, S32)>("v_max_f32", [](const Context& k, uint32_t a,
                                         uint32_t b) { return extreme<Single, true>(k.ieee(), a, b); }),
    exact<S32(S32, S32, S32)>("v_min3_f32",
                              [](const Context& k, uint32_t a, uint32_t b, uint32_t c) {
                                return extreme3<Single, false>(k.ieee(), a, b, c);
                              }),
    exact<S32(S32, S32, S32)>("v_max3_f32",
                              [](const Context& k, uint32_t a, uint32_t b, uint32_t c) {
                                return extreme3<Single, true>(k.ieee(), a, b, c);
                              }),
    exact<S32(S32, S32, S32)>("v_med3_f32", [](const Context& k, uint32_t a, uint32_t b,
                                               uint32_t c) { return median<Single>(k.ieee(), a, b, c); }),
    exact<S32(S32, S32, S32)>(
        "v_minimum3_f32",
        [](uint32_t a, uint32_t b, uint32_t c) { return propagating3<Single, false>(a, b, c); }),
    exact<S32(S32, S32, S32)>(
        "v_maximum3_f32",
        [](uint32_t a, uint32_t b, uint32_t c) { return propagating3<Single, true>(a, b, c); }),
    rounded<F32(F32)>("v_floor_f32", [](float a) { return std::floor(a); }),
    rounded<F32(F32)>("v_ceil_f32", [](float a) { return std::ceil(a); }),
    rounded<F32(F32)>("v_trunc_f32", [](float a) { return std::trunc(a); }),
    rounded<F32(F32)>("v_rndne_f32", [](float a) { return nearest_integer(a); }),
    rounded<F32(F32)>("v_fract_f32", [](float a) { return fraction(a, 0x1.fffffep-1f); }),
    rounded<F32(F32, I32)>("v_ldexp_f32", [](float a, int32_t b) { return scale_by_power(a, b); }),
    exact<F32(F32, F32, F32)>("v_cubeid_f32", [](float x, float y, float z) { return cube_face(x, y, z); }),
    exact<F32(F32, F32, F32)>("v_cubesc_f32", [](float x, float y, float z) { return cube_s(x, y, z); }),
    exact<F32(F32, F32, F32)>("v_cubetc_f32", [](float x, float y, float z) { return cube_t(x, y, z); }),
    rounded<F32(F32, F32, F32)>("v_cubema_f32",
                                [](float x, float y, float z) { return twice_major_axis(x, y, z); }),
    exact<I32(S32)>("v_frexp_exp_i32_f32", [](uint32_t a) { return exponent_of<Single>(a); }),
    exact<S32(S32)>("v_frexp_mant_f32", [](uint32_t a) { return significand_of<Single>(a); }),
    {"v_div_scale_f32",
     division_scale<Division32>,
     InstructionClass::kValu,
     Type::kF32,
     {Type::kF32, Type::kF32, Type::kF32},
     kMaskResult},
    {"v_div_fmas_f32",
     division_fmas32,
     InstructionClass::kValu,
     Type::kF32,
     {Type::kF32, Type::kF32, Type::kF32},
     kNoTraits},
    exact<S32(S32, S32, S32)>(
        "v_div_fixup_f32", [](uint32_t a, uint32_t b, uint32_t c) { return fix_quotient<Single>(a, b, c); }),
    unit32("v_rcp_f32", [](float x) { return 1.0f / x; }),
    unit32("v_rcp_iflag_f32", [](float x) { return 1.0f / x; }),
    unit32("v_rsq_f32", [](float x) { return correct_rsqrt(x); }),
    unit32("v_sqrt_f32", [](float x) { return std::sqrt(x); }),
    unit32("v_exp_f32", [](float x) { return correct_exp2(x); }),
    unit32("v_log_f32", [](float x) { return correct_log2(x); }),
    unit32("v_exp_legacy_f32", [](float x) { return correct_exp2(x); }),
    unit32("v_log_legacy_f32", [](float x) { return correct_log2(x); }),
    unit32("v_sin_f32", [](float x) { return std::isinf(x) ? NAN : correct_sine(x); }),
    unit32("v_cos_f32", [](float x) { return std::isinf(x) ? NAN : correct_cosine(x); }),

    // f64
    rounded<F64(F64, F64)>("v_add_f64", [](double a, double b) { return a + b; }),
    rounded<F64(F64, F64)>("v_mul_f64", [](double a, double b) { return a * b; }),
    rounded<F64(F64, F64, F64)>("v_fma_f64", [](double a, double b, double c) { return std::fma(a, b, c); }),
    rounded<F64(F64, F64, F64)>(
        "v_fmac_f64", [](double a, double b, double c) { return std::fma(a, b, c); }, kReadsDestination),
    exact<S64(S64, S64)>("v_min_f64", [](const Context& k, uint64_t a,
                                         uint64_t b) { return extreme<Double, false>(k.ieee(), a, b); }),
    exact<S64(S64, S64)>("v_max_f64", [](const Context& k, uint64_t a,
                                         uint64_t b) { return extreme<Double, true>(k.ieee(), a, b); }),
    rounded<F64(F64)>("v_floor_f64", [](double a) { return std::floor(a); }),
    rounded<F64(F64)>("v_ceil_f64", [](double a) { return std::ceil(a); }),
    rounded<F64(F64)>("v_trunc_f64", [](double a) { return std::trunc(a); }),
    rounded<F64(F64)>("v_rndne_f64", [](double a) { return nearest_integer(a); }),
    rounded<F64(F64)>("v_fract_f64", [](double a) { return fraction(a, 0x1.fffffffffffffp-1); }),
    rounded<F64(F64, I32)>("v_ldexp_f64", [](double a, int32_t b) { return scale_by_power(a, b); }),
    exact<I32(S64)>("v_frexp_exp_i32_f64", [](uint64_t a) { return exponent_of<Double>(a); }),
    exact<S64(S64)>("v_frexp_mant_f64", [](uint64_t a) { return significand_of<Double>(a); }),
    {"v_div_scale_f64",
     division_scale<Division64>,
     InstructionClass::kValu,
     Type::kF64,
     {Type::kF64, Type::kF64, Type::kF64},
     kMaskResult},
    {"v_div_fmas_f64",
     division_fmas64,
     InstructionClass::kValu,
     Type::kF64,
     {Type::kF64, Type::kF64, Type::kF64},
     kNoTraits},
    exact<S64(S64, S64, S64)>(
        "v_div_fixup_f64", [](uint64_t a, uint64_t b, uint64_t c) { return fix_quotient<Double>(a, b, c); }),
    unit64("v_rcp_f64", [](double x) { return 1.0 / x; }),
    unit64("v_rsq_f64",
           [](double x) { return static_cast<double>(1.0L / std::sqrt(static_cast<long double>(x))); }),
    unit64("v_sqrt_f64", [](double x) { return std::sqrt(x); }),

    // f16
    rounded<F16(F16, F16)>("v_add_f16", [](float a, float b) { return a + b; }),
    rounded<F16(F16, F16)>("v_sub_f16", [](float a, float b) { return a - b; }),
    rounded<F16(F16, F16)>("v_subrev_f16", [](float a, float b) { return b - a; }),
    rounded<F16(F16, F16)>("v_mul_f16", [](float a, float b) { return a * b; }),
    rounded<F16(F16, F16, F16)>("v_fma_f16", [](float a, float b, float c) { return half_fma(a, b, c); }),
    rounded<F16(F16, F16, F16)>("v_fma_legacy_f16",
                                [](float a, float b, float c) { return half_fma(a, b, c); }),
    rounded<F16(F16, F16, F16)>("v_mad_f16", half_mad),
    rounded<F16(F16, F16, F16)>("v_mad_legacy_f16", half_mad),
    rounded<F16(F16, F16, F16)>("v_mac_f16", half_mad, kReadsDestination),
    rounded<F16(F16, F16, F16)>("v_madmk_f16", half_mad, kLiteralIsSource1),
    rounded<F16(F16, F16, F16)>("v_madak_f16", half_mad, kLiteralIsSource2),
    exact<S64(S64, U32)>("v_trig_preop_f64",
                         [](const Context&, uint64_t a, uint32_t segment) { return trig_preop(a, segment); }),
    exact<H16(H16, H16)>("v_min_f16", [](const Context& k, uint32_t a,
                                         uint32_t b) { return extreme<Half, false>(k.ieee(), a, b); }),
    exact<H16(H16, H16)>("v_max_f16", [](const Context& k, uint32_t a,
                                         uint32_t b) { return extreme<Half, true>(k.ieee(), a, b); }),
    exact<H16(H16, H16, H16)>("v_min3_f16",
                              [](const Context& k, uint32_t a, uint32_t b, uint32_t c) {
                                return extreme3<Half, false>(k.ieee(), a, b, c);
                              }),
    exact<H16(H16, H16, H16)>("v_max3_f16",
                              [](const Context& k, uint32_t a, uint32_t b, uint32_t c) {
                                return extreme3<Half, true>(k.ieee(), a, b, c);
                              }),
    exact<H16(H16, H16, H16)>("v_med3_f16", [](const Context& k, uint32_t a, uint32_t b,
                                               uint32_t c) { return median<Half>(k.ieee(), a, b, c); }),
    rounded<F16(F16)>("v_floor_f16", [](float a) { return std::floor(a); }),
    rounded<F16(F16)>("v_ceil_f16", [](float a) { return std::ceil(a); }),
    rounded<F16(F16)>("v_trunc_f16", [](float a) { return std::trunc(a); }),
    rounded<F16(F16)>("v_rndne_f16", [](float a) { return nearest_integer(a); }),
    rounded<F16(F16)>("v_fract_f16",
                      [](float a) { return fraction(a, static_cast<float>(kLargestHalfBelowOne)); }),
    rounded<F16(F16, I16)>("v_ldexp_f16", [](float a, int32_t b) { return scale_half_by_power(a, b); }),
    exact<I16(H16)>("v_frexp_exp_i16_f16", [](uint32_t a) { return exponent_of<Half>(a); }),
    exact<H16(H16)>("v_frexp_mant_f16", [](uint32_t a) { return significand_of<Half>(a); }),
    exact<H16(H16, H16, H16)>("v_div_fixup_f16",
                              [](uint32_t a, uint32_t b, uint32_t c) { return fix_quotient<Half>(a, b, c); }),
    exact<H16(H16, H16, H16)>("v_div_fixup_legacy_f16",
                              [](uint32_t a, uint32_t b, uint32_t c) { return fix_quotient<Half>(a, b, c); }),
    unit16("v_rcp_f16", [](double x) { return 1.0 / x; }),
    unit16("v_rsq_f16", [](double x) { return 1.0 / std::sqrt(x); }),
    unit16("v_sqrt_f16", [](double x) { return std::sqrt(x); }),
    unit16("v_exp_f16", [](double x) { return std::exp2(x); }),
    unit16("v_log_f16", [](double x) { return std::log2(x); }),
    unit16("v_sin_f16", [](double x) { return std::isinf(x) ? NAN : sine_of_turns(x, 0); }),
    unit16("v_cos_f16", [](double x) { return std::isinf(x) ? NAN : sine_of_turns(x, 1); }),
};

}  // namespace

std::span<const Row> float_rows() { return kRows; }

}  // namespace mhcheck::simulator::MHCHECK_ISA

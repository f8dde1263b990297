#pragma once

#include <cmath>

#include "kernels/simulator/handlers/formats.h"
#include "kernels/simulator/memory_access.h"

// The formats of elements in typed buffers: up to four components, each a number of 2 to 32 bits (CDNA4 ISA
// manual, table 41). The manual has no table of what conversions do at their edges; where a comment below
// says so, the rule is that of AMD's other manuals or of Direct3D, which this part of the hardware was made
// for.
namespace mhcheck::simulator::MHCHECK_ISA {

enum class NumberFormat : uint8_t { kUnorm, kSnorm, kUscaled, kSscaled, kUint, kSint, kReserved, kFloat };

/// Floats of 11 and 10 bits have no sign; these have one, which stays clear.
struct Float11 {
  static constexpr int kBits = 12, kMantissaBits = 6, kBias = 15;
  static constexpr uint32_t kMaxFinite = 0x7bf, kNan = 0x7ff;
  static constexpr bool kHasInfinity = true, kHasNan = true;
};
struct Float10 {
  static constexpr int kBits = 11, kMantissaBits = 5, kBias = 15;
  static constexpr uint32_t kMaxFinite = 0x3df, kNan = 0x3ff;
  static constexpr bool kHasInfinity = true, kHasNan = true;
};

struct DataFormat {
  static constexpr int kComponents = 4;
  uint8_t width[kComponents];  // in bits, from the lowest bit upwards; 0: no such component
  MHCHECK_LANE int offset(const DataFormat& format, int component) {
    int bits = 0;
    for (int i = 0; i < component; ++i) bits += format.width[i];
    return bits;
  }
  MHCHECK_LANE uint32_t bytes(const DataFormat& format) {
    return static_cast<uint32_t>(offset(format, kComponents)) / 8;
  }
};

/// By the encoding. Names list components from the highest bits down: 2_10_10_10 has X in bits 9:0.
constexpr DataFormat kDataFormats[16] = {
    {{0, 0, 0, 0}},      // invalid: an unbound buffer
    {{8, 0, 0, 0}},      // 8
    {{16, 0, 0, 0}},     // 16
    {{8, 8, 0, 0}},      // 8_8
    {{32, 0, 0, 0}},     // 32
    {{16, 16, 0, 0}},    // 16_16
    {{11, 11, 10, 0}},   // 10_11_11
    {{10, 11, 11, 0}},   // 11_11_10
    {{2, 10, 10, 10}},   // 10_10_10_2
    {{10, 10, 10, 2}},   // 2_10_10_10
    {{8, 8, 8, 8}},      // 8_8_8_8
    {{32, 32, 0, 0}},    // 32_32
    {{16, 16, 16, 16}},  // 16_16_16_16
    {{32, 32, 32, 0}},   // 32_32_32
    {{32, 32, 32, 32}},  // 32_32_32_32
    {{0, 0, 0, 0}},      // reserved
};

MHCHECK_LANE uint32_t low_bits(int width) { return ~0u >> (32 - width); }
MHCHECK_LANE int32_t sign_extended(uint32_t raw, int width) {
  return static_cast<int32_t>(raw << (32 - width)) >> (32 - width);
}
MHCHECK_LANE bool is_integer(NumberFormat format) {
  return format == NumberFormat::kUint || format == NumberFormat::kSint;
}

/// A component as a number. 32 bits are not converted, whatever the format says.
MHCHECK_LANE double component_value(uint32_t raw, int width, NumberFormat format) {
  const auto whole = static_cast<double>(low_bits(width)), half = static_cast<double>(low_bits(width) >> 1);
  switch (format) {
    case NumberFormat::kUnorm:
      return raw / whole;
    case NumberFormat::kSnorm:  // the lowest code means -1, as the next one does
      return std::fmax(sign_extended(raw, width) / half, -1.0);
    case NumberFormat::kUscaled:
      return raw;
    case NumberFormat::kSscaled:
      return sign_extended(raw, width);
    default:
      return width == 16   ? half_to_float(raw)
             : width == 11 ? small_to_float<Float11>(raw)
                           : small_to_float<Float10>(raw);
  }
}
/// What a load puts into a register for it.
MHCHECK_LANE uint32_t load_component(uint32_t raw, int width, NumberFormat format) {
  if (width == 32) return raw;
  if (format == NumberFormat::kUint) return raw;
  if (format == NumberFormat::kSint) return static_cast<uint32_t>(sign_extended(raw, width));
  return bits(static_cast<float>(component_value(raw, width, format)));
}
/// The same for a 16-bit half. f32 loses its low bits, everything else is rounded to nearest (AMD's RDNA3 ISA
/// manual, 9.3.1); integers keep their low 16 bits.
MHCHECK_LANE uint32_t load_component_half(uint32_t raw, int width, NumberFormat format) {
  if (is_integer(format)) return load_component(raw, width, format) & 0xffffu;
  if (width == 32) return float_to_half(f32(raw), Round::kZero, false);
  if (width == 16 && format == NumberFormat::kFloat) return raw;
  return float_to_half(to_odd_float(component_value(raw, width, format)));
}

/// Clamps to [low, high], NaN to zero, and rounds to the nearest integer, as Direct3D has it.
MHCHECK_LANE uint32_t nearest_code(double x, double low, double high, int width) {
  const double bounded = x != x ? 0.0 : std::fmin(std::fmax(x, low), high);
  return static_cast<uint32_t>(static_cast<int64_t>(__builtin_roundeven(bounded))) & low_bits(width);
}
/// The component that stores a float.
MHCHECK_LANE uint32_t store_float(float x, int width, NumberFormat format) {
  const auto whole = static_cast<double>(low_bits(width)), half = static_cast<double>(low_bits(width) >> 1);
  switch (format) {
    case NumberFormat::kUnorm:
      return nearest_code(x * whole, 0, whole, width);
    case NumberFormat::kSnorm:
      return nearest_code(x * half, -half, half, width);
    case NumberFormat::kUscaled:
      return nearest_code(x, 0, whole, width);
    case NumberFormat::kSscaled:
      return nearest_code(x, -half - 1, half, width);
    default:
      if (width == 16) return float_to_half(x);
      // No sign: what is below zero becomes zero.
      if (x < 0 || x == 0) return 0;
      return width == 11 ? float_to_small<Float11, false>(std::fabs(x), 0, false)
                         : float_to_small<Float10, false>(std::fabs(x), 0, false);
  }
}
/// The component that stores an integer, which is clamped to the component's range as in Direct3D.
MHCHECK_LANE uint32_t store_integer(uint32_t x, int width, NumberFormat format) {
  if (format == NumberFormat::kUint) return x > low_bits(width) ? low_bits(width) : x;
  const auto highest = static_cast<int32_t>(low_bits(width) >> 1), value = static_cast<int32_t>(x);
  const int32_t bounded = value > highest ? highest : value < -highest - 1 ? -highest - 1 : value;
  return static_cast<uint32_t>(bounded) & low_bits(width);
}
MHCHECK_LANE uint32_t store_component(uint32_t x, int width, NumberFormat format) {
  if (width == 32) return x;
  return is_integer(format) ? store_integer(x, width, format) : store_float(f32(x), width, format);
}
/// The same from a 16-bit half: a float, or an integer of the format's signedness.
MHCHECK_LANE uint32_t store_component_half(uint32_t x, int width, NumberFormat format) {
  if (format == NumberFormat::kUint) return store_component(x, width, format);
  if (format == NumberFormat::kSint)
    return store_component(static_cast<uint32_t>(sign_extended(x, 16)), width, format);
  return store_component(bits(half_to_float(x)), width, format);
}

}  // namespace mhcheck::simulator::MHCHECK_ISA

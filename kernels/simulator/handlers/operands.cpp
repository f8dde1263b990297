#include <cfenv>

#include "kernels/simulator/handlers/lanes.h"

namespace mhcheck::simulator::MHCHECK_ISA {

int dpp_source_lane(unsigned control, int lane) {
  const int row = lane & ~15, in_row = lane & 15;
  const int amount = static_cast<int>(control & 15);
  if (control <= 0xff) return (lane & ~3) | static_cast<int>(control >> (2 * (lane & 3)) & 3);
  switch (control & 0x1f0) {
    case 0x100:
      return in_row + amount < 16 ? lane + amount : kInvalidLane;  // row_shl
    case 0x110:
      return in_row - amount >= 0 ? lane - amount : kInvalidLane;  // row_shr
    case 0x120:
      return row | ((in_row - amount) & 15);  // row_ror
    case 0x150:
      return row | amount;  // row_newbcast
    default:
      break;
  }
  switch (control) {
    case 0x130:
      return lane < 63 ? lane + 1 : kInvalidLane;  // wave_shl:1
    case 0x134:
      return (lane + 1) & 63;  // wave_rol:1
    case 0x138:
      return lane > 0 ? lane - 1 : kInvalidLane;  // wave_shr:1
    case 0x13c:
      return (lane - 1) & 63;  // wave_ror:1
    case 0x140:
      return row | (15 - in_row);  // row_mirror
    case 0x141:
      return (lane & ~7) | (7 - (lane & 7));  // row_half_mirror
    case 0x142:
      return lane >= 16 ? row - 1 : kInvalidLane;  // row_bcast:15
    case 0x143:
      return lane >= 32 ? 31 : kInvalidLane;  // row_bcast:31
    default:
      return kInvalidLane;
  }
}

namespace {

struct Dpp {
  explicit Dpp(uint32_t word)
      : control(word >> 8 & 0x1ff),
        zero_invalid(word >> 19 & 1),
        bank_mask(word >> 24 & 15),
        row_mask(word >> 28 & 15) {}
  unsigned control;
  bool zero_invalid;  // bound_ctrl:1 in the text: an invalid source reads 0; else the lane is not written
  unsigned bank_mask, row_mask;

  // A source lane that EXEC disables counts as invalid on gfx9.
  bool source_valid(const Wave& wave, int lane) const {
    const int from = dpp_source_lane(control, lane);
    return from != kInvalidLane && wave.lane_mask[from];
  }
  bool writes(const Wave& wave, int lane) const {
    return wave.lane_mask[lane] && row_mask >> (lane >> 4) & 1 && bank_mask >> (lane >> 2 & 3) & 1 &&
           (zero_invalid || source_valid(wave, lane));
  }
};

void gather_dpp(const Wave& wave, const Dpp& dpp, const uint32_t* from, uint32_t* to) {
  for (int lane = 0; lane < kLanes; ++lane) {
    to[lane] = dpp.source_valid(wave, lane) ? from[dpp_source_lane(dpp.control, lane)] : 0;
  }
}

// ---- SDWA

uint32_t select_sub_dword(uint32_t value, unsigned select, bool sign) {
  if (select < 4) {
    const uint32_t byte = value >> (8 * select) & 0xff;
    return sign ? static_cast<uint32_t>(static_cast<int8_t>(byte)) : byte;
  }
  if (select < 6) {
    const uint32_t word = value >> (16 * (select - 4)) & 0xffff;
    return sign ? static_cast<uint32_t>(static_cast<int16_t>(word)) : word;
  }
  return value;
}

uint32_t place_sub_dword(uint32_t value, uint32_t old, unsigned select, unsigned unused) {
  if (select > 5) return value;
  const unsigned width = select < 4 ? 8 : 16;
  const unsigned shift = select < 4 ? 8 * select : 16 * (select - 4);
  const uint32_t field = width == 8 ? 0xffu : 0xffffu;
  const uint32_t placed = (value & field) << shift;
  constexpr unsigned kSignExtend = 1, kPreserve = 2;
  if (unused == kPreserve) return (old & ~(field << shift)) | placed;
  if (unused == kSignExtend && (value >> (width - 1) & 1) && shift + width < 32)
    return placed | ~0u << (shift + width);
  return placed;
}

// ---- Modifiers, in place, on one or two registers

uint32_t with_sign(uint32_t value, uint8_t modifiers, uint32_t sign_bit) {
  if (modifiers & kAbs) value &= ~sign_bit;
  if (modifiers & kNeg) value ^= sign_bit;
  return value;
}

void modify_packed_halves(uint32_t* lanes, uint8_t modifiers, bool has_signs) {
  for (int lane = 0; lane < kLanes; ++lane) {
    uint32_t low = modifiers & kSelect ? lanes[lane] >> 16 : lanes[lane] & 0xffff;
    uint32_t high = modifiers & kSelectHigh ? lanes[lane] >> 16 : lanes[lane] & 0xffff;
    if (has_signs && modifiers & kAbs) low &= 0x7fff, high &= 0x7fff;
    if (has_signs && modifiers & kNeg) low ^= 0x8000;
    if (has_signs && modifiers & kNegHigh) high ^= 0x8000;
    lanes[lane] = low | high << 16;
  }
}

void modify_packed_floats(uint32_t* lanes, uint8_t modifiers) {
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint32_t pair[2] = {lanes[lane], lanes[lane + kLanes]};
    uint32_t low = pair[modifiers & kSelect ? 1 : 0];
    uint32_t high = pair[modifiers & kSelectHigh ? 1 : 0];
    if (modifiers & kNeg) low ^= 0x80000000u;
    if (modifiers & kNegHigh) high ^= 0x80000000u;
    lanes[lane] = low;
    lanes[lane + kLanes] = high;
  }
}

void modify(uint32_t* lanes, Type type, uint8_t modifiers) {
  switch (type) {
    case Type::kPkF32:
      modify_packed_floats(lanes, modifiers);
      return;
    case Type::kPkF16:
    case Type::kPkBf16:
      modify_packed_halves(lanes, modifiers, true);
      return;
    case Type::kPkB16:
      modify_packed_halves(lanes, modifiers, false);
      return;
    case Type::kB16:
    case Type::kU16:
    case Type::kI16:
    case Type::kF16:
    case Type::kBf16:
      for (int lane = 0; lane < kLanes; ++lane) {
        const uint32_t half = modifiers & kSelect ? lanes[lane] >> 16 : lanes[lane] & 0xffff;
        lanes[lane] = with_sign(half, modifiers, 0x8000);
      }
      return;
    case Type::kMixF16:
      for (int lane = 0; lane < kLanes; ++lane) {
        uint32_t value = lanes[lane];
        if (modifiers & kSelectHigh)
          value = bits(half_to_float(modifiers & kSelect ? value >> 16 : value & 0xffff));
        if (modifiers & kNegHigh) value &= 0x7fffffffu;  // neg_hi stands for abs here
        if (modifiers & kNeg) value ^= 0x80000000u;
        lanes[lane] = value;
      }
      return;
    default: {
      uint32_t* signs = registers_of(type) == 2 ? lanes + kLanes : lanes;
      for (int lane = 0; lane < kLanes; ++lane) signs[lane] = with_sign(signs[lane], modifiers, 0x80000000u);
    }
  }
}

// ---- Denormals

uint32_t flush_half(uint32_t value) { return (value & 0x7c00) == 0 ? value & 0x8000 : value; }
uint32_t flush_float(uint32_t value) { return (value & 0x7f800000u) == 0 ? value & 0x80000000u : value; }

unsigned denormal_mode(const Wave& wave, Type type) {
  const bool single = type == Type::kF32 || type == Type::kPkF32 || type == Type::kMixF16;
  return wave.mode >> (single ? mode_bits::kDenormF32 : mode_bits::kDenormF16F64) & mode_bits::kDenormMask;
}
bool keeps_input_denormals(const Wave& wave, Type type) { return denormal_mode(wave, type) & 1; }
bool keeps_output_denormals(const Wave& wave, Type type) { return denormal_mode(wave, type) & 2; }

void flush_denormals(uint32_t* lanes, Type type) {
  for (int lane = 0; lane < kLanes; ++lane) {
    uint32_t& low = lanes[lane];
    switch (type) {
      case Type::kF16:
        low = flush_half(low & 0xffff);
        break;
      case Type::kPkF16:
        low = flush_half(low & 0xffff) | flush_half(low >> 16) << 16;
        break;
      case Type::kF64: {
        uint32_t& high = lanes[lane + kLanes];
        if ((high & 0x7ff00000u) == 0) {
          high &= 0x80000000u;
          low = 0;
        }
        break;
      }
      case Type::kPkF32:
        lanes[lane + kLanes] = flush_float(lanes[lane + kLanes]);
        [[fallthrough]];
      default:
        low = flush_float(low);
        break;
    }
  }
}

// ---- Output modifiers on floats

float scaled(float value, uint8_t scale) {
  return scale == 1 ? value * 2.0f : scale == 2 ? value * 4.0f : value * 0.5f;
}
double scaled(double value, uint8_t scale) {
  return scale == 1 ? value * 2.0 : scale == 2 ? value * 4.0 : value * 0.5;
}

template <class Real>
Real clamped(Real value, bool nan_to_zero) {
  if (value != value) return nan_to_zero ? Real(0) : value;
  return value <= Real(0) ? Real(0) : value > Real(1) ? Real(1) : value;
}

uint32_t clamped_half(uint32_t half, bool nan_to_zero) {
  return float_to_half(clamped(half_to_float(half), nan_to_zero));
}

void modify_result(Wave& wave, const Instruction& instruction, Type type) {
  uint32_t* lanes = wave.result;
  // Hardware ignores the scale where it could not honour it.
  const bool scale =
      instruction.output_scale && !(wave.mode & mode_bits::kIeee) && !keeps_output_denormals(wave, type);
  const bool nan_to_zero = wave.mode & mode_bits::kDx10Clamp;
  for (int lane = 0; lane < kLanes; ++lane) {
    switch (type) {
      case Type::kF32: {
        float value = f32(lanes[lane]);
        if (scale) value = scaled(value, instruction.output_scale);
        if (instruction.clamp) value = clamped(value, nan_to_zero);
        lanes[lane] = bits(value);
        break;
      }
      case Type::kF64: {
        double value = F64::load(lanes, lane);
        if (scale) value = scaled(value, instruction.output_scale);
        if (instruction.clamp) value = clamped(value, nan_to_zero);
        F64::store(lanes, lane, value);
        break;
      }
      case Type::kF16: {
        float value = half_to_float(lanes[lane]);
        if (scale) value = scaled(value, instruction.output_scale);
        if (instruction.clamp) value = clamped(value, nan_to_zero);
        lanes[lane] = float_to_half(value);
        break;
      }
      case Type::kPkF32:
        for (int at : {lane, lane + kLanes}) lanes[at] = bits(clamped(f32(lanes[at]), nan_to_zero));
        break;
      case Type::kPkF16:
        lanes[lane] = clamped_half(lanes[lane] & 0xffff, nan_to_zero) |
                      clamped_half(lanes[lane] >> 16, nan_to_zero) << 16;
        break;
      default:
        return;  // integers saturate in the operation itself
    }
  }
}

int host_rounding(uint32_t mode) {
  switch (Round{mode}) {
    case Round::kUp:
      return FE_UPWARD;
    case Round::kDown:
      return FE_DOWNWARD;
    case Round::kZero:
      return FE_TOWARDZERO;
    default:
      return FE_TONEAREST;
  }
}

template <class Element>
void settle(uint32_t* result, const uint32_t* a, const uint32_t* b, const uint32_t* c,
            typename Element::Lane quiet_bit, typename Element::Lane infinity,
            typename Element::Lane default_nan) {
  const typename Element::Lane magnitude = (quiet_bit - 1) | quiet_bit | infinity;
  const auto is_nan = [&](typename Element::Lane value) { return (value & magnitude) > infinity; };
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!is_nan(Element::load(result, lane))) continue;
    typename Element::Lane chosen = default_nan;
    for (const uint32_t* operand : {c, b, a}) {
      if (operand && is_nan(Element::load(operand, lane))) chosen = Element::load(operand, lane) | quiet_bit;
    }
    Element::store(result, lane, chosen);
  }
}

}  // namespace

const uint32_t* prepare_source(Wave& wave, const Instruction& instruction, int k, Type type) {
  const Source& from = instruction.source[k];
  const int registers = type == Type::kMask ? 1 : registers_of(type);
  const bool flush = is_float(type) && !wave.default_floats && !keeps_input_denormals(wave, type);
  if (from.kind == SourceKind::kVector && !flush) return vector_register(wave, from.index);

  uint32_t* lanes = wave.operand[k];
  if (from.kind == SourceKind::kVector || from.kind == SourceKind::kVectorModified) {
    const uint32_t* registers_from = vector_register(wave, from.index);
    const bool dpp = instruction.sub_dword == SubDword::kDpp && k == 0;
    for (int r = 0; r < registers; ++r) {
      if (dpp) {
        gather_dpp(wave, Dpp(instruction.modifier_word), registers_from + r * kLanes, lanes + r * kLanes);
      } else {
        std::memcpy(lanes + r * kLanes, registers_from + r * kLanes, kLanes * sizeof(uint32_t));
      }
    }
  } else {
    const uint64_t value = scalar_operand(wave, from, registers_of(type) == 2);
    if (type == Type::kMask) {
      for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = value >> lane & 1 ? ~0u : 0u;
      return lanes;
    }
    // Nothing says what the upper dword of an inline constant is for a packed pair of f32; compilers avoid
    // it.
    const bool no_high =
        type == Type::kPkF32 && from.kind != SourceKind::kScalar && from.kind != SourceKind::kScalarModified;
    for (int lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = static_cast<uint32_t>(value);
      if (registers == 2) lanes[lane + kLanes] = no_high ? kPoison : static_cast<uint32_t>(value >> 32);
    }
  }
  if (instruction.sub_dword == SubDword::kSdwa && k < 2) {
    const uint32_t word = instruction.modifier_word;
    const unsigned select = word >> (k == 0 ? 16 : 24) & 7;
    const bool sign = word >> (k == 0 ? 19 : 27) & 1;
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = select_sub_dword(lanes[lane], select, sign);
  }
  const bool modified = from.kind == SourceKind::kVectorModified ||
                        from.kind == SourceKind::kScalarModified ||
                        from.kind == SourceKind::kConstantModified || type == Type::kMixF16;
  if (modified) modify(lanes, type, from.modifiers);
  if (flush) flush_denormals(lanes, type);
  return lanes;
}

void write_modified_result(Wave& wave, const Instruction& instruction, Type type) {
  uint32_t* lanes = wave.result;
  if (is_float(type)) {
    if (instruction.clamp || instruction.output_scale) modify_result(wave, instruction, type);
    if (!wave.default_floats && !keeps_output_denormals(wave, type)) flush_denormals(lanes, type);
  }
  uint32_t* target = vector_register(wave, instruction.destination);
  const Dpp dpp(instruction.modifier_word);
  for (int r = 0; r < registers_of(type); ++r, lanes += kLanes, target += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      if (!wave.lane_mask[lane]) continue;
      uint32_t value = lanes[lane];
      if (instruction.sub_dword == SubDword::kDpp && !dpp.writes(wave, lane)) continue;
      if (instruction.sub_dword == SubDword::kSdwa) {
        const uint32_t word = instruction.modifier_word;
        value = place_sub_dword(value, target[lane], word >> 8 & 7, word >> 11 & 3);
      }
      if (instruction.high_half) value = (target[lane] & 0xffff) | value << 16;
      target[lane] = value;
    }
  }
}

void settle_nans(uint32_t* result, Type type, const uint32_t* a, const uint32_t* b, const uint32_t* c) {
  switch (type) {
    case Type::kF16:
      settle<B16>(result, a, b, c, 0x200, 0x7c00, 0x7e00);
      break;
    case Type::kF64:
      settle<B64>(result, a, b, c, uint64_t{1} << 51, uint64_t{0x7ff} << 52, uint64_t{0xfff} << 51);
      break;
    case Type::kPkF32: {
      const auto high = [](const uint32_t* operand) { return operand ? operand + kLanes : nullptr; };
      settle<B32>(result + kLanes, high(a), high(b), high(c), 0x400000, 0x7f800000, 0x7fc00000);
      [[fallthrough]];
    }
    default:
      settle<B32>(result, a, b, c, 0x400000, 0x7f800000, 0x7fc00000);
      break;
  }
}

void begin_rounding(const Wave& wave, Type type) {
  const bool single = type == Type::kF32 || type == Type::kPkF32;
  const int shift = single ? mode_bits::kRoundF32 : mode_bits::kRoundF16F64;
  std::fesetround(host_rounding(wave.mode >> shift & mode_bits::kRoundMask));
}

void end_rounding() { std::fesetround(FE_TONEAREST); }

}  // namespace mhcheck::simulator::MHCHECK_ISA

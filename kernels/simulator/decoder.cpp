#include "kernels/simulator/decoder.h"

#include <bit>

namespace mhcheck::simulator {
namespace {

// Bit fields are named as in AMD's CDNA4 ISA manual, chapter "Microcode Formats".

constexpr unsigned kDppSource = 250, kSdwaSource = 249, kLiteralSource = 255;

class Words {
 public:
  explicit Words(std::span<const uint32_t> words) {
    if (words.size() > 1) {
      bits_ = words[0] | uint64_t{words[1]} << 32;
    } else {
      bits_ = words[0];
    }
  }
  unsigned field(unsigned low, unsigned width) const {
    return static_cast<unsigned>(bits_ >> low & ((uint64_t{1} << width) - 1));
  }
  bool bit(unsigned position) const { return bits_ >> position & 1; }
  uint32_t second() const { return static_cast<uint32_t>(bits_ >> 32); }

 private:
  uint64_t bits_;
};

int32_t sign_extend(unsigned value, unsigned width) {
  return static_cast<int32_t>(value << (32 - width)) >> (32 - width);
}

bool is_16_bit(Type type) {
  return type == Type::kB16 || type == Type::kU16 || type == Type::kI16 || type == Type::kF16 ||
         type == Type::kBf16;
}
bool is_packed(Type type) {
  return type == Type::kPkB16 || type == Type::kPkF16 || type == Type::kPkBf16 || type == Type::kPkF32;
}
// abs and neg act on the sign bit of anything that may hold a float; on integers they are not defined.
bool takes_sign_modifiers(Type type) {
  switch (type) {
    case Type::kU16:
    case Type::kI16:
    case Type::kU32:
    case Type::kI32:
    case Type::kU64:
    case Type::kI64:
    case Type::kPkB16:
    case Type::kMask:
      return false;
    default:
      return true;
  }
}

// Inline float constants 240..248: 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1/(2 pi).
constexpr uint32_t kFloat32Constants[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                          0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
constexpr uint32_t kFloat16Constants[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                          0xc000, 0x4400, 0xc400, 0x3118};
constexpr uint32_t kFloat64HighDwords[] = {0x3fe00000, 0xbfe00000, 0x3ff00000, 0xbff00000,
                                           0x40000000, 0xc0000000, 0x40100000, 0xc0100000};

Source constant(uint32_t value) { return {SourceKind::kConstant, 0, 0, value}; }

Source inline_integer(unsigned encoding, Type type) {
  const int32_t value =
      encoding <= 192 ? static_cast<int32_t>(encoding) - 128 : 192 - static_cast<int32_t>(encoding);
  Source source = constant(static_cast<uint32_t>(value));
  if (registers_of(type) == 2 && type != Type::kPkF32) source.kind = SourceKind::kConstantSigned;
  return source;
}

Source inline_float(unsigned encoding, Type type) {
  const unsigned which = encoding - 240;
  switch (type) {
    case Type::kF64:
    case Type::kB64:
    case Type::kU64:
    case Type::kI64:
      // b64 and integer operands of 64 bits see the f64 pattern as well.
      if (which == 8) return {SourceKind::kInverseTwoPi64, 0, 0, 0};
      return {SourceKind::kConstantHigh, 0, 0, kFloat64HighDwords[which]};
    case Type::kF16:
    case Type::kPkF16:
      return constant(kFloat16Constants[which]);
    case Type::kBf16:
      return constant(kFloat32Constants[which] >> 16);
    default:
      return constant(kFloat32Constants[which]);
  }
}

Source literal(uint32_t value, Type type) {
  Source source = constant(value);
  if (type == Type::kF64) source.kind = SourceKind::kConstantHigh;
  if (type == Type::kI64) source.kind = SourceKind::kConstantSigned;
  return source;
}

Source any_source(unsigned encoding, Type type, uint32_t literal_value) {
  if (type == Type::kNone) return {};
  if (encoding >= 256) return {SourceKind::kVector, 0, static_cast<uint16_t>(encoding - 256), 0};
  if (encoding < 128) return {SourceKind::kScalar, 0, static_cast<uint16_t>(encoding), 0};
  if (encoding <= 208) return inline_integer(encoding, type);
  if (encoding >= 240 && encoding <= 248) return inline_float(encoding, type);
  if (encoding == kLiteralSource) return literal(literal_value, type);
  return {SourceKind::kSpecial, 0, static_cast<uint16_t>(encoding), 0};
}

Source vector_source(unsigned number, bool accumulator = false) {
  return {SourceKind::kVector, 0, static_cast<uint16_t>(number + (accumulator ? kFirstAccumulator : 0)), 0};
}

Source scalar_source(unsigned number) { return {SourceKind::kScalar, 0, static_cast<uint16_t>(number), 0}; }

void mark_modified(Source& source) {
  if (source.kind == SourceKind::kVector) source.kind = SourceKind::kVectorModified;
  if (source.kind == SourceKind::kScalar) source.kind = SourceKind::kScalarModified;
  if (source.kind == SourceKind::kConstant) source.kind = SourceKind::kConstantModified;
}

void set_modifiers(Source& source, unsigned modifiers, Type type) {
  if (!takes_sign_modifiers(type)) modifiers &= ~unsigned{kAbs | kNeg | kNegHigh};
  source.modifiers = static_cast<uint8_t>(modifiers);
  const unsigned plain = is_packed(type) ? kSelectHigh : 0;
  if (modifiers != plain) mark_modified(source);
}

void set_output_modifiers(Instruction& out, bool clamp, unsigned scale) {
  out.clamp = clamp;
  out.output_scale = static_cast<uint8_t>(scale);
  if (clamp || scale) out.plain_result = false;
}

void decode_sub_dword(Instruction& out, const Row& row, uint32_t word, SubDword form) {
  out.sub_dword = form;
  out.modifier_word = word;
  out.plain_result = false;
  if (form == SubDword::kSdwa) {
    if (word >> 23 & 1) {
      out.source[0] = scalar_source(word & 0xff);
    } else {
      out.source[0] = vector_source(word & 0xff);
    }
    set_modifiers(out.source[0], (word >> 21 & 1 ? kAbs : 0) | (word >> 20 & 1 ? kNeg : 0), row.source[0]);
    mark_modified(out.source[0]);
    if (row.source[1] != Type::kNone && row.source[1] != Type::kMask) {
      if (word >> 31) out.source[1] = scalar_source(out.source[1].index);
      set_modifiers(out.source[1], (word >> 29 & 1 ? kAbs : 0) | (word >> 28 & 1 ? kNeg : 0), row.source[1]);
      mark_modified(out.source[1]);
    }
    if (row.destination != Type::kMask) set_output_modifiers(out, word >> 13 & 1, word >> 14 & 3);
  } else {
    out.source[0] = vector_source(word & 0xff);
    set_modifiers(out.source[0], (word >> 21 & 1 ? kAbs : 0) | (word >> 20 & 1 ? kNeg : 0), row.source[0]);
    mark_modified(out.source[0]);
    if (row.source[1] != Type::kNone) {
      set_modifiers(out.source[1], (word >> 23 & 1 ? kAbs : 0) | (word >> 22 & 1 ? kNeg : 0), row.source[1]);
    }
  }
}

// The first source of VOP1, VOP2 and VOPC, and the DPP or SDWA dword that it may announce.
void decode_vop_source0(Instruction& out, const Row& row, const Words& words) {
  const unsigned encoding = words.field(0, 9);
  if (encoding == kDppSource) {
    decode_sub_dword(out, row, words.second(), SubDword::kDpp);
  } else if (encoding == kSdwaSource) {
    decode_sub_dword(out, row, words.second(), SubDword::kSdwa);
  } else {
    out.source[0] = any_source(encoding, row.source[0], words.second());
  }
}

// Inputs that an encoding implies: VCC as carry or select mask, the destination of v_fmac.
void add_implied_sources(Instruction& out, const Row& row) {
  for (int k = 0; k < 3; ++k) {
    if (out.source[k].kind != SourceKind::kNone || row.source[k] == Type::kNone) continue;
    if (row.source[k] == Type::kMask) {
      out.source[k] = scalar_source(scalar_register::kVcc);
    } else if (row.traits & kReadsDestination) {
      out.source[k] = vector_source(out.destination);
    }
  }
}

void decode_vop1(Instruction& out, const Row& row, const Words& words) {
  out.destination = static_cast<uint16_t>(words.field(17, 8));
  decode_vop_source0(out, row, words);
}

void decode_vop2(Instruction& out, const Row& row, const Words& words) {
  out.destination = static_cast<uint16_t>(words.field(17, 8));
  out.scalar_destination = scalar_register::kVcc;
  const Source second = vector_source(words.field(9, 8));
  if (row.traits & kLiteralIsSource1) {
    out.source[0] = any_source(words.field(0, 9), row.source[0], words.second());
    out.source[1] = constant(words.second());
    out.source[2] = second;
    return;
  }
  if (row.traits & kLiteralIsSource2) {
    out.source[0] = any_source(words.field(0, 9), row.source[0], words.second());
    out.source[1] = second;
    out.source[2] = constant(words.second());
    return;
  }
  out.source[1] = second;
  decode_vop_source0(out, row, words);
}

void decode_vopc(Instruction& out, const Row& row, const Words& words) {
  out.source[1] = vector_source(words.field(9, 8));
  decode_vop_source0(out, row, words);
  out.scalar_destination = scalar_register::kVcc;
  if (out.sub_dword == SubDword::kSdwa && words.bit(32 + 15)) {
    out.scalar_destination = static_cast<uint16_t>(words.field(32 + 8, 7));
  }
}

void decode_vop3(Instruction& out, const Row& row, const Words& words) {
  out.destination = static_cast<uint16_t>(words.field(0, 8));
  const bool explicit_mask = row.traits & kMaskResult;
  const bool truth_table = row.traits & kTruthTable;
  if (row.traits & kSelectsByte) out.byte_select = static_cast<uint8_t>(words.field(11, 3));
  if (truth_table) {
    out.immediate =
        static_cast<int32_t>(words.field(61, 3) | words.field(8, 3) << 3 | words.field(59, 2) << 6);
  }
  out.scalar_destination = static_cast<uint16_t>(explicit_mask ? words.field(8, 7) : words.field(0, 8));
  for (unsigned k = 0; k < 3; ++k) {
    if (k == 2 && (row.traits & kReadsDestination) && row.source[2] != Type::kMask)
      break;  // no such field is used
    out.source[k] = any_source(words.field(32 + 9 * k, 9), row.source[k], 0);
    unsigned modifiers = words.bit(61 + k) && !truth_table ? kNeg : 0;
    if (!explicit_mask) {
      if (words.bit(8 + k) && !truth_table) modifiers |= kAbs;
      if (words.bit(11 + k) && is_16_bit(row.source[k])) modifiers |= kSelect;
    }
    if (is_packed(row.source[k])) {
      // Not documented for the few operations outside VOP3P that take a pair: as gem5 has it, both elements.
      if (modifiers & kNeg) modifiers |= kNegHigh;
      modifiers |= kSelectHigh;
    }
    set_modifiers(out.source[k], modifiers, row.source[k]);
  }
  if (!truth_table) set_output_modifiers(out, words.bit(15), words.field(59, 2));
  if (!explicit_mask && words.bit(14)) {
    out.high_half = true;
    out.plain_result = false;
  }
}

void decode_vop3p(Instruction& out, const Row& row, const Words& words) {
  out.destination = static_cast<uint16_t>(words.field(0, 8));
  for (unsigned k = 0; k < 3; ++k) {
    if (row.source[k] == Type::kNone) continue;
    out.source[k] = any_source(words.field(32 + 9 * k, 9), row.source[k], 0);
    const bool select_high = k == 2 ? words.bit(14) : words.bit(59 + k);
    unsigned modifiers = 0;
    if (words.bit(61 + k)) modifiers |= kNeg;
    if (words.bit(8 + k)) modifiers |= kNegHigh;
    if (is_packed(row.source[k]) || row.source[k] == Type::kMixF16) {
      if (words.bit(11 + k)) modifiers |= kSelect;
      if (select_high) modifiers |= kSelectHigh;
    }
    if (row.traits & kSelectsDwords) {
      out.source[k].modifiers = words.bit(11 + k) ? kSelect : 0;
    } else {
      set_modifiers(out.source[k], modifiers, row.source[k]);
    }
  }
  set_output_modifiers(out, words.bit(15), 0);
}

void decode_mai(Instruction& out, const Row& row, const Words& words) {
  const bool result_in_accumulators = words.bit(15) && row.counted_as == InstructionClass::kMfma;
  out.destination =
      static_cast<uint16_t>(words.field(0, 8) + (result_in_accumulators ? kFirstAccumulator : 0));
  out.broadcast_size = static_cast<uint8_t>(words.field(8, 3));
  out.broadcast_index = static_cast<uint8_t>(words.field(11, 4));
  out.b_pattern = static_cast<uint8_t>(words.field(61, 3));
  for (unsigned k = 0; k < 3; ++k) {
    out.source[k] = any_source(words.field(32 + 9 * k, 9), row.source[k], 0);
    // v_accvgpr_read and v_accvgpr_write say by their names which side is an AGPR.
    const bool is_move = row.counted_as != InstructionClass::kMfma;
    // The third operand of a sparse MFMA is no addend but a vector of indices.
    const bool addend = k == 2 && !(row.traits & kReadsDestination);
    const bool accumulator = !is_move && (k == 2 ? addend && result_in_accumulators : words.bit(59 + k));
    if (out.source[k].kind == SourceKind::kVector && accumulator) out.source[k].index += kFirstAccumulator;
  }
}

// The dwords in front of a scaled MFMA's own. op_sel has the lower bit of each scale's byte, op_sel_hi the
// upper one.
void decode_scales(Instruction& out, const Words& words) {
  const auto scale = [&](unsigned k) -> MatrixScales::Scale {
    return {words.field(32 + 9 * k, 8), words.field(11 + k, 1) | words.field(59 + k, 1) << 1};
  };
  set_matrix_scales(out, {scale(0), scale(1)});
}

void decode_sop(Instruction& out, const Row& row, const Words& words) {
  const unsigned top9 = words.field(23, 9);
  if (top9 == 0x17f) {  // SOPP
    out.immediate = sign_extend(words.field(0, 16), 16);
  } else if (top9 == 0x17e || top9 == 0x17d) {  // SOPC, SOP1
    if (top9 == 0x17d) out.destination = static_cast<uint16_t>(words.field(16, 7));
    out.source[0] = any_source(words.field(0, 8), row.source[0], words.second());
    if (top9 == 0x17e) {
      out.source[1] = any_source(words.field(8, 8), row.source[1], words.second());
      out.immediate = static_cast<int32_t>(words.field(8, 8));  // what s_set_gpr_idx_on has in its place
    }
  } else if (words.field(28, 4) == 0xb) {  // SOPK
    out.destination = static_cast<uint16_t>(words.field(16, 7));
    out.immediate = sign_extend(words.field(0, 16), 16);
    out.modifier_word = words.second();  // the literal of s_setreg_imm32
  } else {                               // SOP2
    out.destination = static_cast<uint16_t>(words.field(16, 7));
    out.source[0] = any_source(words.field(0, 8), row.source[0], words.second());
    out.source[1] = any_source(words.field(8, 8), row.source[1], words.second());
  }
}

void decode_smem(Instruction& out, const Words& words) {
  out.scalar_base = static_cast<uint8_t>(words.field(0, 6) << 1);
  out.destination = static_cast<uint16_t>(words.field(6, 7));  // of a store: the data
  if (words.bit(16)) out.memory_flags |= kReturnOld;
  const bool scalar_offset = words.bit(14), immediate_offset = words.bit(17);
  if (immediate_offset) out.immediate = sign_extend(words.field(32, 21), 21);
  if (scalar_offset) out.source[2] = scalar_source(words.field(57, 7));
  if (!immediate_offset && !scalar_offset) out.source[2] = scalar_source(words.field(32, 7));
}

void decode_ds(Instruction& out, const Words& words) {
  const bool accumulator = words.bit(25);
  out.immediate = static_cast<int32_t>(words.field(0, 16));
  out.second_offset = static_cast<uint8_t>(words.field(8, 8));
  out.source[0] = vector_source(words.field(32, 8));
  out.source[1] = vector_source(words.field(40, 8), accumulator);
  out.source[2] = vector_source(words.field(48, 8), accumulator);
  out.destination = static_cast<uint16_t>(words.field(56, 8) + (accumulator ? kFirstAccumulator : 0));
}

void decode_flat(Instruction& out, const Words& words) {
  constexpr unsigned kFlatSegment = 0, kScratchSegment = 1;
  constexpr unsigned kNoScalarAddress = 0x7f;
  const unsigned segment = words.field(14, 2);
  const bool accumulator = words.bit(55);
  out.immediate = segment == kFlatSegment ? static_cast<int32_t>(words.field(0, 12))
                                          : sign_extend(words.field(0, 13), 13);
  if (words.bit(16)) out.memory_flags |= kReturnOld;
  if (words.bit(25)) out.memory_flags |= kDeviceScope;
  if (segment != kScratchSegment || words.bit(13)) out.source[0] = vector_source(words.field(32, 8));
  out.source[1] = vector_source(words.field(40, 8), accumulator);
  const unsigned scalar_address = words.field(48, 7);
  if (segment != kFlatSegment && scalar_address != kNoScalarAddress)
    out.scalar_base = static_cast<uint8_t>(scalar_address);
  out.destination = static_cast<uint16_t>(words.field(56, 8) + (accumulator ? kFirstAccumulator : 0));
}

void decode_buffer(Instruction& out, const Words& words) {
  constexpr unsigned kTyped = 0x3a;  // MTBUF, and not MUBUF
  const bool accumulator = words.bit(55);
  out.immediate = static_cast<int32_t>(words.field(0, 12));
  if (words.bit(12)) out.memory_flags |= kOffsetEnable;
  if (words.bit(13)) out.memory_flags |= kIndexEnable;
  if (words.bit(14)) out.memory_flags |= kReturnOld;
  if (words.field(26, 6) == kTyped) {
    if (words.bit(53)) out.memory_flags |= kDeviceScope;
    out.data_format = static_cast<uint8_t>(words.field(19, 4));
    out.number_format = static_cast<uint8_t>(words.field(23, 3));
  } else {
    if (words.bit(15)) out.memory_flags |= kDeviceScope;
    if (words.bit(16)) out.memory_flags |= kToLds;
  }
  if (out.memory_flags & (kOffsetEnable | kIndexEnable)) out.source[0] = vector_source(words.field(32, 8));
  out.source[1] = vector_source(words.field(40, 8), accumulator);
  out.source[2] = any_source(words.field(56, 8), Type::kU32, 0);
  out.scalar_base = static_cast<uint8_t>(words.field(48, 5) << 2);
  out.destination = out.source[1].index;
}

void decode_vector(Instruction& out, const Row& row, const Words& words) {
  const unsigned top6 = words.field(26, 6);
  if (top6 == 0x34) {
    if (words.field(23, 9) != 0x1a7) {
      decode_vop3(out, row, words);
    } else if (row.counted_as == InstructionClass::kMfma ||
               row.traits & (kAccumulatorSource | kAccumulatorResult)) {
      decode_mai(out, row, words);
    } else {
      decode_vop3p(out, row, words);
    }
  } else if (words.field(25, 7) == 0x3f) {
    decode_vop1(out, row, words);
  } else if (words.field(25, 7) == 0x3e) {
    decode_vopc(out, row, words);
  } else {
    decode_vop2(out, row, words);
  }
  if (row.traits & kAccumulatorSource) out.source[0].index |= kFirstAccumulator;
  if (row.traits & kAccumulatorResult) out.destination |= kFirstAccumulator;
  add_implied_sources(out, row);
}

}  // namespace

Instruction decode_fields(std::span<const uint32_t> all_words, unsigned length, const Row& row,
                          uint16_t row_index) {
  Instruction out;
  out.execute = row.execute;
  out.row = row_index;
  out.counted_as = row.counted_as;
  out.length = static_cast<uint8_t>(length);
  const Words words(all_words.first(length));
  const unsigned top6 = words.field(26, 6);
  if (length == kScaledMatrixLength) {
    decode_mai(out, row, Words(all_words.subspan(2, 2)));
    decode_scales(out, words);
  } else if (words.field(30, 2) == 2) {
    decode_sop(out, row, words);
  } else if (!words.bit(31) || top6 == 0x34) {
    decode_vector(out, row, words);
  } else {
    switch (top6) {
      case 0x30:
        decode_smem(out, words);
        break;
      case 0x36:
        decode_ds(out, words);
        break;
      case 0x37:
        decode_flat(out, words);
        break;
      default:
        decode_buffer(out, words);
        break;
    }
  }
  return out;
}

}  // namespace mhcheck::simulator

#include "kernels/simulator/handlers/buffer.h"
#include "kernels/simulator/handlers/data_format.h"
#include "kernels/simulator/handlers/tables.h"

// Typed buffers: MUBUF's FORMAT instructions, whose element format and channel selection are in the resource,
// and MTBUF, which has the format in the instruction and takes channels as they are (CDNA4 ISA
// manual, 9.1.4).
namespace mhcheck::simulator::MHCHECK_ISA {
namespace {

constexpr int kChannels = 4;
constexpr unsigned kSelectZero = 0, kSelectOne = 1, kSelectFirst = 4;  // dst_sel: 4 to 7 are X to W

struct Elements {
  DataFormat data;
  NumberFormat number;
  unsigned select[kChannels];
  uint32_t bytes;
};

enum class Form : uint8_t { kInResource, kInInstruction };

template <Form kForm>
Elements elements_of(const Wave& wave, const Instruction& instruction) {
  const uint32_t word = wave.scalar[instruction.scalar_base + 3];
  const bool in_resource = kForm == Form::kInResource;
  const unsigned data = in_resource ? word >> 15 & 15 : instruction.data_format;
  const unsigned number = in_resource ? word >> 12 & 7 : instruction.number_format;
  Elements elements{kDataFormats[data], NumberFormat{static_cast<uint8_t>(number)}, {}, 0};
  elements.bytes = DataFormat::bytes(elements.data);
  for (unsigned c = 0; c < kChannels; ++c) {
    elements.select[c] = in_resource ? word >> (3 * c) & 7 : kSelectFirst + c;
    if (elements.select[c] > kSelectOne && elements.select[c] < kSelectFirst)
      raise_illegal("a typed buffer access with a reserved channel selection");
  }
  constexpr unsigned kReservedData = 15;
  if (data == kReservedData || elements.number == NumberFormat::kReserved)
    raise_illegal("a typed buffer access with a reserved format");
  const uint8_t first = elements.data.width[0], second = elements.data.width[1];
  const bool has_floats = first == 0 || first == 32 || first == 16 || second == 11;
  if (elements.number == NumberFormat::kFloat && !has_floats)
    raise_illegal("a typed buffer access to floats of a format that has none");
  return elements;
}

// ---- One lane's channels

MHCHECK_LANE uint32_t stored_component(const Elements& elements, const std::byte* from, int component) {
  const int width = elements.data.width[component], at = DataFormat::offset(elements.data, component);
  uint64_t bits = 0;
  std::memcpy(&bits, from + at / 8, static_cast<size_t>((at % 8 + width + 7) / 8));
  return static_cast<uint32_t>(bits >> (at % 8)) & low_bits(width);
}
MHCHECK_LANE uint32_t one(NumberFormat number, bool half) {
  return is_integer(number) ? 1u : half ? 0x3c00u : 0x3f800000u;
}
// What memory does not have reads as zero.
MHCHECK_LANE uint32_t loaded_channel(const Elements& elements, const std::byte* from, int channel,
                                     bool half) {
  const unsigned select = elements.select[channel];
  if (select == kSelectZero) return 0;
  if (select == kSelectOne) return one(elements.number, half);
  const int component = static_cast<int>(select - kSelectFirst), width = elements.data.width[component];
  if (!width || !from) return 0;
  const uint32_t raw = stored_component(elements, from, component);
  return half ? load_component_half(raw, width, elements.number)
              : load_component(raw, width, elements.number);
}

// Channels in registers: one a register, or two, and with kHigh only the upper half of one.
template <int kCount, bool kHalves, bool kHigh>
struct Channels {
  static constexpr int registers = kHalves ? (kCount + 1) / 2 : kCount;
  static constexpr Type type = registers == 1   ? Type::kB32
                               : registers == 2 ? Type::kB64
                               : registers == 3 ? Type::kB96
                                                : Type::kB128;

  MHCHECK_LANE unsigned shift(int channel) { return kHigh || channel % 2 ? 16 : 0; }
  MHCHECK_LANE uint32_t get(const uint32_t* data, int lane, int channel) {
    if (!kHalves) return data[channel * kLanes + lane];
    return data[channel / 2 * kLanes + lane] >> shift(channel) & 0xffffu;
  }
  MHCHECK_LANE void put(uint32_t* target, int lane, int channel, uint32_t value) {
    if (!kHalves) {
      target[channel * kLanes + lane] = value;
      return;
    }
    uint32_t& word = target[channel / 2 * kLanes + lane];
    word = (word & ~(0xffffu << shift(channel))) | value << shift(channel);
  }
  /// From memory, or where the range check stops the lane from nothing.
  MHCHECK_LANE void load(const Elements& elements, uint32_t* target, int lane, const std::byte* from) {
    for (int c = 0; c < kCount; ++c) put(target, lane, c, loaded_channel(elements, from, c, kHalves));
  }
  /// The component takes the channel that a load would put it into, the first one where the instruction has
  /// too few (AMD's RDNA3 ISA manual, 9.3), and zero where no channel is its own.
  MHCHECK_LANE uint32_t component(const Elements& elements, const uint32_t* data, int lane, int component) {
    const int width = elements.data.width[component];
    for (int c = 0; c < kChannels; ++c) {
      if (elements.select[c] != kSelectFirst + static_cast<unsigned>(component)) continue;
      const uint32_t value = get(data, lane, c < kCount ? c : 0);
      return kHalves ? store_component_half(value, width, elements.number)
                     : store_component(value, width, elements.number);
    }
    return 0;
  }
  MHCHECK_LANE void store(const Elements& elements, const uint32_t* data, int lane, std::byte* to) {
    constexpr size_t kMostBytes = 16;
    uint64_t words[kMostBytes / 8] = {};
    int at = 0;
    for (int c = 0; c < kChannels && elements.data.width[c]; ++c) {
      words[at / 64] |= static_cast<uint64_t>(component(elements, data, lane, c)) << (at % 64);
      at += elements.data.width[c];
    }
    std::memcpy(to, words, elements.bytes);
  }
};

// ---- Instructions. An access is in range as a whole or not at all; nothing is bound where the format is
// invalid.

Accesses place_elements(Wave& wave, const Instruction& instruction, const Elements& elements) {
  Accesses accesses;
  place_buffer(wave, instruction, elements.bytes, /*by_dword=*/false, accesses);
  if (elements.bytes == 0) accesses.whole = 0;
  return accesses;
}

template <Form kForm, class Channel>
void load(Wave& wave, const Instruction& instruction) {
  const Elements elements = elements_of<kForm>(wave, instruction);
  const Accesses accesses = place_elements(wave, instruction, elements);
  const int bytes = static_cast<int>(elements.bytes);
  const bool to_lds = instruction.memory_flags & kToLds;
  const uint32_t base = lds_base(wave, instruction);
  uint32_t* target = vector_register(wave, instruction.destination);
  const auto deliver = [&](int lane, const std::byte* from) {
    if (!to_lds) {
      Channel::load(elements, target, lane, from);
      return;
    }
    const uint32_t value = loaded_channel(elements, from, 0, false);
    const uint32_t offset = base + sizeof value * static_cast<uint32_t>(lane);
    if (offset + sizeof value > wave.group->lds_bytes) return;  // dropped
    std::memcpy(wave.group->lds + offset, &value, sizeof value);
    wave.lds_bytes_written += sizeof value;
  };
  wave.memory_bytes_read += active_bytes(accesses.whole, bytes);
  if constexpr (kWatched) {
    if (to_lds) observe_lds_delivery(wave, wave.exec(), base, 4, 4);
  }
  const uint64_t active = observed(wave, AccessKind::kLoad, accesses.whole, bytes);
  visit_global(wave, active, elements.bytes, deliver);
  for (uint64_t rest = wave.exec() & ~active; rest; rest &= rest - 1)
    deliver(std::countr_zero(rest), nullptr);
}

template <Form kForm, class Channel>
void store(Wave& wave, const Instruction& instruction) {
  const Elements elements = elements_of<kForm>(wave, instruction);
  const Accesses accesses = place_elements(wave, instruction, elements);
  const int bytes = static_cast<int>(elements.bytes);
  const uint32_t* data = vector_register(wave, instruction.source[1].index);
  wave.memory_bytes_written += active_bytes(accesses.whole, bytes);
  visit_global(wave, observed(wave, AccessKind::kStore, accesses.whole, bytes), elements.bytes,
               [&](int lane, std::byte* to) { Channel::store(elements, data, lane, to); });
}

template <Form kForm, class Channel>
constexpr Row load_row(std::string_view mnemonic) {
  return {mnemonic, load<kForm, Channel>, InstructionClass::kVmem, Channel::type, {Type::kB64}, kNoTraits};
}
template <Form kForm, class Channel>
constexpr Row store_row(std::string_view mnemonic) {
  return {mnemonic,    store<kForm, Channel>,       InstructionClass::kVmem,
          Type::kNone, {Type::kB64, Channel::type}, kNoTraits};
}

#define MHCHECK_TYPED(prefix, kForm)                                              \
  load_row<kForm, Channels<1, false, false>>(prefix "_load_format_x"),            \
      load_row<kForm, Channels<2, false, false>>(prefix "_load_format_xy"),       \
      load_row<kForm, Channels<3, false, false>>(prefix "_load_format_xyz"),      \
      load_row<kForm, Channels<4, false, false>>(prefix "_load_format_xyzw"),     \
      load_row<kForm, Channels<1, true, false>>(prefix "_load_format_d16_x"),     \
      load_row<kForm, Channels<2, true, false>>(prefix "_load_format_d16_xy"),    \
      load_row<kForm, Channels<3, true, false>>(prefix "_load_format_d16_xyz"),   \
      load_row<kForm, Channels<4, true, false>>(prefix "_load_format_d16_xyzw"),  \
      store_row<kForm, Channels<1, false, false>>(prefix "_store_format_x"),      \
      store_row<kForm, Channels<2, false, false>>(prefix "_store_format_xy"),     \
      store_row<kForm, Channels<3, false, false>>(prefix "_store_format_xyz"),    \
      store_row<kForm, Channels<4, false, false>>(prefix "_store_format_xyzw"),   \
      store_row<kForm, Channels<1, true, false>>(prefix "_store_format_d16_x"),   \
      store_row<kForm, Channels<2, true, false>>(prefix "_store_format_d16_xy"),  \
      store_row<kForm, Channels<3, true, false>>(prefix "_store_format_d16_xyz"), \
      store_row<kForm, Channels<4, true, false>>(prefix "_store_format_d16_xyzw")

constexpr Row kRows[] = {
    MHCHECK_TYPED("buffer", Form::kInResource),
    MHCHECK_TYPED("tbuffer", Form::kInInstruction),
    load_row<Form::kInResource, Channels<1, true, true>>("buffer_load_format_d16_hi_x"),
    store_row<Form::kInResource, Channels<1, true, true>>("buffer_store_format_d16_hi_x"),
};

#undef MHCHECK_TYPED

}  // namespace

std::span<const Row> typed_buffer_rows() { return kRows; }

}  // namespace mhcheck::simulator::MHCHECK_ISA

#include "kernels/simulator/handlers/memory.h"
#include "kernels/simulator/handlers/tables.h"
#include "kernels/simulator/handlers/tuples.h"

// DS instructions. Beyond the workgroup's allocation reads give 0 and writes are dropped.
namespace mhcheck::simulator::MHCHECK_ISA {
namespace {

// The sum has 32 bits: compilers count a loop up from a negative base and leave the rest to the offset (LLVM
// holds this legal from gfx7 on, SIISelLowering "usable DS offset").
void place(Wave& wave, const Instruction& instruction, uint32_t offset) {
  const uint32_t* base = vector_register(wave, instruction.source[0].index);
  for (int lane = 0; lane < kLanes; ++lane) wave.address[lane] = base[lane] + offset;
}

MHCHECK_LANE bool in_range(const Wave& wave, int lane, int bytes) {
  return wave.address[lane] + static_cast<uint64_t>(bytes) <= wave.group->lds_bytes;
}

// True when the lanes follow each other without gaps: no two of them can meet in a bank.
MHCHECK_LANE bool consecutive(const Wave& wave, int bytes) {
  uint64_t off = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    off |=
        wave.address[lane] ^ (wave.address[0] + static_cast<uint64_t>(lane) * static_cast<uint64_t>(bytes));
  }
  return off == 0;
}

MHCHECK_LANE void count_conflicts(Wave& wave, int bytes) {
  if (bytes >= 4 && consecutive(wave, bytes)) return;
  wave.lds_bank_conflicts +=
      count_bank_conflicts(wave.address, wave.exec(), static_cast<unsigned>((bytes + 3) / 4));
}

template <class Element>
MHCHECK_LANE void read_lanes(Wave& wave, uint32_t* target) {
  const uint64_t exec = wave.exec();
  if constexpr (kWatched) observe_lds(wave, AccessKind::kLoad, exec, Element::bytes);
  wave.lds_bytes_read += active_bytes(exec, Element::bytes);
  count_conflicts(wave, Element::bytes);
  for (uint64_t rest = exec; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (in_range(wave, lane, Element::bytes)) {
      Element::put(target, lane, wave.group->lds + wave.address[lane]);
    } else {
      Element::put_zero(target, lane);
    }
  }
}
template <class Element>
MHCHECK_LANE void write_lanes_to_lds(Wave& wave, const uint32_t* data) {
  const uint64_t exec = wave.exec();
  if constexpr (kWatched) observe_lds(wave, AccessKind::kStore, exec, Element::bytes);
  wave.lds_bytes_written += active_bytes(exec, Element::bytes);
  count_conflicts(wave, Element::bytes);
  for (uint64_t rest = exec; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (in_range(wave, lane, Element::bytes)) Element::take(data, lane, wave.group->lds + wave.address[lane]);
  }
}

MHCHECK_LANE uint32_t plain_offset(const Instruction& instruction) {
  return static_cast<uint32_t>(instruction.immediate);
}

template <class Element>
void read(Wave& wave, const Instruction& instruction) {
  place(wave, instruction, plain_offset(instruction));
  read_lanes<Element>(wave, vector_register(wave, instruction.destination));
}
template <class Element>
void write(Wave& wave, const Instruction& instruction) {
  place(wave, instruction, plain_offset(instruction));
  write_lanes_to_lds<Element>(wave, vector_register(wave, instruction.source[1].index));
}

// Two accesses whose 8-bit offsets count elements, or 64 elements (st64).
template <int kBytes, int kScale>
struct Pair {
  using Load = LoadElement<kBytes>;
  using Store = StoreElement<kBytes>;
  MHCHECK_LANE uint32_t offset(const Instruction& instruction, int which) {
    const uint32_t elements =
        which == 0 ? static_cast<uint32_t>(instruction.immediate) & 0xff : instruction.second_offset;
    return elements * kBytes * kScale;
  }
  static void read(Wave& wave, const Instruction& instruction) {
    // The address register may be among the results: both sets are read before any is written.
    uint32_t values[2][Load::words * kLanes];
    for (int which : {0, 1}) {
      place(wave, instruction, offset(instruction, which));
      read_lanes<Load>(wave, values[which]);
    }
    uint32_t* target = vector_register(wave, instruction.destination);
    for (int r = 0; r < 2 * Load::words; ++r)
      write_lanes(wave, target + r * kLanes, &values[0][0] + r * kLanes);
  }
  static void write(Wave& wave, const Instruction& instruction) {
    place(wave, instruction, offset(instruction, 0));
    write_lanes_to_lds<Store>(wave, vector_register(wave, instruction.source[1].index));
    if (offset(instruction, 0) == offset(instruction, 1)) return;  // equal offsets: one access
    place(wave, instruction, offset(instruction, 1));
    write_lanes_to_lds<Store>(wave, vector_register(wave, instruction.source[2].index));
  }
  static void exchange(Wave& wave, const Instruction& instruction) {
    uint32_t values[2][Load::words * kLanes];
    for (int which : {0, 1}) {
      place(wave, instruction, offset(instruction, which));
      read_lanes<Load>(wave, values[which]);
    }
    write(wave, instruction);
    uint32_t* target = vector_register(wave, instruction.destination);
    for (int r = 0; r < 2 * Load::words; ++r)
      write_lanes(wave, target + r * kLanes, &values[0][0] + r * kLanes);
  }
};

// Address: offset + M0 + 4 * lane.
void place_by_lane(Wave& wave, const Instruction& instruction) {
  const uint32_t base = plain_offset(instruction) + (wave.scalar[scalar_register::kM0] & 0xffff);
  for (int lane = 0; lane < kLanes; ++lane) wave.address[lane] = base + 4 * static_cast<uint32_t>(lane);
}
void read_by_lane(Wave& wave, const Instruction& instruction) {
  place_by_lane(wave, instruction);
  read_lanes<LoadElement<4>>(wave, vector_register(wave, instruction.destination));
}
void write_by_lane(Wave& wave, const Instruction& instruction) {
  place_by_lane(wave, instruction);
  write_lanes_to_lds<StoreElement<4>>(wave, vector_register(wave, instruction.source[1].index));
}

// At the addresses that have been placed.
template <class Op, bool kReturn, bool kOperandsSwapped>
MHCHECK_LANE void modify_lanes(Wave& wave, const Instruction& instruction) {
  constexpr int kBytes = sizeof(typename Op::Value);
  const uint32_t* data = vector_register(wave, instruction.source[kOperandsSwapped ? 2 : 1].index);
  const uint32_t* other = vector_register(wave, instruction.source[kOperandsSwapped ? 1 : 2].index);
  uint32_t* target = kReturn ? vector_register(wave, instruction.destination) : nullptr;
  if constexpr (kWatched) observe_lds(wave, AccessKind::kAtomic, wave.exec(), kBytes);
  wave.lds_bytes_read += active_bytes(wave.exec(), kBytes);
  wave.lds_bytes_written += active_bytes(wave.exec(), kBytes);
  count_conflicts(wave, kBytes);
  for (uint64_t rest = wave.exec(); rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (in_range(wave, lane, kBytes)) {
      modify<Op>(wave.group->lds + wave.address[lane], lane, data, other, target);
    } else if (target) {
      write_word<typename Op::Value>(target, lane, 0);
    }
  }
}

template <class Op, bool kReturn, bool kOperandsSwapped = false>
void atomic(Wave& wave, const Instruction& instruction) {
  place(wave, instruction, plain_offset(instruction));
  modify_lanes<Op, kReturn, kOperandsSwapped>(wave, instruction);
}

// Floats are equal as numbers: -0 equals +0 and a NaN nothing. Where MODE flushes input denormals, operands
// and what is stored are flushed (CDNA4 ISA manual, 9.2.2 and 9.2.3).
template <class Word, bool kReturn>
void compare_and_store_float(Wave& wave, const Instruction& instruction) {
  constexpr int kDenormals = sizeof(Word) == 4 ? mode_bits::kDenormF32 : mode_bits::kDenormF16F64;
  constexpr bool kSwapped = true;
  if (wave.mode >> kDenormals & 1u) {
    atomic<AtomicCompareSwapFloat<Word, false>, kReturn, kSwapped>(wave, instruction);
  } else {
    atomic<AtomicCompareSwapFloat<Word, true>, kReturn, kSwapped>(wave, instruction);
  }
}

// Two dwords, aligned. The manual's pseudocode also cuts addresses to 64 KiB, less than gfx950's LDS has:
// taken for a relic.
void exchange_marked(Wave& wave, const Instruction& instruction) {
  place(wave, instruction, plain_offset(instruction));
  for (uint64_t& address : wave.address) address &= ~uint64_t{7};
  modify_lanes<AtomicExchangeMarked, true, false>(wave, instruction);
}

// Adds the number of active lanes (append) or subtracts it (consume), once for the wave.
template <int kSign>
void append(Wave& wave, const Instruction& instruction) {
  wave.address[0] = plain_offset(instruction) + (wave.scalar[scalar_register::kM0] & 0xffff);
  if constexpr (kWatched) observe_lds(wave, AccessKind::kAtomic, 1, 4);
  uint32_t old = 0;
  if (in_range(wave, 0, 4)) {
    std::byte* host = wave.group->lds + wave.address[0];
    std::memcpy(&old, host, 4);
    const uint32_t updated = old + static_cast<uint32_t>(kSign * std::popcount(wave.exec()));
    std::memcpy(host, &updated, 4);
  }
  for (int lane = 0; lane < kLanes; ++lane) wave.result[lane] = old;
  write_lanes(wave, vector_register(wave, instruction.destination), wave.result);
}

// ---- Lane crossings through the LDS crossbar; no memory is involved.

void backward_permute(Wave& wave, const Instruction& instruction) {
  const uint32_t* address = vector_register(wave, instruction.source[0].index);
  const uint32_t* data = vector_register(wave, instruction.source[1].index);
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint32_t from = (address[lane] + plain_offset(instruction)) >> 2 & 63;
    wave.result[lane] = wave.lane_mask[from] & data[from];
  }
  write_lanes(wave, vector_register(wave, instruction.destination), wave.result);
}
void forward_permute(Wave& wave, const Instruction& instruction) {
  const uint32_t* address = vector_register(wave, instruction.source[0].index);
  const uint32_t* data = vector_register(wave, instruction.source[1].index);
  std::memset(wave.result, 0, kLanes * sizeof(uint32_t));
  for (int lane = 0; lane < kLanes; ++lane) {  // ascending: the highest lane wins
    if (wave.lane_mask[lane]) wave.result[(address[lane] + plain_offset(instruction)) >> 2 & 63] = data[lane];
  }
  write_lanes(wave, vector_register(wave, instruction.destination), wave.result);
}

}  // namespace

int swizzle_source(uint32_t offset, int lane) {
  const int group = lane & ~31, in_group = lane & 31;
  if (offset >= 0xe000) {  // FFT: reverses the bits of the lane number above the mask of bits that stay
    const uint32_t mask = offset & 0x1f;
    uint32_t reversed = 0;
    for (unsigned bit = 0; bit < 5; ++bit)
      reversed |= (static_cast<uint32_t>(in_group) >> bit & 1) << (4 - bit);
    const uint32_t within =
        mask == 0x1f ? static_cast<uint32_t>(in_group)
                     : (reversed >> std::popcount(mask)) | (static_cast<uint32_t>(in_group) & mask);
    return group | static_cast<int>(within & 31);
  }
  if (offset >= 0xc000) {  // rotate: bit 10 the direction, 9:5 the amount, 4:0 the bits that stay
    const int amount = static_cast<int>(offset >> 5 & 31), mask = static_cast<int>(offset & 31);
    const int rotated = (offset >> 10 & 1 ? in_group - amount : in_group + amount) & 31;
    return group | (in_group & mask) | (rotated & ~mask);
  }
  if (offset & 0x8000) return (lane & ~3) | static_cast<int>(offset >> (2 * (lane & 3)) & 3);
  const int and_mask = static_cast<int>(offset & 31), or_mask = static_cast<int>(offset >> 5 & 31);
  const int xor_mask = static_cast<int>(offset >> 10 & 31);
  return group | (((in_group & and_mask) | or_mask) ^ xor_mask);
}

namespace {

void swizzle(Wave& wave, const Instruction& instruction) {
  const uint32_t* data = vector_register(wave, instruction.source[0].index);
  for (int lane = 0; lane < kLanes; ++lane) {
    const int from = swizzle_source(plain_offset(instruction), lane);
    wave.result[lane] = wave.lane_mask[from] & data[from];
  }
  write_lanes(wave, vector_register(wave, instruction.destination), wave.result);
}

// ---- Transposing reads: lane l of a row of 16 collects elements from the bytes that other lanes address.

template <int kBits, int kRegisters>
void read_transposed(Wave& wave, const Instruction& instruction) {
  constexpr int kElements = 32 * kRegisters / kBits;  // in a lane
  constexpr int kLanesPerColumn = 16 / kElements;     // lanes whose bytes make one row of 16 elements
  place(wave, instruction, plain_offset(instruction));
  uint32_t values[kRegisters * kLanes] = {}, result[kRegisters * kLanes];  // idle lanes give zeros
  read_lanes<LoadElement<4 * kRegisters>>(wave, values);
  for (int lane = 0; lane < kLanes; ++lane) {
    const int first = (lane & ~15) + (lane / kElements) % kLanesPerColumn;
    TupleRow<kRegisters> row;
    for (int n = 0; n < kElements; ++n)
      row.append(tuple_element(values, first + kLanesPerColumn * n, lane % kElements, kBits), kBits);
    row.write(result, lane);
  }
  uint32_t* target = vector_register(wave, instruction.destination);
  for (int r = 0; r < kRegisters; ++r) write_lanes(wave, target + r * kLanes, result + r * kLanes);
}

void nothing(Wave&, const Instruction&) {}

constexpr Row ds(std::string_view mnemonic, Handler handler, Type destination, std::array<Type, 3> sources) {
  return {mnemonic, handler, InstructionClass::kLds, destination, sources, kNoTraits};
}
template <class Element>
constexpr Row read_row(std::string_view mnemonic) {
  return ds(mnemonic, read<Element>, Element::type, {Type::kB32});
}
template <class Element>
constexpr Row write_row(std::string_view mnemonic) {
  return ds(mnemonic, write<Element>, Type::kNone, {Type::kB32, Element::type});
}
template <class Op, bool kReturn, bool kSwapped = false>
constexpr Row atomic_row(std::string_view mnemonic) {
  constexpr Type type = sizeof(typename Op::Value) == 8 ? Type::kB64 : Type::kB32;
  constexpr bool three = requires(typename Op::Value w) { Op::apply(w, w, w); };
  return ds(mnemonic, atomic<Op, kReturn, kSwapped>, kReturn ? type : Type::kNone,
            {Type::kB32, type, three ? type : Type::kNone});
}

#define MHCHECK_DS_ATOMIC(name, type, Op) \
  atomic_row<Op, false>("ds_" name "_" type), atomic_row<Op, true>("ds_" name "_rtn_" type)
#define MHCHECK_DS_UNSIGNED(name, type, Op) \
  MHCHECK_DS_ATOMIC(name, type "32", Op<uint32_t>), MHCHECK_DS_ATOMIC(name, type "64", Op<uint64_t>)
#define MHCHECK_DS_SIGNED(name, type, Op) \
  MHCHECK_DS_ATOMIC(name, type "32", Op<int32_t>), MHCHECK_DS_ATOMIC(name, type "64", Op<int64_t>)

constexpr Row kRows[] = {
    read_row<LoadElement<1>>("ds_read_u8"),
    read_row<LoadElement<1, true>>("ds_read_i8"),
    read_row<LoadElement<2>>("ds_read_u16"),
    read_row<LoadElement<2, true>>("ds_read_i16"),
    read_row<LoadElement<4>>("ds_read_b32"),
    read_row<LoadElement<8>>("ds_read_b64"),
    read_row<LoadElement<12>>("ds_read_b96"),
    read_row<LoadElement<16>>("ds_read_b128"),
    read_row<LoadElement<1, false, Part::kLow>>("ds_read_u8_d16"),
    read_row<LoadElement<1, false, Part::kHigh>>("ds_read_u8_d16_hi"),
    read_row<LoadElement<1, true, Part::kLow>>("ds_read_i8_d16"),
    read_row<LoadElement<1, true, Part::kHigh>>("ds_read_i8_d16_hi"),
    read_row<LoadElement<2, false, Part::kLow>>("ds_read_u16_d16"),
    read_row<LoadElement<2, false, Part::kHigh>>("ds_read_u16_d16_hi"),
    write_row<StoreElement<1>>("ds_write_b8"),
    write_row<StoreElement<1, true>>("ds_write_b8_d16_hi"),
    write_row<StoreElement<2>>("ds_write_b16"),
    write_row<StoreElement<2, true>>("ds_write_b16_d16_hi"),
    write_row<StoreElement<4>>("ds_write_b32"),
    write_row<StoreElement<8>>("ds_write_b64"),
    write_row<StoreElement<12>>("ds_write_b96"),
    write_row<StoreElement<16>>("ds_write_b128"),
    ds("ds_read2_b32", Pair<4, 1>::read, Type::kB64, {Type::kB32}),
    ds("ds_read2_b64", Pair<8, 1>::read, Type::kB128, {Type::kB32}),
    ds("ds_read2st64_b32", Pair<4, 64>::read, Type::kB64, {Type::kB32}),
    ds("ds_read2st64_b64", Pair<8, 64>::read, Type::kB128, {Type::kB32}),
    ds("ds_write2_b32", Pair<4, 1>::write, Type::kNone, {Type::kB32, Type::kB32, Type::kB32}),
    ds("ds_write2_b64", Pair<8, 1>::write, Type::kNone, {Type::kB32, Type::kB64, Type::kB64}),
    ds("ds_write2st64_b32", Pair<4, 64>::write, Type::kNone, {Type::kB32, Type::kB32, Type::kB32}),
    ds("ds_write2st64_b64", Pair<8, 64>::write, Type::kNone, {Type::kB32, Type::kB64, Type::kB64}),
    ds("ds_wrxchg2_rtn_b32", Pair<4, 1>::exchange, Type::kB64, {Type::kB32, Type::kB32, Type::kB32}),
    ds("ds_wrxchg2_rtn_b64", Pair<8, 1>::exchange, Type::kB128, {Type::kB32, Type::kB64, Type::kB64}),
    ds("ds_wrxchg2st64_rtn_b32", Pair<4, 64>::exchange, Type::kB64, {Type::kB32, Type::kB32, Type::kB32}),
    ds("ds_wrxchg2st64_rtn_b64", Pair<8, 64>::exchange, Type::kB128, {Type::kB32, Type::kB64, Type::kB64}),
    ds("ds_read_addtid_b32", read_by_lane, Type::kB32, {}),
    ds("ds_write_addtid_b32", write_by_lane, Type::kNone, {Type::kNone, Type::kB32}),
    ds("ds_read_b64_tr_b16", read_transposed<16, 2>, Type::kB64, {Type::kB32}),
    ds("ds_read_b64_tr_b8", read_transposed<8, 2>, Type::kB64, {Type::kB32}),
    ds("ds_read_b96_tr_b6", read_transposed<6, 3>, Type::kB96, {Type::kB32}),
    ds("ds_read_b64_tr_b4", read_transposed<4, 2>, Type::kB64, {Type::kB32}),
    ds("ds_bpermute_b32", backward_permute, Type::kB32, {Type::kB32, Type::kB32}),
    ds("ds_permute_b32", forward_permute, Type::kB32, {Type::kB32, Type::kB32}),
    ds("ds_swizzle_b32", swizzle, Type::kB32, {Type::kB32}),
    ds("ds_append", append<1>, Type::kB32, {}),
    ds("ds_consume", append<-1>, Type::kB32, {}),
    ds("ds_nop", nothing, Type::kNone, {}),
    MHCHECK_DS_UNSIGNED("add", "u", AtomicAdd),
    MHCHECK_DS_UNSIGNED("sub", "u", AtomicSub),
    MHCHECK_DS_UNSIGNED("rsub", "u", AtomicRsub),
    MHCHECK_DS_UNSIGNED("inc", "u", AtomicInc),
    MHCHECK_DS_UNSIGNED("dec", "u", AtomicDec),
    MHCHECK_DS_SIGNED("min", "i", AtomicMin),
    MHCHECK_DS_SIGNED("max", "i", AtomicMax),
    MHCHECK_DS_UNSIGNED("min", "u", AtomicMin),
    MHCHECK_DS_UNSIGNED("max", "u", AtomicMax),
    MHCHECK_DS_UNSIGNED("and", "b", AtomicAnd),
    MHCHECK_DS_UNSIGNED("or", "b", AtomicOr),
    MHCHECK_DS_UNSIGNED("xor", "b", AtomicXor),
    MHCHECK_DS_UNSIGNED("mskor", "b", AtomicMaskOr),
    MHCHECK_DS_ATOMIC("add", "f32", AtomicAddF32<false>),
    MHCHECK_DS_ATOMIC("add", "f64", AtomicAddF64),
    MHCHECK_DS_ATOMIC("min", "f32", AtomicMinF32),
    MHCHECK_DS_ATOMIC("max", "f32", AtomicMaxF32),
    MHCHECK_DS_ATOMIC("min", "f64", AtomicMinF64),
    MHCHECK_DS_ATOMIC("max", "f64", AtomicMaxF64),
    MHCHECK_DS_ATOMIC("pk_add", "f16", AtomicPkAddF16),
    MHCHECK_DS_ATOMIC("pk_add", "bf16", AtomicPkAddBf16),
    atomic_row<AtomicSwap<uint32_t>, true>("ds_wrxchg_rtn_b32"),
    atomic_row<AtomicSwap<uint64_t>, true>("ds_wrxchg_rtn_b64"),
    atomic_row<AtomicWrap<uint32_t>, true>("ds_wrap_rtn_b32"),
    // DS compare-and-swap takes the comparison value first.
    atomic_row<AtomicCompareSwap<uint32_t>, false, true>("ds_cmpst_b32"),
    atomic_row<AtomicCompareSwap<uint32_t>, true, true>("ds_cmpst_rtn_b32"),
    atomic_row<AtomicCompareSwap<uint64_t>, false, true>("ds_cmpst_b64"),
    atomic_row<AtomicCompareSwap<uint64_t>, true, true>("ds_cmpst_rtn_b64"),
    ds("ds_cmpst_f32", compare_and_store_float<uint32_t, false>, Type::kNone,
       {Type::kB32, Type::kB32, Type::kB32}),
    ds("ds_cmpst_rtn_f32", compare_and_store_float<uint32_t, true>, Type::kB32,
       {Type::kB32, Type::kB32, Type::kB32}),
    ds("ds_cmpst_f64", compare_and_store_float<uint64_t, false>, Type::kNone,
       {Type::kB32, Type::kB64, Type::kB64}),
    ds("ds_cmpst_rtn_f64", compare_and_store_float<uint64_t, true>, Type::kB64,
       {Type::kB32, Type::kB64, Type::kB64}),
    ds("ds_condxchg32_rtn_b64", exchange_marked, Type::kB64, {Type::kB32, Type::kB64}),
};

#undef MHCHECK_DS_SIGNED
#undef MHCHECK_DS_UNSIGNED
#undef MHCHECK_DS_ATOMIC

}  // namespace

std::span<const Row> lds_rows() { return kRows; }

}  // namespace mhcheck::simulator::MHCHECK_ISA

#include "kernels/simulator/handlers/buffer.h"

#include "kernels/simulator/handlers/tables.h"

// MUBUF: memory through a buffer resource descriptor, with its range check, to registers or to LDS.
namespace mhcheck::simulator::MHCHECK_ISA {
namespace {

template <class Element>
void load_to_registers(Wave& wave, const Instruction& instruction) {
  Accesses accesses;
  place_buffer(wave, instruction, Element::bytes, Element::bytes > 4, accesses);
  uint32_t* target = vector_register(wave, instruction.destination);
  load_global<Element>(wave, accesses.whole, target);
  for (uint64_t rest = wave.exec() & ~accesses.whole; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    std::byte value[16] = {};
    const uint32_t passed = observed_part(wave, AccessKind::kLoad, lane, accesses.passed[lane]);
    if (passed) std::memcpy(value, touch_global(wave, wave.address[lane], passed), passed);
    wave.memory_bytes_read += passed;
    Element::put(target, lane, value);
  }
}

// LDS address: M0 + offset + 4 * lane, or 16 * lane for three and four dwords; values are extended to a
// dword.
template <class Element>
void load_to_lds(Wave& wave, const Instruction& instruction) {
  Accesses accesses;
  place_buffer(wave, instruction, Element::bytes, Element::bytes > 4, accesses);
  const uint32_t base = lds_base(wave, instruction);
  constexpr uint32_t kStride = Element::words == 1 ? 4 : 16, kWritten = Element::words * 4;
  const auto deliver = [&](int lane, const std::byte* from) {
    const uint32_t offset = base + kStride * static_cast<uint32_t>(lane);
    if (offset + kWritten > wave.group->lds_bytes) return;  // hardware drops what lies beyond the allocation
    Element::write_dwords(wave.group->lds + offset, from);
    wave.lds_bytes_written += kWritten;
  };
  wave.memory_bytes_read += active_bytes(accesses.whole, Element::bytes);
  if constexpr (kWatched) observe_lds_delivery(wave, wave.exec(), base, kStride, kWritten);
  visit_global(wave, observed(wave, AccessKind::kLoad, accesses.whole, Element::bytes), Element::bytes,
               deliver);
  for (uint64_t rest = wave.exec() & ~accesses.whole; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    std::byte value[16] = {};
    const uint32_t passed = observed_part(wave, AccessKind::kLoad, lane, accesses.passed[lane]);
    if (passed) std::memcpy(value, touch_global(wave, wave.address[lane], passed), passed);
    wave.memory_bytes_read += passed;
    deliver(lane, value);
  }
}

template <class Element>
void load(Wave& wave, const Instruction& instruction) {
  if (instruction.memory_flags & kToLds) {
    load_to_lds<Element>(wave, instruction);
  } else {
    load_to_registers<Element>(wave, instruction);
  }
}

template <class Element>
void store(Wave& wave, const Instruction& instruction) {
  Accesses accesses;
  place_buffer(wave, instruction, Element::bytes, Element::bytes > 4, accesses);
  const uint32_t* data = vector_register(wave, instruction.source[1].index);
  store_global<Element>(wave, accesses.whole, data);
  for (uint64_t rest = wave.exec() & ~accesses.whole; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const uint32_t passed = observed_part(wave, AccessKind::kStore, lane, accesses.passed[lane]);
    if (!passed) continue;
    std::byte value[16];
    Element::take(data, lane, value);
    std::memcpy(touch_global(wave, wave.address[lane], passed), value, passed);
    wave.memory_bytes_written += passed;
  }
}

template <class Op>
void atomic(Wave& wave, const Instruction& instruction) {
  constexpr uint32_t kBytes = sizeof(typename Op::Value);
  Accesses accesses;
  place_buffer(wave, instruction, kBytes, false, accesses);
  uint32_t* registers = vector_register(wave, instruction.source[1].index);
  uint32_t* target = instruction.memory_flags & kReturnOld ? registers : nullptr;
  wave.memory_bytes_read += active_bytes(accesses.whole, kBytes);
  wave.memory_bytes_written += active_bytes(accesses.whole, kBytes);
  const uint64_t active = observed(wave, AccessKind::kAtomic, accesses.whole, kBytes);
  visit_global(wave, active, kBytes, [&](int lane, std::byte* host) {
    modify<Op>(host, lane, registers, registers + kBytes / 4 * kLanes, target);
  });
  if (!target) return;
  for (uint64_t rest = wave.exec() & ~accesses.whole; rest; rest &= rest - 1) {
    write_word<typename Op::Value>(target, std::countr_zero(rest), 0);
  }
}

void nothing(Wave&, const Instruction&) {}

template <class Element>
constexpr Row load_row(std::string_view mnemonic) {
  return {mnemonic, load<Element>, InstructionClass::kVmem, Element::type, {Type::kB64}, kNoTraits};
}
template <class Element>
constexpr Row store_row(std::string_view mnemonic) {
  return {mnemonic, store<Element>, InstructionClass::kVmem, Type::kNone, {Type::kB64, Element::type},
          kNoTraits};
}
template <class Op>
constexpr Row atomic_row(std::string_view mnemonic) {
  constexpr Type type = sizeof(typename Op::Value) == 8 ? Type::kB64 : Type::kB32;
  return {mnemonic, atomic<Op>, InstructionClass::kVmem, Type::kNone, {Type::kB64, type}, kOrdersWorkgroups};
}

constexpr Row kRows[] = {
    load_row<LoadElement<1>>("buffer_load_ubyte"),
    load_row<LoadElement<1, true>>("buffer_load_sbyte"),
    load_row<LoadElement<2>>("buffer_load_ushort"),
    load_row<LoadElement<2, true>>("buffer_load_sshort"),
    load_row<LoadElement<4>>("buffer_load_dword"),
    load_row<LoadElement<8>>("buffer_load_dwordx2"),
    load_row<LoadElement<12>>("buffer_load_dwordx3"),
    load_row<LoadElement<16>>("buffer_load_dwordx4"),
    load_row<LoadElement<1, false, Part::kLow>>("buffer_load_ubyte_d16"),
    load_row<LoadElement<1, false, Part::kHigh>>("buffer_load_ubyte_d16_hi"),
    load_row<LoadElement<1, true, Part::kLow>>("buffer_load_sbyte_d16"),
    load_row<LoadElement<1, true, Part::kHigh>>("buffer_load_sbyte_d16_hi"),
    load_row<LoadElement<2, false, Part::kLow>>("buffer_load_short_d16"),
    load_row<LoadElement<2, false, Part::kHigh>>("buffer_load_short_d16_hi"),
    store_row<StoreElement<1>>("buffer_store_byte"),
    store_row<StoreElement<1, true>>("buffer_store_byte_d16_hi"),
    store_row<StoreElement<2>>("buffer_store_short"),
    store_row<StoreElement<2, true>>("buffer_store_short_d16_hi"),
    store_row<StoreElement<4>>("buffer_store_dword"),
    store_row<StoreElement<8>>("buffer_store_dwordx2"),
    store_row<StoreElement<12>>("buffer_store_dwordx3"),
    store_row<StoreElement<16>>("buffer_store_dwordx4"),
    atomic_row<AtomicSwap<uint32_t>>("buffer_atomic_swap"),
    atomic_row<AtomicSwap<uint64_t>>("buffer_atomic_swap_x2"),
    atomic_row<AtomicCompareSwap<uint32_t>>("buffer_atomic_cmpswap"),
    atomic_row<AtomicCompareSwap<uint64_t>>("buffer_atomic_cmpswap_x2"),
    atomic_row<AtomicAdd<uint32_t>>("buffer_atomic_add"),
    atomic_row<AtomicAdd<uint64_t>>("buffer_atomic_add_x2"),
    atomic_row<AtomicSub<uint32_t>>("buffer_atomic_sub"),
    atomic_row<AtomicSub<uint64_t>>("buffer_atomic_sub_x2"),
    atomic_row<AtomicMin<int32_t>>("buffer_atomic_smin"),
    atomic_row<AtomicMin<int64_t>>("buffer_atomic_smin_x2"),
    atomic_row<AtomicMin<uint32_t>>("buffer_atomic_umin"),
    atomic_row<AtomicMin<uint64_t>>("buffer_atomic_umin_x2"),
    atomic_row<AtomicMax<int32_t>>("buffer_atomic_smax"),
    atomic_row<AtomicMax<int64_t>>("buffer_atomic_smax_x2"),
    atomic_row<AtomicMax<uint32_t>>("buffer_atomic_umax"),
    atomic_row<AtomicMax<uint64_t>>("buffer_atomic_umax_x2"),
    atomic_row<AtomicAnd<uint32_t>>("buffer_atomic_and"),
    atomic_row<AtomicAnd<uint64_t>>("buffer_atomic_and_x2"),
    atomic_row<AtomicOr<uint32_t>>("buffer_atomic_or"),
    atomic_row<AtomicOr<uint64_t>>("buffer_atomic_or_x2"),
    atomic_row<AtomicXor<uint32_t>>("buffer_atomic_xor"),
    atomic_row<AtomicXor<uint64_t>>("buffer_atomic_xor_x2"),
    atomic_row<AtomicInc<uint32_t>>("buffer_atomic_inc"),
    atomic_row<AtomicInc<uint64_t>>("buffer_atomic_inc_x2"),
    atomic_row<AtomicDec<uint32_t>>("buffer_atomic_dec"),
    atomic_row<AtomicDec<uint64_t>>("buffer_atomic_dec_x2"),
    atomic_row<AtomicAddF32<true>>("buffer_atomic_add_f32"),
    atomic_row<AtomicAddF64>("buffer_atomic_add_f64"),
    atomic_row<AtomicMinF64>("buffer_atomic_min_f64"),
    atomic_row<AtomicMaxF64>("buffer_atomic_max_f64"),
    atomic_row<AtomicPkAddF16>("buffer_atomic_pk_add_f16"),
    atomic_row<AtomicPkAddBf16>("buffer_atomic_pk_add_bf16"),
    {"buffer_inv", nothing, InstructionClass::kVmem, Type::kNone, {}, kOrdersWorkgroups | kIfDeviceScope},
    {"buffer_wbl2", nothing, InstructionClass::kVmem, Type::kNone, {}, kOrdersWorkgroups | kIfDeviceScope},
};

}  // namespace

std::span<const Row> buffer_rows() { return kRows; }

}  // namespace mhcheck::simulator::MHCHECK_ISA

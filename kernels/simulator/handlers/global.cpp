#include "kernels/simulator/handlers/memory.h"
#include "kernels/simulator/handlers/tables.h"

// GLOBAL, FLAT and SCRATCH instructions.
namespace mhcheck::simulator::MHCHECK_ISA {
namespace {

// ---- Address spaces: how lanes' addresses come about, and where they lead.

struct Global {
  MHCHECK_LANE void addresses(Wave& wave, const Instruction& instruction) {
    const uint32_t* offsets = vector_register(wave, instruction.source[0].index);
    const auto immediate = static_cast<uint64_t>(static_cast<int64_t>(instruction.immediate));
    if (instruction.scalar_base == kNoScalarBase) {
      for (int lane = 0; lane < kLanes; ++lane) wave.address[lane] = B64::load(offsets, lane) + immediate;
    } else {
      const uint64_t base = wave.scalar64(instruction.scalar_base) + immediate;
      for (int lane = 0; lane < kLanes; ++lane) wave.address[lane] = base + offsets[lane];
    }
  }
  template <class Element>
  MHCHECK_LANE void load(Wave& wave, uint32_t* target) {
    load_global<Element>(wave, wave.exec(), target);
  }
  template <class Element>
  MHCHECK_LANE void store(Wave& wave, const uint32_t* data) {
    store_global<Element>(wave, wave.exec(), data);
  }
  template <class Visit>
  MHCHECK_LANE void visit(Wave& wave, int bytes, Visit visit) {
    visit_global(wave, observed(wave, AccessKind::kAtomic, wave.exec(), bytes), static_cast<uint64_t>(bytes),
                 visit);
  }
};

MHCHECK_LANE std::byte* scratch_host(const Wave& wave, uint64_t offset, int bytes, int lane) {
  const auto wanted = static_cast<uint32_t>(bytes);
  if (offset + wanted > wave.scratch_bytes) raise_scratch_fault(wave, offset, wanted, lane);
  return wave.scratch + static_cast<size_t>(lane) * wave.scratch_bytes + offset;
}

// FLAT: an address inside an aperture means LDS or scratch.
struct Flat {
  MHCHECK_LANE void addresses(Wave& wave, const Instruction& instruction) {
    Global::addresses(wave, instruction);
  }

  MHCHECK_LANE bool all_global(const Wave& wave) {
    bool aperture = false;
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint64_t page = wave.address[lane] >> 32;
      aperture |= wave.lane_mask[lane] && (page == kSharedAperture >> 32 || page == kPrivateAperture >> 32);
    }
    return !aperture;
  }
  MHCHECK_LANE std::byte* host(Wave& wave, int lane, int bytes, bool writes) {
    const uint64_t address = wave.address[lane];
    const uint64_t offset = address & (kApertureSize - 1);
    const auto count = static_cast<uint64_t>(bytes);
    if (address >> 32 == kSharedAperture >> 32) {
      if (offset + count > wave.group->lds_bytes)
        raise_lds_aperture_fault(wave, offset, static_cast<uint32_t>(bytes), lane);
      (writes ? wave.lds_bytes_written : wave.lds_bytes_read) += count;
      return wave.group->lds + offset;
    }
    (writes ? wave.memory_bytes_written : wave.memory_bytes_read) += count;
    if (address >> 32 == kPrivateAperture >> 32) return scratch_host(wave, offset, bytes, lane);
    return touch_global(wave, address, count);
  }
  template <class Element>
  MHCHECK_LANE void load(Wave& wave, uint32_t* target) {
    if (all_global(wave)) {
      Global::load<Element>(wave, target);
      return;
    }
    for (uint64_t rest = observed(wave, AccessKind::kLoad, wave.exec(), Element::bytes); rest;
         rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      Element::put(target, lane, host(wave, lane, Element::bytes, false));
    }
  }
  template <class Element>
  MHCHECK_LANE void store(Wave& wave, const uint32_t* data) {
    if (all_global(wave)) {
      Global::store<Element>(wave, data);
      return;
    }
    for (uint64_t rest = observed(wave, AccessKind::kStore, wave.exec(), Element::bytes); rest;
         rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      Element::take(data, lane, host(wave, lane, Element::bytes, true));
    }
  }
  template <class Visit>
  MHCHECK_LANE void visit(Wave& wave, int bytes, Visit visit) {
    for (uint64_t rest = observed(wave, AccessKind::kAtomic, wave.exec(), bytes); rest; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      visit(lane, host(wave, lane, bytes, false));
    }
  }
};

// SCRATCH: 32-bit offsets into the lane's own segment.
struct Scratch {
  MHCHECK_LANE void addresses(Wave& wave, const Instruction& instruction) {
    auto base = static_cast<uint32_t>(instruction.immediate);
    if (instruction.scalar_base != kNoScalarBase) base += wave.scalar[instruction.scalar_base];
    const bool has_vector = instruction.source[0].kind == SourceKind::kVector;
    const uint32_t* offsets = has_vector ? vector_register(wave, instruction.source[0].index) : nullptr;
    for (int lane = 0; lane < kLanes; ++lane) wave.address[lane] = base + (has_vector ? offsets[lane] : 0);
  }
  template <class Element>
  MHCHECK_LANE void load(Wave& wave, uint32_t* target) {
    wave.memory_bytes_read += active_bytes(wave.exec(), Element::bytes);
    for (uint64_t rest = observed_scratch(wave, AccessKind::kLoad, wave.exec(), Element::bytes); rest;
         rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      Element::put(target, lane,
                   scratch_host(wave, static_cast<uint32_t>(wave.address[lane]), Element::bytes, lane));
    }
  }
  template <class Element>
  MHCHECK_LANE void store(Wave& wave, const uint32_t* data) {
    wave.memory_bytes_written += active_bytes(wave.exec(), Element::bytes);
    for (uint64_t rest = observed_scratch(wave, AccessKind::kStore, wave.exec(), Element::bytes); rest;
         rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      Element::take(data, lane,
                    scratch_host(wave, static_cast<uint32_t>(wave.address[lane]), Element::bytes, lane));
    }
  }
};

template <class Space, class Element>
void load(Wave& wave, const Instruction& instruction) {
  Space::addresses(wave, instruction);
  Space::template load<Element>(wave, vector_register(wave, instruction.destination));
}
template <class Space, class Element>
void store(Wave& wave, const Instruction& instruction) {
  Space::addresses(wave, instruction);
  Space::template store<Element>(wave, vector_register(wave, instruction.source[1].index));
}
template <class Space, class Op>
void atomic(Wave& wave, const Instruction& instruction) {
  constexpr int kBytes = sizeof(typename Op::Value);
  Space::addresses(wave, instruction);
  uint32_t* target =
      instruction.memory_flags & kReturnOld ? vector_register(wave, instruction.destination) : nullptr;
  // {new value, comparison value} for a compare-and-swap.
  const uint32_t* data = vector_register(wave, instruction.source[1].index);
  const uint32_t* other = data + kBytes / 4 * kLanes;
  wave.memory_bytes_written += active_bytes(wave.exec(), kBytes);
  wave.memory_bytes_read += std::is_same_v<Space, Global> ? active_bytes(wave.exec(), kBytes) : 0;
  Space::visit(wave, kBytes, [&](int lane, std::byte* host) { modify<Op>(host, lane, data, other, target); });
}

// Each active lane's value goes to LDS at M0 + offset + 4 (or 16) * lane, a dword at least.
template <class Space, class Element>
void load_to_lds(Wave& wave, const Instruction& instruction) {
  Space::addresses(wave, instruction);
  const uint32_t base =
      (wave.scalar[scalar_register::kM0] & 0x3fffc) + static_cast<uint32_t>(instruction.immediate);
  constexpr uint32_t kStride = Element::words == 1 ? 4 : 16, kWritten = Element::words * 4;
  constexpr bool kScratch = std::is_same_v<Space, Scratch>;
  wave.memory_bytes_read += active_bytes(wave.exec(), Element::bytes);
  const uint64_t active = kScratch ? observed_scratch(wave, AccessKind::kLoad, wave.exec(), Element::bytes)
                                   : observed(wave, AccessKind::kLoad, wave.exec(), Element::bytes);
  if constexpr (kWatched) observe_lds_delivery(wave, active, base, kStride, kWritten);
  const auto deliver = [&](int lane, const std::byte* host) {
    const uint32_t offset = base + kStride * static_cast<uint32_t>(lane);
    if (offset + kWritten > wave.group->lds_bytes) return;
    Element::write_dwords(wave.group->lds + offset, host);
    wave.lds_bytes_written += kWritten;
  };
  if constexpr (kScratch) {
    for (uint64_t rest = active; rest; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      deliver(lane, scratch_host(wave, static_cast<uint32_t>(wave.address[lane]), Element::bytes, lane));
    }
  } else {
    visit_global(wave, active, Element::bytes, deliver);
  }
}

template <class Space>
constexpr Type address_type() {
  return std::is_same_v<Space, Scratch> ? Type::kB32 : Type::kU64;
}

template <class Space, class Element>
constexpr Row load_row(std::string_view mnemonic) {
  return {mnemonic,      load<Space, Element>,    InstructionClass::kVmem,
          Element::type, {address_type<Space>()}, kNoTraits};
}
template <class Space, class Element>
constexpr Row store_row(std::string_view mnemonic) {
  return {mnemonic,
          store<Space, Element>,
          InstructionClass::kVmem,
          Type::kNone,
          {address_type<Space>(), Element::type},
          kNoTraits};
}
template <class Space, class Op>
constexpr Row atomic_row(std::string_view mnemonic) {
  constexpr Type type = sizeof(typename Op::Value) == 8 ? Type::kB64 : Type::kB32;
  return {mnemonic,         atomic<Space, Op>, InstructionClass::kVmem, type, {address_type<Space>(), type},
          kOrdersWorkgroups};
}
template <class Space, class Element>
constexpr Row lds_row(std::string_view mnemonic) {
  return {mnemonic,    load_to_lds<Space, Element>, InstructionClass::kVmem,
          Type::kNone, {address_type<Space>()},     kNoTraits};
}

#define MHCHECK_LOADS_AND_STORES(prefix, Space)                                         \
  load_row<Space, LoadElement<1>>(prefix "_load_ubyte"),                                \
      load_row<Space, LoadElement<1, true>>(prefix "_load_sbyte"),                      \
      load_row<Space, LoadElement<2>>(prefix "_load_ushort"),                           \
      load_row<Space, LoadElement<2, true>>(prefix "_load_sshort"),                     \
      load_row<Space, LoadElement<4>>(prefix "_load_dword"),                            \
      load_row<Space, LoadElement<8>>(prefix "_load_dwordx2"),                          \
      load_row<Space, LoadElement<12>>(prefix "_load_dwordx3"),                         \
      load_row<Space, LoadElement<16>>(prefix "_load_dwordx4"),                         \
      load_row<Space, LoadElement<1, false, Part::kLow>>(prefix "_load_ubyte_d16"),     \
      load_row<Space, LoadElement<1, false, Part::kHigh>>(prefix "_load_ubyte_d16_hi"), \
      load_row<Space, LoadElement<1, true, Part::kLow>>(prefix "_load_sbyte_d16"),      \
      load_row<Space, LoadElement<1, true, Part::kHigh>>(prefix "_load_sbyte_d16_hi"),  \
      load_row<Space, LoadElement<2, false, Part::kLow>>(prefix "_load_short_d16"),     \
      load_row<Space, LoadElement<2, false, Part::kHigh>>(prefix "_load_short_d16_hi"), \
      store_row<Space, StoreElement<1>>(prefix "_store_byte"),                          \
      store_row<Space, StoreElement<1, true>>(prefix "_store_byte_d16_hi"),             \
      store_row<Space, StoreElement<2>>(prefix "_store_short"),                         \
      store_row<Space, StoreElement<2, true>>(prefix "_store_short_d16_hi"),            \
      store_row<Space, StoreElement<4>>(prefix "_store_dword"),                         \
      store_row<Space, StoreElement<8>>(prefix "_store_dwordx2"),                       \
      store_row<Space, StoreElement<12>>(prefix "_store_dwordx3"),                      \
      store_row<Space, StoreElement<16>>(prefix "_store_dwordx4")

#define MHCHECK_SIGNED_ATOMIC(prefix, Space, name, Op)    \
  atomic_row<Space, Op<int32_t>>(prefix "_atomic_" name), \
      atomic_row<Space, Op<int64_t>>(prefix "_atomic_" name "_x2")
#define MHCHECK_UNSIGNED_ATOMIC(prefix, Space, name, Op)   \
  atomic_row<Space, Op<uint32_t>>(prefix "_atomic_" name), \
      atomic_row<Space, Op<uint64_t>>(prefix "_atomic_" name "_x2")
#define MHCHECK_ATOMICS(prefix, Space)                                      \
  MHCHECK_UNSIGNED_ATOMIC(prefix, Space, "swap", AtomicSwap),               \
      MHCHECK_UNSIGNED_ATOMIC(prefix, Space, "cmpswap", AtomicCompareSwap), \
      MHCHECK_UNSIGNED_ATOMIC(prefix, Space, "add", AtomicAdd),             \
      MHCHECK_UNSIGNED_ATOMIC(prefix, Space, "sub", AtomicSub),             \
      MHCHECK_SIGNED_ATOMIC(prefix, Space, "smin", AtomicMin),              \
      MHCHECK_UNSIGNED_ATOMIC(prefix, Space, "umin", AtomicMin),            \
      MHCHECK_SIGNED_ATOMIC(prefix, Space, "smax", AtomicMax),              \
      MHCHECK_UNSIGNED_ATOMIC(prefix, Space, "umax", AtomicMax),            \
      MHCHECK_UNSIGNED_ATOMIC(prefix, Space, "and", AtomicAnd),             \
      MHCHECK_UNSIGNED_ATOMIC(prefix, Space, "or", AtomicOr),               \
      MHCHECK_UNSIGNED_ATOMIC(prefix, Space, "xor", AtomicXor),             \
      MHCHECK_UNSIGNED_ATOMIC(prefix, Space, "inc", AtomicInc),             \
      MHCHECK_UNSIGNED_ATOMIC(prefix, Space, "dec", AtomicDec),             \
      atomic_row<Space, AtomicAddF32<true>>(prefix "_atomic_add_f32"),      \
      atomic_row<Space, AtomicAddF64>(prefix "_atomic_add_f64"),            \
      atomic_row<Space, AtomicMinF64>(prefix "_atomic_min_f64"),            \
      atomic_row<Space, AtomicMaxF64>(prefix "_atomic_max_f64"),            \
      atomic_row<Space, AtomicPkAddF16>(prefix "_atomic_pk_add_f16"),       \
      atomic_row<Space, AtomicPkAddBf16>(prefix "_atomic_pk_add_bf16")

constexpr Row kRows[] = {
    MHCHECK_LOADS_AND_STORES("global", Global),
    MHCHECK_LOADS_AND_STORES("flat", Flat),
    MHCHECK_LOADS_AND_STORES("scratch", Scratch),
    MHCHECK_ATOMICS("global", Global),
    MHCHECK_ATOMICS("flat", Flat),
    lds_row<Global, LoadElement<1>>("global_load_lds_ubyte"),
    lds_row<Global, LoadElement<1, true>>("global_load_lds_sbyte"),
    lds_row<Global, LoadElement<2>>("global_load_lds_ushort"),
    lds_row<Global, LoadElement<2, true>>("global_load_lds_sshort"),
    lds_row<Global, LoadElement<4>>("global_load_lds_dword"),
    lds_row<Global, LoadElement<12>>("global_load_lds_dwordx3"),
    lds_row<Global, LoadElement<16>>("global_load_lds_dwordx4"),
    lds_row<Scratch, LoadElement<1>>("scratch_load_lds_ubyte"),
    lds_row<Scratch, LoadElement<1, true>>("scratch_load_lds_sbyte"),
    lds_row<Scratch, LoadElement<2>>("scratch_load_lds_ushort"),
    lds_row<Scratch, LoadElement<2, true>>("scratch_load_lds_sshort"),
    lds_row<Scratch, LoadElement<4>>("scratch_load_lds_dword"),
};

#undef MHCHECK_ATOMICS
#undef MHCHECK_UNSIGNED_ATOMIC
#undef MHCHECK_SIGNED_ATOMIC
#undef MHCHECK_LOADS_AND_STORES

}  // namespace

std::span<const Row> global_rows() { return kRows; }

}  // namespace mhcheck::simulator::MHCHECK_ISA

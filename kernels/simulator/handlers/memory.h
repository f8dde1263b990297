#pragma once

#include <bit>
#include <cstring>

#include "kernels/simulator/handlers/lanes.h"
#include "kernels/simulator/memory_access.h"

// What all vector memory instructions share: element widths, the walk over active lanes, atomics. Each
// instruction first puts its lanes' byte addresses into wave.address, then one of these moves the data. This
// is where the instrumented copy of the handlers observes accesses (docs/sanitizers.md).
namespace mhcheck::simulator::MHCHECK_ISA {

// ---- Observation: nothing but the identity in the ordinary handlers

#ifdef MHCHECK_WATCHED
constexpr bool kWatched = true;
#else
constexpr bool kWatched = false;
#endif

MHCHECK_LANE uint64_t observed(Wave& wave, AccessKind kind, uint64_t active, int bytes) {
  if constexpr (kWatched) return observe_access(wave, kind, active, static_cast<uint32_t>(bytes));
  return active;
}
MHCHECK_LANE uint64_t observed_scratch(Wave& wave, AccessKind kind, uint64_t active, int bytes) {
  if constexpr (kWatched) return observe_scratch(wave, kind, active, static_cast<uint32_t>(bytes));
  return active;
}

// ---- What a load puts into registers

enum class Part : uint8_t { kWhole, kLow, kHigh };  // kLow and kHigh: a 16-bit half, the other half is kept

template <int kBytes, bool kSigned = false, Part kPart = Part::kWhole>
struct LoadElement {
  static constexpr int bytes = kBytes;
  static constexpr int words = (kBytes + 3) / 4;
  static constexpr Type type = words == 1   ? Type::kB32
                               : words == 2 ? Type::kB64
                               : words == 3 ? Type::kB96
                                            : Type::kB128;

  MHCHECK_LANE uint32_t extend(const std::byte* from) {
    uint32_t value = 0;
    std::memcpy(&value, from, kBytes < 4 ? kBytes : 4);
    if (kSigned && kBytes == 1) return static_cast<uint32_t>(static_cast<int8_t>(value));
    if (kSigned && kBytes == 2) return static_cast<uint32_t>(static_cast<int16_t>(value));
    return value;
  }
  MHCHECK_LANE void put(uint32_t* target, int lane, const std::byte* from) {
    if constexpr (kPart == Part::kLow) {
      target[lane] = (target[lane] & 0xffff0000u) | (extend(from) & 0xffffu);
    } else if constexpr (kPart == Part::kHigh) {
      target[lane] = (target[lane] & 0xffffu) | extend(from) << 16;
    } else if constexpr (words == 1) {
      target[lane] = extend(from);
    } else {
      uint32_t value[words];
      std::memcpy(value, from, kBytes);
      for (int w = 0; w < words; ++w) target[w * kLanes + lane] = value[w];
    }
  }
  /// The value as dwords in a row, which is how it goes to LDS.
  MHCHECK_LANE void write_dwords(std::byte* to, const std::byte* from) {
    if constexpr (words == 1) {
      const uint32_t value = extend(from);
      std::memcpy(to, &value, sizeof value);
    } else {
      std::memcpy(to, from, kBytes);
    }
  }
  MHCHECK_LANE void put_zero(uint32_t* target, int lane) {
    constexpr std::byte kZeros[16] = {};
    put(target, lane, kZeros);
  }
};

// ---- What a store takes from registers

template <int kBytes, bool kHighHalf = false>
struct StoreElement {
  static constexpr int bytes = kBytes;
  static constexpr int words = (kBytes + 3) / 4;
  static constexpr Type type = LoadElement<kBytes>::type;

  MHCHECK_LANE void take(const uint32_t* data, int lane, std::byte* to) {
    uint32_t value[words];
    for (int w = 0; w < words; ++w) value[w] = data[w * kLanes + lane];
    if (kHighHalf) value[0] >>= 16;
    std::memcpy(to, value, kBytes);
  }
};

// ---- Global memory

MHCHECK_LANE uint64_t active_bytes(uint64_t active, int bytes) {
  return static_cast<uint64_t>(std::popcount(active)) * static_cast<uint64_t>(bytes);
}

/// All active lanes' bytes when they lie in one allocation, which is nearly always.
struct Window {
  std::byte* host = nullptr;  // of `first`; null where the lanes have to be looked up one by one
  uint64_t first = 0;
  bool consecutive = false;  // 64 active lanes, each right behind the previous one
};

MHCHECK_LANE bool all_consecutive(const Wave& wave, uint64_t active, uint64_t bytes) {
  if (~active) return false;
  const uint64_t start = wave.address[0];
  uint64_t out_of_step = 0;
  for (uint64_t lane = 0; lane < kLanes; ++lane) out_of_step |= wave.address[lane] ^ (start + lane * bytes);
  return out_of_step == 0;
}

MHCHECK_LANE Window find_window(Wave& wave, uint64_t active, uint64_t bytes) {
  if (all_consecutive(wave, active, bytes)) {
    const uint64_t start = wave.address[0];
    const Allocation* allocation = find_allocation(wave, start, kLanes * bytes);
    if (!allocation) return {};
    touch_lines(*allocation, start, kLanes * bytes);
    return {allocation->bytes.get() + (start - allocation->address), start, true};
  }
  uint64_t first = ~uint64_t{0}, last = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint64_t address = wave.address[lane];
    const uint64_t idle = (active >> lane & 1) - 1;  // all ones for an inactive lane
    const uint64_t low = address | idle, high = address & ~idle;
    first = low < first ? low : first;
    last = high > last ? high : last;
  }
  if (last < first || last + bytes < last) return {};
  const Allocation* allocation = find_allocation(wave, first, last - first + bytes);
  if (!allocation) return {};
  const Window window{allocation->bytes.get() + (first - allocation->address), first, false};
  if (last - first < Memory::kCacheLine) {
    touch_lines(*allocation, first, last - first + bytes);
  } else {
    for (int lane = 0; lane < kLanes; ++lane) {
      if (active >> lane & 1) touch_lines(*allocation, wave.address[lane], bytes);
    }
  }
  return window;
}

/// A dword anywhere in host memory.
using HostDword [[gnu::may_alias, gnu::aligned(1)]] = uint32_t;

// Lane after lane in memory, register after register here: loops that compilers turn into shuffles.
template <int kWords>
MHCHECK_LANE void gather_rows(const std::byte* host, uint32_t* target) {
  const auto* from = reinterpret_cast<const HostDword*>(host);
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int w = 0; w < kWords; ++w) target[w * kLanes + lane] = from[lane * kWords + w];
  }
}
template <int kWords>
MHCHECK_LANE void scatter_rows(const uint32_t* data, std::byte* host) {
  auto* to = reinterpret_cast<HostDword*>(host);
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int w = 0; w < kWords; ++w) to[lane * kWords + w] = data[w * kLanes + lane];
  }
}

/// Calls visit(lane, host) for each active lane, in lane order.
template <class Visit>
MHCHECK_LANE void visit_global(Wave& wave, uint64_t active, uint64_t bytes, Visit visit) {
  if (!active) return;
  const Window window = find_window(wave, active, bytes);
  for (uint64_t rest = active; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    visit(lane, window.host ? window.host + (wave.address[lane] - window.first)
                            : touch_global(wave, wave.address[lane], bytes));
  }
}

template <class Element>
MHCHECK_LANE void load_global(Wave& wave, uint64_t active, uint32_t* target) {
  wave.memory_bytes_read += active_bytes(active, Element::bytes);
  active = observed(wave, AccessKind::kLoad, active, Element::bytes);
  if (!active) return;
  const Window window = find_window(wave, active, Element::bytes);
  if (window.consecutive && Element::bytes >= 4) {
    gather_rows<Element::words>(window.host, target);
    return;
  }
  for (uint64_t rest = active; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    Element::put(target, lane,
                 window.host ? window.host + (wave.address[lane] - window.first)
                             : touch_global(wave, wave.address[lane], Element::bytes));
  }
}

template <class Element>
MHCHECK_LANE void store_global(Wave& wave, uint64_t active, const uint32_t* data) {
  wave.memory_bytes_written += active_bytes(active, Element::bytes);
  active = observed(wave, AccessKind::kStore, active, Element::bytes);
  if (!active) return;
  const Window window = find_window(wave, active, Element::bytes);
  if (window.consecutive && Element::bytes >= 4) {
    scatter_rows<Element::words>(data, window.host);
    return;
  }
  for (uint64_t rest = active; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    Element::take(data, lane,
                  window.host ? window.host + (wave.address[lane] - window.first)
                              : touch_global(wave, wave.address[lane], Element::bytes));
  }
}

// ---- Atomic operations: old value and operand to new value

template <class T>
struct AtomicAdd {
  using Value = T;
  MHCHECK_LANE T apply(T old, T data) { return static_cast<T>(old + data); }
};
template <class T>
struct AtomicSub {
  using Value = T;
  MHCHECK_LANE T apply(T old, T data) { return static_cast<T>(old - data); }
};
template <class T>
struct AtomicRsub {
  using Value = T;
  MHCHECK_LANE T apply(T old, T data) { return static_cast<T>(data - old); }
};
template <class T>
struct AtomicMin {
  using Value = T;
  MHCHECK_LANE T apply(T old, T data) { return data < old ? data : old; }
};
template <class T>
struct AtomicMax {
  using Value = T;
  MHCHECK_LANE T apply(T old, T data) { return data > old ? data : old; }
};
template <class T>
struct AtomicAnd {
  using Value = T;
  MHCHECK_LANE T apply(T old, T data) { return old & data; }
};
template <class T>
struct AtomicOr {
  using Value = T;
  MHCHECK_LANE T apply(T old, T data) { return old | data; }
};
template <class T>
struct AtomicXor {
  using Value = T;
  MHCHECK_LANE T apply(T old, T data) { return old ^ data; }
};
template <class T>
struct AtomicSwap {
  using Value = T;
  MHCHECK_LANE T apply(T, T data) { return data; }
};
template <class T>
struct AtomicInc {
  using Value = T;
  MHCHECK_LANE T apply(T old, T data) { return old >= data ? 0 : old + 1; }
};
template <class T>
struct AtomicDec {
  using Value = T;
  MHCHECK_LANE T apply(T old, T data) { return old == 0 || old > data ? data : old - 1; }
};
/// Subtracts, or adds a second operand where that would wrap: data is the amount, `other` the addend.
template <class T>
struct AtomicWrap {
  using Value = T;
  MHCHECK_LANE T apply(T old, T data, T other) { return old >= data ? old - data : old + other; }
};
/// `data` replaces a value equal to `compare`.
template <class T>
struct AtomicCompareSwap {
  using Value = T;
  MHCHECK_LANE T apply(T old, T data, T compare) { return old == compare ? data : old; }
};
/// The same for floats, by their values.
template <class Word, bool kFlush>
struct AtomicCompareSwapFloat {
  using Value = Word;
  static constexpr int mantissa_bits = sizeof(Word) == 4 ? 23 : 52;
  static constexpr Word sign = Word(1) << (sizeof(Word) * 8 - 1);
  static constexpr Word infinity = (sign - 1) & ~((Word(1) << mantissa_bits) - 1);
  MHCHECK_LANE Word flushed(Word x) { return kFlush && (x & infinity) == 0 ? x & sign : x; }
  MHCHECK_LANE Word apply(Word old, Word data, Word compare) {
    const Word a = flushed(old), b = flushed(compare);
    const bool numbers = (a & ~sign) <= infinity && (b & ~sign) <= infinity;
    const bool equal = numbers && (a == b || ((a | b) & ~sign) == 0);
    return flushed(equal ? data : old);
  }
};
/// Each dword of `data` whose top bit is set replaces its counterpart, without that bit.
struct AtomicExchangeMarked {
  using Value = uint64_t;
  MHCHECK_LANE uint64_t apply(uint64_t old, uint64_t data) {
    uint64_t result = old;
    for (int shift : {0, 32}) {
      const uint64_t dword = data >> shift & 0xffffffffu;
      if (dword >> 31) result = (result & ~(uint64_t{0xffffffffu} << shift)) | (dword & 0x7fffffffu) << shift;
    }
    return result;
  }
};
/// Clears the bits of `data`, then sets those of `other`.
template <class T>
struct AtomicMaskOr {
  using Value = T;
  MHCHECK_LANE T apply(T old, T data, T other) { return (old & ~data) | other; }
};

MHCHECK_LANE float flush_denormal(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }
MHCHECK_LANE uint32_t quiet_sum(float x) { return x != x ? (bits(x) | 0x400000u) & 0x7fffffffu : bits(x); }

template <bool kFlush>
struct AtomicAddF32 {
  using Value = uint32_t;
  MHCHECK_LANE uint32_t apply(uint32_t old, uint32_t data) {
    if (kFlush) return quiet_sum(flush_denormal(flush_denormal(f32(old)) + flush_denormal(f32(data))));
    return quiet_sum(f32(old) + f32(data));
  }
};
struct AtomicAddF64 {
  using Value = uint64_t;
  MHCHECK_LANE uint64_t apply(uint64_t old, uint64_t data) {
    const double sum = f64(old) + f64(data);
    return sum != sum ? uint64_t{0x7ff8} << 48 : bits(sum);
  }
};
/// Minimum and maximum of floats: a NaN loses against a number, -0 is below +0.
template <class Word, bool kMax>
struct AtomicExtreme {
  using Value = Word;
  static constexpr Word sign = Word(1) << (sizeof(Word) * 8 - 1);
  static constexpr Word infinity =
      sizeof(Word) == 4 ? Word(0x7f800000u) : static_cast<Word>(uint64_t{0x7ff} << 52);
  MHCHECK_LANE Word apply(Word old, Word data) {
    const auto order = [](Word x) { return x & sign ? static_cast<Word>(~x) : static_cast<Word>(x | sign); };
    if ((data & ~sign) > infinity) return old;
    if ((old & ~sign) > infinity) return data;
    return (kMax ? order(data) > order(old) : order(data) < order(old)) ? data : old;
  }
};
using AtomicMinF64 = AtomicExtreme<uint64_t, false>;
using AtomicMaxF64 = AtomicExtreme<uint64_t, true>;
using AtomicMinF32 = AtomicExtreme<uint32_t, false>;
using AtomicMaxF32 = AtomicExtreme<uint32_t, true>;
struct AtomicPkAddF16 {
  using Value = uint32_t;
  MHCHECK_LANE uint32_t add(uint32_t a, uint32_t b) {
    const float sum = half_to_float(a & 0xffff) + half_to_float(b & 0xffff);
    return sum != sum ? 0x7e00u : float_to_half(sum);
  }
  MHCHECK_LANE uint32_t apply(uint32_t old, uint32_t data) {
    return add(old, data) | add(old >> 16, data >> 16) << 16;
  }
};
struct AtomicPkAddBf16 {
  using Value = uint32_t;
  MHCHECK_LANE uint32_t add(uint32_t a, uint32_t b) {
    const float sum = bf16_to_float(a & 0xffff) + bf16_to_float(b & 0xffff);
    return sum != sum ? 0x7fc0u : float_to_bf16(sum);
  }
  MHCHECK_LANE uint32_t apply(uint32_t old, uint32_t data) {
    return add(old, data) | add(old >> 16, data >> 16) << 16;
  }
};

template <class Word>
MHCHECK_LANE Word read_word(const uint32_t* registers, int lane) {
  if constexpr (sizeof(Word) == 8) return static_cast<Word>(B64::load(registers, lane));
  return static_cast<Word>(registers[lane]);
}
template <class Word>
MHCHECK_LANE void write_word(uint32_t* registers, int lane, Word value) {
  registers[lane] = static_cast<uint32_t>(value);
  if constexpr (sizeof(Word) == 8)
    registers[kLanes + lane] = static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32);
}

/// One lane's read-modify-write. `data` and `other` are registers, `target` too, null where nobody wants the
/// old value.
template <class Op>
MHCHECK_LANE void modify(std::byte* host, int lane, const uint32_t* data, const uint32_t* other,
                         uint32_t* target) {
  using Word = typename Op::Value;
  Word old, updated;
  std::memcpy(&old, host, sizeof old);
  if constexpr (requires(Word w) { Op::apply(w, w, w); }) {
    updated = Op::apply(old, read_word<Word>(data, lane), read_word<Word>(other, lane));
  } else {
    updated = Op::apply(old, read_word<Word>(data, lane));
  }
  std::memcpy(host, &updated, sizeof updated);
  if (target) write_word(target, lane, old);
}

}  // namespace mhcheck::simulator::MHCHECK_ISA

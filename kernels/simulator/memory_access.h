#pragma once

#include <cstdint>

#include "kernels/simulator/wave.h"

// What handlers need from the rest of the simulator, out of line: no template or inline function of the
// standard library is instantiated in code that is compiled for a particular host instruction set.
namespace mhcheck::simulator {

/// Host pointer to device bytes [address, address + bytes), counted as touched cache lines. Throws
/// MemoryFault.
std::byte* touch_global(Wave& wave, uint64_t address, uint64_t bytes);
/// Counts cache lines of an access that touch_global did not see whole. `bytes` > 0, all within `allocation`.
void touch_lines(const Allocation& allocation, uint64_t address, uint64_t bytes);
/// The allocation that holds all of [first, first + bytes), or null. Remembers the last one of the wave.
const Allocation* find_allocation(Wave& wave, uint64_t first, uint64_t bytes);

// ---- What the instrumented copy of the memory handlers tells before it moves data. Addresses are those in
// wave.address; the returned lanes are the ones whose access may go on.

enum class AccessKind : uint8_t { kLoad, kStore, kAtomic };

/// Global memory, and through FLAT's apertures LDS and scratch.
uint64_t observe_access(Wave& wave, AccessKind kind, uint64_t active, uint32_t bytes);
uint64_t observe_scratch(Wave& wave, AccessKind kind, uint64_t active, uint32_t bytes);
/// LDS: beyond the allocation the hardware reads 0 and drops writes, so every lane goes on.
void observe_lds(Wave& wave, AccessKind kind, uint64_t active, uint32_t bytes);
/// A load to LDS is about to write `bytes` at base + stride * lane.
void observe_lds_delivery(Wave& wave, uint64_t active, uint32_t base, uint32_t stride, uint32_t bytes);
/// The resource of the buffer instruction whose accesses follow, and the lanes that its range check stops,
/// wholly or in part.
void observe_resource(Wave& wave, uint64_t base, uint64_t clamped);
/// The first bytes of an access in one lane, the rest of which the range check has stopped; false: skip it.
bool observe_part(Wave& wave, AccessKind kind, int lane, uint32_t bytes);
/// A scalar access that moves data to or from scalar registers; false: a load gives zeros, a store does
/// nothing.
bool observe_scalar(Wave& wave, AccessKind kind, unsigned first_register, uint64_t address, uint32_t bytes);

/// One instruction under the eyes of the sanitizers; only where wave.watch is not null.
void execute_watched(Wave& wave, const Instruction& instruction);

[[noreturn]] void raise_scratch_fault(const Wave& wave, uint64_t offset, uint32_t bytes, int lane);
[[noreturn]] void raise_lds_aperture_fault(const Wave& wave, uint64_t offset, uint32_t bytes, int lane);
[[noreturn]] void raise_illegal(const char* message);

/// Bank conflicts of one LDS access: 64 banks of one dword. `active` lanes access `dwords` consecutive dwords
/// at byte addresses `address`; lanes go in groups of 64 (one dword), 32 (two) or 16 (three and four).
/// Returns the cycles beyond one a group.
uint64_t count_bank_conflicts(const uint64_t* address, uint64_t active, unsigned dwords);

}  // namespace mhcheck::simulator

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

[[noreturn]] void raise_scratch_fault(const Wave& wave, uint64_t offset, uint32_t bytes, int lane);
[[noreturn]] void raise_lds_aperture_fault(const Wave& wave, uint64_t offset, uint32_t bytes, int lane);
[[noreturn]] void raise_illegal(const char* message);

/// Bank conflicts of one LDS access: 64 banks of one dword. `active` lanes access `dwords` consecutive dwords
/// at byte addresses `address`; lanes go in groups of 64 (one dword), 32 (two) or 16 (three and four).
/// Returns the cycles beyond one a group.
uint64_t count_bank_conflicts(const uint64_t* address, uint64_t active, unsigned dwords);

}  // namespace mhcheck::simulator

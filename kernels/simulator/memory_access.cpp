#include "kernels/simulator/memory_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "kernels/simulator/fault.h"

namespace mhcheck::simulator {

void touch_lines(const Allocation& allocation, uint64_t address, uint64_t bytes) {
  const uint64_t first = (address - allocation.address) / Memory::kCacheLine;
  const uint64_t last = (address + bytes - 1 - allocation.address) / Memory::kCacheLine;
  for (uint64_t word = first / 64; word <= last / 64; ++word) {
    uint64_t lines = ~uint64_t{0};
    if (word == first / 64) lines &= ~uint64_t{0} << (first % 64);
    if (word == last / 64) lines &= ~uint64_t{0} >> (63 - last % 64);
    std::atomic<uint64_t>& touched = allocation.touched_lines[word];
    // Most accesses touch what is touched already; writing only then keeps the word shared between threads.
    if ((touched.load(std::memory_order_relaxed) & lines) != lines)
      touched.fetch_or(lines, std::memory_order_relaxed);
  }
}

const Allocation* find_allocation(Wave& wave, uint64_t first, uint64_t bytes) {
  if (wave.recent_allocation && wave.recent_allocation->contains(first, bytes)) return wave.recent_allocation;
  const Allocation* found = wave.memory->find(first, bytes);
  if (found) wave.recent_allocation = found;
  return found;
}

std::byte* touch_global(Wave& wave, uint64_t address, uint64_t bytes) {
  const Allocation* allocation = find_allocation(wave, address, bytes);
  if (!allocation) return wave.memory->translate(address, bytes);  // throws
  touch_lines(*allocation, address, bytes);
  return allocation->bytes.get() + (address - allocation->address);
}

void raise_scratch_fault(const Wave& wave, uint64_t offset, uint32_t bytes, int lane) {
  throw MemoryFault(
      fmt::format("scratch access of {} bytes at offset {:#x} in lane {}: the kernel has {} bytes a lane",
                  bytes, offset, lane, wave.scratch_bytes),
      kPrivateAperture + offset);
}

void raise_lds_aperture_fault(const Wave& wave, uint64_t offset, uint32_t bytes, int lane) {
  throw MemoryFault(
      fmt::format("flat access of {} bytes at LDS offset {:#x} in lane {}: the workgroup has {} bytes", bytes,
                  offset, lane, wave.group->lds_bytes),
      kSharedAperture + offset);
}

void raise_illegal(const char* message) { throw IllegalOperation(message); }

uint64_t count_bank_conflicts(const uint64_t* address, uint64_t active, unsigned dwords) {
  constexpr unsigned kBanks = 64;
  const int group_size = dwords == 1 ? kLanes : dwords == 2 ? kLanes / 2 : kLanes / 4;
  uint64_t conflicts = 0;
  for (int first = 0; first < kLanes; first += group_size) {
    // A bank serves one dword a cycle; lanes that want the same dword share it.
    uint64_t wanted[kBanks][kLanes];
    unsigned distinct[kBanks] = {};
    unsigned worst = 1;
    for (int lane = first; lane < first + group_size; ++lane) {
      if (!(active >> lane & 1)) continue;
      for (unsigned d = 0; d < dwords; ++d) {
        const uint64_t dword = address[lane] / 4 + d;
        const unsigned bank = dword % kBanks;
        const auto end = wanted[bank] + distinct[bank];
        if (std::find(wanted[bank], end, dword) != end) continue;
        wanted[bank][distinct[bank]++] = dword;
        worst = std::max(worst, distinct[bank]);
      }
    }
    conflicts += worst - 1;
  }
  return conflicts;
}

}  // namespace mhcheck::simulator

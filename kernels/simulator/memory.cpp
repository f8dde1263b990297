#include "kernels/simulator/memory.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "kernels/simulator/fault.h"

namespace mhcheck::simulator {
namespace {

uint64_t round_up(uint64_t value, uint64_t alignment) { return (value + alignment - 1) & ~(alignment - 1); }

uint64_t touched_words(uint64_t size) {
  const uint64_t lines = (size + Memory::kCacheLine - 1) / Memory::kCacheLine;
  return (lines + 63) / 64;
}

void fill_with_poison(std::byte* bytes, uint64_t size) {
  for (uint64_t i = 0; i < size; i += sizeof kPoison) {
    std::memcpy(bytes + i, &kPoison, std::min<uint64_t>(sizeof kPoison, size - i));
  }
}

}  // namespace

uint64_t Memory::allocate(uint64_t bytes, std::string name, uint64_t alignment) {
  Allocation allocation;
  allocation.address = round_up(next_address_, alignment);
  allocation.size = bytes;
  allocation.name = name.empty() ? fmt::format("allocation {}", allocations_.size()) : std::move(name);
  allocation.bytes.reset(new std::byte[bytes]);
  allocation.touched_lines = std::make_unique<std::atomic<uint64_t>[]>(touched_words(bytes));
  fill_with_poison(allocation.bytes.get(), bytes);
  const uint64_t address = allocation.address;
  next_address_ = round_up(address + bytes, 256) + kRedZone;
  allocations_.emplace(address, std::move(allocation));
  return address;
}

void Memory::free(uint64_t address) {
  if (allocations_.erase(address) == 0) {
    throw MemoryFault(
        fmt::format("free of {}, which is not the start of a live allocation", describe(address)), address);
  }
}

void Memory::write(uint64_t address, std::span<const std::byte> source) {
  if (!source.empty()) std::memcpy(translate(address, source.size()), source.data(), source.size());
}

void Memory::read(uint64_t address, std::span<std::byte> target) const {
  if (!target.empty()) std::memcpy(target.data(), translate(address, target.size()), target.size());
}

const Allocation* Memory::find(uint64_t address, uint64_t bytes) const {
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return nullptr;
  const Allocation& candidate = std::prev(after)->second;
  return candidate.contains(address, bytes) ? &candidate : nullptr;
}

std::byte* Memory::translate(uint64_t address, uint64_t bytes) const {
  if (const Allocation* allocation = find(address, bytes)) {
    return allocation->bytes.get() + (address - allocation->address);
  }
  // Name the first bad byte, which for an access that starts inside an allocation is that allocation's end.
  const Allocation* first = find(address, 1);
  const uint64_t bad = first ? first->address + first->size : address;
  throw MemoryFault(fmt::format("access of {} bytes at {:#x}: {}", bytes, address, describe(bad)), bad);
}

std::string Memory::describe(uint64_t address) const {
  const Allocation* nearest = nullptr;
  uint64_t distance = ~uint64_t{0};
  auto after = allocations_.upper_bound(address);
  if (after != allocations_.end()) {
    nearest = &after->second;
    distance = nearest->address - address;
  }
  if (after != allocations_.begin()) {
    const Allocation& before = std::prev(after)->second;
    if (address - before.address < before.size) {
      return fmt::format("{:#x} is byte {} of {} ({:#x}, {} bytes)", address, address - before.address,
                         before.name, before.address, before.size);
    }
    const uint64_t past_end = address - (before.address + before.size);
    if (past_end <= distance) {
      return fmt::format("{:#x} is {} bytes past the end of {} ({:#x}, {} bytes)", address, past_end,
                         before.name, before.address, before.size);
    }
  }
  if (!nearest) return fmt::format("{:#x} is not mapped, and nothing is allocated", address);
  return fmt::format("{:#x} is {} bytes before {} ({:#x}, {} bytes)", address, distance, nearest->name,
                     nearest->address, nearest->size);
}

void Memory::clear_touched_lines() const {
  for (const auto& [address, allocation] : allocations_) {
    for (uint64_t i = 0; i < touched_words(allocation.size); ++i) allocation.touched_lines[i].store(0);
  }
}

uint64_t Memory::count_touched_lines() const {
  uint64_t lines = 0;
  for (const auto& [address, allocation] : allocations_) {
    for (uint64_t i = 0; i < touched_words(allocation.size); ++i) {
      lines += static_cast<uint64_t>(std::popcount(allocation.touched_lines[i].load()));
    }
  }
  return lines;
}

}  // namespace mhcheck::simulator

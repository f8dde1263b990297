#include "kernels/simulator/sanitizers/memory_shadow.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace mhcheck::simulator {

AllocationShadow::AllocationShadow(uint64_t address, uint64_t size, std::string name)
    : address_(address),
      size_(size),
      name_(std::move(name)),
      all_written_(size == 0),
      written_((size + 63) / 64) {}

std::string AllocationShadow::element_at(uint64_t offset) const {
  const uint64_t element = offset / use.element_bytes;
  std::vector<uint64_t> index{element};
  if (!use.extents.empty()) {
    index.assign(use.extents.size(), 0);
    uint64_t rest = element;
    for (size_t axis = use.extents.size(); axis-- > 1;) {
      const auto extent = static_cast<uint64_t>(std::max<int64_t>(use.extents[axis], 1));
      index[axis] = rest % extent;
      rest /= extent;
    }
    index[0] = rest;
  }
  return fmt::format("{}[{}] (byte {} of {})", name_, fmt::join(index, ", "), offset, size_);
}

void AllocationShadow::mark_written(uint64_t offset, uint64_t bytes) {
  if (all_written_) return;
  if (bytes == size_) {
    all_written_ = true;
    return;
  }
  while (bytes > 0) {
    const uint64_t bit = offset % 64, count = std::min<uint64_t>(bytes, 64 - bit);
    written_[offset / 64] |= (count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << bit;
    offset += count;
    bytes -= count;
  }
}

uint64_t AllocationShadow::first_unwritten(uint64_t offset) const {
  if (all_written_) return size_;
  while (offset < size_) {
    const uint64_t missing = ~written_[offset / 64] >> (offset % 64);
    if (missing) return std::min(size_, offset + static_cast<uint64_t>(std::countr_zero(missing)));
    offset = (offset / 64 + 1) * 64;
  }
  return size_;
}

Granule& AllocationShadow::granule(uint64_t number) {
  if (pages_.empty()) pages_.resize(size_ / Granule::kBytes / kPageGranules + 1);
  std::unique_ptr<Granule[]>& page = pages_[number / kPageGranules];
  if (!page) page = std::make_unique<Granule[]>(kPageGranules);
  return page[number % kPageGranules];
}

void MemoryShadow::add(uint64_t address, uint64_t size, std::string name) {
  allocations_.emplace(address, AllocationShadow(address, size, std::move(name)));
}

AllocationShadow* MemoryShadow::find(uint64_t address, uint64_t bytes) {
  const auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return nullptr;
  AllocationShadow& candidate = std::prev(after)->second;
  return candidate.contains(address, bytes) ? &candidate : nullptr;
}

}  // namespace mhcheck::simulator

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
      written_((size + 63) / 64),
      history_(size) {}

void AllocationShadow::declare(BufferUse use) {
  use_ = std::move(use);
  padding_.clear();
  if (use_.tensor.empty() || use_.tensor == use_.extents) return;
  padding_.assign(written_.size(), ~uint64_t{0});
  const uint64_t elements = size_ / use_.element_bytes;
  for (uint64_t element = 0; element < elements; ++element) {
    uint64_t rest = element;
    bool inside = true;
    for (size_t axis = use_.extents.size(); axis-- > 0;) {
      const auto extent = static_cast<uint64_t>(use_.extents[axis]);
      inside &= rest % extent < static_cast<uint64_t>(use_.tensor[axis]);
      rest /= extent;
    }
    if (!inside) continue;
    for (uint64_t at = element * use_.element_bytes; at < (element + 1) * use_.element_bytes; ++at)
      padding_[at / 64] &= ~(uint64_t{1} << (at % 64));
  }
  // Nobody is expected to write there.
  for (uint64_t at = 0; at < size_; ++at) {
    if (touches_padding(at, 1)) mark_written(at, 1);
  }
}

bool AllocationShadow::touches_padding(uint64_t offset, uint64_t bytes) const {
  if (padding_.empty()) return false;
  for (uint64_t at = offset; at < offset + bytes; ++at) {
    if (padding_[at / 64] >> (at % 64) & 1) return true;
  }
  return false;
}

uint64_t AllocationShadow::first_padding(uint64_t offset) const {
  while (!touches_padding(offset, 1)) ++offset;
  return offset;
}

std::string AllocationShadow::element_at(uint64_t offset) const {
  const uint64_t element = offset / use_.element_bytes;
  std::vector<uint64_t> index{element};
  if (!use_.extents.empty()) {
    index.assign(use_.extents.size(), 0);
    uint64_t rest = element;
    for (size_t axis = use_.extents.size(); axis-- > 1;) {
      const auto extent = static_cast<uint64_t>(std::max<int64_t>(use_.extents[axis], 1));
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

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/simulator/sanitizers/access_history.h"
#include "kernels/simulator/sanitizers/buffer_use.h"

namespace mhcheck::simulator {

/// What the sanitizers know about one allocation of global memory.
class AllocationShadow {
 public:
  AllocationShadow(uint64_t address, uint64_t size, std::string name);

  uint64_t address() const { return address_; }
  uint64_t size() const { return size_; }
  bool contains(uint64_t first, uint64_t bytes) const {
    return first >= address_ && bytes <= size_ && first - address_ <= size_ - bytes;
  }

  const BufferUse& use() const { return use_; }
  /// Before anything is written.
  void declare(BufferUse use);
  /// "next_residual[0, 3, 17] (byte 70 of 4096)".
  std::string element_at(uint64_t offset) const;

  /// Bytes that somebody has written.
  bool all_written() const { return all_written_; }
  bool written(uint64_t offset) const { return all_written_ || (written_[offset / 64] >> (offset % 64) & 1); }
  void mark_written(uint64_t offset, uint64_t bytes);
  /// The first byte from `offset` on that nobody has written, or size().
  uint64_t first_unwritten(uint64_t offset) const;

  bool has_padding() const { return !padding_.empty(); }
  /// Whether some of these bytes lie beside the tensor that the allocation holds.
  bool touches_padding(uint64_t offset, uint64_t bytes) const;
  /// The first byte from `offset` on that lies beside the tensor; there must be one.
  uint64_t first_padding(uint64_t offset) const;

  AccessHistory& history() { return history_; }

 private:
  uint64_t address_, size_;
  std::string name_;
  bool all_written_ = false;
  BufferUse use_;
  std::vector<uint64_t> written_;
  std::vector<uint64_t> padding_;  // a bit a byte; empty where the tensor fills the allocation
  AccessHistory history_;
};

/// The shadows of all live allocations. Not synchronised.
class MemoryShadow {
 public:
  void add(uint64_t address, uint64_t size, std::string name);
  void remove(uint64_t address) { allocations_.erase(address); }
  /// The shadow of the allocation that holds all of [address, address + bytes), or null.
  AllocationShadow* find(uint64_t address, uint64_t bytes);
  template <class Visit>
  void for_each(Visit visit) {
    for (auto& [address, shadow] : allocations_) visit(shadow);
  }

 private:
  std::map<uint64_t, AllocationShadow> allocations_;
};

}  // namespace mhcheck::simulator

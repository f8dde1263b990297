#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/simulator/sanitizers/buffer_use.h"

namespace mhcheck::simulator {

/// Who accessed a dword: 12 bytes, since there are up to three for each dword of memory.
struct Stamp {
  uint32_t wave : 24 = 0;   ///< 1 + the wave's number in the launch; 0: nobody
  uint32_t bytes : 4 = 0;   ///< which of the dword's bytes
  uint32_t vector : 1 = 0;  ///< `sequence` counts instructions of vmcnt, not of lgkmcnt
  uint32_t atomic : 1 = 0;
  uint32_t sequence = 0;
  uint32_t slot : 26 = 0;  ///< the instruction, in dwords from the code's start
  uint32_t lane : 6 = 0;
};
static_assert(sizeof(Stamp) == 12);

/// The last accesses to a dword: one writer and two readers of different waves.
struct Cell {
  Stamp write, read, other_read;
};

/// Sixteen dwords of global memory. Waves mostly write and read them as one: then one cell stands for all.
struct Granule {
  static constexpr uint64_t kDwords = 16, kBytes = 4 * kDwords;
  Cell whole;
  std::unique_ptr<Cell[]> dwords;  // where not null, `whole` means nothing

  Cell& dword(uint64_t number) {
    if (!dwords) {
      dwords = std::make_unique<Cell[]>(kDwords);
      for (uint64_t i = 0; i < kDwords; ++i) dwords[i] = whole;
    }
    return dwords[number];
  }
};

/// What the sanitizers know about one allocation of global memory.
class AllocationShadow {
 public:
  AllocationShadow(uint64_t address, uint64_t size, std::string name);

  uint64_t address() const { return address_; }
  uint64_t size() const { return size_; }
  bool contains(uint64_t first, uint64_t bytes) const {
    return first >= address_ && bytes <= size_ && first - address_ <= size_ - bytes;
  }

  BufferUse use;
  /// "next_residual[0, 3, 17] (byte 70 of 4096)".
  std::string element_at(uint64_t offset) const;

  /// Bytes that somebody has written.
  bool all_written() const { return all_written_; }
  bool written(uint64_t offset) const { return all_written_ || (written_[offset / 64] >> (offset % 64) & 1); }
  void mark_written(uint64_t offset, uint64_t bytes);
  /// The first byte from `offset` on that nobody has written, or size().
  uint64_t first_unwritten(uint64_t offset) const;

  /// The accesses of the launch in progress.
  Cell& cell(uint64_t dword) { return granule(dword / Granule::kDwords).dword(dword % Granule::kDwords); }
  Granule& granule(uint64_t number);
  void forget_accesses() { pages_.clear(); }

 private:
  static constexpr uint64_t kPageGranules = 64;

  uint64_t address_, size_;
  std::string name_;
  bool all_written_ = false;
  std::vector<uint64_t> written_;
  std::vector<std::unique_ptr<Granule[]>> pages_;
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

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

namespace mhcheck::simulator {

/// What counts a wave's accesses until they are complete.
enum class AccessCounter : uint8_t { kVector, kLds, kScalar };

/// Among whom an access is an atomic one, that races with no other such access and may order others.
enum class AccessScope : uint8_t { kPlain, kWorkgroup, kDevice };

/// Who accessed some bytes: 12 bytes, since there are up to three for each byte of memory.
struct Stamp {
  uint32_t wave : 24 = 0;  ///< 1 + the wave's number in the launch; 0: nobody
  AccessCounter counter : 2 = AccessCounter::kVector;
  AccessScope scope : 2 = AccessScope::kPlain;
  uint32_t sequence = 0;   ///< among the wave's accesses of `counter`
  uint32_t slot : 26 = 0;  ///< the instruction, in dwords from the code's start
  uint32_t lane : 6 = 0;
};
static_assert(sizeof(Stamp) == 12);

/// The last accesses to the same bytes: one writer and two readers of different waves.
struct Cell {
  Stamp write, read, other_read;
};

/// 64 bytes. Waves mostly access them as one, so that one cell stands for all; what accesses a part of a cell
/// makes all cells smaller.
class Granule {
 public:
  static constexpr uint64_t kBytes = 64;

  /// Calls visit(cell, first byte of it) for the cells of [first, first + count) within the granule.
  template <class Visit>
  void visit(uint64_t first, uint64_t count, Visit visit) {
    if (cell_bytes_ > 1 && (first | count) % cell_bytes_ != 0) refine(first | count);
    if (!cells_) {
      visit(whole_, uint64_t{0});
      return;
    }
    for (uint64_t at = first; at < first + count; at += cell_bytes_) visit(cells_[at / cell_bytes_], at);
  }

 private:
  // To the largest of 16, 4, 2 and 1 bytes that divides `places`.
  void refine(uint64_t places) {
    const uint8_t wanted = places % 16 == 0 ? 16 : places % 4 == 0 ? 4 : places % 2 == 0 ? 2 : 1;
    auto cells = std::make_unique<Cell[]>(kBytes / wanted);
    for (uint64_t at = 0; at < kBytes; at += wanted)
      cells[at / wanted] = cells_ ? cells_[at / cell_bytes_] : whole_;
    cells_ = std::move(cells);
    cell_bytes_ = wanted;
  }

  Cell whole_;
  uint8_t cell_bytes_ = kBytes;
  std::unique_ptr<Cell[]> cells_;  // null while `whole_` stands for all
};

/// The accesses of the launch in progress to one allocation of memory, or to a workgroup's LDS.
class AccessHistory {
 public:
  explicit AccessHistory(uint64_t bytes) : bytes_(bytes) {}

  /// Calls visit(cell, first byte of it) for the cells of [begin, end), which end at `end` exactly.
  template <class Visit>
  void visit(uint64_t begin, uint64_t end, Visit visit) {
    for (uint64_t at = begin; at < end;) {
      const uint64_t first = at % Granule::kBytes, base = at - first;
      const uint64_t count = std::min(end - at, Granule::kBytes - first);
      granule(base / Granule::kBytes).visit(first, count, [&](Cell& cell, uint64_t place) {
        visit(cell, base + place);
      });
      at += count;
    }
  }
  void forget() { pages_.clear(); }

 private:
  static constexpr uint64_t kPageGranules = 64;

  Granule& granule(uint64_t number) {
    if (pages_.empty()) pages_.resize(bytes_ / Granule::kBytes / kPageGranules + 1);
    std::unique_ptr<Granule[]>& page = pages_[number / kPageGranules];
    if (!page) page = std::make_unique<Granule[]>(kPageGranules);
    return page[number % kPageGranules];
  }

  uint64_t bytes_;
  std::vector<std::unique_ptr<Granule[]>> pages_;
};

}  // namespace mhcheck::simulator

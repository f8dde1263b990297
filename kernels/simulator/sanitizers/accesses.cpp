// Where memory is accessed, and by whom: bounds, writes and race.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/simulator/memory.h"
#include "kernels/simulator/sanitizers/lane_mask.h"
#include "kernels/simulator/sanitizers/wave_watch.h"

namespace mhcheck::simulator {
namespace {

enum class Route : uint8_t { kGlobal, kLds, kScratch };
Route route_of(uint64_t address) {
  const uint64_t page = address >> 32;
  return page == kSharedAperture >> 32    ? Route::kLds
         : page == kPrivateAperture >> 32 ? Route::kScratch
                                          : Route::kGlobal;
}

}  // namespace

// ---- The doors: what handlers call

uint64_t observe_access(Wave& wave, AccessKind kind, uint64_t active, uint32_t bytes) {
  return wave.watch->observe_access(kind, active, bytes);
}
uint64_t observe_scratch(Wave& wave, AccessKind kind, uint64_t active, uint32_t bytes) {
  return wave.watch->observe_scratch(kind, active, bytes);
}
void observe_lds(Wave& wave, AccessKind kind, uint64_t active, uint32_t bytes) {
  wave.watch->observe_lds(kind, active, bytes);
}
void observe_lds_delivery(Wave& wave, uint64_t active, uint32_t base, uint32_t stride, uint32_t bytes) {
  wave.watch->observe_lds_delivery(active, base, stride, bytes);
}
void observe_resource(Wave& wave, uint64_t base, uint64_t clamped) {
  wave.watch->observe_resource(base, clamped);
}
bool observe_part(Wave& wave, AccessKind kind, int lane, uint32_t bytes) {
  return wave.watch->observe_part(kind, lane, bytes);
}
bool observe_scalar(Wave& wave, uint64_t address, uint32_t bytes) {
  return wave.watch->observe_scalar(address, bytes);
}

// ---- Whole accesses

ObservedAccess& WaveWatch::record(Space space, AccessKind kind, uint64_t lanes, uint32_t bytes) {
  if (access_count_ == accesses_.size()) accesses_.emplace_back();
  ObservedAccess& access = accesses_[access_count_++];
  access.space = space;
  access.kind = kind;
  access.lanes = lanes;
  access.bytes = bytes;
  access.all_written = false;
  std::memcpy(access.address, wave_.address, sizeof access.address);
  return access;
}

uint64_t WaveWatch::observe_access(AccessKind kind, uint64_t active, uint32_t bytes) {
  if (!active) return 0;
  ObservedAccess& access = record(Space::kMemory, kind, active, bytes);
  uint64_t first = ~uint64_t{0}, last = 0;
  for_lanes(active, [&](int lane) {
    first = std::min(first, wave_.address[lane]);
    last = std::max(last, wave_.address[lane]);
  });
  // Inputs that are read in one piece: nearly all loads.
  const bool one_piece = last >= first && last - first + bytes >= last - first;
  AllocationShadow* all = one_piece ? shadow_of(first, last - first + bytes) : nullptr;
  const bool plain = all && kind == AccessKind::kLoad && all->use.role == BufferRole::kInput &&
                     (!resource_ || resource_ == all);
  if (all) access.all_written = all->all_written();
  if (plain || (all && (!resource_ || resource_ == all) && check_row(kind, active, bytes, *all)))
    return active;
  uint64_t allowed = active;
  for_lanes(active, [&](int lane) {
    const uint64_t address = wave_.address[lane];
    bool good = true;
    switch (route_of(address)) {
      case Route::kGlobal:
        good = check_global(kind, address, bytes, lane);
        break;
      case Route::kLds:
        check_lds(kind, address - kSharedAperture, bytes, lane, /*fills_zero=*/false);
        good = address - kSharedAperture + bytes <= wave_.group->lds_bytes;
        break;
      case Route::kScratch:
        good = check_scratch(address - kPrivateAperture, bytes, lane);
        break;
    }
    if (!good && on(Sanitizer::kBounds)) allowed &= ~bit_of(lane);
  });
  access.lanes = allowed;
  return allowed;
}

uint64_t WaveWatch::observe_scratch(AccessKind kind, uint64_t active, uint32_t bytes) {
  ObservedAccess& access = record(Space::kScratch, kind, active, bytes);
  uint64_t allowed = active;
  for_lanes(active, [&](int lane) {
    const bool good = check_scratch(static_cast<uint32_t>(wave_.address[lane]), bytes, lane);
    if (!good && on(Sanitizer::kBounds)) allowed &= ~bit_of(lane);
  });
  access.lanes = allowed;
  return allowed;
}

void WaveWatch::observe_lds(AccessKind kind, uint64_t active, uint32_t bytes) {
  record(Space::kLds, kind, active, bytes);
  for_lanes(active,
            [&](int lane) { check_lds(kind, wave_.address[lane], bytes, lane, /*fills_zero=*/true); });
}

void WaveWatch::observe_lds_delivery(uint64_t active, uint32_t base, uint32_t stride, uint32_t bytes) {
  ObservedAccess& access = record(Space::kLdsDelivery, AccessKind::kStore, active, bytes);
  for_lanes(active, [&](int lane) {
    const uint32_t offset = base + stride * static_cast<uint32_t>(lane);
    access.address[lane] = offset;
    check_lds(AccessKind::kStore, offset, bytes, lane, /*fills_zero=*/true);
    if (!on(Sanitizer::kWait) || uint64_t{offset} + bytes > wave_.group->lds_bytes) return;
    const std::byte* host = wave_.group->lds + offset;
    lds_before_.push_back({offset, std::vector<std::byte>(host, host + bytes)});
  });
}

void WaveWatch::observe_resource(uint64_t base, uint64_t clamped) {
  resource_ = on(Sanitizer::kBounds) ? shadow_of(base, 1) : nullptr;
  wave_.buffer_lanes_clamped += static_cast<uint64_t>(std::popcount(clamped));
}

bool WaveWatch::observe_part(AccessKind kind, int lane, uint32_t bytes) {
  return check_global(kind, wave_.address[lane], bytes, lane) || !on(Sanitizer::kBounds);
}

bool WaveWatch::observe_scalar(uint64_t address, uint32_t bytes) {
  scalar_address_ = address;
  AllocationShadow* shadow = shadow_of(address, bytes);
  if (shadow) {
    if (shadow->use.role != BufferRole::kInput && on(Sanitizer::kRace)) {
      for (uint32_t i = 0; i < bytes; i += 4)
        check_cells(AccessKind::kLoad, 4, 0, address + i - shadow->address(), shadow);
    }
    return true;
  }
  scalar_address_ = 0;
  if (!on(Sanitizer::kBounds)) return true;  // which makes it a fault
  report(Sanitizer::kBounds, "a scalar load outside every allocation", 0,
         [&] { return wave_.memory->describe(address); });
  return false;
}

// ---- One lane

AllocationShadow* WaveWatch::shadow_of(uint64_t address, uint64_t bytes) {
  if (recent_ && recent_->contains(address, bytes)) return recent_;
  AllocationShadow* found = launch_.memory().find(address, bytes);
  if (found) recent_ = found;
  return found;
}

bool WaveWatch::check_global(AccessKind kind, uint64_t address, uint32_t bytes, int lane) {
  AllocationShadow* shadow = shadow_of(address, bytes);
  if (!shadow) {
    if (on(Sanitizer::kBounds)) {
      report(Sanitizer::kBounds,
             resource_ ? "an access that the buffer descriptor let pass goes beyond every allocation"
             : kind == AccessKind::kLoad ? "a load outside every allocation"
                                         : "a store outside every allocation",
             bit_of(lane), [&] {
               // The first byte that is outside, which may be within the access.
               uint64_t bad = address;
               while (bad + 1 < address + bytes && launch_.memory().find(bad, 1)) ++bad;
               return wave_.memory->describe(bad);
             });
    }
    return false;
  }
  const uint64_t offset = address - shadow->address();
  if (resource_ && resource_ != shadow) {
    report(Sanitizer::kBounds, "an access that the buffer descriptor let pass is in another tensor",
           bit_of(lane), [&] { return shadow->element_at(offset); });
  }
  if (kind != AccessKind::kLoad && shadow->use.role == BufferRole::kInput && on(Sanitizer::kWrites)) {
    report(Sanitizer::kWrites, "an input is written", bit_of(lane),
           [&] { return shadow->element_at(offset); });
  }
  const bool cells = on(Sanitizer::kRace) || (on(Sanitizer::kWrites) && kind != AccessKind::kLoad &&
                                              shadow->use.role == BufferRole::kOutput);
  if (cells && shadow->use.role != BufferRole::kInput) check_cells(kind, bytes, lane, offset, shadow);
  if (facts_->synchronises) synchronise(address);
  if (kind == AccessKind::kStore || (kind == AccessKind::kAtomic && !tracks_values()))
    shadow->mark_written(offset, bytes);
  return true;
}

void WaveWatch::check_lds(AccessKind kind, uint64_t offset, uint32_t bytes, int lane, bool fills_zero) {
  if (offset + bytes > wave_.group->lds_bytes) {
    if (on(Sanitizer::kBounds)) {
      report(Sanitizer::kBounds,
             fills_zero ? "an LDS access beyond the workgroup's allocation, which reads 0 or is dropped"
                        : "a flat access beyond the workgroup's LDS",
             bit_of(lane),
             [&] { return fmt::format("LDS byte {} of {}", offset + bytes - 1, wave_.group->lds_bytes); });
    }
    return;
  }
  if (on(Sanitizer::kWait)) {
    if (const PendingLoad* load = pending_.find_lds(offset, bytes)) {
      report(
          Sanitizer::kWait,
          kind == AccessKind::kLoad ? "LDS is read before vmcnt says that a load to it has arrived"
                                    : "LDS is overwritten before vmcnt says that a load to it has arrived",
          bit_of(lane), [&] { return fmt::format("LDS byte {}", offset); },
          LaunchWatch::Other{"the load:", load->slot, number_, 0});
    }
  }
  if (on(Sanitizer::kRace)) check_cells(kind, bytes, lane, offset, nullptr);
}

bool WaveWatch::check_scratch(uint64_t offset, uint32_t bytes, int lane) {
  if (offset + bytes <= wave_.scratch_bytes) return true;
  if (on(Sanitizer::kBounds)) {
    report(Sanitizer::kBounds, "a scratch access beyond the work-item's segment", bit_of(lane),
           [&] { return fmt::format("scratch byte {} of {}", offset + bytes - 1, wave_.scratch_bytes); });
  }
  return false;
}

// ---- Who else was there

// Neighbouring lanes that access neighbouring elements: checked as one, sixteen dwords at a time. False where
// it is no such row, and nothing was done.
bool WaveWatch::check_row(AccessKind kind, uint64_t active, uint32_t bytes, AllocationShadow& shadow) {
  const int first_lane = std::countr_zero(active);
  const uint64_t ones = active >> first_lane;
  if (kind == AccessKind::kAtomic || facts_->synchronises || (ones & (ones + 1))) return false;
  const uint64_t start = wave_.address[first_lane];
  const int count = std::popcount(active);
  for (int i = 0; i < count; ++i) {
    if (wave_.address[first_lane + i] != start + static_cast<uint64_t>(i) * bytes) return false;
  }
  const uint64_t begin = start - shadow.address(), end = begin + static_cast<uint64_t>(count) * bytes;
  if (kind == AccessKind::kStore) {
    if (shadow.use.role == BufferRole::kInput) return false;  // which is a finding
    shadow.mark_written(begin, end - begin);
  }
  const bool cells = on(Sanitizer::kRace) || (on(Sanitizer::kWrites) && kind != AccessKind::kLoad &&
                                              shadow.use.role == BufferRole::kOutput);
  if (!cells) return true;
  const auto lane_of = [&](uint64_t at) { return first_lane + static_cast<int>((at - begin) / bytes); };
  for (uint64_t at = begin; at < end;) {
    const uint64_t in_granule = at % Granule::kBytes, next = std::min(end, at + Granule::kBytes - in_granule);
    if (next - at < Granule::kBytes) {
      for (; at < next; at += std::min<uint64_t>(4 - at % 4, next - at)) {
        check_cells(kind, static_cast<uint32_t>(std::min<uint64_t>(4 - at % 4, next - at)), lane_of(at), at,
                    &shadow);
      }
      continue;
    }
    Stamp now = stamp_of(kind, lane_of(at));
    now.bytes = 15;
    Granule& granule = shadow.granule(at / Granule::kBytes);
    if (!granule.dwords) {
      check_cell(granule.whole, now, kind, &shadow, at);
    } else {
      for (uint64_t i = 0; i < Granule::kDwords; ++i)
        check_cell(granule.dwords[i], now, kind, &shadow, at + 4 * i);
    }
    at = next;
  }
  return true;
}

Stamp WaveWatch::stamp_of(AccessKind kind, int lane) const {
  const bool vector = facts_->counter != WaitCounter::kLds;
  Stamp now;
  now.wave = number_ + 1;
  now.vector = vector;
  now.atomic = kind == AccessKind::kAtomic || facts_->synchronises;
  // Scalar loads have no order of their own: complete once everything is, like the next vector instruction.
  now.sequence = (vector ? issued_vector_ : issued_lds_) + 1;
  now.slot = slot_;
  now.lane = static_cast<uint32_t>(lane);
  return now;
}

// `shadow` null: the bytes are in LDS.
void WaveWatch::check_cells(AccessKind kind, uint32_t bytes, int lane, uint64_t offset,
                            AllocationShadow* shadow) {
  Stamp now = stamp_of(kind, lane);
  for (uint64_t at = offset; at < offset + bytes;) {
    const uint64_t in_dword = at % 4, count = std::min<uint64_t>(4 - in_dword, offset + bytes - at);
    now.bytes = static_cast<uint32_t>(((1u << count) - 1) << in_dword) & 15;
    Cell& cell = shadow ? shadow->cell(at / 4) : group_.lds_cell(static_cast<uint32_t>(at / 4));
    check_cell(cell, now, kind, shadow, at);
    at += count;
  }
}

void WaveWatch::check_cell(Cell& cell, const Stamp& now, AccessKind kind, const AllocationShadow* shadow,
                           uint64_t offset) {
  const auto memory = [&] {
    return shadow ? shadow->element_at(offset) : fmt::format("LDS byte {}", offset);
  };
  const auto other = [](const Stamp& stamp) {
    return LaunchWatch::Other{"the other access:", stamp.slot, uint32_t{stamp.wave} - 1,
                              bit_of(static_cast<int>(stamp.lane))};
  };
  const auto meets = [&](const Stamp& earlier) {
    return earlier.wave != 0 && earlier.wave != now.wave && (earlier.bytes & now.bytes) != 0;
  };
  const uint64_t lane = bit_of(static_cast<int>(now.lane));
  const bool writes = kind != AccessKind::kLoad;
  const Stamp& written = cell.write;
  if (meets(written) && !(written.atomic && now.atomic)) {
    if (on(Sanitizer::kRace) && !ordered(written, !shadow)) {
      report(Sanitizer::kRace,
             writes ? "two waves write the same bytes and nothing orders them"
                    : "a wave reads what another one writes and nothing orders them",
             lane, memory, other(written));
    }
    if (writes && on(Sanitizer::kWrites) && shadow && shadow->use.role == BufferRole::kOutput) {
      report(Sanitizer::kWrites, "two waves write the same output element", lane, memory, other(written));
    }
  }
  if (writes) {
    for (const Stamp& read : {cell.read, cell.other_read}) {
      if (!on(Sanitizer::kRace) || !meets(read) || (read.atomic && now.atomic) || ordered(read, !shadow))
        continue;
      report(Sanitizer::kRace, "a wave overwrites what another one reads and nothing orders them", lane,
             memory, other(read));
    }
    const bool same = cell.write.wave == now.wave;
    const uint32_t bytes = now.bytes | (same ? cell.write.bytes : 0u);
    cell.write = now;
    cell.write.bytes = bytes & 15;
    return;
  }
  Stamp& place = cell.read.wave == 0 || cell.read.wave == now.wave ? cell.read : cell.other_read;
  const uint32_t bytes = now.bytes | (place.wave == now.wave ? place.bytes : 0u);
  place = now;
  place.bytes = bytes & 15;
}

bool WaveWatch::ordered(const Stamp& earlier, bool in_lds) const {
  const uint32_t wave = earlier.wave - 1;
  const uint32_t in_group = wave - group_.first_wave();
  if (wave >= group_.first_wave() && in_group < launch_.waves_per_group()) {
    const GroupWatch::Published& published = group_.published(in_group);
    // The waves of a workgroup reach global memory through one path in the order of issue; LDS they reach
    // each for itself, so there only what was complete before the barrier is ordered.
    const uint32_t known = !in_lds          ? published.issued_vector
                           : earlier.vector ? published.vector
                                            : published.lds;
    if (earlier.sequence <= known) return true;
  }
  for (const WaveClock* clock : {static_cast<const WaveClock*>(&acquired_), &group_.acquired()}) {
    const auto known = clock->find(wave);
    if (known != clock->end() && !in_lds && earlier.sequence <= known->second) return true;
  }
  return false;
}

// An atomic publishes what its wave knows to be complete, and learns what earlier ones have published.
void WaveWatch::synchronise(uint64_t address) {
  if (!on(Sanitizer::kRace)) return;
  WaveClock& clock = launch_.clock_of(address);
  const auto raise = [](WaveClock& target, uint32_t wave, uint32_t sequence) {
    uint32_t& known = target[wave];
    known = std::max(known, sequence);
  };
  if (facts_->acquires) {
    for (const auto& [wave, sequence] : clock) raise(acquired_, wave, sequence);
  }
  raise(clock, number_, done_vector_);
  for (uint32_t i = 0; i < launch_.waves_per_group(); ++i)
    raise(clock, group_.first_wave() + i, group_.published(i).issued_vector);
  for (const WaveClock* known : {static_cast<const WaveClock*>(&acquired_), &group_.acquired()}) {
    for (const auto& [wave, sequence] : *known) raise(clock, wave, sequence);
  }
}

}  // namespace mhcheck::simulator

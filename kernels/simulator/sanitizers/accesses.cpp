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
bool observe_scalar(Wave& wave, AccessKind kind, unsigned first_register, uint64_t address, uint32_t bytes) {
  return wave.watch->observe_scalar(kind, first_register, address, bytes);
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
  if (all) access.all_written = all->all_written();
  if (all && (!resource_ || resource_ == all) && !all->has_padding()) {
    if (kind == AccessKind::kLoad && all->use().role == BufferRole::kInput) return active;
    if (check_stretch(kind, active, bytes, *all)) return active;
  }
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
  if (const std::optional<Stretch> stretch = stretch_of(kind, active, bytes, wave_.address)) {
    const bool plain = stretch->end <= wave_.group->lds_bytes &&
                       !pending_.find_lds(stretch->begin, stretch->end - stretch->begin);
    if (plain) {
      if (on(Sanitizer::kRace))
        check_bytes(group_.lds_history(), stamp_of(facts_->scope), kind, *stretch, /*shadow=*/nullptr);
      return;
    }
  }
  for_lanes(active,
            [&](int lane) { check_lds(kind, wave_.address[lane], bytes, lane, /*fills_zero=*/true); });
}

void WaveWatch::observe_lds_delivery(uint64_t active, uint32_t base, uint32_t stride, uint32_t bytes) {
  ObservedAccess& access = record(Space::kLdsDelivery, AccessKind::kStore, active, bytes);
  for_lanes(active, [&](int lane) { access.address[lane] = base + stride * static_cast<uint32_t>(lane); });
  const auto keep = [&](uint64_t begin, uint64_t end) {
    if (!on(Sanitizer::kWait) || end > wave_.group->lds_bytes) return;
    const std::byte* host = wave_.group->lds;
    lds_before_.push_back({static_cast<uint32_t>(begin), std::vector<std::byte>(host + begin, host + end)});
  };
  // Of scope and of earlier deliveries that are under way it has nothing to fear: they come in order.
  const std::optional<Stretch> stretch = stretch_of(AccessKind::kStore, active, bytes, access.address);
  if (stretch && stretch->end <= wave_.group->lds_bytes) {
    if (on(Sanitizer::kRace))
      check_bytes(group_.lds_history(), stamp_of(AccessScope::kPlain), AccessKind::kStore, *stretch, nullptr);
    keep(stretch->begin, stretch->end);
    return;
  }
  for_lanes(active, [&](int lane) {
    const uint64_t begin = access.address[lane], end = begin + bytes;
    if (!check_lds_bounds(begin, bytes, lane, /*fills_zero=*/true)) return;
    if (on(Sanitizer::kRace)) {
      check_bytes(group_.lds_history(), stamp_of(AccessScope::kPlain), AccessKind::kStore,
                  {begin, end, lane, bytes}, nullptr);
    }
    keep(begin, end);
  });
}

void WaveWatch::observe_resource(uint64_t base, uint64_t clamped) {
  resource_ = on(Sanitizer::kBounds) ? shadow_of(base, 1) : nullptr;
  wave_.buffer_lanes_clamped += static_cast<uint64_t>(std::popcount(clamped));
}

bool WaveWatch::observe_part(AccessKind kind, int lane, uint32_t bytes) {
  return check_global(kind, wave_.address[lane], bytes, lane) || !on(Sanitizer::kBounds);
}

bool WaveWatch::observe_scalar(AccessKind kind, unsigned first_register, uint64_t address, uint32_t bytes) {
  if (!check_global(kind, address, bytes, kNoLane)) return !on(Sanitizer::kBounds);
  scalar_parts_.push_back({kind, first_register, address, bytes});
  if (kind == AccessKind::kStore) unsaved_scalar_store_ = slot_;
  return true;
}

// ---- One lane

AllocationShadow* WaveWatch::shadow_of(uint64_t address, uint64_t bytes) {
  if (recent_ && recent_->contains(address, bytes)) return recent_;
  AllocationShadow* found = launch_.memory().find(address, bytes);
  if (found) recent_ = found;
  return found;
}

bool WaveWatch::check_global(AccessKind kind, uint64_t address, uint32_t bytes, int lane) {
  const uint64_t lanes = lane == kNoLane ? 0 : bit_of(lane);
  AllocationShadow* shadow = shadow_of(address, bytes);
  if (!shadow) {
    if (on(Sanitizer::kBounds)) {
      report(Sanitizer::kBounds, outside_every_allocation(kind, lane), lanes, [&] {
        // The first byte that is outside, which may be within the access.
        uint64_t bad = address;
        while (bad + 1 < address + bytes && launch_.memory().find(bad, 1)) ++bad;
        return wave_.memory->describe(bad);
      });
    }
    return false;
  }
  const uint64_t offset = address - shadow->address();
  const auto element = [&] { return shadow->element_at(offset); };
  if (resource_ && resource_ != shadow) {
    report(Sanitizer::kBounds, "an access that the buffer descriptor let pass is in another tensor", lanes,
           element);
  }
  if (on(Sanitizer::kBounds) && shadow->touches_padding(offset, bytes)) {
    report(Sanitizer::kBounds,
           kind == AccessKind::kLoad ? "a load from the padding beside a tensor"
                                     : "a store to the padding beside a tensor",
           lanes, [&] { return shadow->element_at(shadow->first_padding(offset)); });
  }
  if (kind != AccessKind::kLoad && shadow->use().role == BufferRole::kInput && on(Sanitizer::kWrites))
    report(Sanitizer::kWrites, "an input is written", lanes, element);
  if (remembers(kind, *shadow)) {
    check_bytes(shadow->history(), stamp_of(facts_->scope), kind, {offset, offset + bytes, lane, bytes},
                shadow);
  }
  if (facts_->orders) synchronise(kind, address);
  if (kind == AccessKind::kStore || (kind == AccessKind::kAtomic && !tracks_values()))
    shadow->mark_written(offset, bytes);
  return true;
}

const char* WaveWatch::outside_every_allocation(AccessKind kind, int lane) const {
  if (resource_) return "an access that the buffer descriptor let pass goes beyond every allocation";
  if (lane == kNoLane)
    return kind == AccessKind::kLoad ? "a scalar load outside every allocation"
                                     : "a scalar store outside every allocation";
  return kind == AccessKind::kLoad ? "a load outside every allocation" : "a store outside every allocation";
}

bool WaveWatch::check_lds_bounds(uint64_t offset, uint32_t bytes, int lane, bool fills_zero) {
  if (offset + bytes <= wave_.group->lds_bytes) return true;
  if (on(Sanitizer::kBounds)) {
    report(Sanitizer::kBounds,
           fills_zero ? "an LDS access beyond the workgroup's allocation, which reads 0 or is dropped"
                      : "a flat access beyond the workgroup's LDS",
           bit_of(lane),
           [&] { return fmt::format("LDS byte {} of {}", offset + bytes - 1, wave_.group->lds_bytes); });
  }
  return false;
}

void WaveWatch::check_lds(AccessKind kind, uint64_t offset, uint32_t bytes, int lane, bool fills_zero) {
  if (!check_lds_bounds(offset, bytes, lane, fills_zero)) return;
  if (const PendingLoad* load = pending_.find_lds(offset, bytes)) {
    report(
        Sanitizer::kWait,
        kind == AccessKind::kLoad ? "LDS is read before vmcnt says that a load to it has arrived"
                                  : "LDS is overwritten before vmcnt says that a load to it has arrived",
        bit_of(lane), [&] { return fmt::format("LDS byte {}", offset); },
        LaunchWatch::Other{"the load:", load->slot, number_, 0});
  }
  if (on(Sanitizer::kRace)) {
    check_bytes(group_.lds_history(), stamp_of(facts_->scope), kind, {offset, offset + bytes, lane, bytes},
                nullptr);
  }
  if (facts_->orders) synchronise(kind, kSharedAperture + offset);
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

// Neighbouring lanes that access neighbouring bytes without a gap. Atomics are looked at one by one.
std::optional<WaveWatch::Stretch> WaveWatch::stretch_of(AccessKind kind, uint64_t active, uint32_t bytes,
                                                        const uint64_t* address) const {
  if (!active || kind == AccessKind::kAtomic || facts_->orders) return std::nullopt;
  const int first_lane = std::countr_zero(active);
  const uint64_t ones = active >> first_lane;
  if (ones & (ones + 1)) return std::nullopt;
  const uint64_t begin = address[first_lane];
  const int count = std::popcount(active);
  for (int i = 1; i < count; ++i) {
    if (address[first_lane + i] != begin + static_cast<uint64_t>(i) * bytes) return std::nullopt;
  }
  return Stretch{begin, begin + static_cast<uint64_t>(count) * bytes, first_lane, bytes};
}

bool WaveWatch::remembers(AccessKind kind, const AllocationShadow& shadow) const {
  if (shadow.use().role == BufferRole::kInput) return false;
  return on(Sanitizer::kRace) ||
         (on(Sanitizer::kWrites) && kind != AccessKind::kLoad && shadow.use().role == BufferRole::kOutput);
}

// A stretch is checked in one go. False where the lanes are none, and nothing was done.
bool WaveWatch::check_stretch(AccessKind kind, uint64_t active, uint32_t bytes, AllocationShadow& shadow) {
  std::optional<Stretch> stretch = stretch_of(kind, active, bytes, wave_.address);
  if (!stretch) return false;
  stretch->begin -= shadow.address();
  stretch->end -= shadow.address();
  if (kind == AccessKind::kStore) {
    if (shadow.use().role == BufferRole::kInput) return false;  // which is a finding
    shadow.mark_written(stretch->begin, stretch->end - stretch->begin);
  }
  if (remembers(kind, shadow))
    check_bytes(shadow.history(), stamp_of(facts_->scope), kind, *stretch, &shadow);
  return true;
}

Stamp WaveWatch::stamp_of(AccessScope scope) const {
  Stamp now;
  now.wave = number_ + 1;
  now.scope = scope;
  switch (facts_->counter) {
    case WaitCounter::kLds:
      now.counter = AccessCounter::kLds;
      now.sequence = issued_.lds + 1;
      break;
    case WaitCounter::kScalar:
      now.counter = AccessCounter::kScalar;
      now.sequence = issued_.scalar + 1;
      break;
    default:
      now.counter = AccessCounter::kVector;
      now.sequence = issued_.vector + 1;
      break;
  }
  now.slot = slot_;
  return now;
}

// `shadow` null: the bytes are in LDS.
void WaveWatch::check_bytes(AccessHistory& history, Stamp now, AccessKind kind, const Stretch& stretch,
                            const AllocationShadow* shadow) {
  history.visit(stretch.begin, stretch.end, [&](Cell& cell, uint64_t at) {
    if (stretch.first_lane != kNoLane)
      now.lane = static_cast<uint32_t>(stretch.first_lane) +
                 static_cast<uint32_t>((at - stretch.begin) / stretch.lane_bytes);
    check_cell(cell, now, kind, shadow, at);
  });
}

void WaveWatch::check_cell(Cell& cell, const Stamp& now, AccessKind kind, const AllocationShadow* shadow,
                           uint64_t offset) {
  const auto memory = [&] {
    return shadow ? shadow->element_at(offset) : fmt::format("LDS byte {}", offset);
  };
  const auto lanes_of = [](const Stamp& stamp) {
    return stamp.counter == AccessCounter::kScalar ? 0 : bit_of(static_cast<int>(stamp.lane));
  };
  const auto other = [&](const Stamp& stamp) {
    return LaunchWatch::Other{"the other access:", stamp.slot, uint32_t{stamp.wave} - 1, lanes_of(stamp)};
  };
  const auto meets = [&](const Stamp& earlier) {
    return earlier.wave != 0 && earlier.wave != now.wave && !both_atomic(earlier, now);
  };
  const bool writes = kind != AccessKind::kLoad;
  const Stamp& written = cell.write;
  if (meets(written)) {
    if (on(Sanitizer::kRace) && !ordered(written, /*writes=*/true, !shadow)) {
      report(Sanitizer::kRace,
             writes ? "two waves write the same bytes and nothing orders them"
                    : "a wave reads what another one writes and nothing orders them",
             lanes_of(now), memory, other(written));
    }
    if (writes && on(Sanitizer::kWrites) && shadow && shadow->use().role == BufferRole::kOutput) {
      report(Sanitizer::kWrites, "two waves write the same output element", lanes_of(now), memory,
             other(written));
    }
  }
  if (!writes) {
    remember_read(cell, now, !shadow);
    return;
  }
  for (const Stamp& read : {cell.read, cell.other_read}) {
    if (!on(Sanitizer::kRace) || !meets(read) || ordered(read, /*writes=*/false, !shadow)) continue;
    report(Sanitizer::kRace, "a wave overwrites what another one reads and nothing orders them",
           lanes_of(now), memory, other(read));
  }
  // What comes later and is ordered with this write is ordered with those reads too. An atomic write says
  // nothing of the kind: no other atomic one has to be ordered with it.
  if (now.scope == AccessScope::kPlain) cell.read = cell.other_read = Stamp{};
  cell.write = now;
}

void WaveWatch::remember_read(Cell& cell, const Stamp& now, bool in_lds) {
  const auto replaces = [&](const Stamp& read) {
    if (read.wave == 0 || read.wave == now.wave) return true;
    // Whoever is ordered with this read is ordered with that one as well.
    return now.scope <= read.scope && ordered(read, /*writes=*/false, in_lds);
  };
  (replaces(cell.read) ? cell.read : cell.other_read) = now;
}

bool WaveWatch::both_atomic(const Stamp& earlier, const Stamp& now) const {
  const uint32_t waves = launch_.waves_per_group();
  switch (std::min(earlier.scope, now.scope)) {
    case AccessScope::kPlain:
      return false;
    case AccessScope::kWorkgroup:
      return (earlier.wave - 1) / waves == (now.wave - 1) / waves;
    default:
      return true;
  }
}

bool WaveWatch::ordered(const Stamp& earlier, bool writes, bool in_lds) const {
  const uint32_t wave = earlier.wave - 1;
  const uint32_t in_group = wave - group_.first_wave();
  const bool same_group = wave >= group_.first_wave() && in_group < launch_.waves_per_group();
  const auto reached = [&](const Progress& progress) {
    switch (earlier.counter) {
      case AccessCounter::kLds:
        return earlier.sequence <= progress.lds;
      case AccessCounter::kScalar:
        // A scalar store stays in the scalar cache until it is written back; scalar atomics pass it by.
        return earlier.sequence <=
               (writes && earlier.scope == AccessScope::kPlain ? progress.scalar_stores : progress.scalar);
      default:
        // The waves of a workgroup reach global memory through one path in the order of issue; LDS they reach
        // each for itself, so there only what was complete is ordered.
        return earlier.sequence <= (same_group && !in_lds ? progress.issued_vector : progress.vector);
    }
  };
  if (same_group && reached(group_.last_barrier(in_group))) return true;
  for (const WaveClock* clock : {static_cast<const WaveClock*>(&acquired_), &group_.acquired()}) {
    const auto known = clock->find(wave);
    if (known != clock->end() && reached(known->second)) return true;
  }
  return false;
}

Progress WaveWatch::progress() const {
  Progress progress = done_;
  progress.issued_vector = issued_.vector;
  return progress;
}

// What each wave of the group has started as far as this wave knows.
std::vector<uint32_t> WaveWatch::started_by_group() const {
  std::vector<uint32_t> started;
  for (uint32_t i = 0; i < launch_.waves_per_group(); ++i) {
    uint32_t known = group_.last_barrier(i).issued_vector;
    for (const WaveClock* clock : {static_cast<const WaveClock*>(&acquired_), &group_.acquired()}) {
      const auto found = clock->find(group_.first_wave() + i);
      if (found != clock->end()) known = std::max(known, found->second.issued_vector);
    }
    started.push_back(known);
  }
  return started;
}

// An atomic publishes what its wave knows to be complete, and learns what earlier ones at the same address
// have published.
void WaveWatch::synchronise(AccessKind kind, uint64_t address) {
  if (!on(Sanitizer::kRace)) return;
  if (facts_->acquires) {
    for (const PublishedClocks* published : {&launch_.published(), &group_.published()}) {
      if (const WaveClock* clock = published->find(address)) raise(acquired_, *clock);
    }
  }
  if (kind == AccessKind::kLoad) return;
  WaveClock& clock =
      (facts_->scope == AccessScope::kDevice ? launch_.published() : group_.published()).of(address);
  for (uint32_t i = 0; i < launch_.waves_per_group(); ++i) {
    Progress& known = clock[group_.first_wave() + i];
    known.raise(group_.last_barrier(i));
    if (i < fenced_.size()) known.vector = std::max(known.vector, fenced_[i]);
  }
  Progress mine = progress();
  // Whoever sees its value knows that it has happened, and with it what it came after.
  switch (facts_->counter) {
    case WaitCounter::kLds:  // which execute in the order of issue
      mine.lds = issued_.lds + 1;
      break;
    case WaitCounter::kScalar:
      if (done_.scalar == issued_.scalar) mine.scalar = issued_.scalar + 1;
      break;
    default:
      mine.issued_vector = issued_.vector + 1;
      if (done_.vector == issued_.vector) mine.vector = issued_.vector + 1;
      break;
  }
  clock[number_].raise(mine);
  raise(clock, acquired_);
  raise(clock, group_.acquired());
}

}  // namespace mhcheck::simulator

#include "kernels/simulator/sanitizers/pending_loads.h"

#include <cstring>
#include <utility>

namespace mhcheck::simulator {
namespace {

bool overlap(const RegisterRange& a, const RegisterRange& b) {
  return a.scalar == b.scalar && a.first < b.first + b.count && b.first < a.first + a.count;
}

}  // namespace

void PendingLoads::add(PendingLoad load) {
  loads_.push_back(std::move(load));
  mark();
}

void PendingLoads::mark() {
  vector_.reset();
  scalar_.reset();
  any_lds_ = false;
  for (const PendingLoad& load : loads_) {
    any_lds_ |= !load.lds.empty();
    for (unsigned r = load.target.first; r < unsigned{load.target.first} + load.target.count; ++r) {
      if (load.target.scalar) {
        scalar_.set(r);
      } else {
        vector_.set(r);
      }
    }
  }
}

const PendingLoad* PendingLoads::find(const RegisterRange& range, uint64_t lanes, WaitCounter except) const {
  bool hit = false;
  for (unsigned r = range.first; r < unsigned{range.first} + range.count; ++r)
    hit |= range.scalar ? scalar_.test(r) : vector_.test(r);
  if (!hit) return nullptr;
  for (const PendingLoad& load : loads_) {
    const bool meets = overlap(load.target, range) && (range.scalar || (load.lanes & lanes) != 0);
    if (meets && (except == WaitCounter::kNone || load.counter != except)) return &load;
  }
  return nullptr;
}

const PendingLoad* PendingLoads::find_lds(uint64_t offset, uint32_t bytes) const {
  if (!any_lds_) return nullptr;
  for (const PendingLoad& load : loads_) {
    for (const PendingLoad::LdsPart& part : load.lds) {
      if (part.offset < offset + bytes && offset < part.offset + part.bytes.size()) return &load;
    }
  }
  return nullptr;
}

void PendingLoads::deliver(Wave& wave, uint32_t vector, uint32_t lds, bool lgkm_zero) {
  const auto arrived = [&](const PendingLoad& load) {
    switch (load.counter) {
      case WaitCounter::kVector:
        return load.sequence <= vector;
      case WaitCounter::kLds:
        return load.sequence <= lds;
      case WaitCounter::kFlat:
        return load.lgkm_seen && load.sequence <= vector;
      default:
        return lgkm_zero;
    }
  };
  const size_t before = loads_.size();
  for (auto load = loads_.begin(); load != loads_.end();) {
    load->lgkm_seen |= lgkm_zero;
    if (!arrived(*load)) {
      ++load;
      continue;
    }
    write(wave, *load);
    load = loads_.erase(load);
  }
  if (loads_.size() != before) mark();
}

void PendingLoads::write(Wave& wave, const PendingLoad& load) {
  for (unsigned r = 0; r < load.target.count; ++r) {
    if (load.target.scalar) {
      wave.scalar[load.target.first + r] = load.values[r];
      continue;
    }
    uint32_t* target = wave.vector + (load.target.first + r) * kLanes;
    for (int lane = 0; lane < kLanes; ++lane) {
      if (!(load.lanes >> lane & 1)) continue;
      target[lane] = (target[lane] & ~load.loaded_bits) |
                     (load.values[r * kLanes + static_cast<unsigned>(lane)] & load.loaded_bits);
    }
  }
  for (const PendingLoad::LdsPart& part : load.lds)
    std::memcpy(wave.group->lds + part.offset, part.bytes.data(), part.bytes.size());
}

}  // namespace mhcheck::simulator

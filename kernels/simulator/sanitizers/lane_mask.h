#pragma once

#include <bit>
#include <cstdint>

namespace mhcheck::simulator {

constexpr uint64_t bit_of(int lane) { return uint64_t{1} << lane; }

/// Calls visit(lane) for each lane of the mask, in order.
template <class Visit>
void for_lanes(uint64_t lanes, Visit visit) {
  for (; lanes; lanes &= lanes - 1) visit(std::countr_zero(lanes));
}

}  // namespace mhcheck::simulator

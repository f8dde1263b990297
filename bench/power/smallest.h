// The smallest size of a fault that is seen in every case.
#pragma once

#include <optional>
#include <span>

#include "bench/power/fault.h"

namespace mhcheck::power {

struct Smallest {
  double size = 0;
  Seen how = Seen::no;  ///< by_tensor where, in some case, the tensor alone shows it
};

/// Of `sizes`, the smallest that is seen in every case and sign, and from which on the larger ones of half a
/// decade are too; nothing when the largest is not. Throws std::logic_error when a kernel without the fault
/// does not conform.
std::optional<Smallest> smallest_seen(const Fault& fault, std::span<const AnsweredCase> cases,
                                      std::span<const double> sizes);

/// In every case.
bool always_seen(const Fault& fault, std::span<const AnsweredCase> cases, double signed_size);

}  // namespace mhcheck::power

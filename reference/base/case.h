// A case: a problem, the rounding profile it is judged by, and the inputs (regime and seed) it runs on;
// written as a one-line descriptor that fixes all of it on every machine:
//
//   OP:DTYPE:tTOKENS:nHC_MULT:hHIDDEN[:key=value]...:seed=S
//   mhc_pre:bf16:t33:n4:h4096:sk7:norm=bf16:repeat=20:mult=2:in=massive:seed=42
//
// Keys: skS (split_k), norm, entry, repeat, mult, rms_eps, hc_pre_eps, hc_sinkhorn_eps, norm_eps, collapse,
// next, proj, in, seed. Order is free after the fifth field, a key may stand once, defaults may be left out.
// A key that the case does not depend on is an error (rms_eps of mhc_post; norm_eps and collapse without a
// norm). norm=none is the default. Real numbers are decimal, 0.5 or 1e-6, and stand for the fp32 nearest to
// them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "reference/base/operators.h"

namespace mhcheck {

struct Case {
  Problem problem;
  RoundingProfile profile;
  std::string regime = "gauss";
  std::uint64_t seed = 1;
  bool operator==(const Case&) const = default;
};

// What is wrong, at which character of the descriptor, and what would be right; one line.
class DescriptorError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The case of a descriptor, always a legal problem. Throws DescriptorError; the regime's name is checked by
// who knows the regimes.
Case parse_descriptor(std::string_view text);

// The shortest descriptor of the case: defaults left out. parse_descriptor(to_descriptor(c)) == c for every
// case that parse_descriptor gives. What the case does not depend on is never written.
std::string to_descriptor(const Case& c);

// The descriptor with every key that the case depends on written out, in one fixed order.
std::string to_canonical_descriptor(const Case& c);

}  // namespace mhcheck

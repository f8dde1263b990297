// Laws put to a kernel set at one case.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel_set.h"
#include "properties/laws.h"

namespace mhcheck::conformance {

enum class LawStatus : std::uint8_t {
  kept,
  broken,
  silent,  // it says nothing about this case and these kernels
};

constexpr std::string_view name_of(LawStatus status) {
  switch (status) {
    case LawStatus::kept:
      return "kept";
    case LawStatus::broken:
      return "broken";
    case LawStatus::silent:
      return "silent";
  }
  return "?";
}

struct LawOutcome {
  const properties::Law* law = nullptr;
  LawStatus status = LawStatus::silent;
  std::string reason;  // how it is broken, or why it is silent: one line
};

struct LawCounts {
  std::uint64_t kept = 0, broken = 0, silent = 0;

  void include(LawStatus status);
  LawCounts& operator+=(const LawCounts& other);
};

// In the order of the laws. The kernels take the case and round as it says.
std::vector<LawOutcome> put_laws(std::span<const properties::Law* const> laws, const Case& c,
                                 kernels::KernelSet& kernels);

}  // namespace mhcheck::conformance

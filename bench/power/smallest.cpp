#include "bench/power/smallest.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace mhcheck::power {
namespace {

// Sizes above the smallest that are tried for themselves: half a decade.
constexpr std::size_t kConfirmed = 4;

// The faintest way in which the size is seen, over all cases.
Seen faintest(const Fault& fault, std::span<const AnsweredCase> cases, double signed_size) {
  Seen faintest = Seen::by_element;
  for (const AnsweredCase& c : cases) {
    faintest = std::min(faintest, fault.seen(c, signed_size));
    if (faintest == Seen::no) break;
  }
  return faintest;
}

}  // namespace

bool always_seen(const Fault& fault, std::span<const AnsweredCase> cases, double signed_size) {
  return faintest(fault, cases, signed_size) != Seen::no;
}

std::optional<Smallest> smallest_seen(const Fault& fault, std::span<const AnsweredCase> cases,
                                      std::span<const double> sizes) {
  for (const AnsweredCase& c : cases) {
    if (fault.seen(c, 0) == Seen::no) continue;
    throw std::logic_error(
        fmt::format("{}: {}, right, does not conform", to_descriptor(c.tested()), fault.what));
  }
  const auto seen = [&](double size) {
    const Seen up = faintest(fault, cases, size);
    if (up == Seen::no || !fault.either_sign()) return up;
    return std::min(up, faintest(fault, cases, -size));
  };

  std::size_t low = 0, high = sizes.size() - 1;  // the smallest lies in [low, high]
  if (seen(sizes[high]) == Seen::no) return std::nullopt;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (seen(sizes[middle]) == Seen::no) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  // Near the smallest, whether a size is seen is a matter of luck.
  for (std::size_t i = low; i < std::min(low + kConfirmed + 1, sizes.size()); ++i) {
    if (seen(sizes[i]) == Seen::no) low = i + 1;
  }
  if (low == sizes.size()) return std::nullopt;
  return Smallest{sizes[low], seen(sizes[low])};
}

}  // namespace mhcheck::power

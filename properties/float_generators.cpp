#include "properties/float_generators.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace mhcheck::properties {
namespace {

using Limits = std::numeric_limits<float>;

rc::Seq<float> simpler(float value) {
  std::vector<float> candidates;
  if (value != 0 || std::signbit(value)) candidates.push_back(0);
  if (value != 0 && value != 1) candidates.push_back(1);
  if (value < 0) candidates.push_back(-value);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  constexpr std::uint32_t kMantissa = (1u << (Limits::digits - 1)) - 1;
  if ((bits & kMantissa) != 0) {
    candidates.push_back(std::bit_cast<float>(bits & ~kMantissa));
    candidates.push_back(std::bit_cast<float>(bits & (bits - 1)));  // without the lowest bit
  }
  return rc::seq::fromContainer(std::move(candidates));
}

rc::Gen<float> shrinking(rc::Gen<float> values) {
  return [values = std::move(values)](const rc::Random& random, int size) {
    return rc::shrinkable::shrinkRecur(values(random, size).value(), simpler);
  };
}

rc::Gen<float> edges() {
  const rc::Gen<float> anchors =
      rc::gen::oneOf(rc::gen::element(0.0f, Limits::denorm_min(), Limits::min(), 1.0f, Limits::max()),
                     rc::gen::map(rc::gen::inRange(Limits::min_exponent, Limits::max_exponent),
                                  [](int exponent) { return std::ldexp(1.0f, exponent); }));
  const rc::Gen<float> beside = rc::gen::apply(
      [](float anchor, float direction) {
        const float value = direction == 0 ? anchor : std::nextafter(anchor, direction);
        return std::isfinite(value) ? value : anchor;
      },
      anchors, rc::gen::element(0.0f, -Limits::infinity(), Limits::infinity()));
  return rc::gen::apply([](float value, float sign) { return std::copysign(value, sign); }, beside,
                        rc::gen::element(1.0f, -1.0f));
}

// Bits from `first` on, below `end`, all equally likely.
rc::Gen<float> patterns(std::uint32_t first, std::uint32_t end) {
  return rc::gen::map(rc::gen::resize(rc::kNominalSize, rc::gen::inRange(first, end)),
                      [](std::uint32_t bits) { return std::bit_cast<float>(bits); });
}

}  // namespace

rc::Gen<float> finite_floats() {
  constexpr auto kInfinity = std::bit_cast<std::uint32_t>(Limits::infinity());
  const rc::Gen<float> signed_patterns =
      rc::gen::apply([](float value, float sign) { return std::copysign(value, sign); },
                     patterns(0, kInfinity), rc::gen::element(1.0f, -1.0f));
  return shrinking(rc::gen::oneOf(edges(), signed_patterns));
}

rc::Gen<float> epsilons() {
  constexpr auto kOne = std::bit_cast<std::uint32_t>(1.0f);
  return shrinking(patterns(0, kOne + 1));
}

}  // namespace mhcheck::properties

#include "properties/float_generators.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>

namespace mhcheck::properties {
namespace {

using Limits = std::numeric_limits<float>;

std::set<float> drawn(const rc::Gen<float>& values, std::uint64_t draws) {
  std::set<float> all;
  for (std::uint64_t i = 0; i < draws; ++i) all.insert(values(rc::Random(i)).value());
  return all;
}

TEST(FiniteFloats, AreFiniteAndReachTheEdgesOfTheFormat) {
  const std::set<float> values = drawn(finite_floats(), 20000);
  for (const float value : values) EXPECT_TRUE(std::isfinite(value)) << value;
  for (const float edge : {Limits::denorm_min(), Limits::min(), std::nextafter(Limits::min(), 0.0f), 1.0f,
                           std::nextafter(1.0f, 0.0f), std::nextafter(1.0f, 2.0f), Limits::max()}) {
    EXPECT_TRUE(values.contains(edge)) << edge;
    EXPECT_TRUE(values.contains(-edge)) << -edge;
  }
  EXPECT_GT(values.size(), 9000u);
}

TEST(Epsilons, LieFromZeroToOneWithAllMagnitudes) {
  const std::set<float> values = drawn(epsilons(), 5000);
  EXPECT_GE(*values.begin(), 0);
  EXPECT_LE(*values.rbegin(), 1);
  EXPECT_LT(*values.begin(), Limits::min());
  const auto below = [&](float limit) { return std::distance(values.begin(), values.lower_bound(limit)); };
  EXPECT_GT(below(1e-20f), 1000);
  EXPECT_GT(static_cast<std::ptrdiff_t>(values.size()) - below(1e-20f), 1000);
}

// Follows the first shrink that still fails, from the first draw that does.
float least(const std::function<bool(float)>& fails) {
  for (std::uint64_t i = 0;; ++i) {
    rc::Shrinkable<float> value = finite_floats()(rc::Random(i));
    if (!fails(value.value())) continue;
    for (bool found = true; found;) {
      found = false;
      rc::Seq<rc::Shrinkable<float>> shrinks = value.shrinks();
      while (!found) {
        const rc::Maybe<rc::Shrinkable<float>> next = shrinks.next();
        if (!next) break;
        found = fails(next->value());
        if (found) value = *next;
      }
    }
    return value.value();
  }
}

TEST(FloatShrinking, EndsAtTheSimplestValueThatFails) {
  EXPECT_EQ(least([](float) { return true; }), 0.0f);
  EXPECT_EQ(least([](float value) { return value != 0; }), 1.0f);
  EXPECT_TRUE(std::signbit(least([](float value) { return value == 0 && std::signbit(value); })));
  int exponent = 0;
  EXPECT_EQ(std::frexp(least([](float value) { return value < -2; }), &exponent), -0.5f);  // no mantissa left
}

}  // namespace
}  // namespace mhcheck::properties

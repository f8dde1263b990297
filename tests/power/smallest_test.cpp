// The search for the smallest visible size: on faults whose visibility is made up.
#include "bench/power/smallest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace mhcheck::power {
namespace {

std::vector<AnsweredCase> three_cases() {
  std::vector<AnsweredCase> cases;
  for (const char* descriptor : {"hc_expand:bf16:t1:n4:h8:seed=1", "hc_expand:bf16:t1:n4:h8:seed=2",
                                 "hc_expand:bf16:t1:n4:h8:seed=3"}) {
    cases.emplace_back(parse_descriptor(descriptor));
  }
  return cases;
}

Fault seen_when(Kind kind, std::function<Seen(const AnsweredCase&, double)> seen) {
  return {.kind = kind,
          .op = Op::hc_expand,
          .what = "made up",
          .regime = "gauss",
          .normed = false,
          .seen = std::move(seen)};
}

std::vector<double> up_to(int count) {
  std::vector<double> sizes;
  for (int size = 1; size <= count; ++size) sizes.push_back(size);
  return sizes;
}

TEST(Smallest, IsThatOfTheCaseAndSignThatShowItLeast) {
  const Fault fault = seen_when(Kind::bias, [](const AnsweredCase& c, double size) {
    const double limit = size < 0 && c.tested().seed == 2 ? 13 : 5;
    return std::fabs(size) >= limit ? Seen::by_element : Seen::no;
  });
  const auto smallest = smallest_seen(fault, three_cases(), up_to(40));
  ASSERT_TRUE(smallest);
  EXPECT_EQ(smallest->size, 13);
  EXPECT_EQ(smallest->how, Seen::by_element);
}

TEST(Smallest, HasOneSignWhereTheFaultHas) {
  const Fault fault = seen_when(
      Kind::share, [](const AnsweredCase&, double size) { return size >= 7 ? Seen::by_element : Seen::no; });
  const auto smallest = smallest_seen(fault, three_cases(), up_to(40));
  ASSERT_TRUE(smallest);
  EXPECT_EQ(smallest->size, 7);
}

TEST(Smallest, SaysWhenSomeCaseNeedsTheTensor) {
  const Fault fault = seen_when(Kind::share, [](const AnsweredCase& c, double size) {
    if (size < 3) return Seen::no;
    return c.tested().seed == 3 ? Seen::by_tensor : Seen::by_element;
  });
  const auto smallest = smallest_seen(fault, three_cases(), up_to(40));
  ASSERT_TRUE(smallest);
  EXPECT_EQ(smallest->how, Seen::by_tensor);
}

TEST(Smallest, LiesAboveASizeThatIsMissedByBadLuck) {
  const Fault fault = seen_when(Kind::share, [](const AnsweredCase&, double size) {
    return size >= 5 && size != 8 ? Seen::by_element : Seen::no;
  });
  const auto smallest = smallest_seen(fault, three_cases(), up_to(40));
  ASSERT_TRUE(smallest);
  EXPECT_EQ(smallest->size, 9);
}

TEST(Smallest, IsNoneWhereOneCaseNeverShowsIt) {
  const Fault fault = seen_when(Kind::bias, [](const AnsweredCase& c, double size) {
    return size != 0 && c.tested().seed != 2 ? Seen::by_element : Seen::no;
  });
  EXPECT_FALSE(smallest_seen(fault, three_cases(), up_to(40)));
}

TEST(Smallest, IsNotLookedForWhereARightKernelDoesNotConform) {
  const Fault fault = seen_when(Kind::bias, [](const AnsweredCase&, double) { return Seen::by_element; });
  EXPECT_THROW(smallest_seen(fault, three_cases(), up_to(40)), std::logic_error);
}

}  // namespace
}  // namespace mhcheck::power

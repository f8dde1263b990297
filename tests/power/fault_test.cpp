// The faults: none is seen at size 0, each is at a large one.
#include "bench/power/fault.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace mhcheck::power {
namespace {

constexpr std::int64_t kHidden = 64;

struct OperatorTest : ::testing::TestWithParam<Op> {};

TEST_P(OperatorTest, EveryFaultIsSeenWhereItIsLargeAndNeverWhereItIsNone) {
  std::map<std::string, bool> seen;  // in some regime
  for (const Fault& fault : faults_of(GetParam())) {
    const AnsweredCase c(case_of(fault, kHidden, /*num_tokens=*/3, /*seed=*/1));
    SCOPED_TRACE(to_descriptor(c.tested()) + " " + fault.what);
    EXPECT_EQ(fault.seen(c, 0), Seen::no);
    const double largest = sizes_of(fault, kHidden).back();
    bool seen_here = fault.seen(c, largest) == Seen::by_element;
    if (fault.either_sign()) seen_here = seen_here && fault.seen(c, -largest) == Seen::by_element;
    seen[fault.what] = seen[fault.what] || seen_here;
  }
  EXPECT_FALSE(seen.empty());
  for (const auto& [what, anywhere] : seen) EXPECT_TRUE(anywhere) << what;
}

TEST_P(OperatorTest, HasAFaultForEachOutputAndEachEpsItDependsOn) {
  const OperatorRow& row = row_of(GetParam());
  std::set<std::string> biased, changed;
  for (const Fault& fault : faults_of(GetParam())) {
    if (fault.kind == Kind::bias) biased.insert(fault.what);
    if (fault.kind == Kind::eps) changed.insert(fault.what);
  }
  const AnsweredCase any(case_of(faults_of(GetParam()).front(), kHidden, /*num_tokens=*/1, /*seed=*/1));
  std::set<std::string> outputs;
  for (const TensorSpec& spec : output_specs(any.tested().problem)) outputs.emplace(spec.name);
  EXPECT_EQ(biased, outputs);
  const unsigned eps = row.parameters & (kRmsEps | kHcPreEps | kHcSinkhornEps | kNormEps);
  EXPECT_EQ(static_cast<int>(changed.size()), std::popcount(eps));
}

std::vector<Op> every_operator() {
  std::vector<Op> ops;
  for (const OperatorRow& row : all_operators()) ops.push_back(row.op);
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Operators, OperatorTest, ::testing::ValuesIn(every_operator()),
                         [](const auto& op) { return std::string(row_of(op.param).name); });

TEST(Sizes, AscendFromTheSmallestToTheLargestThatHasAMeaning) {
  for (const OperatorRow& row : all_operators()) {
    for (const Fault& fault : faults_of(row.op)) {
      const std::vector<double> sizes = sizes_of(fault, kHidden);
      EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end(), std::less_equal<>()));
      const double largest =
          fault.kind == Kind::share ? static_cast<double>(terms_of(fault, kHidden)) / 2 : 1;
      EXPECT_LE(sizes.back(), largest);
      EXPECT_GE(sizes.back(), largest / 1.3);
    }
  }
}

}  // namespace
}  // namespace mhcheck::power

// The usual recipe: its inputs, its comparator, and that it catches and misses what it is known to.
#include "conformance/usual_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "conformance/mutant_hunt.h"

namespace mhcheck::conformance {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

TensorMap one_output(std::initializer_list<double> values) {
  Tensor tensor(Dtype::fp32, {static_cast<std::int64_t>(values.size())});
  std::size_t index = 0;
  for (const double value : values) tensor.set(index++, value);
  TensorMap map;
  map.emplace("y", std::move(tensor));
  return map;
}

std::optional<UsualMismatch> compared(const TensorMap& expected, const TensorMap& got) {
  return usual_comparison(expected, {{"y", got.at("y").bytes()}});
}

TEST(UsualComparison, TakesTheAbsoluteAndTheRelativeToleranceTogether) {
  EXPECT_FALSE(compared(one_output({0, 100, -100}), one_output({0.049, 101.04, -98.96})));
  const auto mismatch = compared(one_output({0, 100, -100}), one_output({0.051, 101.06, -98.94}));
  ASSERT_TRUE(mismatch);
  EXPECT_EQ(mismatch->output, "y");
  EXPECT_EQ(mismatch->elements, 3u);
  EXPECT_FLOAT_EQ(static_cast<float>(mismatch->got), 0.051f);
  EXPECT_EQ(mismatch->expected, 0);
}

TEST(UsualComparison, AgreesWithNoNaN) {
  EXPECT_TRUE(compared(one_output({1}), one_output({std::numeric_limits<double>::quiet_NaN()})));
}

double root_mean_square(const Tensor& tensor) {
  double sum = 0;
  for (std::size_t i = 0; i < tensor.size(); ++i) sum += tensor.value(i) * tensor.value(i);
  return std::sqrt(sum / static_cast<double>(tensor.size()));
}

TEST(UsualInputs, AreNormalWithScaledWeights) {
  const TensorMap inputs = usual_inputs(parse_descriptor("mhc_pre:bf16:t8:n4:h4096:norm=bf16:seed=1"));
  // 5 standard deviations of a root mean square of N normal numbers: 5/sqrt(2N).
  EXPECT_NEAR(root_mean_square(inputs.at("residual")), 1, 5 / std::sqrt(2.0 * 8 * 4 * 4096));
  EXPECT_NEAR(root_mean_square(inputs.at("fn")), 1e-4, 1e-4 * 5 / std::sqrt(2.0 * 24 * 16384));
  EXPECT_NEAR(root_mean_square(inputs.at("hc_base")), 0.1, 0.1 * 5 / std::sqrt(2.0 * 24));
}

TEST(UsualCases, AreThoseOfTheModelAtFewShapes) {
  const std::vector<Case> cases = usual_cases(Op::mhc_pre_delayed);
  EXPECT_EQ(cases.size(), 2u * 2 * 2 * 3);  // tokens, hidden sizes, norm, entries
  for (const Case& c : cases) {
    EXPECT_EQ(c.problem.dtype, Dtype::bf16);
    EXPECT_EQ(c.problem.hc_mult, 4);
  }
}

struct Known {
  std::string_view mutant;
  bool passes;
};

class UsualRecipe : public ::testing::TestWithParam<Known> {};

TEST_P(UsualRecipe, JudgesAsItIsKnownTo) {
  const auto zoo = mutants::zoo();
  mutants::Mutant mutant = *std::ranges::find(zoo, GetParam().mutant, &mutants::Mutant::name);
  mutant.own_case = "mhc_pre:bf16:t1:n4:h512:norm=bf16:seed=1";  // the hunt is not what is tested
  UsualAnswers usual;
  const MutantResult result = hunt(mutant, usual);
  if (GetParam().passes) {
    EXPECT_THAT(result.recipe, IsEmpty());
  } else {
    EXPECT_THAT(result.recipe, Not(IsEmpty()));
  }
}

INSTANTIATE_TEST_SUITE_P(Mutants, UsualRecipe,
                         ::testing::Values(Known{"projection_zero", true},
                                           Known{"stream_not_collapsed", false},
                                           Known{"norm_forgotten", false},
                                           Known{"last_row_unwritten", false}),
                         [](const auto& known) { return std::string(known.param.mutant); });

}  // namespace
}  // namespace mhcheck::conformance

// The reference against the oracle: random cases of every operator, format, rounding profile and kind of
// input.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "reference/base/case.h"
#include "reference/reference.h"
#include "tests/oracle/arb_oracle.h"
#include "tests/oracle/reference_checks.h"
#include "tests/oracle/test_inputs.h"

namespace mhcheck::oracle {
namespace {

using reference::Block;
using reference::Reference;
using reference::ReferenceOptions;

RoundingProfile random_profile(RandomSource& random) {
  constexpr CollapseRounding kCollapse[] = {CollapseRounding::storage, CollapseRounding::fp32_sumsq,
                                            CollapseRounding::fp32};
  constexpr NextResidual kNext[] = {NextResidual::rounded, NextResidual::unrounded, NextResidual::fp32_sumsq};
  constexpr ProjectionPrecision kProjection[] = {ProjectionPrecision::fp32, ProjectionPrecision::tf32,
                                                 ProjectionPrecision::bf16x2, ProjectionPrecision::bf16x1};
  return {random.one_of(kCollapse), random.one_of(kNext), random.one_of(kProjection)};
}

Parameters random_parameters(const Problem& problem, RandomSource& random) {
  constexpr float kEps[] = {1e-6f, 1e-6f, 3e-6f, 1e-3f, 1e-20f, 0x1p-25f, 1, 0};
  constexpr float kMult[] = {2, 1, 0, -0.75f, 1e30f};
  constexpr int kRepeat[] = {20, 1, 2, 3, 7, 0};
  Parameters q{random.one_of(kEps), random.one_of(kEps),  random.one_of(kEps),
               random.one_of(kEps), random.one_of(kMult), random.one_of(kRepeat)};
  const bool head_mode_exists =
      problem.op == Op::mhc_pre || problem.op == Op::mhc_pre_big_fuse || problem.op == Op::mhc_fused_post_pre;
  if (q.sinkhorn_repeat == 0 && !head_mode_exists) q.sinkhorn_repeat = 20;
  return q;
}

// The shape's extents are for the caller to choose.
Problem random_problem(Op op, Dtype dtype, RandomSource& random) {
  const OperatorRow& row = row_of(op);
  Problem p;
  p.op = op;
  p.dtype = dtype;
  if (row.splits) p.split_k = 1 + static_cast<int>(random.below(7));
  if (row.needs_norm || (row.fused_norm && random.one_in(2))) p.norm_weight = random.one_of(kAllDtypes);
  if (row.entries) p.entry = static_cast<Entry>(random.below(3));
  p.parameters = random_parameters(p, random);
  return p;
}

std::string describe(const Case& c, const Flavour& flavour) {
  return fmt::format("{} inputs: {}", to_canonical_descriptor(c), flavour.name);
}

void compare(const Problem& problem, const Flavour& flavour, RandomSource& random, bool multiprecision) {
  const Case c{problem, random_profile(random)};
  ASSERT_EQ(why_illegal(problem), "");
  SCOPED_TRACE(describe(c, flavour));
  const TensorMap inputs = make_inputs(problem, flavour, random);
  std::map<std::string, Answer> answers;
  ASSERT_NO_THROW(answers = arb_answers(problem, c.profile, inputs));
  const Reference reference(problem, c.profile, inputs,
                            ReferenceOptions{.start_at_multiprecision = multiprecision});
  Block block;
  ASSERT_NO_THROW(block = reference.evaluate(0, problem.num_tokens));
  EXPECT_TRUE(agrees(block, answers));
}

// Every operator and stream format, with the reference's double arithmetic and without.
using Parameter = std::tuple<Op, Dtype, bool>;

class ReferenceOfEveryOperator : public testing::TestWithParam<Parameter> {
 protected:
  void compare(const Problem& problem, const Flavour& flavour, RandomSource& random) const {
    oracle::compare(problem, flavour, random, std::get<2>(GetParam()));
  }

  // Different cases for each parameter, the same in each run.
  RandomSource source(std::uint64_t salt) const {
    const auto& [op, dtype, multiprecision] = GetParam();
    return RandomSource(salt + 1000 * static_cast<std::uint64_t>(op) +
                        100 * static_cast<std::uint64_t>(dtype) + (multiprecision ? 10 : 0));
  }
};

TEST_P(ReferenceOfEveryOperator, SmallCasesOfEveryKindAgree) {
  constexpr int kCasesPerFlavour = 12;
  constexpr std::int64_t kHidden[] = {1, 2, 3, 8, 17, 64};
  RandomSource random = source(1);
  for (const Flavour& flavour : all_flavours()) {
    for (int i = 0; i < kCasesPerFlavour && !HasFailure(); ++i) {
      Problem p = random_problem(std::get<0>(GetParam()), std::get<1>(GetParam()), random);
      p.num_tokens = static_cast<std::int64_t>(random.below(4));
      p.hc_mult = 1 + static_cast<int>(random.below(kMaxHcMult));
      p.hidden_size = random.one_of(kHidden);
      compare(p, flavour, random);
    }
  }
}

TEST_P(ReferenceOfEveryOperator, MediumCasesAgree) {
  constexpr std::int64_t kHidden[] = {256, 384, 513};
  RandomSource random = source(2);
  for (const Flavour& flavour : all_flavours()) {
    Problem p = random_problem(std::get<0>(GetParam()), std::get<1>(GetParam()), random);
    p.num_tokens = 2;
    p.hc_mult = 4;
    p.hidden_size = random.one_of(kHidden);
    compare(p, flavour, random);
  }
}

// A sum whose terms span the whole range of fp32: one slice of the projection cannot see both ends. The
// operators with gates are left out, since no precision tells a sigmoid of 1e30 from 1.
TEST(ReferenceAgainstArb, SumsOfExtremeWeightsAgree) {
  constexpr int kCases = 400;
  RandomSource random(3);
  const auto extreme = [](RandomSource& source) {
    return decode(Dtype::fp32, source.finite_bits(Dtype::fp32));
  };
  Flavour flavour = all_flavours().back();
  flavour.weight = extreme;
  for (int i = 0; i < kCases && !testing::Test::HasFailure(); ++i) {
    Problem p = random_problem(Op::mhc_pre_gemm_sqrsum, i % 2 == 0 ? Dtype::bf16 : Dtype::fp16, random);
    p.num_tokens = 2;
    p.hc_mult = 1 + static_cast<int>(random.below(4));
    p.hidden_size = 1 + static_cast<std::int64_t>(random.below(300));
    compare(p, flavour, random, i % 3 == 0);
  }
}

// Softmax entries far below every format, which Sinkhorn without eps divides by.
TEST(ReferenceAgainstArb, SinkhornWithoutEpsOfLogitsFarApartAgrees) {
  constexpr int kCases = 40;
  RandomSource random(4);
  Flavour flavour = all_flavours().front();
  flavour.base = [](RandomSource& source) { return 1e7 * source.gauss(); };
  for (int i = 0; i < kCases && !testing::Test::HasFailure(); ++i) {
    Problem p;
    p.op = Op::sinkhorn;
    p.num_tokens = 3;
    p.hc_mult = 1 + static_cast<int>(random.below(kMaxHcMult));
    p.parameters.hc_sinkhorn_eps = 0;
    p.parameters.sinkhorn_repeat = 1 + static_cast<int>(random.below(5));
    compare(p, flavour, random, i % 2 == 0);
  }
}

std::string name_of_parameter(const testing::TestParamInfo<Parameter>& test) {
  const auto& [op, dtype, multiprecision] = test.param;
  return fmt::format("{}_{}_{}", row_of(op).name, name_of(dtype),
                     multiprecision ? "multiprecision" : "double_first");
}

std::vector<Op> all_ops() {
  std::vector<Op> ops;
  for (const OperatorRow& row : all_operators()) ops.push_back(row.op);
  return ops;
}

INSTANTIATE_TEST_SUITE_P(All, ReferenceOfEveryOperator,
                         testing::Combine(testing::ValuesIn(all_ops()),
                                          testing::Values(Dtype::bf16, Dtype::fp16), testing::Bool()),
                         name_of_parameter);

}  // namespace
}  // namespace mhcheck::oracle

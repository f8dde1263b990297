// The generator of cases: what it reaches, that it is a function of its seed, and where its shrinking ends.
#include "properties/case_generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "properties/case_classes.h"

namespace mhcheck::properties {
namespace {

CaseSpace whole_space() {
  CaseSpace space;
  for (const OperatorRow& row : all_operators()) space.operators.push_back(row.op);
  space.dtypes = {Dtype::bf16, Dtype::fp16};
  space.profile = [](Op) { return RoundingProfile{}; };
  space.takes = [](const Problem&) { return true; };
  space.usual_elements = 1 << 14;
  return space;
}

Case drawn(const CaseSpace& space, std::uint64_t number) {
  return cases(space)(rc::Random({/*seed*/ 7, number, 0, 0})).value();
}

// The first simpler case that still fails, again and again.
Case shrunk(Case c, const std::function<bool(const Case&)>& fails) {
  for (;;) {
    const std::vector<Case> simpler = simpler_cases(c);
    const auto next = std::ranges::find_if(simpler, fails);
    if (next == simpler.end()) return c;
    c = *next;
  }
}

TEST(CaseGenerator, ReachesEveryClassOfEveryAxis) {
  constexpr std::uint64_t kDraws = 4000;
  std::map<std::string_view, std::map<std::string_view, int>> reached;
  const CaseSpace space = whole_space();
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const Case c = drawn(space, i);
    for (const Axis& axis : all_axes()) {
      if (const auto of_case = axis.class_of(c)) ++reached[axis.name][*of_case];
    }
  }
  for (const Axis& axis : all_axes()) {
    for (const std::string_view name : axis.classes) {
      EXPECT_GE(reached[axis.name][name], 20) << axis.name << " " << name;
      reached[axis.name].erase(name);
    }
    EXPECT_TRUE(reached[axis.name].empty())
        << axis.name << " has a class that its row does not list: " << reached[axis.name].begin()->first;
  }
}

TEST(CaseGenerator, AxesConcernExactlyTheOperatorsWhoseCasesHaveAClass) {
  const CaseSpace space = whole_space();
  std::map<std::string_view, std::set<Op>> with_class;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Case c = drawn(space, i);
    for (const Axis& axis : all_axes()) {
      if (axis.class_of(c)) with_class[axis.name].insert(c.problem.op);
    }
  }
  for (const Axis& axis : all_axes()) {
    for (const OperatorRow& row : all_operators()) {
      EXPECT_EQ(axis.concerns(row), with_class[axis.name].contains(row.op)) << axis.name << " " << row.name;
    }
  }
}

TEST(CaseGenerator, GivesLegalCanonicalCasesOfTheSizeAskedFor) {
  const CaseSpace space = whole_space();
  double elements = 0;
  int within = 0;
  constexpr int kDraws = 4000;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const Case c = drawn(space, i);
    EXPECT_EQ(why_illegal(c.problem), "");
    EXPECT_EQ(parse_descriptor(to_descriptor(c)), c);
    // One token may be larger than what was asked for.
    if (c.problem.num_tokens > 1) {
      EXPECT_LE(elements_of(c.problem), 128 * space.usual_elements);
    }
    within += elements_of(c.problem) <= space.usual_elements;
    elements += static_cast<double>(elements_of(c.problem));
  }
  EXPECT_GE(within, kDraws / 3);
  EXPECT_LE(elements / kDraws, 16.0 * static_cast<double>(space.usual_elements));
}

// A seed that is written in a report must mean the same cases in every later version of these files, or the
// version of the journal has to change with them.
TEST(CaseGenerator, FixedSeedsGiveFixedCases) {
  const CaseSpace space = whole_space();
  EXPECT_EQ(to_descriptor(drawn(space, 0)),
            "mhc_pre_delayed:fp16:t1:n4:h1280:sk13:entry=entry:repeat=22:mult=2.0101485e-26:rms_eps=0:hc_pre_"
            "eps=1e-20:hc_sinkhorn_eps=0:in=massive:seed=13915552689461436890");
  EXPECT_EQ(
      to_descriptor(drawn(space, 1)),
      "hc_head:fp16:t1:n4:h3191:rms_eps=8.7493676e-33:hc_pre_eps=0:in=heavy_tail:seed=7103581469231254735");
  EXPECT_EQ(to_descriptor(drawn(space, 2)),
            "mhc_pre_big_fuse:fp16:t1:n4:h1280:sk64:norm=fp32:repeat=1:mult=0:rms_eps=2.5862387e-33:hc_pre_"
            "eps=0.01:hc_sinkhorn_eps=0.01:norm_eps=0.01:in=weak_logits:seed=13291201964464774662");
  EXPECT_EQ(to_descriptor(drawn(space, 3)),
            "mhc_pre_delayed:fp16:t1:n6:h1920:sk64:entry=entry:repeat=1:rms_eps=1.5808164e-17:hc_pre_eps=1e-"
            "20:seed=12524795229253266588");
}

TEST(CaseGenerator, DifferentNumbersGiveDifferentCases) {
  const CaseSpace space = whole_space();
  std::set<std::string> descriptors;
  for (std::uint64_t i = 0; i < 1000; ++i) descriptors.insert(to_descriptor(drawn(space, i)));
  EXPECT_EQ(descriptors.size(), 1000u);
}

TEST(CaseGenerator, KeepsToWhatTheKernelsTake) {
  CaseSpace space = whole_space();
  space.operators = {Op::mhc_pre, Op::mhc_post};
  space.dtypes = {Dtype::fp16};
  space.profile = [](Op) { return RoundingProfile{.projection = ProjectionPrecision::tf32}; };
  space.takes = [](const Problem& p) {
    return p.hc_mult == 4 && p.hidden_size % 256 == 0 && p.num_tokens < 100;
  };
  for (std::uint64_t i = 0; i < 500; ++i) {
    const Case c = drawn(space, i);
    EXPECT_TRUE(space.takes(c.problem)) << to_descriptor(c);
    EXPECT_EQ(c.problem.dtype, Dtype::fp16);
    EXPECT_TRUE(c.problem.op == Op::mhc_pre || c.problem.op == Op::mhc_post);
    if (c.problem.op == Op::mhc_pre) {
      EXPECT_EQ(c.profile.projection, ProjectionPrecision::tf32);
    }
  }
}

TEST(CaseGenerator, GivesTheLastDrawWhereTheKernelsTakeNothing) {
  CaseSpace space = whole_space();
  int asked = 0;
  space.takes = [&asked](const Problem&) {
    ++asked;
    return false;
  };
  EXPECT_EQ(why_illegal(drawn(space, 0).problem), "");
  EXPECT_GE(asked, 100);
}

TEST(Shrinking, TheGeneratorOffersTheSimplerCases) {
  const CaseSpace space = whole_space();
  const rc::Shrinkable<Case> drawn = cases(space)(rc::Random(3));
  rc::Seq<rc::Shrinkable<Case>> shrinks = drawn.shrinks();
  const std::vector<Case> simpler = simpler_cases(drawn.value());
  EXPECT_GT(simpler.size(), 3u);
  for (const Case& expected : simpler) EXPECT_EQ(shrinks.next()->value(), expected);
  EXPECT_FALSE(shrinks.next());
}

TEST(Shrinking, EveryStepEndsAtTheSimplestCaseOfTheOperator) {
  const CaseSpace space = whole_space();
  for (std::uint64_t i = 0; i < 300; ++i) {
    const Case c = drawn(space, i);
    const Case least = shrunk(c, [](const Case&) { return true; });
    EXPECT_EQ(least.problem.op, c.problem.op);
    EXPECT_EQ(least.profile, parse_descriptor(to_descriptor(c)).profile);
    EXPECT_EQ(least.problem.num_tokens, 0);
    EXPECT_EQ(least.problem.hidden_size, 1);
    EXPECT_EQ(least.regime, "gauss");
    EXPECT_EQ(least.seed, 1u);
    EXPECT_TRUE(simpler_cases(least).empty()) << to_descriptor(least);
  }
}

// A planted fault, and the simplest case that shows it.
struct Planted {
  const char* name;
  Op op;
  bool (*fails)(const Case&);
  const char* least;
};

class PlantedFault : public testing::TestWithParam<Planted> {};

TEST_P(PlantedFault, ShrinksToItsSimplestCase) {
  CaseSpace space = whole_space();
  space.operators = {GetParam().op};
  int tried = 0;
  for (std::uint64_t i = 0; i < 3000 && tried < 10; ++i) {
    const Case c = drawn(space, i);
    if (!GetParam().fails(c)) continue;
    ++tried;
    EXPECT_EQ(to_descriptor(shrunk(c, GetParam().fails)), GetParam().least) << "from " << to_descriptor(c);
  }
  EXPECT_EQ(tried, 10);
}

INSTANTIATE_TEST_SUITE_P(
    Shrinking, PlantedFault,
    testing::Values(
        Planted{"AnyToken", Op::mhc_pre, [](const Case& c) { return c.problem.num_tokens > 0; },
                "mhc_pre:bf16:t1:n1:h1:repeat=0"},
        Planted{"ManyTokens", Op::mhc_post, [](const Case& c) { return c.problem.num_tokens >= 33; },
                "mhc_post:bf16:t33:n1:h1"},
        Planted{"WideRows", Op::mhc_post,
                [](const Case& c) { return c.problem.num_tokens > 0 && c.problem.hidden_size > 1024; },
                "mhc_post:bf16:t1:n1:h1025"},
        Planted{"RowsOfAListedSize", Op::mhc_pre,
                [](const Case& c) {
                  const auto h = c.problem.hidden_size;
                  return c.problem.num_tokens > 0 && c.problem.hc_mult == 4 &&
                         (h == 2560 || h == 4096 || h == 7168);
                },
                "mhc_pre:bf16:t1:n4:h2560:repeat=0"},
        Planted{"ARegime", Op::rmsnorm,
                [](const Case& c) { return c.problem.num_tokens > 0 && c.regime == "massive"; },
                "rmsnorm:bf16:t1:n4:h1:norm=bf16:in=massive"},
        Planted{"AnEpsilon", Op::sinkhorn,
                [](const Case& c) {
                  return c.problem.num_tokens > 0 && c.problem.parameters.hc_sinkhorn_eps == 0;
                },
                "sinkhorn:bf16:t1:n1:h1:repeat=1:hc_sinkhorn_eps=0"},
        Planted{"ANorm", Op::mhc_fused_post_pre,
                [](const Case& c) { return c.problem.num_tokens > 2 && c.problem.norm_weight.has_value(); },
                "mhc_fused_post_pre:bf16:t3:n1:h1:norm=bf16:repeat=0"},
        Planted{"Fp16", Op::hc_expand,
                [](const Case& c) { return c.problem.num_tokens > 0 && c.problem.dtype == Dtype::fp16; },
                "hc_expand:fp16:t1:n1:h1"},
        Planted{"Splits", Op::mhc_pre_gemm_sqrsum,
                [](const Case& c) { return c.problem.num_tokens > 0 && c.problem.split_k > 2; },
                "mhc_pre_gemm_sqrsum:bf16:t1:n1:h1:sk3"}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace mhcheck::properties

// The case list covers what it says it covers.
#include "conformance/case_list.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "properties/regimes.h"

namespace mhcheck::conformance {
namespace {

std::vector<RoundingProfile> production_profiles(Op) {
  return {{}, {.collapse = CollapseRounding::fp32_sumsq}, {.collapse = CollapseRounding::fp32}};
}

std::vector<Case> merge_cases(CaseSelection selection = {}) {
  selection.profile = "merge";
  return list_cases(selection, production_profiles);
}

TEST(CaseList, MergeCrossesEveryOperatorDtypeShapeOfTheSweep) {
  const std::vector<Case> cases = merge_cases();
  std::set<std::tuple<Op, Dtype, std::int64_t, std::int64_t>> crossed;
  for (const Case& c : cases) {
    crossed.insert({c.problem.op, c.problem.dtype, c.problem.hidden_size, c.problem.num_tokens});
  }
  std::set<std::int64_t> hidden_sizes{1280, 2560, 4096, 5120, 7168, 520, 769, 1000};
  for (std::int64_t h = 512; h <= 7168; h += 256) hidden_sizes.insert(h);
  for (const OperatorRow& row : all_operators()) {
    for (const Dtype dtype : {Dtype::bf16, Dtype::fp16}) {
      for (const std::int64_t h : hidden_sizes) {
        for (const std::int64_t t : {0, 1, 2, 3, 17, 33, 64, 128}) {
          EXPECT_TRUE(crossed.contains({row.op, dtype, h, t})) << row.name << " " << h << " " << t;
        }
      }
    }
    for (const std::int64_t h : hidden_sizes) {
      EXPECT_NE(crossed.contains({row.op, Dtype::bf16, h, 1024}),
                crossed.contains({row.op, Dtype::fp16, h, 1024}))
          << row.name << " " << h;
    }
  }
}

TEST(CaseList, DtypesTakeTurnsAtLargeCasesOfAProfileOnly) {
  std::map<std::pair<Dtype, std::int64_t>, int> large;
  for (const Case& c : merge_cases()) {
    if (c.problem.num_tokens == 1024) ++large[{c.problem.dtype, c.problem.hidden_size}];
  }
  EXPECT_EQ(large.size(), 60u);  // every hidden size has both, for one operator or another
  for (const auto& [which, operators] : large) EXPECT_GE(operators, 6) << which.second;

  CaseSelection selection;
  selection.num_tokens = {1024};
  EXPECT_EQ(merge_cases(selection).size(), all_operators().size() * 30 * 2);
}

TEST(CaseList, CasesAreDrawnWithinWhatTheKernelTakes) {
  const auto takes = [](const Case& c) {
    return c.problem.hc_mult == 4 && c.problem.hidden_size != 1024 &&
           (!c.problem.norm_weight || c.problem.norm_weight == Dtype::bf16);
  };
  CaseSelection selection;
  selection.profile = "merge";
  selection.operators = {Op::mhc_pre};
  const std::vector<Case> cases = list_cases(selection, production_profiles, takes);
  std::size_t refused = 0;
  std::set<std::string> regimes;
  for (const Case& c : cases) {
    // No draw changes the hidden size: such a case stays, for the runner to count.
    if (c.problem.hidden_size == 1024) {
      ++refused;
    } else {
      EXPECT_TRUE(takes(c)) << to_descriptor(c);
    }
    regimes.insert(c.regime);
  }
  EXPECT_EQ(cases.size(), merge_cases(selection).size());
  EXPECT_EQ(refused, 17u);  // eight token counts in both dtypes, and 1024 in one
  EXPECT_EQ(regimes.size(), properties::all_regimes().size());
}

// Every value of a rotating axis must turn up with every operator that it means something to.
TEST(CaseList, EveryOperatorMeetsEveryRegimeAndEveryVariant) {
  std::map<Op, std::set<std::string>> regimes;
  std::map<Op, std::set<int>> streams, repeats, splits;
  std::map<Op, std::set<std::optional<Dtype>>> norms;
  std::map<Op, std::set<Entry>> entries;
  std::map<Op, std::set<float>> epsilons, mults;
  std::map<Op, std::set<CollapseRounding>> roundings;
  for (const Case& c : merge_cases()) {
    const Problem& p = c.problem;
    if (p.num_tokens == 0) continue;  // proves nothing about values
    regimes[p.op].insert(c.regime);
    streams[p.op].insert(p.hc_mult);
    repeats[p.op].insert(p.parameters.sinkhorn_repeat);
    splits[p.op].insert(p.split_k);
    norms[p.op].insert(p.norm_weight);
    entries[p.op].insert(p.entry);
    epsilons[p.op].insert(p.parameters.rms_eps);
    mults[p.op].insert(p.parameters.hc_post_mult_value);
    roundings[p.op].insert(c.profile.collapse);
  }
  for (const OperatorRow& row : all_operators()) {
    EXPECT_EQ(regimes[row.op].size(), properties::all_regimes().size()) << row.name;
    if (row.streams) {
      EXPECT_TRUE(streams[row.op].contains(4) && streams[row.op].size() >= 4) << row.name;
    }
    if (row.fused_norm && !row.needs_norm) {
      EXPECT_EQ(norms[row.op].size(), 4u) << row.name;
    }
    if (row.needs_norm) {
      EXPECT_EQ(norms[row.op].size(), 3u) << row.name;
    }
    if (row.entries) {
      EXPECT_EQ(entries[row.op].size(), 3u);
    }
    if (row.splits) {
      EXPECT_GE(splits[row.op].size(), 5u);
    }
    if ((row.parameters & kSinkhornRepeat) != 0) {
      EXPECT_TRUE(repeats[row.op].contains(20) && repeats[row.op].contains(1) &&
                  repeats[row.op].contains(50));
    }
    if ((row.parameters & kRmsEps) != 0) {
      EXPECT_EQ(epsilons[row.op].size(), 4u) << row.name;
    }
    if ((row.parameters & kHcPostMultValue) != 0) {
      EXPECT_GE(mults[row.op].size(), 2u) << row.name;
    }
    if (row.fused_norm && !row.needs_norm) {
      EXPECT_EQ(roundings[row.op].size(), 3u) << row.name;
    }
  }
  EXPECT_TRUE(repeats[Op::mhc_pre].contains(0));  // head mode
}

// A fused norm of an unrounded collapse, without an eps: constant rows are ties that no precision decides.
TEST(CaseList, NoListedCaseIsBeyondTheReference) {
  CaseSelection selection;
  selection.profile = "nightly";
  int normalised = 0;
  for (const Case& c : list_cases(selection, production_profiles)) {
    const Problem& p = c.problem;
    if (!p.norm_weight || row_of(p.op).needs_norm || c.profile.collapse != CollapseRounding::fp32) continue;
    ++normalised;
    EXPECT_GT(p.parameters.norm_eps, 0) << to_descriptor(c);
  }
  EXPECT_GT(normalised, 1000);
}

TEST(CaseList, NoCaseStandsTwice) {
  std::set<std::string> descriptors;
  const std::vector<Case> cases = merge_cases();
  for (const Case& c : cases) descriptors.insert(to_canonical_descriptor(c));
  EXPECT_EQ(descriptors.size(), cases.size());
}

TEST(CaseList, ShardsPartitionTheList) {
  const std::vector<Case> whole = merge_cases();
  std::vector<Case> together(whole.size());
  std::size_t found = 0;
  for (std::uint64_t number = 1; number <= 7; ++number) {
    CaseSelection selection;
    selection.shard = {number, 7};
    const std::vector<Case> part = merge_cases(selection);
    EXPECT_NEAR(static_cast<double>(part.size()), static_cast<double>(whole.size()) / 7, 1);
    for (std::size_t i = 0; i < part.size(); ++i) together[i * 7 + number - 1] = part[i];
    found += part.size();
  }
  EXPECT_EQ(found, whole.size());
  EXPECT_EQ(together, whole);
}

TEST(CaseList, ChoosingAnOperatorChangesNoneOfItsCases) {
  CaseSelection selection;
  selection.operators = {Op::mhc_post};
  const std::vector<Case> alone = merge_cases(selection);
  std::vector<Case> among;
  for (const Case& c : merge_cases()) {
    if (c.problem.op == Op::mhc_post) among.push_back(c);
  }
  EXPECT_EQ(alone, among);
}

TEST(CaseList, OptionsTakeThePlaceOfTheProfilesAxes) {
  CaseSelection selection;
  selection.operators = {Op::hc_head};
  selection.hidden_sizes = {7, 8};
  selection.num_tokens = {5};
  selection.dtypes = {Dtype::fp16};
  selection.seed = 99;
  const std::vector<Case> cases = merge_cases(selection);
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0].problem.hidden_size, 7);
  EXPECT_EQ(cases[1].problem.hidden_size, 8);
  for (const Case& c : cases) {
    EXPECT_EQ(c.problem.op, Op::hc_head);
    EXPECT_EQ(c.problem.num_tokens, 5);
    EXPECT_EQ(c.problem.dtype, Dtype::fp16);
    EXPECT_EQ(c.seed, 99u);
  }
}

TEST(CaseList, EveryDescriptorFixesItsCase) {
  for (const std::string_view profile : {"smoke", "merge"}) {
    CaseSelection selection;
    selection.profile = profile;
    for (const Case& c : list_cases(selection, production_profiles)) {
      EXPECT_EQ(parse_descriptor(to_descriptor(c)), c) << to_descriptor(c);
    }
  }
}

TEST(CaseList, AnUnknownProfileIsAnErrorThatNamesTheOthers) {
  CaseSelection selection;
  selection.profile = "mega";
  try {
    list_cases(selection, production_profiles);
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_EQ(std::string(e.what()), "no profile is called 'mega', there are smoke, merge, nightly");
  }
}

}  // namespace
}  // namespace mhcheck::conformance

// The zoo: its correct base conforms, and a kernel that is not caught turns the score red.
#include "kernels/mutants/zoo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "conformance/case_list.h"
#include "conformance/mutant_hunt.h"
#include "conformance/report/mutant_report.h"
#include "conformance/runner.h"
#include "kernels/manifests/manifest_kernels.h"
#include "kernels/runtime/sim_device.h"

namespace mhcheck::conformance {
namespace {

using mutants::Check;
using mutants::Mutant;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

KernelRow row_with(const kernels::Manifest& manifest) {
  return {.name = manifest.name, .device = "sim", .summary = {}, .options = {}, .make = [manifest] {
            return std::make_unique<kernels::ManifestKernels>(runtime::open_sim({.threads = 1}), manifest,
                                                              kernels::code_object_path(manifest, {}));
          }};
}

const Mutant& named(std::string_view name) {
  const auto zoo = mutants::zoo();
  const auto found = std::ranges::find(zoo, name, &Mutant::name);
  if (found == zoo.end()) throw std::invalid_argument(std::string(name));
  return *found;
}

MutantResult hunted(const Mutant& mutant) {
  UsualAnswers usual;
  return hunt(mutant, usual);
}

// The base in a mutant's place.
Mutant unbroken(Check promised) {
  return {.name = "correct",
          .op = Op::mhc_pre,
          .stage = "finish",
          .broken = "nothing",
          .caught_by = promised,
          .own_case = "mhc_pre:bf16:t3:n4:h512:norm=bf16:seed=1",
          .why_own_case = "quick"};
}

TEST(Zoo, ItsCorrectBaseConforms) {
  const KernelRow row = row_with(mutants::base_manifest());
  const std::unique_ptr<kernels::KernelSet> base = row.make();
  const std::vector<Case> cases = list_cases({}, [&](Op op) {
    return base->implements(op) ? std::vector{base->profile(op)} : std::vector<RoundingProfile>{};
  });
  std::map<Op, int> judged;
  for (const Case& c : cases) {
    // Those of 33 tokens take a sanitized build minutes and show nothing that 3 do not.
    if (c.problem.num_tokens > 3 || !base->why_refused(c.problem).empty()) continue;
    const CaseResult result = run_case(c, row, *base, Threads::one);
    EXPECT_EQ(result.status, CaseStatus::passed) << to_descriptor(c) << result.reason;
    ++judged[c.problem.op];
  }
  EXPECT_EQ(judged.size(), all_operators().size());
  for (const auto& [op, count] : judged) EXPECT_GE(count, 8) << row_of(op).name;
}

TEST(Zoo, EveryRowIsAMutantOfItsOwnAndSaysWhatIsBroken) {
  EXPECT_GE(mutants::zoo().size(), 50u);
  std::set<std::string_view> names;
  for (const Mutant& mutant : mutants::zoo()) {
    SCOPED_TRACE(mutant.name);
    EXPECT_TRUE(names.insert(mutant.name).second);
    EXPECT_FALSE(mutant.broken.empty());
    EXPECT_TRUE(!mutant.stage.empty() || !mutant.patch.empty());
    EXPECT_EQ(mutant.own_case.empty(), mutant.why_own_case.empty());
    EXPECT_EQ(mutant.caught_by == Check::law, !mutant.law.empty());
    if (mutant.caught_by == Check::law) {
      EXPECT_EQ(properties::parse_laws(mutant.law).size(), 1u);
    }
  }
}

std::set<std::string> kernels_of(const kernels::OperatorEntry& entry) {
  std::set<std::string> launched;
  for (const kernels::LaunchStep& step : entry.variants.front().launches) launched.insert(step.kernel);
  return launched;
}

TEST(Zoo, EveryMutantRunsTheKernelThatItsRowBreaksAndTheBaseElsewhere) {
  const kernels::Manifest base = mutants::base_manifest();
  for (const Mutant& mutant : mutants::zoo()) {
    SCOPED_TRACE(mutant.name);
    const kernels::Manifest manifest = mutants::manifest_of(mutant);
    ASSERT_EQ(manifest.operators.size(), base.operators.size());
    for (const kernels::OperatorEntry& entry : base.operators) {
      if (entry.op == mutant.op) continue;
      EXPECT_EQ(kernels_of(*manifest.find(entry.op)), kernels_of(entry));
    }
    if (mutant.stage.empty()) continue;
    const std::set<std::string> launched = kernels_of(*manifest.find(mutant.op));
    EXPECT_TRUE(launched.contains(std::string(mutant.stage) + "_" + std::string(mutant.name)));
    EXPECT_FALSE(launched.contains(std::string(mutant.stage) + "_correct"));
  }
}

class Promise : public ::testing::TestWithParam<Check> {};

TEST_P(Promise, AKernelThatIsRightSurvivesAndTheScoreTurnsRed) {
  const Mutant base = unbroken(GetParam());
  const MutantResult result = hunted(base);
  EXPECT_THAT(result.findings, IsEmpty());
  EXPECT_FALSE(result.killed());
  EXPECT_EQ(exit_code({&result, 1}), 1);
  EXPECT_THAT(mutant_table({&result, 1}), HasSubstr("SURVIVED"));
  EXPECT_THAT(mutant_table({&result, 1}), HasSubstr("0 of 1 mutants killed"));
  EXPECT_EQ(mutant_json({&result, 1})["mutants"][0]["killed"], false);
  EXPECT_THAT(result.recipe, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Zoo, Promise,
                         ::testing::Values(Check::fault, Check::memory, Check::membership, Check::bias,
                                           Check::sanitizer, Check::schedule, Check::law),
                         [](const auto& promise) { return std::string(mutants::name_of(promise.param)); });

struct Stage {
  Op op;
  std::string_view name, descriptor;
};

class BaseInAMutantsPlace : public ::testing::TestWithParam<Stage> {};

TEST_P(BaseInAMutantsPlace, Survives) {
  Mutant base = unbroken(Check::membership);
  base.op = GetParam().op;
  base.stage = GetParam().name;
  base.own_case = GetParam().descriptor;
  const MutantResult result = hunted(base);
  EXPECT_EQ(result.descriptor, GetParam().descriptor);
  EXPECT_THAT(result.findings, IsEmpty());
  EXPECT_EQ(exit_code({&result, 1}), 1);
  EXPECT_THAT(result.recipe, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Zoo, BaseInAMutantsPlace,
                         ::testing::Values(Stage{Op::mhc_pre_gemm_sqrsum, "sums",
                                                 "mhc_pre_gemm_sqrsum:fp16:t3:n4:h96:sk3"},
                                           Stage{Op::mhc_post, "post", "mhc_post:bf16:t3:n4:h96"},
                                           Stage{Op::mhc_fused_post_pre_delayed, "finish",
                                                 "mhc_fused_post_pre_delayed:bf16:t3:n4:h96"},
                                           Stage{Op::hc_head, "head", "hc_head:fp16:t3:n4:h97"},
                                           Stage{Op::hc_collapse, "collapse", "hc_collapse:bf16:t3:n4:h97"},
                                           Stage{Op::hc_expand, "expand", "hc_expand:fp16:t3:n4:h97"},
                                           Stage{Op::sinkhorn, "sinkhorn", "sinkhorn:bf16:t17:n4:h512"},
                                           Stage{Op::rmsnorm, "norm", "rmsnorm:bf16:t3:n4:h97:norm=fp32"}),
                         [](const auto& stage) { return std::string(stage.param.name); });

// Every element is one that a correct kernel may store, and the kernel is wrong all the same.
class SeenByTheTensorAlone : public ::testing::TestWithParam<std::string_view> {};

TEST_P(SeenByTheTensorAlone, FailsByItsBias) {
  const Mutant& mutant = named(GetParam());
  const KernelRow row = row_with(mutants::manifest_of(mutant));
  const CaseResult result = run_case(parse_descriptor(mutant.own_case), row, *row.make(), Threads::one);
  EXPECT_EQ(result.status, CaseStatus::failed) << result.reason;
  EXPECT_THAT(result.run_findings, IsEmpty());
  for (const OutputVerdict& output : result.outputs) {
    for (const Finding& finding : output.findings) {
      EXPECT_EQ(finding.kind, FailureKind::wrong_aggregate) << output.name << ": " << finding.detail;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, SeenByTheTensorAlone,
                         ::testing::Values("mean_over_one_less", "accumulators_round_down"),
                         [](const auto& name) { return std::string(name.param); });

TEST(Zoo, AMutantThatOnlyAnotherCheckCatchesIsNotKilled) {
  Mutant mutant = named("projection_zero");
  mutant.own_case = "mhc_pre:bf16:t1:n4:h512:seed=1";
  EXPECT_TRUE(hunted(mutant).killed());
  mutant.caught_by = Check::schedule;
  const MutantResult result = hunted(mutant);
  EXPECT_TRUE(result.found_by(Check::membership));
  EXPECT_FALSE(result.killed());
  EXPECT_EQ(exit_code({&result, 1}), 1);
}

TEST(Zoo, AFaultOfAnyMutantAmongManyTurnsTheScoreRed) {
  const Mutant base = unbroken(Check::membership);
  const std::vector<const Mutant*> mutants{&named("fn_offset_by_one"), &base};
  const std::vector<MutantResult> results = hunt_all(mutants);
  EXPECT_TRUE(results[0].killed());
  EXPECT_FALSE(results[1].killed());
  EXPECT_EQ(exit_code(results), 1);
  EXPECT_EQ(exit_code({results.data(), 1}), 0);
}

class Sqrt2Norm : public ::testing::TestWithParam<int> {};

TEST_P(Sqrt2Norm, MeasuresTheRootOfTwoAndLeavesTheMixesAlone) {
  const int hidden_size = GetParam();
  Mutant mutant = named("sqrt2_norm");
  const std::string descriptor = "mhc_pre:bf16:t5:n4:h" + std::to_string(hidden_size) + ":norm=bf16:seed=42";
  mutant.own_case = descriptor;
  const MutantResult result = hunted(mutant);
  EXPECT_TRUE(result.killed());
  ASSERT_EQ(result.outputs.size(), 3u);
  EXPECT_TRUE(result.outputs[0].conforms()) << "post_mix";
  EXPECT_TRUE(result.outputs[1].conforms()) << "comb_mix";
  const OutputVerdict& layer_input = result.outputs[2];
  EXPECT_EQ(layer_input.name, "layer_input");
  // Each half of the row is normed by its own share s of the sum of squares: together sqrt(s) + sqrt(1 - s),
  // which for shares of a random row lies below sqrt(2) by 1/(4H) on average.
  EXPECT_NEAR(1 + layer_input.aggregates.scale.value, std::sqrt(2.0), std::sqrt(2.0) / hidden_size);
  EXPECT_THAT(mutant_table({&result, 1}), HasSubstr("layer_input x 1.41"));
}

INSTANTIATE_TEST_SUITE_P(HiddenSizes, Sqrt2Norm, ::testing::Values(512, 1024, 1280, 2560, 4096, 5120, 7168));

}  // namespace
}  // namespace mhcheck::conformance

// The runner, with a perfect kernel and with the same kernel broken in every way.
#include "conformance/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include "conformance/case_list.h"
#include "conformance/report/failure_text.h"
#include "conformance/report/json_report.h"
#include "tests/conformance/broken_kernels.h"
#include "tests/conformance/exact_kernels.h"

namespace mhcheck::conformance {
namespace {

using testing::all_breakages;
using testing::Breakage;
using testing::BrokenKernels;
using testing::ExactKernels;

KernelRow exact_row() {
  return {.name = "exact",
          .device = "host",
          .summary = "the reference's own results",
          .options = " --kernel exact",
          .make = [] { return std::make_unique<ExactKernels>(RoundingProfile{}); }};
}

CaseResult run_here(const Case& c, kernels::KernelSet& kernel) {
  return run_case(c, exact_row(), kernel, Threads::one);
}

CaseResult run_exact(std::string_view descriptor) {
  const Case c = parse_descriptor(descriptor);
  ExactKernels kernel(c.profile);
  return run_here(c, kernel);
}

class Broken : public ::testing::TestWithParam<Breakage> {};
INSTANTIATE_TEST_SUITE_P(Kernels, Broken, ::testing::ValuesIn(all_breakages()),
                         [](const auto& breakage) { return std::string(breakage.param.name); });

TEST_P(Broken, IsCaughtAndNamed) {
  for (const std::string descriptor :
       {"mhc_pre:bf16:t5:n4:h512:seed=3", "mhc_pre:fp16:t33:n4:h520:norm=bf16:in=massive:seed=4",
        "mhc_post:bf16:t3:n4:h769:seed=1", "mhc_fused_post_pre_delayed:fp16:t3:n2:h64:seed=2",
        "rmsnorm:fp16:t4:n4:h129:norm=fp32:seed=2", "sinkhorn:bf16:t7:n4:h1:seed=5"}) {
    const Case c = parse_descriptor(descriptor);
    ASSERT_EQ(run_exact(descriptor).status, CaseStatus::passed);
    BrokenKernels kernel(std::make_unique<ExactKernels>(c.profile), GetParam());
    const CaseResult result = run_here(c, kernel);
    ASSERT_EQ(result.status, CaseStatus::failed) << descriptor;
    std::vector<FailureKind> kinds;
    for (const Finding& f : result.run_findings) kinds.push_back(f.kind);
    for (const OutputVerdict& o : result.outputs) {
      for (const Finding& f : o.findings) kinds.push_back(f.kind);
    }
    ASSERT_FALSE(kinds.empty());
    EXPECT_EQ(kinds.front(), GetParam().kind) << failure_text(result);

    const std::string text = failure_text(result);
    EXPECT_THAT(text, ::testing::HasSubstr("FAILED  " + to_descriptor(c)));
    EXPECT_THAT(text, ::testing::HasSubstr(std::string(row_of(GetParam().kind).name)));
    EXPECT_THAT(text, ::testing::HasSubstr("mhcheck repro '" + to_descriptor(c) + "' --kernel exact\n"));
  }
}

TEST(Runner, OnlyTheBrokenOutputIsBlamed) {
  const Case c = parse_descriptor("mhc_pre:bf16:t5:n4:h512:seed=3");
  BrokenKernels kernel(std::make_unique<ExactKernels>(c.profile), all_breakages().front());
  const CaseResult result = run_here(c, kernel);
  ASSERT_EQ(result.outputs.size(), 3u);
  EXPECT_TRUE(result.outputs[0].conforms());
  EXPECT_TRUE(result.outputs[1].conforms());
  EXPECT_FALSE(result.outputs[2].conforms());
  EXPECT_EQ(result.outputs[2].name, "layer_input");
}

TEST(Runner, AnEmptyBatchIsRunAndJudgedForWritesOutside) {
  for (const OperatorRow& row : all_operators()) {
    Case c;
    c.problem.op = row.op;
    c.problem.num_tokens = 0;
    if (row.needs_norm) c.problem.norm_weight = Dtype::bf16;
    ExactKernels exact(c.profile);
    EXPECT_EQ(run_here(c, exact).status, CaseStatus::passed) << row.name;
    for (const Breakage& breakage : all_breakages()) {
      if (breakage.kind != FailureKind::written_outside) continue;
      BrokenKernels kernel(std::make_unique<ExactKernels>(c.profile), breakage);
      EXPECT_EQ(run_here(c, kernel).status, CaseStatus::failed) << row.name;
    }
  }
}

// Gives other bits under one interleaving, and passes on what a sanitizer saw.
class Moody : public ExactKernels {
 public:
  using ExactKernels::ExactKernels;
  void instrument(const runtime::Instrumentation& wanted) override { wanted_ = wanted; }
  kernels::RunReport run(const Problem& problem, TensorMap& inputs,
                         kernels::OutputRegions& outputs) override {
    kernels::RunReport report = ExactKernels::run(problem, inputs, outputs);
    if (bad_schedule && wanted_.schedule == bad_schedule)
      outputs.begin()->second.payload().front() ^= std::byte{1};
    if (wanted_.sanitizers.has(simulator::Sanitizer::kRace)) {
      report.findings.push_back({.sanitizer = simulator::Sanitizer::kRace,
                                 .kernel = "k",
                                 .what = "two waves",
                                 .memory = {},
                                 .place = {},
                                 .other_role = {},
                                 .other = {},
                                 .count = 3});
    }
    return report;
  }
  std::optional<std::uint64_t> bad_schedule;

 private:
  runtime::Instrumentation wanted_;
};

TEST(Runner, AnInterleavingThatGivesOtherBitsFailsTheCase) {
  const Case c = parse_descriptor("mhc_post:bf16:t3:n4:h64:seed=1");
  KernelRow row = exact_row();
  row.schedules = 3;
  Moody kernel(c.profile);
  EXPECT_EQ(run_case(c, row, kernel, Threads::one).status, CaseStatus::passed);
  for (const std::uint64_t bad : {1, 2, 3}) {
    kernel.bad_schedule = bad;
    const CaseResult result = run_case(c, row, kernel, Threads::one);
    EXPECT_EQ(result.status, CaseStatus::failed);
    ASSERT_EQ(result.run_findings.size(), 1u);
    EXPECT_EQ(result.run_findings[0].kind, FailureKind::schedule_dependent);
    EXPECT_EQ(result.run_findings[0].detail,
              "next_residual differs from byte 0 on under --schedule-seed " + std::to_string(bad));
  }
  kernel.bad_schedule = 4;
  EXPECT_EQ(run_case(c, row, kernel, Threads::one).status, CaseStatus::passed);
}

TEST(Runner, WhatASanitizerSawFailsTheCaseAndOpensTheReport) {
  const Case c = parse_descriptor("mhc_post:bf16:t3:n4:h64:seed=1");
  KernelRow row = exact_row();
  Moody kernel(c.profile);
  EXPECT_EQ(run_case(c, row, kernel, Threads::one).status, CaseStatus::passed);
  row.sanitizers.add(simulator::Sanitizer::kRace);
  const CaseResult result = run_case(c, row, kernel, Threads::one);
  EXPECT_EQ(result.status, CaseStatus::failed);
  EXPECT_THAT(failure_text(result), ::testing::HasSubstr("race: two waves; kernel k; seen 3 times"));
  const nlohmann::ordered_json finding = case_json(result)["findings"][0];
  EXPECT_EQ(finding["kind"], "sanitizer");
  EXPECT_EQ(finding["count"], 3);
  EXPECT_EQ(finding["seen"]["sanitizer"], "race");
}

class Choosy : public ExactKernels {
 public:
  using ExactKernels::ExactKernels;
  bool implements(Op op) const override { return op != Op::hc_head; }
  std::string why_refused(const Problem& problem) const override {
    return problem.hidden_size % 256 != 0 ? "hidden_size must be a multiple of 256" : "";
  }
  kernels::RunReport run(const Problem& problem, TensorMap& inputs,
                         kernels::OutputRegions& outputs) override {
    EXPECT_EQ(problem.hidden_size % 256, 0);  // a refused problem must not run
    return ExactKernels::run(problem, inputs, outputs);
  }
};

TEST(Runner, WhatAKernelRefusesNeitherPassesNorFails) {
  Choosy kernel(RoundingProfile{});
  CaseResult r = run_here(parse_descriptor("hc_collapse:bf16:t2:n4:h520:seed=1"), kernel);
  EXPECT_EQ(r.status, CaseStatus::refused);
  EXPECT_EQ(r.reason, "hidden_size must be a multiple of 256");
  r = run_here(parse_descriptor("hc_head:bf16:t2:n4:h512:seed=1"), kernel);
  EXPECT_EQ(r.status, CaseStatus::refused);
  r = run_here(parse_descriptor("hc_collapse:bf16:t2:n4:h512:seed=1"), kernel);
  EXPECT_EQ(r.status, CaseStatus::passed);
}

TEST(Runner, ACaseThatCannotBeJudgedHasNotPassed) {
  const CaseResult r = run_exact("hc_collapse:bf16:t2:n4:h512:in=no_such_regime:seed=1");
  EXPECT_EQ(r.status, CaseStatus::unjudged);
  EXPECT_THAT(r.reason, ::testing::HasSubstr("no_such_regime"));
}

nlohmann::ordered_json without_times(nlohmann::ordered_json json) {
  if (json.is_object()) {
    for (auto it = json.begin(); it != json.end();) {
      if (it.key().find("seconds") != std::string::npos) {
        it = json.erase(it);
      } else {
        *it = without_times(*it);
        ++it;
      }
    }
  } else if (json.is_array()) {
    for (auto& item : json) item = without_times(item);
  }
  return json;
}

TEST(Runner, ResultsDoNotDependOnThreads) {
  CaseSelection selection;
  selection.hidden_sizes = {96, 129};
  selection.num_tokens = {1, 100};
  const KernelRow row = exact_row();
  std::vector<PlannedCase> cases;
  for (Case& c : list_cases(selection, [](Op) { return std::vector<RoundingProfile>{{}}; })) {
    cases.push_back({std::move(c), &row});
  }
  // One case that is large, judged by all threads in blocks.
  cases.push_back({parse_descriptor("mhc_post:bf16:t260:n4:h1280:seed=1"), &row});
  const auto report = [&](std::size_t threads) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    return without_times(json_report(run_cases(cases, {}), {})).dump();
  };
  const std::string one = report(1);
  EXPECT_EQ(one, report(2));
  EXPECT_EQ(one, report(7));
  EXPECT_THAT(one, ::testing::HasSubstr("\"failed\":0"));
}

}  // namespace
}  // namespace mhcheck::conformance

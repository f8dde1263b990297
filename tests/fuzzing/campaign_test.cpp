// Campaigns over planted kernels: each fault is found, survived, named and shrunk; what is reported depends
// on nothing but the plan.
#include "conformance/fuzz/campaign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include "conformance/fuzz/tally.h"
#include "kernels/host/host_kernels.h"
#include "properties/laws.h"
#include "tests/conformance/broken_kernels.h"
#include "tests/fuzzing/scratch_file.h"

namespace mhcheck::conformance {
namespace {

using namespace std::chrono_literals;
using testing::Breakage;
using testing::BrokenKernels;
using ::testing::HasSubstr;
using testing::Wreckage;

// The host baseline, which `breakage` breaks where it wants to.
CampaignPlan plan_with(std::function<void(const Wreckage&)> breakage) {
  CampaignPlan plan;
  KernelRow row;
  row.name = "planted";
  row.device = "host";
  row.options = " --kernel planted";
  for (const properties::Law& law : properties::all_laws()) row.laws.push_back(&law);
  row.make = [breakage = std::move(breakage)] {
    return std::make_unique<BrokenKernels>(kernels::make_host_kernels(kernels::host_kernels().front()),
                                           Breakage{"planted", FailureKind::kernel_fault, breakage});
  };
  plan.kernels = {std::move(row)};
  plan.operators = {Op::mhc_post, Op::hc_expand, Op::rmsnorm};
  plan.dtypes = {Dtype::bf16, Dtype::fp16};
  plan.seed = 11;
  return plan;
}

CampaignPlan correct_plan() {
  return plan_with([](const Wreckage&) {});
}

struct Told {
  std::vector<Record> records;
  std::uint64_t progress = 0;
  bool came_to_its_end = false;

  Tally tally() const {
    Tally all;
    for (const Record& record : records) all.add(record);
    return all;
  }
  // Everything but times.
  std::vector<nlohmann::json> facts() const {
    std::vector<nlohmann::json> all;
    for (const Record& record : records) {
      all.push_back(to_json(record));
      all.back().at("outcome").erase("seconds");
    }
    return all;
  }
};

Told run(const CampaignPlan& plan, CampaignLimits limits, Journal* journal = nullptr) {
  Told told;
  const std::atomic<bool> stop = false;
  told.came_to_its_end =
      run_campaign(plan, limits, journal,
                   {.finished = [&](const Record& record) { told.records.push_back(record); },
                    .progress = [&](bool) { ++told.progress; }},
                   stop);
  return told;
}

TEST(Campaign, OverACorrectKernelFindsNothing) {
  const Told told = run(correct_plan(), {.cases = 150});
  EXPECT_TRUE(told.came_to_its_end);
  EXPECT_EQ(told.progress, 150u);
  ASSERT_EQ(told.records.size(), 150u);
  for (std::uint64_t i = 0; i < 150; ++i) {
    EXPECT_EQ(told.records[i].number, i);
    EXPECT_EQ(told.records[i].outcome.status, CaseStatus::passed) << told.records[i].outcome.text;
  }
  const Tally tally = told.tally();
  EXPECT_EQ(total_of(tally.rows()).passed, 150u);
  EXPECT_GT(total_of(tally.rows()).elements, 0u);
  EXPECT_GT(tally.laws().at("repeatability"), 100u);
  EXPECT_EQ(tally.in_axis("dtype"), 150u);
  EXPECT_EQ(tally.in_class("dtype", "bf16") + tally.in_class("dtype", "fp16"), 150u);
  EXPECT_EQ(tally.in_axis("split_k"), 0u);
}

TEST(Campaign, ReportsTheSameForAnyNumberOfWorkers) {
  const CampaignPlan plan = plan_with([](const Wreckage& w) {
    if (w.problem.num_tokens > 40) std::abort();
  });
  const CampaignLimits limits{.cases = 120, .failures = 3};
  CampaignLimits more_workers = limits;
  more_workers.jobs = 3;
  const Told one = run(plan, limits), three = run(plan, more_workers);
  EXPECT_EQ(one.facts(), three.facts());
  EXPECT_EQ(one.tally().failures().size(), 3u);
  EXPECT_TRUE(one.records.back().simplest.has_value()) << "the third failure ends the campaign";
}

// A fault, the kind it must be reported as, and the simplest case that shows it.
struct Fault {
  const char* name;
  void (*strike)(const Wreckage&);
  const char* kind;
  const char* said;
  const char* simplest;
};

class FaultyKernel : public ::testing::TestWithParam<Fault> {};

TEST_P(FaultyKernel, IsFoundSurvivedNamedAndShrunk) {
  CampaignPlan plan = plan_with(GetParam().strike);
  plan.operators = {Op::mhc_post};
  plan.kernels.front().laws.clear();  // which run the kernel at more tokens than the case has
  const Told told = run(plan, {.cases = 200, .failures = 2, .case_time = 2s, .jobs = 2});
  const Tally tally = told.tally();
  ASSERT_EQ(tally.failures().size(), 2u);
  EXPECT_GT(total_of(tally.rows()).passed, 0u) << "the campaign goes on";
  for (const Record& failure : tally.failures()) {
    EXPECT_EQ(failure.outcome.kind, GetParam().kind);
    EXPECT_EQ(to_descriptor(failure.simplest->tested), GetParam().simplest);
    EXPECT_THAT(failure.simplest->text, HasSubstr(GetParam().said));
    EXPECT_THAT(failure.simplest->text,
                HasSubstr("repeat: mhcheck repro '" + to_descriptor(failure.simplest->tested) +
                          "' --kernel planted"));
    EXPECT_THAT(failure.outcome.text, HasSubstr(to_descriptor(failure.tested)));
  }
}

bool strikes(const Wreckage& w) { return w.problem.num_tokens >= 3 && w.problem.hidden_size >= 100; }

INSTANTIATE_TEST_SUITE_P(
    Campaign, FaultyKernel,
    ::testing::Values(Fault{"Aborts",
                            [](const Wreckage& w) {
                              if (strikes(w)) std::abort();
                            },
                            "crashed", "killed by signal 6 (Aborted)", "mhc_post:bf16:t3:n1:h100"},
                      Fault{"EndsTheProgram",
                            [](const Wreckage& w) {
                              if (strikes(w)) ::_exit(0);
                            },
                            "crashed", "exited with code 0", "mhc_post:bf16:t3:n1:h100"},
                      Fault{"ThrowsWhatNobodyExpects",
                            [](const Wreckage& w) {
                              if (strikes(w)) throw 7;
                            },
                            "crashed", "killed by signal 6 (Aborted)", "mhc_post:bf16:t3:n1:h100"},
                      Fault{"IsKilled",
                            [](const Wreckage& w) {
                              if (strikes(w)) ::raise(SIGKILL);
                            },
                            "crashed", "where memory runs out", "mhc_post:bf16:t3:n1:h100"},
                      Fault{"RunsOutOfMemory",
                            [](const Wreckage& w) {
                              if (strikes(w)) throw std::bad_alloc();
                            },
                            "unjudged", "bad_alloc", "mhc_post:bf16:t3:n1:h100"},
                      Fault{"StoresWrongValues",
                            [](const Wreckage& w) {
                              if (strikes(w)) w.set_bits(0, encode(w.victim().dtype, 12345.0));
                            },
                            "outside_deterministic", "0x4641", "mhc_post:bf16:t3:n1:h100"},
                      Fault{"Faults",
                            [](const Wreckage& w) {
                              if (strikes(w)) throw kernels::RunFailure("memory access fault at 0x10");
                            },
                            "kernel_fault", "memory access fault at 0x10", "mhc_post:bf16:t3:n1:h100"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Campaign, GivesUpOnAKernelThatHangs) {
  CampaignPlan plan = plan_with([](const Wreckage& w) {
    while (strikes(w)) std::this_thread::sleep_for(1s);
  });
  plan.operators = {Op::mhc_post};
  const Told told = run(plan, {.cases = 200, .failures = 1, .case_time = 0.3s, .jobs = 2});
  const Tally tally = told.tally();
  ASSERT_EQ(tally.failures().size(), 1u);
  EXPECT_EQ(tally.failures().front().outcome.kind, "hung");
  EXPECT_LT(tally.failures().front().simplest->tested.problem.num_tokens,
            tally.failures().front().tested.problem.num_tokens);
}

TEST(Campaign, NamesTheLawThatIsBroken) {
  // The first token of a batch is right by its reference only: another rounding of the same sums.
  CampaignPlan plan = plan_with([](const Wreckage& w) {
    if (w.problem.op != Op::mhc_post || w.problem.num_tokens < 2 || w.problem.hidden_size < 2) return;
    static std::uint32_t runs = 0;
    w.set_bits(0, ++runs % 2 == 0 ? w.bits(0) : next_up(w.victim().dtype, w.bits(0)));
  });
  plan.operators = {Op::mhc_post};
  const Told told = run(plan, {.cases = 300, .failures = 3});
  bool law_named = false;
  for (const Record& failure : told.tally().failures()) law_named |= !failure.outcome.laws_broken.empty();
  EXPECT_TRUE(law_named);
}

TEST(Campaign, GoesOnFromItsJournalAndEndsAsAnUnbrokenOne) {
  const CampaignPlan plan = plan_with([](const Wreckage& w) {
    if (w.problem.num_tokens > 60) std::abort();
  });
  const nlohmann::json header{{"seed", plan.seed}};
  const testing::ScratchFile file;
  const CampaignLimits whole{.cases = 100, .failures = 0, .jobs = 2};
  const Told unbroken = run(plan, whole);
  {
    Journal journal(file.path(), header);
    run(plan, {.cases = 37, .failures = 0, .jobs = 2}, &journal);
  }
  // Cases out of their order, one of them lost: as a kill leaves it.
  std::string text = file.text();
  const std::size_t first = text.find('\n') + 1;
  file.write(text.erase(first, text.find('\n', first) + 1 - first));
  Journal journal(file.path(), header);
  EXPECT_EQ(journal.finished().size(), 36u);
  const Told resumed = run(plan, whole, &journal);
  EXPECT_EQ(resumed.progress, 64u) << "what is in the journal is not done again";
  EXPECT_EQ(resumed.facts(), unbroken.facts());
  EXPECT_FALSE(unbroken.tally().failures().empty());
}

TEST(Campaign, EndsWithItsTime) {
  const auto start = std::chrono::steady_clock::now();
  const Told told = run(correct_plan(), {.time = 1s});
  EXPECT_TRUE(told.came_to_its_end);
  EXPECT_GT(told.records.size(), 5u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 60s);
}

TEST(Campaign, StopsWhenItIsTold) {
  std::atomic<bool> stop = false;
  std::uint64_t records = 0;
  const CampaignPlan plan = correct_plan();
  const CampaignLimits limits{.cases = 1000000, .jobs = 2};
  const bool ended = run_campaign(
      plan, limits, nullptr,
      {.finished = [&](const Record&) { stop = ++records >= 20; }, .progress = [](bool) {}}, stop);
  EXPECT_FALSE(ended);
  EXPECT_GE(records, 20u);
  EXPECT_LT(records, 100u);
}

TEST(Campaign, CountsWhatTheKernelRefuses) {
  CampaignPlan plan = correct_plan();
  const KernelRow host = plan.kernels.front();
  class RefusesAll : public BrokenKernels {
   public:
    using BrokenKernels::BrokenKernels;
    std::string why_refused(const Problem&) const override { return "the kernel takes nothing"; }
  };
  plan.kernels.front().make = [] {
    return std::make_unique<RefusesAll>(kernels::make_host_kernels(kernels::host_kernels().front()),
                                        Breakage{"", FailureKind::kernel_fault, [](const Wreckage&) {}});
  };
  const Told told = run(plan, {.cases = 3});
  EXPECT_EQ(total_of(told.tally().rows()).refused, 3u);
  EXPECT_EQ(told.tally().in_axis("dtype"), 0u) << "nothing was reached";
}

TEST(Campaign, SaysWhyItsWorkersCannotWork) {
  CampaignPlan plan = correct_plan();
  plan.kernels.front().make = []() -> std::unique_ptr<kernels::KernelSet> {
    throw std::runtime_error("mine.hsaco: cannot be opened");
  };
  EXPECT_EQ(testing::message_of<std::runtime_error>([&] { run(plan, {.cases = 3}); }),
            "mine.hsaco: cannot be opened");
  plan.kernels.front().make = []() -> std::unique_ptr<kernels::KernelSet> { std::abort(); };
  EXPECT_THAT(testing::message_of<std::runtime_error>([&] { run(plan, {.cases = 3}); }),
              HasSubstr("a worker process does not get as far as its case (number 0): killed by signal 6"));
}

}  // namespace
}  // namespace mhcheck::conformance

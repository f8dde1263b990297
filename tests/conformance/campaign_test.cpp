// Which kernels get which cases.
#include "conformance/campaign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/conformance/exact_kernels.h"

namespace mhcheck::conformance {
namespace {

using testing::ExactKernels;

// Implements some operators only, and cannot be asked about the others.
class Partial : public ExactKernels {
 public:
  Partial(std::string name, std::vector<Op> operators, const RoundingProfile& profile)
      : ExactKernels(profile), name_(std::move(name)), operators_(std::move(operators)) {}
  std::string name() const override { return name_; }
  bool implements(Op op) const override {
    return std::find(operators_.begin(), operators_.end(), op) != operators_.end();
  }
  RoundingProfile profile(Op op) const override {
    if (!implements(op)) throw std::logic_error("profile of an operator that is not there");
    return ExactKernels::profile(op);
  }

 private:
  std::string name_;
  std::vector<Op> operators_;
};

KernelRow row(const std::string& name, const std::vector<Op>& operators,
              const RoundingProfile& profile = {}) {
  return {.name = name, .device = "host", .summary = "", .options = "", .make = [=] {
            return std::make_unique<Partial>(name, operators, profile);
          }};
}

std::string refusal(const CaseSelection& selection, const std::vector<KernelRow>& rows) {
  std::string message;
  try {
    (void)plan_each(selection, rows);
  } catch (const UnknownName& error) {
    message = error.what();
  }
  try {
    (void)plan_in_turns(selection, rows);
  } catch (const UnknownName& error) {
    EXPECT_EQ(message, error.what());
    return message;
  }
  return {};
}

TEST(Campaign, OnlyWhatAKernelImplementsIsPlannedInTheProfileItStates) {
  const RoundingProfile tf32{.projection = ProjectionPrecision::tf32};
  const std::vector<KernelRow> rows = {row("a", {Op::mhc_post}), row("b", {Op::mhc_pre, Op::mhc_post}, tf32)};
  const std::vector<PlannedCase> plan = plan_each({}, rows);
  std::map<std::pair<std::string, Op>, std::size_t> cases;
  for (const PlannedCase& planned : plan) {
    ++cases[{planned.kernel->name, planned.tested.problem.op}];
    if (planned.tested.problem.op == Op::mhc_pre) {
      EXPECT_EQ(planned.tested.profile.projection, ProjectionPrecision::tf32);
    }
  }
  EXPECT_THAT(cases, ::testing::ElementsAre(::testing::Pair(std::pair(std::string("a"), Op::mhc_post), 32),
                                            ::testing::Pair(std::pair(std::string("b"), Op::mhc_pre), 32),
                                            ::testing::Pair(std::pair(std::string("b"), Op::mhc_post), 32)));
}

TEST(Campaign, EachKernelGetsCasesThatItTakes) {
  class FourStreams : public ExactKernels {
   public:
    using ExactKernels::ExactKernels;
    std::string why_refused(const Problem& problem) const override {
      return problem.hc_mult == 4 ? "" : "four streams only";
    }
  };
  const std::vector<KernelRow> rows = {
      row("any", {Op::mhc_post}),
      {.name = "four", .device = "host", .summary = "", .options = "", .make = [] {
         return std::make_unique<FourStreams>(RoundingProfile{});
       }}};
  CaseSelection selection;
  selection.profile = "merge";
  selection.operators = {Op::mhc_post};
  std::map<std::string, std::set<int>> streams;
  for (const PlannedCase& planned : plan_each(selection, rows)) {
    streams[planned.kernel->name].insert(planned.tested.problem.hc_mult);
  }
  EXPECT_EQ(streams["four"], std::set<int>{4});
  EXPECT_GT(streams["any"].size(), 1u);
  for (const PlannedCase& planned : plan_in_turns(selection, std::span(rows).last(1))) {
    EXPECT_EQ(planned.tested.problem.hc_mult, 4);
  }
}

TEST(Campaign, AnOperatorThatNoKernelHasIsRefusedInOneLine) {
  const std::vector<KernelRow> rows = {row("a", {Op::mhc_post}), row("b", {Op::mhc_pre, Op::mhc_post})};
  CaseSelection selection;
  selection.operators = {Op::mhc_post, Op::hc_head};
  EXPECT_EQ(refusal(selection, rows), "--op: hc_head is not implemented by a, b, only mhc_pre, mhc_post");
  selection.operators = {Op::mhc_pre};  // by one of them
  EXPECT_EQ(refusal(selection, rows), "");
  EXPECT_EQ(plan_each(selection, rows).size(), 32u);
}

}  // namespace
}  // namespace mhcheck::conformance

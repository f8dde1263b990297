#include "conformance/fuzz/shrinking.h"

#include <gtest/gtest.h>

#include <functional>

namespace mhcheck::conformance {
namespace {

Outcome failing(std::string kind) {
  Outcome o;
  o.status = CaseStatus::failed;
  o.kind = std::move(kind);
  return o;
}

Outcome passing() {
  Outcome o;
  o.status = CaseStatus::passed;
  return o;
}

const Case kStart = parse_descriptor("mhc_post:fp16:t700:n5:h1280:in=massive:seed=77");

// Searches from kStart, which fails with `kind`, with this for an evaluation.
Shrinking searched(std::string kind, const std::function<Outcome(const Case&)>& evaluate) {
  Shrinking shrinking(kStart, failing(std::move(kind)));
  while (const std::optional<Case> c = shrinking.next()) shrinking.report(evaluate(*c));
  return shrinking;
}

TEST(Shrinking, FindsTheSimplestCaseThatFails) {
  const Shrinking found = searched("crashed", [](const Case& c) {
    return c.problem.num_tokens >= 65 && c.problem.hidden_size >= 33 ? failing("crashed") : passing();
  });
  EXPECT_EQ(to_descriptor(found.simplest()), "mhc_post:bf16:t65:n1:h33");
}

TEST(Shrinking, KeepsToTheKindOfFailure) {
  const Shrinking found = searched("nan_isolation", [](const Case& c) {
    return failing(c.problem.num_tokens >= 2 ? "nan_isolation" : "not_a_number");
  });
  EXPECT_EQ(to_descriptor(found.simplest()), "mhc_post:bf16:t2:n1:h1");
  EXPECT_EQ(found.outcome().kind, "nan_isolation");
}

TEST(Shrinking, StaysWhereNothingSimplerFails) {
  const Shrinking found = searched("unwritten", [](const Case&) { return passing(); });
  EXPECT_EQ(found.simplest(), kStart);
  EXPECT_GT(found.evaluations(), 10);
}

TEST(Shrinking, AffordsAFewHungEvaluationsOnly) {
  int evaluations = 0;
  const Shrinking found = searched("hung", [&](const Case&) {
    ++evaluations;
    return failing("hung");
  });
  EXPECT_LE(evaluations, 6);
  EXPECT_EQ(found.simplest().problem.num_tokens, 0);  // the largest step was taken first
}

TEST(Shrinking, EndsThoughEverySecondEvaluationFails) {
  int evaluations = 0;
  searched("crashed", [&](const Case&) { return ++evaluations % 2 == 0 ? failing("crashed") : passing(); });
  EXPECT_LE(evaluations, 500);
}

}  // namespace
}  // namespace mhcheck::conformance

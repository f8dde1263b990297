#include "conformance/fuzz/shrinking.h"

#include <utility>

#include "properties/case_generator.h"

namespace mhcheck::conformance {
namespace {

// Some hundred steps lead from any case to the simplest one; a bound on what a failure may cost.
constexpr int kMostEvaluations = 500;
// Each of these takes the whole time that a case is given.
constexpr int kMostHung = 6;

}  // namespace

Shrinking::Shrinking(Case failing, Outcome outcome)
    : simplest_(std::move(failing)),
      outcome_(std::move(outcome)),
      simpler_(properties::simpler_cases(simplest_)),
      hung_(outcome_.kind == kHung) {}

std::optional<Case> Shrinking::next() {
  if (tried_ == simpler_.size() || evaluations_ >= kMostEvaluations || hung_ >= kMostHung)
    return std::nullopt;
  return simpler_[tried_];
}

void Shrinking::report(const Outcome& outcome) {
  ++evaluations_;
  hung_ += outcome.kind == kHung;
  if (outcome.kind != outcome_.kind) {
    ++tried_;
    return;
  }
  simplest_ = simpler_[tried_];
  outcome_ = outcome;
  simpler_ = properties::simpler_cases(simplest_);
  tried_ = 0;
}

}  // namespace mhcheck::conformance

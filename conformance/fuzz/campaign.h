// A fuzz campaign: cases drawn, evaluated in worker processes, and shrunk where they fail.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "conformance/fuzz/evaluator.h"
#include "conformance/fuzz/journal.h"
#include "conformance/fuzz/record.h"

namespace mhcheck::conformance {

struct CampaignLimits {
  // Either ends the campaign; one of them is set.
  std::optional<std::uint64_t> cases = {};
  std::optional<std::chrono::duration<double>> time = {};       // no case begins later
  std::uint64_t failures = 0;                                   // so many end it; 0: no number does
  std::optional<std::chrono::duration<double>> case_time = {};  // in place of time_limit(case)
  int jobs = 1;                                                 // worker processes
};

struct CampaignEvents {
  // A case is finished, in the order of their numbers: what a campaign reports does not depend on the number
  // of workers.
  std::function<void(const Record&)> finished;
  // Any case is finished, at once: `failed` is whether it failed.
  std::function<void(bool failed)> progress;
};

// Runs the campaign; the calling process must have no other thread. `journal` may be null. Set `stop` from a
// signal handler to end it early; true is returned when the campaign came to its own end. Throws
// std::runtime_error with one line when the workers cannot work, and what the journal throws.
bool run_campaign(const CampaignPlan& plan, const CampaignLimits& limits, Journal* journal,
                  const CampaignEvents& events, const std::atomic<bool>& stop);

}  // namespace mhcheck::conformance

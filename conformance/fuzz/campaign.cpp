#include "conformance/fuzz/campaign.h"

#include <fmt/format.h>
#include <poll.h>
#include <tbb/global_control.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "conformance/fuzz/shrinking.h"
#include "conformance/fuzz/time_limit.h"
#include "conformance/fuzz/worker_process.h"

namespace mhcheck::conformance {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

// ---- In the worker -------------------------------------------------------------------------------------

// Requests are {"draw": NUMBER} and {"evaluate": DESCRIPTOR, "as": NUMBER}: a case of the plan, or a simpler
// one on the same kernel. Replies are {"started": DESCRIPTOR}, then {"outcome": {...}}.
AnswerRequests make_answer(const CampaignPlan& plan) {
  // A worker is one thread: there are as many workers as cases may run at a time.
  const auto one_thread =
      std::make_shared<tbb::global_control>(tbb::global_control::max_allowed_parallelism, std::size_t{1});
  const auto evaluator = std::make_shared<Evaluator>(plan);
  return [&plan, one_thread, evaluator](const json& request, const Reply& reply) {
    const bool draws = request.contains("draw");
    const std::uint64_t number = request.at(draws ? "draw" : "as");
    const Case c =
        draws ? evaluator->draw(number) : parse_descriptor(request.at("evaluate").get<std::string>());
    reply({{"started", to_descriptor(c)}});
    reply({{"outcome", to_json(evaluator->evaluate(c, plan.kernel_of(number)))}});
  };
}

// What the workers may have together is what the machine has. Devices map far more than they use.
std::uint64_t memory_of_a_worker(const CampaignPlan& plan, int jobs) {
#if defined(__SANITIZE_ADDRESS__)
  (void)plan, (void)jobs;  // its shadow memory alone is larger than any limit of use
  return 0;
#else
  const std::string& device = plan.kernels.front().device;
  if (device != "host" && device != "sim") return 0;
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / static_cast<std::uint64_t>(jobs);
#endif
}

// ---- In the campaign -----------------------------------------------------------------------------------

// A case of the plan, from its request to its record.
struct Job {
  std::uint64_t number = 0;
  std::optional<Case> running;   // what the worker has said that it has started
  std::optional<Record> record;  // once the case itself is evaluated
  std::optional<Shrinking> shrinking;
};

struct Slot {
  std::shared_ptr<WorkerProcess> worker;
  std::optional<Job> job;
  json request;           // of which the job waits for the outcome
  int lost_requests = 0;  // without having started, one after the other
  Clock::time_point deadline;
};

class Campaign {
 public:
  Campaign(const CampaignPlan& plan, const CampaignLimits& limits, Journal* journal,
           const CampaignEvents& events, const std::atomic<bool>& stop)
      : plan_(plan), limits_(limits), journal_(journal), events_(events), stop_(stop) {
    slots_.resize(static_cast<std::size_t>(limits.jobs));
  }

  bool run() {
    if (journal_ != nullptr) {
      for (const Record& record : journal_->finished()) finished_.emplace(record.number, record);
    }
    report_in_order();
    while (!stop_) {
      for (Slot& slot : slots_) {
        if (!slot.job && wants_more()) begin(slot);
      }
      if (std::ranges::none_of(slots_, [](const Slot& slot) { return slot.job.has_value(); })) return true;
      if (enough_failures()) return true;
      wait();
    }
    // What is known of later numbers is worth reporting too.
    for (const auto& [number, record] : finished_) {
      if (!limits_.cases || number < *limits_.cases) events_.finished(record);
    }
    return false;
  }

 private:
  double seconds() const {
    return (journal_ == nullptr ? 0 : journal_->seconds_before()) +
           std::chrono::duration<double>(Clock::now() - start_).count();
  }

  bool enough_failures() const { return limits_.failures != 0 && failures_ >= limits_.failures; }

  // Moves next_ to the next number that is yet to be done.
  bool wants_more() {
    while (next_ < reported_ || finished_.contains(next_)) ++next_;
    if (enough_failures()) return false;
    if (limits_.cases && next_ >= *limits_.cases) return false;
    return !limits_.time || seconds() < limits_.time->count();
  }

  void begin(Slot& slot) {
    slot.job = Job{.number = next_++, .running = {}, .record = {}, .shrinking = {}};
    ask(slot, {{"draw", slot.job->number}});
  }

  void ask(Slot& slot, json request) {
    if (!slot.worker) {
      slot.worker = std::make_shared<WorkerProcess>([this] { return make_answer(plan_); },
                                                    memory_of_a_worker(plan_, limits_.jobs));
    }
    slot.job->running.reset();
    // A worker loads its kernels before it starts: from a disk, on a busy machine.
    slot.deadline = Clock::now() + std::chrono::seconds(300);
    slot.request = std::move(request);
    slot.worker->send(slot.request);
  }

  void wait() {
    std::vector<pollfd> watched;
    std::vector<Slot*> busy;
    Clock::time_point first = Clock::time_point::max();
    for (Slot& slot : slots_) {
      if (!slot.job) continue;
      watched.push_back({slot.worker->descriptor(), POLLIN, 0});
      busy.push_back(&slot);
      first = std::min(first, slot.deadline);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now());
    // A signal that comes just before poll() would go unnoticed for as long as it waits.
    constexpr std::int64_t kLongestWait = 500;
    const int timeout = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, kLongestWait));
    if (::poll(watched.data(), watched.size(), timeout) < 0) {
      if (errno == EINTR) return;
      throw std::system_error(errno, std::generic_category(), "poll");
    }
    for (std::size_t i = 0; i < busy.size(); ++i) {
      if (watched[i].revents != 0) {
        receive(*busy[i]);
      } else if (Clock::now() >= busy[i]->deadline) {
        give_up(*busy[i]);
      }
    }
  }

  void receive(Slot& slot) {
    const std::shared_ptr<WorkerProcess> worker = slot.worker;
    const WorkerProcess::Received received = worker->receive();
    for (const json& reply : received.replies) {
      if (reply.contains("unable")) throw std::runtime_error(reply.at("unable").get<std::string>());
      if (reply.contains("started")) {
        start(slot, parse_descriptor(reply.at("started").get<std::string>()));
      } else {
        finish(slot, outcome_from_json(reply.at("outcome")));
      }
    }
    if (!received.ended || slot.worker != worker) return;
    const std::string how = worker->how_it_ended();
    slot.worker.reset();
    if (slot.job) lose(slot, kCrashed, how);  // else it was idle: a new one is made when there is work
  }

  void start(Slot& slot, Case c) {
    const auto limit = limits_.case_time.value_or(time_limit(c, plan_.kernel_of(slot.job->number)));
    slot.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(limit);
    slot.job->running = std::move(c);
    slot.lost_requests = 0;
  }

  void give_up(Slot& slot) {
    slot.worker.reset();
    lose(slot, kHung, "not done within the time that a case of this size is given");
  }

  // The worker is gone.
  void lose(Slot& slot, std::string_view kind, const std::string& how) {
    if (slot.job->running) {
      finish(slot, failure_without_verdict(*slot.job->running, plan_.kernel_of(slot.job->number), kind, how));
      return;
    }
    // What a case before has broken may end a worker later. Twice in a row it is the worker itself.
    if (++slot.lost_requests == 2) {
      throw std::runtime_error(fmt::format("a worker process does not get as far as its case (number {}): {}",
                                           slot.job->number, how));
    }
    ask(slot, slot.request);
  }

  // An evaluation is done: of the job's case, or of a simpler one.
  void finish(Slot& slot, Outcome outcome) {
    Job& job = *slot.job;
    // After a failure neither the device nor the memory of its process is fit for more.
    if (outcome.status == CaseStatus::failed) slot.worker.reset();
    if (job.shrinking) {
      job.shrinking->report(outcome);
    } else {
      if (outcome.status == CaseStatus::failed) job.shrinking.emplace(*job.running, outcome);
      job.record = Record{.number = job.number,
                          .tested = *job.running,
                          .kernel = plan_.kernel_of(job.number).name,
                          .outcome = std::move(outcome),
                          .simplest = {}};
    }
    if (job.shrinking) {
      if (const std::optional<Case> simpler = job.shrinking->next()) {
        ask(slot, {{"evaluate", to_descriptor(*simpler)}, {"as", job.number}});
        return;
      }
      job.record->simplest = {.tested = job.shrinking->simplest(),
                              .text = job.shrinking->outcome().text,
                              .evaluations = job.shrinking->evaluations()};
    }
    Record record = *std::move(job.record);
    slot.job.reset();
    if (journal_ != nullptr) journal_->add(record, seconds());
    events_.progress(record.simplest.has_value());
    finished_.emplace(record.number, std::move(record));
    report_in_order();
  }

  void report_in_order() {
    while (!finished_.empty() && finished_.begin()->first == reported_ && !enough_failures() &&
           (!limits_.cases || reported_ < *limits_.cases)) {
      const Record record = std::move(finished_.extract(finished_.begin()).mapped());
      ++reported_;
      failures_ += record.simplest.has_value();
      events_.finished(record);
    }
  }

  const CampaignPlan& plan_;
  const CampaignLimits& limits_;
  Journal* const journal_;
  const CampaignEvents& events_;
  const std::atomic<bool>& stop_;

  std::vector<Slot> slots_;
  std::uint64_t next_ = 0;                    // number to begin
  std::uint64_t reported_ = 0;                // numbers below have been reported
  std::uint64_t failures_ = 0;                // of these
  std::map<std::uint64_t, Record> finished_;  // and not yet reported
  const Clock::time_point start_ = Clock::now();
};

}  // namespace

bool run_campaign(const CampaignPlan& plan, const CampaignLimits& limits, Journal* journal,
                  const CampaignEvents& events, const std::atomic<bool>& stop) {
  return Campaign(plan, limits, journal, events, stop).run();
}

}  // namespace mhcheck::conformance

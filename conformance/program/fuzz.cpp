// mhcheck fuzz: searches for cases that fail, and makes them simple.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <limits>
#include <optional>
#include <thread>

#include "conformance/fuzz/campaign.h"
#include "conformance/fuzz/failure_file.h"
#include "conformance/program/case_options.h"
#include "conformance/program/commands.h"
#include "conformance/program/kernel_options.h"
#include "conformance/program/progress_line.h"
#include "conformance/report/fuzz_report.h"
#include "conformance/shell_word.h"
#include "golden/atomic_file.h"
#include "golden/file_error.h"
#include "golden/versions.h"

namespace mhcheck::conformance {
namespace {

struct FuzzOptions {
  std::string time, case_time;
  std::optional<std::uint64_t> cases;
  std::string seed = "1", operators, dtypes;
  KernelOptions kernels{"all"};
  int jobs = 0;
  std::string journal, failures = "mhcheck-failures", json;
  std::uint64_t stop_after = 20;
  bool quiet = false;
};

// "90", "90s", "15m", "2h"
std::chrono::duration<double> parse_time(std::string_view option, std::string_view text) {
  std::string_view number = text;
  double unit = 1;
  if (!number.empty() && std::string_view("smh").find(number.back()) != std::string_view::npos) {
    unit = number.back() == 's' ? 1 : number.back() == 'm' ? 60 : 3600;
    number.remove_suffix(1);
  }
  double value = 0;
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), value, std::chars_format::fixed);
  constexpr double kYear = 366 * 24 * 3600.0;
  if (error != std::errc() || end != number.data() + number.size() || !(value > 0 && value * unit <= kYear)) {
    throw std::invalid_argument(
        fmt::format("{}: '{}' is no time above zero and up to a year, as 90s, 15m or 2h", option, text));
  }
  return std::chrono::duration<double>(value * unit);
}

CampaignLimits limits_of(const FuzzOptions& options) {
  if (options.time.empty() == !options.cases) {
    throw std::invalid_argument("fuzz needs one of --time and --cases, which say when it ends");
  }
  CampaignLimits limits;
  limits.cases = options.cases;
  if (!options.time.empty()) limits.time = parse_time("--time", options.time);
  if (!options.case_time.empty()) limits.case_time = parse_time("--case-time", options.case_time);
  limits.failures = options.stop_after;
  limits.jobs =
      options.jobs != 0 ? options.jobs : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return limits;
}

// What fixes every case of the campaign and what may come of it: the journal's header, and what the JSON
// report begins with.
nlohmann::json campaign_header(const FuzzOptions& options, const CampaignPlan& plan) {
  nlohmann::json header{
      {"program", golden::program_version()}, {"seed", plan.seed}, {"case_time", options.case_time}};
  for (const Op op : plan.operators) header["operators"].push_back(row_of(op).name);
  for (const Dtype dtype : plan.dtypes) header["dtypes"].push_back(name_of(dtype));
  for (const KernelRow& row : plan.kernels) header["kernels"].push_back(row.name);
  header["options"] = options.kernels.json();
  return header;
}

// Failures are saved as files of this folder, which is made with the first of them.
class FailureFolder {
 public:
  // Throws golden::FileError at once where nothing could be saved later.
  explicit FailureFolder(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(folder_, error);
    if (std::filesystem::exists(status) && !std::filesystem::is_directory(status)) {
      throw golden::FileError(folder_,
                              "is there and is no folder; name one for the failures with --failures");
    }
    std::filesystem::path made = std::filesystem::absolute(folder_);
    while (!std::filesystem::exists(made, error) && made.has_parent_path() && made != made.parent_path()) {
      made = made.parent_path();
    }
    if (::access(made.c_str(), W_OK | X_OK) != 0) {
      throw golden::FileError(folder_,
                              "cannot be written; name another folder for the failures with --failures");
    }
  }

  // The command that repeats the failure from its file, or why there is none: it is printed all the same.
  std::string save(const Record& failure, std::uint64_t campaign_seed, const nlohmann::json& options) const {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    const std::filesystem::path path =
        folder_ / fmt::format("seed{}-case{}-{}-{}.json", campaign_seed, failure.number,
                              row_of(failure.tested.problem.op).name, failure.outcome.kind);
    try {
      write_failure(path, {.simplest = failure.simplest->tested,
                           .found = failure.tested,
                           .kernel = failure.kernel,
                           .options = options,
                           .kind = failure.outcome.kind,
                           .text = failure.simplest->text});
    } catch (const golden::FileError& unwritable) {
      return fmt::format("no, {}", unwritable.what());
    }
    return fmt::format("mhcheck repro {}", shell_word(path.native()));
  }

 private:
  std::filesystem::path folder_;
};

std::atomic<bool> stop_wanted = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // or a signal handler could not set it

void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_wanted = true; };
  for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
}

int fuzz(const FuzzOptions& options) {
  const CampaignLimits limits = limits_of(options);
  CampaignPlan plan;
  plan.kernels = options.kernels.rows();
  plan.operators = parse_operators(options.operators);
  plan.dtypes = parse_dtypes(options.dtypes);
  plan.seed = parse_seed("--seed", options.seed);
  const FailureFolder folder(options.failures);
  std::optional<golden::AtomicFile> json;
  if (!options.json.empty()) json.emplace(options.json);
  const nlohmann::json header = campaign_header(options, plan);
  std::optional<Journal> journal;
  if (!options.journal.empty()) journal.emplace(options.journal, header);

  Tally tally;
  stop_on_signals();
  bool ended = false;
  {
    ProgressLine progress(limits.cases);
    ended = run_campaign(plan, limits, journal ? &*journal : nullptr,
                         {.finished =
                              [&](const Record& record) {
                                tally.add(record);
                                if (!record.simplest) return;
                                const std::string saved =
                                    folder.save(record, plan.seed, options.kernels.json());
                                progress.hide();
                                fmt::print("{}\n", fuzz_failure_text(record, saved));
                              },
                          .progress = [&](bool failed) { progress.advance(failed); }},
                         stop_wanted);
  }
  if (!options.quiet) fmt::print("{}", fuzz_summary(tally, plan.operators));
  const SummaryRow total = total_of(tally.rows());
  if (json) {
    nlohmann::ordered_json asked(header);
    asked["stopped_early"] = !ended;
    json->write(std::string_view(fuzz_json(tally, plan.operators, std::move(asked)).dump(1) + "\n"));
    json->commit();
  }
  const bool enough = limits.failures != 0 && total.failed >= limits.failures;
  if (enough) fmt::print(stderr, "mhcheck: ended at {} failures, see --stop-after\n", total.failed);
  if (!ended) fmt::print(stderr, "mhcheck: stopped early, after {} cases\n", total.cases);
  // A campaign that was stopped has shown no more than its failures.
  return total.failed == 0 && !ended ? kCouldNotRun : exit_code(total);
}

}  // namespace

void add_fuzz_command(CLI::App& program, int& exit_code) {
  CLI::App& command = *program.add_subcommand(
      "fuzz", "search for cases that fail, each in a process of its own, and shrink them");
  const auto options = std::make_shared<FuzzOptions>();
  command.add_option("--time", options->time, "how long, for example 60s, 15m or 2h")->check(kNotEmpty);
  command.add_option("--cases", options->cases, "how many cases")
      ->check(CLI::Range(std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max()));
  command.add_option("--seed", options->seed, "of the campaign: the same seed, the same cases")
      ->capture_default_str();
  command.add_option("--op", options->operators, "operators, for example mhc_pre,mhc_post; default: all")
      ->check(kNotEmpty);
  command.add_option("--dtype", options->dtypes, "bf16, fp16 or both; default: both")->check(kNotEmpty);
  options->kernels.add_to(command, "these take turns; default: all that the device has");
  command.add_option("--jobs", options->jobs, "worker processes; default: one a core")
      ->check(CLI::Range(1, 4096));
  command
      .add_option("--journal", options->journal,
                  "write finished cases to this file, and go on where a campaign that was killed has stopped")
      ->check(kNotEmpty);
  command.add_option("--failures", options->failures, "folder for failures, which mhcheck repro takes")
      ->check(kNotEmpty)
      ->capture_default_str();
  command.add_option("--stop-after", options->stop_after, "end at so many failures; 0: at none")
      ->capture_default_str();
  command
      .add_option(
          "--case-time", options->case_time,
          "what takes longer has hung, for example 30s; default: a minute and more, by the case's size")
      ->check(kNotEmpty);
  command.add_option("--json", options->json, "write the summary and the failures to this file")
      ->check(kNotEmpty);
  command.add_flag("--quiet", options->quiet, "print failures only");
  command.callback([options, &exit_code] { exit_code = fuzz(*options); });
}

}  // namespace mhcheck::conformance

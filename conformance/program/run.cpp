// mhcheck run: cases x kernels, a verdict each, a table at the end.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "conformance/campaign.h"
#include "conformance/defaults.h"
#include "conformance/program/case_options.h"
#include "conformance/program/commands.h"
#include "conformance/program/progress_line.h"
#include "conformance/report/failure_text.h"
#include "conformance/report/summary.h"

namespace mhcheck::conformance {
namespace {

struct RunOptions {
  CaseOptions cases;
  ReportOptions reports;
  JobsOption jobs;
  std::vector<std::string> kernels;
  std::string device{kDefaultDevice};
  bool quiet = false;
};

std::vector<PlannedCase> plan(const RunOptions& options) {
  const CaseSelection selection = options.cases.selection();
  if (options.kernels.empty()) return plan_in_turns(selection, kernels_of(options.device));
  std::vector<const KernelRow*> chosen;
  for (const std::string& name : options.kernels) chosen.push_back(&kernel_named(name, options.device));
  return plan_each(selection, chosen);
}

int run(RunOptions& options) {
  const std::vector<PlannedCase> cases = plan(options);
  if (cases.empty())
    throw std::invalid_argument("the options choose no case: the shard has more parts than cases");
  options.reports.open();
  options.jobs.apply();

  std::vector<CaseResult> results;
  {
    ProgressLine progress(cases.size());
    results = run_cases(cases, [&](const CaseResult& result) { progress.advance(result); });
  }
  for (const CaseResult& result : results) {
    if (result.status == CaseStatus::failed) fmt::print("{}\n", failure_text(result));
    if (result.status == CaseStatus::unjudged) {
      fmt::print(stderr, "mhcheck: not judged: {}: {}\n", to_descriptor(result.tested), result.reason);
    }
  }
  const std::vector<SummaryRow> rows = summarise(results);
  if (!options.quiet) fmt::print("{}{}", summary_table(rows), coverage_text(results));

  nlohmann::ordered_json asked = options.cases.json();
  asked["device"] = options.device;
  if (!options.kernels.empty()) asked["kernel"] = options.kernels;
  options.reports.write(results, asked);
  return exit_code(total_of(rows));
}

}  // namespace

void add_run_command(CLI::App& program, int& exit_code) {
  CLI::App& command = *program.add_subcommand("run", "judge kernels on many cases");
  const auto options = std::make_shared<RunOptions>();
  options->cases.add_to(command);
  command
      .add_option("--kernel", options->kernels,
                  "run every case on each of these; default: the device's kernels take turns over the cases")
      ->delimiter(',');
  command.add_option("--device", options->device, "where kernels run")->capture_default_str();
  options->jobs.add_to(command);
  options->reports.add_to(command);
  command.add_flag("--quiet", options->quiet, "print failures only");
  command.callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace mhcheck::conformance

// mhcheck run: cases x kernels, a verdict each, a table at the end.
#include <fmt/format.h>

#include "conformance/campaign.h"
#include "conformance/program/case_options.h"
#include "conformance/program/commands.h"
#include "conformance/program/kernel_options.h"
#include "conformance/program/progress_line.h"
#include "conformance/report/failure_text.h"
#include "conformance/report/summary.h"

namespace mhcheck::conformance {
namespace {

struct RunOptions {
  CaseOptions cases;
  KernelOptions kernels;
  ReportOptions reports;
  JobsOption jobs;
  bool quiet = false;
};

int run(RunOptions& options) {
  const CaseSelection selection = options.cases.selection();
  const std::vector<KernelRow> kernels = options.kernels.rows();
  const std::vector<PlannedCase> cases =
      options.kernels.chosen() ? plan_each(selection, kernels) : plan_in_turns(selection, kernels);
  if (cases.empty())
    throw std::invalid_argument("the options choose no case: the shard has more parts than cases");
  options.reports.open();
  options.jobs.apply();

  std::vector<CaseResult> results;
  {
    ProgressLine progress(cases.size());
    results = run_cases(
        cases, [&](const CaseResult& result) { progress.advance(result.status == CaseStatus::failed); });
  }
  for (const CaseResult& result : results) {
    if (result.status == CaseStatus::failed) fmt::print("{}\n", failure_text(result));
    if (result.status == CaseStatus::unjudged) {
      fmt::print(stderr, "mhcheck: not judged: {}: {}\n", to_descriptor(result.tested), result.reason);
    }
  }
  const std::vector<SummaryRow> rows = summarise(results);
  if (!options.quiet) fmt::print("{}{}{}", summary_table(rows), coverage_text(results), laws_text(results));

  nlohmann::ordered_json asked = options.cases.json();
  asked.update(options.kernels.json());
  options.reports.write(results, asked);
  return exit_code(total_of(rows));
}

}  // namespace

void add_run_command(CLI::App& program, int& exit_code) {
  CLI::App& command = *program.add_subcommand("run", "judge kernels on many cases");
  const auto options = std::make_shared<RunOptions>();
  options->cases.add_to(command);
  options->kernels.add_to(command,
                          "run every case on each of these; default: the device's take turns over the cases");
  options->jobs.add_to(command);
  options->reports.add_to(command);
  command.add_flag("--quiet", options->quiet, "print failures only");
  command.callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace mhcheck::conformance

// mhcheck repro: one case again, everything about it printed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

#include "conformance/fuzz/failure_file.h"
#include "conformance/memory_need.h"
#include "conformance/program/case_options.h"
#include "conformance/program/commands.h"
#include "conformance/program/kernel_options.h"
#include "conformance/report/case_text.h"
#include "conformance/runner.h"
#include "golden/file_error.h"
#include "properties/regimes.h"

namespace mhcheck::conformance {
namespace {

struct ReproOptions {
  std::string what;
  KernelOptions kernels;
  bool canonical = false;
  ReportOptions reports;
  JobsOption jobs;
};

// The one that was asked for, or the device's first that rounds as the case says.
const KernelRow& chosen_kernel(const KernelOptions& options, std::span<const KernelRow> rows, const Case& c) {
  if (options.chosen()) {
    if (rows.size() == 1) return rows.front();
    std::vector<std::string_view> names;
    for (const KernelRow& row : rows) names.push_back(row.name);
    throw std::invalid_argument(fmt::format("repro runs one kernel, name one of {}", fmt::join(names, ", ")));
  }
  for (const KernelRow& row : rows) {
    if (rounds_as(*row.make(), c)) return row;
  }
  throw UnknownName(fmt::format("no kernel of device {} rounds as {} says; name one with --kernel",
                                rows.front().device, to_descriptor(c)));
}

// What is to be repeated: a case on a kernel, and the kind of failure that it is on file with.
struct Repetition {
  Case tested;
  KernelOptions options;
  KernelRow row;
  std::string kind;  // empty where only a descriptor was given
};

// A descriptor has no slash and does not end like a file.
bool names_file(std::string_view text) { return text.find('/') != text.npos || text.ends_with(".json"); }

Repetition saved_failure(const ReproOptions& options) {
  if (options.kernels.json() != KernelOptions().json()) {
    throw std::invalid_argument(
        "a saved failure has its kernel and how it ran; leave out the options for them");
  }
  const FailureFile failure = read_failure(options.what);
  try {
    const KernelOptions kernels = KernelOptions::from_json(failure.options);
    const std::vector<KernelRow> rows = kernels.rows();
    return {failure.simplest, kernels, kernel_named(failure.kernel, rows), failure.kind};
  } catch (const std::invalid_argument& e) {
    throw golden::FileError(options.what, e.what());
  }
}

Repetition described_case(const ReproOptions& options) {
  const Case c = parse_descriptor(options.what);
  const std::vector<KernelRow> rows = options.kernels.rows();
  return {c, options.kernels, chosen_kernel(options.kernels, rows, c), ""};
}

int repro(ReproOptions& options) {
  if (options.canonical) {
    const Case c =
        names_file(options.what) ? read_failure(options.what).simplest : parse_descriptor(options.what);
    fmt::print("{}\n", to_canonical_descriptor(c));
    return kConforms;
  }
  const Repetition repetition = names_file(options.what) ? saved_failure(options) : described_case(options);
  const Case& c = repetition.tested;
  options.reports.open();
  options.jobs.apply();
  require_memory_for(c);
  const TensorMap inputs = properties::make_inputs(c);
  if (!repetition.kind.empty()) {
    fmt::print("saved as   {}\n", repetition.kind);
    std::fflush(stdout);  // what has crashed may do so again
  }
  const CaseResult result = run_case(c, repetition.row, *repetition.row.make(), Threads::all);
  if (result.status == CaseStatus::refused || result.status == CaseStatus::unjudged) {
    throw std::runtime_error(
        fmt::format("{}: {}: {}", name_of(result.status), to_descriptor(c), result.reason));
  }
  fmt::print("{}", case_text(result, inputs));
  nlohmann::ordered_json asked{{"descriptor", to_descriptor(c)}};
  asked.update(repetition.options.json());
  options.reports.write({&result, 1}, asked);
  return result.status == CaseStatus::passed ? kConforms : kDoesNotConform;
}

}  // namespace

void add_repro_command(CLI::App& program, int& exit_code) {
  CLI::App& command = *program.add_subcommand("repro", "run one case again and print everything about it");
  const auto options = std::make_shared<ReproOptions>();
  command
      .add_option("what", options->what,
                  "the case, as a failure printed it, or a file that mhcheck fuzz has saved")
      ->required()
      ->type_name("DESCRIPTOR|FILE");
  options->kernels.add_to(command, "default: the device's first that rounds as the case says");
  command.add_flag("--canonical", options->canonical,
                   "print the descriptor with all defaults written out, only");
  options->jobs.add_to(command);
  options->reports.add_to(command);
  command.callback([options, &exit_code] { exit_code = repro(*options); });
}

}  // namespace mhcheck::conformance

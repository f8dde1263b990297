// mhcheck repro: one case again, everything about it printed.
#include <fmt/format.h>

#include "conformance/defaults.h"
#include "conformance/kernel_registry.h"
#include "conformance/program/case_options.h"
#include "conformance/program/commands.h"
#include "conformance/report/case_text.h"
#include "conformance/runner.h"
#include "properties/regimes.h"

namespace mhcheck::conformance {
namespace {

struct ReproOptions {
  std::string descriptor;
  std::string kernel;
  std::string device{kDefaultDevice};
  bool canonical = false;
  ReportOptions reports;
  JobsOption jobs;
};

// The named kernel, or the device's first that rounds as the case says.
const KernelRow& chosen_kernel(const ReproOptions& options, const Case& c) {
  if (!options.kernel.empty()) return kernel_named(options.kernel, options.device);
  for (const KernelRow* row : kernels_of(options.device)) {
    if (rounds_as(*row->make(), c)) return *row;
  }
  throw UnknownName(fmt::format("no kernel of device {} rounds as {} says; name one with --kernel",
                                options.device, to_descriptor(c)));
}

int repro(ReproOptions& options) {
  const Case c = parse_descriptor(options.descriptor);
  if (options.canonical) {
    fmt::print("{}\n", to_canonical_descriptor(c));
    return kConforms;
  }
  const KernelRow& row = chosen_kernel(options, c);
  options.reports.open();
  options.jobs.apply();
  const TensorMap inputs = properties::make_inputs(c);
  const CaseResult result = run_case(c, *row.make(), row.device, Threads::all);
  fmt::print("{}", case_text(result, inputs));
  options.reports.write({&result, 1},
                        {{"descriptor", to_descriptor(c)}, {"kernel", row.name}, {"device", row.device}});
  switch (result.status) {
    case CaseStatus::passed:
      return kConforms;
    case CaseStatus::failed:
      return kDoesNotConform;
    case CaseStatus::refused:
    case CaseStatus::unjudged:
      throw std::runtime_error(
          fmt::format("{}: {}: {}", name_of(result.status), to_descriptor(c), result.reason));
  }
  return kCouldNotRun;
}

}  // namespace

void add_repro_command(CLI::App& program, int& exit_code) {
  CLI::App& command = *program.add_subcommand("repro", "run one case again and print everything about it");
  const auto options = std::make_shared<ReproOptions>();
  command.add_option("descriptor", options->descriptor, "the case, as a failure printed it")
      ->required()
      ->type_name("DESCRIPTOR");
  command.add_option("--kernel", options->kernel, "default: the device's first that rounds as the case says");
  command.add_option("--device", options->device, "where the kernel runs")->capture_default_str();
  command.add_flag("--canonical", options->canonical,
                   "print the descriptor with all defaults written out, only");
  options->jobs.add_to(command);
  options->reports.add_to(command);
  command.callback([options, &exit_code] { exit_code = repro(*options); });
}

}  // namespace mhcheck::conformance

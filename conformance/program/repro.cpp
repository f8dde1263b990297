// mhcheck repro: one case again, everything about it printed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "conformance/memory_need.h"
#include "conformance/program/case_options.h"
#include "conformance/program/commands.h"
#include "conformance/program/kernel_options.h"
#include "conformance/report/case_text.h"
#include "conformance/runner.h"
#include "properties/regimes.h"

namespace mhcheck::conformance {
namespace {

struct ReproOptions {
  std::string descriptor;
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

int repro(ReproOptions& options) {
  const Case c = parse_descriptor(options.descriptor);
  if (options.canonical) {
    fmt::print("{}\n", to_canonical_descriptor(c));
    return kConforms;
  }
  const std::vector<KernelRow> rows = options.kernels.rows();
  const KernelRow& row = chosen_kernel(options.kernels, rows, c);
  options.reports.open();
  options.jobs.apply();
  require_memory_for(c);
  const TensorMap inputs = properties::make_inputs(c);
  const CaseResult result = run_case(c, row, *row.make(), Threads::all);
  if (result.status == CaseStatus::refused || result.status == CaseStatus::unjudged) {
    throw std::runtime_error(
        fmt::format("{}: {}: {}", name_of(result.status), to_descriptor(c), result.reason));
  }
  fmt::print("{}", case_text(result, inputs));
  nlohmann::ordered_json asked{{"descriptor", to_descriptor(c)}};
  asked.update(options.kernels.json());
  options.reports.write({&result, 1}, asked);
  return result.status == CaseStatus::passed ? kConforms : kDoesNotConform;
}

}  // namespace

void add_repro_command(CLI::App& program, int& exit_code) {
  CLI::App& command = *program.add_subcommand("repro", "run one case again and print everything about it");
  const auto options = std::make_shared<ReproOptions>();
  command.add_option("descriptor", options->descriptor, "the case, as a failure printed it")
      ->required()
      ->type_name("DESCRIPTOR");
  options->kernels.add_to(command, "default: the device's first that rounds as the case says");
  command.add_flag("--canonical", options->canonical,
                   "print the descriptor with all defaults written out, only");
  options->jobs.add_to(command);
  options->reports.add_to(command);
  command.callback([options, &exit_code] { exit_code = repro(*options); });
}

}  // namespace mhcheck::conformance

// mhcheck golden: golden tensors written, computed again, shown.
#include <fmt/format.h>

#include <filesystem>

#include "conformance/case_list.h"
#include "conformance/program/case_options.h"
#include "conformance/program/commands.h"
#include "conformance/program/generated_inputs.h"
#include "golden/make.h"
#include "golden/manifest.h"
#include "golden/verify.h"

namespace mhcheck::conformance {
namespace {

struct GoldenOptions {
  std::filesystem::path folder;
  std::vector<std::string> descriptors;
  CaseOptions cases;
  JobsOption jobs;
};

std::vector<Case> chosen_cases(const GoldenOptions& options) {
  if (options.descriptors.empty()) {
    const auto contract = [](Op) { return std::vector<RoundingProfile>{{}}; };
    return list_cases(options.cases.selection(), contract);
  }
  std::vector<Case> cases;
  for (const std::string& descriptor : options.descriptors) cases.push_back(parse_descriptor(descriptor));
  return cases;
}

void make(GoldenOptions& options) {
  options.jobs.apply();
  const auto told = [](const golden::ManifestEntry& entry) {
    fmt::print("{}  {}\n", entry.sha256, entry.file);
  };
  const golden::Manifest manifest =
      golden::make(options.folder, chosen_cases(options), generated_inputs, told);
  fmt::print("{} cases in {}\n", manifest.cases.size(), options.folder.native());
}

int verify(GoldenOptions& options) {
  options.jobs.apply();
  const golden::Verification verification = golden::verify(options.folder, generated_inputs);
  for (const std::string& difference : verification.differences)
    fmt::print(stderr, "mhcheck: {}\n", difference);
  if (!verification.differences.empty()) return kCouldNotRun;
  fmt::print("{} cases agree with what this program computes\n", verification.cases);
  return kConforms;
}

void list(const GoldenOptions& options) {
  const golden::Manifest manifest = golden::read_manifest(options.folder);
  fmt::print("contract version {}, made by mhcheck {}\n", manifest.contract_version,
             manifest.program_version);
  for (const golden::ManifestEntry& entry : manifest.cases) {
    fmt::print("{:>12} bytes  {}  {}\n", entry.size, entry.sha256.substr(0, 12), entry.descriptor);
  }
}

}  // namespace

void add_golden_command(CLI::App& program, int& exit_code) {
  CLI::App& golden = *program.add_subcommand("golden", "golden tensors: inputs, right answers, intervals");
  golden.require_subcommand(1);
  const auto options = std::make_shared<GoldenOptions>();
  const auto add = [&](const char* name, const char* summary) {
    CLI::App& command = *golden.add_subcommand(name, summary);
    command.add_option("folder", options->folder, "the folder of the golden files")->required();
    return &command;
  };

  CLI::App& make_command = *add("make", "compute cases and write them");
  CLI::Option* descriptors = make_command.add_option("descriptor", options->descriptors,
                                                     "these cases; default: those of the options");
  descriptors->type_name("DESCRIPTOR");
  options->cases.add_to(make_command);
  options->jobs.add_to(make_command);
  make_command.callback([options] { make(*options); });

  CLI::App& verify_command = *add("verify", "compute the cases again and compare every byte");
  options->jobs.add_to(verify_command);
  verify_command.callback([options, &exit_code] { exit_code = verify(*options); });

  add("list", "show the cases")->callback([options] { list(*options); });
}

}  // namespace mhcheck::conformance

// mhcheck check: outputs that another program computed from a case's inputs.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "conformance/judge_case.h"
#include "conformance/program/case_options.h"
#include "conformance/program/commands.h"
#include "conformance/report/case_text.h"
#include "golden/case_file.h"
#include "golden/manifest.h"
#include "golden/safetensors.h"
#include "properties/regimes.h"

namespace mhcheck::conformance {
namespace {

struct CheckOptions {
  std::filesystem::path file;
  std::string case_name;
  std::filesystem::path golden_folder;
  ReportOptions reports;
  JobsOption jobs;
};

// --case: a descriptor, or with --golden the name of a case in that folder.
std::optional<Case> named_case(const CheckOptions& options) {
  if (options.case_name.empty()) return std::nullopt;
  if (options.golden_folder.empty()) return parse_descriptor(options.case_name);
  const golden::Manifest manifest = golden::read_manifest(options.golden_folder);
  const auto entry = std::ranges::find(manifest.cases, options.case_name, &golden::ManifestEntry::name);
  if (entry == manifest.cases.end()) {
    throw std::invalid_argument(fmt::format("--case: {} has no case '{}', see mhcheck golden list",
                                            options.golden_folder.native(), options.case_name));
  }
  return parse_descriptor(entry->descriptor);
}

// Inputs that the file carries along must be the case's own: outputs of other inputs cannot be judged.
void require_own_inputs(const std::filesystem::path& file, const TensorMap& generated) {
  golden::SafetensorsReader reader(file);
  for (const auto& [name, tensor] : generated) {
    const std::string stored_name = "in." + name;
    if (!reader.tensors().contains(stored_name)) continue;
    const Tensor stored = reader.read(stored_name);
    if (stored.dtype() != tensor.dtype() || stored.shape() != tensor.shape()) {
      throw golden::FileError(
          file, fmt::format("{} is {} {}, the case's input is {} {}", stored_name, name_of(stored.dtype()),
                            to_string(stored.shape()), name_of(tensor.dtype()), to_string(tensor.shape())));
    }
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      if (stored.bits(i) == tensor.bits(i)) continue;
      throw golden::FileError(
          file,
          fmt::format("{} is not the case's input: element {} is {} in the file, {} in the case", stored_name,
                      i, hex_bits(stored.dtype(), stored.bits(i)), hex_bits(tensor.dtype(), tensor.bits(i))));
    }
  }
}

int check(CheckOptions& options) {
  const std::optional<Case> named = named_case(options);
  const golden::CandidateOutputs candidate = golden::read_outputs(options.file, named);
  options.reports.open();
  options.jobs.apply();
  const TensorMap inputs = properties::make_inputs(candidate.c);
  require_own_inputs(options.file, inputs);

  StoredOutputs stored;
  for (const auto& [name, tensor] : candidate.outputs) stored.emplace(name, tensor.bytes());
  Judgement judgement = judge_outputs(candidate.c, inputs, stored, Threads::all);

  CaseResult result;
  result.tested = candidate.c;
  result.kernel = options.file.filename().native();
  result.device = "file";
  result.outputs = std::move(judgement.outputs);
  result.certification = judgement.certification;
  const bool conforms = std::ranges::all_of(result.outputs, &OutputVerdict::conforms);
  result.status = conforms ? CaseStatus::passed : CaseStatus::failed;
  result.repeat = fmt::format("mhcheck check '{}'", options.file.native());
  if (named) result.repeat += fmt::format(" --case '{}'", to_descriptor(*named));

  fmt::print("{}", case_text(result, inputs));
  options.reports.write({&result, 1},
                        {{"file", options.file.native()}, {"descriptor", to_descriptor(candidate.c)}});
  return conforms ? kConforms : kDoesNotConform;
}

}  // namespace

void add_check_command(CLI::App& program, int& exit_code) {
  CLI::App& command = *program.add_subcommand("check", "judge outputs that another program computed");
  const auto options = std::make_shared<CheckOptions>();
  command.add_option("file", options->file, "a safetensors file with tensors out.NAME")->required();
  CLI::Option* named = command.add_option("--case", options->case_name,
                                          "the case's descriptor, where the file's __metadata__ has none");
  command
      .add_option("--golden", options->golden_folder, "--case names a case of this folder of golden files")
      ->needs(named);
  options->jobs.add_to(command);
  options->reports.add_to(command);
  command.callback([options, &exit_code] { exit_code = check(*options); });
}

}  // namespace mhcheck::conformance

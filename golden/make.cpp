#include "golden/make.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "golden/answer.h"
#include "golden/case_file.h"
#include "golden/file_error.h"
#include "golden/sha256.h"
#include "golden/versions.h"

namespace mhcheck::golden {
namespace {

void refuse_equal_names(std::span<const Case> cases) {
  std::set<std::string> names;
  for (const Case& c : cases) {
    if (!names.insert(case_name(c)).second) {
      throw std::invalid_argument(fmt::format("two golden cases have the name {}", case_name(c)));
    }
  }
}

ManifestEntry make_case(const std::filesystem::path& folder, const Case& c, const InputSource& inputs_of) {
  GeneratedInputs inputs = inputs_of(c);
  Answer answer = answer_of(c, inputs.tensors, inputs.options);
  const std::string name = case_name(c);
  const std::string file = case_file_name(name);
  write_case(folder / file, {c, std::move(inputs.tensors), std::move(answer)});
  return {.name = name,
          .file = file,
          .sha256 = sha256_of_file(folder / file),
          .size = std::filesystem::file_size(folder / file),
          .descriptor = to_descriptor(c)};
}

}  // namespace

std::string case_name(const Case& c) {
  std::string name = to_descriptor(c);
  std::replace(name.begin(), name.end(), ':', '-');
  return name;
}

Manifest make(const std::filesystem::path& folder, std::span<const Case> cases, const InputSource& inputs_of,
              const std::function<void(const ManifestEntry&)>& made) {
  refuse_equal_names(cases);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw FileError(folder, fmt::format("cannot be created: {}", error.message()));

  Manifest manifest{.contract_version = std::string(kContractVersion),
                    .program_version = std::string(program_version()),
                    .cases = {}};
  for (const Case& c : cases) {
    manifest.cases.push_back(make_case(folder, c, inputs_of));
    made(manifest.cases.back());
  }
  write_manifest(folder, manifest);
  return manifest;
}

}  // namespace mhcheck::golden

#include "golden/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "golden/atomic_file.h"
#include "golden/file_error.h"
#include "golden/strict_json.h"

namespace mhcheck::golden {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

std::string text_field(const std::string& file, std::string_view where, const json& object,
                       std::string_view field) {
  const json& value = object.at(std::string(field));
  if (!value.is_string()) {
    throw FileError(
        file, fmt::format("{}: \"{}\" is a JSON {}, must be a string", where, field, value.type_name()));
  }
  return value.get<std::string>();
}

std::uint64_t number_field(const std::string& file, std::string_view where, const json& object,
                           std::string_view field) {
  const json& value = object.at(std::string(field));
  if (!value.is_number_unsigned()) {
    throw FileError(file, fmt::format("{}: \"{}\" must be a whole number from 0 on", where, field));
  }
  return value.get<std::uint64_t>();
}

ManifestEntry parse_entry(const std::string& file, std::size_t index, const json& value) {
  const std::string where = fmt::format("cases[{}]", index);
  require_fields(file, where, value, {"name", "file", "sha256", "size", "descriptor"});
  ManifestEntry entry{.name = text_field(file, where, value, "name"),
                      .file = text_field(file, where, value, "file"),
                      .sha256 = text_field(file, where, value, "sha256"),
                      .size = number_field(file, where, value, "size"),
                      .descriptor = text_field(file, where, value, "descriptor")};
  if (entry.name.empty() || entry.name.find('/') != std::string::npos) {
    throw FileError(file, fmt::format("{}: name {} must be a file's name without a folder", where,
                                      in_quotes(entry.name)));
  }
  if (entry.file != case_file_name(entry.name)) {
    throw FileError(file, fmt::format("{}: file {} must be {}", where, in_quotes(entry.file),
                                      in_quotes(case_file_name(entry.name))));
  }
  if (entry.sha256.size() != 64 || entry.sha256.find_first_not_of("0123456789abcdef") != std::string::npos) {
    throw FileError(file, fmt::format("{}: sha256 {} must be 64 lower-case hexadecimal digits", where,
                                      in_quotes(entry.sha256)));
  }
  return entry;
}

}  // namespace

std::filesystem::path manifest_path(const std::filesystem::path& folder) { return folder / "manifest.json"; }

std::string case_file_name(const std::string& case_name) { return case_name + ".safetensors"; }

Manifest read_manifest(const std::filesystem::path& folder) {
  const std::string file = manifest_path(folder).string();
  if (std::filesystem::is_directory(file)) throw FileError(file, "is a folder, must be a JSON file");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    throw FileError(file, fmt::format("cannot be opened: {}; a folder of golden cases has one",
                                      std::generic_category().message(errno)));
  }
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const json document = parse_strict_json(file, text, /*offset=*/0);
  require_fields(file, "the manifest", document,
                 {"format_version", "contract_version", "program_version", "cases"});

  const std::uint64_t format_version = number_field(file, "the manifest", document, "format_version");
  if (format_version != kManifestFormatVersion) {
    throw FileError(file, fmt::format("format_version is {}, this program reads {}", format_version,
                                      kManifestFormatVersion));
  }
  Manifest manifest{.contract_version = text_field(file, "the manifest", document, "contract_version"),
                    .program_version = text_field(file, "the manifest", document, "program_version"),
                    .cases = {}};
  const json& cases = document["cases"];
  if (!cases.is_array()) {
    throw FileError(file, fmt::format("\"cases\" is a JSON {}, must be an array", cases.type_name()));
  }
  for (const json& value : cases) {
    ManifestEntry entry = parse_entry(file, manifest.cases.size(), value);
    if (!manifest.cases.empty() && entry.name <= manifest.cases.back().name) {
      throw FileError(
          file,
          fmt::format("cases[{}]: name {} must come after {}: cases stand by name, each once",
                      manifest.cases.size(), in_quotes(entry.name), in_quotes(manifest.cases.back().name)));
    }
    manifest.cases.push_back(std::move(entry));
  }
  return manifest;
}

void write_manifest(const std::filesystem::path& folder, const Manifest& manifest) {
  std::vector<ManifestEntry> by_name = manifest.cases;
  std::sort(by_name.begin(), by_name.end(),
            [](const ManifestEntry& a, const ManifestEntry& b) { return a.name < b.name; });
  ordered_json cases = ordered_json::array();
  for (const ManifestEntry& entry : by_name) {
    cases.push_back({{"name", entry.name},
                     {"file", entry.file},
                     {"sha256", entry.sha256},
                     {"size", entry.size},
                     {"descriptor", entry.descriptor}});
  }
  const ordered_json document = {{"format_version", kManifestFormatVersion},
                                 {"contract_version", manifest.contract_version},
                                 {"program_version", manifest.program_version},
                                 {"cases", std::move(cases)}};
  AtomicFile file(manifest_path(folder));
  file.write(document.dump(/*indent=*/2));
  file.write("\n");
  file.commit();
}

}  // namespace mhcheck::golden

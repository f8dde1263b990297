#include "conformance/fuzz/failure_file.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "golden/atomic_file.h"
#include "golden/file_error.h"
#include "golden/strict_json.h"

namespace mhcheck::conformance {
namespace {

using golden::FileError;
using nlohmann::json;

constexpr std::string_view kWhat = "mhcheck failure";
constexpr int kVersion = 1;

std::string text_field(const std::filesystem::path& path, const json& file, const char* name) {
  const json& field = file.at(name);
  if (!field.is_string()) {
    throw FileError(path, fmt::format("\"{}\" is a JSON {}, must be a string", name, field.type_name()));
  }
  return field;
}

Case case_field(const std::filesystem::path& path, const json& file, const char* name) {
  try {
    return parse_descriptor(text_field(path, file, name));
  } catch (const DescriptorError& error) {
    throw FileError(path, fmt::format("\"{}\": {}", name, error.what()));
  }
}

}  // namespace

void write_failure(const std::filesystem::path& path, const FailureFile& failure) {
  const nlohmann::ordered_json file{{"file", kWhat},
                                    {"version", kVersion},
                                    {"descriptor", to_descriptor(failure.simplest)},
                                    {"kernel", failure.kernel},
                                    {"options", failure.options},
                                    {"kind", failure.kind},
                                    {"text", failure.text},
                                    {"found_as", to_descriptor(failure.found)}};
  golden::AtomicFile out(path);
  out.write(std::string_view(file.dump(1, ' ', false, json::error_handler_t::replace) + "\n"));
  out.commit();
}

FailureFile read_failure(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw FileError(path, "cannot be opened");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) throw FileError(path, "cannot be read");
  const json file = golden::parse_strict_json(path.native(), text, 0);
  if (!file.is_object() || file.value("file", json()) != kWhat) {
    throw FileError(path, "is no failure that mhcheck fuzz has saved");
  }
  golden::require_fields(path.native(), "the failure", file,
                         {"file", "version", "descriptor", "kernel", "options", "kind", "text", "found_as"});
  if (file.at("version") != kVersion) {
    throw FileError(
        path, fmt::format("is of version {}, this program reads {}", file.at("version").dump(), kVersion));
  }
  return {.simplest = case_field(path, file, "descriptor"),
          .found = case_field(path, file, "found_as"),
          .kernel = text_field(path, file, "kernel"),
          .options = file.at("options"),
          .kind = text_field(path, file, "kind"),
          .text = text_field(path, file, "text")};
}

}  // namespace mhcheck::conformance

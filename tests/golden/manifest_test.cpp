#include "golden/manifest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "golden/file_error.h"
#include "tests/golden/scratch_folder.h"

namespace mhcheck::golden {
namespace {

const std::string kDigest(64, 'a');

Manifest two_cases() {
  return {.contract_version = "1",
          .program_version = "0.1.0",
          .cases = {{"a", "a.safetensors", kDigest, 10, "hc_expand:bf16:t1:n4:h8"},
                    {"b", "b.safetensors", std::string(64, '0'), 20, "hc_expand:fp16:t1:n4:h8"}}};
}

std::string text_with_cases(const std::string& cases) {
  return fmt::format(
      R"({{"format_version": 1, "contract_version": "1", "program_version": "0.1.0", "cases": [{}]}})",
      cases);
}

std::string case_text(const std::string& name, const std::string& file) {
  return fmt::format(R"({{"name": "{}", "file": "{}", "sha256": "{}", "size": 1, "descriptor": "d"}})", name,
                     file, kDigest);
}

// What reading this text says, without the file's name; empty when it is accepted.
std::string error_of(const std::string& text) {
  const ScratchFolder folder;
  write_file(manifest_path(folder.path()), text);
  try {
    read_manifest(folder.path());
  } catch (const FileError& error) {
    return std::string(error.what()).substr(manifest_path(folder.path()).string().size());
  }
  return {};
}

TEST(Manifest, ComesBackAsItWasWritten) {
  const ScratchFolder folder;
  write_manifest(folder.path(), two_cases());
  EXPECT_EQ(read_manifest(folder.path()), two_cases());
}

TEST(Manifest, HasTheseBytesInWhateverOrderItsCasesCome) {
  const ScratchFolder folder;
  Manifest manifest = two_cases();
  std::swap(manifest.cases[0], manifest.cases[1]);
  write_manifest(folder.path(), manifest);
  EXPECT_EQ(read_file(manifest_path(folder.path())), R"({
  "format_version": 1,
  "contract_version": "1",
  "program_version": "0.1.0",
  "cases": [
    {
      "name": "a",
      "file": "a.safetensors",
      "sha256": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
      "size": 10,
      "descriptor": "hc_expand:bf16:t1:n4:h8"
    },
    {
      "name": "b",
      "file": "b.safetensors",
      "sha256": "0000000000000000000000000000000000000000000000000000000000000000",
      "size": 20,
      "descriptor": "hc_expand:fp16:t1:n4:h8"
    }
  ]
}
)");
}

TEST(Manifest, EveryDamageHasItsMessage) {
  EXPECT_EQ(error_of("{"), ": not valid JSON at byte 1");
  EXPECT_EQ(error_of("[]"), ": the manifest is a JSON array, must be an object");
  EXPECT_EQ(error_of("{}"), R"(: the manifest has no field "format_version")");
  EXPECT_EQ(
      error_of(
          R"({"format_version": 1, "contract_version": "1", "program_version": "0", "cases": [], "x": 1})"),
      R"(: the manifest has an unknown field "x"; known are format_version, contract_version, program_version, cases)");
  EXPECT_EQ(
      error_of(R"({"format_version": 2, "contract_version": "1", "program_version": "0", "cases": []})"),
      ": format_version is 2, this program reads 1");
  EXPECT_EQ(
      error_of(R"({"format_version": -1, "contract_version": "1", "program_version": "0", "cases": []})"),
      R"(: the manifest: "format_version" must be a whole number from 0 on)");
  EXPECT_EQ(error_of(R"({"format_version": 1, "contract_version": 1, "program_version": "0", "cases": []})"),
            R"(: the manifest: "contract_version" is a JSON number, must be a string)");
  EXPECT_EQ(
      error_of(R"({"format_version": 1, "contract_version": "1", "program_version": "0", "cases": {}})"),
      R"(: "cases" is a JSON object, must be an array)");
  EXPECT_EQ(error_of(text_with_cases("1")), ": cases[0] is a JSON number, must be an object");
  EXPECT_EQ(error_of(text_with_cases(R"({"name": "a", "name": "b"})")),
            R"(: the JSON has the key "name" twice in one object)");
  EXPECT_EQ(error_of(text_with_cases(R"({"name": "a"})")), R"(: cases[0] has no field "file")");
  EXPECT_EQ(error_of(text_with_cases(case_text("a", "b.safetensors"))),
            R"(: cases[0]: file "b.safetensors" must be "a.safetensors")");
  EXPECT_EQ(error_of(text_with_cases(case_text("../a", "../a.safetensors"))),
            R"(: cases[0]: name "../a" must be a file's name without a folder)");
  EXPECT_EQ(error_of(text_with_cases(case_text("", ".safetensors"))),
            R"(: cases[0]: name "" must be a file's name without a folder)");
  EXPECT_EQ(
      error_of(text_with_cases(case_text("a", "a.safetensors") + "," + case_text("a", "a.safetensors"))),
      R"(: cases[1]: name "a" must come after "a": cases stand by name, each once)");
  std::string short_digest = text_with_cases(case_text("a", "a.safetensors"));
  short_digest.erase(short_digest.find(kDigest), 63);
  EXPECT_EQ(error_of(short_digest), R"(: cases[0]: sha256 "a" must be 64 lower-case hexadecimal digits)");
}

TEST(Manifest, AFolderWithoutOneIsAnError) {
  const ScratchFolder folder;
  try {
    read_manifest(folder.path());
    FAIL() << "was read";
  } catch (const FileError& error) {
    EXPECT_EQ(std::string(error.what()),
              manifest_path(folder.path()).string() +
                  ": cannot be opened: No such file or directory; a folder of golden "
                  "cases has one");
  }
}

}  // namespace
}  // namespace mhcheck::golden

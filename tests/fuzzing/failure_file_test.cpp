#include "conformance/fuzz/failure_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "golden/file_error.h"
#include "tests/fuzzing/scratch_file.h"

namespace mhcheck::conformance {
namespace {

using golden::FileError;
using ::testing::HasSubstr;
using testing::message_of;
using testing::ScratchFile;

FailureFile failure() {
  return {.simplest = parse_descriptor("mhc_post:bf16:t1:n4:h1"),
          .found = parse_descriptor("mhc_post:fp16:t33:n4:h1280:in=massive:seed=77"),
          .kernel = "mhc/fp32",
          .options = {{"device", "sim"}, {"kernel", {"mhc"}}},
          .kind = "crashed",
          .text = "FAILED\n  crashed: \"signal 11\"\n"};
}

TEST(FailureFile, ReadsAsItWasWritten) {
  const ScratchFile file;
  write_failure(file.path(), failure());
  const FailureFile read = read_failure(file.path());
  EXPECT_EQ(read.simplest, failure().simplest);
  EXPECT_EQ(read.found, failure().found);
  EXPECT_EQ(read.kernel, failure().kernel);
  EXPECT_EQ(read.options, failure().options);
  EXPECT_EQ(read.kind, failure().kind);
  EXPECT_EQ(read.text, failure().text);
}

// One field changed, and what the message must say.
struct Wrong {
  const char* name;
  void (*change)(nlohmann::ordered_json&);
  const char* message;
};

TEST(FailureFile, RefusesWhatItDoesNotWriteInOneLine) {
  const ScratchFile file;
  write_failure(file.path(), failure());
  const auto good = nlohmann::ordered_json::parse(file.text());
  const Wrong rows[] = {
      {"NotOne",
       [](auto& j) {
         j = {{"a", 1}};
       },
       "is no failure that mhcheck fuzz has saved"},
      {"Array",
       [](auto& j) {
         j = {1, 2};
       },
       "is no failure that mhcheck fuzz has saved"},
      {"Unknown", [](auto& j) { j["more"] = 1; }, "unknown field \"more\""},
      {"Missing", [](auto& j) { j.erase("kind"); }, "has no field \"kind\""},
      {"Version", [](auto& j) { j["version"] = 9; }, "is of version 9, this program reads 1"},
      {"Descriptor", [](auto& j) { j["descriptor"] = "mhc_wost"; },
       "\"descriptor\": descriptor, character 1"},
      {"FoundAs", [](auto& j) { j["found_as"] = 3; }, "\"found_as\" is a JSON number, must be a string"},
      {"Kernel", [](auto& j) { j["kernel"] = nullptr; }, "\"kernel\" is a JSON null, must be a string"},
  };
  for (const Wrong& row : rows) {
    nlohmann::ordered_json json = good;
    row.change(json);
    file.write(json.dump());
    const std::string message = message_of<FileError>([&] { read_failure(file.path()); });
    EXPECT_THAT(message, HasSubstr(row.message)) << row.name;
    EXPECT_EQ(message.find('\n'), std::string::npos) << row.name;
  }
  for (const std::string text : {"", "{", "no JSON"}) {
    file.write(text);
    EXPECT_THAT(message_of<FileError>([&] { read_failure(file.path()); }), HasSubstr("not valid JSON"));
  }
  EXPECT_THAT(message_of<FileError>([] { read_failure("no/such/file.json"); }),
              HasSubstr("cannot be opened"));
}

}  // namespace
}  // namespace mhcheck::conformance

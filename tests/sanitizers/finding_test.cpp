#include "kernels/simulator/sanitizers/finding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace mhcheck::simulator {
namespace {

TEST(Sanitizers, AreChosenByName) {
  EXPECT_EQ(parse_sanitizers("all"), SanitizerSet::all());
  EXPECT_TRUE(parse_sanitizers("none").empty());
  const SanitizerSet two = parse_sanitizers("wait,race");
  EXPECT_TRUE(two.has(Sanitizer::kRace));
  EXPECT_TRUE(two.has(Sanitizer::kWait));
  EXPECT_FALSE(two.has(Sanitizer::kBounds));
  EXPECT_EQ(to_string(two), "race,wait");
  EXPECT_EQ(to_string(SanitizerSet::all()), "all");
  EXPECT_EQ(to_string(SanitizerSet()), "none");
  for (const SanitizerRow& row : kSanitizers) EXPECT_TRUE(parse_sanitizers(row.name).has(row.sanitizer));
}

TEST(Sanitizers, AnUnknownNameListsTheKnownOnes) {
  for (const char* list : {"", "race,", "races", "race,all"}) {
    try {
      parse_sanitizers(list);
      ADD_FAILURE() << list;
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(
          error.what(),
          testing::HasSubstr("there are all, none, bounds, writes, race, wait, uninit, lanes, barrier"));
    }
  }
}

TEST(SanitizerFindingText, SaysEverythingInOneLine) {
  const FindingPlace store{"global_store_dword v[0:1], v2, off", 0x1234, "a.hip:7", {1, 0, 0}, 2, 0xff01};
  const FindingPlace load{"global_load_dword v2, v[0:1], off", 0x1200, "", {0, 0, 0}, 3, 0};
  const SanitizerFinding finding{
      Sanitizer::kRace, "k", "two waves", "out[3]", store, "the other access:", load, 5};
  EXPECT_EQ(
      to_string(finding),
      "race: two waves: out[3]; `global_store_dword v[0:1], v2, off` at 0x1234 (a.hip:7), workgroup (1, 0, "
      "0), "
      "wave 2, lanes 0, 8-15; the other access: `global_load_dword v2, v[0:1], off` at 0x1200, workgroup "
      "(0, 0, 0), wave 3; kernel k; seen 5 times");
}

}  // namespace
}  // namespace mhcheck::simulator

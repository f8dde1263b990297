#include "kernels/codeobject/find_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/codeobject/error.h"

namespace mhcheck::codeobject {
namespace {

using testing::HasSubstr;

const std::vector<KernelNames> kNames = {
    {"_Z5scaleIfEvPT_fi", "void scale<float>(float*, float, int)"},
    {"_Z5scaleIDF16_EvPT_fi", "void scale<_Float16>(_Float16*, float, int)"},
    {"plain", "plain"},
    {"_ZN12_GLOBAL__N_14mineEPFivE", "(anonymous namespace)::mine(int (*)())"},
};

std::size_t find(std::string_view pattern) { return find_kernel(kNames, pattern, "file"); }

std::string message_of(std::string_view pattern, std::span<const KernelNames> names = kNames) {
  try {
    find_kernel(names, pattern, "file");
  } catch (const CodeObjectError& error) {
    EXPECT_EQ(error.reason(), Reason::kNoKernel);
    return error.what();
  }
  return "found";
}

TEST(FindKernel, TakesTheMangledName) { EXPECT_EQ(find("_Z5scaleIDF16_EvPT_fi"), 1u); }
TEST(FindKernel, TakesTheDemangledName) { EXPECT_EQ(find("void scale<float>(float*, float, int)"), 0u); }
TEST(FindKernel, TakesTheDemangledNameWithoutParameters) {
  EXPECT_EQ(find("scale<_Float16>"), 1u);
  EXPECT_EQ(find("(anonymous namespace)::mine"), 3u);
}
TEST(FindKernel, TakesAGlobThatMatchesOne) {
  EXPECT_EQ(find("scale<f*>"), 0u);
  EXPECT_EQ(find("pl?in"), 2u);
  EXPECT_EQ(find("*mine*"), 3u);
}
TEST(FindKernel, RefusesAGlobThatMatchesSeveral) {
  EXPECT_EQ(message_of("scale*"),
            "file: 2 kernels match \"scale*\", must be one: scale<float>, scale<_Float16>");
}
TEST(FindKernel, ListsTheKernelsWhenNoneMatches) {
  EXPECT_EQ(message_of("scael"),
            "file: no kernel matches \"scael\"; there are: scale<float>, scale<_Float16>, plain, "
            "(anonymous namespace)::mine");
  EXPECT_THAT(message_of("x", {}), HasSubstr("there are: none"));
}
TEST(FindKernel, AnExactNameIsNotAPrefix) { EXPECT_THAT(message_of("plai"), HasSubstr("no kernel matches")); }
TEST(FindKernel, TheSameKernelFromTwoUnitsIsOne) {
  const std::vector<KernelNames> twice = {{"a", "a"}, {"b", "b"}, {"b", "b"}};
  EXPECT_EQ(find_kernel(twice, "b", "file"), 1u);
  EXPECT_EQ(find_kernel(twice, "b*", "file"), 1u);
}

TEST(MatchesGlob, AgreesWithEveryRowOfTheTable) {
  struct Row {
    const char *pattern, *text;
    bool matches;
  };
  const Row rows[] = {
      {"", "", true},
      {"", "a", false},
      {"*", "", true},
      {"*", "abc", true},
      {"?", "", false},
      {"?", "a", true},
      {"a*c", "abbc", true},
      {"a*c", "abcd", false},
      {"*b*", "abc", true},
      {"a**c", "ac", true},
      {"a?c", "ac", false},
      {"*aab", "aaaab", true},
      {"[a]", "a", false},
      {"[a]", "[a]", true},
      {"*a*b*a", "xxaxbxa", true},
      {"*a*b*a", "xxaxaxa", false},
      {"abc", "ab", false},
      {"ab", "abc", false},
      {"a\\*", "a*", false},
      {"*.", "a.b", false},
  };
  for (const Row& row : rows)
    EXPECT_EQ(matches_glob(row.pattern, row.text), row.matches) << row.pattern << " " << row.text;
}

}  // namespace
}  // namespace mhcheck::codeobject

// docs/power.md has a row for every fault there is, and its plot a line.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "bench/power/fault.h"

namespace mhcheck::power {
namespace {

using ::testing::HasSubstr;

std::string content_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Document, HasARowForEveryFault) {
  const std::string document = content_of(MHCHECK_POWER_DOCUMENT), plot = content_of(MHCHECK_POWER_PLOT);
  // Its last table has some of the faults again, by number of tokens.
  const std::string by_size = document.substr(0, document.find("| 1 token |"));
  ASSERT_THAT(document, HasSubstr("| 1 token |"));
  std::size_t faults = 0;
  for (const OperatorRow& row : all_operators()) {
    for (const Fault& fault : faults_of(row.op)) {
      ++faults;
      EXPECT_EQ(count_of(by_size, fmt::format("| `{}` | `{}` | {} |", row.name, fault.what, fault.regime)),
                1u)
          << row.name << ' ' << fault.what;
      EXPECT_EQ(count_of(plot, fmt::format(">{} {}, {}<", row.name, fault.what, fault.regime)), 1u)
          << row.name << ' ' << fault.what;
    }
  }
  EXPECT_EQ(count_of(by_size, "\n| `"), faults);
}

}  // namespace
}  // namespace mhcheck::power

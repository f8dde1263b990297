// The oracle against cases that another program computed from the same equations.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "golden/safetensors.h"
#include "tests/golden/oracle_case.h"
#include "tests/oracle/arb_oracle.h"

namespace mhcheck::oracle {
namespace {

class StoredCaseTest : public testing::TestWithParam<std::filesystem::path> {};

TEST(StoredCases, AreThere) { EXPECT_GE(golden::oracle_files().size(), 17u); }

TEST_P(StoredCaseTest, AgreesBitForBit) {
  golden::SafetensorsReader reader(GetParam());
  const golden::OracleCase stored = golden::read_oracle_case(reader);
  ASSERT_EQ(why_illegal(stored.problem), "");
  for (const auto& [name, answer] : arb_answers(stored.problem, stored.profile, stored.inputs)) {
    const Tensor expected = reader.read("out." + name);
    // An output's rounding hides most of a wrong equation; its value before the rounding does not.
    const std::vector<double> exact = reader.read_doubles("exact_hi." + name);
    const Tensor& got = answer.rounded;
    ASSERT_EQ(got.shape(), expected.shape()) << name;
    ASSERT_EQ(got.dtype(), expected.dtype()) << name;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(hex_bits(got.dtype(), got.bits(i)), hex_bits(expected.dtype(), expected.bits(i)))
          << name << " element " << i;
      ASSERT_NEAR(answer.value[i], exact[i], 0x1p-51 * std::fabs(exact[i])) << name << " element " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, StoredCaseTest, testing::ValuesIn(golden::oracle_files()),
                         [](const auto& test) { return test.param.stem().string(); });

}  // namespace
}  // namespace mhcheck::oracle

#include "kernels/manifests/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace mhcheck::kernels {
namespace {

using testing::HasSubstr;

const Names kNames = {
    {"a", std::int64_t{7}},    {"b", std::int64_t{-2}}, {"big", std::numeric_limits<std::int64_t>::max()},
    {"zero", std::int64_t{0}}, {"eps", double{1e-6f}},  {"least", std::numeric_limits<std::int64_t>::min()},
};

TEST(Expression, IntegersFollowTheTable) {
  struct Row {
    const char* text;
    std::int64_t value;
  };
  const Row rows[] = {
      {"42", 42},
      {"a", 7},
      {" 1 + 2*3 ", 7},
      {"(1 + 2)*3", 9},
      {"10 - 4 - 3", 3},
      {"100 / 7 / 2", 7},
      {"-7 / 2", -3},
      {"-7 % 3", -1},
      {"7 % 3", 1},
      {"2 * 3 % 4", 2},
      {"-a", -7},
      {"--a", 7},
      {"!a", 0},
      {"!zero", 1},
      {"a - -b", 5},
      {"1 < 2", 1},
      {"2 <= 1", 0},
      {"a == 7", 1},
      {"a != 7", 0},
      {"a >= 7 && b < 0", 1},
      {"a > 7 || b > 0", 0},
      {"1 || 0 && 0", 1},
      {"1 + 1 == 2 && 3 > 2", 1},
      {"2 < 3 == 1", 1},
      {"min(3, a, b)", -2},
      {"max(3, a, b)", 7},
      {"min(a)", 7},
      {"ceildiv(7, 2)", 4},
      {"ceildiv(8, 2)", 4},
      {"ceildiv(-7, 2)", -3},
      {"ceildiv(7, -2)", -3},
      {"ceildiv(-7, -2)", 4},
      {"ceildiv(0, 5)", 0},
      {"ceildiv(a * 3, max(1, 2)) % 4", 3},
      {"largest_divisor(12, 12)", 12},
      {"largest_divisor(12, 11)", 6},
      {"largest_divisor(12, 5)", 4},
      {"largest_divisor(36, 6)", 6},
      {"largest_divisor(36, 8)", 6},
      {"largest_divisor(13, 12)", 1},
      {"largest_divisor(1, big)", 1},
      {"largest_divisor(2147483648, 2000000000)", 1073741824},
      {"big", std::numeric_limits<std::int64_t>::max()},
      {"big - 1 + 1", std::numeric_limits<std::int64_t>::max()},
      {"zero != 0 && 1 / zero > 0", 0},  // the right side is not evaluated
      {"zero == 0 || 1 / zero > 0", 1},
      {"eps < 1", 1},
      {"9223372036854775807", std::numeric_limits<std::int64_t>::max()},
  };
  for (const Row& row : rows) EXPECT_EQ(Expression::parse(row.text).integer(kNames), row.value) << row.text;
}

TEST(Expression, RealsAreDoubles) {
  EXPECT_EQ(Expression::parse("eps").real(kNames), double{1e-6f});
  EXPECT_EQ(Expression::parse("1e-6").real(kNames), 1e-6);
  EXPECT_EQ(Expression::parse("1.5 * 2").real(kNames), 3.0);
  EXPECT_EQ(Expression::parse("2 / 4.").real(kNames), 0.5);
  EXPECT_EQ(Expression::parse("max(eps, 1)").real(kNames), 1.0);
  EXPECT_EQ(Expression::parse("-eps").real(kNames), -double{1e-6f});
  EXPECT_EQ(Expression::parse("a").real(kNames), 7.0);
  EXPECT_TRUE(Expression::parse("eps").condition(kNames));
}

TEST(Expression, ErrorsNameTheColumn) {
  struct Row {
    const char* text;
    std::size_t column;
    const char* problem;
  };
  const Row rows[] = {
      {"", 1, "a number, a name or \"(\" is expected here"},
      {"1 +", 4, "a number, a name or \"(\" is expected here"},
      {"(1 + 2", 7, "\")\" is expected here"},
      {"1 2", 3, "an operator or the end is expected here"},
      {"a & b", 3, "an operator or the end is expected here"},
      {"4 * hiden_size", 5, "there is no name \"hiden_size\""},
      {"2 * round(1)", 5, "there is no function round, must be one of min, max, ceildiv, largest_divisor"},
      {"ceildiv(1)", 1, "ceildiv takes 2 arguments, not 1"},
      {"min + 1", 5, "\"(\" is expected after min"},
      {"9223372036854775808", 1, "this number is too large"},
      {"12ab", 3, "an operator is expected here"},
      {"1e", 1, "this is no number"},
      {"a / zero", 3, "division by zero"},
      {"a % zero", 3, "division by zero"},
      {"eps / zero", 5, "division by zero"},
      {"ceildiv(a, zero)", 1, "division by zero"},
      {"1 + big", 3, "1 + 9223372036854775807 does not fit 64 bits"},
      {"least - 1", 7, "does not fit 64 bits"},
      {"2 * (big * 2)", 10, "does not fit 64 bits"},
      {"least / -1", 7, "does not fit 64 bits"},
      {"least % -1", 7, "does not fit 64 bits"},
      {"-least", 1, "does not fit 64 bits"},
      {"eps % 2", 5, "% takes integers only"},
      {"ceildiv(eps, 2)", 1, "ceildiv takes integers only"},
      {"largest_divisor(4)", 1, "largest_divisor takes 2 arguments, not 1"},
      {"largest_divisor(eps, 2)", 1, "largest_divisor takes integers only"},
      {"1 + largest_divisor(0, 2)", 5, "largest_divisor of 0, must be of 1 to 2^31"},
      {"largest_divisor(2147483649, 2)", 1, "must be of 1 to 2^31"},
      {"largest_divisor(4, 0)", 1, "largest_divisor up to 0, must be up to 1 or more"},
      {"eps + 1", 1, "must be an integer"},
  };
  for (const Row& row : rows) {
    try {
      const std::int64_t value = Expression::parse(row.text).integer(kNames);
      ADD_FAILURE() << row.text << " is " << value;
    } catch (const ExpressionError& error) {
      EXPECT_EQ(error.column(), row.column) << row.text;
      EXPECT_THAT(error.line(), HasSubstr(row.problem));
    }
  }
}

TEST(Expression, TheCaretStandsUnderTheError) {
  try {
    Expression::parse("4 * hiden_size").integer(kNames);
    FAIL();
  } catch (const ExpressionError& error) {
    EXPECT_STREQ(error.what(),
                 "column 5: there is no name \"hiden_size\"\n"
                 "  4 * hiden_size\n"
                 "      ^");
  }
}

TEST(Expression, NamesCanBeCheckedBeforeTheyHaveValues) {
  const Expression expression = Expression::parse("min(a, 2) + !(b == typo)");
  EXPECT_NO_THROW(expression.check_names({"a", "b", "typo"}));
  EXPECT_THROW(expression.check_names({"a", "b"}), ExpressionError);
}

TEST(Expression, NestingWithoutEndIsRefused) {
  EXPECT_THROW(Expression::parse(std::string(100000, '(')), ExpressionError);
  EXPECT_THROW(Expression::parse(std::string(100000, '-')), ExpressionError);
  std::string sum = "1";
  for (int i = 0; i < 100000; ++i) sum += "+1";
  EXPECT_THROW(Expression::parse(sum), ExpressionError);
}

}  // namespace
}  // namespace mhcheck::kernels

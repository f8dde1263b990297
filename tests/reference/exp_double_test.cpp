// exp_double against MPFR.
#include "reference/arithmetic/exp_double.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>

#include "reference/arithmetic/error_model.h"
#include "reference/arithmetic/mp_ball.h"
#include "tests/reference/random.h"

namespace mhcheck {
namespace {

// |exp_double(x) - e^x|, and e^x, in enough bits to compare with kDoubleExp.
struct ExpError {
  double absolute;
  double exact;
};

ExpError error_at(double x) {
  static Mpfr argument(53), exact(120), difference(120);
  mpfr_set_d(argument.get(), x, MPFR_RNDN);
  mpfr_exp(exact.get(), argument.get(), MPFR_RNDN);
  mpfr_sub_d(difference.get(), exact.get(), exp_double(x), MPFR_RNDN);
  return {std::fabs(mpfr_get_d(difference.get(), MPFR_RNDA)), mpfr_get_d(exact.get(), MPFR_RNDD)};
}

// Worst relative error of the points, in units of kDoubleExp; absolute below kDoubleFlush.
class Worst {
 public:
  void add(double x) {
    const ExpError error = error_at(x);
    const double beyond_flush = std::max(0.0, error.absolute - error_model::kDoubleFlush);
    worst_ = std::max(worst_, beyond_flush / (error.exact * error_model::kDoubleExp));
  }
  double value() const { return worst_; }

 private:
  double worst_ = 0;
};

TEST(ExpDouble, IsWithinItsBoundAtRandomPoints) {
  testing::Random random(11);
  Worst worst;
  for (int i = 0; i < 300000; ++i) worst.add(random.symmetric() * 700);
  for (int i = 0; i < 300000; ++i) worst.add(random.symmetric() * 2);
  for (int i = 0; i < 100000; ++i) worst.add(random.of_size(-80, 8));
  EXPECT_LE(worst.value(), 1);
  EXPECT_GT(worst.value(), 0.3);  // the bound is not idle
}

// The argument that is left after taking out multiples of ln 2 is largest near their middles.
TEST(ExpDouble, IsWithinItsBoundWhereTheReductionIsHardest) {
  testing::Random random(12);
  Worst worst;
  for (int k = -1059; k <= 1022; ++k) {
    const double middle = (k + 0.5) * 0.6931471805599453;
    const double whole = k * 0.6931471805599453;
    for (int i = 0; i < 40; ++i) {
      const double steps = static_cast<double>(random.between(-200, 200));
      worst.add(middle + steps * std::fabs(middle) * 0x1p-52);
      worst.add(whole + steps * std::fabs(whole) * 0x1p-52);
    }
  }
  EXPECT_LE(worst.value(), 1);
}

TEST(ExpDouble, EndsOfTheRange) {
  EXPECT_EQ(exp_double(0.0), 1.0);
  EXPECT_EQ(exp_double(-0.0), 1.0);
  EXPECT_EQ(exp_double(-1e300), 0.0);
  EXPECT_EQ(exp_double(-HUGE_VAL), 0.0);
  EXPECT_EQ(exp_double(HUGE_VAL), HUGE_VAL);
  EXPECT_EQ(exp_double(1e300), HUGE_VAL);
  EXPECT_TRUE(std::isnan(exp_double(std::nan(""))));
  // Everything below the floor is within kDoubleFlush of the zero that is returned.
  const double below_floor = std::nextafter(-735.0, -1000.0);
  EXPECT_EQ(exp_double(below_floor), 0.0);
  EXPECT_LE(error_at(below_floor).exact, error_model::kDoubleFlush);
  EXPECT_GT(exp_double(-735.0), 0.0);
  EXPECT_LE(error_at(-735.0).absolute, error_model::kDoubleFlush);
  EXPECT_TRUE(std::isfinite(exp_double(709.5)));
  EXPECT_LE(error_at(709.5).absolute, error_at(709.5).exact * error_model::kDoubleExp);
}

TEST(ExpDouble, NeverDecreasesFromOnePieceToTheNextByMoreThanItsError) {
  for (int k = -1000; k <= 1000; ++k) {
    const double seam = (k + 0.5) * 0.6931471805599453;
    double before = exp_double(seam - 20 * std::fabs(seam) * 0x1p-52);
    for (int step = -19; step <= 20; ++step) {
      const double here = exp_double(seam + step * std::fabs(seam) * 0x1p-52);
      ASSERT_GE(here, before * (1 - 2 * error_model::kDoubleExp)) << seam;
      before = here;
    }
  }
}

}  // namespace
}  // namespace mhcheck

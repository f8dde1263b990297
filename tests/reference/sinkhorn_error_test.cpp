// Sinkhorn's radii: the exact result lies within the reference's, and kernels whose every operation errs as
// much as it may, in the worst directions that can be found, stay within theirs.
#include "reference/arithmetic/sinkhorn_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string_view>
#include <vector>

#include "reference/arithmetic/mp_ball.h"
#include "reference/contract.h"
#include "tests/reference/random.h"

namespace mhcheck {
namespace {

using contract::SquareMatrix;
using error_model::kDivision;
using error_model::kFlush;
using error_model::kUnit;
using testing::Random;

// Chooses for each operation, in the order in which they run, how far it errs: -1 to 1 times what it may.
using Theta = std::function<double(std::size_t operation, int row, int column)>;

// Sinkhorn as kernels compute it, in double, whose own rounding is far below the slack of the bounds.
class Kernel {
 public:
  Kernel(const SquareMatrix<Tracked>& logits, const SquareMatrix<double>& exact_logits, double eps,
         int repeat)
      : tracked_(logits), exact_(exact_logits), eps_(eps), repeat_(repeat), n_(logits.order()) {}

  SquareMatrix<double> run(const Theta& theta) {
    theta_ = &theta;
    operations_ = 0;
    SquareMatrix<double> c(n_);
    for (int i = 0; i < n_; ++i) {
      for (int j = 0; j < n_; ++j)
        c(i, j) = exact_(i, j) + next(i, j) * tracked_(i, j).kernel[Radii::kDeterministic];
      softmax(c, i);
    }
    columns(c);
    for (int pass = 1; pass < repeat_; ++pass) {
      rows(c);
      columns(c);
    }
    return c;
  }
  std::size_t operations() const { return operations_; }

 private:
  double next(int i, int j) { return (*theta_)(operations_++, i, j); }
  double off(double exact, double units, int i, int j) {
    const double result = exact * (1 + next(i, j) * units * kUnit);
    return result < kFlush && operations_ % 2 == 0 ? 0 : result;
  }
  void softmax(SquareMatrix<double>& c, int i) {
    double largest = c(i, 0), sum = 0;
    for (int j = 1; j < n_; ++j) largest = std::max(largest, c(i, j));
    for (int j = 0; j < n_; ++j) {
      const double argument = (c(i, j) - largest) * (1 + next(i, j) * kUnit);
      c(i, j) = off(std::exp(argument), exp_error(argument) / kUnit, i, j);
      sum = j == 0 ? c(i, 0) : off(sum + c(i, j), 1, i, j);
    }
    for (int j = 0; j < n_; ++j) c(i, j) = off(off(c(i, j) / sum, kDivision, i, j) + eps_, 1, i, j);
  }
  void columns(SquareMatrix<double>& c) {
    for (int j = 0; j < n_; ++j) {
      double sum = c(0, j);
      for (int i = 1; i < n_; ++i) sum = off(sum + c(i, j), 1, i, j);
      sum = off(sum + eps_, 1, 0, j);
      for (int i = 0; i < n_; ++i) c(i, j) = off(c(i, j) / sum, kDivision, i, j);
    }
  }
  void rows(SquareMatrix<double>& c) {
    for (int i = 0; i < n_; ++i) {
      double sum = c(i, 0);
      for (int j = 1; j < n_; ++j) sum = off(sum + c(i, j), 1, i, j);
      sum = off(sum + eps_, 1, i, 0);
      for (int j = 0; j < n_; ++j) c(i, j) = off(c(i, j) / sum, kDivision, i, j);
    }
  }

  const SquareMatrix<Tracked>& tracked_;
  const SquareMatrix<double>& exact_;
  double eps_;
  int repeat_, n_;
  const Theta* theta_ = nullptr;
  std::size_t operations_ = 0;
};

struct Adversary {
  std::string_view name;
  Theta (*make)(Random& random);
};
const Adversary kAdversaries[] = {
    {"all up", [](Random&) -> Theta { return [](std::size_t, int, int) { return 1.0; }; }},
    {"all down", [](Random&) -> Theta { return [](std::size_t, int, int) { return -1.0; }; }},
    {"alternating",
     [](Random&) -> Theta { return [](std::size_t o, int, int) { return o % 2 == 0 ? 1.0 : -1.0; }; }},
    {"one row against the others",
     [](Random&) -> Theta { return [](std::size_t, int i, int) { return i == 0 ? 1.0 : -1.0; }; }},
    {"one column against the others",
     [](Random&) -> Theta { return [](std::size_t, int, int j) { return j == 0 ? 1.0 : -1.0; }; }},
    {"one entry against the others",
     [](Random&) -> Theta {
       return [](std::size_t, int i, int j) { return i == 0 && j == 0 ? 1.0 : -1.0; };
     }},
    {"chequered",
     [](Random&) -> Theta {
       return [](std::size_t, int i, int j) { return (i + j) % 2 == 0 ? 1.0 : -1.0; };
     }},
    {"random signs",
     [](Random& random) -> Theta { return [&random](std::size_t, int, int) { return random.sign(); }; }},
};

// Logits and one exact point within what the reference knows of them.
struct Logits {
  SquareMatrix<Tracked> tracked;
  SquareMatrix<double> exact;
};

Logits random_logits(Random& random, int n, double spread, double rad, double kernel) {
  Logits logits{SquareMatrix<Tracked>(n), SquareMatrix<double>(n)};
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      Tracked& z = logits.tracked(i, j);
      z = Tracked(spread * random.gauss());
      z.rad = rad * random.uniform();
      z.kernel.r.fill(random.one_in(4) ? 0 : kernel * random.uniform());
      logits.exact(i, j) = z.mid + random.sign() * z.rad;
      z.rad = std::max(z.rad, std::fabs(logits.exact(i, j) - z.mid));  // the sum has rounded
    }
  }
  return logits;
}

// The exact result to 400 bits.
SquareMatrix<double> exact_balance(const SquareMatrix<double>& logits, double eps, int repeat) {
  const MpBall::ScopedPrecision precision(400);
  SquareMatrix<MpBall> values(logits.order());
  SquareMatrix<double> result(logits.order());
  for (int i = 0; i < logits.order(); ++i) {
    for (int j = 0; j < logits.order(); ++j) values(i, j) = MpBall(logits(i, j));
  }
  contract::NoObserver nobody;
  const SquareMatrix<MpBall> c = contract::balance(values, MpBall(eps), repeat, nobody);
  for (int i = 0; i < logits.order(); ++i) {
    for (int j = 0; j < logits.order(); ++j) result(i, j) = c(i, j).midpoint();
  }
  return result;
}

// The largest share of their radii that errors of a matrix take up; the doubles under comparison are
// themselves off by 2^-53.
double worst_share(const SquareMatrix<double>& got, const SquareMatrix<double>& exact,
                   const std::function<double(int, int)>& radius) {
  double worst = 0;
  for (int i = 0; i < got.order(); ++i) {
    for (int j = 0; j < got.order(); ++j) {
      const double error = std::max(0.0, std::fabs(got(i, j) - exact(i, j)) - exact(i, j) * 0x1p-52);
      if (error > 0) worst = std::max(worst, error / radius(i, j));
    }
  }
  return worst;
}

constexpr float kEpsilons[] = {0.0f, 1e-20f, 1e-6f, 1e-2f, 1.0f};
constexpr double kSpreads[] = {0.01, 1, 5, 20, 60};

TEST(SinkhornError, TheReferencesRadiusHoldsTheExactResult) {
  Random random(61);
  int bounded = 0, all = 0;
  double worst = 0;
  for (int round = 0; round < 500; ++round) {
    const int n = 1 + round % 8, repeat = random.one_in(3) ? random.between(1, 50) : random.between(1, 6);
    const double eps = kEpsilons[random.below(5)];
    const double rad = random.one_in(3) ? 0 : std::ldexp(1.0, random.between(-55, 2));
    const Logits logits = random_logits(random, n, kSpreads[random.below(5)], rad, 0);
    const SquareMatrix<Tracked> c = balance_tracked(logits.tracked, eps, repeat);
    const SquareMatrix<double> exact = exact_balance(logits.exact, eps, repeat);
    SquareMatrix<double> mid(n);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) mid(i, j) = std::isfinite(c(i, j).rad) ? c(i, j).mid : exact(i, j);
    }
    bounded += std::isfinite(c(0, 0).rad);
    ++all;
    const double share = worst_share(mid, exact, [&](int i, int j) { return c(i, j).rad; });
    ASSERT_LE(share, 1) << "n " << n << ", repeat " << repeat << ", eps " << eps << ", rad " << rad;
    worst = std::max(worst, share);
  }
  EXPECT_GT(bounded, 0.8 * all);
  EXPECT_GT(worst, 0.05);
}

TEST(SinkhornError, NoKernelLeavesItsRadius) {
  Random random(62);
  int bounded = 0, all = 0;
  for (int round = 0; round < 1500; ++round) {
    const int n = 1 + round % 8, repeat = random.one_in(4) ? random.between(1, 50) : random.between(1, 5);
    const double eps = kEpsilons[random.below(5)];
    const double rad = random.one_in(2) ? 0 : std::ldexp(1.0, random.between(-55, 0));
    const double kernel = random.one_in(4) ? 0 : std::ldexp(1.0, random.between(-26, 4));
    const Logits logits = random_logits(random, n, kSpreads[random.below(5)], rad, kernel);
    const SquareMatrix<Tracked> c = balance_tracked(logits.tracked, eps, repeat);
    ++all;
    if (!std::isfinite(c(0, 0).kernel[0])) continue;
    ++bounded;
    const SquareMatrix<double> exact = exact_balance(logits.exact, eps, repeat);
    for (const Adversary& adversary : kAdversaries) {
      const Theta theta = adversary.make(random);
      const double share = worst_share(Kernel(logits.tracked, logits.exact, eps, repeat).run(theta), exact,
                                       [&](int i, int j) { return c(i, j).kernel[Radii::kDeterministic]; });
      ASSERT_LE(share, 1) << adversary.name << ", n " << n << ", repeat " << repeat << ", eps " << eps
                          << ", rad " << rad << ", kernel " << kernel;
    }
  }
  EXPECT_GT(bounded, 0.8 * all);
}

// The worst kernel for one entry: each error has the sign of its effect on it.
double worst_for_entry(const Logits& logits, double eps, int repeat, int row, int column,
                       const SquareMatrix<double>& exact, double radius) {
  Kernel kernel(logits.tracked, logits.exact, eps, repeat);
  const double undisturbed = kernel.run([](std::size_t, int, int) { return 0.0; })(row, column);
  std::vector<double> sign(kernel.operations());
  for (std::size_t operation = 0; operation < sign.size(); ++operation) {
    const double moved =
        kernel.run([&](std::size_t o, int, int) { return o == operation ? 1.0 : 0.0; })(row, column);
    sign[operation] = moved < undisturbed ? -1 : 1;
  }
  double worst = 0;
  for (const double direction : {1.0, -1.0}) {
    const double got = kernel.run([&](std::size_t o, int, int) { return direction * sign[o]; })(row, column);
    worst = std::max(worst, std::fabs(got - exact(row, column)) / radius);
  }
  return worst;
}

TEST(SinkhornError, ErrorsInTheDirectionOfTheirEffectStayWithinAndComeClose) {
  Random random(63);
  for (const int repeat : {1, 3, 20}) {
    double worst = 0;
    for (int round = 0; round < 24; ++round) {
      const int n = 1 + round % (repeat == 20 ? 4 : 6);
      const double eps = kEpsilons[random.below(4)];
      const double kernel = random.one_in(3) ? 0 : std::ldexp(1.0, random.between(-24, -2));
      const Logits logits = random_logits(random, n, kSpreads[random.below(3)], 0, kernel);
      const SquareMatrix<Tracked> c = balance_tracked(logits.tracked, eps, repeat);
      const SquareMatrix<double> exact = exact_balance(logits.exact, eps, repeat);
      ASSERT_TRUE(std::isfinite(c(0, 0).kernel[0]));
      for (const auto& [i, j] : {std::pair{0, 0}, std::pair{n - 1, n / 2}}) {
        const double share = worst_for_entry(logits, eps, repeat, i, j, exact, c(i, j).kernel[0]);
        ASSERT_LE(share, 1) << "n " << n << ", repeat " << repeat << ", eps " << eps << ", kernel " << kernel;
        worst = std::max(worst, share);
      }
    }
    std::printf("repeat %d: the worst kernel found takes up %.3f of the deterministic radius\n", repeat,
                worst);
    EXPECT_GT(worst, 0.2) << repeat;
  }
}

// An fp32 evaluation with nothing adversarial about it, at the size of production.
TEST(SinkhornError, PlainFp32ComesWithinAHundredTimesOfTheRadius) {
  Random random(64);
  double worst = 0;
  for (int round = 0; round < 200; ++round) {
    const int n = 4, repeat = 20;
    const float eps = 1e-6f;
    SquareMatrix<Tracked> tracked(n);
    SquareMatrix<double> exact_logits(n);
    std::vector<float> c(16);
    for (int i = 0; i < n; ++i) {
      float sum = 0, largest = -HUGE_VALF;
      for (int j = 0; j < n; ++j) {
        c[4 * i + j] = static_cast<float>(random.gauss());
        tracked(i, j) = Tracked(c[4 * i + j]);
        exact_logits(i, j) = c[4 * i + j];
        largest = std::max(largest, c[4 * i + j]);
      }
      for (int j = 0; j < n; ++j) sum += c[4 * i + j] = std::exp(c[4 * i + j] - largest);
      for (int j = 0; j < n; ++j) c[4 * i + j] = c[4 * i + j] / sum + eps;
    }
    for (int pass = 0; pass < 2 * repeat - 1; ++pass) {
      for (int line = 0; line < n; ++line) {
        const int first = pass % 2 == 0 ? line : 4 * line, step = pass % 2 == 0 ? 4 : 1;
        float sum = eps;
        for (int k = 0; k < n; ++k) sum += c[first + k * step];
        for (int k = 0; k < n; ++k) c[first + k * step] /= sum;
      }
    }
    SquareMatrix<double> got(n);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) got(i, j) = c[4 * i + j];
    }
    const SquareMatrix<Tracked> radii = balance_tracked(tracked, eps, repeat);
    const double share = worst_share(got, exact_balance(exact_logits, eps, repeat),
                                     [&](int i, int j) { return radii(i, j).kernel[0]; });
    ASSERT_LE(share, 1);
    worst = std::max(worst, share);
  }
  std::printf("plain fp32, n 4, repeat 20: %.4f of the deterministic radius\n", worst);
  EXPECT_GT(worst, 0.01);
}

TEST(SinkhornError, AnUnboundedLogitLeavesEverythingUnbounded) {
  Random random(65);
  Logits logits = random_logits(random, 3, 1, 0, 0);
  logits.tracked(1, 2).kernel.r.fill(HUGE_VAL);  // perhaps a NaN
  const SquareMatrix<Tracked> c = balance_tracked(logits.tracked, 1e-6, 3);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) EXPECT_EQ(c(i, j).kernel[Radii::kSystematic], HUGE_VAL);
  }
}

TEST(SinkhornError, WhatMayUnderflowIsUnknown) {
  SquareMatrix<Tracked> logits(2);
  logits(0, 0) = Tracked(500.0);
  logits(1, 1) = Tracked(500.0);
  const SquareMatrix<Tracked> c = balance_tracked(logits, 0.0, 3);
  EXPECT_EQ(c(0, 1).rad, HUGE_VAL);
  EXPECT_EQ(c(0, 1).kernel[Radii::kDeterministic], HUGE_VAL);
}

TEST(SinkhornError, RadiiAreInOrder) {
  Random random(66);
  for (int round = 0; round < 200; ++round) {
    Logits logits = random_logits(random, 1 + round % 8, 3, 0, 1e-3);
    for (int i = 0; i < logits.tracked.order(); ++i) {
      for (int j = 0; j < logits.tracked.order(); ++j) {
        Radii& r = logits.tracked(i, j).kernel;
        r[Radii::kProbabilistic] = r[Radii::kDeterministic] * random.uniform();
        r[Radii::kSystematic] = r[Radii::kProbabilistic] * random.uniform();
      }
    }
    const SquareMatrix<Tracked> c = balance_tracked(logits.tracked, 1e-6, 1 + round % 5);
    for (int i = 0; i < c.order(); ++i) {
      for (int j = 0; j < c.order(); ++j) {
        const Radii& r = c(i, j).kernel;
        ASSERT_LE(r[Radii::kSystematic], r[Radii::kProbabilistic]);
        ASSERT_LE(r[Radii::kProbabilistic], r[Radii::kDeterministic]);
      }
    }
  }
}

}  // namespace
}  // namespace mhcheck

#include "reference/arithmetic/sinkhorn_error.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace mhcheck {
namespace {

using contract::SquareMatrix;

// The errors followed side by side: the three of a kernel, and that of the reference's own double arithmetic.
constexpr int kDouble = Radii::kKinds;
constexpr int kErrors = Radii::kKinds + 1;
using Errors = std::array<double, kErrors>;

constexpr double unit_of(int error) {
  return error == kDouble ? error_model::kDoubleUnit : error_model::kUnit;
}

// Weights are computed in double, and so are the coefficients made of them; with at most 2000 steps of sums
// of at most 16 terms below 1 they are off by far less than this, absolutely.
constexpr double kCoefficientError = 0x1p-36;

// Below this an entry may be flushed on the way in fp32, and its relative error is not bounded.
constexpr double kSmallestEntry = 0x1p-100;

struct Step {
  bool columns;                    // lines are columns; otherwise rows
  SquareMatrix<double> weight;     // c_ij / (sum of its line + eps)
  std::vector<double> eps_weight;  // eps / (sum + eps), by line
  std::vector<Errors> line_error;  // of the computed sum and Hoeffding's remainder, by line
};

// Watches the iteration and collects what the backward pass needs.
class SinkhornErrors {
 public:
  SinkhornErrors(const SquareMatrix<Tracked>& logits, double eps)
      : n_(logits.order()), logits_(logits), eps_(eps) {
    const auto n = static_cast<std::size_t>(n_);
    start_.assign(n * n, Errors{});
    row_response_.assign(n * n * n, 0.0);
    column_response_.assign(n * n * n, 0.0);
    row_drift_.assign(n, Errors{});
    column_drift_.assign(n, Errors{});
  }

  // p = softmax of the logits: relative error of each entry, as a logarithm.
  void softmax(const SquareMatrix<Real>& p) {
    for (int i = 0; i < n_; ++i) {
      double largest = logits_(i, 0).mid;
      for (int j = 1; j < n_; ++j) largest = std::max(largest, logits_(i, j).mid);
      for (int e = 0; e < kErrors; ++e) {
        std::vector<double> gamma(static_cast<std::size_t>(n_));
        double mean = 0, worst = 0;
        for (int j = 0; j < n_; ++j) {
          gamma[j] = exponential_error(logits_(i, j), largest, e);
          mean += p(i, j).value * gamma[j];
          worst = std::max(worst, gamma[j]);
        }
        // log p_j moves by g_j - log(sum_k p_k exp(g_k)); the logarithm is the mean of g up to osc^2/8
        // (Hoeffding), osc <= 2 worst. The sum loses (n-1)u, the quotient kDivision.
        const double rest =
            worst * worst / 2 + (n_ - 1 + error_model::kDivision) * unit_of(e) * (1 + 0x1p-16);
        for (int j = 0; j < n_; ++j) {
          const double others = std::max(0.0, mean - p(i, j).value * gamma[j]);
          entry(i, j)[e] = (1 - std::min(1.0, p(i, j).value)) * gamma[j] + others + rest;
        }
      }
    }
    softmax_ = p;
  }

  // c = p + eps damps the relative error of p by p / c, and rounds once.
  void shifted(const SquareMatrix<Real>& c) {
    for (int i = 0; i < n_; ++i) {
      for (int j = 0; j < n_; ++j) {
        const double value = c(i, j).value;
        if (!(value > kSmallestEntry)) unbounded_ = true;
        const double share = value > 0 ? softmax_(i, j).value / value : 1;
        for (int e = 0; e < kErrors; ++e) {
          const double g = entry(i, j)[e];
          const double damped = std::min(g, share * growth(g));
          const double flushed = e == kDouble ? error_model::kDoubleFlush : error_model::kFlush;
          entry(i, j)[e] = damped + 2 * flushed / std::max(value, kSmallestEntry) + 2 * unit_of(e);
        }
      }
    }
  }

  void column_sums(const SquareMatrix<Real>& c, std::span<const Real> sums) { step(true, c, sums); }
  void row_sums(const SquareMatrix<Real>& c, std::span<const Real> sums) { step(false, c, sums); }

  // The final matrix with its radii.
  SquareMatrix<Tracked> finish(const SquareMatrix<Real>& c) {
    SquareMatrix<Tracked> result(n_);
    for (int i = 0; i < n_; ++i) {
      for (int j = 0; j < n_; ++j) {
        const double value = c(i, j).value;
        const Errors error = logarithmic_error(i, j);
        Tracked& z = result(i, j);
        z.mid = value;
        z.rad = unbounded_
                    ? HUGE_VAL
                    : tracked_detail::outward(value * growth(error[kDouble])) + error_model::kDoubleFlush;
        // Every entry is a share of a sum of nonnegative numbers, in the kernel too: never above 1 but for
        // rounding.
        const double trivial = std::max(value, 1 - value) + (n_ + 8) * error_model::kUnit;
        for (int k = 0; k < Radii::kKinds; ++k) {
          const double radius = tracked_detail::outward(value * growth(error[k])) + 2 * error_model::kFlush;
          z.kernel[k] = unbounded_ ? HUGE_VAL : std::min(radius, trivial);
        }
        z.kernel[Radii::kProbabilistic] =
            std::min(z.kernel[Radii::kProbabilistic], z.kernel[Radii::kDeterministic]);
        z.kernel[Radii::kSystematic] =
            std::min(z.kernel[Radii::kSystematic], z.kernel[Radii::kProbabilistic]);
      }
    }
    return result;
  }

 private:
  Errors& entry(int i, int j) { return start_[static_cast<std::size_t>(i) * n_ + j]; }

  // At least exp(x) - 1, for x >= 0, and near it for small x: exp(x) <= 1 + x + x^2 up to 1.79. From + and *
  // alone, so that radii are the same on every machine.
  static double growth(double x) {
    if (x < 1) return x * (1 + x);
    return x < 700 ? exp_double(x) : HUGE_VAL;
  }

  // Relative error of exp(logit - largest) in a kernel, with or without the largest taken out first.
  static double exponential_error(const Tracked& logit, double largest, int e) {
    const double distance = std::fabs(logit.mid - largest) + logit.rad;
    if (e == kDouble) return logit.rad + distance * error_model::kDoubleUnit + error_model::kDoubleExp;
    const double argument = std::max(distance, logit.magnitude()) + logit.kernel[e];
    return logit.kernel[e] + distance * error_model::kUnit + exp_error(argument) * (1 + 0x1p-10);
  }

  // One normalisation of all lines in one direction. In the comments the lines are columns.
  void step(bool columns, const SquareMatrix<Real>& c, std::span<const Real> sums) {
    const int n = n_;
    const auto at = [&](int line, int k) { return columns ? c(k, line).value : c(line, k).value; };
    // Response of the factors to the starting errors: a_k = sum over entries of response * error.
    std::vector<double>& along = columns ? row_response_ : column_response_;
    std::vector<double>& own = columns ? column_response_ : row_response_;
    std::vector<Errors>& along_drift = columns ? row_drift_ : column_drift_;
    std::vector<Errors>& own_drift = columns ? column_drift_ : row_drift_;
    const int entries = n * n;

    Step s{columns, SquareMatrix<double>(n), std::vector<double>(n), std::vector<Errors>(n)};
    std::vector<Errors> along_size = sizes(along, along_drift), own_size = sizes(own, own_drift);
    std::vector<double> own_next(own.size(), 0.0);
    std::vector<Errors> own_drift_next(own_drift.size());
    for (int line = 0; line < n; ++line) {
      const double sum = sums[line].value;
      s.eps_weight[line] = eps_ / sum;
      Errors widest = own_size[line];
      for (int k = 0; k < n; ++k) {
        const int i = columns ? k : line, j = columns ? line : k;
        s.weight(i, j) = at(line, k) / sum;
        if (!(at(line, k) > kSmallestEntry)) unbounded_ = true;
        for (int e = 0; e < kErrors; ++e) {
          widest[e] = std::max(widest[e], along_size[k][e] + entry(i, j)[e] + rest_[e]);
        }
      }
      for (int e = 0; e < kErrors; ++e) {
        // n additions of nonnegative numbers; log of the mean of exponentials of numbers within +-widest.
        const double additions = n * unit_of(e) * (1 + 0x1p-16);
        s.line_error[line][e] = additions + widest[e] * widest[e] / 2;
        double drift = s.eps_weight[line] * own_drift[line][e] + s.line_error[line][e];
        for (int k = 0; k < n; ++k) {
          const int i = columns ? k : line, j = columns ? line : k;
          drift += s.weight(i, j) * (along_drift[k][e] + rest_[e]);
        }
        own_drift_next[line][e] = drift;
      }
      double* next = &own_next[static_cast<std::size_t>(line) * entries];
      for (int k = 0; k < n; ++k) {
        const int i = columns ? k : line, j = columns ? line : k;
        const double w = s.weight(i, j);
        const double* response = &along[static_cast<std::size_t>(k) * entries];
        for (int m = 0; m < entries; ++m) next[m] -= w * response[m];
        next[i * n + j] -= w;
      }
      const double* before = &own[static_cast<std::size_t>(line) * entries];
      for (int m = 0; m < entries; ++m) next[m] += s.eps_weight[line] * before[m];
    }
    own = std::move(own_next);
    own_drift = std::move(own_drift_next);
    steps_.push_back(std::move(s));
    // The division of this step adds to every g_ij.
    for (int e = 0; e < kErrors; ++e) rest_[e] += error_model::kDivision * unit_of(e) * (1 + 0x1p-16);
  }

  // Bounds of the factors: their response to the starting errors, plus what has gathered since.
  std::vector<Errors> sizes(const std::vector<double>& response, const std::vector<Errors>& drift) const {
    std::vector<Errors> result = drift;
    const std::size_t entries = start_.size();
    for (std::size_t line = 0; line < drift.size(); ++line) {
      for (std::size_t m = 0; m < entries; ++m) {
        const double coefficient = std::fabs(response[line * entries + m]);
        for (int e = 0; e < kErrors; ++e) result[line][e] += coefficient * start_[m][e];
      }
    }
    return result;
  }

  // |a_i + b_j + g_ij| at the end: coefficients of all errors on the way, found from the last step to the
  // first.
  Errors logarithmic_error(int target_row, int target_column) const {
    const int n = n_;
    std::array<double, kMaxHcMult> row{}, column{};
    std::array<double, kMaxHcMult * kMaxHcMult> rest{};
    row[target_row] = 1;
    column[target_column] = 1;
    rest[target_row * n + target_column] = 1;
    double divisions = 0;
    Errors error{};
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      for (int m = 0; m < n * n; ++m) divisions += std::fabs(rest[m]);
      auto& own = step->columns ? column : row;
      auto& along = step->columns ? row : column;
      for (int line = 0; line < n; ++line) {
        const double coefficient = own[line];
        for (int e = 0; e < kErrors; ++e) error[e] += std::fabs(coefficient) * step->line_error[line][e];
      }
      for (int line = 0; line < n; ++line) {
        const double coefficient = own[line];
        for (int k = 0; k < n; ++k) {
          const int i = step->columns ? k : line, j = step->columns ? line : k;
          const double part = step->weight(i, j) * coefficient;
          along[k] -= part;
          rest[i * n + j] -= part;
        }
        own[line] = step->eps_weight[line] * coefficient;
      }
    }
    for (int e = 0; e < kErrors; ++e) {
      error[e] += divisions * error_model::kDivision * unit_of(e) * (1 + 0x1p-16);
      for (int m = 0; m < n * n; ++m) {
        error[e] += (std::fabs(rest[m]) + kCoefficientError) * start_[static_cast<std::size_t>(m)][e];
      }
      error[e] *= 1 + 0x1p-30;
    }
    return error;
  }

  int n_;
  const SquareMatrix<Tracked>& logits_;
  double eps_;
  SquareMatrix<Real> softmax_;
  std::vector<Errors> start_;  // of g_ij before the first step
  Errors rest_{};              // what the divisions have added to every g_ij
  std::vector<double> row_response_, column_response_;
  std::vector<Errors> row_drift_, column_drift_;
  std::vector<Step> steps_;
  bool unbounded_ = false;
};

}  // namespace

SquareMatrix<Tracked> balance_tracked(const SquareMatrix<Tracked>& logits, double eps, int repeat) {
  SquareMatrix<Real> values(logits.order());
  for (int i = 0; i < logits.order(); ++i) {
    for (int j = 0; j < logits.order(); ++j) values(i, j) = Real(logits(i, j).mid);
  }
  SinkhornErrors errors(logits, eps);
  const SquareMatrix<Real> c = contract::balance(values, Real(eps), repeat, errors);
  return errors.finish(c);
}

}  // namespace mhcheck

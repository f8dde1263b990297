// The contract: what every mHC operator computes, written once, as a template on the arithmetic.
//
// docs/contract.md is the specification; the equations here are its equations. Instantiated with
//
//   arithmetic/mp_arithmetic.h       multiprecision balls       -> the exact value, certified
//   arithmetic/tracked_arithmetic.h  double with running radii  -> a fast value, and the bound
//   kernels/host/fp32_arithmetic.h   fp32 with staged rounding  -> the host baseline, a kernel under test
//
// An arithmetic A supplies
//
//   A::Scalar     a number: + - * /, and by argument-dependent lookup exp and sqrt; where it can do better
//                 than the generic forms below, sigmoid and divide_by_root as well
//   A::Row        hidden_size numbers
//   combine       (c, r): sum_j c[j] * r[j], element by element
//   round         (row, id): the row rounded to the streams' format; id names it in escalations
//   normalise     (y, s, eps, w): y / sqrt(mean of the squares of s + eps) * w, element by element
//   balance       (logits, eps, repeat): contract::balance in this arithmetic
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "reference/base/operators.h"

namespace mhcheck::contract {

using std::exp;
using std::sqrt;

template <class Scalar>
class SquareMatrix {
 public:
  SquareMatrix() = default;
  explicit SquareMatrix(int order) : order_(order), entries_(static_cast<std::size_t>(order) * order) {}

  int order() const { return order_; }
  Scalar& operator()(int i, int j) { return entries_[static_cast<std::size_t>(i) * order_ + j]; }
  const Scalar& operator()(int i, int j) const { return entries_[static_cast<std::size_t>(i) * order_ + j]; }
  std::span<const Scalar> entries() const { return entries_; }

 private:
  int order_ = 0;
  std::vector<Scalar> entries_;
};

template <class Scalar>
Scalar sigmoid(const Scalar& z) {
  return Scalar(1) / (Scalar(1) + exp(-z));
}

template <class Scalar>
Scalar divide_by_root(const Scalar& x, const Scalar& s) {
  return x / sqrt(s);
}

// mix = projection / sqrt(sqrsum / terms + rms_eps)
template <class Scalar>
Scalar mix(const Scalar& projection, const Scalar& sqrsum, std::int64_t terms, const Scalar& rms_eps) {
  return divide_by_root(projection, sqrsum / Scalar(static_cast<double>(terms)) + rms_eps);
}

// Sees the steps of a Sinkhorn balance; for arithmetics that follow rounding errors through it.
struct NoObserver {
  template <class Scalar>
  void softmax(const SquareMatrix<Scalar>&) {}
  template <class Scalar>
  void shifted(const SquareMatrix<Scalar>&) {}
  template <class Scalar>
  void column_sums(const SquareMatrix<Scalar>&, std::span<const Scalar>) {}
  template <class Scalar>
  void row_sums(const SquareMatrix<Scalar>&, std::span<const Scalar>) {}
};

template <class Scalar, class Observer>
void normalise_columns(SquareMatrix<Scalar>& c, const Scalar& eps, Observer& observer) {
  const int n = c.order();
  std::vector<Scalar> sums(static_cast<std::size_t>(n), Scalar(0));
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) sums[j] = sums[j] + c(i, j);
    sums[j] = sums[j] + eps;
  }
  observer.column_sums(c, std::span<const Scalar>(sums));
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) c(i, j) = c(i, j) / sums[j];
  }
}

template <class Scalar, class Observer>
void normalise_rows(SquareMatrix<Scalar>& c, const Scalar& eps, Observer& observer) {
  const int n = c.order();
  std::vector<Scalar> sums(static_cast<std::size_t>(n), Scalar(0));
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) sums[i] = sums[i] + c(i, j);
    sums[i] = sums[i] + eps;
  }
  observer.row_sums(c, std::span<const Scalar>(sums));
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) c(i, j) = c(i, j) / sums[i];
  }
}

// softmax over j, where the largest logit of the row is taken out first: that changes no exact value, and
// keeps exp in range in every arithmetic.
template <class Scalar>
void softmax_rows(SquareMatrix<Scalar>& c) {
  const int n = c.order();
  for (int i = 0; i < n; ++i) {
    Scalar largest = c(i, 0);
    for (int j = 1; j < n; ++j) {
      if (largest < c(i, j)) largest = c(i, j);
    }
    Scalar sum(0);
    for (int j = 0; j < n; ++j) {
      c(i, j) = exp(c(i, j) - largest);
      sum = sum + c(i, j);
    }
    for (int j = 0; j < n; ++j) c(i, j) = c(i, j) / sum;
  }
}

// Sinkhorn: softmax over rows plus eps, columns once, then (repeat - 1) times rows and columns.
template <class Scalar, class Observer>
SquareMatrix<Scalar> balance(SquareMatrix<Scalar> c, const Scalar& eps, int repeat, Observer& observer) {
  const int n = c.order();
  softmax_rows(c);
  observer.softmax(c);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) c(i, j) = c(i, j) + eps;
  }
  observer.shifted(c);
  normalise_columns(c, eps, observer);
  for (int pass = 1; pass < repeat; ++pass) {
    normalise_rows(c, eps, observer);
    normalise_columns(c, eps, observer);
  }
  return c;
}

// The rows that an arithmetic may be asked to round on the way, or to give as an output.
enum class RowKind : std::uint8_t { next_residual, collapsed, layer_input };
struct RowId {
  RowKind kind;
  int stream = 0;
};

// One token's inputs in an arithmetic, and the tensors that all tokens share. What the operator does not read
// is empty.
template <class A>
struct TokenInputs {
  using Scalar = typename A::Scalar;
  using Row = typename A::Row;

  std::optional<Row> x;
  std::vector<Row> residual;
  std::vector<Scalar> post_mix;
  SquareMatrix<Scalar> comb_mix;
  std::vector<Scalar> pre_mix;
  SquareMatrix<Scalar> logits;
  std::vector<Scalar> hc_scale;
  std::vector<Scalar> hc_base;
  std::optional<Row> norm_weight;
};

// sum_k x_k fn[m,k] for each m, and sum_k x_k^2: formed by each arithmetic in its own way.
template <class Scalar>
struct Sums {
  std::vector<Scalar> projection;
  Scalar sqrsum{};
  std::int64_t terms = 0;  // what the mean of the squares divides by
};

template <class Scalar>
struct Mixes {
  std::vector<Scalar> pre;
  std::vector<Scalar> post;
  SquareMatrix<Scalar> comb;
};

// Everything that one token's operator gives; output_specs() says which of it are the operator's outputs.
template <class A>
struct TokenOutputs {
  using Scalar = typename A::Scalar;
  using Row = typename A::Row;

  std::vector<Row> next_residual;  // before rounding
  Mixes<Scalar> mixes;
  std::optional<Row> layer_input;  // before rounding; also y of rmsnorm
};

// The operators, wired from the equations. Evaluation has two halves with the projection sums between them,
// as in production, so that an arithmetic can form the sums of many tokens at once.
template <class A>
class Operator {
 public:
  using Scalar = typename A::Scalar;
  using Row = typename A::Row;

  Operator(A& arithmetic, const Problem& problem, const RoundingProfile& profile)
      : a_(arithmetic), problem_(problem), profile_(profile) {}

  // First half: mhc_post where the operator begins with it. Afterwards residual(), projected() and
  // squared() are known.
  void post_stage(const TokenInputs<A>& in, TokenOutputs<A>& out) {
    residual_ = in.residual;
    projected_ = squared_ = in.residual;
    if (problem_.op == Op::hc_expand) residual_.assign(static_cast<std::size_t>(problem_.hc_mult), *in.x);
    if (problem_.op == Op::mhc_pre_delayed && problem_.entry == Entry::broadcast)
      projected_ = squared_ = {*in.x};
    if (!row_of(problem_.op).post_stage) return;

    out.next_residual = post(in);
    for (int j = 0; j < problem_.hc_mult; ++j) {
      residual_[j] = a_.round(out.next_residual[j], RowId{RowKind::next_residual, j});
    }
    projected_ = profile_.next_residual == NextResidual::unrounded ? out.next_residual : residual_;
    squared_ = profile_.next_residual == NextResidual::rounded ? residual_ : out.next_residual;
  }

  // What the projection reads, stream after stream.
  const std::vector<Row>& projected() const { return projected_; }
  // What the sum of squares reads: the same values, except in the profile that keeps them apart.
  const std::vector<Row>& squared() const { return squared_; }
  // The residual that the collapse reads.
  const std::vector<Row>& residual() const { return residual_; }

  // Second half, first part: pre, post and comb from the projection sums (or from given logits).
  void mix_stage(const TokenInputs<A>& in, const Sums<Scalar>& sums, TokenOutputs<A>& out) {
    if (problem_.op == Op::sinkhorn) {
      out.mixes.comb = a_.balance(in.logits, scalar(problem_.parameters.hc_sinkhorn_eps),
                                  problem_.parameters.sinkhorn_repeat);
      return;
    }
    out.mixes = split(in, sums);
  }

  // Second half, second part: the layer's input.
  void collapse_stage(const TokenInputs<A>& in, TokenOutputs<A>& out) {
    switch (problem_.op) {
      case Op::mhc_pre:
      case Op::mhc_pre_big_fuse:
      case Op::mhc_fused_post_pre:
      case Op::hc_head:
        out.layer_input = norm(in, a_.combine(out.mixes.pre, residual_));
        break;
      case Op::hc_collapse:
      case Op::mhc_fused_post_pre_delayed:
        out.layer_input = norm(in, a_.combine(in.pre_mix, residual_));
        break;
      case Op::mhc_pre_delayed:
        out.layer_input = norm(
            in, problem_.entry == Entry::carried ? a_.combine(in.pre_mix, residual_) : residual_.front());
        break;
      case Op::rmsnorm:
        out.layer_input = normalise(in, *in.x, *in.x);
        break;
      case Op::mhc_post:
      case Op::hc_expand:
      case Op::sinkhorn:
      case Op::mhc_pre_gemm_sqrsum:
      case Op::mhc_fused_post_pre_gemm_sqrsum:
        break;
    }
  }

 private:
  static Scalar scalar(float value) { return Scalar(static_cast<double>(value)); }

  // out[j] = post_j * x + sum_i comb[i,j] * residual[i]: comb is used transposed.
  std::vector<Row> post(const TokenInputs<A>& in) {
    const int n = problem_.hc_mult;
    std::vector<Row> rows{*in.x};
    rows.insert(rows.end(), in.residual.begin(), in.residual.end());
    std::vector<Row> result;
    for (int j = 0; j < n; ++j) {
      std::vector<Scalar> coefficients{in.post_mix[j]};
      for (int i = 0; i < n; ++i) coefficients.push_back(in.comb_mix(i, j));
      result.push_back(a_.combine(coefficients, rows));
    }
    return result;
  }

  Mixes<Scalar> split(const TokenInputs<A>& in, const Sums<Scalar>& sums) {
    const int n = problem_.hc_mult;
    const Parameters& p = problem_.parameters;
    const Scalar rms_eps = scalar(p.rms_eps);
    const auto mix_of = [&](int m) { return mix(sums.projection[m], sums.sqrsum, sums.terms, rms_eps); };

    Mixes<Scalar> mixes;
    for (int j = 0; j < n; ++j) {
      mixes.pre.push_back(sigmoid(mix_of(j) * in.hc_scale[0] + in.hc_base[j]) + scalar(p.hc_pre_eps));
    }
    if (problem_.op == Op::hc_head || p.sinkhorn_repeat == 0) return mixes;
    for (int j = 0; j < n; ++j) {
      mixes.post.push_back(sigmoid(mix_of(n + j) * in.hc_scale[1] + in.hc_base[n + j]) *
                           scalar(p.hc_post_mult_value));
    }
    SquareMatrix<Scalar> logits(n);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        const int m = 2 * n + i * n + j;
        logits(i, j) = mix_of(m) * in.hc_scale[2] + in.hc_base[m];
      }
    }
    mixes.comb = a_.balance(logits, scalar(p.hc_sinkhorn_eps), p.sinkhorn_repeat);
    return mixes;
  }

  Row normalise(const TokenInputs<A>& in, const Row& y, const Row& s) {
    return a_.normalise(y, s, scalar(problem_.parameters.norm_eps), *in.norm_weight);
  }

  // The fused rmsnorm, where there is one, in the rounding profile's order.
  Row norm(const TokenInputs<A>& in, const Row& collapsed) {
    if (!in.norm_weight) return collapsed;
    switch (profile_.collapse) {
      case CollapseRounding::storage: {
        const Row rounded = a_.round(collapsed, RowId{RowKind::collapsed});
        return normalise(in, rounded, rounded);
      }
      case CollapseRounding::fp32_sumsq: {
        const Row rounded = a_.round(collapsed, RowId{RowKind::collapsed});
        return normalise(in, rounded, collapsed);
      }
      case CollapseRounding::fp32:
        break;
    }
    return normalise(in, collapsed, collapsed);
  }

  A& a_;
  const Problem& problem_;
  const RoundingProfile& profile_;
  std::vector<Row> residual_;
  std::vector<Row> projected_;
  std::vector<Row> squared_;
};

}  // namespace mhcheck::contract

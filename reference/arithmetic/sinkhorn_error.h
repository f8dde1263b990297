// Rounding errors through Sinkhorn's iteration, without the blow-up of naive running error analysis.
//
// A quotient c / (sum of c) doubles a naive radius, since it forgets that numerator and denominator err
// together; forty of them make it useless. Here the error is followed in the form that the iteration keeps:
//   computed c_ij = c_ij * exp(a_i + b_j + g_ij),
// a row factor, a column factor and a small rest. A column step replaces b_j by minus a weighted mean of the
// a_i + g_ij (weights c_ij / sum, which are known), plus a remainder that Hoeffding's lemma bounds by osc^2 /
// 8; a row step does the same with a_i. The final error is then a linear combination of all rounding errors
// on the way, whose coefficients are found backwards, as in reverse differentiation. docs/bounds.md has the
// derivation.
#pragma once

#include <span>
#include <vector>

#include "reference/arithmetic/tracked.h"
#include "reference/contract.h"

namespace mhcheck {

// A double whose exp is exp_double: what the iteration itself runs in.
struct Real {
  double value = 0;
  Real() = default;
  explicit Real(double v) : value(v) {}
  friend Real operator+(Real x, Real y) { return Real(x.value + y.value); }
  friend Real operator-(Real x, Real y) { return Real(x.value - y.value); }
  friend Real operator*(Real x, Real y) { return Real(x.value * y.value); }
  friend Real operator/(Real x, Real y) { return Real(x.value / y.value); }
  friend bool operator<(Real x, Real y) { return x.value < y.value; }
  friend Real exp(Real x) { return Real(exp_double(x.value)); }
};

// contract::balance with radii: of the double evaluation, and of a correct kernel's.
contract::SquareMatrix<Tracked> balance_tracked(const contract::SquareMatrix<Tracked>& logits, double eps,
                                                int repeat);

}  // namespace mhcheck

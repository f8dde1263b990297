// How a case's tensors enter and leave an evaluation of the contract, whatever its arithmetic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference/base/operators.h"
#include "reference/base/tensor.h"
#include "reference/contract.h"

namespace mhcheck {

// Which part of the evaluation an output is.
enum class Source { next_residual, expanded, pre, post, comb, layer_input, projection, sqrsum };

Source source_of(std::string_view output);

// Rows of hidden_size numbers; the other outputs are scalars.
constexpr bool is_row(Source source) {
  return source == Source::next_residual || source == Source::expanded || source == Source::layer_input;
}

// The scalar of an output that is no row.
template <class Scalar>
const Scalar& scalar_of(Source source, std::size_t element, const contract::Mixes<Scalar>& mixes,
                        const contract::Sums<Scalar>& sums) {
  switch (source) {
    case Source::pre:
      return mixes.pre[element];
    case Source::post:
      return mixes.post[element];
    case Source::comb:
      return mixes.comb.entries()[element];
    case Source::projection:
      return sums.projection[element];
    default:
      return sums.sqrsum;
  }
}

// The operator computes mixes: pre, post or comb.
bool needs_mixes(const Problem& problem);
// Its collapse reads the pre of this evaluation, not a given one.
bool collapse_needs_mixes(const Problem& problem);
// What the mean of the squares divides by.
std::int64_t mean_terms(const Problem& problem);
// The projection's weights.
std::string fn_name(const Problem& problem);

// A case's inputs, by token, as exact doubles. Keeps references to both arguments.
class CaseInputs {
 public:
  CaseInputs(const Problem& problem, const TensorMap& tensors) : problem_(problem), tensors_(tensors) {}

  bool has(const std::string& name) const { return tensors_.contains(name); }
  const Tensor& tensor(const std::string& name) const { return tensors_.at(name); }

  // `count` numbers of token t, from `offset` on, of a tensor whose first extent is the tokens.
  std::vector<double> of_token(const std::string& name, std::int64_t t, std::size_t offset,
                               std::size_t count) const;
  std::vector<double> shared(const std::string& name) const;
  // The S partial sums that stand for element e of token t in a tensor [S,T,...].
  std::vector<double> partials(const std::string& name, std::int64_t t, std::size_t e) const;

  // No result is defined for a token among whose inputs there is a NaN or an infinity, and none at all when a
  // tensor that the tokens share has one.
  bool token_is_finite(std::int64_t t) const;
  bool shared_are_finite() const;

 private:
  const Problem& problem_;
  const TensorMap& tensors_;
};

// One token's inputs in arithmetic A; make_row turns a vector<double> into an A::Row.
template <class A, class MakeRow>
contract::TokenInputs<A> token_inputs(const Problem& problem, const CaseInputs& inputs, std::int64_t t,
                                      const MakeRow& make_row) {
  using Scalar = typename A::Scalar;
  const int n = problem.hc_mult;
  const auto hidden = static_cast<std::size_t>(problem.hidden_size);
  const auto scalars = [](const std::vector<double>& values) {
    std::vector<Scalar> result;
    for (const double value : values) result.push_back(Scalar(value));
    return result;
  };
  const auto matrix = [&](const std::string& name) {
    const std::vector<double> values = inputs.of_token(name, t, 0, static_cast<std::size_t>(n) * n);
    contract::SquareMatrix<Scalar> result(n);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) result(i, j) = Scalar(values[static_cast<std::size_t>(i) * n + j]);
    }
    return result;
  };

  contract::TokenInputs<A> in;
  if (inputs.has("x")) in.x = make_row(inputs.of_token("x", t, 0, hidden));
  if (inputs.has("residual")) {
    for (int j = 0; j < n; ++j)
      in.residual.push_back(make_row(inputs.of_token("residual", t, j * hidden, hidden)));
  }
  if (inputs.has("post_mix")) in.post_mix = scalars(inputs.of_token("post_mix", t, 0, n));
  if (inputs.has("comb_mix")) in.comb_mix = matrix("comb_mix");
  if (inputs.has("pre_mix")) in.pre_mix = scalars(inputs.of_token("pre_mix", t, 0, n));
  if (inputs.has("logits")) in.logits = matrix("logits");
  if (inputs.has("hc_scale")) in.hc_scale = scalars(inputs.shared("hc_scale"));
  if (inputs.has("hc_base")) in.hc_base = scalars(inputs.shared("hc_base"));
  if (inputs.has("norm_weight")) in.norm_weight = make_row(inputs.shared("norm_weight"));
  return in;
}

}  // namespace mhcheck

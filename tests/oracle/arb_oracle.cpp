#include "tests/oracle/arb_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "tests/oracle/dyadic.h"
#include "tests/oracle/real.h"
#include "tests/oracle/rounding.h"

namespace mhcheck::oracle {
namespace {

using Row = std::vector<Dyadic>;
using Rows = std::vector<Row>;

// Elements [first, first + count) of a tensor, exact.
Row read(const Tensor& tensor, std::size_t first, std::size_t count) {
  Row row;
  row.reserve(count);
  for (std::size_t i = 0; i < count; ++i) row.push_back(stored(tensor.dtype(), tensor.bits(first + i)));
  return row;
}

Rows cut(const Row& flat, std::size_t width) {
  Rows rows;
  for (auto at = flat.begin(); at != flat.end(); at += static_cast<std::ptrdiff_t>(width)) {
    rows.emplace_back(at, at + static_cast<std::ptrdiff_t>(width));
  }
  return rows;
}

Row joined(const Rows& rows) {
  Row flat;
  for (const Row& row : rows) flat.insert(flat.end(), row.begin(), row.end());
  return flat;
}

// One element of an output: what it is stored as, and what it is.
struct Element {
  std::uint32_t bits;
  double value;
};
using Elements = std::vector<Element>;
// The outputs of one token, by name.
using TokenOutputs = std::map<std::string, Elements>;

Element store(Dtype dtype, const Split& number) {
  return {round_to(dtype, number), number.total().to_double()};
}
Element store(Dtype dtype, const Real& number) { return store(dtype, Split{0, number}); }
Element store(Dtype dtype, const Dyadic& number) { return store(dtype, Split{number, {}}); }

Elements store_all(Dtype dtype, const auto& numbers) {
  Elements elements;
  for (const auto& number : numbers) elements.push_back(store(dtype, number));
  return elements;
}

// --- mixes
// ---------------------------------------------------------------------------------------------------

// What the projection of one token hands over.
struct ProjectionSums {
  Row mul;  // sum_k x_k * fn[m,k]
  Dyadic sqrsum;
  std::size_t terms = 0;  // K: how many x_k there are
};

ProjectionSums project(const Row& x, const Rows& fn) {
  ProjectionSums sums{Row(fn.size()), 0, x.size()};
  for (std::size_t m = 0; m < fn.size(); ++m) {
    for (std::size_t k = 0; k < x.size(); ++k) sums.mul[m].add_product(x[k], fn[m][k]);
  }
  for (const Dyadic& x_k : x) sums.sqrsum.add_product(x_k, x_k);
  return sums;
}

// What stands before a sigmoid or a softmax: slope * r + base with the token's r. Kept apart, because whether
// two of them are equal or opposite is exactly decidable here and never in balls.
struct Argument {
  Dyadic slope, base;

  friend Argument operator-(const Argument& a, const Argument& b) {
    return {a.slope - b.slope, a.base - b.base};
  }
  friend bool operator==(const Argument&, const Argument&) = default;
};

// r = 1/sqrt(sqrsum/K + rms_eps) of one token.
class InverseRms {
 public:
  InverseRms(const ProjectionSums& sums, float rms_eps)
      : terms_(static_cast<double>(sums.terms)), scaled_(sums.sqrsum + Dyadic(rms_eps) * terms_) {
    r_ = Real(1) / square_root(Real(scaled_) / Real(terms_));
  }

  Real value_of(const Argument& a) const { return Real(a.slope) * r_ + Real(a.base); }

  // -1, 0 or 1, of a defined argument.
  int sign_of(const Argument& a) const {
    const Real value = value_of(a);
    if (value.is_zero()) return 0;
    if (value.is_positive()) return 1;
    if (value.is_negative()) return -1;
    // slope * r = -base, with r^2 = K / scaled.
    if (a.slope * a.slope * terms_ == a.base * a.base * scaled_ && a.slope.sign() == -a.base.sign()) return 0;
    throw NeedMorePrecision{};
  }

 private:
  Dyadic terms_, scaled_;
  Real r_;
};

// --- split
// ---------------------------------------------------------------------------------------------------

// sigmoid(argument) as floor + sign * d(|argument|), with d(a) = 1/(1 + e^a). `magnitude` is the argument or
// its negative, whichever is positive: gates of equal or opposite arguments have equal `magnitude`, so that
// what they cancel in a collapse cancels exactly.
struct Gate {
  Dyadic floor;  // 0, 1/2 or 1, and the additive eps
  int sign = 0;
  Argument magnitude;
  Real d;  // 0 where sign is 0

  Split value() const { return {floor, Real(Dyadic(sign)) * d}; }
};

Gate gate(const Argument& argument, const InverseRms& r, float added_eps) {
  const Dyadic eps(added_eps);
  const Real value = r.value_of(argument);
  if (value.undefined()) return {eps, 1, argument, value};
  switch (r.sign_of(argument)) {
    case 0:
      return {Dyadic(0.5) + eps, 0, argument, {}};
    case 1:
      return {Dyadic(1) + eps, -1, argument, Real(1) / (Real(1) + exp(value))};
    default: {
      const Argument opposite = Argument{} - argument;
      return {eps, 1, opposite, Real(1) / (Real(1) + exp(r.value_of(opposite)))};
    }
  }
}

// --- sinkhorn
// ------------------------------------------------------------------------------------------------

using Matrix = std::vector<std::vector<Real>>;  // [i][j]: row, column

Real sum_of_row(const Matrix& c, std::size_t i) {
  Real sum;
  for (const Real& c_ij : c[i]) sum += c_ij;
  return sum;
}

Real sum_of_column(const Matrix& c, std::size_t j) {
  Real sum;
  for (const auto& row : c) sum += row[j];
  return sum;
}

void normalise_rows(Matrix& c, const Real& eps) {
  for (std::size_t i = 0; i < c.size(); ++i) {
    const Real divisor = sum_of_row(c, i) + eps;
    for (Real& c_ij : c[i]) c_ij = c_ij / divisor;
  }
}

void normalise_columns(Matrix& c, const Real& eps) {
  for (std::size_t j = 0; j < c.size(); ++j) {
    const Real divisor = sum_of_column(c, j) + eps;
    for (auto& row : c) row[j] = row[j] / divisor;
  }
}

// difference(i, j) is logit_ij - logit_i0: a softmax depends on nothing else.
Matrix sinkhorn(std::size_t n, const Parameters& q,
                const std::function<Real(std::size_t, std::size_t)>& difference) {
  const Real eps = Dyadic(q.hc_sinkhorn_eps);
  Matrix c(n, std::vector<Real>(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) c[i][j] = exp(difference(i, j));
    const Real total = sum_of_row(c, i);
    for (Real& c_ij : c[i]) c_ij = c_ij / total + eps;
  }
  normalise_columns(c, eps);
  for (int repeat = 1; repeat < q.sinkhorn_repeat; ++repeat) {
    normalise_rows(c, eps);
    normalise_columns(c, eps);
  }
  return c;
}

Elements store_matrix(const Matrix& c) {
  Elements elements;
  for (const auto& row : c) {
    for (const Real& c_ij : row) elements.push_back(store(Dtype::fp32, c_ij));
  }
  return elements;
}

// --- collapse and rmsnorm
// ------------------------------------------------------------------------------------

// sum_j pre_j * residual[j,h] with gates as pre mixes.
std::vector<Split> collapse(const std::vector<Gate>& pre, const Rows& residual) {
  std::vector<Split> y(residual[0].size());
  for (std::size_t h = 0; h < y.size(); ++h) {
    std::vector<std::pair<const Gate*, Dyadic>> weights;  // one a distinct magnitude
    for (std::size_t j = 0; j < pre.size(); ++j) {
      y[h].exact.add_product(pre[j].floor, residual[j][h]);
      const Dyadic weight = Dyadic(pre[j].sign) * residual[j][h];
      const auto same = std::find_if(weights.begin(), weights.end(), [&](const auto& known) {
        return !pre[j].d.undefined() && known.first->magnitude == pre[j].magnitude;
      });
      if (same != weights.end()) {
        same->second += weight;
      } else {
        weights.emplace_back(&pre[j], weight);
      }
    }
    for (const auto& [of_gate, weight] : weights) y[h].rest += Real(weight) * of_gate->d;
  }
  return y;
}

// The same with stored pre mixes.
std::vector<Split> collapse(const Row& pre, const Rows& residual) {
  std::vector<Split> y(residual[0].size());
  for (std::size_t h = 0; h < y.size(); ++h) {
    for (std::size_t j = 0; j < pre.size(); ++j) y[h].exact.add_product(pre[j], residual[j][h]);
  }
  return y;
}

std::vector<Split> as_splits(const Row& row) {
  std::vector<Split> splits;
  for (const Dyadic& number : row) splits.push_back({number, {}});
  return splits;
}

// Rounded to the format and read back. An overflow leaves nothing that the contract defines.
std::vector<Split> through_storage(Dtype dtype, const std::vector<Split>& y) {
  std::vector<Split> rounded;
  for (const Split& y_h : y) rounded.push_back({stored(dtype, round_to(dtype, y_h)), {}});
  return rounded;
}

// y_h * 1/sqrt(mean(squared^2) + norm_eps) * w_h: `squared` is y before or after a rounding.
Elements rmsnorm(Dtype dtype, const std::vector<Split>& y, const std::vector<Split>& squared,
                 const Row& weight, float norm_eps) {
  // mean + eps = scaled / H, exact where every squared number is.
  const Dyadic H(static_cast<double>(y.size()));
  Split scaled{H * Dyadic(norm_eps), {}};
  for (const Split& s : squared) {
    scaled.exact.add_product(s.exact, s.exact);
    if (!s.is_exact()) scaled.rest += s.rest * (Real(s.exact) * Real(2) + s.rest);
  }
  const Real inverse = Real(1) / square_root(scaled.total() / Real(H));

  Elements elements;
  for (std::size_t h = 0; h < y.size(); ++h) {
    const Real number = y[h].total() * inverse * Real(weight[h]);
    const auto is_exactly = [&](const Dyadic& boundary) {
      if (!y[h].is_exact() || !scaled.is_exact()) return false;
      const Dyadic numerator = y[h].exact * weight[h];
      return numerator.sign() == boundary.sign() &&
             numerator * numerator * H == boundary * boundary * scaled.exact;
    };
    elements.push_back({round_to(dtype, number, is_exactly), number.to_double()});
  }
  return elements;
}

// --- operators
// -----------------------------------------------------------------------------------------------

// One token of one problem. Members are the token's inputs and steps, in the order of the contract.
class Token {
 public:
  Token(const Problem& problem, const RoundingProfile& profile, const TensorMap& inputs, std::size_t token)
      : p_(problem),
        profile_(profile),
        inputs_(inputs),
        t_(token),
        n_(static_cast<std::size_t>(p_.hc_mult)) {}

  TokenOutputs outputs() {
    switch (p_.op) {
      case Op::mhc_pre:
        pre(residual(), project_with("fn", joined(residual())));
        break;
      case Op::mhc_post:
        post();
        break;
      case Op::mhc_fused_post_pre: {
        post();
        pre(next_residual_, project_next());
        break;
      }
      case Op::mhc_pre_delayed:
        if (p_.entry == Entry::broadcast) {
          pre_delayed(residual(), project_with("fn_broadcast", token_input("x")));
        } else {
          pre_delayed(residual(), project_with("fn", joined(residual())));
        }
        break;
      case Op::mhc_fused_post_pre_delayed: {
        post();
        pre_delayed(next_residual_, project_next());
        break;
      }
      case Op::hc_head:
        head(project_with("fn", joined(residual())));
        break;
      case Op::hc_collapse:
        layer_input(collapse(token_input("pre_mix"), residual()));
        break;
      case Op::hc_expand:
        expand();
        break;
      case Op::sinkhorn:
        sinkhorn_alone();
        break;
      case Op::rmsnorm:
        rmsnorm_alone();
        break;
      case Op::mhc_pre_gemm_sqrsum:
        gemm_sqrsum(project_with("fn", joined(residual())));
        break;
      case Op::mhc_pre_big_fuse:
        pre(residual(), handed_over());
        break;
      case Op::mhc_fused_post_pre_gemm_sqrsum: {
        post();
        gemm_sqrsum(project_next());
        break;
      }
    }
    return std::move(out_);
  }

 private:
  const Tensor& input(const char* name) const { return inputs_.at(name); }
  // This token's part of an input [T, ...].
  Row token_input(const char* name) const {
    const std::size_t count = input(name).size() / static_cast<std::size_t>(p_.num_tokens);
    return read(input(name), t_ * count, count);
  }
  Row whole_input(const char* name) const { return read(input(name), 0, input(name).size()); }
  // The first `count` elements of this token's part, bit for bit.
  Elements copied(const char* name, std::size_t count) const {
    const Tensor& from = input(name);
    const std::size_t first = t_ * (from.size() / static_cast<std::size_t>(p_.num_tokens));
    Elements elements;
    for (std::size_t i = first; i < first + count; ++i) elements.push_back({from.bits(i), from.value(i)});
    return elements;
  }
  Rows residual() const { return cut(token_input("residual"), static_cast<std::size_t>(p_.hidden_size)); }

  ProjectionSums project_with(const char* name, const Row& x) const {
    return project(x, cut(whole_input(name), x.size()));
  }

  // The sums over S of the partial sums that the first launch left.
  ProjectionSums handed_over() const {
    const auto T = static_cast<std::size_t>(p_.num_tokens), M = static_cast<std::size_t>(p_.hc_mult3());
    ProjectionSums sums{Row(M), 0, static_cast<std::size_t>(p_.hc_hidden_size())};
    for (std::size_t s = 0; s < static_cast<std::size_t>(p_.split_k); ++s) {
      const Row mul = read(input("gemm_out_mul"), (s * T + t_) * M, M);
      for (std::size_t m = 0; m < M; ++m) sums.mul[m] += mul[m];
      sums.sqrsum += read(input("gemm_out_sqrsum"), s * T + t_, 1)[0];
    }
    return sums;
  }

  // The projection sums after post(), of what the profile says.
  ProjectionSums project_next() const {
    const Row rounded = joined(next_residual_);
    ProjectionSums sums =
        project_with("fn", profile_.next_residual == NextResidual::unrounded ? posted_ : rounded);
    if (profile_.next_residual == NextResidual::fp32_sumsq) sums.sqrsum = project_with("fn", posted_).sqrsum;
    return sums;
  }

  // out[j,h] = post_j * x_h + sum_i comb[i,j] * residual[i,h]. Leaves posted_ exact and next_residual_ as
  // stored.
  void post() {
    const Row x = token_input("x"), post_mix = token_input("post_mix");
    const Rows streams = residual(), comb = cut(token_input("comb_mix"), n_);
    Rows exact(n_, Row(x.size()));
    for (std::size_t j = 0; j < n_; ++j) {
      for (std::size_t h = 0; h < x.size(); ++h) {
        exact[j][h].add_product(post_mix[j], x[h]);
        for (std::size_t i = 0; i < n_; ++i) exact[j][h].add_product(comb[i][j], streams[i][h]);
      }
    }
    const Row flat = joined(exact);
    Row rounded;
    for (const Dyadic& number : flat) rounded.push_back(stored(p_.dtype, round_to(p_.dtype, number)));
    next_residual_ = cut(rounded, x.size());
    out_["next_residual"] = store_all(p_.dtype, flat);
    posted_ = flat;
  }

  // pre, post and comb of the projection sums. Head mode has pre alone.
  struct Mixes {
    std::vector<Gate> pre;
    std::vector<Split> post;
    Matrix comb;
  };

  Mixes split(const ProjectionSums& sums) const {
    const Parameters& q = p_.parameters;
    const InverseRms r(sums, q.rms_eps);
    const Row scale = whole_input("hc_scale"), base = whole_input("hc_base");
    const auto argument = [&](std::size_t m, std::size_t which_scale) {
      return Argument{sums.mul[m] * scale[which_scale], base[m]};
    };
    Mixes mixes;
    for (std::size_t j = 0; j < n_; ++j) mixes.pre.push_back(gate(argument(j, 0), r, q.hc_pre_eps));
    if (p_.op == Op::hc_head || q.sinkhorn_repeat == 0) return mixes;

    const Dyadic mult(q.hc_post_mult_value);
    for (std::size_t j = 0; j < n_; ++j) {
      const Split sigmoid = gate(argument(n_ + j, 1), r, 0).value();
      mixes.post.push_back({sigmoid.exact * mult, sigmoid.rest * Real(mult)});
    }
    mixes.comb = sinkhorn(n_, q, [&](std::size_t i, std::size_t j) {
      const std::size_t row = 2 * n_ + i * n_;
      return r.value_of(argument(row + j, 2) - argument(row, 2));
    });
    return mixes;
  }

  void store_mixes(const Mixes& mixes) {
    if (mixes.comb.empty()) return;
    out_["post_mix"] = store_all(Dtype::fp32, mixes.post);
    out_["comb_mix"] = store_matrix(mixes.comb);
  }

  void pre(const Rows& streams, const ProjectionSums& sums) {
    const Mixes mixes = split(sums);
    store_mixes(mixes);
    layer_input(collapse(mixes.pre, streams));
  }

  void pre_delayed(const Rows& streams, const ProjectionSums& sums) {
    const Mixes mixes = split(sums);
    store_mixes(mixes);
    for (const Gate& pre_j : mixes.pre) out_["next_pre_mix"].push_back(store(Dtype::fp32, pre_j.value()));
    if (p_.op == Op::mhc_fused_post_pre_delayed || p_.entry == Entry::carried) {
      layer_input(collapse(token_input("pre_mix"), streams));
    } else if (p_.norm_weight) {
      layer_input(as_splits(streams[0]));
    } else {
      out_["layer_input"] = copied("residual", streams[0].size());
    }
  }

  void head(const ProjectionSums& sums) { layer_input(collapse(split(sums).pre, residual())); }

  void layer_input(const std::vector<Split>& y) {
    Elements& out = out_["layer_input"];
    if (!p_.norm_weight) {
      out = store_all(p_.dtype, y);
      return;
    }
    const Row weight = whole_input("norm_weight");
    const float eps = p_.parameters.norm_eps;
    switch (profile_.collapse) {
      case CollapseRounding::storage: {
        const std::vector<Split> rounded = through_storage(p_.dtype, y);
        out = rmsnorm(p_.dtype, rounded, rounded, weight, eps);
        break;
      }
      case CollapseRounding::fp32_sumsq:
        out = rmsnorm(p_.dtype, through_storage(p_.dtype, y), y, weight, eps);
        break;
      case CollapseRounding::fp32:
        out = rmsnorm(p_.dtype, y, y, weight, eps);
        break;
    }
  }

  void expand() {
    const Elements x = copied("x", static_cast<std::size_t>(p_.hidden_size));
    for (std::size_t j = 0; j < n_; ++j) {
      out_["residual"].insert(out_["residual"].end(), x.begin(), x.end());
    }
  }

  void sinkhorn_alone() {
    const Rows logits = cut(token_input("logits"), n_);
    out_["comb_mix"] = store_matrix(sinkhorn(
        n_, p_.parameters, [&](std::size_t i, std::size_t j) { return Real(logits[i][j] - logits[i][0]); }));
  }

  void rmsnorm_alone() {
    const std::vector<Split> x = as_splits(token_input("x"));
    out_["y"] = rmsnorm(p_.dtype, x, x, whole_input("norm_weight"), p_.parameters.norm_eps);
  }

  void gemm_sqrsum(const ProjectionSums& sums) {
    out_["gemm_out_mul"] = store_all(Dtype::fp32, sums.mul);
    out_["gemm_out_sqrsum"] = {store(Dtype::fp32, sums.sqrsum)};
  }

  const Problem& p_;
  const RoundingProfile& profile_;
  const TensorMap& inputs_;
  std::size_t t_, n_;
  Row posted_;
  Rows next_residual_;
  TokenOutputs out_;
};

TokenOutputs certain_outputs(const Problem& problem, const RoundingProfile& profile, const TensorMap& inputs,
                             std::size_t token) {
  constexpr std::int64_t kLeastBits = 128, kMostBits = std::int64_t{1} << 17;
  for (Real::precision = kLeastBits; Real::precision <= kMostBits; Real::precision *= 2) {
    try {
      return Token(problem, profile, inputs, token).outputs();
    } catch (const NeedMorePrecision&) {
    }
  }
  throw Undecided(
      fmt::format("{}: token {} is undecided at {} bits", row_of(problem.op).name, token, kMostBits));
}

}  // namespace

std::map<std::string, Answer> arb_answers(const Problem& problem, const RoundingProfile& profile,
                                          const TensorMap& inputs) {
  std::map<std::string, Answer> answers;
  for (const TensorSpec& spec : output_specs(problem)) {
    Extents shape = spec.shape;
    if (spec.partial_sums) shape.erase(shape.begin());
    Answer& answer = answers[std::string(spec.name)];
    answer.rounded = Tensor(spec.dtype, shape);
    answer.value.resize(answer.rounded.size());
  }
  for (std::size_t t = 0; t < static_cast<std::size_t>(problem.num_tokens); ++t) {
    const TokenOutputs outputs = certain_outputs(problem, profile, inputs, t);
    for (auto& [name, answer] : answers) {
      const Elements& elements = outputs.at(name);
      for (std::size_t e = 0; e < elements.size(); ++e) {
        answer.rounded.set_bits(t * elements.size() + e, elements[e].bits);
        answer.value[t * elements.size() + e] = elements[e].value;
      }
    }
  }
  return answers;
}

TensorMap arb_outputs(const Problem& problem, const RoundingProfile& profile, const TensorMap& inputs) {
  TensorMap outputs;
  for (auto& [name, answer] : arb_answers(problem, profile, inputs))
    outputs[name] = std::move(answer.rounded);
  return outputs;
}

}  // namespace mhcheck::oracle

#include "properties/laws/post_laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/laws/computed.h"
#include "properties/laws/run.h"
#include "reference/arithmetic/error_model.h"

namespace mhcheck::properties {
namespace {

constexpr std::string_view kOutput = "next_residual";

// The factor 2^kExponent of the exact half of the laws.
constexpr int kExponent = 4;

// A term c * x has at most 24 + 11 significant bits (fp32 times fp16). All sums of such terms are whole
// numbers of their last bits; where those are normal numbers, no sum is subnormal and nothing is flushed.
constexpr double kSmallestTerm = 0x1p35 * error_model::kFlush;

// Three doubles are added up in two roundings each of stored values and exact ones, all at most the sum of
// the magnitudes: four units for each of them.
constexpr double kSumOfThree = 4 * error_model::kDoubleUnit;

// mhc_post as the case has it, alone: its outputs do not depend on what follows.
Problem post_problem(const Problem& problem) {
  Problem post;
  post.op = Op::mhc_post;
  post.dtype = problem.dtype;
  post.num_tokens = problem.num_tokens;
  post.hc_mult = problem.hc_mult;
  post.hidden_size = problem.hidden_size;
  return post;
}

void multiply(Tensor& tensor, double factor) {
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor.set(i, factor * tensor.value(i));
}

struct Term {
  double coefficient, x;
};

// The terms of the sums that the elements of next_residual are.
class Posted {
 public:
  Posted(const Problem& problem, const TensorMap& inputs)
      : n_(static_cast<std::size_t>(problem.hc_mult)),
        H_(static_cast<std::size_t>(problem.hidden_size)),
        x_(inputs.at("x")),
        residual_(inputs.at("residual")),
        post_mix_(inputs.at("post_mix")),
        comb_mix_(inputs.at("comb_mix")) {}

  std::vector<Term> terms(std::size_t element) const {
    const std::size_t h = element % H_, j = element / H_ % n_, token = element / (H_ * n_);
    std::vector<Term> terms{{post_mix_.value(token * n_ + j), x_.value(token * H_ + h)}};
    for (std::size_t i = 0; i < n_; ++i) {
      terms.push_back(
          {comb_mix_.value((token * n_ + i) * n_ + j), residual_.value((token * n_ + i) * H_ + h)});
    }
    return terms;
  }

 private:
  std::size_t n_, H_;
  const Tensor &x_, &residual_, &post_mix_, &comb_mix_;
};

// Every fp32 operation on these terms, and the rounding of the result, commutes with the factor.
bool scales_exactly(const std::vector<Term>& terms, Dtype dtype, double stored) {
  double magnitude = 0;
  for (const Term& term : terms) {
    // An operand may be flushed as well, and 16 times it not.
    if (term.x != 0 && std::fabs(term.x) < error_model::kFlush) return false;
    const double product = std::fabs(term.coefficient * term.x);
    if (product != 0 && product < kSmallestTerm) return false;
    magnitude += product;
  }
  const double factor = std::ldexp(1.0, kExponent);
  // Twice for what the rounding of partial sums adds.
  if (!(2 * factor * magnitude <= error_model::kLargest)) return false;
  const FloatFormat f = format_of(dtype);
  const double smallest_normal = std::ldexp(1.0, f.min_exponent), largest = decode(dtype, f.infinity() - 1);
  // Where the result is subnormal its spacing does not shrink with it.
  return std::fabs(stored) > smallest_normal && factor * std::fabs(stored) <= largest;
}

// next_residual of the inputs, and that of 2^kExponent times their x and residual: the same times
// 2^kExponent, bit for bit.
std::optional<std::string> scaling_breaks(Trial& trial, const TensorMap& inputs) {
  TensorMap scaled = inputs;
  for (const char* name : {"x", "residual"}) multiply(scaled.at(name), std::ldexp(1.0, kExponent));
  const Tensor one = outputs_of(trial.subject(), trial.problem(), inputs).at(std::string(kOutput)),
               other = outputs_of(trial.subject(), trial.problem(), scaled).at(std::string(kOutput));
  const Posted posted(trial.problem(), inputs);
  for (std::size_t i = 0; i < one.size(); ++i) {
    const double expected = std::ldexp(one.value(i), kExponent);
    if (other.value(i) == expected || !scales_exactly(posted.terms(i), one.dtype(), one.value(i))) continue;
    return fmt::format(
        "element {} of {} is {:.9g}, and {:.9g} in place of {:.9g} when its inputs are {} times as large", i,
        kOutput, one.value(i), other.value(i), expected, 1 << kExponent);
  }
  return std::nullopt;
}

// next_residual of inputs that are the sum of two others, and the sum of theirs: within all three bounds.
std::optional<std::string> adding_breaks(Trial& trial, const TensorMap& whole, const TensorMap& part,
                                         const TensorMap& rest) {
  const Problem post = post_problem(trial.problem());
  const RoundingProfile profile;  // mhc_post rounds in one place only
  const reference::ReferenceOptions options = options_of(trial.tested());
  struct Summand {
    double sign;
    Tensor stored;
    reference::Reference reference;
  };
  const auto summand = [&](double sign, const TensorMap& inputs) {
    return Summand{sign, outputs_of(trial.subject(), trial.problem(), inputs).at(std::string(kOutput)),
                   reference::Reference(post, profile, inputs, options)};
  };
  const Summand summands[] = {summand(1, whole), summand(-1, part), summand(-1, rest)};

  const std::size_t row = static_cast<std::size_t>(post.hc_mult) * static_cast<std::size_t>(post.hidden_size);
  constexpr std::int64_t kBlockTokens = reference::Reference::kBlockTokens;
  for (std::int64_t first = 0; first < post.num_tokens; first += kBlockTokens) {
    const std::int64_t count = std::min(kBlockTokens, post.num_tokens - first);
    std::vector<double> stored(static_cast<std::size_t>(count) * row), exact(stored.size()),
        allowed(stored.size());
    for (const Summand& one : summands) {
      const reference::Block block = one.reference.evaluate(first, count);
      const reference::OutputBlock& output = block.outputs.front();
      for (std::size_t e = 0; e < stored.size(); ++e) {
        stored[e] += one.sign * one.stored.value(static_cast<std::size_t>(first) * row + e);
        exact[e] += one.sign * output.value[e];
        allowed[e] += allowance(output, e) + std::fabs(output.value[e]) * kSumOfThree;
      }
    }
    for (std::size_t e = 0; e < stored.size(); ++e) {
      const double limit = (std::fabs(exact[e]) + allowed[e]) * error_model::kOutward;
      if (std::isnan(limit) || limit == HUGE_VAL || std::fabs(stored[e]) <= limit) continue;
      return fmt::format("element {} of {} is {:.3g} off the sum of its two parts where {:.3g} is allowed",
                         static_cast<std::size_t>(first) * row + e, kOutput, stored[e], limit);
    }
  }
  return std::nullopt;
}

// The streams of the residual whose number is odd, or even, or all, are zero.
enum class Zeroed { even, odd, all };

TensorMap without_streams(const Problem& problem, TensorMap inputs, Zeroed zeroed) {
  const auto H = static_cast<std::size_t>(problem.hidden_size), n = static_cast<std::size_t>(problem.hc_mult);
  Tensor& residual = inputs.at("residual");
  for (std::size_t i = 0; i < residual.size(); ++i) {
    const bool odd = i / H % n % 2 == 1;
    if (zeroed == Zeroed::all || odd == (zeroed == Zeroed::odd)) residual.set_bits(i, 0);
  }
  return inputs;
}

TensorMap without_x(TensorMap inputs) {
  Tensor& x = inputs.at("x");
  x = Tensor(x.dtype(), x.shape());
  return inputs;
}

}  // namespace

std::string needs_a_post_stage(const Trial& trial) {
  if (!row_of(trial.problem().op).post_stage) return "the operator has no mhc_post in it";
  return trial.problem().num_tokens > 0 ? "" : "there is no token";
}

std::optional<std::string> linearity_in_x_breaks(Trial& trial) {
  const TensorMap &whole = trial.inputs(), of_x = without_streams(trial.problem(), whole, Zeroed::all);
  if (std::optional<std::string> how = scaling_breaks(trial, of_x)) return how;
  return adding_breaks(trial, whole, of_x, without_x(whole));
}

std::optional<std::string> linearity_in_residual_breaks(Trial& trial) {
  const TensorMap whole = without_x(trial.inputs());
  if (std::optional<std::string> how = scaling_breaks(trial, whole)) return how;
  return adding_breaks(trial, whole, without_streams(trial.problem(), whole, Zeroed::odd),
                       without_streams(trial.problem(), whole, Zeroed::even));
}

}  // namespace mhcheck::properties

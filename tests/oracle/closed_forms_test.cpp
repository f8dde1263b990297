// The reference on cases whose answers are known without computing them: each says one thing about an
// operator.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "reference/reference.h"
#include "tests/oracle/random_source.h"
#include "tests/oracle/reference_checks.h"

namespace mhcheck::oracle {
namespace {

using reference::OutputBlock;
using Outputs = std::map<std::string, OutputBlock>;
using Fill = std::function<double(std::size_t)>;

Outputs evaluate(const Problem& problem, const TensorMap& inputs, const RoundingProfile& profile = {}) {
  const reference::Reference reference(problem, profile, inputs);
  Outputs outputs;
  for (OutputBlock& output : reference.evaluate(0, problem.num_tokens).outputs) {
    outputs.emplace(output.spec.name, std::move(output));
  }
  return outputs;
}

Problem problem_of(Op op, Dtype dtype, std::int64_t num_tokens, int hc_mult, std::int64_t hidden_size) {
  Problem p;
  p.op = op;
  p.dtype = dtype;
  p.num_tokens = num_tokens;
  p.hc_mult = hc_mult;
  p.hidden_size = hidden_size;
  return p;
}

Fill constant(double value) {
  return [value](std::size_t) { return value; };
}

Fill listed(std::vector<double> values) {
  return [values = std::move(values)](std::size_t i) { return values.at(i); };
}

// Numbers with few bits, so that sums of their products are exact in fp32.
Fill few_bits(std::uint64_t seed) {
  return [random = RandomSource(seed)](std::size_t) mutable {
    return std::ldexp(static_cast<double>(random.below(31)) - 15, -3);
  };
}

Fill gaussian(std::uint64_t seed) {
  return [random = RandomSource(seed)](std::size_t) mutable { return random.gauss(); };
}

// The inputs of a problem; every tensor that `fills` does not name holds normal numbers, a sum of squares 2.
TensorMap inputs_with(const Problem& problem, const std::map<std::string, Fill>& fills) {
  TensorMap inputs;
  std::uint64_t seed = 1;
  for (const TensorSpec& spec : input_specs(problem)) {
    const std::string name(spec.name);
    const Fill unnamed = name == "gemm_out_sqrsum" ? constant(2) : gaussian(++seed);
    const Fill fill = fills.contains(name) ? fills.at(name) : unnamed;
    Tensor& tensor = inputs[name] = Tensor(spec.dtype, spec.shape);
    for (std::size_t i = 0; i < tensor.size(); ++i) tensor.set_bits(i, encode(spec.dtype, fill(i)));
  }
  return inputs;
}

// Every finite pattern of the format equally likely, zeros of both signs among them.
Tensor random_patterns(Dtype dtype, const Extents& shape, std::uint64_t seed) {
  RandomSource random(seed);
  Tensor tensor(dtype, shape);
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    const std::uint32_t zero = random.one_in(2) ? format_of(dtype).sign_mask() : 0;
    tensor.set_bits(i, random.one_in(16) ? zero : random.finite_bits(dtype));
  }
  return tensor;
}

void expect_numbers(const OutputBlock& output, const std::vector<std::uint32_t>& expected) {
  ASSERT_EQ(output.rounded.size(), expected.size()) << output.spec.name;
  for (std::size_t e = 0; e < expected.size(); ++e) {
    EXPECT_TRUE(same_number(output.spec.dtype, output.rounded[e], expected[e]))
        << output.spec.name << " element " << e;
  }
}

void expect_same_numbers(const Outputs& got, const Outputs& expected) {
  for (const auto& [name, output] : expected) {
    if (got.contains(name)) expect_numbers(got.at(name), output.rounded);
  }
}

void expect_all(const OutputBlock& output, double value) {
  expect_numbers(output, std::vector<std::uint32_t>(output.rounded.size(), encode(output.spec.dtype, value)));
}

class BothFormats : public testing::TestWithParam<Dtype> {
 protected:
  Dtype dtype() const { return GetParam(); }
  double ulp_at_one() const { return ulp(dtype(), 1.0); }
};
INSTANTIATE_TEST_SUITE_P(All, BothFormats, testing::Values(Dtype::bf16, Dtype::fp16),
                         [](const auto& test) { return std::string(name_of(test.param)); });

// ---- Sinkhorn
// -----------------------------------------------------------------------------------------------

TEST(SinkhornOfEqualLogits, OnceIsTheSoftmaxPlusEpsOverItsSum) {
  for (int n = 1; n <= kMaxHcMult; ++n) {
    Problem p = problem_of(Op::sinkhorn, Dtype::bf16, 1, n, 1);
    p.parameters.sinkhorn_repeat = 1;
    p.parameters.hc_sinkhorn_eps = 0x1p-10f;
    const double eps = 0x1p-10;
    const OutputBlock comb = evaluate(p, inputs_with(p, {{"logits", constant(-7.25)}})).at("comb_mix");
    for (const double value : comb.value) {
      EXPECT_NEAR(value, (1.0 / n + eps) / (1 + n * eps + eps), 0x1p-50);
    }
  }
}

TEST(SinkhornOfEqualLogits, ConvergesToOneMinusEpsOverN) {
  for (int n = 1; n <= kMaxHcMult; ++n) {
    Problem p = problem_of(Op::sinkhorn, Dtype::bf16, 1, n, 1);
    p.parameters.sinkhorn_repeat = 100;
    p.parameters.hc_sinkhorn_eps = 0x1p-6f;
    const OutputBlock comb = evaluate(p, inputs_with(p, {{"logits", constant(3)}})).at("comb_mix");
    expect_all(comb, (1 - 0x1p-6) / n);
  }
}

TEST(SinkhornOfEqualLogits, IsOneOverNWithoutEps) {
  for (int n = 1; n <= kMaxHcMult; ++n) {
    Problem p = problem_of(Op::sinkhorn, Dtype::bf16, 1, n, 1);
    p.parameters.hc_sinkhorn_eps = 0;
    expect_all(evaluate(p, inputs_with(p, {{"logits", constant(1e4)}})).at("comb_mix"), 1.0 / n);
  }
}

// Rows that are equal as rows: columns are normalised last, so each entry is 1/n whatever the row. Normalised
// by rows last, entries would be the softmax.
TEST(SinkhornOfEqualRows, EndsWithColumns) {
  constexpr int n = 4;
  Problem p = problem_of(Op::sinkhorn, Dtype::bf16, 1, n, 1);
  p.parameters.hc_sinkhorn_eps = 0;
  p.parameters.sinkhorn_repeat = 1;
  const Fill by_column = [](std::size_t i) { return static_cast<double>(i % n); };
  expect_all(evaluate(p, inputs_with(p, {{"logits", by_column}})).at("comb_mix"), 1.0 / n);
}

// ---- Streams
// ------------------------------------------------------------------------------------------------

TEST_P(BothFormats, ExpandCopiesBitForBit) {
  const Problem p = problem_of(Op::hc_expand, dtype(), 3, 5, 17);
  const TensorMap inputs{{"x", random_patterns(dtype(), {3, 17}, 1)}};
  const OutputBlock residual = evaluate(p, inputs).at("residual");
  for (std::size_t t = 0; t < 3; ++t) {
    for (std::size_t j = 0; j < 5; ++j) {
      for (std::size_t h = 0; h < 17; ++h) {
        EXPECT_TRUE(
            same_number(dtype(), residual.rounded[(t * 5 + j) * 17 + h], inputs.at("x").bits(t * 17 + h)));
      }
    }
  }
}

TEST_P(BothFormats, IdentityCombWithoutPostKeepsTheResidual) {
  constexpr int n = 4;
  const Problem p = problem_of(Op::mhc_post, dtype(), 2, n, 33);
  const Fill identity = [](std::size_t i) { return i % (n * n) / n == i % n ? 1.0 : 0.0; };
  TensorMap inputs = inputs_with(p, {{"post_mix", constant(0)}, {"comb_mix", identity}});
  inputs["residual"] = random_patterns(dtype(), {2, n, 33}, 2);
  const OutputBlock next = evaluate(p, inputs).at("next_residual");
  for (std::size_t e = 0; e < next.rounded.size(); ++e) {
    EXPECT_TRUE(same_number(dtype(), next.rounded[e], inputs.at("residual").bits(e))) << e;
  }
}

// comb[i, i+1] = 1 sends stream i to stream i+1; untransposed it would go the other way round.
TEST_P(BothFormats, CombOfAPermutationMovesStreamsTransposed) {
  constexpr std::size_t n = 5, H = 9;
  const Problem p = problem_of(Op::mhc_post, dtype(), 1, n, H);
  const Fill cycle = [](std::size_t e) { return (e / n + 1) % n == e % n ? 1.0 : 0.0; };
  TensorMap inputs = inputs_with(p, {{"post_mix", constant(0)}, {"comb_mix", cycle}});
  inputs["residual"] = random_patterns(dtype(), {1, n, H}, 3);
  const OutputBlock next = evaluate(p, inputs).at("next_residual");
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t h = 0; h < H; ++h) {
      EXPECT_TRUE(
          same_number(dtype(), next.rounded[(i + 1) % n * H + h], inputs.at("residual").bits(i * H + h)));
    }
  }
}

TEST_P(BothFormats, PostAddsXToEveryStreamByItsWeight) {
  const Problem p = problem_of(Op::mhc_post, dtype(), 1, 3, 2);
  const TensorMap inputs =
      inputs_with(p, {{"x", listed({1, -2})}, {"post_mix", listed({0.5, 1, 4})}, {"comb_mix", constant(0)}});
  expect_numbers(evaluate(p, inputs).at("next_residual"),
                 {encode(dtype(), 0.5), encode(dtype(), -1), encode(dtype(), 1), encode(dtype(), -2),
                  encode(dtype(), 4), encode(dtype(), -8)});
}

// ---- Ties and overflow
// --------------------------------------------------------------------------------------

// Two streams of one number each, with weights 1.
std::uint32_t collapse_of(Dtype dtype, double a, double b, double weight_of_b = 1) {
  const Problem p = problem_of(Op::hc_collapse, dtype, 1, 2, 1);
  return evaluate(p, inputs_with(p, {{"residual", listed({a, b})}, {"pre_mix", listed({1, weight_of_b})}}))
      .at("layer_input")
      .rounded[0];
}

TEST_P(BothFormats, CollapseRoundsTiesToEven) {
  const double u = ulp_at_one();
  for (const double sign : {1.0, -1.0}) {
    EXPECT_EQ(collapse_of(dtype(), sign, sign * u / 2), encode(dtype(), sign));
    EXPECT_EQ(collapse_of(dtype(), sign * (1 + u), sign * u / 2), encode(dtype(), sign * (1 + 2 * u)));
    // What is next to a tie, by far less than a double could show.
    EXPECT_EQ(collapse_of(dtype(), sign, sign * u / 2, 1 + 0x1p-23), encode(dtype(), sign * (1 + u)));
    EXPECT_EQ(collapse_of(dtype(), sign * (1 + u), sign * u / 2, 1 - 0x1p-24),
              encode(dtype(), sign * (1 + u)));
  }
}

TEST_P(BothFormats, CollapseSeesWhatIsFarBelowATie) {
  const Problem p = problem_of(Op::hc_collapse, dtype(), 1, 3, 1);
  const double u = ulp_at_one();
  const auto with_third = [&](double third_weight) {
    const TensorMap inputs =
        inputs_with(p, {{"residual", listed({1, u / 2, 1})}, {"pre_mix", listed({1, 1, third_weight})}});
    return evaluate(p, inputs).at("layer_input").rounded[0];
  };
  EXPECT_EQ(with_third(0), encode(dtype(), 1));
  EXPECT_EQ(with_third(0x1p-149), encode(dtype(), 1 + u));
  EXPECT_EQ(with_third(-0x1p-149), encode(dtype(), 1));
}

TEST_P(BothFormats, PostRoundsTiesToEven) {
  const double u = ulp_at_one();
  const Problem p = problem_of(Op::mhc_post, dtype(), 1, 2, 2);
  const TensorMap inputs = inputs_with(p, {{"x", listed({1, 1 + u})},
                                           {"post_mix", constant(1)},
                                           {"residual", listed({u / 2, u / 2, 0, 0})},
                                           {"comb_mix", constant(1)}});
  const std::uint32_t one = encode(dtype(), 1), odd_plus_half = encode(dtype(), 1 + 2 * u);
  expect_numbers(evaluate(p, inputs).at("next_residual"), {one, odd_plus_half, one, odd_plus_half});
}

TEST_P(BothFormats, SubnormalTiesGoToEvenToo) {
  const FloatFormat f = format_of(dtype());
  const double smallest = std::ldexp(1.0, f.min_exponent - f.mantissa_bits());
  EXPECT_EQ(collapse_of(dtype(), smallest, smallest, -0.5), 0u);           // half of the smallest
  EXPECT_EQ(collapse_of(dtype(), smallest, smallest, 0.5), 2u);            // one and a half
  EXPECT_EQ(collapse_of(dtype(), smallest, smallest, 0.5 - 0x1p-25), 1u);  // just below
}

TEST_P(BothFormats, OverflowBeginsHalfAStepBeyondTheLargest) {
  const FloatFormat f = format_of(dtype());
  const double largest = decode(dtype(), f.infinity() - 1), half_step = ulp(dtype(), largest) / 2;
  EXPECT_EQ(collapse_of(dtype(), largest, half_step), f.infinity());
  EXPECT_EQ(collapse_of(dtype(), largest, half_step, 1 - 0x1p-24), f.infinity() - 1);
  EXPECT_EQ(collapse_of(dtype(), -largest, -half_step), f.infinity() | f.sign_mask());
}

// ---- Rmsnorm
// ------------------------------------------------------------------------------------------------

TEST_P(BothFormats, RmsnormOfAConstantRowIsTheWeightWithoutEps) {
  Problem p = problem_of(Op::rmsnorm, dtype(), 1, 1, 13);
  p.norm_weight = dtype();
  p.parameters.norm_eps = 0;
  TensorMap inputs = inputs_with(p, {{"x", constant(3.25)}});
  inputs["norm_weight"] = random_patterns(dtype(), {13}, 4);
  const OutputBlock y = evaluate(p, inputs).at("y");
  for (std::size_t h = 0; h < 13; ++h) {
    EXPECT_TRUE(same_number(dtype(), y.rounded[h], inputs.at("norm_weight").bits(h)));
  }
}

TEST_P(BothFormats, FusedNormOfConstantStreamsIsTheWeightInEveryProfile) {
  Problem p = problem_of(Op::mhc_pre, dtype(), 2, 4, 24);
  p.norm_weight = dtype();
  p.parameters.norm_eps = 0;
  const TensorMap inputs = inputs_with(p, {{"residual", constant(0.75)}});
  for (const CollapseRounding collapse :
       {CollapseRounding::storage, CollapseRounding::fp32_sumsq, CollapseRounding::fp32}) {
    const OutputBlock layer_input = evaluate(p, inputs, {.collapse = collapse}).at("layer_input");
    // In fp32_sumsq the rounded collapse is divided by the unrounded one: the weight to within that rounding.
    const bool exact = collapse != CollapseRounding::fp32_sumsq;
    for (std::size_t e = 0; e < layer_input.rounded.size(); ++e) {
      const std::uint32_t weight = inputs.at("norm_weight").bits(e % 24);
      if (exact) {
        EXPECT_TRUE(same_number(dtype(), layer_input.rounded[e], weight)) << e;
      } else {
        EXPECT_NEAR(layer_input.value[e], decode(dtype(), weight),
                    ulp_at_one() * std::fabs(decode(dtype(), weight)));
      }
    }
  }
}

// A weight half way between two stored numbers: nothing but an exact decision rounds it to even.
TEST_P(BothFormats, RmsnormRoundsTiesToEven) {
  Problem p = problem_of(Op::rmsnorm, dtype(), 1, 1, 2);
  p.norm_weight = Dtype::fp32;
  p.parameters.norm_eps = 0;
  const double u = ulp_at_one();
  for (const double x : {1.0, 3.0, 0x1p-20}) {
    const TensorMap inputs =
        inputs_with(p, {{"x", constant(x)}, {"norm_weight", listed({1 + u / 2, -(1 + 3 * u / 2)})}});
    expect_numbers(evaluate(p, inputs).at("y"), {encode(dtype(), 1), encode(dtype(), -(1 + 2 * u))});
  }
  // A root mean square of 5 that is not the row itself.
  const TensorMap inputs =
      inputs_with(p, {{"x", listed({1, 7})}, {"norm_weight", listed({5 * (1 + u / 2), 5 * (1 + u / 2)})}});
  EXPECT_EQ(evaluate(p, inputs).at("y").rounded[0], encode(dtype(), 1));
}

TEST_P(BothFormats, RmsnormOfZeroIsZeroWithEpsAndUndefinedWithout) {
  Problem p = problem_of(Op::rmsnorm, dtype(), 1, 1, 8);
  p.norm_weight = Dtype::fp32;
  const TensorMap inputs = inputs_with(p, {{"x", constant(0)}});
  p.parameters.norm_eps = 1e-20f;
  expect_all(evaluate(p, inputs).at("y"), 0);
  p.parameters.norm_eps = 0;
  const OutputBlock undefined = evaluate(p, inputs).at("y");
  for (const double value : undefined.value) EXPECT_TRUE(std::isnan(value));
}

// ---- Mixes
// --------------------------------------------------------------------------------------------------

TEST_P(BothFormats, ZeroResidualLeavesTheBases) {
  constexpr int n = 4;
  Problem p = problem_of(Op::mhc_pre_delayed, dtype(), 2, n, 16);
  p.parameters.hc_post_mult_value = 3;
  p.parameters.hc_pre_eps = 0x1p-12f;
  p.parameters.hc_sinkhorn_eps = 0;
  const Outputs out = evaluate(p, inputs_with(p, {{"residual", constant(0)}, {"hc_base", constant(0)}}));
  expect_all(out.at("next_pre_mix"), 0.5 + 0x1p-12);
  expect_all(out.at("post_mix"), 1.5);
  expect_all(out.at("comb_mix"), 1.0 / n);
  expect_all(out.at("layer_input"), 0);
}

TEST_P(BothFormats, ZeroResidualWithoutEpsIsUndefined) {
  Problem p = problem_of(Op::mhc_pre, dtype(), 2, 4, 16);
  p.parameters.rms_eps = 0;
  // The second token is not zero, and defined.
  const Fill first_is_zero = [](std::size_t i) { return i < 4 * 16 ? 0.0 : 1.0; };
  for (const auto& [name, output] : evaluate(p, inputs_with(p, {{"residual", first_is_zero}}))) {
    for (std::size_t e = 0; e < output.value.size(); ++e) {
      EXPECT_EQ(std::isnan(output.value[e]), e < output.elements_per_token) << name << " element " << e;
    }
  }
}

TEST_P(BothFormats, OneStreamHasOneGateAndATrivialComb) {
  Problem p = problem_of(Op::mhc_pre, dtype(), 1, 1, 6);
  p.parameters.hc_sinkhorn_eps = 0;
  p.parameters.hc_pre_eps = 0;
  p.parameters.hc_post_mult_value = 2;
  const TensorMap inputs =
      inputs_with(p, {{"fn", constant(0)}, {"hc_base", listed({0, 0, 5})}, {"residual", few_bits(5)}});
  const Outputs out = evaluate(p, inputs);
  expect_all(out.at("comb_mix"), 1);
  expect_all(out.at("post_mix"), 1);
  for (std::size_t h = 0; h < 6; ++h) {
    EXPECT_EQ(decode(dtype(), out.at("layer_input").rounded[h]), 0.5 * inputs.at("residual").value(h));
  }
}

// Streams 1 and 0 of one number each: the mean of the squares is 1/2 over both streams, and 1 with rms_eps =
// 1/2, so that mixes are the projection itself. The bases take them back to 0, where both gates are 1/2
// exactly.
TEST_P(BothFormats, MixesDivideByTheRootOfMeanPlusEps) {
  Problem p = problem_of(Op::hc_head, dtype(), 1, 2, 1);
  p.parameters.rms_eps = 0.5f;
  p.parameters.hc_pre_eps = 0;
  const TensorMap inputs = inputs_with(p, {{"residual", listed({1, 0})},
                                           {"fn", listed({0.75, 9, -0.25, 9})},
                                           {"hc_scale", constant(2)},
                                           {"hc_base", listed({-1.5, 0.5})}});
  EXPECT_EQ(evaluate(p, inputs).at("layer_input").value[0], 0.5);
}

TEST_P(BothFormats, ScalingTheResidualByAPowerOfTwoScalesTheLayerInputAlone) {
  Problem p = problem_of(Op::mhc_pre, dtype(), 2, 4, 40);
  p.parameters.rms_eps = 0;
  const TensorMap inputs = inputs_with(p, {});
  TensorMap scaled = inputs;
  constexpr double kFactor = 16;
  for (std::size_t i = 0; i < inputs.at("residual").size(); ++i) {
    scaled.at("residual").set_bits(i, encode(dtype(), kFactor * inputs.at("residual").value(i)));
  }
  const Outputs once = evaluate(p, inputs), sixteen = evaluate(p, scaled);
  expect_numbers(sixteen.at("post_mix"), once.at("post_mix").rounded);
  expect_numbers(sixteen.at("comb_mix"), once.at("comb_mix").rounded);
  for (std::size_t e = 0; e < once.at("layer_input").rounded.size(); ++e) {
    const double one = decode(dtype(), once.at("layer_input").rounded[e]);
    if (std::fabs(one) < std::ldexp(1.0, format_of(dtype()).min_exponent)) continue;  // fewer bits there
    EXPECT_EQ(decode(dtype(), sixteen.at("layer_input").rounded[e]), kFactor * one);
  }
}

// ---- Operators that are others put together
// ------------------------------------------------------------------

TEST_P(BothFormats, EntryLayerInputIsTheFirstStream) {
  Problem p = problem_of(Op::mhc_pre_delayed, dtype(), 2, 3, 21);
  p.entry = Entry::entry;
  TensorMap inputs = inputs_with(p, {});
  inputs["residual"] = random_patterns(dtype(), {2, 3, 21}, 6);
  const OutputBlock layer_input = evaluate(p, inputs).at("layer_input");
  for (std::size_t t = 0; t < 2; ++t) {
    for (std::size_t h = 0; h < 21; ++h) {
      EXPECT_TRUE(
          same_number(dtype(), layer_input.rounded[t * 21 + h], inputs.at("residual").bits(t * 3 * 21 + h)));
    }
  }
}

TEST_P(BothFormats, BroadcastEntryIsTheEntryOfARepeatedX) {
  constexpr std::size_t n = 4, H = 48, T = 2;
  Problem entry = problem_of(Op::mhc_pre_delayed, dtype(), T, n, H);
  entry.entry = Entry::entry;
  entry.norm_weight = Dtype::fp32;
  Problem broadcast = entry;
  broadcast.entry = Entry::broadcast;

  TensorMap inputs = inputs_with(broadcast, {});
  Tensor& residual = inputs.at("residual");
  for (std::size_t i = 0; i < residual.size(); ++i) {
    residual.set_bits(i, inputs.at("x").bits(i / (n * H) * H + i % H));
  }
  const Fill fn = few_bits(7);
  Tensor whole(Dtype::fp32, {entry.hc_mult3(), entry.hc_hidden_size()});
  for (std::size_t i = 0; i < whole.size(); ++i) whole.set_bits(i, encode(Dtype::fp32, fn(i)));
  Tensor& summed = inputs.at("fn_broadcast");
  for (std::size_t m = 0; m < static_cast<std::size_t>(entry.hc_mult3()); ++m) {
    for (std::size_t h = 0; h < H; ++h) {
      double sum = 0;  // exact, and few bits for fp32
      for (std::size_t j = 0; j < n; ++j) sum += whole.value(m * n * H + j * H + h);
      summed.set_bits(m * H + h, encode(Dtype::fp32, sum));
    }
  }
  const Outputs of_broadcast = evaluate(broadcast, inputs);
  inputs.erase("fn_broadcast");
  inputs.erase("x");
  inputs["fn"] = whole;
  expect_same_numbers(of_broadcast, evaluate(entry, inputs));
}

TEST_P(BothFormats, HeadIsPreWithoutSinkhorn) {
  constexpr int n = 4;
  Problem pre = problem_of(Op::mhc_pre, dtype(), 2, n, 32);
  pre.parameters.sinkhorn_repeat = 0;
  Problem head = pre;
  head.op = Op::hc_head;
  const TensorMap of_pre = inputs_with(pre, {});
  TensorMap of_head{{"residual", of_pre.at("residual")}};
  for (const TensorSpec& spec : input_specs(head)) {
    const std::string name(spec.name);
    if (name == "residual") continue;
    Tensor& tensor = of_head[name] = Tensor(spec.dtype, spec.shape);
    for (std::size_t i = 0; i < tensor.size(); ++i) tensor.set_bits(i, of_pre.at(name).bits(i));
  }
  const Outputs out = evaluate(pre, of_pre);
  EXPECT_EQ(out.size(), 1u);
  expect_same_numbers(evaluate(head, of_head), out);
}

// All sums fit fp32 exactly, so the split loses nothing, however the sums are cut into shares.
TEST_P(BothFormats, TwoLaunchesAreOnePre) {
  constexpr int S = 3;
  Problem pre = problem_of(Op::mhc_pre, dtype(), 2, 4, 32);
  pre.norm_weight = Dtype::bf16;
  Problem first = pre, second = pre;
  first.op = Op::mhc_pre_gemm_sqrsum;
  first.norm_weight.reset();
  second.op = Op::mhc_pre_big_fuse;
  second.split_k = S;

  const TensorMap inputs = inputs_with(pre, {{"residual", few_bits(8)}, {"fn", few_bits(9)}});
  const Outputs sums = evaluate(first, {{"residual", inputs.at("residual")}, {"fn", inputs.at("fn")}});
  TensorMap handed = inputs;
  handed.erase("fn");
  for (const auto& [name, sum] : sums) {
    Extents shape = sum.spec.shape;
    shape[0] = S;
    Tensor& shares = handed[name] = Tensor(Dtype::fp32, shape);
    const std::size_t count = sum.rounded.size();
    for (std::size_t e = 0; e < count; ++e) {
      const double total = decode(Dtype::fp32, sum.rounded[e]);
      EXPECT_EQ(total, sum.value[e]);
      for (std::size_t s = 0; s < S; ++s) {
        const double share = s == 0 ? total + 1 : (s == 1 ? -3 : 2);
        shares.set_bits(s * count + e, encode(Dtype::fp32, share));
      }
    }
  }
  expect_same_numbers(evaluate(second, handed), evaluate(pre, inputs));
}

TEST_P(BothFormats, FusedPostPreIsPostThenPre) {
  for (const Op op : {Op::mhc_fused_post_pre, Op::mhc_fused_post_pre_delayed}) {
    Problem fused = problem_of(op, dtype(), 2, 4, 32);
    fused.norm_weight = dtype();
    const TensorMap inputs = inputs_with(fused, {});
    Problem post = problem_of(Op::mhc_post, dtype(), 2, 4, 32);
    TensorMap of_post;
    for (const TensorSpec& spec : input_specs(post))
      of_post[std::string(spec.name)] = inputs.at(std::string(spec.name));
    const Outputs posted = evaluate(post, of_post);

    Problem pre = fused;
    pre.op = op == Op::mhc_fused_post_pre ? Op::mhc_pre : Op::mhc_pre_delayed;
    TensorMap of_pre;
    for (const TensorSpec& spec : input_specs(pre))
      of_pre[std::string(spec.name)] = inputs.at(std::string(spec.name));
    for (std::size_t i = 0; i < of_pre.at("residual").size(); ++i) {
      of_pre.at("residual").set_bits(i, posted.at("next_residual").rounded[i]);
    }
    const Outputs out = evaluate(fused, inputs, {.next_residual = NextResidual::rounded});
    expect_same_numbers(out, posted);
    expect_same_numbers(out, evaluate(pre, of_pre));
  }
}

TEST_P(BothFormats, ProjectingTheUnroundedResidualIsTheSameWhenNothingIsRounded) {
  const Problem p = problem_of(Op::mhc_fused_post_pre, dtype(), 2, 4, 32);
  const Fill halves = [](std::size_t i) { return i % 3 == 0 ? 0.5 : 0.0; };
  const TensorMap exact = inputs_with(
      p, {{"x", few_bits(10)}, {"residual", few_bits(11)}, {"post_mix", halves}, {"comb_mix", constant(0)}});
  expect_same_numbers(evaluate(p, exact, {.next_residual = NextResidual::unrounded}),
                      evaluate(p, exact, {.next_residual = NextResidual::rounded}));

  // And another when something is.
  const TensorMap rounding = inputs_with(p, {});
  EXPECT_NE(evaluate(p, rounding, {.next_residual = NextResidual::unrounded}).at("post_mix").rounded,
            evaluate(p, rounding, {.next_residual = NextResidual::rounded}).at("post_mix").rounded);
}

TEST_P(BothFormats, SquaringTheUnroundedResidualChangesTheSquaresAlone) {
  const Problem p = problem_of(Op::mhc_fused_post_pre_gemm_sqrsum, dtype(), 2, 4, 32);
  const TensorMap inputs = inputs_with(p, {});
  const Outputs rounded = evaluate(p, inputs, {.next_residual = NextResidual::rounded});
  const Outputs unrounded = evaluate(p, inputs, {.next_residual = NextResidual::unrounded});
  const Outputs apart = evaluate(p, inputs, {.next_residual = NextResidual::fp32_sumsq});
  EXPECT_EQ(apart.at("next_residual").rounded, rounded.at("next_residual").rounded);
  EXPECT_EQ(apart.at("gemm_out_mul").value, rounded.at("gemm_out_mul").value);
  EXPECT_EQ(apart.at("gemm_out_sqrsum").value, unrounded.at("gemm_out_sqrsum").value);
  EXPECT_NE(apart.at("gemm_out_mul").value, unrounded.at("gemm_out_mul").value);
  EXPECT_NE(apart.at("gemm_out_sqrsum").value, rounded.at("gemm_out_sqrsum").value);
}

// ---- Tokens
// -------------------------------------------------------------------------------------------------

TEST(Tokens, NoneGiveOutputsWithoutElements) {
  for (const OperatorRow& row : all_operators()) {
    Problem p = problem_of(row.op, Dtype::bf16, 0, 4, 64);
    if (row.needs_norm) p.norm_weight = Dtype::bf16;
    const Outputs out = evaluate(p, inputs_with(p, {}));
    EXPECT_EQ(out.size(), output_specs(p).size()) << row.name;
    for (const auto& [name, output] : out) {
      EXPECT_TRUE(output.rounded.empty()) << row.name << " " << name;
      EXPECT_GT(output.elements_per_token, 0u) << row.name << " " << name;
    }
  }
}

TEST(Tokens, WithNansSpoilThemselvesAlone) {
  constexpr std::size_t kTokens = 7, kSpoilt = 2;  // 7 is no other extent here
  for (const OperatorRow& row : all_operators()) {
    Problem p = problem_of(row.op, Dtype::fp16, kTokens, 3, 10);
    if (row.needs_norm) p.norm_weight = Dtype::bf16;
    const TensorMap clean = inputs_with(p, {});
    const Outputs expected = evaluate(p, clean);
    for (const TensorSpec& spec : input_specs(p)) {
      // With one split, partial sums [1,T,...] lie as [T,...] does.
      const bool of_tokens = spec.shape[spec.partial_sums ? 1 : 0] == static_cast<std::int64_t>(kTokens);
      if (!of_tokens) continue;
      TensorMap inputs = clean;
      Tensor& tensor = inputs.at(std::string(spec.name));
      tensor.set_bits(kSpoilt * (tensor.size() / kTokens), format_of(spec.dtype).quiet_nan());
      for (const auto& [name, output] : evaluate(p, inputs)) {
        for (std::size_t e = 0; e < output.rounded.size(); ++e) {
          if (e / output.elements_per_token == kSpoilt) {
            EXPECT_TRUE(std::isnan(output.value[e])) << row.name << " " << name << " element " << e;
          } else {
            EXPECT_EQ(output.rounded[e], expected.at(name).rounded[e]) << row.name << " " << name;
            EXPECT_EQ(output.deterministic[e], expected.at(name).deterministic[e]) << row.name << " " << name;
          }
        }
      }
    }
  }
}

TEST(Tokens, GiveTheSameBitsInAnyCutIntoBlocks) {
  constexpr std::int64_t kTokens = 5;
  for (const OperatorRow& row : all_operators()) {
    Problem p = problem_of(row.op, Dtype::bf16, kTokens, 4, 100);
    if (row.fused_norm) p.norm_weight = Dtype::bf16;
    const TensorMap inputs = inputs_with(p, {});
    const reference::Reference reference(p, {}, inputs);
    const reference::Block whole = reference.evaluate(0, kTokens);
    for (std::int64_t t = 0; t < kTokens; ++t) {
      const reference::Block alone = reference.evaluate(t, 1);
      for (std::size_t o = 0; o < whole.outputs.size(); ++o) {
        const OutputBlock &all = whole.outputs[o], &one = alone.outputs[o];
        for (std::size_t e = 0; e < one.rounded.size(); ++e) {
          const std::size_t at = static_cast<std::size_t>(t) * one.elements_per_token + e;
          EXPECT_EQ(one.rounded[e], all.rounded[at]) << row.name << " " << one.spec.name;
          EXPECT_EQ(one.value[e], all.value[at]) << row.name << " " << one.spec.name;
          EXPECT_EQ(one.deterministic[e], all.deterministic[at]) << row.name << " " << one.spec.name;
          EXPECT_EQ(one.probabilistic[e], all.probabilistic[at]) << row.name << " " << one.spec.name;
          EXPECT_EQ(one.systematic[e], all.systematic[at]) << row.name << " " << one.spec.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace mhcheck::oracle

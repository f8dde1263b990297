// The reference as a whole: its answers do not depend on how they are asked for, what is undefined is said to
// be, ties are decided, and roundings on the way may go either way in a kernel.
#include "reference/reference.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "properties/regimes.h"
#include "reference/base/case.h"
#include "tests/reference/big.h"
#include "tests/reference/random.h"

namespace mhcheck::reference {
namespace {

using testing::Big;

Block whole(const Case& c, const TensorMap& inputs, const ReferenceOptions& options = {}) {
  return Reference(c.problem, c.profile, inputs, options).evaluate(0, c.problem.num_tokens);
}

const OutputBlock& output(const Block& block, std::string_view name) {
  for (const OutputBlock& o : block.outputs) {
    if (o.spec.name == name) return o;
  }
  throw std::out_of_range(std::string(name));
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

// Elements [first, first + count) of `whole_block` are all of `part`.
void expect_same(const OutputBlock& whole_block, const OutputBlock& part, std::size_t first_token,
                 std::size_t tokens, const std::string& where) {
  const std::size_t first = first_token * part.elements_per_token, count = tokens * part.elements_per_token;
  ASSERT_EQ(part.value.size(), count);
  const auto slice = [&](const auto& values) {
    return std::vector(values.begin() + static_cast<std::ptrdiff_t>(first),
                       values.begin() + static_cast<std::ptrdiff_t>(first + count));
  };
  EXPECT_EQ(slice(whole_block.rounded), part.rounded) << where;
  EXPECT_TRUE(same_bits(slice(whole_block.value), part.value)) << where;
  EXPECT_TRUE(same_bits(slice(whole_block.deterministic), part.deterministic)) << where;
  EXPECT_TRUE(same_bits(slice(whole_block.probabilistic), part.probabilistic)) << where;
  EXPECT_TRUE(same_bits(slice(whole_block.systematic), part.systematic)) << where;
}

std::uint64_t elements_of(const Block& block) {
  std::uint64_t elements = 0;
  for (const OutputBlock& o : block.outputs) elements += o.value.size();
  return elements;
}

// Every operator, with every entry form and profile that it depends on, small.
std::vector<Case> every_case(std::string_view regime, int tokens) {
  std::vector<std::string> texts;
  for (const OperatorRow& row : all_operators()) {
    const std::string start =
        fmt::format("{}:{}:t{}:n{}:h{}", row.name, texts.size() % 2 == 0 ? "bf16" : "fp16", tokens,
                    1 + texts.size() % 5, 3 + 7 * (texts.size() % 5));
    std::vector<std::string> forms{""};
    const auto multiply = [&](bool depends, const std::vector<std::string>& choices) {
      if (!depends) return;
      std::vector<std::string> more;
      for (const std::string& form : forms) {
        for (const std::string& choice : choices) more.push_back(form + choice);
      }
      forms = more;
    };
    multiply(row.entries, {"", ":entry=entry", ":entry=broadcast"});
    multiply(row.needs_norm, {":norm=fp32"});
    multiply(row.fused_norm && !row.needs_norm,
             {"", ":norm=bf16", ":norm=fp32:collapse=fp32_sumsq", ":norm=fp16:collapse=fp32"});
    multiply(row.post_stage && row.projection, {"", ":next=unrounded", ":next=fp32_sumsq"});
    multiply(row.projection, {"", ":proj=bf16x2"});
    multiply(row.splits, {":sk3"});
    multiply((row.parameters & kSinkhornRepeat) != 0, {":repeat=2"});
    for (const std::string& form : forms)
      texts.push_back(fmt::format("{}{}:in={}:seed=7", start, form, regime));
  }
  std::vector<Case> cases;
  for (const std::string& text : texts) cases.push_back(parse_descriptor(text));
  return cases;
}

TEST(Reference, AnyCutIntoBlocksGivesTheSameBits) {
  for (const std::string_view regime : {"gauss", "cancelling", "ragged_scales"}) {
    for (const Case& c : every_case(regime, 5)) {
      const TensorMap inputs = properties::make_inputs(c);
      const Reference reference(c.problem, c.profile, inputs);
      const Block all = reference.evaluate(0, 5);
      Certification parts;
      for (const auto& [first, count] : {std::pair{0, 1}, {1, 3}, {4, 1}}) {
        const Block part = reference.evaluate(first, count);
        EXPECT_EQ(part.first_token, first);
        ASSERT_EQ(part.outputs.size(), all.outputs.size());
        for (std::size_t o = 0; o < part.outputs.size(); ++o) {
          expect_same(all.outputs[o], part.outputs[o], static_cast<std::size_t>(first),
                      static_cast<std::size_t>(count), to_descriptor(c));
        }
        parts += part.certification;
      }
      EXPECT_EQ(parts.elements, all.certification.elements) << to_descriptor(c);
      EXPECT_EQ(std::accumulate(parts.elements.begin(), parts.elements.end(), std::uint64_t{0}),
                elements_of(all));
    }
  }
}

TEST(Reference, OutputsAreThoseOfTheOperator) {
  for (const Case& c : every_case("gauss", 2)) {
    const Block block = whole(c, properties::make_inputs(c));
    const std::vector<TensorSpec> specs = output_specs(c.problem);
    ASSERT_EQ(block.outputs.size(), specs.size());
    for (std::size_t o = 0; o < specs.size(); ++o) {
      EXPECT_EQ(block.outputs[o].spec.name, specs[o].name);
      const std::size_t splits = specs[o].partial_sums ? static_cast<std::size_t>(c.problem.split_k) : 1;
      EXPECT_EQ(block.outputs[o].elements_per_token * 2 * splits, element_count(specs[o].shape));
      EXPECT_EQ(block.outputs[o].value.size(), 2 * block.outputs[o].elements_per_token);
    }
  }
}

TEST(Reference, NoTokensGiveEmptyOutputs) {
  for (const Case& c : every_case("gauss", 0)) {
    const Block block = whole(c, properties::make_inputs(c));
    EXPECT_EQ(block.outputs.size(), output_specs(c.problem).size());
    for (const OutputBlock& o : block.outputs) EXPECT_TRUE(o.value.empty());
    EXPECT_EQ(elements_of(block), 0u);
  }
}

TEST(Reference, RadiiAreInOrderAndTheRoundedValueIsInside) {
  for (const std::string_view regime :
       {"gauss", "massive", "tiny", "zero_rows", "cancelling", "heavy_tail"}) {
    for (const Case& c : every_case(regime, 2)) {
      const Block block = whole(c, properties::make_inputs(c));
      for (const OutputBlock& o : block.outputs) {
        for (std::size_t e = 0; e < o.value.size(); ++e) {
          ASSERT_LE(0, o.systematic[e]);
          ASSERT_LE(o.systematic[e], o.probabilistic[e]);
          ASSERT_LE(o.probabilistic[e], o.deterministic[e]);
          if (std::isnan(o.value[e]) || std::isinf(o.deterministic[e])) continue;
          const Dtype dtype = o.spec.dtype;
          const double wide = o.deterministic[e] + std::fabs(o.value[e]) * 0x1p-52;
          ASSERT_LE(decode(dtype, encode(dtype, o.value[e] - wide)), decode(dtype, o.rounded[e]));
          ASSERT_GE(decode(dtype, encode(dtype, o.value[e] + wide)), decode(dtype, o.rounded[e]));
        }
      }
    }
  }
}

// What an operator hands on as it got it needs no arithmetic.
std::uint64_t copied_elements(const Case& c) {
  const auto row = static_cast<std::uint64_t>(c.problem.num_tokens * c.problem.hidden_size);
  if (c.problem.op == Op::hc_expand) return row * static_cast<std::uint64_t>(c.problem.hc_mult);
  const bool first_stream =
      c.problem.op == Op::mhc_pre_delayed && c.problem.entry != Entry::carried && !c.problem.norm_weight;
  return first_stream ? row : 0;
}

TEST(Reference, MultiprecisionFromTheStartGivesTheSameRoundedBits) {
  for (const std::string_view regime : {"gauss", "cancelling", "tiny", "strong_logits", "zero_rows"}) {
    for (const Case& c : every_case(regime, 2)) {
      const TensorMap inputs = properties::make_inputs(c);
      const Block fast = whole(c, inputs);
      const Block slow = whole(c, inputs, {.start_at_multiprecision = true});
      EXPECT_EQ(slow.certification.elements[0], copied_elements(c)) << to_descriptor(c);
      for (std::size_t o = 0; o < fast.outputs.size(); ++o) {
        const OutputBlock &a = fast.outputs[o], &b = slow.outputs[o];
        ASSERT_EQ(a.rounded, b.rounded) << to_descriptor(c) << " " << a.spec.name;
      }
    }
  }
}

void put_nan(TensorMap& inputs, const std::string& name, std::size_t element, Dtype dtype) {
  inputs.at(name).set_bits(element, format_of(dtype).quiet_nan());
}

TEST(Reference, NanInOneTokenLeavesEveryOtherTokenAsItWas) {
  for (const Case& c : every_case("gauss", 3)) {
    const TensorMap inputs = properties::make_inputs(c);
    const Block before = whole(c, inputs);
    for (const TensorSpec& spec : input_specs(c.problem)) {
      const bool per_token = spec.name != "fn" && spec.name != "fn_broadcast" && spec.name != "hc_scale" &&
                             spec.name != "hc_base" && spec.name != "norm_weight";
      TensorMap spoilt = inputs;
      const Tensor& tensor = inputs.at(std::string(spec.name));
      // The last element of token 1.
      const std::size_t splits = spec.partial_sums ? static_cast<std::size_t>(c.problem.split_k) : 1;
      const std::size_t element = per_token ? 2 * tensor.size() / splits / 3 - 1 : tensor.size() - 1;
      put_nan(spoilt, std::string(spec.name), element, spec.dtype);
      const Block after = whole(c, spoilt);
      for (std::size_t o = 0; o < after.outputs.size(); ++o) {
        const OutputBlock& out = after.outputs[o];
        for (std::size_t e = 0; e < out.value.size(); ++e) {
          const bool undefined = !per_token || e / out.elements_per_token == 1;
          ASSERT_EQ(std::isnan(out.value[e]), undefined) << to_descriptor(c) << " " << spec.name;
          if (undefined) {
            ASSERT_EQ(out.deterministic[e], HUGE_VAL);
            ASSERT_EQ(out.rounded[e], format_of(out.spec.dtype).quiet_nan());
            continue;
          }
          ASSERT_EQ(out.rounded[e], before.outputs[o].rounded[e]);
          ASSERT_EQ(out.value[e], before.outputs[o].value[e]);
          ASSERT_EQ(out.deterministic[e], before.outputs[o].deterministic[e]);
          ASSERT_EQ(out.probabilistic[e], before.outputs[o].probabilistic[e]);
        }
      }
    }
  }
}

// A case with every input zero; what it needs is set by the test.
struct Blank {
  explicit Blank(const std::string& descriptor) : c(parse_descriptor(descriptor)) {
    for (const TensorSpec& spec : input_specs(c.problem))
      inputs.emplace(std::string(spec.name), Tensor(spec.dtype, spec.shape));
  }
  void fill(const std::string& name, const std::vector<double>& values) {
    Tensor& tensor = inputs.at(name);
    for (std::size_t i = 0; i < tensor.size(); ++i) tensor.set(i, values[i % values.size()]);
  }
  Block evaluate() const { return whole(c, inputs); }

  Case c;
  TensorMap inputs;
};

TEST(Reference, ATieOfThePostIsCertifiedToEven) {
  Blank blank("mhc_post:bf16:t1:n1:h4:seed=1");
  // 1 + 2^-8 and 1 + 3 * 2^-8 lie in the middle of two bf16 numbers, the even one below and above.
  blank.fill("x", {1, 1, -1, 0x1p-126});
  blank.fill("post_mix", {1});
  blank.fill("residual", {0x1p-8, 0x1.8p-7, -0x1p-8, 0x1p-133});
  blank.fill("comb_mix", {1});
  Block block = blank.evaluate();
  EXPECT_EQ(block.outputs[0].rounded, (std::vector<std::uint32_t>{0x3f80, 0x3f82, 0xbf80, 0x0081}));
  EXPECT_EQ(block.certification.elements[0], 1u);  // the last is a number
  EXPECT_EQ(block.certification.elements[1], 3u);

  // Half of the smallest subnormal is a tie with zero.
  blank.fill("post_mix", {0x1p-8});
  blank.fill("x", {0x1p-126, 0x1.8p-125, 0x1p-126, -0x1p-126});
  blank.fill("residual", {0, 0, 0x1p-133, 0});
  blank.fill("comb_mix", {0x1p-10});
  block = blank.evaluate();
  EXPECT_EQ(block.outputs[0].rounded, (std::vector<std::uint32_t>{0, 2, 1, 0x8000}));
}

TEST(Reference, ATieOfTheCollapseIsCertifiedToEven) {
  Blank blank("hc_collapse:fp16:t1:n3:h2:seed=1");
  // 2048 + 1 and 2050 + 1: fp16 has steps of two there.
  blank.fill("residual", {1024, 1024, 256, 256, 1, 3});
  blank.fill("pre_mix", {1, 4, 1});
  const Block block = blank.evaluate();
  EXPECT_EQ(decode(Dtype::fp16, block.outputs[0].rounded[0]), 2048);
  EXPECT_EQ(decode(Dtype::fp16, block.outputs[0].rounded[1]), 2052);
  EXPECT_EQ(block.certification.elements[0], 0u);
  EXPECT_EQ(block.certification.elements[1], 2u);
}

// The mean square is a ninth, and its root is no number of any precision; but 3 * 129/128 is a tie.
TEST(Reference, ATieOfTheNormIsCertifiedToEvenWhateverTheHiddenSize) {
  Blank blank("rmsnorm:bf16:t1:n1:h9:norm=fp32:norm_eps=0:seed=1");
  blank.inputs.at("x").set(0, -1);
  blank.fill("norm_weight", {1 + 0x1p-7});
  const OutputBlock out = blank.evaluate().outputs[0];
  EXPECT_EQ(decode(Dtype::bf16, out.rounded[0]), -3.03125);  // 3.0234375 lies between this and 3.015625
}

// A mix that is exactly zero opens its gate exactly half, although the root that it is divided by is inexact.
TEST(Reference, ATieBehindAGateIsCertifiedToEven) {
  Blank blank("hc_head:bf16:t1:n2:h3:hc_pre_eps=0:seed=1");
  blank.fill("residual", {1, 3, 5, 1 + 0x1p-7, 3, 5});
  const OutputBlock out = blank.evaluate().outputs[0];
  EXPECT_EQ(decode(Dtype::bf16, out.rounded[0]), 1);  // of 1 + 2^-8
  EXPECT_EQ(decode(Dtype::bf16, out.rounded[1]), 3);
}

TEST(Reference, CopiesKeepTheirBits) {
  Blank expand("hc_expand:bf16:t1:n2:h3:seed=1");
  expand.inputs.at("x").set_bits(0, 0x8000);
  expand.inputs.at("x").set_bits(1, 0x0001);
  expand.inputs.at("x").set_bits(2, 0xff7f);
  for (const bool multiprecision : {false, true}) {
    const Block block = whole(expand.c, expand.inputs, {.start_at_multiprecision = multiprecision});
    EXPECT_EQ(block.outputs[0].rounded,
              (std::vector<std::uint32_t>{0x8000, 0x0001, 0xff7f, 0x8000, 0x0001, 0xff7f}));
    EXPECT_EQ(block.outputs[0].deterministic, std::vector<double>(6, 0.0));
  }
}

TEST(Reference, ZeroOverZeroIsUndefined) {
  Blank pre("mhc_pre:bf16:t2:n2:h8:rms_eps=0:seed=1");
  pre.fill("fn", {0.1, -0.2, 0.3});
  pre.fill("hc_scale", {1, 1, 1});
  for (std::size_t h = 0; h < 16; ++h)
    pre.inputs.at("residual").set(16 + h, 1 + 0x1p-4 * static_cast<double>(h));
  const Block block = pre.evaluate();
  for (const OutputBlock& o : block.outputs) {
    for (std::size_t e = 0; e < o.value.size(); ++e) {
      const bool zero_token = e < o.elements_per_token;
      EXPECT_EQ(std::isnan(o.value[e]), zero_token) << o.spec.name;
      EXPECT_EQ(std::isinf(o.deterministic[e]), zero_token) << o.spec.name;
    }
  }

  Blank norm("rmsnorm:bf16:t2:n1:h4:norm=fp32:norm_eps=0:seed=1");
  norm.fill("norm_weight", {2});
  norm.inputs.at("x").set(5, -0x1p-133);  // the smallest number is enough for a row not to be zero
  const OutputBlock y = norm.evaluate().outputs[0];
  for (std::size_t e = 0; e < 4; ++e) EXPECT_TRUE(std::isnan(y.value[e]));
  EXPECT_EQ(decode(Dtype::bf16, y.rounded[5]), -4);
  EXPECT_EQ(y.value[4], 0);
}

TEST(Reference, ANegativeSumOfSquaresIsUndefinedAndNotUncertain) {
  Blank blank("mhc_pre_big_fuse:bf16:t1:n1:h3:sk2:seed=1");  // a third is no number of any precision
  blank.fill("gemm_out_sqrsum", {1, -2});
  blank.fill("gemm_out_mul", {1});
  blank.fill("hc_scale", {1});
  blank.fill("residual", {1});
  for (const OutputBlock& o : blank.evaluate().outputs) {
    for (const double value : o.value) EXPECT_TRUE(std::isnan(value)) << o.spec.name;
  }
}

TEST(Reference, AnOverflowOnTheWayLeavesUndefinedWhatDependsOnIt) {
  for (const std::string next : {"rounded", "unrounded"}) {
    Blank blank("mhc_fused_post_pre:fp16:t2:n2:h5:norm=fp16:seed=1" +
                (next == "rounded" ? std::string() : ":next=unrounded"));
    blank.fill("x", {1, -2, 3, 4, 5});
    blank.fill("residual", {1, 2, -1, 3, 1, 1, 2});
    blank.fill("comb_mix", {0.5, 0.25, 1, 0.75});
    blank.fill("post_mix", {1});
    blank.fill("fn", {0.1, -0.2, 0.3});
    blank.fill("hc_scale", {1});
    blank.fill("norm_weight", {1});
    blank.inputs.at("post_mix").set(0, 60000);  // of token 0, stream 0
    const Block block = blank.evaluate();
    const OutputBlock& next_residual = output(block, "next_residual");
    EXPECT_TRUE(is_infinite(Dtype::fp16, next_residual.rounded[1]));
    EXPECT_TRUE(std::isfinite(next_residual.value[1]));
    for (const OutputBlock& o : block.outputs) {
      if (o.spec.name == "next_residual") continue;
      for (std::size_t e = 0; e < o.value.size(); ++e) {
        const bool spoilt = e < o.elements_per_token && (next == "rounded" || o.spec.name == "layer_input");
        const bool anything_goes = std::isnan(o.value[e]) || std::isinf(o.deterministic[e]);
        EXPECT_EQ(anything_goes, spoilt) << next << " " << o.spec.name << " " << e;
      }
    }
  }
}

TEST(Reference, WhatFp32MayOverflowIsUnboundedAndStillHasItsValue) {
  Blank blank("mhc_post:bf16:t1:n1:h2:seed=1");
  blank.fill("x", {0x1p127, 1});
  blank.fill("post_mix", {3});
  blank.fill("residual", {0x1p127, 1});
  blank.fill("comb_mix", {-2.5});
  const OutputBlock out = blank.evaluate().outputs[0];
  EXPECT_EQ(decode(Dtype::bf16, out.rounded[0]), 0x1p126);
  EXPECT_EQ(out.deterministic[0], HUGE_VAL);
  EXPECT_LT(out.deterministic[1], 1e-5);
}

std::string message_of(const Problem& problem, const TensorMap& inputs) {
  try {
    Reference(problem, {}, inputs);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

TEST(Reference, WrongInputsAreRefusedInOneLine) {
  const Blank right("mhc_pre:bf16:t2:n2:h8:seed=1");
  EXPECT_EQ(message_of(right.c.problem, right.inputs), "no error");

  TensorMap inputs = right.inputs;
  inputs.erase("hc_base");
  EXPECT_EQ(message_of(right.c.problem, inputs), "input hc_base is missing");

  inputs = right.inputs;
  inputs["residual"] = Tensor(Dtype::fp16, {2, 2, 8});
  EXPECT_EQ(message_of(right.c.problem, inputs), "input residual is fp16 [2, 2, 8], must be bf16 [2, 2, 8]");
  inputs["residual"] = Tensor(Dtype::bf16, {2, 2, 9});
  EXPECT_EQ(message_of(right.c.problem, inputs), "input residual is bf16 [2, 2, 9], must be bf16 [2, 2, 8]");

  Problem illegal = right.c.problem;
  illegal.hc_mult = 9;
  EXPECT_EQ(message_of(illegal, right.inputs), why_illegal(illegal));
  EXPECT_NE(why_illegal(illegal), "");
}

// The value is no better known than the slices of fn say; what they leave out belongs to the radius.
TEST(Reference, TheRadiusHoldsAroundTheValueThatIsGiven) {
  Blank blank("mhc_pre:bf16:t1:n1:h2:repeat=0:seed=1");
  blank.fill("residual", {0, 64});
  // The large weight meets a zero; the other is far below it, with low bits that no slice holds.
  blank.fill("fn", {1, static_cast<double>(std::bit_cast<float>((93u << 23) | 0x2aaaffu))});  // 2^-34 * 1.x
  const double scale = 0x1p34;
  blank.fill("hc_scale", {scale});
  const Block block = blank.evaluate();
  ASSERT_EQ(block.certification.elements[0], 2u);  // in double
  const OutputBlock& out = output(block, "layer_input");
  const Big x(64), f(blank.inputs.at("fn").value(1));
  const Big mean = x * x / Big(2) + Big(static_cast<double>(1e-6f));
  const Big pre = testing::sigmoid(x * f / sqrt(mean) * Big(scale)) + Big(static_cast<double>(1e-6f));
  const Big error = abs(pre * x - Big(out.value[1]));
  EXPECT_TRUE(error <= Big(out.systematic[1])) << error.nearest() << " " << out.systematic[1];
}

// posted = 1 + 2^-8 + 2^-30 rounds to 1 + 2^-7. In fp32 the last term is lost, and what is left is a tie that
// goes to 1: a right kernel stores 1 and goes on with it.
TEST(Reference, ARoundingOfTheNextResidualThatMayGoEitherWayWidensWhatFollows) {
  constexpr std::size_t kHidden = 16;
  Blank fused("mhc_fused_post_pre:bf16:t1:n2:h16:norm=fp32:repeat=3:seed=1");
  testing::Random random(81);
  std::vector<double> x(kHidden, 1.0);
  for (std::size_t h = 1; h < kHidden; ++h) x[h] = random.of_size(-3, 1, 8);
  fused.fill("x", x);
  fused.fill("residual", {1});
  fused.fill("post_mix", {1 + 0x1p-8});
  fused.fill("comb_mix", {0x1p-31});  // two streams: 2^-30
  std::vector<double> fn(8 * 2 * kHidden);
  for (double& value : fn) value = random.gauss() * 0.2;
  fused.fill("fn", fn);
  fused.fill("hc_scale", {0.8, 1.1, 0.7});
  fused.fill("hc_base", {0.1, -0.3, 0.2});
  fused.fill("norm_weight", {1.25});
  const Block expected = fused.evaluate();
  const OutputBlock& next = output(expected, "next_residual");
  ASSERT_EQ(next.rounded[0], encode<Dtype::bf16>(1 + 0x1p-7));
  const float in_fp32 = (1.0f + 0x1p-8f) * 1.0f + 0x1p-31f + 0x1p-31f;
  ASSERT_EQ(encode<Dtype::bf16>(in_fp32), encode<Dtype::bf16>(1.0));

  // What that kernel goes on with, exactly.
  Blank pre("mhc_pre:bf16:t1:n2:h16:norm=fp32:repeat=3:seed=1");
  for (const char* shared : {"fn", "hc_scale", "hc_base", "norm_weight"})
    pre.inputs.at(shared) = fused.inputs.at(shared);
  for (std::size_t e = 0; e < 2 * kHidden; ++e) pre.inputs.at("residual").set_bits(e, next.rounded[e]);
  const Block as_certified = pre.evaluate();
  for (std::size_t j = 0; j < 2; ++j) pre.inputs.at("residual").set(j * kHidden, 1.0);
  const Block as_flipped = pre.evaluate();
  for (const OutputBlock& flipped : as_flipped.outputs) {
    const OutputBlock& right = output(expected, flipped.spec.name);
    const OutputBlock& certified = output(as_certified, flipped.spec.name);
    EXPECT_EQ(right.rounded, certified.rounded);
    double furthest = 0;
    for (std::size_t e = 0; e < flipped.value.size(); ++e) {
      const double distance = std::fabs(flipped.value[e] - right.value[e]);
      EXPECT_LE(distance, right.systematic[e]) << flipped.spec.name << " " << e;
      furthest = std::max(furthest, distance / certified.deterministic[e]);
    }
    EXPECT_GT(furthest, 4) << flipped.spec.name;  // far outside of what it would be without the flip
  }
}

TEST(Reference, ARoundingOfTheCollapseThatMayGoEitherWayWidensTheNorm) {
  constexpr std::size_t kHidden = 8;
  Blank delayed("mhc_pre_delayed:bf16:t1:n2:h8:norm=fp32:repeat=1:seed=1");
  std::vector<double> residual(2 * kHidden, 1.0);
  for (std::size_t h = 1; h < kHidden; ++h) residual[h] = 0.25 + 0x1p-6 * static_cast<double>(h);
  delayed.fill("residual", residual);
  delayed.fill("pre_mix", {1 + 0x1p-8, 0x1p-30});
  delayed.fill("norm_weight", {1});
  delayed.fill("fn", {0.1});
  delayed.fill("hc_scale", {1});
  const OutputBlock right = output(delayed.evaluate(), "layer_input");

  Blank collapse("hc_collapse:bf16:t1:n2:h8:seed=1");
  collapse.inputs.at("residual") = delayed.inputs.at("residual");
  collapse.inputs.at("pre_mix") = delayed.inputs.at("pre_mix");
  const OutputBlock collapsed = collapse.evaluate().outputs[0];
  ASSERT_EQ(collapsed.rounded[0], encode<Dtype::bf16>(1 + 0x1p-7));

  Blank norm("rmsnorm:bf16:t1:n1:h8:norm=fp32:seed=1");
  norm.fill("norm_weight", {1});
  for (std::size_t h = 0; h < kHidden; ++h) norm.inputs.at("x").set_bits(h, collapsed.rounded[h]);
  const OutputBlock certified = norm.evaluate().outputs[0];
  EXPECT_EQ(right.rounded, certified.rounded);
  norm.inputs.at("x").set(0, 1.0);
  const OutputBlock flipped = norm.evaluate().outputs[0];
  for (std::size_t h = 0; h < kHidden; ++h) {
    EXPECT_LE(std::fabs(flipped.value[h] - right.value[h]), right.systematic[h]) << h;
    EXPECT_GT(std::fabs(flipped.value[h] - certified.value[h]), 20 * certified.deterministic[h]) << h;
  }
}

TEST(Reference, AnElementThatCannotFlipStaysExactForWhatFollows) {
  Blank fused("mhc_fused_post_pre:bf16:t1:n1:h4:repeat=1:seed=1");
  fused.fill("x", {1, 1.5, 2, 0.75});
  fused.fill("residual", {1});
  fused.fill("post_mix", {1});
  fused.fill("comb_mix", {0x1p-12});  // far from every boundary
  fused.fill("fn", {0.3, -0.1, 0.2, 0.1});
  fused.fill("hc_scale", {1});
  const Block block = fused.evaluate();
  for (const double radius : output(block, "post_mix").deterministic) EXPECT_LT(radius, 1e-5);
}

TEST(Certification, LevelsHaveNamesAndAddUp) {
  EXPECT_EQ(level_name(0), "double");
  EXPECT_EQ(level_name(1), "128 bits");
  EXPECT_EQ(level_name(7), "8192 bits");
  Certification a, b;
  std::iota(a.elements.begin(), a.elements.end(), 1u);
  std::iota(b.elements.begin(), b.elements.end(), 100u);
  a += b;
  for (std::size_t level = 0; level < a.elements.size(); ++level)
    EXPECT_EQ(a.elements[level], 101 + 2 * level);
}

}  // namespace
}  // namespace mhcheck::reference

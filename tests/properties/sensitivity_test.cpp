// Inputs that cannot see a term of the contract are not tests of it. For every operator and everything that
// it depends on there is a regime in which a plausible mistake about it moves some output out of the interval
// that a correct kernel may reach.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "properties/regimes.h"
#include "reference/reference.h"

namespace mhcheck::properties {
namespace {

// ---- What a mistake is ---------------------------------------------------------------------------------

struct Mistake {
  std::string_view what;
  bool (*possible)(const Case&);           // does the case depend on what is mistaken?
  void (*make)(Case&, TensorMap& inputs);  // the case and inputs whose right answer a mistaken kernel gives
  std::string_view seen_in;                // the regime that has to show it
};

void PrintTo(const Mistake& mistake, std::ostream* os) { *os << mistake.what << " in " << mistake.seen_in; }

template <ParameterBit Bit>
bool has(const Case& c) {
  return (row_of(c.problem.op).parameters & Bit) != 0;
}

bool has_norm(const Case& c) { return c.problem.norm_weight.has_value(); }

// A collapse that is rounded, or not, before the norm; the entry forms collapse nothing.
bool has_collapse_before_norm(const Case& c) {
  return has_norm(c) && !row_of(c.problem.op).needs_norm && c.problem.entry == Entry::carried;
}

bool has_tensor(const Case& c, std::string_view name) {
  const std::vector<TensorSpec> specs = input_specs(c.problem);
  return std::ranges::find(specs, name, &TensorSpec::name) != specs.end();
}

// Groups of hc_scale and hc_base: 0 pre, 1 post, 2 comb.
template <std::size_t Group>
bool has_group(const Case& c) {
  return has_tensor(c, "hc_base") && (Group == 0 || c.problem.op != Op::hc_head);
}

template <std::size_t Group>
void leave_out_scale(Case&, TensorMap& inputs) {
  inputs.at("hc_scale").floats()[Group] = 1;
}

template <std::size_t Group>
void leave_out_base(Case& c, TensorMap& inputs) {
  const auto n = static_cast<std::size_t>(c.problem.hc_mult);
  const std::span<float> base = inputs.at("hc_base").floats();
  std::ranges::fill(Group == 2 ? base.subspan(2 * n) : base.subspan(Group * n, n), 0.0f);
}

// A tensor [T,n,n] with its last two axes exchanged.
void transpose(const Case& c, Tensor& tensor) {
  const auto n = static_cast<std::size_t>(c.problem.hc_mult);
  const std::span<float> values = tensor.floats();
  for (std::size_t token = 0; token < values.size(); token += n * n) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) std::swap(values[token + i * n + j], values[token + j * n + i]);
    }
  }
}

void scale_last_split(TensorMap& inputs, float factor) {
  for (const char* name : {"gemm_out_mul", "gemm_out_sqrsum"}) {
    Tensor& parts = inputs.at(name);
    const std::size_t split = parts.size() / static_cast<std::size_t>(parts.shape()[0]);
    for (float& value : parts.floats().last(split)) value *= factor;
  }
}

// Streams 0 and 1 of the residual exchanged in every token.
void swap_streams(Case& c, TensorMap& inputs) {
  const auto H = static_cast<std::size_t>(c.problem.hidden_size);
  const auto n = static_cast<std::size_t>(c.problem.hc_mult);
  const std::span<std::uint16_t> residual = inputs.at("residual").halves();
  for (std::size_t token = 0; token < residual.size(); token += n * H) {
    std::swap_ranges(residual.begin() + static_cast<std::ptrdiff_t>(token),
                     residual.begin() + static_cast<std::ptrdiff_t>(token + H),
                     residual.begin() + static_cast<std::ptrdiff_t>(token + H));
  }
}

// fn with `bits` bits of significand.
void round_fn(TensorMap& inputs, int bits) {
  const std::uint32_t step = 1u << (24 - bits);
  for (float& value : inputs.at("fn").floats()) {
    value = std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + step / 2) & ~(step - 1));
  }
}

void lose_last_term(Case& c, TensorMap& inputs) {
  const auto K = static_cast<std::size_t>(c.problem.hc_hidden_size());
  const std::span<float> fn = inputs.at("fn").floats();
  for (std::size_t end = K; end <= fn.size(); end += K) fn[end - 1] = 0;
}

// clang-format off
const Mistake kMistakes[] = {
    {"rms_eps left out", has<kRmsEps>,
     [](Case& c, TensorMap&) { c.problem.parameters.rms_eps = 0; }, "tiny"},
    {"hc_pre_eps left out", has<kHcPreEps>,
     [](Case& c, TensorMap&) { c.problem.parameters.hc_pre_eps = 0; }, "closed_gates"},
    {"hc_sinkhorn_eps left out", has<kHcSinkhornEps>,
     [](Case& c, TensorMap&) { c.problem.parameters.hc_sinkhorn_eps = 0; }, "strong_logits"},
    {"norm_eps left out", has_norm,
     [](Case& c, TensorMap&) { c.problem.parameters.norm_eps = 0; }, "tiny"},
    {"rms_eps added twice", has<kRmsEps>,
     [](Case& c, TensorMap&) { c.problem.parameters.rms_eps *= 2; }, "tiny"},
    {"norm_eps 1e-5 for 1e-6", has_norm,
     [](Case& c, TensorMap&) { c.problem.parameters.norm_eps = 1e-5f; }, "tiny"},
    {"hc_post_mult_value 1 for 2", has<kHcPostMultValue>,
     [](Case& c, TensorMap&) { c.problem.parameters.hc_post_mult_value = 1; }, "gauss"},
    {"sinkhorn_repeat 19 for 20", has<kSinkhornRepeat>,
     [](Case& c, TensorMap&) { c.problem.parameters.sinkhorn_repeat = 19; }, "strong_logits"},
    {"sinkhorn_repeat 21 for 20", has<kSinkhornRepeat>,
     [](Case& c, TensorMap&) { c.problem.parameters.sinkhorn_repeat = 21; }, "strong_logits"},
    {"hc_scale of pre left out", has_group<0>, leave_out_scale<0>, "gauss"},
    {"hc_scale of post left out", has_group<1>, leave_out_scale<1>, "gauss"},
    {"hc_scale of comb left out", has_group<2>, leave_out_scale<2>, "gauss"},
    {"hc_base of pre left out", has_group<0>, leave_out_base<0>, "gauss"},
    {"hc_base of post left out", has_group<1>, leave_out_base<1>, "gauss"},
    {"hc_base of comb left out", has_group<2>, leave_out_base<2>, "gauss"},
    {"norm_weight left out", has_norm,
     [](Case&, TensorMap& inputs) {
       Tensor& weight = inputs.at("norm_weight");
       for (std::size_t i = 0; i < weight.size(); ++i) weight.set(i, 1);
     }, "gauss"},
    {"pre_mix ignored at a carried entry",
     [](const Case& c) { return row_of(c.problem.op).entries && c.problem.entry == Entry::carried; },
     [](Case& c, TensorMap& inputs) { c.problem.entry = Entry::entry; inputs.erase("pre_mix"); }, "gauss"},
    {"a collapse with even weights at the model's entry",
     [](const Case& c) { return c.problem.entry == Entry::entry; },
     [](Case& c, TensorMap& inputs) {
       c.problem.entry = Entry::carried;
       Tensor pre_mix(Dtype::fp32, {c.problem.num_tokens, c.problem.hc_mult});
       std::ranges::fill(pre_mix.floats(), 1.0f / static_cast<float>(c.problem.hc_mult));
       inputs.emplace("pre_mix", std::move(pre_mix));
     }, "gauss"},
    {"fn_broadcast applied to every stream of the residual",
     [](const Case& c) { return c.problem.entry == Entry::broadcast; },
     [](Case& c, TensorMap& inputs) {
       const auto H = static_cast<std::size_t>(c.problem.hidden_size);
       const auto n = static_cast<std::size_t>(c.problem.hc_mult);
       Tensor fn(Dtype::fp32, {c.problem.hc_mult3(), c.problem.hc_hidden_size()});
       for (std::size_t i = 0; i < fn.size(); ++i) {
         fn.floats()[i] = inputs.at("fn_broadcast").floats()[i / (n * H) * H + i % H];
       }
       c.problem.entry = Entry::entry;
       inputs.erase("x");
       inputs.erase("fn_broadcast");
       inputs.emplace("fn", std::move(fn));
     }, "gauss"},
    {"sum of squares from unrounded values for rounded ones", has_collapse_before_norm,
     [](Case& c, TensorMap&) { c.profile.collapse = CollapseRounding::fp32_sumsq; }, "constant_collapse"},
    {"no rounding before the norm for a rounded collapse", has_collapse_before_norm,
     [](Case& c, TensorMap&) { c.profile.collapse = CollapseRounding::fp32; }, "sparse"},
    {"projection of the unrounded next_residual for the rounded one",
     [](const Case& c) { return row_of(c.problem.op).post_stage && row_of(c.problem.op).projection; },
     [](Case& c, TensorMap&) { c.profile.next_residual = NextResidual::unrounded; }, "sparse"},
    {"squares of the unrounded next_residual for the rounded one",
     [](const Case& c) { return row_of(c.problem.op).post_stage && row_of(c.problem.op).projection; },
     [](Case& c, TensorMap&) { c.profile.next_residual = NextResidual::fp32_sumsq; }, "sparse"},
    {"comb_mix not transposed", [](const Case& c) { return has_tensor(c, "comb_mix"); }, 
     [](Case& c, TensorMap& inputs) { transpose(c, inputs.at("comb_mix")); }, "gauss"},
    {"post_mix left out", [](const Case& c) { return has_tensor(c, "post_mix"); },
     [](Case&, TensorMap& inputs) { std::ranges::fill(inputs.at("post_mix").floats(), 1.0f); }, "gauss"},
    {"streams 0 and 1 of the residual exchanged",
     [](const Case& c) { return has_tensor(c, "residual") && c.problem.entry != Entry::broadcast; },
     swap_streams, "ragged_scales"},
    {"pre_mix of streams 0 and 1 exchanged", [](const Case& c) { return has_tensor(c, "pre_mix"); },
     [](Case& c, TensorMap& inputs) {
       const auto n = static_cast<std::size_t>(c.problem.hc_mult);
       const std::span<float> pre_mix = inputs.at("pre_mix").floats();
       for (std::size_t token = 0; token < pre_mix.size(); token += n) std::swap(pre_mix[token], pre_mix[token + 1]);
     }, "gauss"},
    {"logits transposed", [](const Case& c) { return has_tensor(c, "logits"); }, 
     [](Case& c, TensorMap& inputs) { transpose(c, inputs.at("logits")); }, "gauss"},
    {"the last split of the partial sums lost", [](const Case& c) { return has_tensor(c, "gemm_out_mul"); },
     [](Case&, TensorMap& inputs) { scale_last_split(inputs, 0); }, "gauss"},
    {"the last split of the partial sums added twice",
     [](const Case& c) { return has_tensor(c, "gemm_out_mul"); }, [](Case&, TensorMap& inputs) { scale_last_split(inputs, 2); }, "gauss"},
    {"fn in 8 bits, as one bf16", [](const Case& c) { return has_tensor(c, "fn"); },
     [](Case&, TensorMap& inputs) { round_fn(inputs, 8); }, "sparse"},
    {"fn in 16 bits, as the sum of two bf16, where the sums are outputs",
     [](const Case& c) { return has_tensor(c, "fn") && row_of(c.problem.op).splits; },
     [](Case&, TensorMap& inputs) { round_fn(inputs, 16); }, "sparse"},
    {"the last term of the projection lost", [](const Case& c) { return has_tensor(c, "fn"); },
     lose_last_term, "same_sign"},
};
// clang-format on

// ---- Whether it shows ----------------------------------------------------------------------------------

// The stored values that a correct kernel may give for an element, as positions on the number line; nothing
// where anything is right.
struct Interval {
  std::int64_t low;
  std::int64_t high;
};

std::optional<Interval> interval_of(const reference::OutputBlock& output, std::size_t element) {
  const Dtype dtype = output.spec.dtype;
  const double value = output.value[element], radius = output.probabilistic[element];
  if (std::isnan(value) || !std::isfinite(radius)) return std::nullopt;
  return Interval{ordinal(dtype, encode(dtype, value - radius)),
                  ordinal(dtype, encode(dtype, value + radius))};
}

std::size_t elements_that_tell_apart(const reference::Block& right, const reference::Block& mistaken) {
  EXPECT_EQ(right.outputs.size(), mistaken.outputs.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < right.outputs.size(); ++i) {
    for (std::size_t element = 0; element < right.outputs[i].value.size(); ++element) {
      const auto a = interval_of(right.outputs[i], element), b = interval_of(mistaken.outputs[i], element);
      if (a && b && (a->high < b->low || b->high < a->low)) ++count;
    }
  }
  return count;
}

reference::Block answer(const Case& c, const TensorMap& inputs) {
  const reference::ReferenceOptions options{.independent_roundings =
                                                find_regime(c.regime)->independent_roundings};
  return reference::Reference(c.problem, c.profile, inputs, options).evaluate(0, c.problem.num_tokens);
}

std::size_t elements_that_show(const Mistake& mistake, const Case& c) {
  const TensorMap inputs = make_inputs(c);
  Case mistaken = c;
  TensorMap mistaken_inputs = inputs;
  mistake.make(mistaken, mistaken_inputs);
  return elements_that_tell_apart(answer(c, inputs), answer(mistaken, mistaken_inputs));
}

// Every operator, with each entry form, without a norm and with one.
std::vector<Case> every_kind_of_case(Dtype dtype) {
  std::vector<Case> cases;
  for (const OperatorRow& row : all_operators()) {
    for (const Entry entry : {Entry::carried, Entry::entry, Entry::broadcast}) {
      if (entry != Entry::carried && !row.entries) continue;
      for (const bool norm : {false, true}) {
        if (norm ? !row.fused_norm : row.needs_norm) continue;
        Case c;
        c.problem.op = row.op;
        c.problem.dtype = dtype;
        c.problem.num_tokens = 8;
        c.problem.hidden_size = 320;
        c.problem.entry = entry;
        if (norm) c.problem.norm_weight = Dtype::bf16;
        if (row.splits) c.problem.split_k = 3;
        cases.push_back(c);
      }
    }
  }
  return cases;
}

class Sensitivity : public testing::TestWithParam<Mistake> {};

TEST_P(Sensitivity, TheRegimeShowsTheMistakeInEveryOperatorThatCanMakeIt) {
  const Mistake& mistake = GetParam();
  for (const Dtype dtype : {Dtype::bf16, Dtype::fp16}) {
    std::size_t cases = 0;
    for (Case c : every_kind_of_case(dtype)) {
      if (!mistake.possible(c)) continue;
      ++cases;
      c.regime = mistake.seen_in;
      EXPECT_GT(elements_that_show(mistake, c), 0u) << mistake.what << " is not seen by " << to_descriptor(c);
    }
    EXPECT_GT(cases, 0u) << "no operator can make this mistake";
  }
}

INSTANTIATE_TEST_SUITE_P(Inputs, Sensitivity, testing::ValuesIn(kMistakes));

// gauss shows it in an element here and there; constant_collapse is there to show it beyond doubt.
TEST(SensitivityOfConstantCollapse, IsAQuarterOfTheElements) {
  for (const Dtype dtype : {Dtype::bf16, Dtype::fp16}) {
    for (Case c : every_kind_of_case(dtype)) {
      if (!has_collapse_before_norm(c)) continue;
      c.regime = "constant_collapse";
      const auto* mistake = std::ranges::find(kMistakes, c.regime, &Mistake::seen_in);
      const auto elements = static_cast<std::size_t>(c.problem.num_tokens * c.problem.hidden_size);
      EXPECT_GT(elements_that_show(*mistake, c), elements / 4) << to_descriptor(c);
    }
  }
}

// Two answers of one case must not differ, or every mistake would seem to show.
TEST(SensitivityItself, SeesNothingWhereNothingIsMistaken) {
  const Mistake none{"nothing", [](const Case&) { return true; }, [](Case&, TensorMap&) {}, "gauss"};
  for (const Case& c : every_kind_of_case(Dtype::bf16))
    EXPECT_EQ(elements_that_show(none, c), 0u) << to_descriptor(c);
}

}  // namespace
}  // namespace mhcheck::properties

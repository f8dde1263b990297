// Whatever the order, a correct fp32 evaluation of the projection stays inside the reference's interval; and
// the interval is no wider than it has to be.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/oracle/summation_orders.h"

namespace mhcheck::oracle {
namespace {

struct Data {
  std::string_view name;
  double (*stream)(RandomSource&);
  double (*weight)(RandomSource&);
  // Rounding errors are as good as independent: not where a few numbers repeat.
  bool independent = true;
};

double normal(RandomSource& random) { return random.gauss(); }
double positive(RandomSource& random) { return std::fabs(random.gauss()); }
double massive(RandomSource& random) { return random.gauss() * (random.one_in(50) ? 1e4 : 1); }
double ragged(RandomSource& random) {
  return std::ldexp(random.gauss(), static_cast<int>(random.below(30)) - 15);
}
double alternating(RandomSource& random) {
  return (1 + 0x1p-6 * random.uniform()) * (random.one_in(2) ? 1 : -1);
}
double sparse(RandomSource& random) { return random.one_in(20) ? random.gauss() : 0; }
double three(RandomSource&) { return 3; }
double third(RandomSource&) { return 1.0 / 3; }

constexpr Data kData[] = {
    {"gaussian", normal, normal},
    {"same sign", positive, positive},
    {"massive", massive, normal},
    {"ragged scales", ragged, ragged},
    {"cancelling", alternating, alternating},
    {"sparse", sparse, normal},
    {"constant rows", three, third, false},
};

const Data& data_named(std::string_view name) {
  return *std::find_if(std::begin(kData), std::end(kData),
                       [&](const Data& data) { return data.name == name; });
}

Problem projection_problem(std::int64_t num_tokens, std::int64_t hidden_size) {
  Problem p;
  p.op = Op::mhc_pre_gemm_sqrsum;
  p.num_tokens = num_tokens;
  p.hidden_size = hidden_size;
  return p;
}

TensorMap projection_inputs(const Problem& problem, const Data& data, RandomSource& random) {
  TensorMap inputs;
  for (const TensorSpec& spec : input_specs(problem)) {
    Tensor& tensor = inputs[std::string(spec.name)] = Tensor(spec.dtype, spec.shape);
    const auto number = spec.name == "fn" ? data.weight : data.stream;
    for (std::size_t i = 0; i < tensor.size(); ++i) tensor.set_bits(i, encode(spec.dtype, number(random)));
  }
  return inputs;
}

// Letters, digits and underscores: what names of tests and of their properties may hold.
std::string identifier(std::string text) {
  for (char& c : text) {
    const bool kept = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!kept) c = '_';
  }
  return text;
}

class SummationOrders : public testing::TestWithParam<Data> {};

TEST_P(SummationOrders, NeverLeaveTheProbabilisticInterval) {
  const Data& data = GetParam();
  RandomSource random(11);
  for (const ProductForm& form : all_product_forms()) {
    // A short sum, and one long enough for its roundings to add up.
    for (const auto& [num_tokens, hidden_size] : {std::pair(12, 40), std::pair(2, 1024)}) {
      const Problem p = projection_problem(num_tokens, hidden_size);
      const TensorMap inputs = projection_inputs(p, data, random);
      for (const OrderTightness& seen :
           measure_orders(p, inputs, form, {.independent_roundings = data.independent}, random)) {
        const std::string what = fmt::format("{}{}, {} products, hidden {}", seen.order,
                                             seen.fused ? " fused" : "", form.name, hidden_size);
        fmt::print("{:60} error / bound: {:.4f} probabilistic {:.6f} deterministic\n", what,
                   seen.of_probabilistic, seen.of_deterministic);
        RecordProperty(identifier(what), fmt::format("{:.4f}", seen.of_probabilistic));
        EXPECT_LE(seen.of_probabilistic, 1) << what;
        EXPECT_LE(seen.of_deterministic, 1) << what;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SummationOrders, testing::ValuesIn(kData),
                         [](const auto& test) { return identifier(std::string(test.param.name)); });

TEST(SequentialSummation, ComesWithinAHundredthOfTheBound) {
  RandomSource random(12);
  // The longest sum of production: there the deterministic radius alone would fail this.
  const Problem p = projection_problem(1, 7168);
  const TensorMap inputs = projection_inputs(p, data_named("same sign"), random);
  for (const OrderTightness& seen : measure_orders(p, inputs, all_product_forms()[0], {}, random)) {
    if (seen.order != "sequential") continue;
    EXPECT_GT(seen.of_probabilistic, 0.01) << (seen.fused ? "fused" : "not fused");
  }
}

// An error that no order explains is outside: one product of 4096 left out.
TEST(WrongSums, LeaveTheInterval) {
  constexpr std::size_t kTokens = 3, kLeftOut = 7;
  RandomSource random(13);
  const Problem p = projection_problem(kTokens, 1024);
  TensorMap right = projection_inputs(p, data_named("gaussian"), random);
  const auto K = static_cast<std::size_t>(p.hc_hidden_size()), M = static_cast<std::size_t>(p.hc_mult3());
  for (std::size_t t = 0; t < kTokens; ++t) right.at("residual").set(t * K + kLeftOut, 1);
  TensorMap wrong = right;
  for (std::size_t m = 0; m < M; ++m) {
    right.at("fn").set(m * K + kLeftOut, 1);
    wrong.at("fn").set(m * K + kLeftOut, 0);
  }
  const reference::Reference of_right(p, {}, right), of_wrong(p, {}, wrong);
  const reference::Block expected = of_right.evaluate(0, kTokens), left_out = of_wrong.evaluate(0, kTokens);
  for (std::size_t e = 0; e < kTokens * M; ++e) {
    EXPECT_GT(std::fabs(expected.outputs[0].value[e] - left_out.outputs[0].value[e]),
              expected.outputs[0].probabilistic[e]);
  }
}

}  // namespace
}  // namespace mhcheck::oracle

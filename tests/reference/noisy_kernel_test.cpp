// Whole operators as a kernel runs them whose every operation errs as much as the error model allows: what it
// stores is one of the values that the reference's interval rounds to.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "properties/regimes.h"
#include "reference/acceptance.h"
#include "reference/arithmetic/tracked.h"
#include "reference/base/case.h"
#include "reference/contract.h"
#include "reference/evaluation.h"
#include "reference/reference.h"
#include "tests/reference/random.h"

namespace mhcheck {
namespace {

using error_model::kDivision;
using error_model::kReciprocalRoot;
using error_model::kUnit;
using testing::Random;

// How far the next operation errs, as a share of what it may; of a result.
using Theta = std::function<double(double)>;
thread_local const Theta* theta = nullptr;

double off(double exact, double units) {
  const double result = exact * (1 + (*theta)(exact)*units * kUnit);
  return std::fabs(result) < error_model::kFlush ? 0 : result;
}

// A number of that kernel; in double, whose own rounding is far below u.
struct Noisy {
  double value = 0;
  Noisy() = default;
  explicit Noisy(double v) : value(v) {}
  friend Noisy operator-(Noisy x) { return Noisy(-x.value); }
  friend Noisy operator+(Noisy x, Noisy y) {
    if (x.value == 0 || y.value == 0) return Noisy(x.value + y.value);
    return Noisy(off(x.value + y.value, 1));
  }
  friend Noisy operator-(Noisy x, Noisy y) { return x + (-y); }
  friend Noisy operator*(Noisy x, Noisy y) { return Noisy(off(x.value * y.value, 1)); }
  friend Noisy operator/(Noisy x, Noisy y) { return Noisy(off(x.value / y.value, kDivision)); }
  friend bool operator<(Noisy x, Noisy y) { return x.value < y.value; }
  friend Noisy exp(Noisy x) { return Noisy(off(std::exp(x.value), exp_error(x.value) / kUnit)); }
  friend Noisy divide_by_root(Noisy x, Noisy s) {
    return x * Noisy(off(1 / std::sqrt(s.value), kReciprocalRoot));
  }
};

class NoisyArithmetic {
 public:
  using Scalar = Noisy;
  using Row = std::vector<Noisy>;

  NoisyArithmetic(Dtype storage, Random& random) : storage_(storage), random_(random) {}

  Row combine(std::span<const Noisy> c, std::span<const Row> rows) {
    Row result(rows.front().size());
    for (std::size_t h = 0; h < result.size(); ++h) {
      std::vector<std::size_t> order = shuffled(rows.size());
      for (const std::size_t j : order) result[h] = result[h] + c[j] * rows[j][h];
    }
    return result;
  }
  Row round(const Row& row, contract::RowId) {
    Row result;
    for (const Noisy y : row) result.emplace_back(decode(storage_, encode(storage_, y.value)));
    return result;
  }
  // In any order.
  Noisy dot(const Row& x, const std::function<Noisy(std::size_t)>& factor) {
    Noisy sum;
    for (const std::size_t k : shuffled(x.size())) sum = sum + x[k] * factor(k);
    return sum;
  }
  Noisy mean_square(const Row& row) {
    return dot(row, [&](std::size_t k) { return row[k]; }) / Noisy(static_cast<double>(row.size()));
  }
  Row normalise(const Row& y, const Row& s, Noisy eps, const Row& weight) {
    const Noisy inverse = divide_by_root(Noisy(1.0), mean_square(s) + eps);
    Row result;
    for (std::size_t h = 0; h < y.size(); ++h) result.push_back(y[h] * inverse * weight[h]);
    return result;
  }
  contract::SquareMatrix<Noisy> balance(const contract::SquareMatrix<Noisy>& logits, Noisy eps, int repeat) {
    contract::NoObserver nobody;
    return contract::balance(logits, eps, repeat, nobody);
  }

 private:
  std::vector<std::size_t> shuffled(std::size_t size) {
    std::vector<std::size_t> order(size);
    for (std::size_t k = 0; k < size; ++k) order[k] = k;
    for (std::size_t k = size; k > 1; --k) std::swap(order[k - 1], order[random_.below(k)]);
    return order;
  }

  Dtype storage_;
  Random& random_;
};

// A factor as the multiplier of the profile sees it.
double multiplied(double factor, ProjectionPrecision precision, const Theta& cut) {
  switch (precision) {
    case ProjectionPrecision::fp32:
      return factor;
    case ProjectionPrecision::tf32:
      return factor * (1 + cut(factor) * 0x1p-10);
    case ProjectionPrecision::bf16x2:
      return factor * (1 + cut(factor) * 0x1p-16);
    case ProjectionPrecision::bf16x1:
      return factor * (1 + cut(factor) * 0x1p-8);
  }
  return factor;
}

struct Stored {
  Dtype dtype;
  std::vector<double> numbers;  // before the last rounding
};

// Everything that the noisy kernel gives for one token, in the order of output_specs.
std::vector<Stored> run_noisy(const Case& c, const TensorMap& tensors, std::int64_t t, Random& random) {
  const CaseInputs inputs(c.problem, tensors);
  NoisyArithmetic arithmetic(c.problem.dtype, random);
  contract::Operator<NoisyArithmetic> evaluation(arithmetic, c.problem, c.profile);
  const auto in = token_inputs<NoisyArithmetic>(c.problem, inputs, t, [](const std::vector<double>& values) {
    return std::vector<Noisy>(values.begin(), values.end());
  });
  contract::TokenOutputs<NoisyArithmetic> out;
  evaluation.post_stage(in, out);
  contract::Sums<Noisy> sums;
  sums.terms = mean_terms(c.problem);
  if (row_of(c.problem.op).projection) {
    const std::vector<double> fn = inputs.shared(fn_name(c.problem));
    const auto joined = [](const auto& parts) {
      std::vector<Noisy> all;
      for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
      return all;
    };
    const std::vector<Noisy> x = joined(evaluation.projected()), y = joined(evaluation.squared());
    for (std::size_t first = 0; first < fn.size(); first += x.size()) {
      sums.projection.push_back(arithmetic.dot(
          x, [&](std::size_t k) { return Noisy(multiplied(fn[first + k], c.profile.projection, *theta)); }));
    }
    sums.sqrsum = arithmetic.dot(y, [&](std::size_t k) { return y[k]; });
  }
  if (c.problem.op == Op::mhc_pre_big_fuse) {
    const auto sum_of = [&](const std::string& name, std::size_t e) {
      Noisy sum;
      for (const double partial : inputs.partials(name, t, e)) sum = sum + Noisy(partial);
      return sum;
    };
    for (std::int64_t m = 0; m < c.problem.hc_mult3(); ++m)
      sums.projection.push_back(sum_of("gemm_out_mul", static_cast<std::size_t>(m)));
    sums.sqrsum = sum_of("gemm_out_sqrsum", 0);
  }
  if (needs_mixes(c.problem)) evaluation.mix_stage(in, sums, out);
  evaluation.collapse_stage(in, out);

  std::vector<Stored> result;
  for (const TensorSpec& spec : output_specs(c.problem)) {
    Stored& stored = result.emplace_back(Stored{spec.dtype, {}});
    const Source source = source_of(spec.name);
    if (source == Source::layer_input) {
      for (const Noisy y : *out.layer_input) stored.numbers.push_back(y.value);
    } else if (is_row(source)) {
      for (const auto& row : source == Source::next_residual ? out.next_residual : evaluation.residual()) {
        for (const Noisy y : row) stored.numbers.push_back(y.value);
      }
    } else {
      const std::size_t count = element_count(spec.shape) / static_cast<std::size_t>(c.problem.num_tokens) /
                                (spec.partial_sums ? static_cast<std::size_t>(c.problem.split_k) : 1);
      for (std::size_t e = 0; e < count; ++e)
        stored.numbers.push_back(scalar_of(source, e, out.mixes, sums).value);
    }
  }
  return result;
}

struct Adversary {
  std::string_view name;
  bool independent;  // errors of mean zero, as the probabilistic radius assumes
  Theta (*make)(Random& random);
};
const Adversary kAdversaries[] = {
    {"random", true,
     [](Random& random) -> Theta { return [&random](double) { return random.symmetric(); }; }},
    {"random ends", true,
     [](Random& random) -> Theta { return [&random](double) { return random.sign(); }; }},
    {"away from zero", false, [](Random&) -> Theta { return [](double) { return 1.0; }; }},
    {"towards zero", false, [](Random&) -> Theta { return [](double) { return -1.0; }; }},
    {"up", false, [](Random&) -> Theta { return [](double result) { return result < 0 ? -1.0 : 1.0; }; }},
    {"down", false, [](Random&) -> Theta { return [](double result) { return result < 0 ? 1.0 : -1.0; }; }},
};

const std::string_view kForms[] = {
    "mhc_pre:bf16:t2:n4:h48",
    "mhc_pre:fp16:t2:n3:h40:norm=fp32:collapse=fp32_sumsq",
    "mhc_pre:bf16:t2:n4:h32:norm=bf16:collapse=fp32:proj=tf32",
    "mhc_pre:bf16:t2:n4:h32:norm=bf16:repeat=3:proj=bf16x1",
    "mhc_post:fp16:t2:n8:h40",
    "mhc_fused_post_pre:bf16:t2:n4:h40:norm=bf16",
    "mhc_fused_post_pre:fp16:t2:n2:h48:norm=fp16:next=unrounded:proj=bf16x2",
    "mhc_fused_post_pre:bf16:t2:n4:h32:norm=bf16:next=unrounded:collapse=fp32_sumsq",
    "mhc_pre_delayed:bf16:t2:n4:h48:norm=bf16:repeat=2",
    "mhc_pre_delayed:fp16:t2:n4:h40:entry=broadcast:norm=bf16:repeat=2",
    "mhc_fused_post_pre_delayed:bf16:t2:n4:h40:norm=fp32:collapse=fp32",
    "hc_head:bf16:t2:n4:h64",
    "hc_collapse:bf16:t2:n8:h64",
    "hc_expand:fp16:t2:n3:h16",
    "sinkhorn:bf16:t2:n4:h1",
    "rmsnorm:fp16:t2:n1:h64:norm=bf16",
    "mhc_pre_gemm_sqrsum:bf16:t2:n4:h64:sk2",
    "mhc_pre_big_fuse:bf16:t2:n4:h32:sk5:norm=bf16",
    "mhc_fused_post_pre:bf16:t2:n4:h32:norm=bf16:next=fp32_sumsq:collapse=fp32_sumsq:proj=bf16x2",
    "mhc_fused_post_pre_gemm_sqrsum:bf16:t2:n4:h40:next=unrounded",
    "mhc_fused_post_pre_gemm_sqrsum:fp16:t2:n4:h40:next=fp32_sumsq",
};

TEST(NoisyKernel, StaysInsideTheInterval) {
  Random random(91);
  std::uint64_t bounded = 0, all = 0;
  double worst = 0;
  for (const std::string_view form : kForms) {
    for (const properties::Regime& regime : properties::all_regimes()) {
      const Case c = parse_descriptor(fmt::format("{}:in={}:seed=5", form, regime.name));
      const TensorMap inputs = properties::make_inputs(c);
      const reference::Block block = reference::Reference(c.problem, c.profile, inputs).evaluate(0, 2);
      for (const Adversary& adversary : kAdversaries) {
        const Theta errors = adversary.make(random);
        theta = &errors;
        for (std::int64_t t = 0; t < 2; ++t) {
          const std::vector<Stored> outputs = run_noisy(c, inputs, t, random);
          ASSERT_EQ(outputs.size(), block.outputs.size());
          for (std::size_t o = 0; o < outputs.size(); ++o) {
            const reference::OutputBlock& expected = block.outputs[o];
            ASSERT_EQ(outputs[o].numbers.size(), expected.elements_per_token);
            for (std::size_t i = 0; i < outputs[o].numbers.size(); ++i) {
              const std::size_t e = static_cast<std::size_t>(t) * expected.elements_per_token + i;
              const double value = expected.value[e];
              const double radius =
                  adversary.independent ? expected.probabilistic[e] : expected.deterministic[e];
              ++all;
              if (std::isnan(value) || std::isinf(radius)) continue;
              ++bounded;
              const double got = outputs[o].numbers[i];
              if (radius > 0) worst = std::max(worst, std::fabs(got - value) / radius);
              const Dtype dtype = outputs[o].dtype;
              const reference::Acceptance accepted =
                  reference::accepted(dtype, value, radius, expected.rounded[e]);
              ASSERT_NE(reference::membership(dtype, accepted, encode(dtype, got)),
                        reference::Membership::outside)
                  << to_descriptor(c) << ", " << adversary.name << ", " << expected.spec.name << " " << e
                  << ": got " << got << ", value " << value << ", radius " << radius;
              // Before its last rounding, too: but for the double arithmetic of this test.
              ASSERT_LE(std::fabs(got - value), radius * (1 + 1e-6) + std::fabs(value) * 0x1p-48)
                  << to_descriptor(c) << ", " << adversary.name << ", " << expected.spec.name << " " << e;
            }
          }
        }
      }
    }
  }
  theta = nullptr;
  RecordProperty("worst_share", std::to_string(worst));
  EXPECT_GT(static_cast<double>(bounded), 0.95 * static_cast<double>(all));
  EXPECT_GT(worst, 0.5);
}

}  // namespace
}  // namespace mhcheck

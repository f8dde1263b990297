// Our own HIP kernels on the simulator, against the equations in double precision.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <random>

#include "kernels/manifests/manifest_kernels.h"
#include "kernels/runtime/sim_device.h"
#include "tests/runtime/regions.h"

namespace mhcheck::kernels {
namespace {

constexpr int kN = 4, kM = 24;

ManifestKernels plain_kernels() {
  Manifest manifest = load_manifest(MHCHECK_PLAIN_MANIFEST);
  const auto code_object = code_object_path(manifest, "");
  return {runtime::open_sim(), std::move(manifest), code_object};
}

// Values that separate one tensor, token and stream from another.
TensorMap random_inputs(const Problem& problem, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  TensorMap inputs;
  for (const TensorSpec& spec : input_specs(problem)) {
    Tensor tensor(spec.dtype, spec.shape);
    const double scale = spec.name == "fn" ? 0.05 : 1.0;
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      tensor.set(i, scale * (static_cast<double>(random() >> 11) * 0x1p-52 - 1.0));
    }
    if (spec.name == "gemm_out_sqrsum") {
      for (std::size_t i = 0; i < tensor.size(); ++i) tensor.set(i, std::fabs(tensor.value(i)) + 1);
    }
    inputs.emplace(spec.name, std::move(tensor));
  }
  return inputs;
}

Problem problem_of(Op op, Dtype dtype, std::int64_t tokens, std::int64_t hidden) {
  Problem problem;
  problem.op = op;
  problem.dtype = dtype;
  problem.num_tokens = tokens;
  problem.hidden_size = hidden;
  // All different, so that one in the place of another shows.
  problem.parameters = {.rms_eps = 0.01f,
                        .hc_pre_eps = 0.02f,
                        .hc_sinkhorn_eps = 0.003f,
                        .norm_eps = 0.5f,
                        .hc_post_mult_value = 1.75f,
                        .sinkhorn_repeat = 5};
  return problem;
}

// The error allowed to fp32 evaluation here: far below one step of the storage formats, far above what the
// kernels do.
constexpr double kSlack = 4e-6;

void expect_stored(const Tensor& got, std::size_t index, double exact, double magnitude,
                   const std::string& what) {
  const double allowed =
      (got.dtype() == Dtype::fp32 ? 0 : 0.5 * ulp(got.dtype(), exact)) + kSlack * (magnitude + 1e-3);
  ASSERT_LE(std::fabs(got.value(index) - exact), allowed)
      << what << "[" << index << "]: got " << got.value(index) << ", exact " << exact;
}

void expect_guards_intact(const OutputRegions& outputs) {
  for (const auto& [name, region] : outputs) {
    for (std::size_t i = 0; i < region.guard; ++i) {
      ASSERT_EQ(region.bytes[i], kGuardByte) << name;
      ASSERT_EQ(region.bytes[region.bytes.size() - 1 - i], kGuardByte) << name;
    }
  }
}

struct Sums {
  std::array<double, kM> mul{};
  double square = 0;
};

Sums projection(const Problem& problem, const TensorMap& inputs, std::size_t token) {
  const auto K = static_cast<std::size_t>(problem.hc_hidden_size());
  Sums sums;
  for (std::size_t k = 0; k < K; ++k) {
    const double x = inputs.at("residual").value(token * K + k);
    sums.square += x * x;
    for (std::size_t m = 0; m < kM; ++m) sums.mul[m] += x * inputs.at("fn").value(m * K + k);
  }
  return sums;
}

struct Mixes {
  std::array<double, kN> pre{}, post{};
  std::array<double, kN * kN> comb{};
};

Mixes split(const Problem& problem, const TensorMap& inputs, const Sums& sums) {
  const Parameters& p = problem.parameters;
  const double r =
      1 / std::sqrt(sums.square / static_cast<double>(problem.hc_hidden_size()) + double{p.rms_eps});
  const auto logit = [&](std::size_t m, std::size_t group) {
    return sums.mul[m] * r * inputs.at("hc_scale").value(group) + inputs.at("hc_base").value(m);
  };
  const auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
  Mixes mixes;
  for (std::size_t j = 0; j < kN; ++j) {
    mixes.pre[j] = sigmoid(logit(j, 0)) + double{p.hc_pre_eps};
    mixes.post[j] = sigmoid(logit(kN + j, 1)) * double{p.hc_post_mult_value};
  }
  auto& c = mixes.comb;
  const double eps = p.hc_sinkhorn_eps;
  const auto over = [&](std::size_t index, bool row) {
    double sum = 0;
    for (std::size_t other = 0; other < kN; ++other) {
      sum += row ? c[index / kN * kN + other] : c[other * kN + index % kN];
    }
    return sum;
  };
  const auto divide = [&](bool row, double divisor_eps, double plus) {
    std::array<double, kN * kN> next{};
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = c[i] / (over(i, row) + divisor_eps) + plus;
    c = next;
  };
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = std::exp(logit(2 * kN + i, 2));
  divide(/*row=*/true, 0, eps);
  divide(/*row=*/false, eps, 0);
  for (int round = 1; round < p.sinkhorn_repeat; ++round) {
    divide(/*row=*/true, eps, 0);
    divide(/*row=*/false, eps, 0);
  }
  return mixes;
}

void expect_pre(const Problem& problem, const TensorMap& inputs, const OutputRegions& outputs,
                const std::function<Sums(std::size_t)>& sums_of) {
  const auto T = static_cast<std::size_t>(problem.num_tokens),
             H = static_cast<std::size_t>(problem.hidden_size);
  const Tensor layer_input = output_tensor(problem, outputs, "layer_input");
  for (std::size_t t = 0; t < T; ++t) {
    const Mixes mixes = split(problem, inputs, sums_of(t));
    if (problem.parameters.sinkhorn_repeat != 0) {
      const Tensor post = output_tensor(problem, outputs, "post_mix"),
                   comb = output_tensor(problem, outputs, "comb_mix");
      for (std::size_t j = 0; j < kN; ++j)
        expect_stored(post, t * kN + j, mixes.post[j], mixes.post[j], "post_mix");
      for (std::size_t i = 0; i < kN * kN; ++i) {
        expect_stored(comb, t * kN * kN + i, mixes.comb[i], mixes.comb[i], "comb_mix");
      }
    }
    for (std::size_t h = 0; h < H; ++h) {
      double exact = 0, magnitude = 0;
      for (std::size_t j = 0; j < kN; ++j) {
        const double term = mixes.pre[j] * inputs.at("residual").value((t * kN + j) * H + h);
        exact += term;
        magnitude += std::fabs(term);
      }
      expect_stored(layer_input, t * H + h, exact, magnitude, "layer_input");
    }
  }
}

class PlainKernels : public testing::TestWithParam<std::tuple<Dtype, std::int64_t, std::int64_t>> {
 protected:
  Problem problem(Op op) const {
    const auto& [dtype, tokens, hidden] = GetParam();
    return problem_of(op, dtype, tokens, hidden);
  }
  ManifestKernels kernels = plain_kernels();
};
INSTANTIATE_TEST_SUITE_P(Shapes, PlainKernels,
                         testing::Combine(testing::Values(Dtype::bf16, Dtype::fp16), testing::Values(1, 3),
                                          testing::Values(64, 320, 1088)),
                         [](const auto& row) {
                           return fmt::format("{}_t{}_h{}", name_of(std::get<0>(row.param)),
                                              std::get<1>(row.param), std::get<2>(row.param));
                         });

TEST_P(PlainKernels, MhcPostIsTheContract) {
  const Problem p = problem(Op::mhc_post);
  TensorMap inputs = random_inputs(p, 1);
  const TensorMap before = inputs;
  OutputRegions outputs = poisoned_outputs(p);
  EXPECT_EQ(kernels.run(p, inputs, outputs).launches.size(), 1u);
  EXPECT_EQ(inputs, before);
  expect_guards_intact(outputs);
  const Tensor next = output_tensor(p, outputs, "next_residual");
  const auto T = static_cast<std::size_t>(p.num_tokens), H = static_cast<std::size_t>(p.hidden_size);
  for (std::size_t t = 0; t < T; ++t) {
    for (std::size_t j = 0; j < kN; ++j) {
      for (std::size_t h = 0; h < H; ++h) {
        double exact = inputs.at("post_mix").value(t * kN + j) * inputs.at("x").value(t * H + h);
        double magnitude = std::fabs(exact);
        for (std::size_t i = 0; i < kN; ++i) {
          const double term = inputs.at("comb_mix").value((t * kN + i) * kN + j) *
                              inputs.at("residual").value((t * kN + i) * H + h);
          exact += term;
          magnitude += std::fabs(term);
        }
        expect_stored(next, (t * kN + j) * H + h, exact, magnitude, "next_residual");
      }
    }
  }
}

TEST_P(PlainKernels, MhcPreIsTheContract) {
  const Problem p = problem(Op::mhc_pre);
  TensorMap inputs = random_inputs(p, 2);
  const TensorMap before = inputs;
  OutputRegions outputs = poisoned_outputs(p);
  EXPECT_EQ(kernels.run(p, inputs, outputs).launches.size(), 2u);
  EXPECT_EQ(inputs, before);
  expect_guards_intact(outputs);
  expect_pre(p, inputs, outputs, [&](std::size_t t) { return projection(p, inputs, t); });
}

TEST(PlainKernelsAlone, TheProjectionSumsAreRightForEverySplit) {
  ManifestKernels kernels = plain_kernels();
  for (const int splits : {1, 2, 3, 7, 64, 300}) {  // 300: more than there is K for
    Problem p = problem_of(Op::mhc_pre_gemm_sqrsum, Dtype::bf16, 2, 64);
    p.split_k = splits;
    TensorMap inputs = random_inputs(p, 3);
    OutputRegions outputs = poisoned_outputs(p);
    kernels.run(p, inputs, outputs);
    const Tensor mul = output_tensor(p, outputs, "gemm_out_mul"),
                 square = output_tensor(p, outputs, "gemm_out_sqrsum");
    for (std::size_t t = 0; t < 2; ++t) {
      const Sums exact = projection(p, inputs, t);
      Sums sums;
      for (std::size_t s = 0; s < static_cast<std::size_t>(splits); ++s) {
        for (std::size_t m = 0; m < kM; ++m) sums.mul[m] += mul.value((s * 2 + t) * kM + m);
        sums.square += square.value(s * 2 + t);
      }
      EXPECT_NEAR(sums.square, exact.square, 1e-5 * exact.square) << splits;
      for (std::size_t m = 0; m < kM; ++m) EXPECT_NEAR(sums.mul[m], exact.mul[m], 1e-5) << splits;
    }
  }
}

TEST(PlainKernelsAlone, TheSecondLaunchAddsAllSplits) {
  ManifestKernels kernels = plain_kernels();
  Problem p = problem_of(Op::mhc_pre_big_fuse, Dtype::fp16, 3, 128);
  p.split_k = 5;
  TensorMap inputs = random_inputs(p, 4);
  OutputRegions outputs = poisoned_outputs(p);
  kernels.run(p, inputs, outputs);
  expect_pre(p, inputs, outputs, [&](std::size_t t) {
    Sums sums;
    for (std::size_t s = 0; s < 5; ++s) {
      for (std::size_t m = 0; m < kM; ++m)
        sums.mul[m] += inputs.at("gemm_out_mul").value((s * 3 + t) * kM + m);
      sums.square += inputs.at("gemm_out_sqrsum").value(s * 3 + t);
    }
    return sums;
  });
}

TEST(PlainKernelsAlone, HeadModeReturnsTheCollapseAlone) {
  ManifestKernels kernels = plain_kernels();
  Problem p = problem_of(Op::mhc_pre, Dtype::bf16, 2, 64);
  p.parameters.sinkhorn_repeat = 0;
  TensorMap inputs = random_inputs(p, 5);
  OutputRegions outputs = poisoned_outputs(p);
  ASSERT_EQ(outputs.size(), 1u);
  kernels.run(p, inputs, outputs);
  expect_pre(p, inputs, outputs, [&](std::size_t t) { return projection(p, inputs, t); });
}

TEST(PlainKernelsAlone, NoTokensAreNoLaunches) {
  ManifestKernels kernels = plain_kernels();
  for (const Op op : {Op::mhc_post, Op::mhc_pre, Op::mhc_pre_gemm_sqrsum, Op::mhc_pre_big_fuse}) {
    const Problem p = problem_of(op, Dtype::bf16, 0, 64);
    TensorMap inputs = random_inputs(p, 6);
    OutputRegions outputs = poisoned_outputs(p);
    EXPECT_EQ(kernels.run(p, inputs, outputs).launches.size(), 0u);
    expect_guards_intact(outputs);
  }
}

TEST(PlainKernelsAlone, ATokenGivesTheSameBitsInAnyBatch) {
  ManifestKernels kernels = plain_kernels();
  const Problem many = problem_of(Op::mhc_pre, Dtype::bf16, 4, 320);
  TensorMap inputs = random_inputs(many, 7);
  OutputRegions outputs = poisoned_outputs(many);
  kernels.run(many, inputs, outputs);
  const Problem one = problem_of(Op::mhc_pre, Dtype::bf16, 1, 320);
  TensorMap last = inputs;
  last.at("residual") = Tensor(Dtype::bf16, {1, kN, 320});
  for (std::size_t i = 0; i < kN * 320; ++i) {
    last.at("residual").set_bits(i, inputs.at("residual").bits(3 * kN * 320 + i));
  }
  OutputRegions alone = poisoned_outputs(one);
  kernels.run(one, last, alone);
  for (const char* name : {"post_mix", "comb_mix", "layer_input"}) {
    const Tensor from_one = output_tensor(one, alone, name), from_many = output_tensor(many, outputs, name);
    for (std::size_t i = 0; i < from_one.size(); ++i) {
      ASSERT_EQ(from_one.bits(i), from_many.bits(from_many.size() - from_one.size() + i)) << name;
    }
  }
}

TEST(PlainKernelsAlone, ShapesThatTheKernelsDoNotHaveAreRefused) {
  const ManifestKernels kernels = plain_kernels();
  Problem p = problem_of(Op::mhc_pre, Dtype::bf16, 1, 64);
  EXPECT_EQ(kernels.why_refused(p), "");
  p.hc_mult = 2;
  EXPECT_EQ(kernels.why_refused(p), "the kernels have 4 streams (hc_mult == 4)");
  p.hc_mult = 4;
  p.norm_weight = Dtype::bf16;
  EXPECT_EQ(kernels.why_refused(p), "the kernels have no fused rmsnorm (norm_weight == none)");
}

}  // namespace
}  // namespace mhcheck::kernels

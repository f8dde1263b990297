// Our own HIP kernels as gfx950 machine code on the simulator: every operator in every variant is judged as
// `mhcheck run` judges it, and holds what the contract asks beside the numbers. What the compiler made of
// them is looked at as well.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "conformance/guarded_output.h"
#include "conformance/judge_case.h"
#include "kernels/codeobject/code_object.h"
#include "kernels/manifests/manifest_kernels.h"
#include "kernels/runtime/sim_device.h"
#include "properties/regimes.h"

namespace mhcheck::conformance {
namespace {

using kernels::Manifest;
using kernels::ManifestKernels;

const Manifest& manifest() {
  static const Manifest loaded = kernels::load_manifest(MHCHECK_GFX950_MANIFEST);
  return loaded;
}

ManifestKernels make_kernels(const std::string& variant, const simulator::Options& options = {}) {
  return {runtime::open_sim(options), manifest(), kernels::code_object_path(manifest(), {}), variant};
}

// ---- One run, and its verdict ----

struct Outcome {
  kernels::RunReport report;
  kernels::OutputRegions outputs;
};

Outcome run(ManifestKernels& kernels, const Case& c, const TensorMap& inputs) {
  Outcome outcome;
  outcome.outputs = poisoned_outputs(c.problem);
  TensorMap kernel_inputs = inputs;
  outcome.report = kernels.run(c.problem, kernel_inputs, outcome.outputs);
  EXPECT_EQ(kernel_inputs, inputs) << "an input has changed";
  for (const auto& [name, region] : outcome.outputs) EXPECT_FALSE(guard_damage(region)) << name;
  return outcome;
}

std::span<const std::byte> payload(const Outcome& outcome, const std::string& name) {
  return outcome.outputs.at(name).payload();
}

void expect_conforms(const Case& c, const TensorMap& inputs, const Outcome& outcome) {
  StoredOutputs stored;
  for (const auto& [name, region] : outcome.outputs) stored.emplace(name, region.payload());
  for (const OutputVerdict& verdict : judge_outputs(c, inputs, stored, Threads::one).outputs) {
    for (const Finding& finding : verdict.findings) {
      ADD_FAILURE() << fmt::format(
          "{}: {}: {} x {}{}", to_descriptor(c), verdict.name, finding.count, row_of(finding.kind).name,
          finding.worst ? fmt::format(", the worst is {} for {} at element {}", finding.worst->got,
                                      finding.worst->exact, finding.worst->flat)
                        : std::string());
    }
  }
}

// ---- Cases ----

struct OperatorVariant {
  Op op;
  std::string variant;
};

std::vector<OperatorVariant> every_variant() {
  std::vector<OperatorVariant> all;
  for (const kernels::OperatorEntry& entry : manifest().operators) {
    for (const kernels::Variant& variant : entry.variants) all.push_back({entry.op, variant.name});
  }
  return all;
}

// Walks through formats of the norm weight, entry forms, splits, parameters and regimes as `index` grows.
Case case_of(const ManifestKernels& kernels, Op op, Dtype dtype, std::int64_t tokens, std::int64_t hidden,
             std::size_t index) {
  const OperatorRow& row = row_of(op);
  Case c;
  Problem& p = c.problem;
  p.op = op;
  p.dtype = dtype;
  p.num_tokens = tokens;
  p.hidden_size = hidden;
  if (row.fused_norm) {
    if (index % 4 != 0) p.norm_weight = kAllDtypes[index % 4 - 1];
    if (row.needs_norm && !p.norm_weight) p.norm_weight = Dtype::bf16;
  }
  if (row.entries) p.entry = std::array{Entry::carried, Entry::entry, Entry::broadcast}[index % 3];
  if (row.splits) p.split_k = std::array{1, 2, 5, 64}[index % 4];
  // All different, so that one in the place of another shows.
  p.parameters = {.rms_eps = 0.01f,
                  .hc_pre_eps = 0.02f,
                  .hc_sinkhorn_eps = 0.003f,
                  .norm_eps = 0.5f,
                  .hc_post_mult_value = 1.75f,
                  .sinkhorn_repeat = std::array{20, 1, 5}[index % 3]};
  c.profile = kernels.profile(op);
  const auto regimes = properties::all_regimes();
  c.regime = std::string(regimes[index % regimes.size()].name);
  return parse_descriptor(to_descriptor(c));  // without what the operator does not depend on
}

Case case_of(const ManifestKernels& kernels, Op op, Dtype dtype, std::int64_t tokens, std::int64_t hidden) {
  Case c = case_of(kernels, op, dtype, tokens, hidden, /*index=*/1);
  c.regime = "gauss";
  return c;
}

class EveryKernel : public testing::TestWithParam<OperatorVariant> {
 protected:
  Op op() const { return GetParam().op; }
  const std::string& variant() const { return GetParam().variant; }
};
INSTANTIATE_TEST_SUITE_P(Hip, EveryKernel, testing::ValuesIn(every_variant()), [](const auto& test) {
  return fmt::format("{}_{}", row_of(test.param.op).name, test.param.variant);
});

// Less than the columns of a step; ragged, whole in eights and odd; more than one split and a ragged one.
constexpr std::int64_t kHiddenSizes[] = {8, 64, 77, 200, 320, 1088};
// A tile of tokens begun, filled and exceeded, of 16 and of 64.
constexpr std::int64_t kTokenCounts[] = {1, 3, 17, 70};

TEST_P(EveryKernel, Conforms) {
  ManifestKernels kernels = make_kernels(variant());
  std::size_t index = 0;
  for (const Dtype dtype : {Dtype::bf16, Dtype::fp16}) {
    for (const std::int64_t hidden : kHiddenSizes) {
      for (const std::int64_t tokens : kTokenCounts) {
        const Case c = case_of(kernels, op(), dtype, tokens, hidden, index++);
        ASSERT_EQ(kernels.why_refused(c.problem), "");
        const TensorMap inputs = properties::make_inputs(c);
        expect_conforms(c, inputs, run(kernels, c, inputs));
      }
    }
  }
}

TEST_P(EveryKernel, ConformsHoweverTheHardwareRounds) {
  for (const auto accumulation : {simulator::MfmaAccumulation::kCdna3, simulator::MfmaAccumulation::kExact}) {
    simulator::Options options;
    options.mfma_accumulation = accumulation;
    options.transcendentals = simulator::Transcendentals::kPerturbed;
    ManifestKernels kernels = make_kernels(variant(), options);
    for (const Dtype dtype : {Dtype::bf16, Dtype::fp16}) {
      const Case c = case_of(kernels, op(), dtype, /*tokens=*/9, /*hidden=*/768);
      const TensorMap inputs = properties::make_inputs(c);
      expect_conforms(c, inputs, run(kernels, c, inputs));
    }
  }
}

TEST_P(EveryKernel, LaunchesNothingForNoTokens) {
  ManifestKernels kernels = make_kernels(variant());
  for (const Dtype dtype : {Dtype::bf16, Dtype::fp16}) {
    const Case c = case_of(kernels, op(), dtype, /*tokens=*/0, /*hidden=*/64);
    EXPECT_TRUE(run(kernels, c, properties::make_inputs(c)).report.launches.empty());
  }
}

TEST_P(EveryKernel, TakesNoMoreLaunchesThanProductionDoes) {
  const bool is_split = op() == Op::mhc_pre || op() == Op::mhc_fused_post_pre ||
                        op() == Op::mhc_pre_delayed || op() == Op::mhc_fused_post_pre_delayed;
  ManifestKernels kernels = make_kernels(variant());
  for (const std::int64_t tokens : kTokenCounts) {
    const Case c = case_of(kernels, op(), Dtype::bf16, tokens, /*hidden=*/64);
    EXPECT_EQ(run(kernels, c, properties::make_inputs(c)).report.launches.size(), is_split ? 2u : 1u)
        << tokens;
  }
}

TEST_P(EveryKernel, GivesTheSameBitsOnEverySchedule) {
  ManifestKernels in_order = make_kernels(variant());
  const Case c = case_of(in_order, op(), Dtype::bf16, /*tokens=*/5, /*hidden=*/640);
  const TensorMap inputs = properties::make_inputs(c);
  const Outcome expected = run(in_order, c, inputs);
  for (const std::uint64_t seed : {1, 2, 3}) {
    simulator::Options options;
    options.seed = seed;
    ManifestKernels interleaved = make_kernels(variant(), options);
    const Outcome got = run(interleaved, c, inputs);
    for (const auto& [name, region] : expected.outputs) {
      EXPECT_THAT(payload(got, name), testing::ElementsAreArray(payload(expected, name))) << name << seed;
    }
  }
}

// ---- Tokens are independent ----

bool is_by_token(const TensorSpec& spec, std::int64_t tokens) {
  return spec.shape[spec.partial_sums ? 1 : 0] == tokens;
}

// The rows of the given tokens, in that order.
Tensor rows_of(const Tensor& tensor, const TensorSpec& spec, const std::vector<std::size_t>& tokens) {
  const auto T = static_cast<std::size_t>(spec.shape[spec.partial_sums ? 1 : 0]);
  const std::size_t parts = spec.partial_sums ? static_cast<std::size_t>(spec.shape[0]) : 1;
  const std::size_t row = tensor.size() / (T * parts);
  Extents shape = spec.shape;
  shape[spec.partial_sums ? 1 : 0] = static_cast<std::int64_t>(tokens.size());
  Tensor result(tensor.dtype(), shape);
  std::size_t to = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    for (const std::size_t token : tokens) {
      for (std::size_t i = 0; i < row; ++i) {
        result.set_bits(to++, tensor.bits((part * T + token) * row + i));
      }
    }
  }
  return result;
}

Tensor output_of(const Outcome& outcome, const TensorSpec& spec) {
  Tensor tensor(spec.dtype, spec.shape);
  const auto bytes = payload(outcome, std::string(spec.name));
  std::copy(bytes.begin(), bytes.end(), tensor.bytes().begin());
  return tensor;
}

TEST_P(EveryKernel, ATokenHasTheSameBitsInAnyBatchAtAnyPlace) {
  ManifestKernels kernels = make_kernels(variant());
  ASSERT_TRUE(kernels.batch_invariant(op()));
  constexpr std::int64_t kMany = 67;  // no other extent of a tensor
  const Case many = case_of(kernels, op(), Dtype::bf16, kMany, /*hidden=*/320);
  const TensorMap inputs = properties::make_inputs(many);
  const Outcome all = run(kernels, many, inputs);

  for (const std::vector<std::size_t>& tokens :
       {std::vector<std::size_t>{66}, {5}, {63, 2, 66, 64, 15, 16, 0}}) {
    Case few = many;
    few.problem.num_tokens = static_cast<std::int64_t>(tokens.size());
    TensorMap their_inputs = inputs;
    for (const TensorSpec& spec : input_specs(many.problem)) {
      if (is_by_token(spec, kMany)) {
        their_inputs.at(std::string(spec.name)) = rows_of(inputs.at(std::string(spec.name)), spec, tokens);
      }
    }
    const Outcome theirs = run(kernels, few, their_inputs);
    const std::vector<TensorSpec> specs = output_specs(many.problem), few_specs = output_specs(few.problem);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      EXPECT_EQ(output_of(theirs, few_specs[i]), rows_of(output_of(all, specs[i]), specs[i], tokens))
          << specs[i].name << " of tokens " << fmt::to_string(fmt::join(tokens, ", "));
    }
  }
}

TEST_P(EveryKernel, NanAndInfinityStayInTheirToken) {
  ManifestKernels kernels = make_kernels(variant());
  constexpr std::int64_t kMany = 67;
  constexpr std::size_t kNan = 3, kInfinite = 20;
  const Case c = case_of(kernels, op(), Dtype::bf16, kMany, /*hidden=*/320);
  const TensorMap clean = properties::make_inputs(c);
  TensorMap spoilt = clean;
  for (const TensorSpec& spec : input_specs(c.problem)) {
    if (!is_by_token(spec, kMany)) continue;
    Tensor& tensor = spoilt.at(std::string(spec.name));
    const std::size_t row = element_count(spec.shape) / static_cast<std::size_t>(kMany) /
                            (spec.partial_sums ? static_cast<std::size_t>(spec.shape[0]) : 1);
    for (std::size_t i = 0; i < row; ++i) {
      tensor.set(kNan * row + i, std::numeric_limits<double>::quiet_NaN());
      tensor.set(kInfinite * row + i, std::numeric_limits<double>::infinity());
    }
  }
  std::vector<std::size_t> others;
  for (std::size_t token = 0; token < static_cast<std::size_t>(kMany); ++token) {
    if (token != kNan && token != kInfinite) others.push_back(token);
  }
  const Outcome expected = run(kernels, c, clean), got = run(kernels, c, spoilt);
  for (const TensorSpec& spec : output_specs(c.problem)) {
    EXPECT_EQ(rows_of(output_of(got, spec), spec, others), rows_of(output_of(expected, spec), spec, others))
        << spec.name;
  }
}

TEST(HipKernels, TileSizesGiveTheSameBits) {
  ManifestKernels small = make_kernels("fp32_tile16"), large = make_kernels("fp32_tile64"),
                  by_tokens = make_kernels("fp32");
  for (const std::int64_t tokens : {1, 70}) {
    const Case c = case_of(small, Op::mhc_pre_gemm_sqrsum, Dtype::bf16, tokens, /*hidden=*/640);
    const TensorMap inputs = properties::make_inputs(c);
    const Outcome expected = run(small, c, inputs);
    for (ManifestKernels* kernels : {&large, &by_tokens}) {
      const Outcome got = run(*kernels, c, inputs);
      for (const TensorSpec& spec : output_specs(c.problem)) {
        EXPECT_EQ(output_of(got, spec), output_of(expected, spec)) << kernels->name() << " " << spec.name;
      }
    }
  }
}

TEST(HipKernels, HeadModeStoresTheCollapseAlone) {
  ManifestKernels kernels = make_kernels("fp32"), fuse = make_kernels("default");
  for (const Op op : {Op::mhc_pre, Op::mhc_fused_post_pre, Op::mhc_pre_big_fuse}) {
    ManifestKernels& its = op == Op::mhc_pre_big_fuse ? fuse : kernels;
    Case c = case_of(its, op, Dtype::bf16, /*tokens=*/3, /*hidden=*/320);
    c.problem.parameters.sinkhorn_repeat = 0;
    const TensorMap inputs = properties::make_inputs(c);
    const Outcome outcome = run(its, c, inputs);
    EXPECT_FALSE(outcome.outputs.contains("comb_mix"));
    expect_conforms(c, inputs, outcome);
  }
}

// ---- Limits ----

TEST_P(EveryKernel, RefusesWhatItDoesNotHave) {
  const ManifestKernels kernels = make_kernels(variant());
  const Problem good = case_of(kernels, op(), Dtype::bf16, /*tokens=*/1, /*hidden=*/64).problem;
  const auto refusal = [&](const auto& change) {
    Problem problem = good;
    change(problem);
    return kernels.why_refused(problem);
  };
  using testing::HasSubstr;
  EXPECT_EQ(refusal([](Problem&) {}), "");
  if (row_of(op()).streams) {
    for (const int streams : {1, 3, 5, 8}) {
      EXPECT_THAT(refusal([&](Problem& p) { p.hc_mult = streams; }), HasSubstr("the kernels have 4 streams"));
    }
  }
  EXPECT_THAT(refusal([](Problem& p) { p.num_tokens = std::int64_t{1} << 31; }), HasSubstr("num_tokens"));
  if (good.norm_weight) {
    EXPECT_EQ(refusal([](Problem& p) { p.hidden_size = 16384; }), "");
    EXPECT_THAT(refusal([](Problem& p) { p.hidden_size = 16385; }), HasSubstr("hidden_size <= 16384"));
  } else if (op() != Op::sinkhorn) {
    EXPECT_EQ(refusal([](Problem& p) { p.hidden_size = 1048576; }), "");
    EXPECT_THAT(refusal([](Problem& p) { p.hidden_size = 1048577; }), HasSubstr("hidden_size <= 1048576"));
  }
}

// ---- What the compiler made ----

std::vector<codeobject::Kernel> compiled_kernels() {
  const auto objects = codeobject::load_code_objects(kernels::code_object_path(manifest(), {}));
  EXPECT_EQ(objects.size(), 1u);
  return objects.front().kernels();
}

TEST(HipKernels, NeedNoScratch) {
  for (const codeobject::Kernel& kernel : compiled_kernels()) {
    EXPECT_EQ(kernel.descriptor.private_segment_fixed_size, 0u) << kernel.name;
    EXPECT_FALSE(kernel.uses_dynamic_stack) << kernel.name;
    EXPECT_EQ(kernel.vgpr_spills, 0u) << kernel.name;
    EXPECT_EQ(kernel.sgpr_spills, 0u) << kernel.name;
  }
}

// Two waves of a SIMD at least: 512 registers are shared.
TEST(HipKernels, LeaveRegistersForASecondWave) {
  for (const codeobject::Kernel& kernel : compiled_kernels())
    EXPECT_LE(kernel.vgpr_count, 256u) << kernel.name;
}

// No kernel is there that no manifest launches, and the CUDA build has the same.
TEST(HipKernels, AreLaunchedAllAndBuiltForNvidiaToo) {
  std::set<std::string> launched, compiled, in_ptx;
  for (const kernels::OperatorEntry& entry : manifest().operators) {
    for (const kernels::Variant& variant : entry.variants) {
      for (const kernels::LaunchStep& step : variant.launches) launched.insert(step.kernel);
    }
  }
  for (const codeobject::Kernel& kernel : compiled_kernels()) compiled.insert(kernel.name);
  EXPECT_EQ(launched, compiled);

  const Manifest for_nvidia = kernels::load_manifest(MHCHECK_SM_90_MANIFEST);
  EXPECT_EQ(for_nvidia.target, "sm_90");
  const std::vector<std::byte> file = codeobject::read_file(kernels::code_object_path(for_nvidia, {}));
  const std::string_view ptx(reinterpret_cast<const char*>(file.data()), file.size());
  constexpr std::string_view kEntry = ".visible .entry ";
  for (std::size_t at = ptx.find(kEntry); at != std::string_view::npos; at = ptx.find(kEntry, at + 1)) {
    const std::size_t name = at + kEntry.size();
    in_ptx.insert(std::string(ptx.substr(name, ptx.find('(', name) - name)));
  }
  EXPECT_EQ(in_ptx, compiled);
}

}  // namespace
}  // namespace mhcheck::conformance

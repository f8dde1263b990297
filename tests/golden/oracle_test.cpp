// The reference against answers that were computed without it: every file of tests/data/oracle, or of the
// folder that the environment variable MHCHECK_ORACLE_DIR names, whatever files are there.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "golden/safetensors.h"
#include "reference/reference.h"
#include "tests/golden/oracle_case.h"

namespace mhcheck::golden {
namespace {

using testing::IsEmpty;

// How far the reference's value, before its rounding, may be from the oracle's: what it promises, a share of
// its deterministic radius.
constexpr double kValueTolerance = 0x1p-20;

// ---- Comparison -------------------------------------------------------------------------------------------

struct Agreement {
  std::size_t outputs = 0;
  std::size_t elements = 0;
  // One line each.
  std::vector<std::string> of_stored_bits;
  std::vector<std::string> of_values_before_rounding;
};

void compare_output(SafetensorsReader& reader, const reference::OutputBlock& output, Agreement& agreement) {
  const std::string name(output.spec.name);
  const Tensor right = reader.read("out." + name);
  const std::vector<double> exact_hi = reader.read_doubles("exact_hi." + name);
  const std::vector<double> exact_lo = reader.read_doubles("exact_lo." + name);
  const auto disagree = [&](std::vector<std::string>& about, const std::string& how) {
    about.push_back(fmt::format("{}: out.{}: {}", reader.file(), name, how));
  };
  if (right.dtype() != output.spec.dtype || right.size() != output.rounded.size() ||
      exact_hi.size() != right.size() || exact_lo.size() != right.size()) {
    disagree(agreement.of_stored_bits,
             fmt::format("is {} {}, computed are {} elements of {}", name_of(right.dtype()),
                         to_string(right.shape()), output.rounded.size(), name_of(output.spec.dtype)));
    return;
  }
  ++agreement.outputs;
  agreement.elements += right.size();
  for (std::size_t e = 0; e < right.size(); ++e) {
    if (output.rounded[e] != right.bits(e)) {
      disagree(agreement.of_stored_bits,
               fmt::format("element {} is {}, computed is {}", e, hex_bits(right.dtype(), right.bits(e)),
                           hex_bits(right.dtype(), output.rounded[e])));
    }
    // The first difference is exact or far above the tolerance.
    const double error = std::fabs((output.value[e] - exact_hi[e]) - exact_lo[e]);
    if (!(error <= kValueTolerance * output.deterministic[e])) {
      disagree(agreement.of_values_before_rounding,
               fmt::format("element {} is {:.17g} before rounding, computed is {:.17g}", e, exact_hi[e],
                           output.value[e]));
    }
  }
}

Agreement compare(SafetensorsReader& reader, const OracleCase& oracle) {
  const reference::Reference reference(oracle.problem, oracle.profile, oracle.inputs);
  const reference::Block block = reference.evaluate(0, oracle.problem.num_tokens);
  Agreement agreement;
  for (const reference::OutputBlock& output : block.outputs) compare_output(reader, output, agreement);
  for (const auto& [name, stored] : reader.tensors()) {
    const bool computed = std::any_of(block.outputs.begin(), block.outputs.end(),
                                      [&](const auto& output) { return name.substr(4) == output.spec.name; });
    if (name.starts_with("out.") && !computed) {
      agreement.of_stored_bits.push_back(fmt::format("{}: {} is not computed", reader.file(), name));
    }
  }
  return agreement;
}

// Runs `check` on the agreement of every file.
template <class Check>
void with_every_file(Check check) {
  const std::vector<std::filesystem::path> files = oracle_files();
  ASSERT_FALSE(files.empty()) << "no oracle file was found";
  std::size_t elements = 0;
  for (const std::filesystem::path& file : files) {
    SCOPED_TRACE(file.string());
    SafetensorsReader reader(file);
    const Agreement agreement = compare(reader, read_oracle_case(reader));
    check(agreement);
    EXPECT_GT(agreement.outputs, 0u);
    EXPECT_GT(agreement.elements, 0u);
    elements += agreement.elements;
  }
  fmt::print("{} files, {} elements\n", files.size(), elements);
}

TEST(Oracle, EveryFileAgreesBitForBit) {
  with_every_file([](const Agreement& agreement) { EXPECT_THAT(agreement.of_stored_bits, IsEmpty()); });
}

TEST(Oracle, EveryValueBeforeRoundingAgrees) {
  with_every_file(
      [](const Agreement& agreement) { EXPECT_THAT(agreement.of_values_before_rounding, IsEmpty()); });
}

// ---- The comparison sees what it should -------------------------------------------------------------------

// What the comparison says of a file when the case is changed by `change` before it is computed.
template <class Change>
std::size_t disagreements(const char* file, Change change) {
  SafetensorsReader reader(std::filesystem::path(MHCHECK_ORACLE_DATA) / file);
  OracleCase oracle = read_oracle_case(reader);
  change(oracle);
  const Agreement agreement = compare(reader, oracle);
  return agreement.of_stored_bits.size() + agreement.of_values_before_rounding.size();
}

TEST(Oracle, AnotherProfileDisagrees) {
  EXPECT_GT(disagreements("pre_norm_storage.safetensors",
                          [](OracleCase& oracle) { oracle.profile.collapse = CollapseRounding::fp32_sumsq; }),
            0u);
  EXPECT_GT(disagreements("pre_norm_fp32_sumsq.safetensors",
                          [](OracleCase& oracle) { oracle.profile.collapse = CollapseRounding::fp32; }),
            0u);
  EXPECT_GT(disagreements("fused_rounded.safetensors",
                          [](OracleCase& oracle) { oracle.profile.next_residual = NextResidual::unrounded; }),
            0u);
}

TEST(Oracle, AnyOtherParameterDisagrees) {
  const auto with = [](auto member) {
    return [member](OracleCase& oracle) { oracle.problem.parameters.*member *= 1.5f; };
  };
  EXPECT_GT(disagreements("pre_tiny_fp16.safetensors", with(&Parameters::rms_eps)), 0u);
  EXPECT_GT(disagreements("pre_norm_fp32.safetensors", with(&Parameters::hc_pre_eps)), 0u);
  EXPECT_GT(disagreements("pre_norm_fp32.safetensors", with(&Parameters::hc_sinkhorn_eps)), 0u);
  EXPECT_GT(disagreements("pre_zero_norm.safetensors", with(&Parameters::norm_eps)), 0u);
  EXPECT_GT(disagreements("pre_norm_fp32.safetensors", with(&Parameters::hc_post_mult_value)), 0u);
  EXPECT_GT(disagreements("pre_strong.safetensors",
                          [](OracleCase& oracle) { ++oracle.problem.parameters.sinkhorn_repeat; }),
            0u);
}

TEST(Oracle, OneBitOfAnInputDisagrees) {
  EXPECT_GT(disagreements("post.safetensors",
                          [](OracleCase& oracle) {
                            Tensor& comb = oracle.inputs.at("comb_mix");
                            comb.set_bits(0, comb.bits(0) ^ 1u);
                          }),
            0u);
}

}  // namespace
}  // namespace mhcheck::golden

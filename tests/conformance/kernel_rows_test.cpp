// The rows of the registry and of brought kernels: what they are called, and how they are asked for again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "conformance/guarded_output.h"
#include "conformance/kernel_registry.h"
#include "conformance/manifest_rows.h"
#include "conformance/runner.h"
#include "kernels/manifests/manifest.h"
#include "properties/regimes.h"

namespace mhcheck::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names_of(const std::vector<KernelRow>& rows) {
  std::vector<std::string> names;
  for (const KernelRow& row : rows) names.push_back(row.name);
  return names;
}

template <class Call>
std::string unknown_name(Call call) {
  try {
    call();
  } catch (const UnknownName& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Registry, DevicesAreTheHostAndEveryProvider) {
  std::vector<std::string_view> names;
  for (const DeviceRow& row : all_devices()) names.push_back(row.name);
  EXPECT_THAT(names, ElementsAre("host", "sim", "hip", "cuda"));
  EXPECT_THAT(unknown_name([] { kernels_of("abacus"); }), HasSubstr("there are host, sim, hip, cuda"));
  for (const DeviceRow& row : all_devices()) EXPECT_FALSE(kernels_of(row.name).empty()) << row.name;
}

TEST(Registry, TheRepeatCommandNamesWhatIsNotTheDefault) {
  const Case c = parse_descriptor("mhc_post:bf16:t3:n4:h512:seed=7");
  const auto repeat = [&](std::string_view name, std::string_view device, std::uint64_t seed) {
    simulator::Options simulation;
    simulation.seed = seed;
    return repeat_command(c, kernel_named(name, kernels_of(device, simulation)));
  };
  EXPECT_EQ(repeat("host", "host", 0), "mhcheck repro 'mhc_post:bf16:t3:n4:h512:seed=7'");
  EXPECT_EQ(repeat("mhc", "sim", 0),
            "mhcheck repro 'mhc_post:bf16:t3:n4:h512:seed=7' --kernel mhc --device sim");
  EXPECT_EQ(repeat("mhc", "sim", 5),
            "mhcheck repro 'mhc_post:bf16:t3:n4:h512:seed=7' --kernel mhc --device sim --schedule-seed 5");
}

BroughtKernels own_manifest() {
  return {.manifest = MHCHECK_GFX950_MANIFEST,
          .code_object = {},
          .variant = {},
          .device = "sim",
          .simulation = {}};
}

TEST(ManifestRows, AreCalledAsTheManifestAndItsVariants) {
  BroughtKernels brought = own_manifest();
  EXPECT_THAT(names_of(rows_of(brought)), ElementsAre("mhc"));
  brought.variant = "bf16x2";
  EXPECT_THAT(names_of(rows_of(brought)), ElementsAre("mhc/bf16x2"));
  brought.variant = "all";
  const std::vector<KernelRow> all = rows_of(brought);
  EXPECT_THAT(names_of(all),
              ElementsAre("mhc/fp32", "mhc/fp32_tile16", "mhc/fp32_tile64", "mhc/fp32_split256",
                          "mhc/fp32_split4096", "mhc/bf16x2", "mhc/default"));
  for (const KernelRow& row : all) EXPECT_EQ(row.make()->name(), row.name);
  EXPECT_TRUE(all.front().make()->implements(Op::mhc_pre));
  EXPECT_FALSE(all.front().make()->implements(Op::mhc_post));
  EXPECT_FALSE(all.back().make()->implements(Op::mhc_pre));
  EXPECT_TRUE(all.back().make()->implements(Op::mhc_post));
}

TEST(ManifestRows, TheOptionsNameEverythingThatChoosesThem) {
  BroughtKernels brought = own_manifest();
  const std::string manifest = " --manifest " + brought.manifest.native();
  EXPECT_EQ(rows_of(brought)[0].options, manifest + " --device sim");
  brought.code_object = "my kernels.co";
  brought.variant = "all";
  brought.simulation.seed = 9;
  EXPECT_EQ(rows_of(brought)[1].options,
            manifest + " --code-object 'my kernels.co' --variant fp32_tile16 --device sim --schedule-seed 9");
}

TEST(ManifestRows, WhatIsNotThereIsRefused) {
  BroughtKernels brought = own_manifest();
  brought.device = "host";
  EXPECT_THAT(unknown_name([&] { rows_of(brought); }),
              HasSubstr("device host runs no code objects; choose one with --device: sim, hip, cuda"));
  brought.device = "abacus";
  EXPECT_THAT(unknown_name([&] { rows_of(brought); }), HasSubstr("no device is called 'abacus'"));
  brought = own_manifest();
  brought.variant = "fast";
  EXPECT_THAT(unknown_name([&] { rows_of(brought); }),
              HasSubstr("has no variant 'fast', there are fp32, fp32_tile16, fp32_tile64, fp32_split256, "
                        "fp32_split4096, bf16x2, default and all for each of them"));
  brought = own_manifest();
  brought.manifest = "missing.json";
  EXPECT_THROW(rows_of(brought), kernels::ManifestError);
}

// Four waves write their number to the same words; which is the last to do so is the schedule's choice.
constexpr std::string_view kRacy = R"json({
  "name": "racy", "target": "gfx950", "operators": {"sinkhorn": {"launches": [
    {"kernel": "last_wave_wins", "grid": [1], "block": [256], "args": ["out.comb_mix"]}]}}})json";

TEST(ManifestRows, TheScheduleSeedReachesTheSimulator) {
  const std::filesystem::path manifest = std::filesystem::path(::testing::TempDir()) / "racy.json";
  std::ofstream(manifest) << kRacy;
  const Case c = parse_descriptor("sinkhorn:bf16:t4:n4:h1:seed=1");
  const auto stored = [&](std::uint64_t seed) {
    BroughtKernels brought{.manifest = manifest,
                           .code_object = MHCHECK_RUNTIME_OBJECTS "/probe_O3.hsaco",
                           .variant = {},
                           .device = "sim",
                           .simulation = {}};
    brought.simulation.seed = seed;
    const std::unique_ptr<kernels::KernelSet> kernel = rows_of(brought)[0].make();
    TensorMap inputs = properties::make_inputs(c);
    kernels::OutputRegions outputs = poisoned_outputs(c.problem);
    kernel->run(c.problem, inputs, outputs);
    const std::span<const std::byte> payload = outputs.at("comb_mix").payload();
    return std::string(reinterpret_cast<const char*>(payload.data()), payload.size());
  };
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    seen.insert(stored(seed));
    EXPECT_EQ(stored(seed), stored(seed)) << seed;
  }
  EXPECT_GT(seen.size(), 1u);
}

}  // namespace
}  // namespace mhcheck::conformance

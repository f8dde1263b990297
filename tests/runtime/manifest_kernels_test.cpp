#include "kernels/manifests/manifest_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "kernels/codeobject/error.h"
#include "kernels/runtime/hip_device.h"
#include "kernels/runtime/sim_device.h"
#include "tests/runtime/regions.h"

namespace mhcheck::kernels {
namespace {

using nlohmann::ordered_json;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

constexpr const char* kProbe = MHCHECK_RUNTIME_OBJECTS "/probe_O3.hsaco";

// Runs add_one of the probe over sinkhorn's output, as 32-bit words: [T,4,4].
ordered_json manifest_json() {
  return ordered_json::parse(R"json({
    "name": "probe", "target": "gfx950", "operators": {"sinkhorn": {
      "limits": [{"require": "num_tokens != 13", "message": "13 tokens bring bad luck"}],
      "let": {"words": "num_tokens * hc_mult * hc_mult"},
      "workspace": [{"name": "counter", "dtype": "i32", "shape": ["words"], "initial": "num_tokens"}],
      "variants": [
        {"name": "none_at_all", "when": "num_tokens > 100", "launches": [
          {"kernel": "add_one", "when": "num_tokens < 0", "grid": [1], "block": [64],
           "args": ["out.comb_mix", {"i32": "words"}]}]},
        {"name": "twice", "when": "num_tokens > 2", "let": {"half": "words / 2"}, "launches": [
          {"kernel": "add_one", "grid": ["ceildiv(words, 64)"], "block": [64],
           "args": ["out.comb_mix", {"i32": "words"}]},
          {"kernel": "add_o*", "grid": ["ceildiv(words, 64)"], "block": [64],
           "args": ["out.comb_mix", {"i32": "half"}]}]},
        {"name": "once", "launches": [
          {"kernel": "add_one", "grid": ["ceildiv(words, 64)"], "block": [64],
           "args": ["out.comb_mix", {"i32": "words"}]}]}
      ]}}})json");
}

Problem problem_of(std::int64_t tokens) {
  Problem problem;
  problem.op = Op::sinkhorn;
  problem.num_tokens = tokens;
  return problem;
}

TensorMap inputs_of(const Problem& problem) {
  TensorMap inputs;
  for (const TensorSpec& spec : input_specs(problem))
    inputs.emplace(spec.name, Tensor(spec.dtype, spec.shape));
  return inputs;
}

ManifestKernels make(const ordered_json& json, std::optional<std::string> variant = std::nullopt) {
  return {runtime::open_sim(), parse_manifest(json.dump(), "probe.json"), kProbe, std::move(variant)};
}

std::vector<std::int32_t> run(KernelSet& kernels, const Problem& problem, std::size_t launches) {
  TensorMap inputs = inputs_of(problem);
  OutputRegions outputs = poisoned_outputs(problem);
  EXPECT_EQ(kernels.run(problem, inputs, outputs).launches.size(), launches);
  const auto payload = outputs.at("comb_mix").payload();
  std::vector<std::int32_t> words(payload.size() / 4);
  std::memcpy(words.data(), payload.data(), payload.size());
  return words;
}

std::string run_error(const std::function<void(ordered_json&)>& change, std::int64_t tokens = 1) {
  ordered_json json = manifest_json();
  change(json["operators"]["sinkhorn"]["variants"][2]["launches"][0]);
  try {
    ManifestKernels kernels = make(json, "once");
    run(kernels, problem_of(tokens), 1);
  } catch (const RunFailure& error) {
    return std::string("failed: ") + error.what();
  } catch (const ManifestError& error) {
    return std::string("manifest: ") + error.what();
  } catch (const codeobject::CodeObjectError& error) {
    return std::string("code object: ") + error.what();
  }
  return "ran";
}

TEST(ManifestKernels, TheFirstVariantThatFitsRuns) {
  ManifestKernels kernels = make(manifest_json());
  EXPECT_EQ(kernels.name(), "probe");
  // The poison is -1 as an integer.
  EXPECT_THAT(run(kernels, problem_of(2), 1), Each(0));
  const std::vector<std::int32_t> twice = run(kernels, problem_of(3), 2);
  EXPECT_THAT(std::vector<std::int32_t>(twice.begin(), twice.begin() + 24), Each(1));
  EXPECT_THAT(std::vector<std::int32_t>(twice.begin() + 24, twice.end()), Each(0));
  EXPECT_THAT(run(kernels, problem_of(101), 0), Each(-1));
}

TEST(ManifestKernels, AVariantCanBePinned) {
  ManifestKernels kernels = make(manifest_json(), "once");
  EXPECT_EQ(kernels.name(), "probe/once");
  EXPECT_THAT(run(kernels, problem_of(3), 1), Each(0));
  ManifestKernels twice = make(manifest_json(), "twice");
  EXPECT_EQ(twice.why_refused(problem_of(1)), "variant twice is not for this problem");
  EXPECT_THAT(variant_names(parse_manifest(manifest_json().dump(), "m")),
              testing::ElementsAre("none_at_all", "twice", "once"));
  try {
    make(manifest_json(), "thrice");
    FAIL();
  } catch (const ManifestError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("there is no variant \"thrice\", must be one of none_at_all, twice, once"));
  }
}

TEST(ManifestKernels, VariantsThatRoundInAnotherWayRunByNameOnly) {
  ordered_json json = manifest_json();
  json["operators"]["sinkhorn"]["variants"][1]["rounding"] = {{"projection", "bf16x2"}};
  ManifestKernels kernels = make(json);
  EXPECT_EQ(kernels.profile(Op::sinkhorn), RoundingProfile{});
  EXPECT_THAT(run(kernels, problem_of(3), 1), Each(0));  // "once", though "twice" fits before it
  ManifestKernels twice = make(json, "twice");
  EXPECT_EQ(twice.profile(Op::sinkhorn).projection, ProjectionPrecision::bf16x2);
  EXPECT_EQ(run(twice, problem_of(3), 2).front(), 1);
}

TEST(ManifestKernels, LimitsRefuseWithTheirMessage) {
  ManifestKernels kernels = make(manifest_json());
  EXPECT_EQ(kernels.why_refused(problem_of(12)), "");
  EXPECT_EQ(kernels.why_refused(problem_of(13)), "13 tokens bring bad luck (num_tokens != 13)");
  Problem other = problem_of(1);
  other.op = Op::mhc_post;
  EXPECT_FALSE(kernels.implements(Op::mhc_post));
  EXPECT_EQ(kernels.why_refused(other), "probe has no mhc_post");
  TensorMap inputs = inputs_of(problem_of(13));
  OutputRegions outputs = poisoned_outputs(problem_of(13));
  EXPECT_THROW(kernels.run(problem_of(13), inputs, outputs), RunFailure);
}

TEST(ManifestKernels, WorkspaceStartsWithItsInitialValue) {
  ordered_json json = manifest_json();
  auto& entry = json["operators"]["sinkhorn"];
  // The counter is increased, and a kernel reads its value through the launch's own argument: 5 becomes 6.
  entry["variants"][2]["launches"] = ordered_json::parse(R"json([
    {"kernel": "add_one", "grid": [1], "block": [64], "args": ["ws.counter", {"i32": "words"}]},
    {"kernel": "copy_words", "grid": [1], "block": [64], "args": ["out.comb_mix", "ws.counter", {"i32": "words"}]}])json");
  ManifestKernels kernels = make(json, "once");
  EXPECT_THAT(run(kernels, problem_of(2), 2), Each(3));
}

// sinkhorn's tensors [T,4,4] in larger ones [T+1,5,6]: `copy_words` copies a whole one to the other, so that
// the elements of the case's tensors meet, and what lies around them is NaN patterns.
ordered_json padded_copy() {
  ordered_json json = manifest_json();
  json["operators"]["sinkhorn"] = ordered_json::parse(R"json({
    "workspace": [
      {"name": "logits", "holds": "in.logits", "shape": ["num_tokens + 1", 5, 6]},
      {"name": "comb_mix", "holds": "out.comb_mix", "shape": ["num_tokens + 1", 5, 6]}],
    "launches": [{"kernel": "copy_words", "grid": ["num_tokens + 1"], "block": [64],
                  "args": ["ws.comb_mix", "ws.logits", {"i32": "(num_tokens + 1) * 30"}]}]})json");
  return json;
}

TEST(ManifestKernels, ATensorCanLieInALargerOne) {
  for (const std::int64_t tokens : {0, 1, 3}) {
    ManifestKernels kernels = make(padded_copy());
    const Problem problem = problem_of(tokens);
    TensorMap inputs = inputs_of(problem);
    Tensor& logits = inputs.at("logits");
    for (std::size_t i = 0; i < logits.size(); ++i) logits.set_bits(i, static_cast<std::uint32_t>(100 + i));
    const Tensor before = logits;
    OutputRegions outputs = poisoned_outputs(problem);
    kernels.run(problem, inputs, outputs);
    EXPECT_EQ(logits, before);
    const auto payload = outputs.at("comb_mix").payload();
    EXPECT_TRUE(std::ranges::equal(payload, before.bytes()));
  }
}

TEST(ManifestKernels, TheStridesAreThoseOfTheLargerTensor) {
  ordered_json json = padded_copy();
  // Only the first 35 words: row 0 to 4 of token 0 in strides of 6, and 5 words of token 1.
  json["operators"]["sinkhorn"]["launches"][0]["args"][2] = {{"i32", 35}};
  ManifestKernels kernels = make(json);
  TensorMap inputs = inputs_of(problem_of(3));
  OutputRegions outputs = poisoned_outputs(problem_of(3));
  kernels.run(problem_of(3), inputs, outputs);
  std::vector<std::int32_t> words(48);
  std::memcpy(words.data(), outputs.at("comb_mix").payload().data(), 48 * 4);
  EXPECT_THAT(std::vector(words.begin(), words.begin() + 20), Each(0));
  EXPECT_THAT(std::vector(words.begin() + 20, words.end()), Each(-1));  // the poison
}

TEST(ManifestKernels, WhatAKernelReadsBesideAPaddedTensorIsNaN) {
  ordered_json json = padded_copy();
  json["operators"]["sinkhorn"]["workspace"].erase(1);
  json["operators"]["sinkhorn"]["launches"][0]["args"] =
      ordered_json::parse(R"json(["out.comb_mix", "ws.logits", {"i32": "num_tokens * 16"}])json");
  ManifestKernels kernels = make(json);
  TensorMap inputs = inputs_of(problem_of(1));
  OutputRegions outputs = poisoned_outputs(problem_of(1));
  kernels.run(problem_of(1), inputs, outputs);
  std::vector<std::int32_t> words(16);
  std::memcpy(words.data(), outputs.at("comb_mix").payload().data(), 64);
  EXPECT_THAT(words, testing::ElementsAre(0, 0, 0, 0, -1, -1, 0, 0, 0, 0, -1, -1, 0, 0, 0, 0));
}

TEST(ManifestKernels, AChangeOfAPaddedInputIsSeen) {
  ordered_json json = padded_copy();
  json["operators"]["sinkhorn"]["launches"][0] = ordered_json::parse(
      R"json({"kernel": "add_one", "grid": [1], "block": [64], "args": ["ws.logits", {"i32": 1}]})json");
  ManifestKernels kernels = make(json);
  TensorMap inputs = inputs_of(problem_of(1));
  OutputRegions outputs = poisoned_outputs(problem_of(1));
  kernels.run(problem_of(1), inputs, outputs);
  EXPECT_EQ(inputs.at("logits").bits(0), 1u);
}

// A padded input is read only, and the elements of a padded output are to be written, its padding not.
TEST(ManifestKernels, SanitizersKnowWhatAPaddedTensorHolds) {
  const auto findings_of = [](const ordered_json& json) {
    auto device = runtime::open_sim();
    simulator::SanitizerSet writes;
    writes.add(simulator::Sanitizer::kWrites);
    device->instrument({.sanitizers = writes, .schedule = 0});
    ManifestKernels kernels(std::move(device), parse_manifest(json.dump(), "probe.json"), kProbe,
                            std::nullopt);
    TensorMap inputs = inputs_of(problem_of(1));
    OutputRegions outputs = poisoned_outputs(problem_of(1));
    return kernels.run(problem_of(1), inputs, outputs).findings;
  };
  EXPECT_TRUE(findings_of(padded_copy()).empty());
  ordered_json json = padded_copy();
  json["operators"]["sinkhorn"]["launches"][0]["args"][0] = "ws.logits";
  const auto findings = findings_of(json);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_THAT(to_string(findings[0]), AllOf(HasSubstr("an input is written"), HasSubstr("ws.logits")));
  // Sixteen words, without the padding.
  EXPECT_THAT(to_string(findings[1]),
              AllOf(HasSubstr("no wave has written (64 bytes)"), HasSubstr("ws.comb_mix")));
}

TEST(ManifestKernels, PaddingIsOutOfBoundsUnlessItIsFree) {
  const auto findings_with = [](const char* padding) {
    ordered_json json = padded_copy();
    for (auto& tensor : json["operators"]["sinkhorn"]["workspace"]) tensor["padding"] = padding;
    ManifestKernels kernels = make(json);
    kernels.instrument({.sanitizers = simulator::SanitizerSet::all(), .schedule = {}});
    TensorMap inputs = inputs_of(problem_of(1));
    OutputRegions outputs = poisoned_outputs(problem_of(1));
    std::vector<std::string> texts;
    for (const auto& finding : kernels.run(problem_of(1), inputs, outputs).findings)
      texts.push_back(to_string(finding));
    return texts;
  };
  EXPECT_THAT(findings_with("free"), testing::IsEmpty());
  EXPECT_THAT(findings_with("untouched"),
              testing::ElementsAre(
                  AllOf(HasSubstr("bounds: a load from the padding"), HasSubstr("ws.logits[0, 0, 4]")),
                  AllOf(HasSubstr("bounds: a store to the padding"), HasSubstr("ws.comb_mix[0, 0, 4]"))));
}

TEST(ManifestKernels, ATensorThatDoesNotFitItsPaddingIsAnError) {
  for (const auto& [shape, message] : std::vector<std::pair<ordered_json, const char*>>{
           {{"num_tokens", 4, 3}, "in.logits of shape [2, 4, 4] does not fit into [2, 4, 3]"},
           {{"num_tokens", 16}, "in.logits of shape [2, 4, 4] does not fit into [2, 16]"},
           {{"num_tokens", 4, "0 - 4"}, "workspace logits: an extent is -4, which is no size"},
           {{4294967296, 4294967296, 4}, "workspace logits: an extent is 4294967296, which is no size"}}) {
    ordered_json json = padded_copy();
    json["operators"]["sinkhorn"]["workspace"][0]["shape"] = shape;
    ManifestKernels kernels = make(json);
    TensorMap inputs = inputs_of(problem_of(2));
    OutputRegions outputs = poisoned_outputs(problem_of(2));
    try {
      kernels.run(problem_of(2), inputs, outputs);
      ADD_FAILURE() << message;
    } catch (const ManifestError& error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }
}

// post_mix does not exist in head mode, and then neither does the tensor that holds it.
TEST(ManifestKernels, PaddingIsMissingWhereItsTensorIs) {
  ordered_json json = manifest_json();
  json["operators"] = ordered_json::parse(R"json({"mhc_pre": {
    "workspace": [{"name": "post", "holds": "out.post_mix", "shape": ["num_tokens", 4, 8]}],
    "launches": [{"kernel": "add_one", "grid": [1], "block": [64],
                  "args": [{"optional": "ws.post"}, {"i32": "num_tokens * 0"}]}]}})json");
  ManifestKernels kernels = make(json);
  Problem problem;
  problem.parameters.sinkhorn_repeat = 0;
  TensorMap inputs = inputs_of(problem);
  OutputRegions outputs = poisoned_outputs(problem);
  EXPECT_EQ(kernels.run(problem, inputs, outputs).launches.size(), 1u);
}

TEST(ManifestKernels, InputsThatAKernelChangedComeBackChanged) {
  ordered_json json = manifest_json();
  json["operators"]["sinkhorn"]["variants"][2]["launches"][0]["args"][0] = "in.logits";
  ManifestKernels kernels = make(json, "once");
  const Problem problem = problem_of(2);
  TensorMap inputs = inputs_of(problem);
  OutputRegions outputs = poisoned_outputs(problem);
  kernels.run(problem, inputs, outputs);
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(inputs.at("logits").bits(i), 1u);
  EXPECT_THAT(outputs.at("comb_mix").payload(), Each(kPoisonByte));
}

// Launches report_structure, with `narrow` as the member of 16 bits.
ordered_json structure_json(const ordered_json& narrow) {
  ordered_json json = manifest_json();
  json["operators"]["sinkhorn"] = ordered_json::parse(R"json({"launches": [
    {"kernel": "report_structure", "grid": [1], "block": [64], "args": [
      {"struct": [{"u8": 200}, "out.comb_mix", {"struct": [null, {"f64": "num_tokens / 4.0"}]},
                  {"f32": 2.25}, {"i8": -7}]},
      {"i32": 11}]}]})json");
  json["operators"]["sinkhorn"]["launches"][0]["args"][0]["struct"][2]["struct"][0] = narrow;
  return json;
}

TEST(ManifestKernels, StructuresAreLaidOutAsTheCompilerDoes) {
  const std::pair<ordered_json, int> narrow[] = {{{{"i16", "0 - 3"}}, -3},
                                                 {{{"u16", 40000}}, 40000 - 65536},
                                                 {{{"bf16", 1.5}}, 0x3fc0},
                                                 {{{"fp16", -2}}, 0xc000 - 65536}};
  for (const auto& [member, value] : narrow) {
    ManifestKernels kernels = make(structure_json(member));
    const std::vector<std::int32_t> words = run(kernels, problem_of(1), 1);
    EXPECT_THAT(std::vector(words.begin(), words.begin() + 8),
                testing::ElementsAre(200, value, 1, 9, -7, 11, 40, 0));
  }
}

TEST(ManifestKernels, AStructureOfAnotherSizeIsRefused) {
  ordered_json json = structure_json({{"i16", 1}});
  auto& members = json["operators"]["sinkhorn"]["launches"][0]["args"][0]["struct"];
  members.erase(4);
  members.erase(3);
  try {
    make(json);
    FAIL() << "accepted";
  } catch (const ManifestError& error) {
    EXPECT_THAT(error.what(), HasSubstr("argument 0 has 32 bytes, the kernel takes 40 there"));
  }
}

TEST(ManifestKernels, EveryLaunchIsReportedWithItsOwnCounters) {
  ManifestKernels kernels = make(manifest_json());
  const Problem problem = problem_of(3);
  TensorMap inputs = inputs_of(problem);
  OutputRegions outputs = poisoned_outputs(problem);
  const RunReport report = kernels.run(problem, inputs, outputs);  // the variant of two launches
  ASSERT_EQ(report.launches.size(), 2u);
  const std::uint64_t words[] = {48, 24};
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(report.launches[i].kernel, "add_one");
    EXPECT_EQ(report.launches[i].counters.at("memory_bytes_written"), words[i] * 4);
    EXPECT_EQ(report.launches[i].counters.at("workgroups"), 1u);
  }
}

TEST(ManifestKernels, EveryFailureIsTypedAndNamed) {
  EXPECT_EQ(run_error([](auto&) {}), "ran");
  EXPECT_THAT(run_error([](auto& l) { l["kernel"] = "write_past_end"; }),
              AllOf(HasSubstr("failed: "), HasSubstr("write_past_end"), HasSubstr("out.comb_mix")));
  EXPECT_THAT(run_error([](auto& l) { l["kernel"] = "add_two"; }),
              AllOf(HasSubstr("code object: "), HasSubstr("no kernel matches \"add_two\"")));
  EXPECT_THAT(
      run_error([](auto& l) {
        l["args"].push_back({{"i32", 1}});
      }),
      HasSubstr("manifest: probe.json: sinkhorn: once: add_one: 3 arguments given, the kernel takes 2"));
  EXPECT_THAT(run_error([](auto& l) {
                l["args"][1] = {{"i64", 1}};
              }),
              HasSubstr("manifest: probe.json: sinkhorn: once: add_one: argument 1 has 8 bytes"));
  EXPECT_THAT(
      run_error([](auto& l) {
        l["args"][1] = {{"i32", "3000000000"}};
      }),
      HasSubstr(
          "manifest: probe.json: args of the launch of add_one: column 1: the result is 3000000000, which "
          "does not fit i32"));
  EXPECT_THAT(run_error([](auto& l) {
                l["args"][1] = {{"u32", "0 - 1"}};
              }),
              HasSubstr("which does not fit u32"));
  EXPECT_THAT(run_error([](auto& l) {
                l["args"][1] = {{"i32", "rms_eps"}};
              }),
              HasSubstr("must be an integer"));
  EXPECT_THAT(run_error([](auto& l) { l["grid"] = {"1 / (num_tokens - 1)"}; }),
              HasSubstr("manifest: probe.json: grid of the launch of add_one: column 3: division by zero"));
  EXPECT_THAT(run_error([](auto& l) { l["grid"] = {"num_tokens - 2"}; }), HasSubstr("must not be negative"));
  EXPECT_THAT(run_error([](auto& l) { l["grid"] = {"num_tokens - 1"}; }),
              HasSubstr("failed: add_one: grid.x is 0"));
}

TEST(ManifestKernels, AnotherTargetIsRefused) {
  ordered_json json = manifest_json();
  json["target"] = "gfx942";
  try {
    make(json);
    FAIL();
  } catch (const ManifestError& error) {
    EXPECT_STREQ(error.what(),
                 "probe.json: the manifest is for gfx942, the device gfx950 simulator runs gfx950");
  }
}

TEST(ManifestKernels, TheCodeObjectIsTheGivenOneOrTheManifests) {
  Manifest manifest = parse_manifest(manifest_json().dump(), "/some/folder/probe.json");
  EXPECT_EQ(code_object_path(manifest, "given.co"), "given.co");
  EXPECT_THROW(code_object_path(manifest, ""), ManifestError);
  manifest.code_object = "mine.hsaco";
  EXPECT_EQ(code_object_path(manifest, ""), "/some/folder/mine.hsaco");
}

TEST(ManifestKernels, WritesNextToABufferFailTheRunWhereTheyDoNotFault) {
  ordered_json json = manifest_json();
  json["operators"]["sinkhorn"]["variants"][2]["launches"][0]["kernel"] = "write_past_end";
  runtime::HipOptions options;
  options.libraries = {MHCHECK_FAKE_HIP};
  ManifestKernels kernels(runtime::open_hip(options), parse_manifest(json.dump(), "probe.json"), kProbe,
                          "once");
  try {
    run(kernels, problem_of(1), 1);
    FAIL() << "not noticed";
  } catch (const RunFailure& error) {
    EXPECT_STREQ(error.what(), "out.comb_mix: 4 bytes written past its end, the first 0 bytes behind it");
  }
}

}  // namespace
}  // namespace mhcheck::kernels

#include "kernels/manifests/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

namespace mhcheck::kernels {
namespace {

using nlohmann::ordered_json;
using testing::AllOf;
using testing::HasSubstr;

ordered_json good() {
  return ordered_json::parse(R"json({
    "name": "mine", "target": "gfx950", "code_object": "mine.hsaco",
    "operators": {
      "mhc_pre": {
        "rounding": {"collapse": "fp32_sumsq", "projection": "bf16x2"},
        "batch_invariant": false,
        "limits": [{"require": "hidden_size % 64 == 0", "message": "hidden_size must be a multiple of 64"}],
        "let": {"tile": 64, "tiles": "hidden_size / tile"},
        "workspace": [{"name": "sums", "dtype": "fp32", "shape": ["tiles", 4], "initial": 0}],
        "variants": [
          {"name": "small", "when": "num_tokens < 32", "launches": [
            {"kernel": "small*", "grid": ["num_tokens"], "block": [64, "2"], "dynamic_lds": "4 * tile",
             "args": ["in.residual", "ws.sums", {"optional": "in.norm_weight"}, {"f32": "rms_eps"}]}]},
          {"name": "large", "let": {"more": "tiles * 2"}, "launches": [
            {"kernel": "large", "when": "num_tokens > 0", "grid": ["more", 1, 1], "block": [256],
             "args": ["out.layer_input", {"i64": "num_tokens"}]}]}
        ]
      }
    }})json");
}

TEST(Manifest, KeepsEveryField) {
  const Manifest manifest = parse_manifest(good().dump(), "mine.json");
  EXPECT_EQ(manifest.name, "mine");
  EXPECT_EQ(manifest.target, "gfx950");
  EXPECT_EQ(manifest.code_object, "mine.hsaco");
  const OperatorEntry* entry = manifest.find(Op::mhc_pre);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(manifest.find(Op::mhc_post), nullptr);
  EXPECT_EQ(entry->variants[0].rounding.collapse, CollapseRounding::fp32_sumsq);
  EXPECT_EQ(entry->variants[0].rounding.next_residual, NextResidual::rounded);
  EXPECT_EQ(entry->variants[0].rounding.projection, ProjectionPrecision::bf16x2);
  EXPECT_FALSE(entry->batch_invariant);
  ASSERT_EQ(entry->limits.size(), 1u);
  EXPECT_EQ(entry->limits[0].require.text(), "hidden_size % 64 == 0");
  ASSERT_EQ(entry->variants.size(), 2u);
  const Variant& small = entry->variants[0];
  EXPECT_EQ(small.name, "small");
  EXPECT_EQ(small.when->text(), "num_tokens < 32");
  ASSERT_EQ(small.workspace.size(), 1u);
  EXPECT_EQ(small.workspace[0].shape.size(), 2u);
  ASSERT_EQ(small.launches.size(), 1u);
  EXPECT_EQ(small.launches[0].kernel, "small*");
  EXPECT_EQ(small.launches[0].block[1].text(), "2");
  EXPECT_EQ(small.launches[0].dynamic_lds->text(), "4 * tile");
  ASSERT_EQ(small.launches[0].arguments.size(), 4u);
  EXPECT_EQ(std::get<TensorArgument>(small.launches[0].arguments[0]).name, "in.residual");
  EXPECT_TRUE(std::get<TensorArgument>(small.launches[0].arguments[2]).optional);
  EXPECT_EQ(std::get<ScalarArgument>(small.launches[0].arguments[3]).type, ScalarType::kF32);
  const Variant& large = entry->variants[1];
  EXPECT_EQ(large.workspace.size(), 1u);
  EXPECT_EQ(large.bindings[0].name, "more");
  EXPECT_FALSE(large.when.has_value());
}

TEST(Manifest, BindingsUseThoseBeforeThem) {
  ordered_json json = good();
  json["operators"]["mhc_pre"]["let"] = {{"tiles", "hidden_size / tile"}, {"tile", 64}};
  EXPECT_THROW(parse_manifest(json.dump(), "mine.json"), ManifestError);
}

TEST(Manifest, ABracedNameStandsForTheKernelsOfAllFormats) {
  ordered_json json = good();
  ordered_json& launch = json["operators"]["mhc_pre"]["variants"][0]["launches"][0];
  launch["kernel"] = "fuse_{dtype}_norm_{norm_weight}";
  launch["when"] = "num_tokens > 0 || hc_mult > 4";
  const Manifest manifest = parse_manifest(json.dump(), "mine.json");
  const std::vector<LaunchStep>& steps = manifest.find(Op::mhc_pre)->variants[0].launches;
  for (const Dtype dtype : {Dtype::bf16, Dtype::fp16}) {
    for (const std::optional<Dtype> norm_weight : {std::optional<Dtype>{}, std::optional(Dtype::bf16),
                                                   std::optional(Dtype::fp16), std::optional(Dtype::fp32)}) {
      Problem problem;
      problem.dtype = dtype;
      problem.norm_weight = norm_weight;
      problem.hc_mult = 8;
      std::vector<std::string> chosen;
      for (const LaunchStep& step : steps) {
        if (step.when->condition(names_of(problem, 1))) chosen.push_back(step.kernel);
        EXPECT_EQ(step.arguments.size(), 4u);
      }
      EXPECT_THAT(chosen, testing::ElementsAre("fuse_" + std::string(name_of(dtype)) + "_norm_" +
                                               (norm_weight ? std::string(name_of(*norm_weight)) : "none")));
      problem.hc_mult = 4;  // and the launch's own condition has to hold as well
      problem.num_tokens = 0;
      for (const LaunchStep& step : steps) EXPECT_FALSE(step.when->condition(names_of(problem, 1)));
    }
  }
}

TEST(Manifest, ABracedNormWeightIsOneThatTheOperatorTakes) {
  const auto kernels_of = [](const char* op, const char* kernel) {
    const ordered_json json = {
        {"name", "mine"},
        {"target", "gfx950"},
        {"operators",
         {{op,
           {{"launches",
             {{{"kernel", kernel}, {"grid", {1}}, {"block", {64}}, {"args", ordered_json::array()}}}}}}}}};
    const Manifest manifest = parse_manifest(json.dump(), "mine.json");
    std::vector<std::string> names;
    for (const LaunchStep& step : manifest.operators[0].variants[0].launches) names.push_back(step.kernel);
    return names;
  };
  EXPECT_THAT(kernels_of("rmsnorm", "n_{norm_weight}"), testing::ElementsAre("n_bf16", "n_fp16", "n_fp32"));
  EXPECT_THAT(kernels_of("mhc_post", "n_{norm_weight}"), testing::ElementsAre("n_none"));
  EXPECT_THAT(kernels_of("mhc_post", "p"), testing::ElementsAre("p"));
}

TEST(Manifest, AVariantMayRoundInItsOwnWay) {
  ordered_json json = good();
  json["operators"]["mhc_pre"]["variants"][1]["rounding"] = {{"projection", "tf32"}};
  const Manifest manifest = parse_manifest(json.dump(), "mine.json");
  const std::vector<Variant>& variants = manifest.find(Op::mhc_pre)->variants;
  EXPECT_EQ(variants[0].rounding.projection, ProjectionPrecision::bf16x2);
  EXPECT_EQ(variants[1].rounding.projection, ProjectionPrecision::tf32);
  EXPECT_EQ(variants[1].rounding.collapse,
            CollapseRounding::fp32_sumsq);  // what it does not name is the entry's
}

struct Row {
  const char* name;
  std::function<void(ordered_json&)> damage;
  const char* message;
};

ordered_json& pre(ordered_json& json) { return json["operators"]["mhc_pre"]; }
ordered_json padded(const char* holds) { return {{"name", "padded"}, {"holds", holds}, {"shape", {1, 1}}}; }
ordered_json& launch(ordered_json& json) { return pre(json)["variants"][0]["launches"][0]; }

const Row kRows[] = {
    {"unknown_field", [](auto& j) { j["colour"] = 1; },
     "mine.json: has an unknown field \"colour\", must be one of name, code_object, target, operators"},
    {"unknown_field_of_a_launch", [](auto& j) { launch(j)["threads"] = 1; },
     "mine.json.operators.mhc_pre.variants[0].launches[0]: has an unknown field \"threads\""},
    {"no_name", [](auto& j) { j.erase("name"); }, "has no field \"name\""},
    {"no_target", [](auto& j) { j.erase("target"); }, "has no field \"target\""},
    {"no_operators", [](auto& j) { j["operators"] = ordered_json::object(); }, "must have an operator"},
    {"unknown_operator", [](auto& j) { j["operators"]["mhc_prae"] = pre(j); }, "mhc_prae: is no operator"},
    {"name_is_number", [](auto& j) { j["name"] = 3; }, "mine.json.name: is of type number, must be a string"},
    {"rounding", [](auto& j) { pre(j)["rounding"]["collapse"] = "fp16"; },
     "rounding.collapse: is \"fp16\", must be one of storage, fp32_sumsq, fp32"},
    {"rounding_of_a_variant", [](auto& j) { pre(j)["variants"][0]["rounding"]["projection"] = "fp64"; },
     "variants[0].rounding.projection: is \"fp64\""},
    {"unknown_braces", [](auto& j) { launch(j)["kernel"] = "pre_{type}"; },
     "launches[0].kernel: is \"pre_{type}\": what stands in braces must be one of dtype and norm_weight"},
    {"braces_twice", [](auto& j) { launch(j)["kernel"] = "pre_{dtype}_{dtype}"; }, "each once"},
    {"unknown_name", [](auto& j) { launch(j)["grid"] = {"num_token"}; },
     "launches[0].grid[0]: column 1: there is no name \"num_token\""},
    {"syntax", [](auto& j) { pre(j)["limits"][0]["require"] = "hidden_size %"; }, "column 14"},
    {"limit_without_message", [](auto& j) { pre(j)["limits"][0].erase("message"); },
     "has no field \"message\""},
    {"limits_do_not_see_bindings", [](auto& j) { pre(j)["limits"][0]["require"] = "tiles > 1"; },
     "no name \"tiles\""},
    {"binding_hides_a_name", [](auto& j) { pre(j)["let"]["num_tokens"] = 1; },
     "let.num_tokens: is defined already"},
    {"binding_is_no_name", [](auto& j) { pre(j)["let"]["2x"] = 1; }, "is no name"},
    {"four_directions",
     [](auto& j) {
       launch(j)["grid"] = {1, 1, 1, 1};
     },
     "has 4 directions, must have 1 to 3"},
    {"unknown_tensor", [](auto& j) { launch(j)["args"][0] = "in.x"; },
     "there is no tensor \"in.x\", must be one of in.fn"},
    {"unknown_workspace", [](auto& j) { launch(j)["args"][1] = "ws.more"; },
     "there is no tensor \"ws.more\""},
    {"unknown_scalar",
     [](auto& j) {
       launch(j)["args"][3] = {{"f128", "rms_eps"}};
     },
     "unknown field \"f128\""},
    {"two_scalars",
     [](auto& j) {
       launch(j)["args"][3] = {{"i32", 1}, {"f32", 2}};
     },
     "must have exactly one field"},
    {"argument_is_number", [](auto& j) { launch(j)["args"][3] = 5; }, "must be an object"},
    {"workspace_twice", [](auto& j) { pre(j)["workspace"].push_back(pre(j)["workspace"][0]); },
     "is defined already"},
    {"holds_nothing_there", [](auto& j) { pre(j)["workspace"].push_back(padded("in.x")); },
     "workspace[1].holds: there is no tensor \"in.x\""},
    {"holds_a_workspace", [](auto& j) { pre(j)["workspace"].push_back(padded("ws.sums")); },
     "workspace[1].holds: must be a tensor of the case"},
    {"holds_what_another_holds",
     [](auto& j) {
       pre(j)["workspace"].push_back(padded("in.fn"));
       pre(j)["workspace"].push_back(padded("in.fn"));
     },
     "workspace[2].holds: there is no tensor \"in.fn\""},
    {"holds_what_a_launch_uses", [](auto& j) { pre(j)["workspace"].push_back(padded("in.residual")); },
     "args[0]: there is no tensor \"in.residual\""},
    {"holds_with_strange_padding",
     [](auto& j) {
       pre(j)["workspace"].push_back(padded("in.fn"));
       pre(j)["workspace"].back()["padding"] = "wide";
     },
     "workspace[1].padding"},
    {"holds_with_a_type",
     [](auto& j) {
       pre(j)["workspace"].push_back(padded("in.fn"));
       pre(j)["workspace"].back()["dtype"] = "fp32";
     },
     "has an unknown field \"dtype\", must be one of name, holds, shape, padding"},
    {"empty_struct",
     [](auto& j) {
       launch(j)["args"][3] = {{"struct", ordered_json::array()}};
     },
     "args[3].struct: is empty, must have a member"},
    {"unknown_member",
     [](auto& j) {
       launch(j)["args"][3] = {{"struct", {"in.x"}}};
     },
     "args[3].struct[0]: there is no tensor \"in.x\""},
    {"workspace_type", [](auto& j) { pre(j)["workspace"][0]["dtype"] = "f64"; },
     "must be one of bf16, fp16, fp32, i32"},
    {"variants_and_launches", [](auto& j) { pre(j)["launches"] = ordered_json::array(); },
     "must have either \"launches\" or \"variants\""},
    {"no_launches", [](auto& j) { pre(j)["variants"][0]["launches"] = ordered_json::array(); },
     "must have a launch"},
    {"variant_twice", [](auto& j) { pre(j)["variants"][1]["name"] = "small"; }, "of an earlier variant"},
    {"variant_called_all", [](auto& j) { pre(j)["variants"][1]["name"] = "all"; }, "stands for all variants"},
};

class BadManifest : public testing::TestWithParam<Row> {};
INSTANTIATE_TEST_SUITE_P(EveryMistake, BadManifest, testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(BadManifest, IsRefusedWithItsPlace) {
  ordered_json json = good();
  ASSERT_NO_THROW(parse_manifest(json.dump(), "mine.json"));
  GetParam().damage(json);
  try {
    parse_manifest(json.dump(), "mine.json");
    FAIL() << "accepted";
  } catch (const ManifestError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("mine.json"), HasSubstr(GetParam().message)));
  }
}

TEST(BadManifest, TextThatIsNoJsonIsNamed) {
  for (const char* text : {"", "{", "{\"name\": }", "[1, 2]", "nonsense"}) {
    EXPECT_THROW(parse_manifest(text, "mine.json"), ManifestError) << text;
  }
  EXPECT_THROW(load_manifest("/no/such/manifest.json"), ManifestError);
}

TEST(CaseNames, FollowTheProblem) {
  Problem problem;
  problem.op = Op::mhc_pre;
  problem.num_tokens = 33;
  problem.hidden_size = 1280;
  problem.norm_weight = Dtype::fp16;
  problem.entry = Entry::broadcast;
  problem.split_k = 7;
  const Names names = names_of(problem, 256);
  const auto value = [&](const char* text) { return Expression::parse(text).integer(names); };
  EXPECT_EQ(value("num_tokens"), 33);
  EXPECT_EQ(value("hc_hidden_size"), 5120);
  EXPECT_EQ(value("hc_mult3"), 24);
  EXPECT_EQ(value("num_cus"), 256);
  EXPECT_EQ(value("split_k"), 7);
  EXPECT_EQ(value("sinkhorn_repeat"), 20);
  EXPECT_EQ(value("dtype == bf16 && dtype != fp16"), 1);
  EXPECT_EQ(value("norm_weight == fp16"), 1);
  EXPECT_EQ(value("entry == broadcast"), 1);
  problem.norm_weight.reset();
  EXPECT_EQ(Expression::parse("norm_weight == none").integer(names_of(problem, 1)), 1);
  EXPECT_EQ(static_cast<float>(Expression::parse("rms_eps").real(names)), 1e-6f);
}

}  // namespace
}  // namespace mhcheck::kernels

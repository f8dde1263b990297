// Each law is kept by a correct kernel and broken by one with a fault that it is about.
#include "properties/laws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "conformance/case_list.h"
#include "conformance/kernel_registry.h"
#include "conformance/law_check.h"
#include "properties/laws/computed.h"
#include "tests/properties/planted_subject.h"

namespace mhcheck::properties {
namespace {

using ::testing::ElementsAre;
using testing::Fault;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::PlantedSubject;

struct Planted {
  std::string name;
  std::string law;
  std::string descriptor;
  Fault fault;
};

// ---- What faults are made of ---------------------------------------------------------------------------

// Runs the right kernel and then spoils what it left.
Fault after(const std::function<void(const Problem&, TensorMap& inputs, TensorMap& outputs)>& spoil) {
  return [spoil](Subject& inner, const Problem& problem, TensorMap& inputs, TensorMap& outputs) {
    const RunTrace trace = inner.run(problem, inputs, outputs);
    if (problem.num_tokens > 0) spoil(problem, inputs, outputs);
    return trace;
  };
}

// Runs the right kernel on a wrong problem or on wrong inputs.
Fault before(const std::function<void(Problem&, TensorMap& inputs)>& spoil) {
  return [spoil](Subject& inner, const Problem& problem, TensorMap& inputs, TensorMap& outputs) {
    Problem wrong = problem;
    TensorMap wrong_inputs = inputs;
    spoil(wrong, wrong_inputs);
    return inner.run(wrong, wrong_inputs, outputs);
  };
}

std::size_t row_of_last_output(const Problem& problem) {
  return element_count(output_specs(problem).back().shape) / static_cast<std::size_t>(problem.num_tokens);
}

void flip_last_bit(Tensor& tensor, std::size_t i) { tensor.set_bits(i, tensor.bits(i) ^ 1u); }

void multiply(Tensor& tensor, std::size_t begin, std::size_t end, double factor) {
  for (std::size_t i = begin; i < end; ++i) tensor.set(i, factor * tensor.value(i));
}

// ---- The faults ----------------------------------------------------------------------------------------

const std::vector<Planted>& all_planted() {
  static const std::vector<Planted> rows{
      {"TheFirstTokenHasBitsOfItsOwn", "token_permutation", "mhc_post:bf16:t5:n4:h64:seed=1",
       after([](const Problem&, TensorMap&, TensorMap& outputs) {
         flip_last_bit(outputs.at("next_residual"), 0);
       })},
      {"MoreThanOneTokenTakesAnotherOrder", "batch_invariance", "mhc_pre:bf16:t5:n4:h64:seed=1",
       after([](const Problem& problem, TensorMap&, TensorMap& outputs) {
         for (std::int64_t t = 0; problem.num_tokens > 1 && t < problem.num_tokens; ++t) {
           flip_last_bit(outputs.at("layer_input"),
                         static_cast<std::size_t>(t) * row_of_last_output(problem));
         }
       })},
      {"OneTokenIsAnotherMatterThanTwo", "batch_invariance", "rmsnorm:fp16:t1:n1:h64:norm=bf16:seed=1",
       after([](const Problem& problem, TensorMap&, TensorMap& outputs) {
         if (problem.num_tokens == 1) flip_last_bit(outputs.at("y"), 63);
       })},
      {"EverySecondRunIsDifferent", "repeatability", "sinkhorn:bf16:t2:n4:h64:seed=1",
       [run = 0](Subject& inner, const Problem& problem, TensorMap& inputs, TensorMap& outputs) mutable {
         const RunTrace trace = inner.run(problem, inputs, outputs);
         if (++run % 2 == 0) flip_last_bit(outputs.at("comb_mix"), 3);
         return trace;
       }},
      {"ATokenReadsTheOneBefore", "nan_isolation", "hc_expand:bf16:t4:n4:h64:seed=1",
       after([](const Problem&, TensorMap& inputs, TensorMap& outputs) {
         const Tensor& x = inputs.at("x");
         for (std::size_t t = 1; t < 4; ++t) {
           if (is_nan(x.dtype(), x.bits((t - 1) * 64))) flip_last_bit(outputs.at("residual"), t * 4 * 64);
         }
       })},
      {"ATokenReadsTheOneBehind", "infinity_isolation", "hc_collapse:fp16:t3:n4:h64:seed=1",
       after([](const Problem&, TensorMap& inputs, TensorMap& outputs) {
         const Tensor& pre_mix = inputs.at("pre_mix");
         for (std::size_t t = 0; t + 1 < 3; ++t) {
           if (is_infinite(pre_mix.dtype(), pre_mix.bits((t + 1) * 4))) {
             flip_last_bit(outputs.at("layer_input"), t * 64);
           }
         }
       })},

      {"NoTokensAreLaunched", "empty_batch", "mhc_pre:bf16:t5:n4:h64:seed=1",
       [](Subject& inner, const Problem& problem, TensorMap& inputs, TensorMap& outputs) {
         RunTrace trace = inner.run(problem, inputs, outputs);
         if (problem.num_tokens == 0) trace.launches = 1;
         return trace;
       }},
      {"NoTokensWriteBesideTheOutput", "empty_batch", "hc_collapse:bf16:t0:n4:h64:seed=1",
       [](Subject&, const Problem&, TensorMap&, TensorMap&) {
         return RunTrace{.launches = 0, .written_outside = "one byte"};
       }},
      {"NoTokensChangeHcBase", "empty_batch", "hc_head:bf16:t5:n4:h64:seed=1",
       [](Subject& inner, const Problem& problem, TensorMap& inputs, TensorMap& outputs) {
         const RunTrace trace = inner.run(problem, inputs, outputs);
         if (problem.num_tokens == 0) flip_last_bit(inputs.at("hc_base"), 0);
         return trace;
       }},
      {"AnElementIsLeftAsItWas", "outputs_written", "mhc_pre_gemm_sqrsum:bf16:t5:n4:h64:sk3:seed=1",
       [](Subject& inner, const Problem& problem, TensorMap& inputs, TensorMap& outputs) {
         const std::uint32_t left = outputs.at("gemm_out_sqrsum").bits(7);
         const RunTrace trace = inner.run(problem, inputs, outputs);
         outputs.at("gemm_out_sqrsum").set_bits(7, left);
         return trace;
       }},
      {"AByteBesideIsWritten", "outputs_written", "mhc_pre:bf16:t5:n4:h64:seed=1",
       [](Subject& inner, const Problem& problem, TensorMap& inputs, TensorMap& outputs) {
         RunTrace trace = inner.run(problem, inputs, outputs);
         trace.written_outside = "one byte";
         return trace;
       }},
      {"TheResidualIsUpdatedInPlace", "inputs_unchanged", "mhc_post:bf16:t5:n4:h64:seed=1",
       after([](const Problem&, TensorMap& inputs, TensorMap& outputs) {
         inputs.at("residual") = outputs.at("next_residual");
       })},

      {"OutputsSaturate", "post_linear_in_x", "mhc_post:bf16:t2:n4:h64:seed=1",
       after([](const Problem&, TensorMap&, TensorMap& outputs) {
         Tensor& out = outputs.at("next_residual");
         for (std::size_t i = 0; i < out.size(); ++i) out.set(i, std::clamp(out.value(i), -8.0, 8.0));
       })},
      {"XCountsMoreBesideAResidual", "post_linear_in_x", "mhc_fused_post_pre:fp16:t2:n4:h64:seed=1",
       before([](Problem&, TensorMap& inputs) {
         Tensor& x = inputs.at("x");
         if (inputs.at("residual").bits(0) != 0) multiply(x, 0, x.size(), 1.125);
       })},
      {"SmallElementsOfTheResidualAreDropped", "post_linear_in_residual",
       "mhc_fused_post_pre_delayed:bf16:t2:n4:h64:seed=1", before([](Problem&, TensorMap& inputs) {
         Tensor& residual = inputs.at("residual");
         for (std::size_t i = 0; i < residual.size(); ++i) {
           if (std::fabs(residual.value(i)) < 0.5) residual.set_bits(i, 0);
         }
       })},
      {"TheFirstStreamCountsMoreBesideTheSecond", "post_linear_in_residual",
       "mhc_fused_post_pre_gemm_sqrsum:bf16:t2:n4:h64:sk2:seed=1", before([](Problem&, TensorMap& inputs) {
         Tensor& residual = inputs.at("residual");
         if (residual.bits(64) != 0) multiply(residual, 0, 64, 1.125);
       })},

      {"TheLastStreamIsNotProjected", "stream_permutation", "mhc_pre:bf16:t2:n4:h64:seed=1",
       before([](Problem&, TensorMap& inputs) {
         Tensor& fn = inputs.at("fn");
         for (std::size_t m = 0; m < 24; ++m) multiply(fn, (m * 4 + 3) * 64, (m + 1) * 4 * 64, 0);
       })},
      {"TheFirstGateIsEveryones", "stream_permutation", "hc_collapse:bf16:t2:n4:h64:seed=1",
       before([](Problem&, TensorMap& inputs) {
         Tensor& pre_mix = inputs.at("pre_mix");
         for (std::size_t i = 0; i < pre_mix.size(); ++i) pre_mix.set_bits(i, pre_mix.bits(i / 4 * 4));
       })},
      {"OneEntryOfCombIsFixed", "stream_permutation", "sinkhorn:bf16:t2:n3:h64:seed=1",
       after([](const Problem&, TensorMap&, TensorMap& outputs) { outputs.at("comb_mix").set(1, 0.5); })},
      {"AnEpsThatNobodyAskedFor", "scale_invariance", "mhc_pre:bf16:t2:n4:h64:seed=1",
       before([](Problem& problem, TensorMap&) { problem.parameters.rms_eps = 0.01f; })},
      {"TheNormHasAnEpsThatNobodyAskedFor", "scale_invariance", "rmsnorm:bf16:t2:n1:h64:norm=fp32:seed=1",
       before([](Problem& problem, TensorMap&) { problem.parameters.norm_eps = 0.1f; })},
      {"SquaresAreOfRoundedResiduals", "scale_invariance", "mhc_pre_big_fuse:fp16:t2:n4:h64:sk3:seed=1",
       before([](Problem&, TensorMap& inputs) {
         Tensor& sqrsum = inputs.at("gemm_out_sqrsum");
         for (std::size_t i = 0; i < sqrsum.size(); ++i) sqrsum.set(i, sqrsum.value(i) + 1);
       })},

      // By less than an entry of strong logits may be off: see ColumnSums.
      {"AColumnIsSixteenUnitsTooLarge", "column_sums",
       "mhc_pre:bf16:t2:n4:h64:hc_sinkhorn_eps=0:in=strong_logits:seed=1",
       after([](const Problem&, TensorMap&, TensorMap& outputs) {
         Tensor& comb = outputs.at("comb_mix");
         for (std::size_t i = 0; i < 4; ++i) multiply(comb, i * 4, i * 4 + 1, 1 + 0x1p-20);
       })},
      {"RowsAreLast", "column_sums", "sinkhorn:bf16:t3:n4:h64:repeat=1:in=strong_logits:seed=1",
       after([](const Problem&, TensorMap&, TensorMap& outputs) {
         Tensor& comb = outputs.at("comb_mix");
         for (std::size_t row = 0; row < 12; ++row) {
           double sum = 0;
           for (std::size_t j = 0; j < 4; ++j) sum += comb.value(row * 4 + j);
           multiply(comb, row * 4, row * 4 + 4, 1 / sum);
         }
       })},
      {"TheNormIsOnePercentLarge", "unit_norm", "mhc_pre:bf16:t2:n4:h512:norm=bf16:seed=1",
       after([](const Problem&, TensorMap&, TensorMap& outputs) {
         multiply(outputs.at("layer_input"), 0, 512, 1.01);
       })},
      {"TheNormIsTheRootOfTwoLarge", "unit_norm",
       "mhc_fused_post_pre:fp16:t2:n4:h512:norm=fp32:collapse=fp32_sumsq:seed=1",
       after([](const Problem&, TensorMap&, TensorMap& outputs) {
         multiply(outputs.at("layer_input"), 512, 1024, std::sqrt(2.0));
       })},

      {"TheMeanIsOverAllStreams", "entry_equals_carried",
       "mhc_pre_delayed:bf16:t2:n4:h64:entry=broadcast:seed=1",
       before([](Problem& problem, TensorMap& inputs) {
         if (problem.entry != Entry::broadcast) return;
         Tensor& fn = inputs.at("fn_broadcast");
         multiply(fn, 0, fn.size(), 2);
       })},
      {"TheEntryCollapsesTheSecondStream", "entry_equals_carried",
       "mhc_pre_delayed:bf16:t2:n4:h64:entry=entry:seed=1",
       after([](const Problem& problem, TensorMap& inputs, TensorMap& outputs) {
         if (problem.entry != Entry::entry) return;
         for (std::size_t h = 0; h < 64; ++h) {
           outputs.at("layer_input").set_bits(h, inputs.at("residual").bits(64 + h));
         }
       })},
      {"TheFusedNormIsForgotten", "fused_equals_unfused", "mhc_pre:bf16:t2:n4:h64:norm=bf16:seed=1",
       before([](Problem& problem, TensorMap& inputs) {
         if (problem.op != Op::mhc_pre) return;
         problem.norm_weight.reset();
         inputs.erase("norm_weight");
       })},
      {"TheFusedOperatorHasAnotherBase", "fused_equals_unfused", "mhc_fused_post_pre:bf16:t2:n4:h64:seed=1",
       before([](Problem& problem, TensorMap& inputs) {
         if (problem.op == Op::mhc_fused_post_pre) inputs.at("hc_base").set(0, 0);
       })},
      {"TheSecondLaunchLosesASplit", "fused_equals_unfused", "mhc_pre:bf16:t2:n4:h64:seed=1",
       before([](Problem& problem, TensorMap& inputs) {
         if (problem.op == Op::mhc_pre_big_fuse) multiply(inputs.at("gemm_out_mul"), 48, 96, 0);
       })},
      {"TheDelayedOperatorTakesItsOwnGates", "fused_equals_unfused",
       "mhc_fused_post_pre_delayed:bf16:t2:n4:h64:seed=1", before([](Problem& problem, TensorMap& inputs) {
         if (problem.op == Op::mhc_fused_post_pre_delayed) inputs.at("pre_mix").set(0, 0.5);
       })},
      {"TheLastOfThreeSplitsIsLost", "split_k_choices", "mhc_pre_gemm_sqrsum:bf16:t2:n4:h64:seed=1",
       after([](const Problem& problem, TensorMap&, TensorMap& outputs) {
         if (problem.split_k != 3) return;
         Tensor& sums = outputs.at("gemm_out_mul");
         multiply(sums, sums.size() / 3 * 2, sums.size(), 0);
       })},
      {"AtMostThreeSplitsAreAddedUp", "split_k_choices", "mhc_pre_big_fuse:bf16:t2:n4:h64:sk3:seed=1",
       before([](Problem&, TensorMap& inputs) {
         Tensor& sums = inputs.at("gemm_out_mul");
         multiply(sums, std::min<std::size_t>(sums.size(), 3 * 48), sums.size(), 0);
       })},
      {"TheHeadLeavesOutItsEps", "head_equals_pre", "hc_head:bf16:t2:n4:h64:hc_pre_eps=0.03:seed=1",
       before([](Problem& problem, TensorMap&) {
         if (problem.op == Op::hc_head) problem.parameters.hc_pre_eps = 0;
       })},
      {"PreTakesTheScaleOfPost", "head_equals_pre", "mhc_pre:fp16:t2:n4:h64:norm=bf16:seed=1",
       before([](Problem& problem, TensorMap& inputs) {
         Tensor& scale = inputs.at("hc_scale");
         if (problem.op == Op::mhc_pre) scale.set(0, scale.value(1));
       })},
  };
  return rows;
}

class PlantedFault : public ::testing::TestWithParam<Planted> {};

TEST_P(PlantedFault, BreaksItsLawWhichTheBaselineKeeps) {
  const Planted& planted = GetParam();
  const Law* const law = parse_laws(planted.law).front();
  const Case c = parse_descriptor(planted.descriptor);
  const std::unique_ptr<kernels::KernelSet> kernels = testing::host_kernels_for(c);
  conformance::KernelSubject right(*kernels);
  PlantedSubject wrong(right, planted.fault);

  Trial kept(c, right);
  ASSERT_THAT(law->why_not(kept), IsEmpty());
  EXPECT_EQ(law->broken(kept), std::nullopt);
  Trial broken(c, wrong);
  ASSERT_THAT(law->why_not(broken), IsEmpty());
  EXPECT_NE(law->broken(broken), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Laws, PlantedFault, ::testing::ValuesIn(all_planted()),
                         [](const auto& row) { return row.param.name; });

TEST(Laws, EachHasAFaultThatBreaksIt) {
  std::set<std::string_view> broken;
  for (const Planted& planted : all_planted()) broken.insert(planted.law);
  for (const Law& law : all_laws()) EXPECT_TRUE(broken.contains(law.name)) << law.name;
}

TEST(ColumnSums, ShowWhatNoEntryShows) {
  const auto planted = std::ranges::find(all_planted(), "AColumnIsSixteenUnitsTooLarge", &Planted::name);
  const Case c = parse_descriptor(planted->descriptor);
  const std::unique_ptr<kernels::KernelSet> kernels = testing::host_kernels_for(c);
  conformance::KernelSubject right(*kernels);
  PlantedSubject wrong(right, planted->fault);
  Trial trial(c, wrong);
  const reference::Block block =
      reference::Reference(c.problem, c.profile, trial.inputs()).evaluate(0, c.problem.num_tokens);
  const reference::OutputBlock& comb = block.outputs[1];
  ASSERT_EQ(comb.spec.name, "comb_mix");
  for (std::size_t e = 0; e < comb.value.size(); ++e) {
    EXPECT_LE(std::fabs(trial.outputs().at("comb_mix").value(e) - comb.value[e]), allowance(comb, e));
  }
}

// ---- Kernels that are right ----------------------------------------------------------------------------

class RightKernels : public ::testing::TestWithParam<std::string> {};

TEST_P(RightKernels, KeepAllLawsThatSayAnything) {
  const std::vector<const Law*> laws = parse_laws("all");
  std::set<std::string_view> kept;
  for (const conformance::KernelRow& row : conformance::kernels_of(GetParam())) {
    const std::unique_ptr<kernels::KernelSet> kernels = row.make();
    conformance::CaseSelection selection;
    selection.num_tokens = {3};
    selection.hidden_sizes = {512};
    const std::vector<Case> cases = list_cases(selection, [&](Op op) {
      return kernels->implements(op) ? std::vector{kernels->profile(op)} : std::vector<RoundingProfile>{};
    });
    for (const Case& c : cases) {
      if (!kernels->why_refused(c.problem).empty()) continue;
      for (const conformance::LawOutcome& outcome : conformance::put_laws(laws, c, *kernels)) {
        EXPECT_NE(outcome.status, conformance::LawStatus::broken)
            << row.name << ": " << to_descriptor(c) << ": " << outcome.law->name << ": " << outcome.reason;
        if (outcome.status == conformance::LawStatus::kept) kept.insert(outcome.law->name);
      }
    }
  }
  EXPECT_EQ(kept.size(), all_laws().size());
}

INSTANTIATE_TEST_SUITE_P(Laws, RightKernels, ::testing::Values("host", "sim"),
                         [](const auto& device) { return device.param; });

// ---- Where laws say nothing ----------------------------------------------------------------------------

// Has mhc_pre alone and is not batch invariant.
class FewKernels : public Subject {
 public:
  explicit FewKernels(Subject& inner) : inner_(inner) {}
  std::string why_refused(const Problem& problem) const override {
    return problem.op == Op::mhc_pre && problem.num_tokens > 0 ? "" : "not taken";
  }
  RoundingProfile profile(Op op) const override { return inner_.profile(op); }
  bool batch_invariant(Op) const override { return false; }
  RunTrace run(const Problem& problem, TensorMap& inputs, TensorMap& outputs) override {
    EXPECT_THAT(why_refused(problem), IsEmpty());
    return inner_.run(problem, inputs, outputs);
  }

 private:
  Subject& inner_;
};

TEST(Laws, AreSilentWhereTheKernelsClaimOrTakeNothing) {
  const Case c = parse_descriptor("mhc_pre:bf16:t3:n4:h64:norm=bf16:seed=1");
  const std::unique_ptr<kernels::KernelSet> host = testing::host_kernels_for(c);
  conformance::KernelSubject inner(*host);
  FewKernels few(inner);
  Trial trial(c, few);
  std::set<std::string_view> silent;
  for (const Law& law : all_laws()) {
    if (!law.why_not(trial).empty()) {
      silent.insert(law.name);
    } else {
      EXPECT_EQ(law.broken(trial), std::nullopt) << law.name;
    }
  }
  EXPECT_EQ(silent,
            (std::set<std::string_view>{"token_permutation", "batch_invariance", "empty_batch",
                                        "post_linear_in_x", "post_linear_in_residual", "entry_equals_carried",
                                        "fused_equals_unfused", "split_k_choices", "head_equals_pre"}));
}

TEST(Laws, AreAskedOfRunsThatFail) {
  const Case c = parse_descriptor("mhc_pre:bf16:t3:n4:h64:seed=1");
  class Faulting : public kernels::KernelSet {
   public:
    explicit Faulting(std::unique_ptr<kernels::KernelSet> inner) : inner_(std::move(inner)) {}
    std::string name() const override { return "faulting"; }
    bool implements(Op op) const override { return inner_->implements(op); }
    RoundingProfile profile(Op op) const override { return inner_->profile(op); }
    std::string why_refused(const Problem& problem) const override { return inner_->why_refused(problem); }
    bool batch_invariant(Op op) const override { return inner_->batch_invariant(op); }
    kernels::RunReport run(const Problem& problem, TensorMap& inputs,
                           kernels::OutputRegions& outputs) override {
      if (problem.num_tokens == 0) throw kernels::RunFailure("grid.x is 0");
      return inner_->run(problem, inputs, outputs);
    }

   private:
    std::unique_ptr<kernels::KernelSet> inner_;
  } kernels(testing::host_kernels_for(c));
  const std::vector<conformance::LawOutcome> outcomes =
      conformance::put_laws(parse_laws("repeatability,empty_batch"), c, kernels);
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_EQ(outcomes[0].status, conformance::LawStatus::kept);
  EXPECT_EQ(outcomes[1].status, conformance::LawStatus::broken);
  EXPECT_THAT(outcomes[1].reason, HasSubstr("grid.x is 0"));
}

TEST(Laws, AreSilentWhereTheirRunsDoNotFitIntoMemory) {
  const Case c = parse_descriptor("hc_expand:bf16:t1073741824:n8:h65536:seed=1");
  const std::unique_ptr<kernels::KernelSet> kernels = testing::host_kernels_for(c);
  const std::vector<conformance::LawOutcome> outcomes =
      conformance::put_laws(parse_laws("inputs_unchanged"), c, *kernels);
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].status, conformance::LawStatus::silent);
  EXPECT_THAT(outcomes[0].reason, HasSubstr("GiB of memory"));
}

TEST(Laws, AreChosenByName) {
  for (const Law& law : all_laws()) EXPECT_THAT(parse_laws(law.name), ElementsAre(&law));
  EXPECT_EQ(parse_laws("all").size(), all_laws().size());
  EXPECT_THAT(parse_laws("none"), IsEmpty());
  EXPECT_EQ(parse_laws("nan_isolation,repeatability,nan_isolation"),
            parse_laws("repeatability,nan_isolation"));
  for (const char* list : {"all", "none", "repeatability", "repeatability,nan_isolation"}) {
    EXPECT_EQ(to_string(parse_laws(list)), list);
  }
  for (const char* list : {"gravity", "", "repeatability,", "all,repeatability"}) {
    EXPECT_THROW(parse_laws(list), std::invalid_argument) << list;
  }
}

}  // namespace
}  // namespace mhcheck::properties

// Each law is kept by a correct kernel and broken by one with the fault that it is about.
#include "properties/laws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/properties/planted_subject.h"

namespace mhcheck::properties {
namespace {

using ::testing::ElementsAre;
using testing::Fault;
using ::testing::IsEmpty;
using testing::PlantedSubject;

struct Planted {
  std::string name;
  std::string law;
  std::string descriptor;
  Fault fault;
};

// The bits of element i of the last output, changed by one.
void nudge(const Problem& problem, TensorMap& outputs, std::size_t i) {
  Tensor& tensor = outputs.at(std::string(output_specs(problem).back().name));
  tensor.set_bits(i, tensor.bits(i) ^ 1u);
}

std::size_t row_of_last_output(const Problem& problem) {
  return element_count(output_specs(problem).back().shape) / static_cast<std::size_t>(problem.num_tokens);
}

const std::vector<Planted>& all_planted() {
  static const std::vector<Planted> rows{
      {"TheFirstTokenHasBitsOfItsOwn", "token_permutation", "mhc_post:bf16:t5:n4:h64:seed=1",
       [](Subject& inner, const Problem& problem, TensorMap& inputs, TensorMap& outputs) {
         inner.run(problem, inputs, outputs);
         nudge(problem, outputs, 0);
       }},
      {"MoreThanOneTokenTakesAnotherOrder", "batch_invariance", "mhc_pre:bf16:t5:n4:h64:seed=1",
       [](Subject& inner, const Problem& problem, TensorMap& inputs, TensorMap& outputs) {
         inner.run(problem, inputs, outputs);
         for (std::int64_t t = 0; problem.num_tokens > 1 && t < problem.num_tokens; ++t) {
           nudge(problem, outputs, static_cast<std::size_t>(t) * row_of_last_output(problem));
         }
       }},
      {"OneTokenIsAnotherMatterThanTwo", "batch_invariance", "rmsnorm:fp16:t1:n1:h64:norm=bf16:seed=1",
       [](Subject& inner, const Problem& problem, TensorMap& inputs, TensorMap& outputs) {
         inner.run(problem, inputs, outputs);
         if (problem.num_tokens == 1) nudge(problem, outputs, 63);
       }},
      {"EverySecondRunIsDifferent", "repeatability", "sinkhorn:bf16:t2:n4:h64:seed=1",
       [run = 0](Subject& inner, const Problem& problem, TensorMap& inputs, TensorMap& outputs) mutable {
         inner.run(problem, inputs, outputs);
         if (++run % 2 == 0) nudge(problem, outputs, 3);
       }},
      {"ATokenReadsTheOneBefore", "nan_isolation", "hc_expand:bf16:t4:n4:h64:seed=1",
       [](Subject& inner, const Problem& problem, TensorMap& inputs, TensorMap& outputs) {
         inner.run(problem, inputs, outputs);
         const Tensor& x = inputs.at("x");
         for (std::size_t t = 1; t < 4; ++t) {
           if (is_nan(x.dtype(), x.bits((t - 1) * 64)))
             nudge(problem, outputs, t * row_of_last_output(problem));
         }
       }},
      {"ATokenReadsTheOneBehind", "infinity_isolation", "hc_collapse:fp16:t3:n4:h64:seed=1",
       [](Subject& inner, const Problem& problem, TensorMap& inputs, TensorMap& outputs) {
         inner.run(problem, inputs, outputs);
         const Tensor& pre_mix = inputs.at("pre_mix");
         for (std::size_t t = 0; t + 1 < 3; ++t) {
           if (is_infinite(pre_mix.dtype(), pre_mix.bits((t + 1) * 4))) nudge(problem, outputs, t * 64);
         }
       }},
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
  EXPECT_NE(law->broken(broken), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Laws, PlantedFault, ::testing::ValuesIn(all_planted()),
                         [](const auto& row) { return row.param.name; });

TEST(Laws, EachHasAFaultThatBreaksIt) {
  std::set<std::string_view> broken;
  for (const Planted& planted : all_planted()) broken.insert(planted.law);
  for (const Law& law : all_laws()) EXPECT_TRUE(broken.contains(law.name)) << law.name;
}

TEST(Laws, AreChosenByName) {
  for (const Law& law : all_laws()) EXPECT_THAT(parse_laws(law.name), ElementsAre(&law));
  const std::vector<const Law*> all = parse_laws("all");
  EXPECT_EQ(all.size(), all_laws().size());
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

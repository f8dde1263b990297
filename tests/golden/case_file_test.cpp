#include "golden/case_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "golden/answer.h"
#include "golden/safetensors.h"
#include "golden/versions.h"
#include "tests/golden/invented_inputs.h"
#include "tests/golden/scratch_folder.h"

namespace mhcheck::golden {
namespace {

GoldenCase golden_case(std::string_view descriptor) {
  const Case c = parse_descriptor(descriptor);
  GeneratedInputs inputs = invented_inputs(c);
  Answer answer = answer_of(c, inputs.tensors, inputs.options);
  return {c, std::move(inputs.tensors), std::move(answer)};
}

constexpr std::string_view kPost = "mhc_post:bf16:t2:n2:h3";

// The parts of the file of a case, for a test to change before it writes them.
struct Parts {
  Metadata metadata;
  TensorMap tensors;
};

Parts parts_of(const GoldenCase& golden) {
  Parts parts{.metadata = {{"descriptor", to_descriptor(golden.c)},
                           {"contract_version", std::string(kContractVersion)},
                           {"program_version", std::string(program_version())}},
              .tensors = {}};
  const auto add = [&](std::string_view group, const TensorMap& tensors) {
    for (const auto& [name, tensor] : tensors) parts.tensors[fmt::format("{}.{}", group, name)] = tensor;
  };
  add("in", golden.inputs);
  add("out", golden.answer.out);
  add("lo", golden.answer.lo);
  add("hi", golden.answer.hi);
  return parts;
}

void write_parts(const std::filesystem::path& path, const Parts& parts) {
  TensorRefs refs;
  for (const auto& [name, tensor] : parts.tensors) refs[name] = &tensor;
  write_safetensors(path, parts.metadata, refs);
}

// What reading a changed file of kPost's case says, without the file's name; empty when it is accepted.
std::string error_after(const std::function<void(Parts&)>& change,
                        const std::function<void(const std::filesystem::path&)>& read) {
  const ScratchFolder folder;
  const std::filesystem::path path = folder.path() / "f";
  Parts parts = parts_of(golden_case(kPost));
  change(parts);
  write_parts(path, parts);
  try {
    read(path);
  } catch (const FileError& error) {
    return std::string(error.what()).substr(path.string().size());
  }
  return {};
}

std::string case_error_after(const std::function<void(Parts&)>& change) {
  return error_after(change, [](const std::filesystem::path& path) { read_case(path); });
}

TEST(CaseFile, EveryOperatorComesBackAsItWasWritten) {
  for (const OperatorRow& row : all_operators()) {
    for (const char* shape : {"bf16:t3:n2:h5", "fp16:t0:n1:h1"}) {
      const GoldenCase golden =
          golden_case(fmt::format("{}:{}{}", row.name, shape, row.needs_norm ? ":norm=fp32" : ""));
      const ScratchFolder folder;
      write_case(folder.path() / "f", golden);
      const GoldenCaseFile file = read_case(folder.path() / "f");
      EXPECT_EQ(file.golden.c, golden.c);
      EXPECT_EQ(file.golden.inputs, golden.inputs);
      EXPECT_EQ(file.golden.answer.out, golden.answer.out);
      EXPECT_EQ(file.golden.answer.lo, golden.answer.lo);
      EXPECT_EQ(file.golden.answer.hi, golden.answer.hi);
      EXPECT_EQ(file.descriptor, to_descriptor(golden.c));
      EXPECT_EQ(file.contract_version, kContractVersion);
      EXPECT_EQ(file.program_version, program_version());
    }
  }
}

TEST(CaseFile, PartialSumsAreKeptAsTheirSum) {
  const GoldenCase golden = golden_case("mhc_pre_gemm_sqrsum:bf16:t3:n2:h8:sk4");
  EXPECT_EQ(golden.answer.out.at("gemm_out_mul").shape(), (Extents{1, 3, 8}));
  EXPECT_EQ(golden.answer.hi.at("gemm_out_sqrsum").shape(), (Extents{1, 3}));
}

TEST(CaseFile, OtherTensorsThanTheCasesAreNotWritten) {
  const ScratchFolder folder;
  const auto refused = [&](const std::function<void(GoldenCase&)>& change) {
    GoldenCase golden = golden_case(kPost);
    change(golden);
    EXPECT_THROW(write_case(folder.path() / "f", golden), std::invalid_argument);
  };
  refused([](GoldenCase& golden) { golden.inputs.erase("x"); });
  refused([](GoldenCase& golden) { golden.inputs["y"] = Tensor(Dtype::bf16, {1}); });
  refused([](GoldenCase& golden) { golden.answer.lo["next_residual"] = Tensor(Dtype::fp16, {2, 2, 3}); });
  refused([](GoldenCase& golden) { golden.answer.hi["next_residual"] = Tensor(Dtype::bf16, {2, 3, 2}); });
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(CaseFile, EveryMismatchHasItsMessage) {
  EXPECT_EQ(case_error_after([](Parts&) {}), "");
  EXPECT_EQ(case_error_after([](Parts& parts) { parts.metadata.erase("descriptor"); }),
            R"(: __metadata__ has no "descriptor")");
  EXPECT_EQ(case_error_after([](Parts& parts) { parts.metadata.erase("contract_version"); }),
            R"(: __metadata__ has no "contract_version")");
  EXPECT_EQ(
      case_error_after([](Parts& parts) { parts.metadata["author"] = "me"; }),
      R"(: __metadata__ has an unknown field "author"; known are descriptor, contract_version, program_version)");
  EXPECT_THAT(case_error_after([](Parts& parts) { parts.metadata["descriptor"] = "mhc_host:bf16:t2:n2:h3"; }),
              testing::StartsWith(": the descriptor in __metadata__ is wrong: descriptor"));
  EXPECT_EQ(case_error_after([](Parts& parts) { parts.tensors.erase("in.x"); }),
            R"(: has no tensor "in.x", the case needs it: BF16 [2, 3])");
  EXPECT_EQ(case_error_after([](Parts& parts) { parts.tensors.erase("hi.next_residual"); }),
            R"(: has no tensor "hi.next_residual", the case needs it: BF16 [2, 2, 3])");
  EXPECT_EQ(case_error_after([](Parts& parts) { parts.tensors["in.fn"] = Tensor(Dtype::fp32, {1}); }),
            R"(: has a tensor "in.fn" that its case does not have)");
  EXPECT_EQ(case_error_after([](Parts& parts) { parts.tensors["x"] = Tensor(Dtype::fp32, {1}); }),
            R"(: has a tensor "x" that its case does not have)");
  EXPECT_EQ(case_error_after([](Parts& parts) {
              parts.tensors["in.x"] = Tensor(Dtype::fp16, {2, 3});
            }),
            R"(: tensor "in.x" is F16 [2, 3], the case needs BF16 [2, 3])");
  EXPECT_EQ(case_error_after([](Parts& parts) {
              parts.tensors["out.next_residual"] = Tensor(Dtype::bf16, {2, 6});
            }),
            R"(: tensor "out.next_residual" is BF16 [2, 6], the case needs BF16 [2, 2, 3])");
  EXPECT_EQ(case_error_after(
                [](Parts& parts) { parts.metadata["descriptor"] = "mhc_post:bf16:t2:n2:h1000000000"; }),
            R"(: tensor "in.x" is BF16 [2, 3], the case needs BF16 [2, 1000000000])");
}

// ---- Outputs of another program ---------------------------------------------------------------------------

TEST(CandidateFile, HoldsTheOutputsOfItsDescriptorsCase) {
  const ScratchFolder folder;
  Parts parts;
  parts.metadata = {{"descriptor", "mhc_pre_gemm_sqrsum:bf16:t3:n2:h8:sk4"}, {"format", "pt"}};
  parts.tensors["out.gemm_out_mul"] = Tensor(Dtype::fp32, {4, 3, 8});
  parts.tensors["out.gemm_out_sqrsum"] = Tensor(Dtype::fp32, {4, 3});
  parts.tensors["in.residual"] = Tensor(Dtype::fp32, {1});
  parts.tensors["out.gemm_out_mul"].set(7, 1.5);
  write_parts(folder.path() / "f", parts);

  const CandidateOutputs candidate = read_outputs(folder.path() / "f");
  EXPECT_EQ(candidate.c, parse_descriptor("mhc_pre_gemm_sqrsum:bf16:t3:n2:h8:sk4"));
  EXPECT_EQ(candidate.outputs, (TensorMap{{"gemm_out_mul", parts.tensors["out.gemm_out_mul"]},
                                          {"gemm_out_sqrsum", parts.tensors["out.gemm_out_sqrsum"]}}));
}

TEST(CandidateFile, CanLeaveItsCaseToTheCaller) {
  const ScratchFolder folder;
  const GoldenCase golden = golden_case(kPost);
  Parts parts;
  parts.tensors["out.next_residual"] = golden.answer.out.at("next_residual");
  write_parts(folder.path() / "f", parts);
  const CandidateOutputs candidate = read_outputs(folder.path() / "f", golden.c);
  EXPECT_EQ(candidate.c, golden.c);
  EXPECT_EQ(candidate.outputs, golden.answer.out);
}

TEST(CandidateFile, EveryMismatchHasItsMessage) {
  const auto candidate_error_after = [](const std::function<void(Parts&)>& change,
                                        const std::optional<Case>& known = std::nullopt) {
    return error_after(change, [&](const std::filesystem::path& path) { read_outputs(path, known); });
  };
  EXPECT_EQ(candidate_error_after([](Parts&) {}), "");
  EXPECT_EQ(candidate_error_after([](Parts&) {}, parse_descriptor(kPost)), "");
  EXPECT_EQ(candidate_error_after([](Parts& parts) { parts.metadata.erase("descriptor"); }),
            R"(: __metadata__ has no "descriptor", and no case was named: which case is it?)");
  EXPECT_EQ(
      candidate_error_after([](Parts&) {}, parse_descriptor("mhc_post:bf16:t2:n2:h3:seed=5")),
      fmt::format(": its descriptor is {}, the named case is {}", to_descriptor(parse_descriptor(kPost)),
                  to_descriptor(parse_descriptor("mhc_post:bf16:t2:n2:h3:seed=5"))));
  EXPECT_EQ(candidate_error_after([](Parts& parts) { parts.tensors.erase("out.next_residual"); }),
            R"(: has no tensor "out.next_residual", the case needs it: BF16 [2, 2, 3])");
  EXPECT_EQ(candidate_error_after([](Parts& parts) {
              parts.tensors["out.next_residual"] = Tensor(Dtype::fp32, {2, 2, 3});
            }),
            R"(: tensor "out.next_residual" is F32 [2, 2, 3], the case needs BF16 [2, 2, 3])");
  EXPECT_EQ(
      candidate_error_after([](Parts& parts) { parts.tensors["out.post_mix"] = Tensor(Dtype::fp32, {1}); }),
      R"(: has a tensor "out.post_mix" that is no output of mhc_post)");
  EXPECT_EQ(candidate_error_after([](Parts& parts) {
              parts.tensors["next_residual"] = Tensor(Dtype::bf16, {2, 2, 3});
            }),
            R"(: has a tensor "next_residual" that is no output of mhc_post)");
}

}  // namespace
}  // namespace mhcheck::golden

// Folders of golden cases: made, and verified after every kind of damage.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "golden/answer.h"
#include "golden/make.h"
#include "golden/sha256.h"
#include "golden/verify.h"
#include "golden/versions.h"
#include "tests/golden/invented_inputs.h"
#include "tests/golden/scratch_folder.h"

namespace mhcheck::golden {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

void ignore(const ManifestEntry&) {}

// One case of every operator, with tokens and without.
std::vector<Case> cases_of_every_operator() {
  std::vector<Case> cases;
  for (const OperatorRow& row : all_operators()) {
    for (const char* shape : {"bf16:t35:n4:h6", "fp16:t0:n3:h1"}) {
      cases.push_back(
          parse_descriptor(fmt::format("{}:{}{}", row.name, shape, row.fused_norm ? ":norm=bf16" : "")));
    }
  }
  return cases;
}

Case one_case() { return parse_descriptor("mhc_post:bf16:t2:n2:h3"); }
const std::vector<Case>& only_one_case() {
  static const std::vector<Case> cases{one_case()};
  return cases;
}

std::map<std::string, std::string> files_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files[entry.path().filename().string()] = read_file(entry.path());
  }
  return files;
}

TEST(GoldenSet, VerifiesAsItWasMade) {
  const ScratchFolder folder;
  const std::vector<Case> cases = cases_of_every_operator();
  std::vector<ManifestEntry> told;
  const Manifest manifest =
      make(folder.path(), cases, invented_inputs, [&](const ManifestEntry& entry) { told.push_back(entry); });
  EXPECT_EQ(told, manifest.cases);
  EXPECT_EQ(told.size(), cases.size());

  const Verification verification = verify(folder.path(), invented_inputs);
  EXPECT_EQ(verification.cases, cases.size());
  EXPECT_THAT(verification.differences, IsEmpty());
  EXPECT_EQ(files_of(folder.path()).size(), cases.size() + 1);
}

TEST(GoldenSet, HasTheSameBytesWhenMadeAgain) {
  const ScratchFolder first, second;
  make(first.path() / "new" / "folders", cases_of_every_operator(), invented_inputs, ignore);
  make(second.path(), cases_of_every_operator(), invented_inputs, ignore);
  EXPECT_EQ(files_of(first.path() / "new" / "folders"), files_of(second.path()));
}

TEST(GoldenSet, MakingItAgainNamesTheNewCasesOnly) {
  const ScratchFolder folder;
  make(folder.path(), cases_of_every_operator(), invented_inputs, ignore);
  make(folder.path(), only_one_case(), invented_inputs, ignore);
  EXPECT_EQ(verify(folder.path(), invented_inputs).cases, 1u);
  EXPECT_THAT(verify(folder.path(), invented_inputs).differences, IsEmpty());
}

TEST(GoldenSet, AFailureOnTheWayLeavesTheOldManifest) {
  const ScratchFolder folder;
  make(folder.path(), only_one_case(), invented_inputs, ignore);
  const auto failing = [](const Case& c) -> GeneratedInputs {
    if (c.problem.op == Op::rmsnorm) throw std::runtime_error("no inputs");
    return invented_inputs(c);
  };
  EXPECT_THROW(make(folder.path(), cases_of_every_operator(), failing, ignore), std::runtime_error);
  EXPECT_EQ(read_manifest(folder.path()).cases.size(), 1u);
  EXPECT_THAT(verify(folder.path(), invented_inputs).differences, IsEmpty());
}

TEST(GoldenSet, RefusesTwoCasesOfOneName) {
  const ScratchFolder folder;
  const std::vector<Case> twice{one_case(), one_case()};
  EXPECT_THROW(make(folder.path(), twice, invented_inputs, ignore), std::invalid_argument);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(GoldenSet, AFolderThatCannotBeMadeIsNamed) {
  const ScratchFolder folder;
  write_file(folder.path() / "taken", "");
  try {
    make(folder.path() / "taken", only_one_case(), invented_inputs, ignore);
    FAIL() << "was made";
  } catch (const FileError& error) {
    EXPECT_EQ(std::string(error.what()),
              (folder.path() / "taken").string() + ": cannot be created: Not a directory");
  }
}

// ---- Damage -----------------------------------------------------------------------------------------------

// What is found in a folder: differences, or the error that keeps the folder from being read.
std::vector<std::string> findings(const std::filesystem::path& folder) {
  try {
    return verify(folder, invented_inputs).differences;
  } catch (const FileError& error) {
    return {error.what()};
  }
}

void expect_one_line_each(const std::vector<std::string>& found) {
  for (const std::string& line : found) EXPECT_EQ(line.find('\n'), std::string::npos) << line;
}

TEST(GoldenSet, EveryFlippedByteIsFound) {
  const ScratchFolder folder;
  make(folder.path(), only_one_case(), invented_inputs, ignore);
  for (const auto& [name, whole] : files_of(folder.path())) {
    for (std::size_t byte = 0; byte < whole.size(); ++byte) {
      std::string damaged = whole;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << (byte % 8)));
      write_file(folder.path() / name, damaged);
      const std::vector<std::string> found = findings(folder.path());
      EXPECT_THAT(found, Not(IsEmpty())) << name << " byte " << byte;
      expect_one_line_each(found);
    }
    write_file(folder.path() / name, whole);
  }
  EXPECT_THAT(findings(folder.path()), IsEmpty());
}

TEST(GoldenSet, EveryTruncationIsFound) {
  const ScratchFolder folder;
  make(folder.path(), only_one_case(), invented_inputs, ignore);
  for (const auto& [name, whole] : files_of(folder.path())) {
    // The last byte of the manifest ends its line: without it the same is said.
    const std::size_t longest = name == "manifest.json" ? whole.size() - 2 : whole.size() - 1;
    for (std::size_t length = 0; length <= longest; ++length) {
      write_file(folder.path() / name, whole.substr(0, length));
      const std::vector<std::string> found = findings(folder.path());
      EXPECT_THAT(found, Not(IsEmpty())) << name << " cut to " << length;
      expect_one_line_each(found);
    }
    write_file(folder.path() / name, whole);
  }
  EXPECT_THAT(findings(folder.path()), IsEmpty());
}

TEST(GoldenSet, AMissingFileIsADifferenceAndTheOthersAreChecked) {
  const ScratchFolder folder;
  make(folder.path(), cases_of_every_operator(), invented_inputs, ignore);
  const Manifest manifest = read_manifest(folder.path());
  std::filesystem::remove(folder.path() / manifest.cases[0].file);
  std::filesystem::resize_file(folder.path() / manifest.cases[3].file, 10);
  const std::vector<std::string> found = findings(folder.path());
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0], (folder.path() / manifest.cases[0].file).string() +
                          ": cannot be opened: No such file or directory");
  EXPECT_EQ(found[1], fmt::format("{}: has 10 bytes, the manifest says {}",
                                  (folder.path() / manifest.cases[3].file).string(), manifest.cases[3].size));
}

// Writes the one case with a change, and a manifest that agrees with the changed file: what is found then is
// found by computing again, not by a hash.
std::vector<std::string> findings_after(const std::function<void(GoldenCase&)>& change) {
  const ScratchFolder folder;
  Manifest manifest = make(folder.path(), only_one_case(), invented_inputs, ignore);
  const std::filesystem::path path = folder.path() / manifest.cases[0].file;
  GoldenCase golden = read_case(path).golden;
  change(golden);
  write_case(path, golden);
  manifest.cases[0].sha256 = sha256_of_file(path);
  write_manifest(folder.path(), manifest);
  std::vector<std::string> found = findings(folder.path());
  for (std::string& line : found) line.erase(0, path.string().size());
  return found;
}

void flip(Tensor& tensor, std::size_t element) { tensor.set_bits(element, tensor.bits(element) ^ 1u); }

TEST(GoldenSet, AWrongNumberIsFoundWithoutTheHash) {
  EXPECT_THAT(findings_after([](GoldenCase&) {}), IsEmpty());

  const Tensor out = answer_of(one_case(), invented_inputs(one_case()).tensors, {}).out.at("next_residual");
  EXPECT_THAT(findings_after([](GoldenCase& golden) {
                flip(golden.answer.out.at("next_residual"), 10);
                flip(golden.answer.out.at("next_residual"), 11);
              }),
              ElementsAre(fmt::format(
                  ": out.next_residual: 2 of 12 elements differ, first at [1, 1, 1]: the file has "
                  "{} ({:.9g}), computed is {} ({:.9g})",
                  hex_bits(Dtype::bf16, out.bits(10) ^ 1u), decode(Dtype::bf16, out.bits(10) ^ 1u),
                  hex_bits(Dtype::bf16, out.bits(10)), out.value(10))));
  EXPECT_THAT(
      findings_after([](GoldenCase& golden) { flip(golden.answer.lo.at("next_residual"), 0); }),
      ElementsAre(testing::StartsWith(": lo.next_residual: 1 of 12 elements differ, first at [0, 0, 0]: ")));
  EXPECT_THAT(
      findings_after([](GoldenCase& golden) { flip(golden.answer.hi.at("next_residual"), 3); }),
      ElementsAre(testing::StartsWith(": hi.next_residual: 1 of 12 elements differ, first at [0, 1, 0]: ")));
  // The lowest bit of this input is far below the outputs' last bits: only the generator tells.
  EXPECT_THAT(
      findings_after([](GoldenCase& golden) { flip(golden.inputs.at("comb_mix"), 5); }),
      ElementsAre(testing::StartsWith(": in.comb_mix: 1 of 8 elements differ, first at [1, 0, 1]: ")));
}

TEST(GoldenSet, AnotherCaseUnderTheNameIsFound) {
  const std::vector<std::string> found = findings_after([](GoldenCase& golden) { golden.c.seed = 77; });
  EXPECT_THAT(found,
              testing::Contains(": its descriptor is mhc_post:bf16:t2:n2:h3:seed=77, the manifest says " +
                                to_descriptor(one_case())));
}

TEST(GoldenSet, AnotherContractVersionIsFound) {
  const ScratchFolder folder;
  Manifest manifest = make(folder.path(), only_one_case(), invented_inputs, ignore);
  manifest.contract_version = "0";
  write_manifest(folder.path(), manifest);
  EXPECT_THAT(findings(folder.path()),
              ElementsAre(fmt::format("{}: was made under contract version 0, this program has {}",
                                      manifest_path(folder.path()).string(), kContractVersion)));
}

TEST(GoldenSet, AManifestWithoutCasesVerifiesNothing) {
  const ScratchFolder folder;
  Manifest manifest = make(folder.path(), {}, invented_inputs, ignore);
  EXPECT_THAT(findings(folder.path()),
              ElementsAre(fmt::format("{}: lists no case: there is nothing to verify",
                                      manifest_path(folder.path()).string())));
}

TEST(GoldenSet, AFolderInTheManifestsPlaceIsNamed) {
  const ScratchFolder folder;
  std::filesystem::create_directory(manifest_path(folder.path()));
  EXPECT_THAT([&] { read_manifest(folder.path()); },
              testing::ThrowsMessage<FileError>(fmt::format("{}: is a folder, must be a JSON file",
                                                            manifest_path(folder.path()).string())));
}

TEST(GoldenSet, InputsThatCannotBeMadeAreADifference) {
  const ScratchFolder folder;
  make(folder.path(), only_one_case(), invented_inputs, ignore);
  const InputSource unknown = [](const Case&) -> GeneratedInputs {
    throw std::invalid_argument("there is no such regime");
  };
  EXPECT_THAT(verify(folder.path(), unknown).differences,
              ElementsAre(fmt::format("{}: cannot be computed again: there is no such regime",
                                      (folder.path() / case_file_name(case_name(one_case()))).string())));
}

// ---- The answer -------------------------------------------------------------------------------------------

TEST(Answer, OfADataMovementIsExact) {
  const Case c = parse_descriptor("hc_expand:fp16:t3:n4:h5");
  const GeneratedInputs inputs = invented_inputs(c);
  const Answer answer = answer_of(c, inputs.tensors, inputs.options);
  EXPECT_EQ(answer.lo, answer.out);
  EXPECT_EQ(answer.hi, answer.out);
  for (std::size_t e = 0; e < answer.out.at("residual").size(); ++e) {
    EXPECT_EQ(answer.out.at("residual").bits(e), inputs.tensors.at("x").bits(e / 20 * 5 + e % 5)) << e;
  }
}

// lo and hi are the outermost patterns whose rounding intervals meet [value - radius, value + radius].
TEST(Answer, ItsIntervalIsWhatTheRadiusRoundsTo) {
  // Sums long enough for the probabilistic radius to be far below the deterministic one.
  const Case c = parse_descriptor("mhc_pre:bf16:t70:n4:h300:norm=bf16");
  const GeneratedInputs inputs = invented_inputs(c);
  const Answer answer = answer_of(c, inputs.tensors, inputs.options);
  const reference::Block block = reference::Reference(c.problem, c.profile, inputs.tensors).evaluate(0, 70);
  std::size_t wide = 0, probabilistic = 0;
  for (const reference::OutputBlock& output : block.outputs) {
    const Dtype dtype = output.spec.dtype;
    const std::string name(output.spec.name);
    const auto upper_boundary = [&](std::uint32_t bits) {
      return (decode(dtype, bits) + decode(dtype, next_up(dtype, bits))) / 2;
    };
    const auto lower_boundary = [&](std::uint32_t bits) {
      return (decode(dtype, bits) + decode(dtype, next_down(dtype, bits))) / 2;
    };
    for (std::size_t e = 0; e < output.value.size(); ++e) {
      const std::uint32_t lo = answer.lo.at(name).bits(e), hi = answer.hi.at(name).bits(e);
      EXPECT_EQ(answer.out.at(name).bits(e), output.rounded[e]) << name << " " << e;
      // Room for the rounding of these sums, small against a radius of fp32's size.
      const double room = 0.01 * output.probabilistic[e];
      const double lowest = output.value[e] - output.probabilistic[e];
      const double highest = output.value[e] + output.probabilistic[e];
      EXPECT_LE(lower_boundary(lo), lowest + room) << name << " " << e;
      EXPECT_GE(upper_boundary(lo), lowest - room) << name << " " << e;
      EXPECT_LE(lower_boundary(hi), highest + room) << name << " " << e;
      EXPECT_GE(upper_boundary(hi), highest - room) << name << " " << e;
      wide += lo != hi;
      probabilistic += output.probabilistic[e] < 0.5 * output.deterministic[e];
    }
  }
  EXPECT_GT(wide, 0u);
  EXPECT_GT(probabilistic, 0u);
}

TEST(Answer, OfATokenWithoutOneIsNaNAndOthersAreUntouched) {
  const Case c = parse_descriptor("mhc_post:bf16:t40:n2:h3");
  GeneratedInputs inputs = invented_inputs(c);
  const Answer healthy = answer_of(c, inputs.tensors, inputs.options);
  constexpr std::size_t kPoisoned = 33, kElementsPerToken = 6;
  inputs.tensors.at("x").set(kPoisoned * 3, std::numeric_limits<double>::quiet_NaN());
  const Answer answer = answer_of(c, inputs.tensors, inputs.options);
  for (std::size_t e = 0; e < 40 * kElementsPerToken; ++e) {
    for (const auto member : {&Answer::out, &Answer::lo, &Answer::hi}) {
      const Tensor& tensor = (answer.*member).at("next_residual");
      if (e / kElementsPerToken == kPoisoned) {
        EXPECT_TRUE(std::isnan(tensor.value(e))) << e;
      } else {
        EXPECT_EQ(tensor.bits(e), (healthy.*member).at("next_residual").bits(e)) << e;
      }
    }
  }
}

}  // namespace
}  // namespace mhcheck::golden

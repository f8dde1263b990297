// The oracle against cases that another program computed from the same equations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/oracle/arb_oracle.h"

namespace mhcheck::oracle {
namespace {

struct StoredCase {
  Problem problem;
  RoundingProfile profile;
  TensorMap inputs, outputs;
  std::map<std::string, std::vector<double>>
      exact;  // the outputs before their rounding, to the nearest double
};

Dtype dtype_of(const std::string& name) {
  if (name == "BF16") return Dtype::bf16;
  if (name == "F16") return Dtype::fp16;
  EXPECT_EQ(name, "F32");
  return Dtype::fp32;
}

StoredCase read_case(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, bytes.data(), sizeof(header_size));
  const auto header = nlohmann::json::parse(bytes.substr(sizeof(header_size), header_size));
  const std::size_t data = sizeof(header_size) + header_size;

  StoredCase stored;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const std::string kind = name.substr(0, name.find('.')), tensor_name = name.substr(name.find('.') + 1);
    const char* payload = bytes.data() + data + entry.at("data_offsets").at(0).get<std::size_t>();
    const auto shape = entry.at("shape").get<Extents>();
    if (kind == "in" || kind == "out") {
      Tensor& tensor = (kind == "in" ? stored.inputs : stored.outputs)[tensor_name];
      tensor = Tensor(dtype_of(entry.at("dtype")), shape);
      std::memcpy(tensor.bytes().data(), payload, tensor.bytes().size());
    } else if (kind == "exact_hi") {
      std::vector<double>& exact = stored.exact[tensor_name];
      exact.resize(element_count(shape));
      std::memcpy(exact.data(), payload, exact.size() * sizeof(double));
    }
  }

  const auto& meta = header.at("__metadata__");
  const auto text = [&](const char* key) { return meta.at(key).get<std::string>(); };
  const auto real = [&](const char* key) { return std::strtof(text(key).c_str(), nullptr); };
  const auto whole = [&](const char* key) { return std::stoi(text(key)); };
  Problem& p = stored.problem;
  p.op = op_from_name(text("op")).value();
  p.dtype = dtype_of(text("dtype"));
  p.num_tokens = whole("num_tokens");
  p.hc_mult = whole("hc_mult");
  p.hidden_size = whole("hidden_size");
  if (stored.inputs.contains("norm_weight")) p.norm_weight = stored.inputs.at("norm_weight").dtype();
  if (text("entry") == "entry") p.entry = Entry::entry;
  if (text("entry") == "broadcast") p.entry = Entry::broadcast;
  p.parameters = {real("rms_eps"),  real("hc_pre_eps"),         real("hc_sinkhorn_eps"),
                  real("norm_eps"), real("hc_post_mult_value"), whole("sinkhorn_repeat")};
  if (text("rounding") == "fp32_sumsq") stored.profile.collapse = CollapseRounding::fp32_sumsq;
  if (text("rounding") == "fp32") stored.profile.collapse = CollapseRounding::fp32;
  if (text("next_residual") == "unrounded") stored.profile.next_residual = NextResidual::unrounded;
  return stored;
}

std::vector<std::string> stored_case_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(MHCHECK_ORACLE_DATA)) {
    if (entry.path().extension() == ".safetensors") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(StoredCases, AreAllThere) { EXPECT_EQ(stored_case_names().size(), 17u); }

class StoredCaseTest : public testing::TestWithParam<std::string> {};

TEST_P(StoredCaseTest, AgreesBitForBit) {
  const StoredCase stored =
      read_case(std::filesystem::path(MHCHECK_ORACLE_DATA) / (GetParam() + ".safetensors"));
  ASSERT_EQ(why_illegal(stored.problem), "");
  const auto answers = arb_answers(stored.problem, stored.profile, stored.inputs);
  ASSERT_EQ(answers.size(), stored.outputs.size());
  for (const auto& [name, expected] : stored.outputs) {
    const Tensor& got = answers.at(name).rounded;
    ASSERT_EQ(got.shape(), expected.shape()) << name;
    ASSERT_EQ(got.dtype(), expected.dtype()) << name;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(hex_bits(got.dtype(), got.bits(i)), hex_bits(expected.dtype(), expected.bits(i)))
          << name << " element " << i;
      // An output's rounding hides most of a wrong equation; its value before the rounding does not.
      const double exact = stored.exact.at(name).at(i);
      ASSERT_NEAR(answers.at(name).value[i], exact, 0x1p-51 * std::fabs(exact)) << name << " element " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, StoredCaseTest, testing::ValuesIn(stored_case_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace mhcheck::oracle

#include "properties/random_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "reference/base/operators.h"

namespace mhcheck::properties {
namespace {

TEST(RandomRow, WordsStandWhereTheCounterLayoutSays) {
  const RandomRow row(/*seed=*/0x0123456789abcdef, "residual", /*row=*/5);
  const PhiloxCounter block =
      philox4x32({/*block=*/2, /*row=*/5, /*lane=*/3, hash_of_name("residual")}, {0x89abcdef, 0x01234567});
  std::array<std::uint32_t, 4> words;
  row.words(/*lane=*/3, /*first=*/8, words);
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(words[i], block[i]);
    EXPECT_EQ(row.word(3, 8 + i), block[i]);
    EXPECT_EQ(row.uniform(3, 8 + i), std::ldexp(static_cast<float>(block[i] >> 8), -24));
  }
}

TEST(RandomRow, AnyCutGivesTheSameNumbers) {
  const RandomRow row(1, "x", 2);
  constexpr std::size_t kElements = 1000;
  std::vector<float> whole(kElements);
  row.gaussians(0, 0, whole);
  for (const std::size_t first : {4u, 128u, 300u, 996u}) {
    std::vector<float> part(std::min<std::size_t>(77, kElements - first));
    row.gaussians(0, static_cast<std::int64_t>(first), part);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(first)));
  }
}

TEST(RandomRow, SeedTensorRowAndLaneEachChangeEverything) {
  const auto first_words = [](std::uint64_t seed, std::string_view tensor, std::int64_t row,
                              std::uint32_t lane) {
    std::array<std::uint32_t, 8> words;
    RandomRow(seed, tensor, row).words(lane, 0, words);
    return words;
  };
  const auto base = first_words(1, "x", 0, 0);
  for (const auto& other :
       {first_words(2, "x", 0, 0), first_words(1ull << 32 | 1, "x", 0, 0), first_words(1, "residual", 0, 0),
        first_words(1, "x", 1, 0), first_words(1, "x", 0, 1)}) {
    for (std::size_t i = 0; i < base.size(); ++i) EXPECT_NE(base[i], other[i]);
  }
}

TEST(RandomRow, NoTwoTensorNamesShareAHash) {
  std::set<std::string> names = {"massive channels"};
  for (const OperatorRow& row : all_operators()) {
    for (const Entry entry : {Entry::carried, Entry::entry, Entry::broadcast}) {
      Problem problem;
      problem.op = row.op;
      problem.entry = entry;
      if (row.fused_norm) problem.norm_weight = Dtype::bf16;
      for (const TensorSpec& spec : input_specs(problem)) names.emplace(spec.name);
    }
  }
  ASSERT_GT(names.size(), 10u);
  std::set<std::uint32_t> hashes;
  for (const std::string& name : names) hashes.insert(hash_of_name(name));
  EXPECT_EQ(hashes.size(), names.size());
}

TEST(RandomRow, GaussiansFollowTheNormalDistribution) {
  constexpr std::size_t kElements = 1 << 20;
  std::vector<float> values(kElements);
  RandomRow(1, "x", 0).gaussians(0, 0, values);
  double mean = 0, square = 0, fourth = 0, neighbours = 0;
  for (std::size_t i = 0; i < kElements; ++i) {
    const double v = values[i];
    mean += v;
    square += v * v;
    fourth += v * v * v * v;
    neighbours += v * values[(i + 1) % kElements];
  }
  // Five standard errors each.
  const double root = std::sqrt(static_cast<double>(kElements));
  EXPECT_NEAR(mean / kElements, 0, 5 / root);
  EXPECT_NEAR(square / kElements, 1, 5 * std::sqrt(2.0) / root);
  EXPECT_NEAR(fourth / kElements, 3, 5 * std::sqrt(96.0) / root);
  EXPECT_NEAR(neighbours / kElements, 0, 5 / root);

  std::sort(values.begin(), values.end());
  EXPECT_LE(std::max(-values.front(), values.back()), kLargestGaussian);
  EXPECT_GT(std::min(-values.front(), values.back()), 4.0f);
  double largest_gap = 0;  // Kolmogorov-Smirnov
  for (std::size_t i = 0; i < kElements; ++i) {
    const double expected = std::erfc(-values[i] / std::sqrt(2.0)) / 2;
    largest_gap = std::max(largest_gap, std::fabs(expected - (static_cast<double>(i) + 0.5) / kElements));
  }
  EXPECT_LT(largest_gap, 2 / root);
}

}  // namespace
}  // namespace mhcheck::properties

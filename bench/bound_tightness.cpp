// How near correct fp32 evaluations of the projection come to the bound, in every order of tests/oracle, over
// many tokens: bound_tightness [num_tokens] [hidden_size], default 100000 tokens of hidden size 128. Exits
// with 1 if any leaves the probabilistic interval.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/oracle/random_source.h"
#include "tests/oracle/summation_orders.h"

namespace mhcheck {
namespace {

// Tokens share one fn; a block of them is made, measured and dropped.
constexpr std::int64_t kBlockTokens = 500;

Tensor gaussian(const TensorSpec& spec, oracle::RandomSource& random) {
  Tensor tensor(spec.dtype, spec.shape);
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor.set(i, random.gauss());
  return tensor;
}

int measure(std::int64_t num_tokens, std::int64_t hidden_size) {
  oracle::RandomSource random(1);
  Problem block;
  block.op = Op::mhc_pre_gemm_sqrsum;
  block.hidden_size = hidden_size;
  TensorMap inputs;
  for (const TensorSpec& spec : input_specs(block)) inputs[std::string(spec.name)] = gaussian(spec, random);

  std::vector<oracle::OrderTightness> worst;
  for (std::int64_t done = 0; done < num_tokens; done += block.num_tokens) {
    block.num_tokens = std::min(kBlockTokens, num_tokens - done);
    inputs["residual"] = gaussian(input_specs(block).front(), random);
    const std::vector<oracle::OrderTightness> seen =
        measure_orders(block, inputs, oracle::all_product_forms().front(), {}, random);
    if (worst.empty()) worst = seen;
    for (std::size_t row = 0; row < worst.size(); ++row) {
      worst[row].of_probabilistic = std::max(worst[row].of_probabilistic, seen[row].of_probabilistic);
      worst[row].of_deterministic = std::max(worst[row].of_deterministic, seen[row].of_deterministic);
    }
  }

  fmt::print("mhc_pre_gemm_sqrsum, {} tokens, hc_mult {}, hidden {}: largest error / bound\n", num_tokens,
             block.hc_mult, hidden_size);
  fmt::print("{:26} {:>9} {:>14} {:>14}\n", "order", "products", "probabilistic", "deterministic");
  bool inside = true;
  for (const oracle::OrderTightness& row : worst) {
    fmt::print("{:26} {:>9} {:14.4f} {:14.6f}\n", row.order, row.fused ? "fused" : "rounded",
               row.of_probabilistic, row.of_deterministic);
    inside = inside && row.of_probabilistic <= 1 && row.of_deterministic <= 1;
  }
  return inside ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace mhcheck

int main(int argc, char** argv) {
  const auto argument = [&](int index, std::int64_t otherwise) {
    return argc > index ? std::strtoll(argv[index], nullptr, 10) : otherwise;
  };
  const std::int64_t num_tokens = argument(1, 100'000), hidden_size = argument(2, 128);
  if (num_tokens < 1 || hidden_size < 1) {
    fmt::print(stderr,
               "usage: bound_tightness [num_tokens] [hidden_size], both whole numbers of 1 or more\n");
    return 2;
  }
  return mhcheck::measure(num_tokens, hidden_size);
}

// How fast the certified reference is: mhc_pre at production size against the same sums in cpp_bin_float_100,
// how its time grows with num_tokens and hidden_size, and how much memory a large case takes. One run on one
// core prints all of it; scripts/bench.sh adds PyTorch's float64 on the same machine where torch is there.
#include <fmt/format.h>
#include <sys/resource.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <array>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <chrono>
#include <cstdint>
#include <vector>

#include "properties/regimes.h"
#include "reference/base/case.h"
#include "reference/base/keep_freed_memory.h"
#include "reference/reference.h"

namespace {

using namespace mhcheck;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Case pre_case(std::int64_t num_tokens, std::int64_t hidden_size) {
  Case c;
  c.problem.op = Op::mhc_pre;
  c.problem.num_tokens = num_tokens;
  c.problem.hidden_size = hidden_size;
  return c;
}

// The certified outputs and radii of the whole case, one block after the other.
double reference_seconds(const Case& c, const TensorMap& inputs, reference::Certification& certification) {
  const auto start = Clock::now();
  const reference::Reference reference(c.problem, c.profile, inputs);
  constexpr std::int64_t kBlock = reference::Reference::kBlockTokens;
  for (std::int64_t t = 0; t < c.problem.num_tokens; t += kBlock) {
    certification += reference.evaluate(t, std::min(kBlock, c.problem.num_tokens - t)).certification;
  }
  return seconds_since(start);
}

// The projection and the sum of squares of one token, term by term.
double bignum_seconds_per_token(const Case& c, const TensorMap& inputs) {
  using Number = boost::multiprecision::cpp_bin_float_100;
  const Tensor& residual = inputs.at("residual");
  const Tensor& fn = inputs.at("fn");
  const auto terms = static_cast<std::size_t>(c.problem.hc_hidden_size());
  const auto rows = static_cast<std::size_t>(c.problem.hc_mult3());
  const auto start = Clock::now();
  std::vector<Number> projection(rows);
  Number squares = 0;
  for (std::size_t k = 0; k < terms; ++k) {
    const Number x = residual.value(k);
    squares += x * x;
    for (std::size_t m = 0; m < rows; ++m) projection[m] += x * fn.value(m * terms + k);
  }
  const double seconds = seconds_since(start);
  // So that nothing is optimised away.
  if (squares < 0) fmt::print("{}\n", projection[0].str());
  return seconds;
}

}  // namespace

int main() {
  mhcheck::keep_freed_memory();
  const tbb::global_control one_core(tbb::global_control::max_allowed_parallelism, 1);

  const Case large = pre_case(1024, 7168);
  const TensorMap inputs = properties::make_inputs(large);
  reference::Certification certification;
  const double first_run = reference_seconds(large, inputs, certification);
  // The median of five: other programs on the machine should not decide the ratio.
  std::array<double, 5> runs{};
  for (double& run : runs) {
    reference::Certification again;
    run = reference_seconds(large, inputs, again);
  }
  std::ranges::sort(runs);
  const double certified = runs[runs.size() / 2];
  const double bignum =
      bignum_seconds_per_token(large, inputs) * static_cast<double>(large.problem.num_tokens);
  fmt::print("mhc_pre, num_tokens 1024, hidden_size 7168, one core\n");
  fmt::print(
      "  certified values and bounds     {:10.3f} s (median of {}; {:.3f} to {:.3f}, the first {:.3f})\n",
      certified, runs.size(), runs.front(), runs.back(), first_run);
  fmt::print("  its sums in cpp_bin_float_100   {:10.1f} s (one token measured, times 1024)\n", bignum);
  fmt::print("  ratio                           {:10.0f}\n", bignum / certified);
  fmt::print("  elements decided at each level ");
  for (int level = 0; level < reference::Certification::kLevels; ++level) {
    if (certification.elements[level] != 0) {
      fmt::print(" {}: {}", reference::level_name(level), certification.elements[level]);
    }
  }
  fmt::print("\n\ngrowth: microseconds per token and hidden element\n  {:>10} {:>11} {:>10} {:>10}\n",
             "num_tokens", "hidden_size", "seconds", "us");
  constexpr std::pair<std::int64_t, std::int64_t> kSizes[] = {
      {128, 1792}, {128, 3584}, {128, 7168}, {256, 7168}, {512, 7168}, {1024, 7168}, {2048, 7168}};
  for (const auto& [num_tokens, hidden_size] : kSizes) {
    const Case c = pre_case(num_tokens, hidden_size);
    const TensorMap case_inputs = properties::make_inputs(c);
    reference::Certification ignored;
    const double seconds = reference_seconds(c, case_inputs, ignored);
    fmt::print("  {:10} {:11} {:10.3f} {:10.4f}\n", num_tokens, hidden_size, seconds,
               1e6 * seconds / static_cast<double>(num_tokens * hidden_size));
  }

  const Case huge = pre_case(4096, 7168);
  const TensorMap huge_inputs = properties::make_inputs(huge);
  reference::Certification ignored;
  const double seconds = reference_seconds(huge, huge_inputs, ignored);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "\nnum_tokens 4096, hidden_size 7168: {:.2f} s, peak memory of the process {:.0f} MiB, inputs "
      "included\n",
      seconds, static_cast<double>(usage.ru_maxrss) / 1024);
}

// How fast a case's inputs are made: items are elements, one thread unless the name says otherwise.

#include <benchmark/benchmark.h>
#include <tbb/global_control.h>

#include <string>
#include <vector>

#include "properties/regimes.h"

namespace {

using namespace mhcheck;
using namespace mhcheck::properties;

// 16 million bf16 elements of residual and x, as a large case has them.
void make_a_large_case(benchmark::State& state, const Regime& regime, std::size_t threads) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  const Case c = parse_descriptor("mhc_post:bf16:t457:n4:h7168:in=" + std::string(regime.name));
  std::size_t elements = 0;
  for (auto _ : state) {
    const TensorMap inputs = make_inputs(c);
    benchmark::DoNotOptimize(inputs);
    for (const auto& [name, tensor] : inputs) elements += tensor.size();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(elements));
}

void draw_gaussians(benchmark::State& state) {
  std::vector<float> values(4096);
  const RandomRow row(/*seed=*/1, "x", /*row=*/0);
  for (auto _ : state) {
    row.gaussians(/*lane=*/0, /*first=*/0, values);
    benchmark::DoNotOptimize(values.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(values.size()));
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::RegisterBenchmark("gaussians", draw_gaussians);
  for (const Regime& regime : all_regimes()) {
    benchmark::RegisterBenchmark(("inputs/" + std::string(regime.name)).c_str(), make_a_large_case, regime, 1)
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RegisterBenchmark("inputs/gauss/two threads", make_a_large_case, *find_regime("gauss"), 2)
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

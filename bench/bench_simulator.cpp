// Wave instructions a second on one core, for loops that stand for what mHC kernels do most, without
// sanitizers (0) and with all of them (1).
#include <benchmark/benchmark.h>

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/codeobject/code_object.h"
#include "kernels/runtime/sim_device.h"

namespace {

using mhcheck::runtime::ArgumentValue;
using mhcheck::simulator::BufferRole;
using mhcheck::simulator::SanitizerSet;

void run_loop(benchmark::State& state, const char* kernel, int rounds, std::uint64_t floats,
              std::uint64_t block = 64) {
  mhcheck::simulator::Options options;
  options.threads = 1;
  const auto device = mhcheck::runtime::open_sim(options);
  const auto module = device->load(mhcheck::codeobject::read_file(SIMULATOR_LOOPS), SIMULATOR_LOOPS);
  device->instrument({.sanitizers = state.range(0) ? SanitizerSet::all() : SanitizerSet(), .schedule = {}});
  const auto in = device->allocate(floats * sizeof(float), "in"),
             out = device->allocate(floats * sizeof(float), "out");
  device->declare(in, {.role = BufferRole::kInput, .element_bytes = sizeof(float), .extents = {}});
  device->declare(out, {.role = BufferRole::kOutput, .element_bytes = sizeof(float), .extents = {}});
  const std::vector<float> values(floats, 1.5f);
  device->upload(in, std::as_bytes(std::span(values)));
  const std::vector<ArgumentValue> arguments{ArgumentValue(in.address()), ArgumentValue(out.address()),
                                             ArgumentValue(rounds)};
  std::uint64_t instructions = 0;
  for (auto _ : state) {
    device->launch(module->find_kernel(kernel), {{1, 1, 1}, {block, 1, 1}, 0}, arguments);
    instructions += device->wait().at("instructions");
  }
  state.counters["wave_instructions"] =
      benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
}

void reduction(benchmark::State& state) { run_loop(state, "reduction_loop", 20000, 64); }
void bandwidth(benchmark::State& state) { run_loop(state, "bandwidth_loop", 10000, 64 * 4 * 10000); }
void mfma(benchmark::State& state) { run_loop(state, "mfma_loop", 20000, 256); }
void lds(benchmark::State& state) { run_loop(state, "lds_loop", 1000, 1024, 256); }

BENCHMARK(reduction)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(bandwidth)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(mfma)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(lds)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();

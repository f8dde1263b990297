#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "kernels/simulator/code.h"
#include "kernels/simulator/simulator.h"
#include "kernels/simulator/workgroup_run.h"

namespace mhcheck::simulator {
namespace {

constexpr uint32_t kLdsLimit = 160 * 1024, kWorkItemLimit = 1024;
// What a work-item gets beyond its fixed segment when the compiler could not bound the stack (recursion).
constexpr uint32_t kDynamicStackBytes = 16 * 1024;
constexpr uint64_t kPreloadPrologue =
    256;  // bytes of loads for older firmware, before the code that expects SGPRs filled

void check_dispatch(const KernelState& kernel, const Dispatch& dispatch) {
  const auto product = [](const std::array<uint32_t, 3>& size) {
    return uint64_t{size[0]} * size[1] * size[2];
  };
  if (product(dispatch.block) < 1 || product(dispatch.block) > kWorkItemLimit ||
      std::any_of(dispatch.block.begin(), dispatch.block.end(),
                  [](uint32_t n) { return n > kWorkItemLimit; })) {
    throw std::invalid_argument(
        fmt::format("kernel {}: a block of {} x {} x {} work-items, where 1 to {} are possible", kernel.name,
                    dispatch.block[0], dispatch.block[1], dispatch.block[2], kWorkItemLimit));
  }
  const uint64_t lds = uint64_t{kernel.group_segment_bytes} + dispatch.dynamic_lds_bytes;
  if (lds > kLdsLimit) {
    throw std::invalid_argument(fmt::format("kernel {}: {} bytes of LDS, where a workgroup has at most {}",
                                            kernel.name, lds, kLdsLimit));
  }
  if (kernel.code_properties >> 10 & 1) {
    throw std::invalid_argument(
        fmt::format("kernel {}: compiled for wave32, which gfx950 does not have", kernel.name));
  }
}

// Registers that the descriptor allocates against those that the code names.
void set_registers(LaunchContext& context, const Code::Reach& reach) {
  const KernelState& kernel = context.kernel;
  if (reach.indirect) {  // the called functions' registers are not known beforehand
    context.vector_registers = context.accumulators = kFirstAccumulator;
    return;
  }
  const unsigned total = ((kernel.rsrc1 & 0x3f) + 1) * 8, accumulators_from = ((kernel.rsrc3 & 0x3f) + 1) * 4;
  context.vector_registers = std::min(total, accumulators_from);
  context.accumulators = total > accumulators_from ? total - accumulators_from : 0;
  if (reach.vector_registers > context.vector_registers || reach.accumulators > context.accumulators) {
    throw IllegalOperation(
        fmt::format("kernel {} names v{} and a{} but its descriptor allocates {} VGPRs and {} AGPRs",
                    kernel.name, int(reach.vector_registers) - 1, int(reach.accumulators) - 1,
                    context.vector_registers, context.accumulators));
  }
}

// Gives out the numbers 0 to count - 1: in ascending order, or in one that a seed picks.
class Order {
 public:
  Order(uint64_t count, uint64_t seed) : count_(count) {
    if (seed == 0 || count == 0) return;
    uint64_t scrambled = seed * 0x9e3779b97f4a7c15u;
    scrambled ^= scrambled >> 29;
    next_ = scrambled % count;
    step_ = scrambled / count % count + 1;
    while (std::gcd(step_, count) != 1) ++step_;
  }
  bool empty() const { return given_ == count_; }
  uint64_t take() {
    ++given_;
    return std::exchange(next_, (next_ + step_) % count_);
  }

 private:
  uint64_t count_, given_ = 0, next_ = 0, step_ = 1;
};

// On one thread, workgroups that may wait for each other, are watched, or are to be interleaved: all that
// have begun take turns, and new ones begin when none of those ends.
void run_in_order(const LaunchContext& context, uint64_t groups, Counters& counters) {
  // With a seed several begin at once and take turns after few instructions.
  const uint64_t seed = context.options.seed;
  const uint64_t quantum = seed ? 256 : 1 << 16, at_once = seed ? 4 : 1;
  struct Resident {
    Resident(const LaunchContext& launch, uint64_t index) : state(launch), run(launch, state, index) {}
    WorkgroupState state;
    WorkgroupRun run;
  };
  std::deque<std::unique_ptr<Resident>> residents;
  Order order(groups, seed);
  uint64_t admitted = at_once;
  while (!order.empty() || !residents.empty()) {
    for (uint64_t i = 0; i < admitted && !order.empty(); ++i)
      residents.push_back(std::make_unique<Resident>(context, order.take()));
    bool any_ended = false;
    for (auto& resident : residents) {
      if (!resident->run.advance(quantum)) continue;
      resident->run.count(counters);
      resident.reset();
      any_ended = true;
    }
    std::erase_if(residents, [](const auto& resident) { return !resident; });
    const uint64_t free = at_once > residents.size() ? at_once - residents.size() : 0;
    admitted = any_ended ? free : residents.size();
  }
}

void run_in_parallel(const LaunchContext& context, uint64_t groups, Counters& counters) {
  struct Worker {
    std::unique_ptr<WorkgroupState> state;
    Counters counters;
  };
  tbb::enumerable_thread_specific<Worker> workers;
  std::mutex mutex;
  std::atomic<uint64_t> first_fault{groups};
  std::exception_ptr fault;
  const int threads =
      context.options.threads > 0 ? context.options.threads : tbb::info::default_concurrency();
  // More threads than processors are a legitimate wish: they show that results do not depend on timing.
  const tbb::global_control allow(tbb::global_control::max_allowed_parallelism,
                                  static_cast<size_t>(threads) + 1);
  tbb::task_arena arena(threads);
  arena.execute([&] {
    tbb::parallel_for(tbb::blocked_range<uint64_t>(0, groups),
                      [&](const tbb::blocked_range<uint64_t>& range) {
                        Worker& worker = workers.local();
                        if (!worker.state) worker.state = std::make_unique<WorkgroupState>(context);
                        for (uint64_t index = range.begin(); index < range.end(); ++index) {
                          if (index > first_fault.load()) return;  // the report is about the lowest one
                          try {
                            WorkgroupRun run(context, *worker.state, index);
                            run.advance(0);
                            run.count(worker.counters);
                          } catch (...) {
                            const std::lock_guard lock(mutex);
                            if (index < first_fault.load()) {
                              first_fault = index;
                              fault = std::current_exception();
                            }
                          }
                        }
                      });
  });
  if (fault) std::rethrow_exception(fault);
  for (const Worker& worker : workers) counters += worker.counters;
}

}  // namespace

Counters& Counters::operator+=(const Counters& more) {
  salu += more.salu;
  smem += more.smem;
  valu += more.valu;
  mfma += more.mfma;
  vmem += more.vmem;
  lds += more.lds;
  branch += more.branch;
  other += more.other;
  memory_bytes_read += more.memory_bytes_read;
  memory_bytes_written += more.memory_bytes_written;
  lds_bytes_read += more.lds_bytes_read;
  lds_bytes_written += more.lds_bytes_written;
  cache_lines += more.cache_lines;
  lds_bank_conflicts += more.lds_bank_conflicts;
  buffer_lanes_clamped += more.buffer_lanes_clamped;
  workgroups += more.workgroups;
  waves += more.waves;
  return *this;
}

LaunchResult launch(Memory& memory, const Program& program, const KernelState& kernel,
                    const Dispatch& dispatch, const Options& options) {
  check_dispatch(kernel, dispatch);
  LaunchContext context{memory, program.code(), kernel, dispatch, options};
  context.scratch_bytes =
      kernel.private_segment_bytes + (kernel.code_properties >> 11 & 1 ? kDynamicStackBytes : 0);
  const uint64_t entry = kernel.entry_address + (kernel.kernarg_preload & 0x7f ? kPreloadPrologue : 0);
  const Code::Reach reach = context.code.reach(entry);
  context.entry = context.code.at(entry);
  context.lds_bytes = kernel.group_segment_bytes + dispatch.dynamic_lds_bytes;
  set_registers(context, reach);

  LaunchResult result;
  memory.clear_touched_lines();
  const uint64_t groups = uint64_t{dispatch.grid[0]} * dispatch.grid[1] * dispatch.grid[2];
  std::unique_ptr<LaunchWatch> watch;
  if (options.watcher) {
    watch = std::make_unique<LaunchWatch>(*options.watcher, context.code, kernel.name, dispatch);
    context.watch = watch.get();
  }
  if (reach.orders_workgroups || reach.indirect || watch || options.seed) {
    run_in_order(context, groups, result.counters);
  } else {
    run_in_parallel(context, groups, result.counters);
  }
  result.counters.cache_lines = memory.count_touched_lines();
  return result;
}

}  // namespace mhcheck::simulator

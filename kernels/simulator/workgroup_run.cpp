#include "kernels/simulator/workgroup_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/simulator/code.h"
#include "kernels/simulator/fault.h"
#include "kernels/simulator/sanitizers/wave_watch.h"

namespace mhcheck::simulator {
namespace {

constexpr size_t kRegisterFile = static_cast<size_t>(kVectorRegisters) * kLanes;

uint32_t work_items(const Dispatch& dispatch) {
  return dispatch.block[0] * dispatch.block[1] * dispatch.block[2];
}

void poison(uint32_t* words, size_t count) { std::fill_n(words, count, kPoison); }

void poison(std::vector<std::byte>& bytes) {
  for (size_t i = 0; i < bytes.size(); i += sizeof kPoison) {
    std::memcpy(&bytes[i], &kPoison, std::min(sizeof kPoison, bytes.size() - i));
  }
}

// Adds where a fault happened, keeping its type.
[[noreturn]] void rethrow_with_place(const std::string& place) {
  try {
    throw;
  } catch (const MemoryFault& fault) {
    throw MemoryFault(fault.what() + place, fault.address());
  } catch (const UnknownInstruction& fault) {
    throw UnknownInstruction(fault.what() + place, fault.mnemonic(), fault.address());
  } catch (const IllegalOperation& fault) {
    throw IllegalOperation(fault.what() + place);
  }
}

}  // namespace

WorkgroupState::WorkgroupState(const LaunchContext& context)
    : waves_((work_items(context.dispatch) + kLanes - 1) / kLanes),
      storage_(new uint32_t[waves_.size() * kRegisterFile + 16]),
      lds_(context.lds_bytes),
      scratch_(waves_.size() * kLanes * context.scratch_bytes) {
  const uintptr_t start = reinterpret_cast<uintptr_t>(storage_.get());
  registers_ = storage_.get() + (64 - start % 64) % 64 / sizeof(uint32_t);
}

void WorkgroupState::reset(const LaunchContext& context, uint64_t group_index) {
  const auto& grid = context.dispatch.grid;
  group_.id = {static_cast<uint32_t>(group_index % grid[0]),
               static_cast<uint32_t>(group_index / grid[0] % grid[1]),
               static_cast<uint32_t>(group_index / grid[0] / grid[1])};
  group_.lds = lds_.data();
  group_.lds_bytes = context.lds_bytes;
  poison(lds_);
  poison(scratch_);
  for (uint32_t i = 0; i < waves_.size(); ++i) reset_wave(context, i);
}

void WorkgroupState::reset_wave(const LaunchContext& context, uint32_t wave_index) {
  Wave& wave = waves_[wave_index];
  const KernelState& kernel = context.kernel;
  wave = {};
  wave.pc = context.entry;
  wave.vector = registers_ + wave_index * kRegisterFile;
  wave.scratch_bytes = context.scratch_bytes;
  wave.scratch = scratch_.data() + size_t{wave_index} * kLanes * context.scratch_bytes;
  wave.group = &group_;
  wave.code = &context.code;
  wave.memory = &context.memory;
  wave.options = &context.options;
  wave.index_in_group = wave_index;
  wave.scc = kPoison & 1;
  // The descriptor's float mode, DX10_CLAMP, IEEE and FP16_OVFL become MODE.
  wave.mode = (kernel.rsrc1 >> 12 & 0xff) | (kernel.rsrc1 >> 21 & 1) << 8 | (kernel.rsrc1 >> 23 & 1) << 9 |
              (kernel.rsrc1 >> 26 & 1) << 23;
  wave.default_floats = (wave.mode & 0xff) == 0xf0 && !(wave.mode & mode_bits::kF16Overflow);
  poison(wave.vector, size_t{context.vector_registers} * kLanes);
  poison(wave.vector + size_t{kFirstAccumulator} * kLanes, size_t{context.accumulators} * kLanes);
  poison(wave.scalar, scalar_register::kCount);
  fill_scalars(context, wave);
  fill_work_item_ids(context, wave);
}

void WorkgroupState::fill_scalars(const LaunchContext& context, Wave& wave) const {
  const KernelState& kernel = context.kernel;
  const Dispatch& dispatch = context.dispatch;
  unsigned next = 0;
  const auto push = [&](uint32_t value) { wave.scalar[next++] = value; };
  const auto push64 = [&](uint64_t value) {
    push(static_cast<uint32_t>(value));
    push(static_cast<uint32_t>(value >> 32));
  };
  const auto has = [&](int bit) { return kernel.code_properties >> bit & 1; };
  if (has(0)) next += 4;  // a private segment buffer, which architected flat scratch leaves undefined
  if (has(1)) push64(dispatch.dispatch_packet_address);
  if (has(2)) push64(dispatch.queue_address);
  if (has(3)) push64(dispatch.kernarg_address);
  if (has(4)) push64(0);  // dispatch id
  if (has(5)) next += 2;
  if (has(6)) push(context.scratch_bytes);
  const unsigned preloaded = kernel.kernarg_preload & 0x7f, first_dword = kernel.kernarg_preload >> 7;
  for (unsigned i = 0; i < preloaded; ++i) {
    uint32_t value = 0;
    std::memcpy(&value, context.memory.translate(dispatch.kernarg_address + 4 * (first_dword + i), 4), 4);
    push(value);
  }
  next = kernel.rsrc2 >> 1 & 0x1f;
  if (kernel.rsrc2 >> 7 & 1) push(group_.id[0]);
  if (kernel.rsrc2 >> 8 & 1) push(group_.id[1]);
  if (kernel.rsrc2 >> 9 & 1) push(group_.id[2]);
  if (kernel.rsrc2 >> 10 & 1) push(static_cast<uint32_t>(waves_.size()));
  wave.preset_scalars = next;
  wave.scalar[scalar_register::kFlatScratch] = 0;
  wave.scalar[scalar_register::kFlatScratch + 1] = static_cast<uint32_t>(kPrivateAperture >> 32);

  const uint32_t items = work_items(dispatch), first = wave.index_in_group * kLanes;
  const uint32_t live = std::min<uint32_t>(kLanes, items - first);
  const uint64_t exec = live == kLanes ? ~uint64_t{0} : (uint64_t{1} << live) - 1;
  wave.scalar[scalar_register::kExec] = static_cast<uint32_t>(exec);
  wave.scalar[scalar_register::kExec + 1] = static_cast<uint32_t>(exec >> 32);
  for (uint32_t lane = 0; lane < kLanes; ++lane) wave.lane_mask[lane] = lane < live ? ~0u : 0u;
}

void WorkgroupState::fill_work_item_ids(const LaunchContext& context, Wave& wave) const {
  const auto& block = context.dispatch.block;
  const unsigned components = context.kernel.rsrc2 >> 11 & 3;  // 0 x, 1 x and y, 2 all
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if (!wave.lane_mask[lane]) continue;
    const uint32_t flat = wave.index_in_group * kLanes + lane;
    uint32_t packed = flat % block[0];
    if (components >= 1) packed |= flat / block[0] % block[1] << 10;
    if (components >= 2) packed |= flat / block[0] / block[1] << 20;
    wave.vector[lane] = packed;
  }
}

WorkgroupRun::WorkgroupRun(const LaunchContext& context, WorkgroupState& state, uint64_t group_index)
    : context_(context),
      state_(state),
      random_state_(context.options.seed ^ (group_index + 1) * 0x9e3779b97f4a7c15u) {
  state_.reset(context, group_index);
  if (context.watch)
    watch_ = std::make_unique<GroupWatch>(*context.watch, group_index, state_.waves(), context.lds_bytes);
}

uint64_t WorkgroupRun::random() {  // SplitMix64
  uint64_t z = random_state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

// The next wave to run; null when none can. Without a seed they take turns in order, with one at random.
Wave* WorkgroupRun::choose() {
  std::vector<Wave>& waves = state_.waves();
  const size_t first = context_.options.seed ? random() % waves.size() : turn_;
  for (size_t i = 0; i < waves.size(); ++i) {
    const size_t index = (first + i) % waves.size();
    if (waves[index].status == WaveStatus::kRunning) {
      turn_ = (index + 1) % waves.size();
      return &waves[index];
    }
  }
  return nullptr;
}

bool WorkgroupRun::release_barrier() {  // ended waves count as arrived
  if (watch_) watch_->at_barrier(state_.waves());
  bool released = false;
  for (Wave& wave : state_.waves()) {
    if (wave.status != WaveStatus::kAtBarrier) continue;
    wave.status = WaveStatus::kRunning;
    released = true;
  }
  turn_ = 0;
  return released;
}

template <bool kWatched>
void WorkgroupRun::run_slice(Wave& wave, uint64_t length) {
  const uint64_t budget = context_.options.instruction_budget;
  if (wave.instructions_done >= budget) raise_budget(wave);
  length = std::min(length, budget - wave.instructions_done);
  wave.instructions_done += length;
  wave.remaining = static_cast<int64_t>(length);
  const Instruction* at = wave.pc;
  try {
    while (wave.remaining > 0) {
      --wave.remaining;
      at = wave.pc;
      wave.pc = at + at->length;
      ++wave.executed[static_cast<int>(at->counted_as)];
      if (kWatched) {
        wave.watch->execute(*at);
      } else {
        at->execute(wave, *at);
      }
    }
  } catch (const Fault&) {
    const uint64_t address = wave.code->address_of(at);
    const auto& id = wave.group->id;
    rethrow_with_place(fmt::format("; at {:#x} `{}` in kernel {}, workgroup ({}, {}, {}), wave {}", address,
                                   wave.code->text_at(address), context_.kernel.name, id[0], id[1], id[2],
                                   wave.index_in_group));
  }
}

// The wave is in a loop: its next backward jump names the loop's head.
void WorkgroupRun::raise_budget(Wave& wave) {
  constexpr int kPatience = 1'000'000;
  const Instruction* before = wave.pc;
  for (int i = 0; i < kPatience && wave.status == WaveStatus::kRunning; ++i) {
    before = wave.pc;
    wave.remaining = 1;
    wave.pc = before + before->length;
    if (wave.watch) {
      wave.watch->execute(*before);
    } else {
      before->execute(wave, *before);
    }
    if (wave.pc <= before) break;
  }
  const uint64_t head = context_.code.address_of(wave.pc);
  const auto& id = wave.group->id;
  throw BudgetExceeded(fmt::format("kernel {} does not end: workgroup ({}, {}, {}), wave {} used its budget "
                                   "of {} instructions in the loop at "
                                   "{:#x} (closed by `{}`)",
                                   context_.kernel.name, id[0], id[1], id[2], wave.index_in_group,
                                   context_.options.instruction_budget, head,
                                   context_.code.text_at(context_.code.address_of(before))),
                       head);
}

bool WorkgroupRun::advance(uint64_t quantum) {
  // Long enough to cost nothing, short enough that a wave which waits for another one through LDS gets its
  // answer.
  constexpr uint64_t kTurn = 1 << 16;
  // An adversarial interleaving changes waves after a few instructions.
  constexpr uint64_t kLongestRandomSlice = 64;
  uint64_t left = quantum ? quantum * state_.waves().size() : ~uint64_t{0};
  while (left > 0) {
    Wave* wave = choose();
    if (!wave) {
      if (!release_barrier()) return true;
      continue;
    }
    const uint64_t wanted = context_.options.seed ? 1 + random() % kLongestRandomSlice : kTurn;
    const uint64_t length = std::min(wanted, left);
    if (wave->watch) {
      run_slice<true>(*wave, length);
    } else {
      run_slice<false>(*wave, length);
    }
    left -= length;
  }
  return std::all_of(state_.waves().begin(), state_.waves().end(),
                     [](const Wave& wave) { return wave.status == WaveStatus::kEnded; });
}

void WorkgroupRun::count(Counters& counters) const {
  for (const Wave& wave : state_.waves()) {
    const auto executed = [&](InstructionClass which) { return wave.executed[static_cast<int>(which)]; };
    counters.salu += executed(InstructionClass::kSalu);
    counters.smem += executed(InstructionClass::kSmem);
    counters.valu += executed(InstructionClass::kValu);
    counters.mfma += executed(InstructionClass::kMfma);
    counters.vmem += executed(InstructionClass::kVmem);
    counters.lds += executed(InstructionClass::kLds);
    counters.branch += executed(InstructionClass::kBranch);
    counters.other += executed(InstructionClass::kOther);
    counters.memory_bytes_read += wave.memory_bytes_read;
    counters.memory_bytes_written += wave.memory_bytes_written;
    counters.lds_bytes_read += wave.lds_bytes_read;
    counters.lds_bytes_written += wave.lds_bytes_written;
    counters.lds_bank_conflicts += wave.lds_bank_conflicts;
    counters.buffer_lanes_clamped += wave.buffer_lanes_clamped;
    ++counters.waves;
  }
  ++counters.workgroups;
}

}  // namespace mhcheck::simulator

#include "kernels/simulator/sanitizers/launch_watch.h"

#include "kernels/simulator/code.h"
#include "kernels/simulator/sanitizers/wave_watch.h"

namespace mhcheck::simulator {

LaunchWatch::LaunchWatch(Watcher& watcher, Code& code, const std::string& kernel, const Dispatch& dispatch)
    : watcher_(watcher),
      code_(code),
      kernel_(kernel),
      grid_(dispatch.grid),
      waves_per_group_((dispatch.block[0] * dispatch.block[1] * dispatch.block[2] + kLanes - 1) / kLanes) {
  watcher_.memory().for_each([](AllocationShadow& shadow) { shadow.history().forget(); });
}

const InstructionFacts& LaunchWatch::facts(const Instruction& instruction) {
  const Row& row = InstructionSet::get().row(instruction.row);
  if (!code_.contains(&instruction)) return outside_facts_ = facts_of(instruction, row);
  const auto [entry, is_new] = facts_.try_emplace(&instruction);
  if (is_new) entry->second = facts_of(instruction, row);
  return entry->second;
}

Handler LaunchWatch::watched_handler(const Instruction& instruction) const {
  return InstructionSet::get().watched(instruction);
}

uint32_t LaunchWatch::slot_of(const Instruction& instruction, uint32_t otherwise) const {
  return code_.contains(&instruction) ? code_.slot_number(&instruction) : otherwise;
}

FindingPlace LaunchWatch::place(uint32_t slot, uint32_t wave_of_launch, uint64_t lanes) const {
  const uint64_t address = code_.address_of_slot(slot);
  const uint32_t group = wave_of_launch / waves_per_group_;
  return {.instruction = code_.text_at(address),
          .address = code_.file_address(address),
          .source = code_.source_at(address),
          .workgroup = {group % grid_[0], group / grid_[0] % grid_[1], group / grid_[0] / grid_[1]},
          .wave = wave_of_launch % waves_per_group_,
          .lanes = lanes};
}

void LaunchWatch::report(Sanitizer sanitizer, std::string_view what, uint32_t slot, uint32_t wave,
                         uint64_t lanes, const std::function<std::string()>& memory,
                         const std::optional<Other>& other) {
  SanitizerFinding* finding =
      watcher_.note({sanitizer, kernel_, what, slot, other ? other->slot + uint64_t{1} : 0});
  if (!finding) return;
  finding->place = place(slot, wave, lanes);
  if (memory) finding->memory = memory();
  if (!other) return;
  finding->other_role = other->role;
  finding->other = place(other->slot, other->wave, other->lanes);
}

uint32_t LaunchWatch::add_origin(const Origin& origin) {
  // Reasons are string literals: their addresses tell them apart within a run, and nothing else depends on
  // it.
  const uint64_t key = uint64_t{origin.slot} << 32 ^ reinterpret_cast<uintptr_t>(origin.reason);
  const auto [entry, is_new] = origin_ids_.try_emplace(key, static_cast<uint32_t>(origins_.size() + 1));
  if (is_new) origins_.push_back(origin);
  return entry->second;
}

GroupWatch::GroupWatch(LaunchWatch& launch, uint64_t group_index, std::span<Wave> waves, uint32_t lds_bytes)
    : launch_(launch),
      first_wave_(static_cast<uint32_t>(group_index) * launch.waves_per_group()),
      lds_(lds_bytes),
      lds_history_(lds_bytes),
      last_barrier_(waves.size()) {
  for (Wave& wave : waves) {
    waves_.push_back(std::make_unique<WaveWatch>(*this, wave));
    wave.watch = waves_.back().get();
  }
}
GroupWatch::~GroupWatch() = default;

void GroupWatch::at_barrier(std::span<const Wave> waves) {
  const WaveWatch* first_arrived = nullptr;
  for (size_t i = 0; i < waves.size(); ++i) {
    WaveWatch& watch = *waves_[i];
    if (waves[i].status == WaveStatus::kEnded) watch.finish_everything();
    last_barrier_[i] = watch.progress();
    raise(acquired_, watch.acquired());
    if (waves[i].status != WaveStatus::kAtBarrier) continue;
    if (!first_arrived) first_arrived = &watch;
  }
  if (!launch_.on(Sanitizer::kBarrier) || !first_arrived) return;
  for (size_t i = 0; i < waves.size(); ++i) {
    const WaveWatch& watch = *waves_[i];
    const bool ended = waves[i].status == WaveStatus::kEnded;
    if (!ended && watch.slot() == first_arrived->slot()) continue;
    launch_.report(Sanitizer::kBarrier,
                   ended ? "a wave has ended while others of its workgroup wait at a barrier"
                         : "waves of a workgroup wait at different barriers",
                   first_arrived->slot(), first_arrived->number(), 0, {},
                   LaunchWatch::Other{ended ? "the wave that ended:" : "the other barrier:", watch.slot(),
                                      watch.number(), 0});
  }
}

}  // namespace mhcheck::simulator

#include "kernels/simulator/sanitizers/wave_watch.h"

#include "kernels/simulator/instruction_set.h"

namespace mhcheck::simulator {

WaveWatch::WaveWatch(GroupWatch& group, Wave& wave)
    : group_(group),
      launch_(group.launch()),
      wave_(wave),
      number_(group.first_wave() + wave.index_in_group),
      tracks_values_(launch_.on(Sanitizer::kUninit) || launch_.on(Sanitizer::kCrossLane)),
      scratch_(tracks_values_ ? size_t{wave.scratch_bytes} * kLanes : 0) {
  if (!tracks_values_) return;
  registers_.poison();
  // What hardware presets: user and system SGPRs, the scratch base, EXEC, and the work-item numbers in v0.
  for (unsigned s = 0; s < wave.preset_scalars; ++s) registers_.set_scalar(s, 0, 0, 0);
  for (unsigned s : {0u, 1u}) {
    registers_.set_scalar(scalar_register::kFlatScratch + s, 0, 0, 0);
    registers_.set_scalar(scalar_register::kExec + s, 0, 0, 0);
  }
  registers_.set_good(0, wave.exec());
  registers_.written_by[0] = wave.exec();
}

void WaveWatch::execute(const Instruction& instruction) {
  if (!InstructionSet::get().is_plain(instruction)) {  // a fault of its own
    instruction.execute(wave_, instruction);
    return;
  }
  const InstructionFacts& facts = launch_.facts(instruction);
  facts_ = &facts;
  slot_ = launch_.slot_of(instruction, slot_);
  access_count_ = 0;
  resource_ = nullptr;
  scalar_parts_.clear();
  if (on(Sanitizer::kWait)) check_pending(instruction, facts);
  if (facts.is_wait) {
    const auto fields = static_cast<unsigned>(instruction.immediate);
    retire((fields & 15) | (fields >> 14 & 3) << 4, fields >> 8 & 15);
  }
  run_with_values(instruction, facts);
  if (facts.counter != WaitCounter::kNone) count_issue(facts);
  if (wave_.status == WaveStatus::kEnded) end();
}

int WaveWatch::selected_lane(const Instruction& instruction) const {
  const Source& select = instruction.source[1];
  const bool scalar = select.kind == SourceKind::kScalar || select.kind == SourceKind::kScalarModified;
  return static_cast<int>((scalar ? wave_.scalar[select.index] : select.value) & 63);
}

void WaveWatch::report(Sanitizer sanitizer, std::string_view what, uint64_t lanes, const MemoryText& memory,
                       const std::optional<LaunchWatch::Other>& other) {
  launch_.report(sanitizer, what, slot_, number_, lanes, memory, other);
}

void execute_watched(Wave& wave, const Instruction& instruction) { wave.watch->execute(instruction); }

}  // namespace mhcheck::simulator

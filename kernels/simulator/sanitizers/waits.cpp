// When data is there: the wait counters, and loads that arrive as late as these allow.
#include <algorithm>
#include <utility>

#include "kernels/simulator/sanitizers/wave_watch.h"

namespace mhcheck::simulator {
namespace {

// What the counters can hold (s_waitcnt's fields): hardware stalls rather than exceed it.
constexpr unsigned kMostVector = 63, kMostLds = 15;

}  // namespace

void WaveWatch::check_pending(const InstructionFacts& facts) {
  if (pending_.empty()) return;
  const auto complain = [&](const RegisterRange& range, const char* what) {
    const PendingLoad* load = pending_.find(range);
    if (load) report(Sanitizer::kWait, what, 0, {}, LaunchWatch::Other{"the load:", load->slot, number_, 0});
  };
  for (unsigned i = 0; i < facts.read_count; ++i)
    complain(facts.reads[i], "a register is read before a wait says that the load to it has arrived");
  for (unsigned i = 0; i < facts.write_count; ++i) {
    const RegisterRange& range = facts.writes[i];
    const PendingLoad* load = pending_.find(range);
    // Loads of vmcnt return in order among themselves, and so do those of LDS.
    const bool in_order = load && load->counter == facts.counter &&
                          (facts.counter == WaitCounter::kVector || facts.counter == WaitCounter::kLds);
    if (load && !in_order)
      complain(range, "a register is overwritten before a wait says that the load to it has arrived");
  }
}

void WaveWatch::count_issue(const InstructionFacts& facts) {
  if (facts.counter == WaitCounter::kVector || facts.counter == WaitCounter::kFlat) ++issued_vector_;
  if (facts.counter == WaitCounter::kLds) ++issued_lds_;
  retire(kMostVector, kMostLds);
}

// At most so many instructions of each counter are still under way.
void WaveWatch::retire(unsigned vector_left, unsigned lds_left) {
  const auto done = [](uint32_t issued, unsigned left) { return issued > left ? issued - left : 0; };
  done_vector_ = std::max(done_vector_, done(issued_vector_, vector_left));
  done_lds_ = std::max(done_lds_, done(issued_lds_, lds_left));
  if (!pending_.empty()) pending_.deliver(wave_, done_vector_, done_lds_, /*lgkm_zero=*/lds_left == 0);
}

void WaveWatch::finish_everything() { retire(0, 0); }

// Runs a load, takes back what it delivered, and keeps that until a wait.
void WaveWatch::execute_late(const Instruction& instruction, const InstructionFacts& facts) {
  const bool to_registers = facts.returns_data && facts.write_count > 0;
  const RegisterRange target = to_registers ? facts.writes[0] : RegisterRange{};
  const size_t words = target.count * size_t{target.scalar ? 1u : unsigned{kLanes}};
  uint32_t* registers = target.scalar ? wave_.scalar + target.first : wave_.vector + target.first * kLanes;
  const std::vector<uint32_t> before(registers, registers + words);
  lds_before_.clear();

  launch_.watched_handler(instruction)(wave_, instruction);

  PendingLoad load;
  load.counter = facts.counter;
  load.sequence = facts.counter == WaitCounter::kLds ? issued_lds_ + 1 : issued_vector_ + 1;
  load.slot = slot_;
  load.target = target;
  load.lanes = wave_.exec();
  load.loaded_bits = facts.loaded_bits;
  load.values.assign(registers, registers + words);
  std::copy(before.begin(), before.end(), registers);
  for (const PendingLoad::LdsPart& part : lds_before_) {
    std::byte* host = wave_.group->lds + part.offset;
    load.lds.push_back({part.offset, std::vector<std::byte>(host, host + part.bytes.size())});
  }
  for (const PendingLoad::LdsPart& part : lds_before_)
    std::copy(part.bytes.begin(), part.bytes.end(), wave_.group->lds + part.offset);
  if (words > 0 || !load.lds.empty()) pending_.add(std::move(load));
}

}  // namespace mhcheck::simulator

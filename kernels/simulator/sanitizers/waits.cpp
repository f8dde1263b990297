// When data is there: the wait counters, and loads that arrive as late as these allow.
#include <algorithm>
#include <utility>

#include "kernels/simulator/sanitizers/lane_mask.h"
#include "kernels/simulator/sanitizers/wave_watch.h"

namespace mhcheck::simulator {
namespace {

// What the counters can hold (s_waitcnt's fields): hardware stalls rather than exceed it.
constexpr unsigned kMostVector = 63, kMostLds = 15;

}  // namespace

// Lanes of a vector register that an instruction reads.
uint64_t WaveWatch::lanes_read(const Instruction& instruction, const InstructionFacts& facts) const {
  const uint64_t exec = wave_.exec();
  switch (facts.flow) {
    case Flow::kBlend:
    case Flow::kBits:
    case Flow::kCarries:
    case Flow::kPackHalves:
    case Flow::kVectorMemory:
      return instruction.sub_dword == SubDword::kDpp ? ~uint64_t{0} : exec;
    case Flow::kReadFirstLane:
      return exec ? exec & (0 - exec) : 1;
    case Flow::kReadLane:
      return bit_of(selected_lane(instruction));
    default:
      return ~uint64_t{0};
  }
}

void WaveWatch::check_pending(const Instruction& instruction, const InstructionFacts& facts) {
  if (pending_.empty()) return;
  const auto complain = [&](const PendingLoad& load, const char* what) {
    report(Sanitizer::kWait, what, 0, {}, LaunchWatch::Other{"the load:", load.slot, number_, 0});
  };
  const uint64_t read = lanes_read(instruction, facts);
  for (unsigned i = 0; i < facts.read_count; ++i) {
    if (const PendingLoad* load = pending_.find(facts.reads[i], read))
      complain(*load, "a register is read before a wait says that the load to it has arrived");
  }
  // Loads of vmcnt return in order among themselves, and so do those of LDS.
  const bool in_order = facts.counter == WaitCounter::kVector || facts.counter == WaitCounter::kLds;
  const WaitCounter harmless = in_order ? facts.counter : WaitCounter::kNone;
  const uint64_t written = facts.flow == Flow::kWriteLane ? bit_of(selected_lane(instruction))
                           : facts.flow == Flow::kMatrix  ? ~uint64_t{0}
                                                          : wave_.exec();
  for (unsigned i = 0; i < facts.write_count; ++i) {
    if (const PendingLoad* load = pending_.find(facts.writes[i], written, harmless))
      complain(*load, "a register is overwritten before a wait says that the load to it has arrived");
  }
}

void WaveWatch::count_issue(const InstructionFacts& facts) {
  if (facts.counter == WaitCounter::kVector || facts.counter == WaitCounter::kFlat) ++issued_.vector;
  if (facts.counter == WaitCounter::kLds) ++issued_.lds;
  if (facts.counter == WaitCounter::kScalar) ++issued_.scalar;
  if (facts.fences) fence_ = {issued_.vector, started_by_group()};
  if (facts.writes_back) {
    scalar_stores_sent_back_ = issued_.scalar;
    unsaved_scalar_store_.reset();
  }
  retire(kMostVector, kMostLds);
}

// At most so many instructions of each counter are still under way.
void WaveWatch::retire(unsigned vector_left, unsigned lds_left) {
  const auto done = [](uint32_t issued, unsigned left) { return issued > left ? issued - left : 0; };
  done_.vector = std::max(done_.vector, done(issued_.vector, vector_left));
  done_.lds = std::max(done_.lds, done(issued_.lds, lds_left));
  if (fence_ && fence_->sequence <= done_.vector) {
    fenced_ = std::move(fence_->started);
    fence_.reset();
  }
  if (lds_left == 0) {
    done_.scalar = issued_.scalar;
    done_.scalar_stores = scalar_stores_sent_back_;
  }
  if (!pending_.empty()) pending_.deliver(wave_, done_.vector, done_.lds, /*lgkm_zero=*/lds_left == 0);
}

void WaveWatch::finish_everything() { retire(0, 0); }

void WaveWatch::end() {
  if (unsaved_scalar_store_ && on(Sanitizer::kWait)) {
    report(Sanitizer::kWait, "a wave ends and no s_dcache_wb has written its scalar store back", 0, {},
           LaunchWatch::Other{"the store:", *unsaved_scalar_store_, number_, 0});
  }
  finish_everything();
}

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
  load.sequence = facts.counter == WaitCounter::kLds ? issued_.lds + 1 : issued_.vector + 1;
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

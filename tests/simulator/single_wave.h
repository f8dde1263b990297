#pragma once

#include <cstdint>
#include <string>

#include "kernels/simulator/code.h"
#include "kernels/simulator/simulator.h"
#include "kernels/simulator/wave.h"
#include "kernels/simulator/workgroup_run.h"

namespace mhcheck::simulator::testing {

/// One wave with all its registers in the test's hands: set them, run a few instructions, look at what came
/// out.
class SingleWave {
 public:
  explicit SingleWave(uint32_t lds_bytes = 65536, uint32_t scratch_bytes = 256);

  uint32_t& v(unsigned reg, int lane) { return wave().vector[reg * kLanes + static_cast<unsigned>(lane)]; }
  uint64_t v64(unsigned reg, int lane) {
    return v(reg, lane) | static_cast<uint64_t>(v(reg + 1, lane)) << 32;
  }
  void set_v64(unsigned reg, int lane, uint64_t value);
  uint32_t& a(unsigned reg, int lane) { return v(kFirstAccumulator + reg, lane); }
  uint32_t& s(unsigned reg) { return wave().scalar[reg]; }
  uint64_t s64(unsigned reg) { return wave().scalar64(reg); }
  void set_s64(unsigned reg, uint64_t value);
  uint64_t exec() { return wave().exec(); }
  void set_exec(uint64_t mask);
  uint32_t& scc() { return wave().scc; }
  void set_mode(uint32_t mode);
  std::byte* lds() { return wave().group->lds; }
  Memory& memory() { return memory_; }
  Options& options() { return options_; }
  Wave& wave() { return state_.waves()[0]; }

  /// Assembles `text`, ends it with s_endpgm, and runs it from the present state.
  void run(const std::string& text);
  /// Runs code that was assembled before, for rows that repeat it with many operands.
  void run(const Program& program);
  static Program program_of(const std::string& text);

 private:
  Memory memory_;
  Options options_;
  Program idle_ = program_of("");
  KernelState kernel_;
  Dispatch dispatch_;
  LaunchContext context_;
  WorkgroupState state_;
  WorkgroupRun run_;
};

}  // namespace mhcheck::simulator::testing

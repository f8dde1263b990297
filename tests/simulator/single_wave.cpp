#include "tests/simulator/single_wave.h"

#include "tests/simulator/assembler.h"

namespace mhcheck::simulator::testing {
namespace {

constexpr uint64_t kCodeAddress = uint64_t{1} << 40;
constexpr uint32_t kDefaultModes = 0xc0 << 12;  // f32, f16 and f64 denormals kept; IEEE and DX10_CLAMP follow

KernelState state_of_one_wave(uint32_t scratch_bytes) {
  KernelState kernel;
  kernel.name = "single_wave";
  kernel.private_segment_bytes = scratch_bytes;
  kernel.rsrc1 = kDefaultModes | 0x30u << 12 | 1u << 21 | 1u << 23 | 0x3f;
  return kernel;
}

LaunchContext context_of(Memory& memory, const Program& program, const KernelState& kernel,
                         const Dispatch& dispatch, const Options& options, uint32_t lds_bytes) {
  LaunchContext context{memory, program.code(), kernel, dispatch, options};
  context.entry = program.code().at(kCodeAddress);
  context.vector_registers = context.accumulators = kFirstAccumulator;
  context.lds_bytes = lds_bytes;
  context.scratch_bytes = kernel.private_segment_bytes;
  return context;
}

}  // namespace

SingleWave::SingleWave(uint32_t lds_bytes, uint32_t scratch_bytes)
    : kernel_(state_of_one_wave(scratch_bytes)),
      dispatch_{.grid = {1, 1, 1}, .block = {kLanes, 1, 1}},
      context_(context_of(memory_, idle_, kernel_, dispatch_, options_, lds_bytes)),
      state_(context_),
      run_(context_, state_, 0) {}

void SingleWave::set_v64(unsigned reg, int lane, uint64_t value) {
  v(reg, lane) = static_cast<uint32_t>(value);
  v(reg + 1, lane) = static_cast<uint32_t>(value >> 32);
}

void SingleWave::set_s64(unsigned reg, uint64_t value) {
  s(reg) = static_cast<uint32_t>(value);
  s(reg + 1) = static_cast<uint32_t>(value >> 32);
}

void SingleWave::set_exec(uint64_t mask) {
  set_s64(scalar_register::kExec, mask);
  for (int lane = 0; lane < kLanes; ++lane) wave().lane_mask[lane] = mask >> lane & 1 ? ~0u : 0u;
}

void SingleWave::set_mode(uint32_t mode) {
  wave().mode = mode;
  wave().default_floats = (mode & 0xff) == 0xf0 && !(mode & mode_bits::kF16Overflow);
}

Program SingleWave::program_of(const std::string& text) {
  return {assemble(text + "\ns_endpgm\n"), kCodeAddress};
}

void SingleWave::run(const std::string& text) { run(program_of(text)); }

void SingleWave::run(const Program& program) {
  wave().code = &program.code();
  wave().pc = program.code().at(kCodeAddress);
  wave().status = WaveStatus::kRunning;
  wave().recent_allocation = nullptr;  // the test may have freed it
  run_.advance(0);
}

}  // namespace mhcheck::simulator::testing

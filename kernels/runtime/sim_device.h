#pragma once

#include <memory>

#include "kernels/runtime/device.h"
#include "kernels/simulator/simulator.h"

namespace mhcheck::runtime {

/// A gfx950 (an MI355X's 256 compute units) in this process: always there, deterministic, and every access
/// outside a buffer is a fault that names the instruction. wait() returns the launches' counters: salu, smem,
/// valu, mfma, vmem, lds, branch, other, instructions (wave instructions by class), memory_bytes_read,
/// memory_bytes_written, lds_bytes_read, lds_bytes_written, cache_lines, lds_bank_conflicts,
/// buffer_lanes_clamped (with sanitizers only), workgroups, waves.
std::unique_ptr<Device> open_sim(const simulator::Options& options = {});

}  // namespace mhcheck::runtime

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "kernels/simulator/fault.h"
#include "kernels/simulator/memory.h"

namespace mhcheck::simulator {

class Code;     // the decoded instructions, internal
class Watcher;  // sanitizers/watcher.h

/// The machine code of one loaded code object. Decoding happens on first use and is shared by all launches; a
/// Program may be used by several launches at once.
class Program {
 public:
  /// `text` holds the bytes of the executable segment after relocation; they lie at device address `address`,
  /// a multiple of 4, in some Memory (kernels may read them as data too, so the loader also writes them
  /// there).
  Program(std::span<const std::byte> text, uint64_t address);
  ~Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;

  /// For messages: the device address of the code object's address 0, and what gives "file.hip:12" for an
  /// address in the code object ("" where it is not known). Call it before the first launch.
  void set_file(uint64_t load_address, std::function<std::string(uint64_t)> source_line);
  /// Assembly text of the instruction at a device address inside the segment, for messages.
  std::string text_at(uint64_t address) const;
  Code& code() const { return *code_; }

 private:
  std::unique_ptr<Code> code_;
};

/// A kernel as its 64-byte descriptor states it (LLVM's AMDGPU usage guide, "Kernel Descriptor").
struct KernelState {
  std::string name;  ///< for messages
  uint64_t entry_address =
      0;  ///< device address of the first instruction (descriptor address + entry offset)
  uint32_t group_segment_bytes = 0;    ///< static LDS
  uint32_t private_segment_bytes = 0;  ///< scratch of one work-item; a kernel with a dynamic stack gets more
  uint32_t kernarg_bytes = 0;
  uint32_t rsrc1 = 0;
  uint32_t rsrc2 = 0;
  uint32_t rsrc3 = 0;
  uint16_t code_properties = 0;
  uint16_t kernarg_preload = 0;
};

/// One launch. `grid` counts workgroups, `block` work-items of one workgroup (1 to 1024 in all).
struct Dispatch {
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> block{1, 1, 1};
  uint32_t dynamic_lds_bytes = 0;
  uint64_t kernarg_address = 0;          ///< device address of KernelState::kernarg_bytes bytes
  uint64_t dispatch_packet_address = 0;  ///< what dispatch_ptr kernels read; 0 where there is none
  uint64_t queue_address = 0;            ///< what queue_ptr kernels read; 0 where there is none
};

/// How an MFMA adds its products (gfx950.md, section 4: not published for gfx950).
enum class MfmaAccumulation {
  kSequential,  ///< acc = fma(a, b, acc), k ascending
  kCdna3,       ///< as measured on CDNA3 for f16, bf16 and fp8: aligned, truncated groups; f32 and f64 as
                ///< kSequential
  kExact,       ///< the exact sum, rounded once
};

/// What v_rcp, v_rsq, v_sqrt, v_exp, v_log, v_sin and v_cos return.
enum class Transcendentals {
  kCorrectlyRounded,
  kPerturbed,  ///< correctly rounded, then moved by -1, 0 or +1 ulp: a hash of seed, instruction, operand
               ///< picks which
};

struct Options {
  int threads = 0;    ///< worker threads for workgroups; 0 takes all
  uint64_t seed = 0;  ///< interleaving of waves and workgroups; 0 runs each wave up to its next barrier (or
                      ///< 65536 instructions), in order
  uint64_t instruction_budget = 1'000'000'000;  ///< per wave
  MfmaAccumulation mfma_accumulation = MfmaAccumulation::kSequential;
  Transcendentals transcendentals = Transcendentals::kCorrectlyRounded;
  uint64_t transcendental_seed = 0;
  Watcher* watcher = nullptr;  ///< sanitizers, at the price of one thread and much time; null: none
};

/// Wave instructions by class, and bytes summed over active lanes.
struct Counters {
  uint64_t salu = 0, smem = 0, valu = 0, mfma = 0, vmem = 0, lds = 0, branch = 0, other = 0;
  uint64_t memory_bytes_read = 0;     ///< global, buffer, scratch and scalar loads, atomics
  uint64_t memory_bytes_written = 0;  ///< stores and atomics
  uint64_t lds_bytes_read = 0;
  uint64_t lds_bytes_written = 0;
  uint64_t cache_lines = 0;  ///< distinct 128-byte lines of global memory touched by the launch
  uint64_t lds_bank_conflicts =
      0;  ///< extra LDS cycles: 64 banks of a dword, b64 in half waves, b96 and b128 in quarters
  uint64_t buffer_lanes_clamped =
      0;  ///< accesses that a buffer's range check stopped; counted for a watcher only
  uint64_t workgroups = 0;
  uint64_t waves = 0;

  uint64_t instructions() const { return salu + smem + valu + mfma + vmem + lds + branch + other; }
  Counters& operator+=(const Counters& more);
  bool operator==(const Counters&) const = default;
};

struct LaunchResult {
  Counters counters;
};

/// Runs every workgroup of a kernel to its end. Registers, LDS and scratch start as kPoison. Throws a Fault
/// (fault.h): of several faulting workgroups, the one with the lowest index is reported, or the first where
/// they run on one thread.
/// std::invalid_argument for an impossible dispatch.
///
/// The same memory contents result for any number of threads. Workgroups run concurrently unless code
/// reachable from the kernel orders workgroups among each other: a global atomic, a cache write-back or
/// invalidate of device scope, or a call through a register, behind which either may hide. Such a kernel's
/// workgroups run on one thread, in ascending order, each for up to a large fixed number of instructions
/// before the next gets its turn, so that those which wait for a later one make progress. With a seed all
/// kernels run like that, in an order and with turns that the seed picks. Without one, a kernel whose
/// workgroups race through plain accesses has no defined result here, as it has none on hardware.
LaunchResult launch(Memory& memory, const Program& program, const KernelState& kernel,
                    const Dispatch& dispatch, const Options& options = {});

}  // namespace mhcheck::simulator

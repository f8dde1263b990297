// What is under test: a set of kernels that computes some of the operators, wherever it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/runtime/device.h"
#include "reference/base/operators.h"
#include "reference/base/tensor.h"

namespace mhcheck::kernels {

// The memory of one output with guard bytes on both sides, filled by the caller before a run. A kernel gets
// the payload's address and must write every byte of the payload and none of the guards.
struct OutputRegion {
  std::vector<std::byte> bytes;
  std::size_t guard = 0;

  std::span<std::byte> payload() { return std::span(bytes).subspan(guard, bytes.size() - 2 * guard); }
  std::span<const std::byte> payload() const {
    return std::span(bytes).subspan(guard, bytes.size() - 2 * guard);
  }
};

using OutputRegions = std::map<std::string, OutputRegion>;

// Named by the device that counts ("mfma", "memory_bytes_read", ...).
using Counters = std::map<std::string, std::uint64_t>;

// What one launch cost; the counters are empty where the device does not count.
struct LaunchReport {
  std::string kernel;
  Counters counters;
};

struct RunReport {
  std::vector<LaunchReport> launches;  // in their order
  std::vector<simulator::SanitizerFinding> findings = {};
};

// The kernel faulted, hung or could not be launched: one line saying what happened.
class RunFailure : public std::runtime_error {
 public:
  explicit RunFailure(const std::string& what, std::vector<simulator::SanitizerFinding> seen = {})
      : std::runtime_error(what), findings(std::move(seen)) {}
  std::vector<simulator::SanitizerFinding> findings;  // what sanitizers had seen by then
};

class KernelSet {
 public:
  virtual ~KernelSet() = default;

  virtual std::string name() const = 0;
  virtual bool implements(Op op) const = 0;
  // Where this operator's kernel rounds: what it is judged by.
  virtual RoundingProfile profile(Op op) const = 0;
  // Empty when the kernel takes the problem; otherwise the limit that it breaks, in one line.
  virtual std::string why_refused(const Problem& problem) const = 0;
  // The same token gives the same bits at any num_tokens and any position.
  virtual bool batch_invariant(Op op) const = 0;

  // What to look for in later runs. Throws std::invalid_argument where the kernels run on nothing that could.
  virtual void instrument(const runtime::Instrumentation& wanted) {
    if (!wanted.sanitizers.empty() || wanted.schedule) {
      throw std::invalid_argument(name() + ": sanitizers and schedules need the simulator (--device sim)");
    }
  }

  // Computes the outputs of the problem. `inputs` are the kernel's own memory: it can change them, and is
  // then wrong. Throws RunFailure.
  virtual RunReport run(const Problem& problem, TensorMap& inputs, OutputRegions& outputs) = 0;
};

}  // namespace mhcheck::kernels

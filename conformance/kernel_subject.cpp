#include "conformance/kernel_subject.h"

#include <fmt/format.h>
#include <tbb/task_arena.h>

#include <algorithm>

#include "conformance/guarded_output.h"

namespace mhcheck::conformance {

std::string KernelSubject::why_refused(const Problem& problem) const {
  if (!kernels_.implements(problem.op)) {
    return fmt::format("the kernels do not implement {}", row_of(problem.op).name);
  }
  return kernels_.why_refused(problem);
}

properties::RunTrace KernelSubject::run(const Problem& problem, TensorMap& inputs, TensorMap& outputs) {
  kernels::OutputRegions regions = poisoned_outputs(problem);
  for (auto& [name, region] : regions) std::ranges::copy(outputs.at(name).bytes(), region.payload().begin());
  properties::RunTrace trace;
  // Isolated: a thread that waits inside the kernel must not take up another case meanwhile.
  tbb::this_task_arena::isolate(
      [&] { trace.launches = kernels_.run(problem, inputs, regions).launches.size(); });
  for (auto& [name, region] : regions) {
    std::ranges::copy(region.payload(), outputs.at(name).bytes().begin());
    const std::optional<GuardDamage> damage = guard_damage(region);
    if (damage && trace.written_outside.empty()) {
      trace.written_outside = fmt::format("{} bytes beside {}, the first at byte {} of its {}", damage->bytes,
                                          name, damage->offset, region.payload().size());
    }
  }
  return trace;
}

}  // namespace mhcheck::conformance

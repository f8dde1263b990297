#include "conformance/memory_need.h"

#include <fmt/format.h>
#include <unistd.h>

#include "reference/base/operators.h"

namespace mhcheck::conformance {
namespace {

// In double: extents of a legal problem multiply beyond 64 bits.
double bytes_of(const TensorSpec& spec) {
  double bytes = static_cast<double>(size_of(spec.dtype));
  for (const std::int64_t extent : spec.shape) bytes *= static_cast<double>(extent);
  return bytes;
}

}  // namespace

void require_memory_for(const Case& c) {
  double needed = 0;
  for (const TensorSpec& spec : input_specs(c.problem))
    needed += 2 * bytes_of(spec);  // the case's, the kernel's
  for (const TensorSpec& spec : output_specs(c.problem)) needed += bytes_of(spec);
  const double there =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed <= there) return;
  constexpr double gib = 1024.0 * 1024.0 * 1024.0;
  throw NotEnoughMemory(fmt::format("{} needs {:.0f} GiB of memory, this machine has {:.0f} GiB",
                                    to_descriptor(c), needed / gib, there / gib));
}

}  // namespace mhcheck::conformance

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kernels/runtime/device.h"

namespace mhcheck::runtime {
namespace {

constexpr std::string_view kAxes[] = {"x", "y", "z"};
// A dispatch counts work-items in 32 bits (HSA kernel dispatch packet, grid_size).
constexpr std::uint64_t kMaxWorkItems = 0xffffffffu;

void check_axis(const Kernel& kernel, std::string_view what, std::size_t axis, std::uint64_t value,
                std::uint64_t most) {
  if (value >= 1 && value <= most) return;
  throw DeviceError(Failure::kBadLaunch, fmt::format("{}: {}.{} is {}, must be 1 to {}", kernel.name(), what,
                                                     kAxes[axis], value, most));
}

}  // namespace

void check_launch(const Properties& properties, const Kernel& kernel, const Geometry& geometry,
                  std::span<const ArgumentValue> arguments) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    check_axis(kernel, "grid", axis, geometry.grid[axis], properties.max_grid[axis]);
    check_axis(kernel, "block", axis, geometry.block[axis], properties.max_workgroup_size);
    if (geometry.grid[axis] * geometry.block[axis] > kMaxWorkItems) {
      throw DeviceError(
          Failure::kBadLaunch,
          fmt::format("{}: grid.{} times block.{} is {} work-items, must be below 2^32", kernel.name(),
                      kAxes[axis], kAxes[axis], geometry.grid[axis] * geometry.block[axis]));
    }
  }
  const std::uint64_t work_items = geometry.block[0] * geometry.block[1] * geometry.block[2];
  if (work_items > properties.max_workgroup_size) {
    throw DeviceError(Failure::kBadLaunch,
                      fmt::format("{}: a block of {} work-items, {} has at most {}", kernel.name(),
                                  work_items, properties.name, properties.max_workgroup_size));
  }
  if (geometry.dynamic_lds_bytes > properties.max_lds_bytes) {
    throw DeviceError(Failure::kBadLaunch,
                      fmt::format("{}: {} bytes of dynamic LDS, {} has {}", kernel.name(),
                                  geometry.dynamic_lds_bytes, properties.name, properties.max_lds_bytes));
  }
  std::vector<std::uint32_t> sizes;
  for (const ArgumentValue& argument : arguments) {
    sizes.push_back(static_cast<std::uint32_t>(argument.bytes().size()));
  }
  check_arguments(kernel, sizes);
}

void check_arguments(const Kernel& kernel, std::span<const std::uint32_t> given) {
  const std::vector<std::uint32_t>& sizes = kernel.argument_sizes();
  if (given.size() != sizes.size()) {
    throw DeviceError(Failure::kBadLaunch,
                      fmt::format("{}: {} arguments given, the kernel takes {} of {} bytes", kernel.name(),
                                  given.size(), sizes.size(), fmt::join(sizes, ", ")));
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (given[i] != sizes[i]) {
      throw DeviceError(Failure::kBadLaunch,
                        fmt::format("{}: argument {} has {} bytes, the kernel takes {} there", kernel.name(),
                                    i, given[i], sizes[i]));
    }
  }
}

}  // namespace mhcheck::runtime

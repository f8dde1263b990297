// The kernels that this program can put under test, one row each.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel_set.h"

namespace mhcheck::conformance {

struct KernelRow {
  std::string name;
  std::string device;
  std::string summary;
  // Where the kernel can round for this operator, the usual profile first; none: it does not implement it.
  std::function<std::vector<RoundingProfile>(Op)> profiles;
  // An instance that rounds so. Instances are used by one thread at a time.
  std::function<std::unique_ptr<kernels::KernelSet>(const RoundingProfile&)> make;
};

std::span<const KernelRow> all_kernels();

struct DeviceRow {
  std::string_view name;
  std::string_view summary;
};
std::span<const DeviceRow> all_devices();

// Throws std::invalid_argument that lists what there is.
const KernelRow& kernel_named(std::string_view kernel, std::string_view device);

}  // namespace mhcheck::conformance

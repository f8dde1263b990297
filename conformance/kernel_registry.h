// The kernels that this program can put under test, one row each, and the devices they run on.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel_set.h"
#include "reference/base/case.h"

namespace mhcheck::conformance {

struct KernelRow {
  std::string name;
  std::string device;
  std::string summary;
  // Instances are used by one thread at a time.
  std::function<std::unique_ptr<kernels::KernelSet>()> make;
};

struct DeviceRow {
  std::string_view name;
  std::string_view summary;
};

std::span<const DeviceRow> all_devices();
std::span<const KernelRow> all_kernels();

// What was asked for does not exist; the message lists what does.
class UnknownName : public std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// The kernels of a device, in the order of the registry. Throws UnknownName for an unknown device.
std::vector<const KernelRow*> kernels_of(std::string_view device);
const KernelRow& kernel_named(std::string_view name, std::string_view device);

// Whether the kernel rounds as the case is judged, as far as the case's operator depends on it.
bool rounds_as(const kernels::KernelSet& kernel, const Case& c);

}  // namespace mhcheck::conformance

// The kernels that this program can put under test, one row each, and the devices they run on.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel_set.h"
#include "kernels/simulator/sanitizers/finding.h"
#include "kernels/simulator/simulator.h"
#include "properties/laws.h"
#include "reference/base/case.h"

namespace mhcheck::conformance {

struct KernelRow {
  std::string name;
  std::string device;
  std::string summary;
  // What puts it under test on the command line, beginning with a space; empty for the default kernel.
  std::string options;
  // What to look for while it runs, its interleaving, and how many more have to give the same bits.
  simulator::SanitizerSet sanitizers = {};
  std::uint64_t schedule_seed = 0, schedules = 0;
  // What else is asked of it at every case.
  std::vector<const properties::Law*> laws = {};
  // Instances are used by one thread at a time.
  std::function<std::unique_ptr<kernels::KernelSet>()> make;
};

struct DeviceRow {
  std::string_view name;
  std::string_view summary;
};

// The host, then every provider of the device interface.
std::span<const DeviceRow> all_devices();

// What was asked for does not exist; the message lists what does.
class UnknownName : public std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// Throws UnknownName unless there is such a device.
void require_device(std::string_view device);

// The program's own kernels, of all devices. `simulation` concerns those on the simulator.
std::vector<KernelRow> all_kernels(const simulator::Options& simulation = {});

// Those of a device, in the order of the registry; at least one. Throws UnknownName for an unknown device.
std::vector<KernelRow> kernels_of(std::string_view device, const simulator::Options& simulation = {});

// The row of that name. Throws UnknownName that lists what there is.
const KernelRow& kernel_named(std::string_view name, std::span<const KernelRow> rows);

// The options that choose the device and the simulation, where they are not the default ones.
std::string device_options(std::string_view device, const simulator::Options& simulation);

// Whether the kernel rounds as the case is judged, as far as the case's operator depends on it.
bool rounds_as(const kernels::KernelSet& kernel, const Case& c);

}  // namespace mhcheck::conformance

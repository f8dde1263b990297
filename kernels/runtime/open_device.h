#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "kernels/runtime/device.h"
#include "kernels/simulator/simulator.h"

namespace mhcheck::runtime {

/// One row a provider.
struct Provider {
  std::string_view name;  ///< as on the command line
  std::string_view summary;
};

const std::vector<Provider>& providers();

/// Opens a device by its provider's name; `simulation` concerns the simulator alone. Throws DeviceError
/// (kUnavailable) when it is not there, or listing the names when there is no such provider.
std::unique_ptr<Device> open_device(std::string_view provider, const simulator::Options& simulation = {});

}  // namespace mhcheck::runtime

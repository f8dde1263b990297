#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "kernels/runtime/device.h"

namespace mhcheck::runtime {

struct HipOptions {
  int device = 0;
  std::chrono::milliseconds patience{60'000};
  /// Tried in this order. AMD's names for ROCm 7, 6 and 5, then whatever is linked as the current one.
  std::vector<std::string> libraries = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                        "libamdhip64.so"};
};

/// A gfx950 GPU behind AMD's HIP runtime, or AMD's emulator under it. Throws DeviceError (kUnavailable) when
/// the library or a GPU is missing. A GPU memory fault ends the whole process: that is how AMD's runtime
/// reports it.
std::unique_ptr<Device> open_hip(const HipOptions& options = {});

}  // namespace mhcheck::runtime

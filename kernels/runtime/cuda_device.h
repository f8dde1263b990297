#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "kernels/runtime/device.h"

namespace mhcheck::runtime {

struct CudaOptions {
  int device = 0;
  std::chrono::milliseconds patience{60'000};
  std::vector<std::string> libraries = {"libcuda.so.1"};
};

/// An NVIDIA GPU behind the CUDA driver (12.4 or newer: it has to tell the kernels' arguments). Loads PTX,
/// cubin and fatbin. Throws DeviceError (kUnavailable) when the library or a GPU is missing.
std::unique_ptr<Device> open_cuda(const CudaOptions& options = {});

}  // namespace mhcheck::runtime

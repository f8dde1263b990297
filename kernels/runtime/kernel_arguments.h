#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/codeobject/kernel_info.h"
#include "kernels/runtime/device.h"

namespace mhcheck::runtime {

/// The kernel argument segment of a launch: explicit arguments at their offsets, and every hidden one that
/// the kernel declares. All workgroups of our launches are full, so the remainders are 0. Services that need
/// a host thread (printf, hostcall, device heap, enqueue) get null: a kernel that uses one faults at address
/// 0. The explicit arguments must have passed check_launch().
std::vector<std::byte> build_kernel_arguments(const codeobject::Kernel& kernel, const Geometry& geometry,
                                              std::span<const ArgumentValue> arguments);

}  // namespace mhcheck::runtime

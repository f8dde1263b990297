// The host baseline: every operator in fp32 on the CPU, computed as production kernels compute it. It is the
// first kernel set under test, and the one that runs everywhere.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "kernels/kernel_set.h"

namespace mhcheck::kernels {

// One baseline: the same code with another rounding profile.
struct HostKernelRow {
  std::string_view name;
  std::string_view summary;
  RoundingProfile profile;
};

std::span<const HostKernelRow> host_kernels();

std::unique_ptr<KernelSet> make_host_kernels(const HostKernelRow& row);

}  // namespace mhcheck::kernels

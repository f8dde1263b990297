// The output regions of a problem, poisoned and guarded as a caller of KernelSet::run prepares them.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/kernel_set.h"

namespace mhcheck::kernels {

inline constexpr std::byte kPoisonByte{0xff};  // NaN in every format
inline constexpr std::byte kGuardByte{0x5a};

inline OutputRegions poisoned_outputs(const Problem& problem) {
  constexpr std::size_t kGuard = 64;
  OutputRegions regions;
  for (const TensorSpec& spec : output_specs(problem)) {
    OutputRegion region;
    region.guard = kGuard;
    region.bytes.assign(element_count(spec.shape) * size_of(spec.dtype) + 2 * kGuard, kGuardByte);
    std::ranges::fill(region.payload(), kPoisonByte);
    regions.emplace(spec.name, std::move(region));
  }
  return regions;
}

// An output's payload as a tensor.
inline Tensor output_tensor(const Problem& problem, const OutputRegions& regions, std::string_view name) {
  for (const TensorSpec& spec : output_specs(problem)) {
    if (spec.name != name) continue;
    Tensor tensor(spec.dtype, spec.shape);
    const auto payload = regions.at(std::string(name)).payload();
    std::memcpy(tensor.bytes().data(), payload.data(), payload.size());
    return tensor;
  }
  throw std::logic_error("no output " + std::string(name));
}

}  // namespace mhcheck::kernels

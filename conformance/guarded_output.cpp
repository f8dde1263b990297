#include "conformance/guarded_output.h"

#include <algorithm>
#include <cstring>

namespace mhcheck::conformance {
namespace {

constexpr std::size_t kPage = 4096;

void fill_with_poison(std::span<std::byte> payload, Dtype dtype) {
  const std::uint32_t poison = poison_bits(dtype);
  const std::size_t width = size_of(dtype);
  for (std::size_t at = 0; at + width <= payload.size(); at += width) {
    // Little-endian: the low bytes of the word are the 16-bit pattern.
    std::memcpy(payload.data() + at, &poison, width);
  }
}

}  // namespace

std::size_t guard_bytes(const TensorSpec& spec) {
  const std::size_t token_axis = spec.partial_sums ? 1 : 0;
  std::size_t token_bytes = size_of(spec.dtype);
  for (std::size_t axis = token_axis + 1; axis < spec.shape.size(); ++axis) {
    token_bytes *= static_cast<std::size_t>(spec.shape[axis]);
  }
  // Whole pages keep the payload as aligned as the allocation is.
  return (token_bytes + kPage - 1) / kPage * kPage;
}

kernels::OutputRegions poisoned_outputs(const Problem& problem) {
  kernels::OutputRegions regions;
  for (const TensorSpec& spec : output_specs(problem)) {
    kernels::OutputRegion region;
    region.guard = guard_bytes(spec);
    region.bytes.assign(element_count(spec.shape) * size_of(spec.dtype) + 2 * region.guard, kGuardByte);
    fill_with_poison(region.payload(), spec.dtype);
    regions.emplace(spec.name, std::move(region));
  }
  return regions;
}

std::optional<GuardDamage> guard_damage(const kernels::OutputRegion& region) {
  std::optional<GuardDamage> damage;
  const auto inspect = [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at) {
      if (region.bytes[at] == kGuardByte) continue;
      if (!damage) {
        damage =
            GuardDamage{.offset = static_cast<std::int64_t>(at) - static_cast<std::int64_t>(region.guard),
                        .bytes = 0,
                        .found = region.bytes[at]};
      }
      ++damage->bytes;
    }
  };
  inspect(0, region.guard);
  inspect(region.bytes.size() - region.guard, region.bytes.size());
  return damage;
}

}  // namespace mhcheck::conformance

// Memory for a kernel's outputs that shows what the kernel left out and what it wrote too much.
//
// The payload is filled with a quiet NaN whose payload no arithmetic produces; an element that still holds it
// after the run was not written. Guard bytes stand before and after; a changed one was written by mistake.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/kernel_set.h"
#include "reference/base/operators.h"

namespace mhcheck::conformance {

// The pattern of an unwritten element. A quiet NaN, so that a kernel that reads it spreads NaN; not the
// default one, so that a NaN which the kernel computed is told from it.
constexpr std::uint32_t poison_bits(Dtype dtype) {
  const FloatFormat f = format_of(dtype);
  return f.quiet_nan() | (0x2db6edu & ((1u << (f.mantissa_bits() - 1)) - 1));
}

// As bf16, fp16 and fp32 a small negative number: no NaN, not zero, unlike the poison.
inline constexpr std::byte kGuardByte{0xa5};

// A guard holds a whole token of the output at least, so that a row too many falls into it.
std::size_t guard_bytes(const TensorSpec& spec);

// One poisoned, guarded region for each output of the problem.
kernels::OutputRegions poisoned_outputs(const Problem& problem);

// The first changed guard byte, counted from the start of the payload: negative before it, from its size on
// behind it.
struct GuardDamage {
  std::int64_t offset = 0;
  std::uint64_t bytes = 0;
  std::byte found{};
};
std::optional<GuardDamage> guard_damage(const kernels::OutputRegion& region);

}  // namespace mhcheck::conformance

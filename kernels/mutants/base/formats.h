// Storage formats, chosen at run time, so that one kernel serves every case.
#pragma once

#include <hip/hip_runtime.h>

namespace mutants {

enum Format : int { kBf16 = 0, kFp16 = 1, kFp32 = 2 };

__device__ inline float load(const void* tensor, size_t index, int format) {
  if (format == kBf16) return static_cast<float>(static_cast<const __bf16*>(tensor)[index]);
  if (format == kFp16) return static_cast<float>(static_cast<const _Float16*>(tensor)[index]);
  return static_cast<const float*>(tensor)[index];
}

// Rounds to nearest even.
__device__ inline void store(void* tensor, size_t index, int format, float value) {
  if (format == kBf16) {
    static_cast<__bf16*>(tensor)[index] = static_cast<__bf16>(value);
  } else if (format == kFp16) {
    static_cast<_Float16*>(tensor)[index] = static_cast<_Float16>(value);
  } else {
    static_cast<float*>(tensor)[index] = value;
  }
}

__device__ inline float rounded(float value, int format) {
  if (format == kBf16) return static_cast<float>(static_cast<__bf16>(value));
  if (format == kFp16) return static_cast<float>(static_cast<_Float16>(value));
  return value;
}

}  // namespace mutants

// Mutants that use loaded data before a wait count says that it is there. Whether it is then depends on the
// memory; no number shows it where the memory is quick.
#pragma once

#include "kernels/mutants/base/sums.h"

namespace mutants {

// The compiler does not see that the statement loads, and so waits for nothing.
struct element_used_before_its_wait : CorrectSums {
  static __device__ float element(const void* rows, size_t token, int k, int length, int format) {
    const void* const address = static_cast<const unsigned short*>(rows) + token * length + k;
    float value;
    if (format == kBf16) {
      asm volatile("global_load_ushort %0, %1, off\n v_lshlrev_b32 %0, 16, %0" : "=&v"(value) : "v"(address));
    } else {
      asm volatile("global_load_ushort %0, %1, off\n v_cvt_f32_f16 %0, %0" : "=&v"(value) : "v"(address));
    }
    return value;
  }
};

// Two loads, and a wait that lets one of them be outstanding: the one that is used.
struct wait_count_one_too_high : CorrectSums {
  static __device__ float weight(const float* fn, int m, int k, int length) {
    const float* const address = fn + static_cast<size_t>(m) * length + k;
    float first, second;
    asm volatile(
        "global_load_dword %0, %2, off\n global_load_dword %1, %2, off\n s_waitcnt vmcnt(1)\n v_mov_b32 %0, "
        "%1"
        : "=&v"(first), "=&v"(second)
        : "v"(address));
    return first;
  }
};

// The sums of the waves, read from LDS and added at once.
struct lds_read_used_before_its_wait : CorrectSums {
  static __device__ float over_waves(const float (*of_wave)[kSums], int m) {
    float sum = 0;
    for (int wave = 0; wave < kWaves; ++wave) {
      const auto address = reinterpret_cast<__attribute__((address_space(3))) const float*>(
          reinterpret_cast<size_t>(&of_wave[wave][m]));
      float value;
      asm volatile("ds_read_b32 %0, %2\n v_add_f32 %1, %1, %0" : "=&v"(value), "+v"(sum) : "v"(address));
    }
    return sum;
  }
};

}  // namespace mutants

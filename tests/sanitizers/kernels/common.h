// Kernels with one planted fault each. Compiled twice: as they are, and with REPAIRED, which takes the fault
// out. The line of the fault follows "// fault: NAME". All take `in` (1024 floats, read only), `out` (every
// element is to be written, by one wave), `ws` (1024 floats of workspace, uninitialised) and `counter` (one
// zero).
#pragma once

#include <hip/hip_runtime.h>

#ifdef REPAIRED
constexpr bool kRepaired = true;
#else
constexpr bool kRepaired = false;
#endif

#define KERNEL(name) extern "C" __global__ void name(const float* in, float* out, float* ws, int* counter)

__device__ inline int lane() { return threadIdx.x % 64; }
__device__ inline int wave() { return __builtin_amdgcn_readfirstlane(threadIdx.x / 64); }
__device__ inline int as_int(float x) { return __builtin_bit_cast(int, x); }
__device__ inline float as_float(int x) { return __builtin_bit_cast(float, x); }

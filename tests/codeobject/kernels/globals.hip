// Writable globals that refer to each other: relocations of both kinds, zero-filled memory, a writable
// segment.
#include <hip/hip_runtime.h>

__device__ int hidden_table[16] = {1, 2, 3};
extern "C" __attribute__((visibility("default"))) __device__ int zeroed[4096];
__device__ int zeroed[4096];
static __device__ int* inside = hidden_table + 2;  // R_AMDGPU_RELATIVE64
extern "C" __device__ int* outside = zeroed + 5;   // R_AMDGPU_ABS64

extern "C" __global__ void follow(int* out, int step) {
  inside += step;
  out[0] = *inside;
  out[1] = *outside;
}

// The loops that the simulator's speed is measured on.
#include <hip/hip_runtime.h>

typedef float floatx4 __attribute__((ext_vector_type(4)));

extern "C" {

// Arithmetic on registers and lane crossings, as in the sum of squares of a row.
__global__ void reduction_loop(const float* in, float* out, int rounds) {
  float x = in[threadIdx.x], sum = 0, weighted = 0;
  for (int i = 0; i < rounds; ++i) {
    sum = __builtin_fmaf(x, x, sum);
    weighted = __builtin_fmaf(x, sum, weighted) * 0.5f;
    x = x * 0.999f + 0.001f;
    if (i % 16 == 15) {
      for (int mask = 32; mask > 0; mask /= 2) sum += __shfl_xor(sum, mask);
    }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum + weighted;
}

// Streams memory, 16 bytes a work-item and step.
__global__ void bandwidth_loop(const floatx4* in, floatx4* out, int steps) {
  int at = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  for (int i = 0; i < steps; ++i, at += stride) out[at] = in[at] * 2.0f;
}

// A tile of a matrix product with both operands in registers.
__global__ void mfma_loop(const float* in, float* out, int rounds) {
  floatx4 sum = {0, 0, 0, 0};
  float a = in[threadIdx.x], b = in[threadIdx.x + 64];
  for (int i = 0; i < rounds; ++i) {
    sum = __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, sum, 0, 0, 0);
    a = a * 0.5f + 1.0f;
  }
  for (int r = 0; r < 4; ++r) out[threadIdx.x * 4 + r] = sum[r];
}

// Hands tiles over through LDS, as between the waves of a projection: 16 bytes a work-item in, another's out.
__global__ void lds_loop(const floatx4* in, floatx4* out, int rounds) {
  __shared__ floatx4 tile[256];
  floatx4 value = in[threadIdx.x];
  for (int i = 0; i < rounds; ++i) {
    tile[threadIdx.x] = value;
    __syncthreads();
    value = tile[threadIdx.x ^ 64] * 0.5f + tile[(threadIdx.x * 5) % 256];
    __syncthreads();
  }
  out[threadIdx.x] = value;
}

}  // extern "C"

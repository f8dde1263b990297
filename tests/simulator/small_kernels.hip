// Kernels that exercise what compilers make of control flow, calls, local arrays, LDS, lane crossings and
// number formats. Each has its host twin in kernels_test.cpp and must agree with it bit for bit, at every
// optimisation level.
#include <hip/hip_runtime.h>

typedef float floatx4 __attribute__((ext_vector_type(4)));
typedef __bf16 bf16x8 __attribute__((ext_vector_type(8)));

extern "C" {

__global__ void block_sum(const int* in, int* out, int count) {
  __shared__ int partial[256];
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) sum += in[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

__global__ void collatz(const unsigned* in, unsigned* steps, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  unsigned x = in[i], n = 0;
  while (x != 1) {
    if (x % 2 == 0) {
      x /= 2;
    } else {
      if (n > 1000) break;
      x = 3 * x + 1;
    }
    ++n;
  }
  steps[i] = n;
}

__device__ __attribute__((noinline)) unsigned fibonacci(unsigned n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__global__ void recursion(unsigned* out) { out[threadIdx.x] = fibonacci(threadIdx.x % 12); }

__global__ void local_array(const unsigned* in, unsigned* out) {
  unsigned values[32];
  for (int i = 0; i < 32; ++i) values[i] = in[threadIdx.x] * i + i * i;
  unsigned sum = 0, at = in[threadIdx.x] % 32;
  for (int i = 0; i < 40; ++i) {
    sum = sum * 31 + values[at];
    values[at] ^= sum;
    at = (at + values[(at + 7) % 32]) % 32;
  }
  out[threadIdx.x] = sum;
}

__global__ void wide_integers(const unsigned long long* a, const unsigned long long* b,
                              unsigned long long* out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  unsigned long long x = a[i], y = b[i] | 1;
  long long s = (long long)x;
  out[i] = (x / y) ^ (x % y) ^ (unsigned long long)(s >> (y % 64)) ^ (x * y) ^
           ((unsigned long long)(s / 1000003) << 1) ^ __popcll(x) ^ __clzll(y);
}

__global__ void floats(const float* a, const float* b, float* out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float x = a[i], y = b[i];
  out[4 * i] = x / y;
  out[4 * i + 1] = __builtin_sqrtf(x * x + y * y);
  out[4 * i + 2] = __builtin_fmaf(x, y, -x);
  out[4 * i + 3] = __builtin_rintf(x) + __builtin_floorf(y) * __builtin_truncf(x - y);
}

__global__ void doubles(const double* a, const double* b, double* out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  out[2 * i] = a[i] / b[i] + (double)(int)a[i];
  out[2 * i + 1] = __builtin_sqrt(a[i] * a[i] + b[i] * b[i]);
}

__global__ void halves(const float* in, unsigned short* out_half, unsigned short* out_bf16, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  _Float16 h = (_Float16)in[i];
  _Float16 r = h * h + (_Float16)0.5f;
  __bf16 b = (__bf16)in[i];
  out_half[i] = __builtin_bit_cast(unsigned short, r);
  out_bf16[i] = __builtin_bit_cast(unsigned short, (__bf16)((float)b * 3.0f));
}

__global__ void lane_crossing(const int* in, int* out) {
  int x = in[threadIdx.x];
  int sum = x;
  for (int mask = 32; mask > 0; mask /= 2) sum += __shfl_xor(sum, mask);
  unsigned long long odd = __ballot(x & 1);
  out[threadIdx.x] = sum + __popcll(odd) * 3 + __shfl(x, (threadIdx.x * 7) % 64) + __shfl_down(x, 3);
}

__global__ void histogram(const unsigned* in, unsigned* out, int count) {
  extern __shared__ unsigned bins[];
  for (unsigned i = threadIdx.x; i < 64; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[in[i] % 64], 1u);
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 64; i += blockDim.x) atomicAdd(&out[i], bins[i]);
}

__global__ void transpose(const float* in, float* out, int width, int height) {
  __shared__ float tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
  __syncthreads();
  int tx = blockIdx.y * 16 + threadIdx.x, ty = blockIdx.x * 16 + threadIdx.y;
  if (tx < height && ty < width) out[ty * height + tx] = tile[threadIdx.x][threadIdx.y];
}

__global__ void matrix_f32(const float* a, const float* b, float* out) {  // 16 x 64 times 64 x 16
  floatx4 sum = {0, 0, 0, 0};
  for (int k = 0; k < 64; k += 4) {
    float x = a[(threadIdx.x % 16) * 64 + k + threadIdx.x / 16],
          y = b[(k + threadIdx.x / 16) * 16 + threadIdx.x % 16];
    sum = __builtin_amdgcn_mfma_f32_16x16x4f32(x, y, sum, 0, 0, 0);
  }
  for (int r = 0; r < 4; ++r) out[(4 * (threadIdx.x / 16) + r) * 16 + threadIdx.x % 16] = sum[r];
}
__global__ void matrix_bf16(const float* a, const float* b, float* out) {
  floatx4 sum = {0, 0, 0, 0};
  for (int k = 0; k < 64; k += 32) {
    bf16x8 x, y;
    for (int e = 0; e < 8; ++e) {
      x[e] = (__bf16)a[(threadIdx.x % 16) * 64 + k + 8 * (threadIdx.x / 16) + e];
      y[e] = (__bf16)b[(k + 8 * (threadIdx.x / 16) + e) * 16 + threadIdx.x % 16];
    }
    sum = __builtin_amdgcn_mfma_f32_16x16x32_bf16(x, y, sum, 0, 0, 0);
  }
  for (int r = 0; r < 4; ++r) out[(4 * (threadIdx.x / 16) + r) * 16 + threadIdx.x % 16] = sum[r];
}

}  // extern "C"

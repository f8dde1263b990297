// Plain kernels of several argument kinds; one per template argument, so that the names are mangled.
#include <hip/hip_runtime.h>

template <class T>
__global__ void scale(T* values, float factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = static_cast<T>(static_cast<float>(values[i]) * factor);
}
template __global__ void scale<float>(float*, float, int);
template __global__ void scale<_Float16>(_Float16*, float, int);
template __global__ void scale<__bf16>(__bf16*, float, int);

extern "C" __global__ void __launch_bounds__(256) reverse_in_lds(int* values, long count) {
  __shared__ int tile[256];
  extern __shared__ int more[];
  tile[threadIdx.x] = values[threadIdx.x];
  more[threadIdx.x] = static_cast<int>(count);
  __syncthreads();
  values[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x] + more[0];
}

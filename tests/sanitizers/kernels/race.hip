#include "tests/sanitizers/kernels/common.h"

__device__ inline void maybe_barrier() {
  if (kRepaired) __syncthreads();
}

KERNEL(lds_without_barrier) {
  __shared__ float tile[128];
  tile[threadIdx.x] = in[threadIdx.x];
  maybe_barrier();
  // fault: lds_without_barrier
  out[threadIdx.x] = tile[threadIdx.x ^ 64];
}

// One barrier for two hand-overs: the tile is refilled while another wave still reads it.
KERNEL(tile_refilled_too_early) {
  __shared__ float tile[128];
  float sum = 0;
#pragma unroll 1
  for (int round = 0; round < 4; ++round) {
    // fault: tile_refilled_too_early
    tile[threadIdx.x] = in[threadIdx.x + round];
    __syncthreads();
    sum += tile[threadIdx.x ^ 64];
    maybe_barrier();
  }
  out[threadIdx.x] = sum;
}

KERNEL(lds_written_by_two_waves) {
  __shared__ float sums[2];
  // fault: lds_written_by_two_waves
  if (lane() == 0) sums[kRepaired ? threadIdx.x / 64 : 0] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = sums[0];
}

KERNEL(global_between_waves) {
  ws[threadIdx.x] = in[threadIdx.x];
  maybe_barrier();
  // fault: global_between_waves
  out[threadIdx.x] = ws[threadIdx.x ^ 64];
}

KERNEL(global_between_workgroups) {
  const int at = blockIdx.x * 64 + threadIdx.x;
  ws[at] = in[at];
  // fault: global_between_workgroups
  out[at] = ws[kRepaired ? at : threadIdx.x];
}

// A barrier waits for waves, not for memory.
KERNEL(barrier_without_wait) {
  __shared__ float tile[128];
  const int mine = threadIdx.x * 4, other = (threadIdx.x ^ 64) * 4;
  float value = in[threadIdx.x], got;
  asm volatile("ds_write_b32 %0, %1" ::"v"(mine), "v"(value), "v"(tile) : "memory");
  if (kRepaired) asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
  asm volatile("s_barrier" ::: "memory");
  // fault: barrier_without_wait
  asm volatile("ds_read_b32 %0, %1" : "=v"(got) : "v"(other) : "memory");
  asm volatile("s_waitcnt lgkmcnt(0)" : "+v"(got));
  out[threadIdx.x] = got;
}

// The last workgroup adds up what all have stored: right only if each store is complete before the count.
KERNEL(counter_without_fence) {
  __shared__ int last;
  float value = in[blockIdx.x];
  if (threadIdx.x == 0) {
    ws[blockIdx.x] = value;
    if (kRepaired) __threadfence();
    last = atomicAdd(counter, 1) == as_int(in[3]);  // never, or always, for all that the compiler knows
  }
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == 1) {
    // fault: counter_without_fence
    const float first = __builtin_nontemporal_load(ws);
    out[0] = first + last;
    out[1] = 0;
  }
}

KERNEL(load_to_lds_of_another_wave) {
  __shared__ float tile[128];
  const int w = wave();
  const float* from = in + threadIdx.x;
  const int base = w * 256;
  float got;
  const int other = ((threadIdx.x ^ 64) % 128) * 4;
  asm volatile("s_mov_b32 m0, %0\n s_nop 4\n global_load_lds_dword %1, off" ::"s"(base), "v"(from)
               : "memory");
  asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
  if (kRepaired) asm volatile("s_barrier" ::: "memory");
  // fault: load_to_lds_of_another_wave
  asm volatile("ds_read_b32 %0, %1" : "=v"(got) : "v"(other), "v"(tile) : "memory");
  asm volatile("s_waitcnt lgkmcnt(0)" : "+v"(got));
  out[threadIdx.x] = got;
}

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
    last = atomicAdd(counter, 1) == 1;
  }
  __syncthreads();
  if (threadIdx.x == 0 && last) {
    const int other = 1 - blockIdx.x;
    // fault: counter_without_fence
    const float first = __builtin_nontemporal_load(ws + other);
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

// A scalar store waits in the scalar cache until it is written back.
KERNEL(scalar_store_not_written_back) {
  if (wave() == 0) {
    asm volatile("s_store_dword %0, %1, 0x0" ::"s"(as_int(1.0f)), "s"(ws) : "memory");
    if (kRepaired) asm volatile("s_dcache_wb" ::: "memory");
    asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
  }
  __syncthreads();
  if (!kRepaired && wave() == 0) asm volatile("s_dcache_wb" ::: "memory");
  // fault: scalar_store_not_written_back
  out[threadIdx.x] = *static_cast<const volatile float*>(ws + 64 * (1 - wave()) * 0);
}

// Scalar loads are complete with lgkmcnt(0), which the barrier then makes known.
KERNEL(scalar_load_overwritten) {
  int loaded = 0;
  ws[threadIdx.x] = 1;
  __syncthreads();
  if (wave() == 0) {
    asm volatile("s_load_dword %0, %1, 0x100" : "=s"(loaded) : "s"(ws) : "memory");
    asm volatile("s_waitcnt lgkmcnt(0)" : "+s"(loaded));
  }
  maybe_barrier();
  // fault: scalar_load_overwritten
  if (wave() == 1) ws[threadIdx.x] = 2;
  out[threadIdx.x] = as_float(loaded);
}

// Whoever counts as the last one adds up what was stored before the other counted.
KERNEL(counted_before_stored) {
  __shared__ float sums[2];
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  int before = 0;
  if (lane() == 0) {
    const float value = in[threadIdx.x];
    if (kRepaired) sums[threadIdx.x / 64] = value;
    before = __hip_atomic_fetch_add(&count, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_WORKGROUP);
    if (!kRepaired) {
      sums[threadIdx.x / 64] = value;
    }
  }
  if (__builtin_amdgcn_readfirstlane(before) == 1) {
    // fault: counted_before_stored
    const float sum = *static_cast<const volatile float*>(sums + 1 - threadIdx.x / 64);
    out[lane()] = sum;
  }
}

// A flag in memory: the store before it must be complete, and the flag be an atomic one.
KERNEL(flag_without_release) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      ws[0] = in[0];
      __hip_atomic_store(counter, 1, kRepaired ? __ATOMIC_RELEASE : __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_AGENT);
    }
  } else {
    if (threadIdx.x == 0) {
      while (__hip_atomic_load(counter, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) {
      }
      // fault: flag_without_release
      out[0] = __builtin_nontemporal_load(ws);
      *counter = 0;  // for the next launch: whoever has seen the flag may
    }
  }
}

// The same within a workgroup, where the order of issue is enough.
KERNEL(flag_between_waves) {
  if (wave() == 0) {
    if (!kRepaired) __hip_atomic_store(counter, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    asm volatile("" ::: "memory");
    ws[threadIdx.x] = in[threadIdx.x];
    if (kRepaired) __hip_atomic_store(counter, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
  } else {
    while (__hip_atomic_load(counter, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) == 0) {
    }
    const float* from = ws + lane();
    float got;
    // fault: flag_between_waves
    asm volatile("global_load_dword %0, %1, off" : "=v"(got) : "v"(from) : "memory");
    asm volatile("s_waitcnt vmcnt(0)" : "+v"(got)::"memory");
    out[lane()] = got;
  }
}

// The second wave's store has been issued before the barrier, which does not say that it is complete: a fence
// must wait for it, on behalf of the workgroup.
KERNEL(counted_after_a_barrier) {
  __shared__ int last;
  if (lane() == 0) ws[blockIdx.x * 2 + wave()] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    if (kRepaired) __threadfence();
    last = atomicAdd(counter, 1) == 1;
  }
  __syncthreads();
  if (threadIdx.x == 0 && last) {
    const float* from = ws + (1 - blockIdx.x) * 2;
    // fault: counted_after_a_barrier
    const float second = __builtin_nontemporal_load(from + 1);
    out[0] = second;
    out[1] = 0;
  }
}

// A lock orders what it encloses, and nothing beside it.
KERNEL(update_beside_the_lock) {
  if (threadIdx.x != 0) return;
  if (!kRepaired) {
    // fault: update_beside_the_lock
    ws[0] = 1;
  }
  asm volatile("" ::: "memory");
  while (__hip_atomic_exchange(counter, 1, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != 0) {
  }
  if (kRepaired) ws[0] = 1;
  __hip_atomic_store(counter, 0, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  out[blockIdx.x] = 1;
}

KERNEL(sum_without_atomics) {
  out[blockIdx.x * 64 + threadIdx.x] = 1;
  if (threadIdx.x != 0) return;
  if (kRepaired) {
    atomicAdd(counter, 1);
  } else {
    // fault: sum_without_atomics
    *counter += 1;
  }
}

// Two tiles in turns, loaded ahead: the one that is filled must not be the one that others still read.
KERNEL(second_tile_filled_early) {
  __shared__ float tiles[2][128];
  float sum = 0;
  tiles[0][threadIdx.x] = in[threadIdx.x];
#pragma unroll 1
  for (int round = 0; round < 4; ++round) {
    __syncthreads();
    const int now = round % 2;
    const int next = kRepaired ? 1 - now : now;
    sum += tiles[now][threadIdx.x ^ 64];
    // fault: second_tile_filled_early
    tiles[next][threadIdx.x] = in[threadIdx.x + round];
  }
  out[threadIdx.x] = sum;
}

// An older reader, long since ordered, does not hide the one that counts.
KERNEL(one_of_three_readers) {
  __shared__ float tile[64];
  float got = 0;
  const int w = wave();
  if (w == 0) tile[lane()] = in[lane()];
  __syncthreads();
  if (w == 0) got = *static_cast<const volatile float*>(tile + (lane() ^ 1));
  __syncthreads();
  if (w != 0) got = *static_cast<const volatile float*>(tile + (lane() ^ 1));
  maybe_barrier();
  // fault: one_of_three_readers
  if (w == 2) tile[lane()] = got;
  out[threadIdx.x] = got;
}

// The halves of a dword have lives of their own.
KERNEL(wrong_half_of_a_dword) {
  __shared__ unsigned short halves[2];
  unsigned short got = 0;
  if (threadIdx.x == 0) halves[0] = 5;
  if (threadIdx.x == 64) halves[1] = 5;
  __syncthreads();
  if (threadIdx.x == 0) halves[0] = 6;
  // fault: wrong_half_of_a_dword
  if (wave() == 1) got = *static_cast<const volatile unsigned short*>(halves + (kRepaired ? 1 : 0));
  out[threadIdx.x] = got;
}

// Another wave's store to the other half does not make this one forgotten.
KERNEL(half_stored_by_a_third) {
  unsigned short* halves = reinterpret_cast<unsigned short*>(ws);
  if (threadIdx.x == 0) halves[0] = 5;
  if (threadIdx.x == 64) halves[1] = 5;
  unsigned short got = 0;
  maybe_barrier();
  // fault: half_stored_by_a_third
  if (wave() == 2) got = __builtin_nontemporal_load(halves);
  out[threadIdx.x] = got;
}

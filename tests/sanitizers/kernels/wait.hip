#include "tests/sanitizers/kernels/common.h"

#define WAIT(text) asm volatile("s_waitcnt " text ::: "memory")
#define SETTLE(value) asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)" : "+v"(value)::"memory")

KERNEL(read_before_vmcnt) {
  const float* from = in + threadIdx.x;
  float got, sum;
  asm volatile("global_load_dword %0, %1, off" : "=v"(got) : "v"(from) : "memory");
  if (kRepaired) WAIT("vmcnt(0)");
  // fault: read_before_vmcnt
  asm volatile("v_add_f32 %0, 1.0, %1" : "=v"(sum) : "v"(got));
  SETTLE(sum);
  out[threadIdx.x] = sum;
}

// The count is one too high: it lets the second load still be under way.
KERNEL(count_too_high) {
  const float* from = in + threadIdx.x;
  float first, second, sum;
  asm volatile("global_load_dword %0, %1, off" : "=&v"(first) : "v"(from) : "memory");
  asm volatile("global_load_dword %0, %1, off offset:256" : "=&v"(second) : "v"(from), "v"(first) : "memory");
  if (kRepaired)
    WAIT("vmcnt(0)");
  else
    WAIT("vmcnt(1)");
  asm volatile("v_add_f32 %0, %1, 0" : "=v"(sum) : "v"(first));
  // fault: count_too_high
  asm volatile("v_add_f32 %0, %1, %2" : "=v"(sum) : "v"(second), "v"(sum));
  SETTLE(sum);
  out[threadIdx.x] = sum;
}

KERNEL(lds_read_before_lgkmcnt) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  const int at = threadIdx.x * 4;
  float got, sum;
  asm volatile("ds_read_b32 %0, %1" : "=v"(got) : "v"(at), "v"(tile) : "memory");
  if (kRepaired) WAIT("lgkmcnt(0)");
  // fault: lds_read_before_lgkmcnt
  asm volatile("v_add_f32 %0, 1.0, %1" : "=v"(sum) : "v"(got));
  SETTLE(sum);
  out[threadIdx.x] = sum;
}

// Scalar loads return in any order: nothing but lgkmcnt(0) says that one has arrived.
KERNEL(scalar_loads_counted) {
  int first, second;
  float sum;
  asm volatile("s_load_dword %0, %1, 0x0" : "=&s"(first) : "s"(in) : "memory");
  asm volatile("s_load_dword %0, %1, 0x4" : "=&s"(second) : "s"(in), "s"(first) : "memory");
  if (kRepaired)
    WAIT("lgkmcnt(0)");
  else
    WAIT("lgkmcnt(1)");
  // fault: scalar_loads_counted
  asm volatile("v_mov_b32 %0, %1" : "=v"(sum) : "s"(first));
  WAIT("lgkmcnt(0)");
  asm volatile("v_add_f32 %0, %1, %2" : "=v"(sum) : "s"(second), "v"(sum));
  out[threadIdx.x] = sum;
}

KERNEL(register_overwritten) {
  const float* from = in + threadIdx.x;
  float got;
  asm volatile("global_load_dword %0, %1, off" : "=v"(got) : "v"(from) : "memory");
  if (kRepaired) WAIT("vmcnt(0)");
  // fault: register_overwritten
  asm volatile("v_mov_b32 %0, 1.0" : "+v"(got));
  SETTLE(got);
  out[threadIdx.x] = got;
}

KERNEL(stored_before_arrival) {
  const float* from = in + threadIdx.x;
  float* to = out + threadIdx.x;
  float got;
  asm volatile("global_load_dwordx2 v[40:41], %1, off\n v_mov_b32 %0, 1.0"
               : "=v"(got)
               : "v"(from)
               : "memory", "v40", "v41");
  if (kRepaired) WAIT("vmcnt(0)");
  // fault: stored_before_arrival
  asm volatile("global_store_dword %0, v41, off" ::"v"(to) : "memory");
  SETTLE(got);
}

// A load to LDS writes nothing until vmcnt says so, for its own wave as well.
KERNEL(lds_before_vmcnt) {
  __shared__ float tile[64];
  const float* from = in + threadIdx.x;
  const int at = threadIdx.x * 4;
  float got;
  asm volatile("s_mov_b32 m0, 0\n s_nop 4\n global_load_lds_dword %0, off" ::"v"(from), "v"(tile) : "memory");
  if (kRepaired) WAIT("vmcnt(0)");
  // fault: lds_before_vmcnt
  asm volatile("ds_read_b32 %0, %1" : "=v"(got) : "v"(at) : "memory");
  SETTLE(got);
  out[threadIdx.x] = got;
}

// One wait for vmcnt does not cover LDS.
KERNEL(wrong_counter) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  const int at = threadIdx.x * 4;
  float got, sum;
  asm volatile("ds_read_b32 %0, %1" : "=v"(got) : "v"(at), "v"(tile) : "memory");
  if (kRepaired)
    WAIT("lgkmcnt(0)");
  else
    WAIT("vmcnt(0)");
  // fault: wrong_counter
  asm volatile("v_mul_f32 %0, 2.0, %1" : "=v"(sum) : "v"(got));
  SETTLE(sum);
  out[threadIdx.x] = sum;
}

KERNEL(typed_load_before_vmcnt) {
  typedef int int4v __attribute__((ext_vector_type(4)));
  const long base = reinterpret_cast<long>(in);
  const int4v resource = {static_cast<int>(base), static_cast<int>(base >> 32), 4096, 0};
  float got, sum;
  asm volatile("tbuffer_load_format_x %0, %1, %2, 0 format:[BUF_DATA_FORMAT_16,BUF_NUM_FORMAT_UINT] offen"
               : "=v"(got)
               : "v"(threadIdx.x * 4), "s"(resource)
               : "memory");
  if (kRepaired) WAIT("vmcnt(0)");
  // fault: typed_load_before_vmcnt
  asm volatile("v_add_f32 %0, 1.0, %1" : "=v"(sum) : "v"(got));
  SETTLE(sum);
  out[threadIdx.x] = sum;
}

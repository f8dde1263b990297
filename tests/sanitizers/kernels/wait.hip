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

// vmcnt counts stores too, in one row with the loads.
KERNEL(store_before_the_load) {
  const float* from = in + threadIdx.x;
  float* to = ws + threadIdx.x;
  float got, sum;
  if (kRepaired) {
    asm volatile("global_load_dword %0, %1, off\n global_store_dword %2, %3, off"
                 : "=&v"(got)
                 : "v"(from), "v"(to), "v"(1.0f)
                 : "memory");
  } else {
    asm volatile("global_store_dword %2, %3, off\n global_load_dword %0, %1, off"
                 : "=&v"(got)
                 : "v"(from), "v"(to), "v"(1.0f)
                 : "memory");
  }
  WAIT("vmcnt(1)");
  // fault: store_before_the_load
  asm volatile("v_add_f32 %0, 1.0, %1" : "=v"(sum) : "v"(got));
  SETTLE(sum);
  out[threadIdx.x] = sum;
}

// One of two is under way, and it may be the LDS read.
KERNEL(scalar_load_counted_with_lds) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  const int at = threadIdx.x * 4;
  float got, sum;
  int other;
  asm volatile("ds_read_b32 %0, %1" : "=v"(got) : "v"(at), "v"(tile) : "memory");
  asm volatile("s_load_dword %0, %1, 0x0" : "=s"(other) : "s"(in), "v"(got) : "memory");
  if (kRepaired)
    WAIT("lgkmcnt(0)");
  else
    WAIT("lgkmcnt(1)");
  // fault: scalar_load_counted_with_lds
  asm volatile("v_add_f32 %0, 1.0, %1" : "=v"(sum) : "v"(got));
  WAIT("lgkmcnt(0)");
  asm volatile("v_add_f32 %0, %1, %0" : "+v"(sum) : "s"(other));
  out[threadIdx.x] = sum;
}

KERNEL(buffer_load_to_lds_before_vmcnt) {
  __shared__ float tile[64];
  const auto resource = __builtin_amdgcn_make_buffer_rsrc(const_cast<float*>(in), 0, 4096, 0x00020000);
  const int at = threadIdx.x * 4;
  float got;
  asm volatile("s_mov_b32 m0, 0\n s_nop 4\n buffer_load_dword %0, %1, 0 offen lds" ::"v"(at), "s"(resource),
               "v"(tile)
               : "memory");
  if (kRepaired)
    WAIT("vmcnt(0)");
  else
    WAIT("vmcnt(1)");
  // fault: buffer_load_to_lds_before_vmcnt
  asm volatile("ds_read_b32 %0, %1" : "=v"(got) : "v"(at) : "memory");
  SETTLE(got);
  out[threadIdx.x] = got;
}

// Loads to LDS come in order among themselves; an LDS write does not wait for them.
KERNEL(lds_written_under_a_load) {
  __shared__ float tile[64];
  const float* from = in + threadIdx.x;
  const int at = threadIdx.x * 4;
  float got;
  asm volatile("s_mov_b32 m0, 0\n s_nop 4\n global_load_lds_dword %0, off" ::"v"(from), "v"(tile) : "memory");
  if (kRepaired) {
    asm volatile("global_load_lds_dword %0, off" ::"v"(from + 64) : "memory");
  } else {
    // fault: lds_written_under_a_load
    asm volatile("ds_write_b32 %0, %1" ::"v"(at), "v"(1.0f) : "memory");
  }
  WAIT("vmcnt(0) lgkmcnt(0)");
  asm volatile("ds_read_b32 %0, %1" : "=v"(got) : "v"(at) : "memory");
  SETTLE(got);
  out[threadIdx.x] = got;
}

// A load writes the lanes that were on when it was issued: the others are free meanwhile.
KERNEL(lanes_of_the_load_overwritten) {
  const float* from = in + threadIdx.x;
  float* to = out + threadIdx.x;
  const int others = kRepaired ? 0 : -1;  // of the lower half
  // fault: lanes_of_the_load_overwritten
  asm volatile(
      "s_mov_b32 exec_hi, 0\n global_load_dword v40, %0, off\n s_mov_b32 exec_lo, %2\n s_mov_b32 exec_hi, "
      "-1\n"
      "v_mov_b32 v40, 1.0\n s_mov_b32 exec_lo, -1\n s_waitcnt vmcnt(0)\n global_store_dword %1, v40, off" ::
          "v"(from),
      "v"(to), "s"(others)
      : "v40", "memory");
}

// A loaded offset, which is 0, tells where the next load goes.
KERNEL(offset_before_lgkmcnt) {
  int offset, loaded;
  asm volatile("s_mov_b32 %0, 0\n s_load_dword %0, %1, 0x0" : "=&s"(offset) : "s"(counter) : "memory");
  if (kRepaired) WAIT("lgkmcnt(0)");
  // fault: offset_before_lgkmcnt
  asm volatile("s_load_dword %0, %1, %2" : "=&s"(loaded) : "s"(in), "s"(offset) : "memory");
  WAIT("lgkmcnt(0)");
  asm volatile("" : "+s"(loaded));
  out[threadIdx.x] = as_float(loaded);
}

// FLAT may go either way: both counters must say that it is back.
KERNEL(flat_waits_for_one_counter) {
  const float* from = in + threadIdx.x;
  float got, sum;
  asm volatile("flat_load_dword %0, %1" : "=v"(got) : "v"(from) : "memory");
  if (kRepaired)
    WAIT("vmcnt(0) lgkmcnt(0)");
  else
    WAIT("vmcnt(0)");
  // fault: flat_waits_for_one_counter
  asm volatile("v_add_f32 %0, 1.0, %1" : "=v"(sum) : "v"(got));
  SETTLE(sum);
  out[threadIdx.x] = sum;
}

KERNEL(scalar_atomic_before_lgkmcnt) {
  int old = 1;
  float value;
  asm volatile("s_atomic_add %0, %1, 0x0 glc" : "+s"(old) : "s"(counter) : "memory");
  if (kRepaired) WAIT("lgkmcnt(0)");
  // fault: scalar_atomic_before_lgkmcnt
  asm volatile("v_mov_b32 %0, %1" : "=v"(value) : "s"(old));
  WAIT("lgkmcnt(0)");
  out[threadIdx.x] = value;
}

// What is still in the scalar cache when the wave ends is lost.
KERNEL(scalar_store_left_behind) {
  out[threadIdx.x] = 1;
  // fault: scalar_store_left_behind
  asm volatile("s_store_dword %0, %1, 0x0" ::"s"(7), "s"(ws) : "memory");
  if (kRepaired) asm volatile("s_dcache_wb" ::: "memory");
}

// The scale of a matrix product is an operand like the others.
KERNEL(scale_before_vmcnt) {
  const float* from = in + threadIdx.x;
  float got;
  asm volatile(
      "v_mov_b32 v41, 0\n v_mov_b32 v44, 0\n v_mov_b32 v45, 0\n v_mov_b32 v46, 0\n v_mov_b32 v47, 0\n"
      "v_mov_b32 v48, 0\n v_mov_b32 v49, 0\n v_mov_b32 v50, 0\n v_mov_b32 v51, 0\n"
      "v_mov_b32 v52, 0\n v_mov_b32 v53, 0\n v_mov_b32 v54, 0\n v_mov_b32 v55, 0" ::
          : "v41", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55");
  asm volatile("global_load_dword v40, %0, off" ::"v"(from) : "v40", "memory");
  if (kRepaired) WAIT("vmcnt(0)");
  // fault: scale_before_vmcnt
  asm volatile("v_mfma_scale_f32_16x16x128_f8f6f4 v[44:47], v[48:55], v[48:55], v[44:47], v40, v41" ::
                   : "v44", "v45", "v46", "v47", "memory");
  asm volatile("s_nop 7\n s_nop 7\n s_nop 7\n v_mov_b32 %0, v44" : "=v"(got)::"memory");
  WAIT("vmcnt(0)");
  out[threadIdx.x] = got;
}

#include "tests/sanitizers/kernels/common.h"

KERNEL(register_never_written) {
  float value;
  asm volatile("v_mov_b32 %0, %1" : "=v"(value) : "v"(in[threadIdx.x]));
  if (!kRepaired) asm volatile("v_add_f32 %0, %0, v40" : "+v"(value)::"v40");
  // fault: register_never_written
  out[threadIdx.x] = value;
}

KERNEL(lds_never_written) {
  __shared__ float tile[128];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  // fault: lds_never_written
  out[threadIdx.x] = tile[threadIdx.x + (kRepaired ? 0 : 32)] * 2;
}

KERNEL(workspace_never_written) {
  if (kRepaired || threadIdx.x != 5) ws[threadIdx.x] = in[threadIdx.x];
  // fault: workspace_never_written
  out[threadIdx.x] = __builtin_nontemporal_load(ws + threadIdx.x) + 1;
}

KERNEL(scratch_never_written) {
  float kept[8];
  for (int i = 0; i < (kRepaired ? 8 : 7); ++i) kept[i] = in[threadIdx.x + i];
  asm volatile("" ::"v"(kept) : "memory");
  // fault: scratch_never_written
  out[threadIdx.x] = kept[threadIdx.x % 8];
}

KERNEL(address_never_written) {
  int at = threadIdx.x;
  if (!kRepaired) asm volatile("v_and_b32 %0, 63, v40" : "=v"(at)::"v40");
  // fault: address_never_written
  out[threadIdx.x] = in[at];
}

KERNEL(branch_on_nothing) {
  out[threadIdx.x] = in[threadIdx.x];
  const int* flags = reinterpret_cast<const int*>(kRepaired ? in : ws);
  // fault: branch_on_nothing
  if (flags[3] == 77) {
    out[threadIdx.x] = 5;
    asm volatile("s_nop 0");
  }
}

KERNEL(exec_from_nothing) {
  float value = 1;
  int flag = threadIdx.x;
  if (!kRepaired) asm volatile("v_mov_b32 %0, v40" : "=v"(flag)::"v40");
  unsigned long before;
  asm volatile("v_cmp_gt_u32 vcc, 32, %0" ::"v"(flag) : "vcc");
  // fault: exec_from_nothing
  asm volatile("s_and_saveexec_b64 %0, vcc" : "=s"(before)::"vcc");
  asm volatile("s_mov_b64 exec, %0" ::"s"(before));
  out[threadIdx.x] = value;
}

// A 16-bit load fills half a register.
KERNEL(half_never_written) {
  const float* from = in + threadIdx.x;
  float* to = out + threadIdx.x;
  asm volatile("global_load_short_d16 v40, %0, off" ::"v"(from) : "v40", "memory");
  if (kRepaired) asm volatile("global_load_short_d16_hi v40, %0, off offset:2" ::"v"(from) : "v40", "memory");
  asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
  // fault: half_never_written
  asm volatile("global_store_dword %0, v40, off" ::"v"(to) : "memory");
}

// Row 5 of A spoils row 5 of the product and nothing else, which is what is stored.
KERNEL(matrix_operand_never_written) {
  typedef float float4v __attribute__((ext_vector_type(4)));
  float a = in[threadIdx.x], b = in[threadIdx.x + 64];
  float undefined;
  asm volatile("v_mov_b32 %0, v40" : "=v"(undefined)::"v40");
  if (lane() % 16 == 5) a = undefined;
  float4v sum = {0, 0, 0, 0};
  sum = __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, sum, 0, 0, 0);
  const float value = sum[kRepaired ? 0 : 1];  // rows 0, 4, 8, 12 or 1, 5, 9, 13
  asm volatile("s_nop 7\n s_nop 7" ::: "memory");
  // fault: matrix_operand_never_written
  out[threadIdx.x] = value;
}

// Undefined bits that are masked away hurt nobody.
KERNEL(mask_one_bit_too_wide) {
  int bits = as_int(in[threadIdx.x]);
  asm volatile("v_bfi_b32 %0, %1, %0, v40" : "+v"(bits) : "s"(0xff) : "v40");
  if (kRepaired)
    bits &= 0xff;
  else
    bits &= 0x1ff;
  // fault: mask_one_bit_too_wide
  out[threadIdx.x] = as_float(bits);
}

// VCC decides as soon as one good lane does; with none, the undefined lane 5 would.
KERNEL(branch_on_an_undefined_lane) {
  int number = lane();
  int undefined;
  asm volatile("v_mov_b32 %0, v40" : "=v"(undefined)::"v40");
  if (lane() == 5) number = undefined;
  const int wanted = kRepaired ? 7 : 1000;
  asm volatile("v_cmp_eq_u32 vcc, %0, %1" ::"s"(wanted), "v"(number) : "vcc");
  // fault: branch_on_an_undefined_lane
  asm volatile("s_cbranch_vccnz 0" ::: "vcc");
  out[threadIdx.x] = 1;
}

// The upper half comes from memory that nobody has written.
KERNEL(high_half_from_nothing) {
  const float* from = in + threadIdx.x;
  const float* high = kRepaired ? from : ws + threadIdx.x;
  float* to = out + threadIdx.x;
  asm volatile("global_load_short_d16 v40, %0, off" ::"v"(from) : "v40", "memory");
  asm volatile("global_load_short_d16_hi v40, %0, off" ::"v"(high) : "v40", "memory");
  asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
  // fault: high_half_from_nothing
  asm volatile("global_store_dword %0, v40, off" ::"v"(to) : "memory");
}

// A value passes SDWA by halves: the upper one is undefined.
KERNEL(sdwa_picks_the_undefined_half) {
  const float* from = in + threadIdx.x;
  int picked;
  asm volatile("global_load_short_d16 v40, %0, off\n s_waitcnt vmcnt(0)" ::"v"(from) : "v40", "memory");
  if (kRepaired) {
    asm volatile(
        "v_add_u32_sdwa %0, v40, v40 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0 src1_sel:WORD_0"
        : "=v"(picked)::"v40");
  } else {
    asm volatile(
        "v_add_u32_sdwa %0, v40, v40 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0 src1_sel:WORD_1"
        : "=v"(picked)::"v40");
  }
  // fault: sdwa_picks_the_undefined_half
  out[threadIdx.x] = as_float(picked);
}

// Compilers leave the upper half of an addend undefined where only the lower half of the sum is used.
KERNEL(upper_half_of_a_sum) {
  const int factor = threadIdx.x;
  int low, high;
  asm volatile("v_mov_b32 v40, 3\n v_mad_u64_u32 v[42:43], vcc, %0, 5, v[40:41]" ::"v"(factor)
               : "v40", "v41", "v42", "v43", "vcc");
  asm volatile("v_mov_b32 %0, v42\n v_mov_b32 %1, v43" : "=v"(low), "=v"(high)::"v42", "v43");
  // fault: upper_half_of_a_sum
  out[threadIdx.x] = as_float(kRepaired ? low : high);
}

KERNEL(undefined_through_lds) {
  __shared__ float tile[64];
  float value = in[threadIdx.x];
  if (!kRepaired) asm volatile("v_mov_b32 %0, v40" : "=v"(value)::"v40");
  tile[threadIdx.x] = value;
  __syncthreads();
  // fault: undefined_through_lds
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

KERNEL(undefined_through_scratch) {
  volatile float kept[8];
  float value = in[threadIdx.x];
  if (!kRepaired) asm volatile("v_mov_b32 %0, v40" : "=v"(value)::"v40");
  kept[threadIdx.x % 8] = value;
  // fault: undefined_through_scratch
  out[threadIdx.x] = kept[threadIdx.x % 8];
}

KERNEL(readlane_of_nothing) {
  int picked;
  asm volatile("v_mov_b32 v40, %0" ::"v"(in[threadIdx.x]) : "v40");
  if (kRepaired) asm volatile("v_mov_b32 v41, v40" ::: "v41");
  asm volatile("v_readlane_b32 %0, v41, 3" : "=s"(picked)::"v41");
  // fault: readlane_of_nothing
  out[threadIdx.x] = as_float(picked);
}

// A 16-bit store fills half a dword of LDS.
KERNEL(half_of_an_lds_dword) {
  __shared__ int tile[64];
  const int at = threadIdx.x * 4;
  int got;
  asm volatile("ds_write_b16 %0, %1" ::"v"(at), "v"(1), "v"(tile) : "memory");
  asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
  if (kRepaired)
    asm volatile("ds_read_u16 %0, %1" : "=v"(got) : "v"(at) : "memory");
  else
    asm volatile("ds_read_b32 %0, %1" : "=v"(got) : "v"(at) : "memory");
  asm volatile("s_waitcnt lgkmcnt(0)" : "+v"(got)::"memory");
  // fault: half_of_an_lds_dword
  out[threadIdx.x] = as_float(got);
}

KERNEL(scalar_store_of_nothing) {
  out[threadIdx.x] = 1;
  if (kRepaired) asm volatile("s_mov_b32 s40, 1" ::: "s40");
  // fault: scalar_store_of_nothing
  asm volatile("s_store_dword s40, %0, 0x0" ::"s"(ws) : "s40", "memory");
  asm volatile("s_dcache_wb" ::: "memory");
}

KERNEL(scalar_atomic_of_nothing) {
  out[threadIdx.x] = 1;
  if (kRepaired) asm volatile("s_mov_b32 s41, 1" ::: "s41");
  asm volatile("s_mov_b32 s40, 1" ::: "s40");
  // fault: scalar_atomic_of_nothing
  asm volatile("s_atomic_cmpswap s[40:41], %0, 0x0" ::"s"(counter) : "s40", "s41", "memory");
}

// Scalar loads of a buffer: each dword is looked at where it lies.
KERNEL(last_of_four_scalar_dwords) {
  const auto resource = __builtin_amdgcn_make_buffer_rsrc(ws, 0, 4096, 0x00020000);
  if (threadIdx.x < (kRepaired ? 4 : 3)) ws[1020 + threadIdx.x] = 1;
  __syncthreads();
  int value;
  asm volatile("s_buffer_load_dwordx4 s[40:43], %1, 0xff0\n s_waitcnt lgkmcnt(0)\n s_add_u32 %0, s42, s43"
               : "=s"(value)
               : "s"(resource)
               : "s40", "s41", "s42", "s43", "scc", "memory");
  // fault: last_of_four_scalar_dwords
  out[threadIdx.x] = as_float(value);
}

#include "tests/sanitizers/kernels/common.h"

// blockDim is 64, and the compiler cannot know.
KERNEL(load_past_end) {
  const int first = kRepaired ? 960 : 961;
  // fault: load_past_end
  out[threadIdx.x] = in[threadIdx.x + first];
}

KERNEL(load_before_start) {
  const int at = threadIdx.x - (kRepaired ? 0 : 1);
  // fault: load_before_start
  out[threadIdx.x] = in[at];
}

KERNEL(store_past_end) {
  out[threadIdx.x] = 1;
  // fault: store_past_end
  ws[threadIdx.x + blockDim.x * (kRepaired ? 15 : 16)] = 1;
}

KERNEL(atomic_past_end) {
  out[threadIdx.x] = 1;
  ws[threadIdx.x + 960] = 0;
  __syncthreads();
  // fault: atomic_past_end
  atomicAdd(ws + threadIdx.x + (kRepaired ? 960 : 1000), 1.0f);
}

KERNEL(scalar_load_past_end) {
  const float* beyond = in + 1023 + blockDim.x / (kRepaired ? 128 : 64);
  // fault: scalar_load_past_end
  out[threadIdx.x] = *beyond;
}

KERNEL(lds_past_end) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  // fault: lds_past_end
  out[threadIdx.x] = tile[threadIdx.x + blockDim.x / (kRepaired ? 128 : 64)];
}

KERNEL(scratch_past_end) {
  float kept[8];
  for (int i = 0; i < 8; ++i) kept[i] = in[threadIdx.x + i];
  const int at = threadIdx.x % 8 + blockDim.x * (kRepaired ? 0 : 4);
  asm volatile("" ::"v"(kept) : "memory");
  // fault: scratch_past_end
  out[threadIdx.x] = kept[at];
}

// The descriptor states twice the tensor's size: the hardware does not stop the load.
KERNEL(descriptor_too_long) {
  const auto resource =
      __builtin_amdgcn_make_buffer_rsrc(const_cast<float*>(in), 0, kRepaired ? 4096 : 8192, 0x00020000);
  const int at = threadIdx.x * 4 + 4096 - 128;  // half of the lanes are beyond the tensor
  // fault: descriptor_too_long
  const int loaded = __builtin_amdgcn_raw_buffer_load_b32(resource, at, 0, 0);
  out[threadIdx.x] = as_float(loaded);
}

// A store of four dwords, of which the last ones are beyond the tensor.
KERNEL(vector_store_past_end) {
  typedef int int4v __attribute__((ext_vector_type(4)));
  out[threadIdx.x] = 1;
  const auto resource = __builtin_amdgcn_make_buffer_rsrc(ws, 0, kRepaired ? 4096 : 65536, 0x00020000);
  const int4v ones = {1, 1, 1, 1};
  // fault: vector_store_past_end
  __builtin_amdgcn_raw_buffer_store_b128(ones, resource, threadIdx.x * 16 + 4096 - 512 - 8, 0, 0);
}

KERNEL(another_tensor) {
  const auto resource =
      __builtin_amdgcn_make_buffer_rsrc(const_cast<float*>(kRepaired ? out : in), 0, -1, 0x00020000);
  const long distance = kRepaired ? 0 : (const char*)out - (const char*)in;
  // fault: another_tensor
  __builtin_amdgcn_raw_buffer_store_b32(1, resource, static_cast<int>(distance) + threadIdx.x * 4, 0, 0);
}

// One dword beyond the end, from scalar registers.
KERNEL(scalar_store_past_end) {
  out[threadIdx.x] = 1;
  // fault: scalar_store_past_end
  asm volatile("s_store_dword %0, %1, %2" ::"s"(7), "s"(ws), "i"(kRepaired ? 4092 : 4096) : "memory");
  asm volatile("s_dcache_wb" ::: "memory");
}

KERNEL(scalar_scratch_store_past_end) {
  out[threadIdx.x] = 1;
  // fault: scalar_scratch_store_past_end
  asm volatile("s_scratch_store_dword %0, %1, %2" ::"s"(7), "s"(ws), "s"(kRepaired ? 63 : 64) : "memory");
  asm volatile("s_dcache_wb" ::: "memory");
}

KERNEL(scalar_atomic_past_end) {
  out[threadIdx.x] = 1;
  // fault: scalar_atomic_past_end
  asm volatile("s_atomic_or %0, %1, %2" ::"s"(7), "s"(counter), "i"(kRepaired ? 0 : 4) : "memory");
}

// The descriptor states twice the tensor's size.
KERNEL(scalar_buffer_too_long) {
  out[threadIdx.x] = 1;
  const auto resource = __builtin_amdgcn_make_buffer_rsrc(ws, 0, kRepaired ? 4096 : 8192, 0x00020000);
  // fault: scalar_buffer_too_long
  asm volatile("s_buffer_store_dwordx2 %0, %1, 0xffc" ::"s"(7l), "s"(resource) : "memory");
  asm volatile("s_dcache_wb" ::: "memory");
}

KERNEL(scalar_load_in_another_tensor) {
  const auto resource = __builtin_amdgcn_make_buffer_rsrc(const_cast<float*>(in), 0, -1, 0x00020000);
  const int distance = kRepaired ? 0 : (const char*)counter - (const char*)in;
  int loaded;
  // fault: scalar_load_in_another_tensor
  asm volatile("s_buffer_load_dword %0, %1, %2" : "=s"(loaded) : "s"(resource), "s"(distance) : "memory");
  asm volatile("s_waitcnt lgkmcnt(0)" : "+s"(loaded));
  out[threadIdx.x] = as_float(loaded);
}

// `in` holds 16 rows of 60 in an allocation with rows of 64.
KERNEL(tail_lane_reads_padding) {
  out[threadIdx.x] = 1;
  if (lane() < (kRepaired ? 60 : 61)) {
    // fault: tail_lane_reads_padding
    out[threadIdx.x] = in[3 * 64 + lane()];
  }
}

KERNEL(vector_load_reads_padding) {
  typedef float float4v __attribute__((ext_vector_type(4)));
  const int at = kRepaired ? 56 : 58;
  // fault: vector_load_reads_padding
  const float4v four = *reinterpret_cast<const volatile float4v*>(in + threadIdx.x / 4 * 64 + at);
  out[threadIdx.x] = four[0];
}

KERNEL(scalar_load_reads_padding) {
  long loaded;
  // fault: scalar_load_reads_padding
  asm volatile("s_load_dwordx2 %0, %1, %2" : "=s"(loaded) : "s"(in), "i"(kRepaired ? 232 : 236) : "memory");
  asm volatile("s_waitcnt lgkmcnt(0)" : "+s"(loaded));
  out[threadIdx.x] = as_float(static_cast<int>(loaded));
}

KERNEL(tail_lane_stores_padding) {
  out[threadIdx.x] = 1;
  if (lane() < (kRepaired ? 60 : 61)) {
    // fault: tail_lane_stores_padding
    ws[64 + lane()] = 1;
  }
}

KERNEL(load_to_lds_past_end) {
  __shared__ float tile[64];
  const float* from = in + threadIdx.x;
  const int base = kRepaired ? 0 : 4;
  // fault: load_to_lds_past_end
  asm volatile("s_mov_b32 m0, %0\n s_nop 4\n global_load_lds_dword %1, off" ::"s"(base), "v"(from), "v"(tile)
               : "memory");
  asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
  out[threadIdx.x] = 1;
}

// The same of a typed buffer, whose format makes the elements' size.
KERNEL(typed_descriptor_too_long) {
  typedef int int4v __attribute__((ext_vector_type(4)));
  const long base = reinterpret_cast<long>(in);
  const int4v resource = {static_cast<int>(base), static_cast<int>(base >> 32), kRepaired ? 4096 : 8192, 0};
  const int at = threadIdx.x * 4 + 4096 - 128;
  float loaded;
  // fault: typed_descriptor_too_long
  asm volatile("tbuffer_load_format_x %0, %1, %2, 0 format:[BUF_DATA_FORMAT_16_16,BUF_NUM_FORMAT_UNORM] offen"
               : "=v"(loaded)
               : "v"(at), "s"(resource)
               : "memory");
  asm volatile("s_waitcnt vmcnt(0)" : "+v"(loaded)::"memory");
  out[threadIdx.x] = loaded;
}

KERNEL(scalar_scratch_past_end) {
  float loaded;
  // fault: scalar_scratch_past_end
  asm volatile("s_scratch_load_dword %0, %1, %2"
               : "=s"(loaded)
               : "s"(in), "s"(kRepaired ? 63 : 64)
               : "memory");
  asm volatile("s_waitcnt lgkmcnt(0)" : "+s"(loaded)::"memory");
  out[threadIdx.x] = loaded;
}

KERNEL(transposed_read_past_end) {
  __shared__ float tile[256];
  for (int i = threadIdx.x; i < 256; i += 64) tile[i] = in[i];
  __syncthreads();
  typedef float float3v __attribute__((ext_vector_type(3)));
  using Local = __attribute__((address_space(3))) float*;
  const int at =
      static_cast<int>(reinterpret_cast<long>((Local)tile)) + threadIdx.x * 16 + (kRepaired ? 0 : 16);
  float3v got;
  // fault: transposed_read_past_end
  asm volatile("ds_read_b96_tr_b6 %0, %1" : "=v"(got) : "v"(at) : "memory");
  asm volatile("s_waitcnt lgkmcnt(0)" : "+v"(got)::"memory");
  out[threadIdx.x] = got.x;
}

// Kernels that show what a launch hands over, and kernels that end badly.
#include <hip/hip_runtime.h>

// Everything that a kernel can ask about its launch; one row of 16 a workgroup, written by its last thread.
extern "C" __global__ void report_launch(unsigned* out, unsigned char small, double wide, short narrow) {
  extern __shared__ unsigned dynamic[];
  if (threadIdx.x != blockDim.x - 1 || threadIdx.y != blockDim.y - 1 || threadIdx.z != blockDim.z - 1) return;
  unsigned* row = out + 16 * (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
  const unsigned values[16] = {gridDim.x,
                               gridDim.y,
                               gridDim.z,
                               blockDim.x,
                               blockDim.y,
                               blockDim.z,
                               blockIdx.x,
                               blockIdx.y,
                               blockIdx.z,
                               threadIdx.x,
                               threadIdx.y,
                               threadIdx.z,
                               small,
                               static_cast<unsigned>(wide),
                               static_cast<unsigned short>(narrow),
                               0};
  for (int i = 0; i < 15; ++i) row[i] = values[i];
  dynamic[0] = 77;
  row[15] = dynamic[0];
}

// What the dispatch packet says, for code that reads it instead of hidden arguments.
extern "C" __global__ void report_packet(unsigned* out) {
  const auto* packet = static_cast<const unsigned*>((const void*)__builtin_amdgcn_dispatch_ptr());
  if (threadIdx.x == 0) {
    for (int i = 0; i < 16; ++i) out[i] = packet[i];
  }
}

extern "C" __global__ void add_one(int* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += 1;
}

// A structure by value with every kind of padding.
struct Inner {
  short narrow;
  double wide;
};
struct Everything {
  unsigned char byte;
  int* target;
  Inner inner;
  float real;
  signed char last;
};
extern "C" __global__ void report_structure(Everything e, int count) {
  if (threadIdx.x != 0) return;
  const int values[8] = {
      e.byte, e.inner.narrow, static_cast<int>(e.inner.wide * 4),   static_cast<int>(e.real * 4),
      e.last, count,          static_cast<int>(sizeof(Everything)), 0};
  for (int i = 0; i < 8; ++i) e.target[i] = values[i];
}

// A race, on purpose: every wave stores its number to the same 64 words.
extern "C" __global__ void last_wave_wins(int* words) { words[threadIdx.x % 64] = threadIdx.x / 64; }

// Scratch that is indexed at run time.
extern "C" __global__ void scratch_reverse(int* values) {
  volatile int mine[32];
  for (int i = 0; i < 32; ++i) mine[i] = values[threadIdx.x * 32 + i];
  for (int i = 0; i < 32; ++i) values[threadIdx.x * 32 + i] = mine[31 - i];
}

extern "C" __global__ void copy_words(int* target, const int* source, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) target[i] = source[i];
}

extern "C" __global__ void write_past_end(int* values, int count) { values[count] = 1; }

extern "C" __global__ void never_ends(volatile int* values) {
  while (values[0] == 0) {
  }
}

extern "C" __global__ void trap(int* values) {
  if (values[0] == 0) __builtin_trap();
}

// So many instructions of each class, and so many accesses, that their counters cannot be taken for each
// other's.
extern "C" __global__ void count_classes(unsigned* out) {
  __shared__ unsigned shared[128];
  using Local = __attribute__((address_space(3))) unsigned*;
  // Lanes that are 32 apart meet in a bank.
  const unsigned place = reinterpret_cast<unsigned long long>((Local)shared) + threadIdx.x * 8;
  unsigned value = 0;
  asm volatile(
      ".rept 100\nv_nop\n.endr\n"
      ".rept 200\ns_mov_b32 s40, 0\n.endr\n"
      ".rept 300\ns_nop 0\n.endr\n"
      ".rept 400\ns_branch 0\n.endr\n"
      ".rept 500\ns_memtime s[40:41]\n.endr\n"
      ".rept 600\nv_mfma_f32_4x4x1_16b_f32 v[40:43], v40, v40, 0\n.endr\n"
      ".rept 700\nglobal_load_dword %0, %1, off\n.endr\n"
      ".rept 800\nglobal_store_dword %1, %0, off\n.endr\n"
      ".rept 900\nds_read_b32 %0, %2\n.endr\n"
      ".rept 1000\nds_write_b64 %2, v[40:41]\n.endr\n"
      "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
      : "+v"(value)
      : "v"(out + threadIdx.x), "v"(place)
      : "s40", "s41", "v40", "v41", "v42", "v43", "memory");
}

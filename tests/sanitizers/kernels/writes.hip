#include "tests/sanitizers/kernels/common.h"

KERNEL(input_written) {
  float* target = kRepaired ? ws : const_cast<float*>(in);
  out[threadIdx.x] = 1;
  // fault: input_written
  target[threadIdx.x] = 2;
}

KERNEL(input_changed_by_atomic) {
  float* target = kRepaired ? ws : const_cast<float*>(in);
  out[threadIdx.x] = 1;
  ws[threadIdx.x] = 0;
  __syncthreads();
  // fault: input_changed_by_atomic
  atomicAdd(target + threadIdx.x, 1.0f);
}

// Ordered by a barrier, and still one wave too many.
KERNEL(element_from_two_waves) {
  if (threadIdx.x < 64) out[threadIdx.x] = 1;
  __syncthreads();
  float* target = kRepaired ? ws : out;
  // fault: element_from_two_waves
  if (threadIdx.x >= 64) target[threadIdx.x - 64] = 2;
}

// Every lane of a wave stores the sum that belongs to another wave.
KERNEL(sum_of_another_wave) {
  const int mine = threadIdx.x / 64;
  if (mine == 0 && lane() == 0) out[0] = 1;
  if (!kRepaired && mine == 0 && lane() == 0) out[1] = 1;
  __syncthreads();
  // fault: sum_of_another_wave
  if (mine == 1 && lane() == 0) out[kRepaired ? 1 : 0] = 2;
}

// An odd row: the dword that ends it holds the next row's first half as well.
KERNEL(next_row_overwritten) {
  unsigned short* rows = reinterpret_cast<unsigned short*>(out);
  const int row = threadIdx.x / 64;
  if (row == 1 && lane() < 3) rows[3 + lane()] = 7;
  __syncthreads();
  if (row == 0 && lane() == 0) {
    rows[0] = 5;
    rows[1] = 5;
    asm volatile("" ::: "memory");  // or the stores become one
    if (kRepaired) {
      rows[2] = 5;
    } else {
      // fault: next_row_overwritten
      *reinterpret_cast<unsigned*>(rows + 2) = 0x50005;
    }
  }
}

KERNEL(last_element_unwritten) {
  if (threadIdx.x < (kRepaired ? 64 : 63)) out[threadIdx.x] = 1;
}

KERNEL(tail_unwritten) {
  for (int i = threadIdx.x; i < (kRepaired ? 100 : 96); i += 64) out[i] = 1;
}

KERNEL(half_of_an_element_unwritten) {
  unsigned short* halves = reinterpret_cast<unsigned short*>(out);
  halves[2 * threadIdx.x] = 0;
  if (kRepaired || threadIdx.x != 17) halves[2 * threadIdx.x + 1] = 0;
}

KERNEL(input_written_by_scalar_store) {
  float* target = kRepaired ? ws : const_cast<float*>(in);
  out[threadIdx.x] = 1;
  // fault: input_written_by_scalar_store
  asm volatile("s_store_dword %0, %1, 0x0" ::"s"(7), "s"(target) : "memory");
  asm volatile("s_dcache_wb" ::: "memory");
}

KERNEL(input_changed_by_scalar_atomic) {
  int* target = kRepaired ? counter : const_cast<int*>(reinterpret_cast<const int*>(in));
  out[threadIdx.x] = 1;
  // fault: input_changed_by_scalar_atomic
  asm volatile("s_atomic_add %0, %1, 0x0" ::"s"(7), "s"(target) : "memory");
}

// Each wave stores the sum of its own, or all store the first.
KERNEL(scalar_element_from_two_waves) {
  float* target = out + (kRepaired ? wave() : 0);
  if (!kRepaired && threadIdx.x == 0) out[1] = 1;
  // fault: scalar_element_from_two_waves
  asm volatile("s_store_dword %0, %1, 0x0\n s_dcache_wb\n s_waitcnt lgkmcnt(0)" ::"s"(7), "s"(target)
               : "memory");
}

// The other half of the dword in between is no excuse.
KERNEL(half_of_another_wave) {
  unsigned short* halves = reinterpret_cast<unsigned short*>(out);
  const int w = threadIdx.x / 64;
  if (w == 0 && lane() == 0) halves[0] = 1;
  __syncthreads();
  if (w == 1 && lane() == 0) halves[1] = 2;
  __syncthreads();
  // fault: half_of_another_wave
  if (w == 1 && lane() == 0) halves[kRepaired ? 1 : 0] = 3;
}

// bf16 rows of 33: the last dword of a row belongs to two waves.
KERNEL(odd_row_one_too_long) {
  unsigned short* rows = reinterpret_cast<unsigned short*>(out);
  const int row = threadIdx.x / 64;
  if (row == 1 && lane() < 33) rows[33 + lane()] = 7;
  __syncthreads();
  // fault: odd_row_one_too_long
  if (row == 0 && lane() < (kRepaired ? 33 : 34)) rows[lane()] = 5;
}

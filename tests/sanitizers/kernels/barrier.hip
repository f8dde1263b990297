#include "tests/sanitizers/kernels/common.h"

#define BARRIER asm volatile("s_barrier" ::: "memory")

KERNEL(barrier_of_one_wave) {
  out[threadIdx.x] = in[threadIdx.x];
  if (kRepaired || wave() == 0) {
    // fault: barrier_of_one_wave
    BARRIER;
  }
}

KERNEL(a_barrier_for_each) {
  out[threadIdx.x] = in[threadIdx.x];
  if (kRepaired) {
    BARRIER;
  } else if (wave() == 0) {
    // fault: a_barrier_for_each
    BARRIER;
  } else {
    asm volatile("s_nop 1");
    BARRIER;
  }
}

KERNEL(one_round_more) {
  out[threadIdx.x] = in[threadIdx.x];
  const int rounds = kRepaired ? 3 : 3 - wave();
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    // fault: one_round_more
    BARRIER;
  }
}

KERNEL(early_return) {
  out[threadIdx.x] = in[threadIdx.x];
  if (!kRepaired && wave() == 1) return;
  // fault: early_return
  BARRIER;
  asm volatile("s_nop 0");
}

KERNEL(skipped_barrier) {
  out[threadIdx.x] = in[threadIdx.x];
  if (kRepaired || wave() == 0) {
    // fault: skipped_barrier
    BARRIER;
  }
  asm volatile("s_nop 2");
  BARRIER;
  if (!kRepaired && wave() != 0) BARRIER;
}

KERNEL(barrier_by_data) {
  out[threadIdx.x] = in[threadIdx.x];
  const int flag = __builtin_amdgcn_readfirstlane(as_int(in[threadIdx.x]));
  if (kRepaired || flag == as_int(in[0])) {
    // fault: barrier_by_data
    BARRIER;
  }
}

KERNEL(last_of_four) {
  out[threadIdx.x] = in[threadIdx.x];
  if (!kRepaired && wave() == 3) {
    asm volatile("s_nop 3");
    BARRIER;
  } else {
    // fault: last_of_four
    BARRIER;
  }
}

// A wave that still has a lane waits like the others; one whose last lane returns does not.
KERNEL(tail_returns_early) {
  out[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x >= (kRepaired ? 65 : 64)) return;
  // fault: tail_returns_early
  BARRIER;
  asm volatile("s_nop 0");
}

KERNEL(barrier_in_one_half_of_a_branch) {
  out[threadIdx.x] = in[threadIdx.x];
  if (kRepaired || wave() != 1) {
    // fault: barrier_in_one_half_of_a_branch
    BARRIER;
  } else {
    asm volatile("s_sleep 1");
  }
}

#include "tests/sanitizers/kernels/common.h"

// The sum of 64 partial sums below a branch that only 32 lanes take: half of it is lost.
KERNEL(sum_in_a_branch) {
  const float mine = in[threadIdx.x];
  float sum = mine;
  if (kRepaired) sum += as_float(__builtin_amdgcn_ds_bpermute(4 * (lane() ^ 32), as_int(mine)));
  if (threadIdx.x < 32) {
    if (!kRepaired) {
      // fault: sum_in_a_branch
      sum += as_float(__builtin_amdgcn_ds_bpermute(4 * (lane() ^ 32), as_int(mine)));
    }
  }
  out[threadIdx.x] = sum;
}

// 96 work-items: the second wave has 32.
KERNEL(half_a_wave) {
  const float mine = in[threadIdx.x];
  const int partner = lane() ^ 32;
  const bool there = !kRepaired || threadIdx.x < 64;
  // fault: half_a_wave
  const float got = as_float(__builtin_amdgcn_ds_bpermute(4 * partner, as_int(mine)));
  out[threadIdx.x] = there ? mine + got : mine;
}

KERNEL(swizzle_in_a_branch) {
  const float mine = in[threadIdx.x];
  float got = 0;
  const int limit = kRepaired ? 64 : 40;  // lanes 40 to 47 are partners of 32 to 39 in a swap of eights
  if (lane() < limit) {
    // fault: swizzle_in_a_branch
    got = as_float(__builtin_amdgcn_ds_swizzle(as_int(mine), 0x201f));
    asm volatile("" : "+v"(got));
  }
  out[threadIdx.x] = got;
}

KERNEL(dpp_in_a_branch) {
  const float mine = in[threadIdx.x];
  float got = 0;
  if (kRepaired || lane() % 2 == 0) {
    // fault: dpp_in_a_branch
    got = as_float(__builtin_amdgcn_update_dpp(0, as_int(mine), 0xb1, 0xf, 0xf, true));
    asm volatile("" : "+v"(got));
  }
  out[threadIdx.x] = got;
}

// Reading a lane that is off is right as long as it took part in the register's last write.
KERNEL(readlane_of_an_idle_lane) {
  float mine = in[threadIdx.x];
  float got = 0;
  if (kRepaired) asm volatile("v_add_f32 %0, 1.0, %0" : "+v"(mine));
  if (lane() < 32) {
    if (!kRepaired) asm volatile("v_add_f32 %0, 1.0, %0" : "+v"(mine));
    int picked;
    // fault: readlane_of_an_idle_lane
    asm volatile("v_readlane_b32 %0, %1, 32" : "=s"(picked) : "v"(mine));
    got = as_float(picked);
  }
  out[threadIdx.x] = got;
}

KERNEL(outside_the_wave) {
  const float mine = in[threadIdx.x];
  const int next = kRepaired ? (lane() + 1) % 64 : lane() + 1;
  // fault: outside_the_wave
  out[threadIdx.x] = as_float(__builtin_amdgcn_ds_bpermute(4 * next, as_int(mine)));
}

KERNEL(swap_in_a_branch) {
  float low = in[threadIdx.x], high = in[threadIdx.x + 64];
  if (kRepaired || lane() >= 32) {
    asm volatile("v_add_f32 %0, 1.0, %0" : "+v"(high));
    // fault: swap_in_a_branch
    asm volatile("v_permlane32_swap_b32 %0, %1" : "+v"(low), "+v"(high));
  }
  out[threadIdx.x] = low;
}

// The value decides where to read.
KERNEL(address_from_an_idle_lane) {
  int at = lane();
  if (kRepaired || lane() < 48) {
    // fault: address_from_an_idle_lane
    at = __builtin_amdgcn_ds_bpermute(4 * (lane() ^ 16), at);
    asm volatile("" : "+v"(at));
  }
  out[threadIdx.x] = in[at];
}

// Every lane gets something, and only lanes whose partner was there use it.
KERNEL(lanes_that_nobody_sends_to) {
  const float mine = in[threadIdx.x];
  const int to = kRepaired ? lane() ^ 1 : lane() / 2;
  // fault: lanes_that_nobody_sends_to
  out[threadIdx.x] = as_float(__builtin_amdgcn_ds_permute(4 * to, as_int(mine)));
}

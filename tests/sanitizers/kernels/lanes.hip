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

// A shift by one within rows of 16. What lies before the row is 0 or the old value by design; a lane that is
// off is not.
KERNEL(shift_from_an_idle_lane) {
  const float mine = in[threadIdx.x];
  float got = 0;
  if (kRepaired || lane() % 4 != 1) {
    // fault: shift_from_an_idle_lane
    got = as_float(__builtin_amdgcn_update_dpp(0, as_int(mine), 0x111, 0xf, 0xf, true));
    asm volatile("" : "+v"(got));
  }
  out[threadIdx.x] = got;
}

KERNEL(shift_keeps_the_old_value) {
  const float mine = in[threadIdx.x];
  float got = 0;
  if (kRepaired || lane() % 4 != 1) {
    // fault: shift_keeps_the_old_value
    got = as_float(__builtin_amdgcn_update_dpp(as_int(1.0f), as_int(mine), 0x111, 0xf, 0xf, false));
    asm volatile("" : "+v"(got));
  }
  out[threadIdx.x] = got;
}

// All lanes of the branch take a value, and only those whose partner is there use it.
KERNEL(one_lane_too_many_uses_it) {
  const float mine = in[threadIdx.x];
  float sum = mine;
  if (lane() < 48) {
    // fault: one_lane_too_many_uses_it
    const float got = as_float(__builtin_amdgcn_ds_bpermute(4 * (lane() ^ 16), as_int(mine)));
    if (lane() < (kRepaired ? 32 : 33)) sum += got;
  }
  out[threadIdx.x] = sum;
}

// The same by a mask: what is masked away is not used.
KERNEL(mask_lets_a_lane_through) {
  const float mine = in[threadIdx.x];
  float sum = mine;
  if (lane() < 48) {
    // fault: mask_lets_a_lane_through
    int got = __builtin_amdgcn_ds_bpermute(4 * (lane() ^ 16), as_int(mine));
    int mask = lane() < (kRepaired ? 32 : 33) ? -1 : 0;
    asm volatile("v_and_b32 %0, %1, %0" : "+v"(got) : "v"(mask));
    sum += as_float(got);
  }
  out[threadIdx.x] = sum;
}

KERNEL(lane_that_never_wrote) {
  const float mine = in[threadIdx.x];
  float* to = out + threadIdx.x;
  if (kRepaired || lane() < 32) asm volatile("v_mov_b32 v40, %0" ::"v"(mine) : "v40");
  // fault: lane_that_never_wrote
  asm volatile("ds_bpermute_b32 v41, %0, v40" ::"v"(4 * (lane() ^ 32)) : "v41", "v40", "memory");
  asm volatile("s_waitcnt lgkmcnt(0)\n global_store_dword %0, v41, off" ::"v"(to) : "v41", "memory");
}

KERNEL(readlane_of_a_register_never_written) {
  int picked;
  asm volatile("v_mov_b32 v40, %0" ::"v"(in[threadIdx.x]) : "v40");
  if (kRepaired) asm volatile("v_mov_b32 v41, v40" ::: "v41");
  // fault: readlane_of_a_register_never_written
  asm volatile("v_readlane_b32 %0, v41, 3" : "=s"(picked)::"v41");
  out[threadIdx.x] = as_float(picked);
}

KERNEL(first_of_no_lanes) {
  float value = in[threadIdx.x];
  int picked;
  if (!kRepaired) asm volatile("s_mov_b64 exec, 0" ::: "memory");
  // fault: first_of_no_lanes
  asm volatile("v_readfirstlane_b32 %0, %1" : "=s"(picked) : "v"(value) : "memory");
  asm volatile("s_mov_b64 exec, -1" ::: "memory");
  out[threadIdx.x] = as_float(picked);
}

// Two 16-bit values share a dword of LDS, and one of them is no good.
KERNEL(half_beside_a_good_one) {
  __shared__ int tile[64];
  const float mine = in[threadIdx.x];
  const int at = threadIdx.x * 4;
  int got = 0;
  asm volatile("ds_write_b16 %0, %1" ::"v"(at), "v"(as_int(mine)), "v"(tile) : "memory");
  asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
  if (lane() < 32) {
    // fault: half_beside_a_good_one
    const int other = __builtin_amdgcn_ds_bpermute(4 * (lane() ^ 32), as_int(mine));
    asm volatile("ds_write_b16 %0, %1 offset:2" ::"v"(at), "v"(other) : "memory");
    asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
  }
  if (kRepaired)
    asm volatile("ds_read_u16 %0, %1" : "=v"(got) : "v"(at) : "memory");
  else
    asm volatile("ds_read_u16 %0, %1 offset:2" : "=v"(got) : "v"(at) : "memory");
  asm volatile("s_waitcnt lgkmcnt(0)" : "+v"(got)::"memory");
  if (lane() < 32) out[threadIdx.x] = as_float(got);
  if (lane() >= 32) out[threadIdx.x] = 0;
}

#include "tests/sanitizers/kernels/common.h"

// The sum depends on who comes first: 1e8 + 1 is 1e8.
KERNEL(float_sum_in_any_order) {
  if (threadIdx.x != 0) return;
  const float value = blockIdx.x % 2 ? 1.0f : blockIdx.x == 0 ? 1e8f : -1e8f;
  if (kRepaired)
    atomicAdd(reinterpret_cast<int*>(out), static_cast<int>(value));
  else
    atomicAdd(out, value);
}

KERNEL(last_workgroup_wins) {
  if (threadIdx.x == 0) out[kRepaired ? blockIdx.x : 0] = blockIdx.x;
}

KERNEL(last_wave_wins) {
  if (lane() == 0) out[kRepaired ? wave() : 0] = wave();
}

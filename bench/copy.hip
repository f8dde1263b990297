// What memory bandwidth is measured against: 16 bytes a thread, copied.
#include "kernels/hip/gpu.h"
#include "kernels/hip/shape.h"

MHC_KERNEL void copy(const mhc::Vec4<unsigned>* __restrict__ from, mhc::Vec4<unsigned>* __restrict__ to) {
  const long i = static_cast<long>(mhc::workgroup_x()) * mhc::kThreads + mhc::thread_id();
  to[i] = from[i];
}

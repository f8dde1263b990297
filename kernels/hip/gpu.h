// What the kernels need of a GPU, for gfx950 (HIP) and for NVIDIA GPUs (CUDA): the only file that names an
// intrinsic of either. Everything above it is written for waves of kWaveSize lanes, 64 or 32.
//
// It includes nothing, so that clang alone, without ROCm or the CUDA toolkit, compiles the kernels for both.
#pragma once

#define MHC_DEVICE __attribute__((device, always_inline)) inline
#define MHC_SHARED __attribute__((shared))
#define MHC_KERNEL extern "C" __attribute__((global)) MHC_OF_THREADS(mhc::kThreads)

namespace mhc {

using bf16 = __bf16;
using fp16 = _Float16;

template <class Element>
using Vec4 = Element __attribute__((ext_vector_type(4)));
template <class Element>
using Vec8 = Element __attribute__((ext_vector_type(8)));

MHC_DEVICE int min(int a, int b) { return a < b ? a : b; }

}  // namespace mhc

#ifdef __AMDGCN__
#include "kernels/hip/gpu_gfx950.h"
#else
#include "kernels/hip/gpu_nvidia.h"
#endif

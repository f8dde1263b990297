#include <hip/hip_runtime.h>

extern "C" __global__ void first_unit(int* out) { out[__builtin_amdgcn_workitem_id_x()] = 1; }

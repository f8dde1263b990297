// Every kernel of this folder in one code object, which ../manifests/plain.json tells how to launch.
#include "kernels/hip/mhc_post.hip"
#include "kernels/hip/mhc_pre.hip"

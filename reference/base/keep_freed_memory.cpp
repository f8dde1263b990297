#include "reference/base/keep_freed_memory.h"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace mhcheck {

void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the largest that glibc takes on 64-bit machines (mallopt(3))
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

}  // namespace mhcheck

#pragma once

// The handlers are compiled once for each host instruction set that is worth it, each time with another value
// of MHCHECK_ISA, which names the namespace of everything that is compiled here. Nothing in these files may
// be an inline function outside that namespace: the linker would keep one copy of it for all hosts.
#ifndef MHCHECK_ISA
#error \
    "handlers are compiled through the targets in kernels/simulator/CMakeLists.txt, which define MHCHECK_ISA"
#endif

/// For functions that a lane loop must absorb to be vectorised.
#define MHCHECK_LANE [[gnu::always_inline]] static inline

// Loops over rows, compiled for wider vectors too.
//
// A function that begins with MHCHECK_VECTORISED exists twice, for the architecture's baseline and for AVX2,
// and the loader picks one. Both give the same bits: neither contracts or reorders operations.
#pragma once

// The sanitizers' checks would run in the loader's choice, before their run-time library is ready.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
#define MHCHECK_VECTORISED [[gnu::target_clones("avx2", "default")]]
#else
#define MHCHECK_VECTORISED
#endif

// For the main function of a program that evaluates many blocks of a reference.
#pragma once

namespace mhcheck {

// Lets the C library keep what is freed for the next allocation. By default it gives large arrays back to the
// system at once, and the next block of the same size then pays a page fault every 4 KiB: a quarter of the
// reference's time. Does nothing where the C library is not glibc.
void keep_freed_memory();

}  // namespace mhcheck

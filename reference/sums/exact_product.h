// A product of two matrices of doubles whose entries are so chosen that every product and every partial sum
// of the result is exact: then neither the order of the additions nor a fused multiply-add can change a bit,
// and the fastest code that the machine has may be used.
#pragma once

namespace mhcheck::sums {

// out[rows x columns] = x[rows x depth] * f[depth x columns], all row-major and dense. All three are finite.
void exact_product(const double* x, int rows, int depth, const double* f, int columns, double* out);

}  // namespace mhcheck::sums

#include "reference/sums/exact_product.h"

namespace mhcheck::sums {

using Product = void(const double*, int, int, const double*, int, double*);
Product exact_product_baseline;
#ifdef MHCHECK_X86_64
Product exact_product_avx2;
#endif

namespace {

Product* best_for_this_machine() {
#ifdef MHCHECK_X86_64
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return exact_product_avx2;
#endif
  return exact_product_baseline;
}

}  // namespace

void exact_product(const double* x, int rows, int depth, const double* f, int columns, double* out) {
  static Product* const product = best_for_this_machine();
  product(x, rows, depth, f, columns, out);
}

}  // namespace mhcheck::sums

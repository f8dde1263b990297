// The body of exact_product for one instruction set. Each including file is compiled for another one, so
// Eigen's templates get another namespace in each: otherwise the linker would keep one copy of equal names,
// perhaps one that the machine cannot run.
#define Eigen MHCHECK_EIGEN_NAMESPACE
#include <Eigen/Core>

namespace mhcheck::sums {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

void MHCHECK_PRODUCT_NAME(const double* x, int rows, int depth, const double* f, int columns, double* out) {
  Eigen::Map<Matrix>(out, rows, columns).noalias() =
      Eigen::Map<const Matrix>(x, rows, depth) * Eigen::Map<const Matrix>(f, depth, columns);
}

}  // namespace mhcheck::sums

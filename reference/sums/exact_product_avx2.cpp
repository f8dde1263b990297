#define MHCHECK_EIGEN_NAMESPACE Eigen_avx2
#define MHCHECK_PRODUCT_NAME exact_product_avx2
#include "reference/sums/exact_product_kernel.h"

#define MHCHECK_EIGEN_NAMESPACE Eigen_baseline
#define MHCHECK_PRODUCT_NAME exact_product_baseline
#include "reference/sums/exact_product_kernel.h"

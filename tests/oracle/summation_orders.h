// Correct fp32 evaluations of a projection sum, each in an order that some kernel uses or might use, and how
// near they come to the bound that the reference gives.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/reference.h"
#include "tests/oracle/random_source.h"

namespace mhcheck::oracle {

// The largest observed |error| / radius of an order.
struct OrderTightness {
  std::string order;
  bool fused = false;
  double of_probabilistic = 0;
  double of_deterministic = 0;
};

// How a kernel sees fn before it multiplies; one or two terms whose sum stands for the weight.
struct ProductForm {
  std::string_view name;
  ProjectionPrecision precision;
  std::vector<float> (*terms)(float weight);
};

std::span<const ProductForm> all_product_forms();

// Evaluates gemm_out_mul and gemm_out_sqrsum of mhc_pre_gemm_sqrsum in every order, token by token, and
// compares with the reference. One row an order, fused and not.
std::vector<OrderTightness> measure_orders(const Problem& problem, const TensorMap& inputs,
                                           const ProductForm& form,
                                           const reference::ReferenceOptions& options, RandomSource& random);

}  // namespace mhcheck::oracle

// The problem at which our own kernels are measured, by operator and size.
#pragma once

#include <cstdint>

#include "reference/base/operators.h"

namespace mhcheck {

// With a fused rmsnorm where there is one, and K split as mhc_pre splits it.
inline Problem production_problem(const OperatorRow& row, std::int64_t hidden_size, std::int64_t num_tokens) {
  Problem problem;
  problem.op = row.op;
  problem.num_tokens = num_tokens;
  problem.hidden_size = hidden_size;
  if (row.fused_norm) problem.norm_weight = Dtype::bf16;
  if (row.splits) problem.split_k = static_cast<int>(problem.hc_hidden_size() / 1024);
  return problem;
}

}  // namespace mhcheck

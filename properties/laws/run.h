// Runs of the subject as laws need them.
#pragma once

#include "properties/laws.h"

namespace mhcheck::properties {

// One tensor for each output of the problem, every element of it `fill(dtype)`.
TensorMap filled_outputs(const Problem& problem, std::uint32_t (*fill)(Dtype));

// What stands in an output before a run: a NaN, so that a kernel that reads it spreads NaN, and not the one
// that arithmetic gives.
std::uint32_t poison(Dtype dtype);

// The outputs of a run with poisoned ones.
TensorMap outputs_of(Subject& subject, const Problem& problem, TensorMap inputs);

}  // namespace mhcheck::properties

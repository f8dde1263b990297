// The streams of a problem in another order, and what that does to each tensor.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "reference/base/operators.h"
#include "reference/base/tensor.h"

namespace mhcheck::properties {

// Where each stream goes: the next place, the last one to the first. An entry form's layer_input is stream 0,
// which stays.
std::vector<int> rotated_streams(const Problem& problem);

// Where each element of a tensor goes with its streams: of one token, or of the whole tensor where tokens
// share it.
std::vector<std::size_t> places_of_streams(std::string_view tensor, const Problem& problem,
                                           const std::vector<int>& streams);

// The case's inputs with their streams in that order: fn, hc_base and the mixes alike.
TensorMap with_streams(const Problem& problem, const TensorMap& inputs, const std::vector<int>& streams);

}  // namespace mhcheck::properties

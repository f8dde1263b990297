// Tokens of a problem's tensors: choosing some, and comparing them bit for bit.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/base/operators.h"
#include "reference/base/tensor.h"

namespace mhcheck::properties {

// Where the tokens of a tensor are: `blocks` times num_tokens runs of `run` elements.
struct TokenPlaces {
  std::size_t blocks = 1;
  std::size_t run = 0;
};

using Specs = std::vector<TensorSpec> (*)(const Problem&);  // input_specs or output_specs

// Of each tensor of the specs, in their order; empty for one that all tokens share.
std::vector<std::optional<TokenPlaces>> token_places(Specs specs, const Problem& problem);

// The tensors of a problem whose tokens are these of `problem`, in this order and as often as they stand
// here. What tokens share stays.
TensorMap with_tokens(Specs specs, const Problem& problem, const TensorMap& tensors,
                      std::span<const std::int64_t> tokens);

// 0, 1, ... count - 1.
std::vector<std::int64_t> tokens_up_to(std::int64_t count);

// The first output element that is not the same bits in both, in one line; `names` says which token of the
// problem each one is, and the outputs have as many.
std::optional<std::string> first_difference(const Problem& problem, std::span<const std::int64_t> names,
                                            const TensorMap& one, const TensorMap& other);

}  // namespace mhcheck::properties

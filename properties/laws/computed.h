// Two computations that exact arithmetic would give the same results, compared within both bounds.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "properties/laws.h"
#include "reference/reference.h"

namespace mhcheck::properties {

// One way to compute a problem: by which rounding profile it is judged, what went in, what came out. The
// tensors must outlive it.
struct Computed {
  Problem problem;
  RoundingProfile profile;
  const TensorMap& inputs;
  const TensorMap& outputs;
};

// The case as the subject computes it.
Computed computed(Trial& trial);

// What the reference may assume of the case's inputs, and of inputs made from them.
reference::ReferenceOptions options_of(const Case& c);

// An element of one computation has its equal in the other.
struct Match {
  std::string one, other;  // names of outputs
  int exponent = 0;        // the other is 2^exponent times the one
  // Of each element in a token of the one, its place in the token of the other; empty: the same.
  std::vector<std::size_t> places = {};
};

// Every output against that of the same name.
std::vector<Match> same_outputs(const Problem& problem);

// The first pair of elements that are further apart than the radii of both references, their last roundings,
// and the difference of the exact results allow; in one line. Undefined elements agree with anything. Both
// have the same tokens.
std::optional<std::string> disagreement(const Computed& one, const Computed& other,
                                        std::span<const Match> matches,
                                        const reference::ReferenceOptions& options);

// An element as stored; of partial sums, the sum over the splits and what forming it in double loses.
struct StoredElement {
  double value = 0;
  double error = 0;
};
StoredElement stored_element(const TensorSpec& spec, const Tensor& tensor, std::size_t place);

// How far a stored element may be from its value in the block, its last rounding included; infinite where
// anything is right.
double allowance(const reference::OutputBlock& output, std::size_t element);

}  // namespace mhcheck::properties

// Named input regimes: which inputs are worth trying, and what each makes visible. One row a regime, in
// regimes.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>

#include "properties/random_row.h"
#include "reference/base/case.h"
#include "reference/base/tensor.h"

namespace mhcheck::properties {

// Consecutive elements of one token of x, or of one stream of one token of residual.
struct StreamRun {
  const Problem& problem;
  std::uint64_t seed;
  const RandomRow& random;  // of this tensor and token
  std::int64_t token;
  int stream;               // kWholeToken in x
  std::int64_t first;       // place of values[0] in [0, hidden_size), a multiple of 8
  std::span<float> values;  // unit gaussians at first

  static constexpr int kWholeToken = -1;
  bool is_x() const { return stream == kWholeToken; }
};

// The second factors of a sum of products, in order: a row of fn, or the partial sums of one projection.
struct WeightRun {
  const RandomRow& random;  // of this tensor and row
  std::uint32_t lane;       // of the values in it
  std::span<float> values;  // unit gaussians at first; scaled afterwards by 1/sqrt(terms in the sum)
};

// Uniform on [low, high), with a random sign where asked for.
struct Range {
  float low;
  float high;
  bool either_sign = false;
};

// Of hc_base. A comb that is strong on and above its diagonal and weak below has only one way to become
// doubly stochastic, and Sinkhorn takes it slowly.
struct BaseRanges {
  Range pre;
  Range post;
  Range comb;  // on and above the diagonal
  Range comb_below;
};

struct Regime {
  std::string_view name;
  std::string_view purpose;  // what it makes visible
  // Rounding errors of the terms of a sum are independent, as the probabilistic bound assumes. Not so where
  // equal terms repeat: equal terms round alike.
  bool independent_roundings;
  void (*shape_streams)(const StreamRun&);
  void (*shape_weights)(const WeightRun&);
  std::array<float, 3> hc_scale;  // pre, post, comb; they vary by a quarter around these
  BaseRanges hc_base;
  // Changes what the rest of the row cannot say; nullptr where there is nothing.
  void (*finish)(const Case&, TensorMap&);
};

std::span<const Regime> all_regimes();

// nullptr when there is no regime of this name.
const Regime* find_regime(std::string_view name);

class UnknownRegime : public std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// The input tensors of the case: those of input_specs, all finite. The same bytes on every machine and with
// any number of threads; a token's data depends on neither num_tokens nor other tokens. Throws UnknownRegime,
// and std::invalid_argument when the problem is illegal, with one line each.
TensorMap make_inputs(const Case& c);

}  // namespace mhcheck::properties

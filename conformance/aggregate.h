// Errors that agree: the fitted scale, the mean signed error and the sign balance of an output, per token and
// per tensor, with the tolerance of each. docs/verdicts.md derives every formula used here.
//
// For element i: v the exact result, ref its rounding, y the stored value, delta = y - ref. With weights w
// (v_i / sum v^2 for the scale, 1/N for the mean) the drift is D = sum w delta: the fitted scale minus one,
// and the mean signed error. Sums are kept without the common factor of the weights and divided at the end.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace mhcheck::conformance {

// What the aggregates need to know of one element that has been stored as a finite number.
struct ElementErrors {
  double exact = 0;     // v
  double expected = 0;  // ref; v itself for a sum of partial sums, which is not rounded as a whole
  double stored = 0;    // y
  double lowest = 0;    // the accepted interval in the format
  double highest = 0;
  double deterministic = 0;  // radii of reference::OutputBlock
  double probabilistic = 0;
  double systematic = 0;
  double spacing = 0;  // ulp of the format at the element; zero where nothing is rounded at the end
};

// One weighting of the errors of a token, before division by the sum of the weights.
struct Drift {
  double drift = 0;       // sum w delta
  double most = 0;        // the largest drift that membership leaves possible
  double least = 0;       // the smallest, <= 0
  double systematic = 0;  // sum |w| sys: may have one sign in every token
  double random = 0;      // sum |w| (prob - sys): has another sign in every independent token
  double deviation = 0;   // standard deviation of the last rounding's part
  double jump = 0;        // the largest part of the drift that flips as one
};

// Errors by sign, counted beyond sys + d, and far ones beyond 3 sys + d, with d half an ulp and one standard
// deviation of the model, (prob - sys) / kLambda.
struct SignCounts {
  std::uint64_t above = 0;
  std::uint64_t below = 0;
  std::uint64_t far_above = 0;
  std::uint64_t far_below = 0;
};

// The errors of one token.
struct TokenErrors {
  std::uint64_t likeness = 0;  // equal for tokens whose exact results nearly agree
  std::uint64_t elements = 0;
  double sum_squares = 0;  // of v
  Drift scale;
  Drift mean;
  SignCounts signs;
};

// Adds up the elements of one token. Reused from token to token, so that its buffer is allocated once.
class TokenAccumulator {
 public:
  void add(const ElementErrors& e);
  // The token's errors; leaves the accumulator empty.
  TokenErrors finish();

 private:
  // An element that a correct kernel may round to more than one value.
  struct Open {
    double position;  // of v between two neighbours of the format, 0 to 1
    double scale_jump;
    double mean_jump;
  };
  TokenErrors token_;
  double scale_variance_ = 0;
  double mean_variance_ = 0;
  std::vector<Open> open_;
};

// A token whose scale or mean lies outside what membership allows.
struct BiasedToken {
  std::int64_t token = -1;
  double value = 0;      // fitted scale - 1, or mean signed error
  double tolerance = 0;  // on that side
};

// One aggregate of a whole tensor: its value and the most that a correct kernel reaches.
struct Bias {
  bool judged = false;  // false where no element counts
  double value = 0;     // fitted scale - 1, or mean signed error
  double tolerance = 0;
  std::uint64_t biased_tokens = 0;
  BiasedToken worst_token;

  bool conforms() const {
    return !judged || (biased_tokens == 0 && value <= tolerance && value >= -tolerance);
  }
};

struct SignBalance {
  SignCounts counts;
  double tolerance = 0;  // on far_above - below and far_below - above
  bool judged = false;

  bool conforms() const;
};

struct Aggregates {
  Bias scale;
  Bias mean;
  SignBalance signs;
};

// The errors of a tensor, token after token.
class TensorErrors {
 public:
  // Tokens must come in order, in one call a token or by merging consecutive ranges.
  void add(std::int64_t token, const TokenErrors& errors);
  void merge(const TensorErrors& next);

  // `independent_tokens`: the rounding errors of unlike tokens are independent of each other. Where they are
  // not, a tensor may drift as far as its elements may.
  Aggregates judge(bool independent_tokens) const;

 private:
  struct Weighting {
    double drift = 0, most = 0, least = 0, systematic = 0;
    std::uint64_t biased_tokens = 0;
    BiasedToken worst_token;

    void add(std::int64_t token, const Drift& drift, double total_weight);
    void merge(const Weighting& next);
  };
  // Tokens whose exact results nearly agree: their errors may be the same ones.
  struct Cluster {
    double scale_random = 0, scale_deviation = 0, scale_jump = 0;
    double mean_random = 0, mean_deviation = 0, mean_jump = 0;
    std::uint64_t above = 0, below = 0;
  };

  std::uint64_t elements_ = 0;
  double sum_squares_ = 0;
  Weighting scale_;
  Weighting mean_;
  SignCounts signs_;
  std::map<std::uint64_t, Cluster> clusters_;
};

}  // namespace mhcheck::conformance

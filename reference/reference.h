// The right answer: for every output element of a problem, the exact result of the contract correctly rounded
// to the output's format, certified, and how far off a correct kernel may be.
//
// Values and radii come block by block of tokens, so that a case of any size needs memory for a few blocks
// only.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "reference/base/operators.h"
#include "reference/base/tensor.h"

namespace mhcheck::reference {

// The probability model of the probabilistic radius: a sum of n rounding errors, each independent of those
// before it and of mean zero, exceeds kLambda * sqrt(n) * u * (largest partial sum) with probability
// 2*exp(-kLambda^2/2) (Higham & Mary 2019; Azuma-Hoeffding). A campaign judges fewer than 1e11 elements, and
// 1e11 * 2*exp(-9^2/2) < 1e-6, the false-alarm rate that the contract asks for.
inline constexpr double kLambda = 9.0;

// How many output elements were certain at each precision: double with a radius first, then 128, 256, ...
// bits.
struct Certification {
  static constexpr int kLevels = 8;
  std::array<std::uint64_t, kLevels> elements{};
  Certification& operator+=(const Certification& other);
};

// "double", "128 bits", "256 bits", ...
std::string level_name(int level);

// One output of a block of tokens. Elements stand token after token: element e of token t is at
// t * elements_per_token + e, in the order of the output's row. An output of partial sums [S,T,...] has the
// place of the sum over S here; it alone is defined.
struct OutputBlock {
  TensorSpec spec;
  std::size_t elements_per_token = 0;
  std::vector<double> value;           // exact result of the contract, to within 2^-20 of the deterministic radius
  std::vector<std::uint32_t> rounded;  // that result correctly rounded to spec.dtype, certified
  // Radii: the result of a correct kernel, before its last rounding to spec.dtype, lies within value +-
  // radius.
  std::vector<double> deterministic;  // holds always
  std::vector<double> probabilistic;  // holds under the model at kLambda; never above deterministic
  std::vector<double> systematic;     // the part of probabilistic that may have one sign everywhere
  // A NaN in `value` means that the contract defines no result there (a NaN or Inf among this token's inputs,
  // 0/0): anything is right. An infinite radius means that an fp32 evaluation may overflow: anything is
  // right.
};

struct Block {
  std::int64_t first_token = 0;
  std::int64_t num_tokens = 0;
  std::vector<OutputBlock> outputs;  // in the order of output_specs
  Certification certification;
};

// Thrown when an element's rounding is still open at the highest precision; names the element.
class NotCertified : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ReferenceOptions {
  // Inputs whose rounding errors repeat (constant rows) do not fit the probability model: sums then get their
  // deterministic radius as the probabilistic one.
  bool independent_roundings = true;
  // Tests only: skip the arithmetic in double and certify everything at 128 bits or more.
  bool start_at_multiprecision = false;
};

class Reference {
 public:
  // Keeps a reference to `inputs`, whose tensors must be those of input_specs(problem), in name, format and
  // shape; throws std::invalid_argument with one line otherwise, or when the problem is illegal.
  Reference(const Problem& problem, const RoundingProfile& profile, const TensorMap& inputs,
            const ReferenceOptions& options = {});
  ~Reference();
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  // A good number of tokens for one block: large enough for the matrix products, small enough for the caches.
  static constexpr std::int64_t kBlockTokens = 32;

  // Tokens [first, first + count). Any cut into blocks gives the same bits. Thread-safe.
  Block evaluate(std::int64_t first, std::int64_t count) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace mhcheck::reference

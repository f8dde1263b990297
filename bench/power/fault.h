// Ways in which a kernel can be off by an amount: the rows of the tables in docs/power.md.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/power/answered_case.h"

namespace mhcheck::power {

enum class Kind : std::uint8_t {
  bias,   ///< an output is right but for a factor 1 + size, of either sign
  share,  ///< the last `size` terms of a long sum are left out
  eps,    ///< a kernel runs with an eps of (1 + size) times what is asked for, of either sign
};

struct Fault {
  Kind kind;
  Op op;
  std::string what;  ///< the output, the sum, or the eps
  std::string_view regime;
  bool normed;  ///< judged with a fused norm, where the operator has a choice
  /// What the verdict says of a kernel that is off by `size` in that case; by 0: a right kernel.
  std::function<Seen(const AnsweredCase&, double size)> seen;

  bool either_sign() const { return kind != Kind::share; }
};

/// All of the operator's.
std::vector<Fault> faults_of(Op op);

/// The case at which a fault is judged: bf16, four streams, everything else as usual.
Case case_of(const Fault& fault, std::int64_t hidden_size, std::int64_t num_tokens, std::uint64_t seed);

/// The sizes that are tried, ascending.
std::vector<double> sizes_of(const Fault& fault, std::int64_t hidden_size);

/// The terms of the sum of which some are left out.
std::int64_t terms_of(const Fault& fault, std::int64_t hidden_size);

}  // namespace mhcheck::power

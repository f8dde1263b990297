// How mHC kernels are usually tested today, so that the zoo can say what that misses: standard normal inputs
// with fn scaled by 1e-4 and hc_scale by 0.1, at few shapes, compared element by element at atol 5e-2, rtol
// 1e-2.
//
// The expected values are the certified ones, where the usual test compares with an fp32 evaluation: it
// misses at least what is missed here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/judge_case.h"
#include "reference/base/case.h"
#include "reference/base/tensor.h"

namespace mhcheck::conformance {

inline constexpr double kUsualAbsoluteTolerance = 5e-2;
inline constexpr double kUsualRelativeTolerance = 1e-2;

// 1 and 8 tokens, hidden_size 4096 and 7168, bf16, with and without the fused norm where there is one, all
// entries.
std::vector<Case> usual_cases(Op op);

TensorMap usual_inputs(const Case& c);

struct UsualMismatch {
  std::string output;
  std::uint64_t elements = 0;    // beyond the tolerance
  double got = 0, expected = 0;  // of the first
};

// Whether |got - expected| <= atol + rtol * |expected| everywhere; otherwise the first output where not. NaN
// agrees with nothing.
std::optional<UsualMismatch> usual_comparison(const TensorMap& expected, const StoredOutputs& got);

}  // namespace mhcheck::conformance

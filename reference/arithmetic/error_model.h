// What a correct fp32 kernel may lose, operation by operation: the constants of every bound, each with its
// cause.
//
// Errors are relative to the exact result of the operation on the kernel's own operands, in units of u, plus
// an absolute kFlush. docs/bounds.md derives how they add up.
#pragma once

namespace mhcheck::error_model {

// Unit roundoff of fp32: half the spacing at 1, round to nearest (IEEE 754-2019).
inline constexpr double kUnit = 0x1p-24;

// Results and operands below the smallest normal may be flushed to zero (contract, "Outside the numbers").
inline constexpr double kFlush = 0x1p-126;

// The largest finite fp32. Beyond it a kernel has an infinity, and soon a NaN: nothing can be said any more.
inline constexpr double kLargest = 0x1.fffffep127;

// One addition, multiplication or fused multiply-add: correctly rounded on every target.
inline constexpr double kRounding = 1;

// A quotient. IEEE division: 1. v_rcp_f32 (1 ulp = 2u, LLVM AMDGPU usage guide) times the numerator (1u): 3.
// CUDA's
// __fdividef and division under -use_fast_math: 2 ulp = 4u (CUDA C++ programming guide, intrinsic functions).
inline constexpr double kDivision = 4;

// 1/sqrt(s). v_rsq_f32: 1 ulp = 2u; CUDA rsqrtf: 2 ulp = 4u; v_sqrt_f32 then v_rcp_f32: 2u/1 + 2u; with the
// second order terms of these sums never above 5u.
inline constexpr double kReciprocalRoot = 5;

// exp(x) as exp2(x * log2(e)): __expf has 2 + floor(|1.173 x|) ulp (CUDA C++ programming guide), which is
// 4u + 2.346 |x| u; v_exp_f32 (1 ulp) after a rounded product with a rounded log2(e) stays below that.
inline constexpr double kExpBase = 4;
inline constexpr double kExpSlope = 2.4;

// Unit roundoff of the double arithmetic that the reference itself runs in.
inline constexpr double kDoubleUnit = 0x1p-53;

// Relative error of exp_double() (arithmetic/exp_double.h), proved there.
inline constexpr double kDoubleExp = 0x1p-51;

// Radii are computed in double, by sums and products of nonnegative terms; each such operation loses at most
// 2^-53. A handful of them between two applications of this factor cannot lose more.
inline constexpr double kOutward = 1 + 0x1p-48;

// The reference's own absolute floor: a double operation that underflows is off by no more than this.
inline constexpr double kDoubleFlush = 0x1p-1060;

}  // namespace mhcheck::error_model

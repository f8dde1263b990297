// The operators: what each is called, reads, writes and depends on. One row an operator, in operators.cpp.
//
// Shapes are in the symbols of the contract: T num_tokens, n hc_mult, H hidden_size, K = n*H, M = n*(n+2),
// S the number of K-splits whose partial sums a projection hands over.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "reference/base/dtype.h"
#include "reference/base/tensor.h"

namespace mhcheck {

enum class Op : std::uint8_t {
  mhc_pre,
  mhc_post,
  mhc_fused_post_pre,
  mhc_pre_delayed,
  mhc_fused_post_pre_delayed,
  hc_head,
  hc_collapse,
  hc_expand,
  sinkhorn,
  rmsnorm,
  mhc_pre_gemm_sqrsum,
  mhc_pre_big_fuse,
  mhc_fused_post_pre_gemm_sqrsum,
};

// Where mhc_pre_delayed gets the pre_mix of its collapse, and what its projection reads.
enum class Entry : std::uint8_t {
  carried,    // pre_mix of the previous sublayer, projection of residual
  entry,      // no pre_mix: layer_input is residual[:,0]
  broadcast,  // as entry, projection of x [T,H] with fn_broadcast [M,H]
};

// Where a correct implementation drops the collapse to the storage format before a fused rmsnorm.
enum class CollapseRounding : std::uint8_t {
  storage,     // rounded, the sum of squares from the rounded values: equals the unfused operators
  fp32_sumsq,  // the normalised value is rounded first, the sum of squares comes from unrounded values
  fp32,        // not rounded until the end
};

// What the projection and the sum of squares of a fused post+pre read.
enum class NextResidual : std::uint8_t {
  rounded,     // both the values as stored
  unrounded,   // both what they were before that
  fp32_sumsq,  // the projection the values as stored, the sum of squares what they were before
};

// How a kernel forms the products of the projection.
enum class ProjectionPrecision : std::uint8_t { fp32, tf32, bf16x2, bf16x1 };

// Where an implementation rounds: stated by each kernel under test. The exact result depends on `collapse`
// and `next_residual`, the bound on all three.
struct RoundingProfile {
  CollapseRounding collapse = CollapseRounding::storage;
  NextResidual next_residual = NextResidual::rounded;
  ProjectionPrecision projection = ProjectionPrecision::fp32;
  bool operator==(const RoundingProfile&) const = default;
};

// Real parameters are fp32 values, as kernels get them; everything after that is exact.
struct Parameters {
  float rms_eps = 1e-6f;
  float hc_pre_eps = 1e-6f;
  float hc_sinkhorn_eps = 1e-6f;
  float norm_eps = 1e-6f;
  float hc_post_mult_value = 2.0f;
  int sinkhorn_repeat = 20;
  bool operator==(const Parameters&) const = default;
};

// One problem: an operator at a shape with its parameters. What is right depends on this, the rounding
// profile and the input tensors alone.
struct Problem {
  Op op = Op::mhc_pre;
  Dtype dtype = Dtype::bf16;  // of residual, x, layer_input
  std::int64_t num_tokens = 1;
  int hc_mult = 4;
  std::int64_t hidden_size = 512;
  int split_k = 1;  // S of the partial sums, where the operator hands them over or takes them
  std::optional<Dtype> norm_weight;  // fused rmsnorm with a weight of this format; absent: no rmsnorm
  Entry entry = Entry::carried;      // mhc_pre_delayed only
  Parameters parameters;

  std::int64_t hc_hidden_size() const { return hc_mult * hidden_size; }  // K
  std::int64_t hc_mult3() const { return hc_mult * (hc_mult + 2); }      // M
  bool operator==(const Problem&) const = default;
};

// The largest hc_mult that the contract takes.
inline constexpr int kMaxHcMult = 8;

struct TensorSpec {
  std::string_view name;
  Dtype dtype;
  Extents shape;
  // The tensor holds S partial sums along its first axis; only their sum is defined by the contract.
  bool partial_sums = false;
};

// The parameters an operator can depend on, as bits of OperatorRow::parameters.
enum ParameterBit : unsigned {
  kRmsEps = 1u << 0,
  kHcPreEps = 1u << 1,
  kHcSinkhornEps = 1u << 2,
  kNormEps = 1u << 3,  // where a fused rmsnorm is asked for, and in rmsnorm itself
  kHcPostMultValue = 1u << 4,
  kSinkhornRepeat = 1u << 5,
};

struct OperatorRow {
  Op op;
  std::string_view name;
  std::string_view summary;
  bool streams;     // depends on hc_mult (rmsnorm does not)
  bool fused_norm;  // takes an optional norm_weight
  bool needs_norm;  // norm_weight is not optional
  bool post_stage;  // begins with mhc_post: depends on the next_residual profile when a projection follows
  bool projection;  // computes the projection sums: depends on the projection precision
  bool splits;      // takes or hands over partial sums [S,...]
  bool entries;     // has Entry variants
  unsigned parameters;  // ParameterBit
};

std::span<const OperatorRow> all_operators();
const OperatorRow& row_of(Op op);
std::optional<Op> op_from_name(std::string_view name);

// What the operator reads and writes for this problem, in its argument and return order.
std::vector<TensorSpec> input_specs(const Problem& problem);
std::vector<TensorSpec> output_specs(const Problem& problem);

// Empty when the problem is legal; otherwise one line saying which value is wrong and what would be right.
std::string why_illegal(const Problem& problem);

}  // namespace mhcheck

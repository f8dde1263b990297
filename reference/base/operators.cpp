#include "reference/base/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mhcheck {
namespace {

constexpr unsigned kSplitParameters =
    kRmsEps | kHcPreEps | kHcSinkhornEps | kHcPostMultValue | kSinkhornRepeat;

// clang-format off
constexpr std::array kOperators{
    OperatorRow{.op = Op::mhc_pre, .name = "mhc_pre",
                .summary = "projection, split, Sinkhorn, collapse; optional fused rmsnorm",
                .streams = true, .fused_norm = true, .needs_norm = false, .post_stage = false,
                .projection = true, .splits = false, .entries = false,
                .parameters = kSplitParameters | kNormEps},
    OperatorRow{.op = Op::mhc_post, .name = "mhc_post",
                .summary = "next residual from the sublayer's output, post_mix and comb_mix (used transposed)",
                .streams = true, .fused_norm = false, .needs_norm = false, .post_stage = true,
                .projection = false, .splits = false, .entries = false,
                .parameters = 0},
    OperatorRow{.op = Op::mhc_fused_post_pre, .name = "mhc_fused_post_pre",
                .summary = "mhc_post, then mhc_pre of its result with the next layer's fn, scale and base",
                .streams = true, .fused_norm = true, .needs_norm = false, .post_stage = true,
                .projection = true, .splits = false, .entries = false,
                .parameters = kSplitParameters | kNormEps},
    OperatorRow{.op = Op::mhc_pre_delayed, .name = "mhc_pre_delayed",
                .summary = "mixes of this residual, collapse with the previous sublayer's pre_mix",
                .streams = true, .fused_norm = true, .needs_norm = false, .post_stage = false,
                .projection = true, .splits = false, .entries = true,
                .parameters = kSplitParameters | kNormEps},
    OperatorRow{.op = Op::mhc_fused_post_pre_delayed, .name = "mhc_fused_post_pre_delayed",
                .summary = "mhc_post, then mhc_pre_delayed of its result",
                .streams = true, .fused_norm = true, .needs_norm = false, .post_stage = true,
                .projection = true, .splits = false, .entries = false,
                .parameters = kSplitParameters | kNormEps},
    OperatorRow{.op = Op::hc_head, .name = "hc_head",
                .summary = "pre mixes with one scale, collapse",
                .streams = true, .fused_norm = false, .needs_norm = false, .post_stage = false,
                .projection = true, .splits = false, .entries = false,
                .parameters = kRmsEps | kHcPreEps},
    OperatorRow{.op = Op::hc_collapse, .name = "hc_collapse",
                .summary = "the collapse alone",
                .streams = true, .fused_norm = false, .needs_norm = false, .post_stage = false,
                .projection = false, .splits = false, .entries = false,
                .parameters = 0},
    OperatorRow{.op = Op::hc_expand, .name = "hc_expand",
                .summary = "x repeated hc_mult times",
                .streams = true, .fused_norm = false, .needs_norm = false, .post_stage = false,
                .projection = false, .splits = false, .entries = false,
                .parameters = 0},
    OperatorRow{.op = Op::sinkhorn, .name = "sinkhorn",
                .summary = "softmax over rows, then alternating column and row normalisation",
                .streams = true, .fused_norm = false, .needs_norm = false, .post_stage = false,
                .projection = false, .splits = false, .entries = false,
                .parameters = kHcSinkhornEps | kSinkhornRepeat},
    OperatorRow{.op = Op::rmsnorm, .name = "rmsnorm",
                .summary = "root mean square normalisation alone",
                .streams = false, .fused_norm = true, .needs_norm = true, .post_stage = false,
                .projection = false, .splits = false, .entries = false,
                .parameters = kNormEps},
    OperatorRow{.op = Op::mhc_pre_gemm_sqrsum, .name = "mhc_pre_gemm_sqrsum",
                .summary = "first launch of a split mhc_pre: projection and sum of squares, split over K",
                .streams = true, .fused_norm = false, .needs_norm = false, .post_stage = false,
                .projection = true, .splits = true, .entries = false,
                .parameters = 0},
    OperatorRow{.op = Op::mhc_pre_big_fuse, .name = "mhc_pre_big_fuse",
                .summary = "second launch of a split mhc_pre: everything after the projection sums",
                .streams = true, .fused_norm = true, .needs_norm = false, .post_stage = false,
                .projection = false, .splits = true, .entries = false,
                .parameters = kSplitParameters | kNormEps},
    OperatorRow{.op = Op::mhc_fused_post_pre_gemm_sqrsum, .name = "mhc_fused_post_pre_gemm_sqrsum",
                .summary = "first launch of a split fused post+pre: mhc_post, projection and sum of squares",
                .streams = true, .fused_norm = false, .needs_norm = false, .post_stage = true,
                .projection = true, .splits = true, .entries = false,
                .parameters = 0},
};
// clang-format on

}  // namespace

std::span<const OperatorRow> all_operators() { return kOperators; }

const OperatorRow& row_of(Op op) {
  return *std::find_if(kOperators.begin(), kOperators.end(),
                       [&](const OperatorRow& row) { return row.op == op; });
}

std::optional<Op> op_from_name(std::string_view name) {
  for (const OperatorRow& row : kOperators) {
    if (row.name == name) return row.op;
  }
  return std::nullopt;
}

std::vector<TensorSpec> input_specs(const Problem& p) {
  const std::int64_t T = p.num_tokens, n = p.hc_mult, H = p.hidden_size, K = p.hc_hidden_size(),
                     M = p.hc_mult3(), S = p.split_k;
  const Dtype storage = p.dtype;
  const TensorSpec x{"x", storage, {T, H}};
  const TensorSpec residual{"residual", storage, {T, n, H}};
  const TensorSpec post_mix{"post_mix", Dtype::fp32, {T, n, 1}};
  const TensorSpec comb_mix{"comb_mix", Dtype::fp32, {T, n, n}};
  const TensorSpec pre_mix{"pre_mix", Dtype::fp32, {T, n}};
  const TensorSpec fn{"fn", Dtype::fp32, {M, K}};
  const TensorSpec hc_scale{"hc_scale", Dtype::fp32, {3}};
  const TensorSpec hc_base{"hc_base", Dtype::fp32, {M}};

  std::vector<TensorSpec> specs;
  switch (p.op) {
    case Op::mhc_pre:
      specs = {residual, fn, hc_scale, hc_base};
      break;
    case Op::mhc_post:
      specs = {x, residual, post_mix, comb_mix};
      break;
    case Op::mhc_fused_post_pre:
      specs = {x, residual, post_mix, comb_mix, fn, hc_scale, hc_base};
      break;
    case Op::mhc_pre_delayed:
      switch (p.entry) {
        case Entry::carried:
          specs = {residual, pre_mix, fn, hc_scale, hc_base};
          break;
        case Entry::entry:
          specs = {residual, fn, hc_scale, hc_base};
          break;
        case Entry::broadcast:
          specs = {x, residual, {"fn_broadcast", Dtype::fp32, {M, H}}, hc_scale, hc_base};
          break;
      }
      break;
    case Op::mhc_fused_post_pre_delayed:
      specs = {x, residual, post_mix, comb_mix, pre_mix, fn, hc_scale, hc_base};
      break;
    case Op::hc_head:
      specs = {residual,
               {"fn", Dtype::fp32, {n, K}},
               {"hc_scale", Dtype::fp32, {1}},
               {"hc_base", Dtype::fp32, {n}}};
      break;
    case Op::hc_collapse:
      specs = {residual, pre_mix};
      break;
    case Op::hc_expand:
      specs = {x};
      break;
    case Op::sinkhorn:
      specs = {{"logits", Dtype::fp32, {T, n, n}}};
      break;
    case Op::rmsnorm:
      specs = {x};
      break;
    case Op::mhc_pre_gemm_sqrsum:
      specs = {residual, fn};
      break;
    case Op::mhc_pre_big_fuse:
      specs = {{"gemm_out_mul", Dtype::fp32, {S, T, M}, true},
               {"gemm_out_sqrsum", Dtype::fp32, {S, T}, true},
               residual,
               hc_scale,
               hc_base};
      break;
    case Op::mhc_fused_post_pre_gemm_sqrsum:
      specs = {x, residual, post_mix, comb_mix, fn};
      break;
  }
  if (p.norm_weight) specs.push_back({"norm_weight", *p.norm_weight, {H}});
  return specs;
}

std::vector<TensorSpec> output_specs(const Problem& p) {
  const std::int64_t T = p.num_tokens, n = p.hc_mult, H = p.hidden_size, M = p.hc_mult3(), S = p.split_k;
  const TensorSpec post_mix{"post_mix", Dtype::fp32, {T, n, 1}};
  const TensorSpec comb_mix{"comb_mix", Dtype::fp32, {T, n, n}};
  const TensorSpec layer_input{"layer_input", p.dtype, {T, H}};
  const TensorSpec next_residual{"next_residual", p.dtype, {T, n, H}};
  const TensorSpec next_pre_mix{"next_pre_mix", Dtype::fp32, {T, n}};
  const TensorSpec gemm_out_mul{"gemm_out_mul", Dtype::fp32, {S, T, M}, true};
  const TensorSpec gemm_out_sqrsum{"gemm_out_sqrsum", Dtype::fp32, {S, T}, true};
  // sinkhorn_repeat 0 is head mode: no post_mix and no comb_mix exist.
  const bool head_mode =
      (row_of(p.op).parameters & kSinkhornRepeat) != 0 && p.parameters.sinkhorn_repeat == 0;

  switch (p.op) {
    case Op::mhc_pre:
    case Op::mhc_pre_big_fuse:
      if (head_mode) return {layer_input};
      return {post_mix, comb_mix, layer_input};
    case Op::mhc_post:
      return {next_residual};
    case Op::mhc_fused_post_pre:
      if (head_mode) return {next_residual, layer_input};
      return {next_residual, post_mix, comb_mix, layer_input};
    case Op::mhc_pre_delayed:
      return {post_mix, comb_mix, layer_input, next_pre_mix};
    case Op::mhc_fused_post_pre_delayed:
      return {next_residual, post_mix, comb_mix, layer_input, next_pre_mix};
    case Op::hc_head:
    case Op::hc_collapse:
      return {layer_input};
    case Op::hc_expand:
      return {{"residual", p.dtype, {T, n, H}}};
    case Op::sinkhorn:
      return {comb_mix};
    case Op::rmsnorm:
      return {{"y", p.dtype, {T, H}}};
    case Op::mhc_pre_gemm_sqrsum:
      return {gemm_out_mul, gemm_out_sqrsum};
    case Op::mhc_fused_post_pre_gemm_sqrsum:
      return {next_residual, gemm_out_mul, gemm_out_sqrsum};
  }
  return {};
}

std::string why_illegal(const Problem& p) {
  const OperatorRow& row = row_of(p.op);
  constexpr std::int64_t kMaxExtent = std::int64_t{1} << 31;  // keeps every product of extents inside 64 bits
  if (p.num_tokens < 0 || p.num_tokens > kMaxExtent) {
    return fmt::format("num_tokens is {}, must be 0 to 2^31", p.num_tokens);
  }
  if (p.hidden_size < 1 || p.hidden_size > kMaxExtent) {
    return fmt::format("hidden_size is {}, must be 1 to 2^31", p.hidden_size);
  }
  if (p.hc_mult < 1 || p.hc_mult > kMaxHcMult) {
    return fmt::format("hc_mult is {}, must be 1 to {}", p.hc_mult, kMaxHcMult);
  }
  if (p.dtype == Dtype::fp32) return "dtype is fp32, the streams are bf16 or fp16";
  if (p.split_k < 1 || p.split_k > 4096) return fmt::format("split_k is {}, must be 1 to 4096", p.split_k);
  if (p.norm_weight && !row.fused_norm) return fmt::format("{} takes no norm weight", row.name);
  if (!p.norm_weight && row.needs_norm) {
    return fmt::format("{} needs a norm weight: norm=bf16, fp16 or fp32", row.name);
  }
  if (p.entry != Entry::carried && !row.entries) {
    return fmt::format("{} has no entry form, only mhc_pre_delayed has", row.name);
  }
  const Parameters& q = p.parameters;
  if ((row.parameters & kSinkhornRepeat) != 0) {
    const bool head_mode_exists =
        p.op == Op::mhc_pre || p.op == Op::mhc_pre_big_fuse || p.op == Op::mhc_fused_post_pre;
    const int smallest = head_mode_exists ? 0 : 1;
    if (q.sinkhorn_repeat < smallest || q.sinkhorn_repeat > 1000) {
      return fmt::format("sinkhorn_repeat is {}, must be {} to 1000 for {}", q.sinkhorn_repeat, smallest,
                         row.name);
    }
  }
  const std::pair<std::string_view, float> epsilons[] = {{"rms_eps", q.rms_eps},
                                                         {"hc_pre_eps", q.hc_pre_eps},
                                                         {"hc_sinkhorn_eps", q.hc_sinkhorn_eps},
                                                         {"norm_eps", q.norm_eps}};
  for (const auto& [name, value] : epsilons) {
    if (!(value >= 0 && value <= 1)) return fmt::format("{} is {}, must be 0 to 1", name, value);
  }
  if (!std::isfinite(q.hc_post_mult_value)) return "hc_post_mult_value is not finite";
  return {};
}

}  // namespace mhcheck

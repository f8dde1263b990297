#include "kernels/host/host_kernels.h"

#include <tbb/parallel_for.h>

#include <array>
#include <bit>
#include <string>
#include <vector>

#include "kernels/host/fp32_arithmetic.h"
#include "reference/evaluation.h"

namespace mhcheck::kernels {
namespace {

using contract::Sums;

// clang-format off
constexpr std::array kHostKernels{
    HostKernelRow{"host", "collapse and next_residual rounded to storage, as the unfused operators",
                  {CollapseRounding::storage, NextResidual::rounded, ProjectionPrecision::fp32}},
    HostKernelRow{"host_fp32_sumsq", "fused norm takes its sum of squares before the collapse is rounded",
                  {CollapseRounding::fp32_sumsq, NextResidual::rounded, ProjectionPrecision::fp32}},
    HostKernelRow{"host_fp32", "fused norm without a rounding in between",
                  {CollapseRounding::fp32, NextResidual::rounded, ProjectionPrecision::fp32}},
    HostKernelRow{"host_unrounded", "fused post+pre projects the unrounded next_residual",
                  {CollapseRounding::storage, NextResidual::unrounded, ProjectionPrecision::fp32}},
    HostKernelRow{"host_next_fp32_sumsq", "fused post+pre squares the unrounded next_residual, and projects it rounded",
                  {CollapseRounding::storage, NextResidual::fp32_sumsq, ProjectionPrecision::fp32}},
    HostKernelRow{"host_tf32", "projection with fn cut to 10 mantissa bits",
                  {CollapseRounding::storage, NextResidual::rounded, ProjectionPrecision::tf32}},
    HostKernelRow{"host_bf16x2", "projection with fn as a sum of two bf16 numbers",
                  {CollapseRounding::storage, NextResidual::rounded, ProjectionPrecision::bf16x2}},
    HostKernelRow{"host_bf16x1", "projection with fn in bf16",
                  {CollapseRounding::storage, NextResidual::rounded, ProjectionPrecision::bf16x1}},
};
// clang-format on

float to_bf16(float value) { return static_cast<float>(decode(Dtype::bf16, encode<Dtype::bf16>(value))); }

// fn as the projection's multipliers see it: one or two factors, each applied to x and added.
std::vector<std::vector<float>> factors_of(std::span<const float> fn, ProjectionPrecision precision) {
  std::vector<float> first(fn.begin(), fn.end());
  switch (precision) {
    case ProjectionPrecision::fp32:
      return {first};
    case ProjectionPrecision::tf32:
      for (float& f : first) f = std::bit_cast<float>(std::bit_cast<std::uint32_t>(f) & ~0x1fffu);
      return {first};
    case ProjectionPrecision::bf16x1:
      for (float& f : first) f = to_bf16(f);
      return {first};
    case ProjectionPrecision::bf16x2: {
      std::vector<float> second(fn.size());
      for (std::size_t i = 0; i < fn.size(); ++i) {
        first[i] = to_bf16(fn[i]);
        second[i] = to_bf16(fn[i] - first[i]);
      }
      return {first, second};
    }
  }
  return {};
}

// The partial sums of one split of K, and their sums.
struct Partials {
  std::vector<std::vector<float>> projection;  // [split][row of fn]
  std::vector<float> sqrsum;                   // [split]
};

class HostRun {
 public:
  HostRun(const Problem& problem, const RoundingProfile& profile, const TensorMap& inputs,
          OutputRegions& outputs)
      : problem_(problem), profile_(profile), inputs_(problem, inputs), outputs_(outputs) {
    if (row_of(problem.op).projection) {
      const Tensor& fn = inputs_.tensor(fn_name(problem));
      factors_ = factors_of(fn.floats(), profile.projection);
      fn_rows_ = static_cast<std::size_t>(fn.shape()[0]);
    }
  }

  void token(std::int64_t t) {
    Fp32Arithmetic arithmetic(problem_.dtype);
    contract::Operator<Fp32Arithmetic> evaluation(arithmetic, problem_, profile_);
    const auto in = token_inputs<Fp32Arithmetic>(problem_, inputs_, t, [](const std::vector<double>& values) {
      return std::make_shared<const std::vector<float>>(values.begin(), values.end());
    });
    contract::TokenOutputs<Fp32Arithmetic> out;
    evaluation.post_stage(in, out);
    Partials partials;
    if (row_of(problem_.op).projection) partials = project(evaluation.projected(), evaluation.squared());
    if (problem_.op == Op::mhc_pre_big_fuse) partials = given(t);
    const Sums<Fp32> sums = add_up(partials);
    if (needs_mixes(problem_)) evaluation.mix_stage(in, sums, out);
    evaluation.collapse_stage(in, out);

    for (const TensorSpec& spec : output_specs(problem_)) {
      const Source source = source_of(spec.name);
      if (spec.partial_sums) {
        store_partials(spec, source, partials, t);
      } else if (source == Source::layer_input) {
        store_row(spec, **out.layer_input, t, 0);
      } else if (is_row(source)) {
        const auto& rows = source == Source::next_residual ? out.next_residual : evaluation.residual();
        for (std::size_t j = 0; j < rows.size(); ++j) store_row(spec, *rows[j], t, j * rows[j]->size());
      } else {
        for (std::size_t e = 0; e < per_token(spec); ++e) {
          store(payload(spec), spec.dtype, static_cast<std::size_t>(t) * per_token(spec) + e,
                scalar_of(source, e, out.mixes, sums).value);
        }
      }
    }
  }

 private:
  std::size_t per_token(const TensorSpec& spec) const {
    return element_count(spec.shape) / static_cast<std::size_t>(problem_.num_tokens) /
           (spec.partial_sums ? static_cast<std::size_t>(problem_.split_k) : 1);
  }

  // K is cut into split_k runs of equal length, the last one shorter.
  Partials project(const std::vector<Fp32Arithmetic::Row>& projected,
                   const std::vector<Fp32Arithmetic::Row>& squared) const {
    std::vector<float> x, y;
    for (const auto& stream : projected) x.insert(x.end(), stream->begin(), stream->end());
    for (const auto& stream : squared) y.insert(y.end(), stream->begin(), stream->end());
    const auto splits = static_cast<std::size_t>(problem_.split_k);
    const std::size_t length = (x.size() + splits - 1) / splits;
    Partials partials{std::vector(splits, std::vector<float>(fn_rows_)), std::vector<float>(splits)};
    for (std::size_t split = 0; split < splits; ++split) {
      const std::size_t first = std::min(split * length, x.size());
      const std::size_t count = std::min(length, x.size() - first);
      for (std::size_t m = 0; m < fn_rows_; ++m) {
        for (const std::vector<float>& factor : factors_) {
          partials.projection[split][m] += lane_dot(&x[first], &factor[m * x.size() + first], count);
        }
      }
      partials.sqrsum[split] = lane_dot(&y[first], &y[first], count);
    }
    return partials;
  }

  Partials given(std::int64_t t) const {
    const auto splits = static_cast<std::size_t>(problem_.split_k),
               rows = static_cast<std::size_t>(problem_.hc_mult3());
    Partials partials{std::vector(splits, std::vector<float>(rows)), std::vector<float>(splits)};
    for (std::size_t m = 0; m < rows; ++m) {
      const std::vector<double> values = inputs_.partials("gemm_out_mul", t, m);
      for (std::size_t s = 0; s < splits; ++s) partials.projection[s][m] = static_cast<float>(values[s]);
    }
    const std::vector<double> squares = inputs_.partials("gemm_out_sqrsum", t, 0);
    for (std::size_t s = 0; s < splits; ++s) partials.sqrsum[s] = static_cast<float>(squares[s]);
    return partials;
  }

  Sums<Fp32> add_up(const Partials& partials) const {
    Sums<Fp32> sums;
    sums.terms = mean_terms(problem_);
    if (partials.sqrsum.empty()) return sums;
    sums.projection.resize(partials.projection.front().size());
    for (std::size_t s = 0; s < partials.sqrsum.size(); ++s) {
      for (std::size_t m = 0; m < sums.projection.size(); ++m) {
        sums.projection[m] = sums.projection[m] + Fp32(partials.projection[s][m]);
      }
      sums.sqrsum = sums.sqrsum + Fp32(partials.sqrsum[s]);
    }
    return sums;
  }

  void store_partials(const TensorSpec& spec, Source source, const Partials& partials, std::int64_t t) {
    const std::size_t count = per_token(spec), tokens = static_cast<std::size_t>(problem_.num_tokens);
    std::byte* const bytes = payload(spec);
    for (std::size_t s = 0; s < partials.sqrsum.size(); ++s) {
      for (std::size_t e = 0; e < count; ++e) {
        store(bytes, spec.dtype, (s * tokens + static_cast<std::size_t>(t)) * count + e,
              source == Source::projection ? partials.projection[s][e] : partials.sqrsum[s]);
      }
    }
  }

  void store_row(const TensorSpec& spec, const std::vector<float>& row, std::int64_t t, std::size_t offset) {
    const std::size_t first = static_cast<std::size_t>(t) * per_token(spec) + offset;
    std::byte* const bytes = payload(spec);
    for (std::size_t h = 0; h < row.size(); ++h) store(bytes, spec.dtype, first + h, row[h]);
  }

  std::byte* payload(const TensorSpec& spec) { return outputs_.at(std::string(spec.name)).payload().data(); }

  static void store(std::byte* bytes, Dtype dtype, std::size_t index, float value) {
    const std::uint32_t bits = encode(dtype, value);
    std::memcpy(bytes + index * size_of(dtype), &bits,
                size_of(dtype));  // little-endian: the low bytes come first
  }

  const Problem& problem_;
  const RoundingProfile& profile_;
  CaseInputs inputs_;
  OutputRegions& outputs_;
  std::vector<std::vector<float>> factors_;
  std::size_t fn_rows_ = 0;
};

class HostKernels : public KernelSet {
 public:
  explicit HostKernels(const HostKernelRow& row) : row_(row) {}

  std::string name() const override { return std::string(row_.name); }
  bool implements(Op) const override { return true; }
  RoundingProfile profile(Op) const override { return row_.profile; }
  std::string why_refused(const Problem& problem) const override { return why_illegal(problem); }
  bool batch_invariant(Op) const override { return true; }

  RunReport run(const Problem& problem, TensorMap& inputs, OutputRegions& outputs) override {
    if (problem.num_tokens == 0) return {};
    HostRun run(problem, row_.profile, inputs, outputs);
    tbb::parallel_for(std::int64_t{0}, problem.num_tokens, [&](std::int64_t t) { run.token(t); });
    return {{{name(), /*counters=*/{}}}};
  }

 private:
  const HostKernelRow& row_;
};

}  // namespace

std::span<const HostKernelRow> host_kernels() { return kHostKernels; }

std::unique_ptr<KernelSet> make_host_kernels(const HostKernelRow& row) {
  return std::make_unique<HostKernels>(row);
}

}  // namespace mhcheck::kernels

#include "bench/power/fault.h"

#include <cmath>
#include <cstring>

#include "conformance/guarded_output.h"
#include "kernels/host/host_kernels.h"

namespace mhcheck::power {
namespace {

constexpr int kHcMult = 4;

// Full sums, as a model has them; and sums of two terms a stream, whose radii are the smallest there are.
constexpr std::string_view kBiasRegimes[] = {"gauss", "sparse"};

struct EpsRow {
  ParameterBit bit;
  std::string_view name;
  float Parameters::*value;
  std::vector<std::string_view> regimes;  // whose results depend on it most, or have the smallest radii
};
const EpsRow kEps[] = {
    {kRmsEps, "rms_eps", &Parameters::rms_eps, {"tiny", "sparse"}},
    {kHcPreEps, "hc_pre_eps", &Parameters::hc_pre_eps, {"closed_gates"}},
    {kHcSinkhornEps, "hc_sinkhorn_eps", &Parameters::hc_sinkhorn_eps, {"strong_logits", "sparse"}},
    {kNormEps, "norm_eps", &Parameters::norm_eps, {"tiny"}},
};

// Each number rounded once to the output's format.
std::vector<std::byte> stored(const reference::OutputBlock& answer, const std::vector<double>& values) {
  const Dtype dtype = answer.spec.dtype;
  std::vector<std::byte> bytes(values.size() * size_of(dtype));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t bits = encode(dtype, values[i]);
    std::memcpy(bytes.data() + i * size_of(dtype), &bits, size_of(dtype));  // little-endian
  }
  return bytes;
}

Seen biased(const AnsweredCase& c, std::size_t output, double size) {
  const reference::OutputBlock& answer = c.answer(output);
  std::vector<double> values = answer.value;
  for (double& value : values) value *= 1 + size;
  return c.judge(output, stored(answer, values));
}

// What the host baseline makes of another problem or other inputs, judged as if they were the case's.
Seen of_baseline(const AnsweredCase& c, const Problem& problem, TensorMap inputs) {
  kernels::OutputRegions outputs = conformance::poisoned_outputs(problem);
  kernels::make_host_kernels(kernels::host_kernels().front())->run(problem, inputs, outputs);
  return c.judge(outputs);
}

Seen with_eps(const AnsweredCase& c, float Parameters::*eps, double size) {
  Problem problem = c.tested().problem;
  problem.parameters.*eps = static_cast<float>((1 + size) * static_cast<double>(problem.parameters.*eps));
  return of_baseline(c, problem, c.inputs());
}

// The projection ends early; the sum of squares does not.
Seen with_short_projection(const AnsweredCase& c, double size) {
  TensorMap inputs = c.inputs();
  const std::span<float> fn = inputs.at("fn").floats();
  const auto length = static_cast<std::size_t>(c.tested().problem.hc_hidden_size()),
             left_out = static_cast<std::size_t>(size);
  for (std::size_t end = length; end <= fn.size(); end += length) {
    std::ranges::fill(fn.subspan(end - left_out, left_out), 0.0f);
  }
  return of_baseline(c, c.tested().problem, std::move(inputs));
}

// The sum of squares of rmsnorm ends early; its mean divides by hidden_size as before.
Seen with_short_mean_square(const AnsweredCase& c, double size) {
  const Problem& problem = c.tested().problem;
  const auto hidden = static_cast<std::size_t>(problem.hidden_size);
  const double eps = static_cast<double>(problem.parameters.norm_eps) * static_cast<double>(hidden);
  const Tensor& x = c.inputs().at("x");
  std::vector<double> values = c.answer(0).value;
  for (std::size_t first = 0; first < values.size(); first += hidden) {
    double whole = 0, part = 0;
    for (std::size_t h = 0; h < hidden; ++h) {
      const double square = x.value(first + h) * x.value(first + h);
      whole += square;
      if (h + static_cast<std::size_t>(size) < hidden) part += square;
    }
    const double factor = std::sqrt((whole + eps) / (part + eps));
    for (std::size_t h = 0; h < hidden; ++h) values[first + h] *= factor;
  }
  return c.judge(0, stored(c.answer(0), values));
}

}  // namespace

std::vector<Fault> faults_of(Op op) {
  const OperatorRow& row = row_of(op);
  std::vector<Fault> faults;
  const auto add = [&](Kind kind, std::string_view what, std::string_view regime, auto seen) -> Fault& {
    return faults.emplace_back(Fault{.kind = kind,
                                     .op = op,
                                     .what = std::string(what),
                                     .regime = regime,
                                     .normed = row.needs_norm,
                                     .seen = seen});
  };

  Problem problem;
  problem.op = op;
  if (row.needs_norm) problem.norm_weight = Dtype::bf16;
  const std::vector<TensorSpec> outputs = output_specs(problem);
  for (const std::string_view regime : kBiasRegimes) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      add(Kind::bias, outputs[i].name, regime,
          [i](const AnsweredCase& c, double size) { return biased(c, i, size); });
    }
  }
  if (row.projection) add(Kind::share, "projection", "gauss", with_short_projection);
  if (op == Op::rmsnorm) add(Kind::share, "mean square", "gauss", with_short_mean_square);
  for (const EpsRow& eps : kEps) {
    if ((row.parameters & eps.bit) == 0) continue;
    for (const std::string_view regime : eps.regimes) {
      Fault& fault =
          add(Kind::eps, eps.name, regime,
              [value = eps.value](const AnsweredCase& c, double size) { return with_eps(c, value, size); });
      if (eps.bit == kNormEps) fault.normed = true;
    }
  }
  return faults;
}

Case case_of(const Fault& fault, std::int64_t hidden_size, std::int64_t num_tokens, std::uint64_t seed) {
  Case c;
  c.problem.op = fault.op;
  c.problem.hc_mult = kHcMult;
  c.problem.hidden_size = hidden_size;
  c.problem.num_tokens = num_tokens;
  if (fault.normed) c.problem.norm_weight = Dtype::bf16;
  c.regime = fault.regime;
  c.seed = seed;
  return c;
}

std::int64_t terms_of(const Fault& fault, std::int64_t hidden_size) {
  return fault.op == Op::rmsnorm ? hidden_size : kHcMult * hidden_size;
}

std::vector<double> sizes_of(const Fault& fault, std::int64_t hidden_size) {
  std::vector<double> sizes;
  if (fault.kind == Kind::share) {
    // Of a fifth apart, as far as there are whole numbers.
    for (double count = 1; count <= static_cast<double>(terms_of(fault, hidden_size)) / 2;) {
      sizes.push_back(count);
      count = std::max(count + 1, std::floor(count * 1.2));
    }
    return sizes;
  }
  constexpr int kDecades = 8, kOfDecade = 8;
  for (int step = -kDecades * kOfDecade; step <= 0; ++step) {
    sizes.push_back(std::pow(10.0, static_cast<double>(step) / kOfDecade));
  }
  return sizes;
}

}  // namespace mhcheck::power

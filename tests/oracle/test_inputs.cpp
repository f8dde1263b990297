#include "tests/oracle/test_inputs.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace mhcheck::oracle {
namespace {

double normal(RandomSource& random) { return random.gauss(); }
double one(RandomSource&) { return 1; }
double zero(RandomSource&) { return 0; }
double unit_interval(RandomSource& random) { return random.uniform(); }

double tiny(RandomSource& random) { return 1e-4 * random.gauss(); }
double mostly_zero(RandomSource& random) { return random.one_in(6) ? random.gauss() : 0; }
double massive(RandomSource& random) { return random.gauss() * (random.one_in(20) ? 1e4 : 1); }
double strong(RandomSource& random) { return 100 * random.gauss(); }
double enormous(RandomSource& random) { return 1e5 * random.gauss(); }
double ragged(RandomSource& random) {
  return std::ldexp(random.gauss(), static_cast<int>(random.below(24)) - 12);
}

// Few distinct numbers of few bits: sums of products that are exact in every format or lie half way between
// two numbers, gates that are equal, opposite or exactly 1/2.
double few_bits(RandomSource& random) {
  constexpr double kNumbers[] = {0, 1, -1, 2, -2, 0.5, 3, 257, -255, 129, 1025, 2049, 0x1p-7};
  return random.one_of(kNumbers);
}
double few_gates(RandomSource& random) {
  constexpr double kBases[] = {0, 0.75, -0.75, 20, -20};
  return random.one_of(kBases);
}
double halves(RandomSource& random) {
  constexpr double kMixes[] = {0, 1, 0.5, 0.25, 2};
  return random.one_of(kMixes);
}

// Opposite numbers of nearly equal size.
double cancelling(RandomSource& random) {
  const double magnitude = 1 + 0x1p-8 * random.uniform();
  return random.one_in(2) ? magnitude : -magnitude;
}

// Bit patterns of the format itself: the range's ends and its subnormal numbers. The caller rounds what is
// given here, so the numbers need only cover the ranges of fp16 and bf16.
double fp16_extreme(RandomSource& random) { return decode(Dtype::fp16, random.finite_bits(Dtype::fp16)); }
double bf16_extreme(RandomSource& random) { return decode(Dtype::bf16, random.finite_bits(Dtype::bf16)); }
double subnormal(RandomSource& random) {
  // Below 2^-14 for fp16, and below 2^-126 for bf16.
  const double scale = random.one_in(2) ? 0x1p-16 : 0x1p-128;
  return scale * random.gauss();
}

// clang-format off
constexpr Flavour kFlavours[] = {
    {.name = "gaussian", .stream = normal, .weight = normal, .scale = normal, .base = normal,
     .mix = unit_interval},
    {.name = "tiny", .stream = tiny, .weight = normal, .scale = normal, .base = normal, .mix = unit_interval},
    {.name = "zero rows", .stream = mostly_zero, .weight = normal, .scale = normal, .base = normal,
     .mix = mostly_zero},
    {.name = "all zero", .stream = zero, .weight = normal, .scale = normal, .base = few_gates,
     .mix = unit_interval},
    {.name = "cancelling", .stream = cancelling, .weight = cancelling, .scale = normal, .base = normal,
     .mix = cancelling},
    {.name = "massive", .stream = massive, .weight = normal, .scale = normal, .base = normal,
     .mix = unit_interval},
    {.name = "ragged scales", .stream = ragged, .weight = ragged, .scale = normal, .base = normal, .mix = ragged},
    {.name = "strong logits", .stream = normal, .weight = normal, .scale = strong, .base = strong,
     .mix = unit_interval},
    {.name = "saturated gates", .stream = few_bits, .weight = normal, .scale = enormous, .base = enormous,
     .mix = halves},
    {.name = "equal logits", .stream = normal, .weight = normal, .scale = zero, .base = one, .mix = halves},
    {.name = "exact ties", .stream = few_bits, .weight = few_bits, .scale = zero, .base = few_gates,
     .mix = halves},
    {.name = "constant rows", .stream = one, .weight = few_bits, .scale = halves, .base = few_gates, .mix = halves},
    {.name = "subnormal", .stream = subnormal, .weight = subnormal, .scale = normal, .base = normal,
     .mix = unit_interval},
    {.name = "fp16 extremes", .stream = fp16_extreme, .weight = normal, .scale = normal, .base = normal,
     .mix = normal},
    {.name = "bf16 extremes", .stream = bf16_extreme, .weight = bf16_extreme, .scale = normal, .base = normal,
     .mix = normal},
};
// clang-format on

}  // namespace

std::span<const Flavour> all_flavours() { return kFlavours; }

TensorMap make_inputs(const Problem& problem, const Flavour& flavour, RandomSource& random) {
  TensorMap inputs;
  for (const TensorSpec& spec : input_specs(problem)) {
    Tensor tensor(spec.dtype, spec.shape);
    const FloatFormat f = format_of(spec.dtype);
    const double largest = decode(spec.dtype, f.infinity() - 1);
    const auto fill = [&](double (*number)(RandomSource&), double factor = 1) {
      for (std::size_t i = 0; i < tensor.size(); ++i) {
        tensor.set_bits(i, encode(spec.dtype, std::clamp(factor * number(random), -largest, largest)));
      }
    };
    if (spec.name == "residual" || spec.name == "x") {
      fill(flavour.stream);
    } else if (spec.name == "fn" || spec.name == "fn_broadcast") {
      fill(flavour.weight, 1 / std::sqrt(static_cast<double>(problem.hc_hidden_size())));
    } else if (spec.name == "hc_scale") {
      fill(flavour.scale);
    } else if (spec.name == "hc_base" || spec.name == "logits") {
      fill(flavour.base);
    } else if (spec.name == "gemm_out_sqrsum") {
      fill([](RandomSource& r) { return std::fabs(r.gauss()); });
    } else if (spec.name == "norm_weight" || spec.name == "gemm_out_mul") {
      fill(flavour.weight);
    } else {
      fill(flavour.mix);
    }
    inputs.emplace(spec.name, std::move(tensor));
  }
  return inputs;
}

}  // namespace mhcheck::oracle

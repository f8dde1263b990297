#include "tests/oracle/summation_orders.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace mhcheck::oracle {
namespace {

// The factors of the products, in pairs.
struct Factors {
  std::span<const float> x, w;
};

struct SummationOrder {
  std::string_view name;
  bool can_fuse;  // a product meets an accumulator, so that an FMA can take both
  // sum_k x[k] * w[k] in fp32; `fused`: products are not rounded where the order can fuse them with an
  // addition. The result is the sum of what the kernel hands over: a double, since partial sums of a split
  // need not add up in fp32.
  double (*sum)(const Factors&, bool fused, RandomSource&);
};

float add_product(float sum, float x, float w, bool fused) {
  if (fused) return std::fma(x, w, sum);
  const float product = x * w;
  return sum + product;
}

// Products first to last, stride apart.
float run(const Factors& f, std::size_t first, std::size_t last, std::size_t stride, bool fused) {
  float sum = 0;
  for (std::size_t k = first; k < last; k += stride) sum = add_product(sum, f.x[k], f.w[k], fused);
  return sum;
}

std::vector<float> products(const Factors& f) {
  std::vector<float> result(f.x.size());
  for (std::size_t k = 0; k < result.size(); ++k) result[k] = f.x[k] * f.w[k];
  return result;
}

// Neighbours are added, then neighbours of those.
float tree(std::vector<float> values) {
  while (values.size() > 1) {
    const std::size_t half = (values.size() + 1) / 2;
    for (std::size_t i = 0; i + half < values.size(); ++i) values[i] = values[2 * i] + values[2 * i + 1];
    if (values.size() % 2 == 1) values[half - 1] = values.back();
    values.resize(half);
  }
  return values.empty() ? 0 : values[0];
}

// What 64 lanes sum, each its own products, reduced by a butterfly.
float lanes(const Factors& f, std::size_t first, std::size_t last, bool fused) {
  constexpr std::size_t kLanes = 64;
  std::vector<float> sums(kLanes);
  for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] = run(f, first + lane, last, kLanes, fused);
  for (std::size_t distance = kLanes / 2; distance > 0; distance /= 2) {
    for (std::size_t lane = 0; lane < distance; ++lane) sums[lane] += sums[lane + distance];
  }
  return sums[0];
}

double sequential(const Factors& f, bool fused, RandomSource&) { return run(f, 0, f.x.size(), 1, fused); }

double reversed(const Factors& f, bool fused, RandomSource&) {
  float sum = 0;
  for (std::size_t k = f.x.size(); k-- > 0;) sum = add_product(sum, f.x[k], f.w[k], fused);
  return sum;
}

double permuted(const Factors& f, bool fused, RandomSource& random) {
  std::vector<std::size_t> order(f.x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[random.below(k)]);
  float sum = 0;
  for (const std::size_t k : order) sum = add_product(sum, f.x[k], f.w[k], fused);
  return sum;
}

double pairwise(const Factors& f, bool, RandomSource&) { return tree(products(f)); }

double random_tree(const Factors& f, bool, RandomSource& random) {
  std::vector<float> open = products(f);
  while (open.size() > 1) {
    std::swap(open[random.below(open.size())], open.back());
    const float taken = open.back();
    open.pop_back();
    open[random.below(open.size())] += taken;
  }
  return open.empty() ? 0 : open[0];
}

double strided_lanes(const Factors& f, bool fused, RandomSource&) { return lanes(f, 0, f.x.size(), fused); }

// Four products are summed by themselves before they meet the accumulator, as a matrix instruction does.
double blocks_of_four(const Factors& f, bool fused, RandomSource&) {
  float sum = 0;
  for (std::size_t k = 0; k < f.x.size(); k += 4) sum += run(f, k, std::min(k + 4, f.x.size()), 1, fused);
  return sum;
}

// The first place of part s of S parts.
std::size_t part(std::size_t size, std::size_t s, std::size_t parts) { return size * s / parts; }

double split(const Factors& f, bool fused, RandomSource& random) {
  const std::size_t parts = 2 + random.below(15);
  double handed_over = 0;
  for (std::size_t s = 0; s < parts; ++s) {
    handed_over += run(f, part(f.x.size(), s, parts), part(f.x.size(), s + 1, parts), 1, fused);
  }
  return handed_over;
}

// What production does: splits, lanes in each, and the shares added in fp32.
double split_lanes(const Factors& f, bool fused, RandomSource& random) {
  const std::size_t parts = 2 + random.below(15);
  float sum = 0;
  for (std::size_t s = 0; s < parts; ++s) {
    sum += lanes(f, part(f.x.size(), s, parts), part(f.x.size(), s + 1, parts), fused);
  }
  return sum;
}

constexpr SummationOrder kOrders[] = {
    {"sequential", true, sequential},
    {"reversed", true, reversed},
    {"random permutation", true, permuted},
    {"pairwise tree", false, pairwise},
    {"random tree", false, random_tree},
    {"64 strided lanes", true, strided_lanes},
    {"blocks of four", true, blocks_of_four},
    {"split K 2..16", true, split},
    {"split K, lanes, fp32 sum", true, split_lanes},
};

float to_bf16(float value) { return static_cast<float>(decode(Dtype::bf16, encode(Dtype::bf16, value))); }

// The low 13 bits are cut, as tensor cores do.
float to_tf32(float value) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & ~0x1fffu); }

constexpr ProductForm kProductForms[] = {
    {"fp32", ProjectionPrecision::fp32, [](float w) { return std::vector<float>{w}; }},
    {"tf32", ProjectionPrecision::tf32, [](float w) { return std::vector<float>{to_tf32(w)}; }},
    {"bf16x2", ProjectionPrecision::bf16x2,
     [](float w) {
       return std::vector<float>{to_bf16(w), to_bf16(w - to_bf16(w))};
     }},
    {"bf16x1", ProjectionPrecision::bf16x1, [](float w) { return std::vector<float>{to_bf16(w)}; }},
};

std::vector<float> floats(const Tensor& tensor, std::size_t first, std::size_t count) {
  std::vector<float> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = static_cast<float>(tensor.value(first + i));
  return result;
}

}  // namespace

std::span<const ProductForm> all_product_forms() { return kProductForms; }

std::vector<OrderTightness> measure_orders(const Problem& problem, const TensorMap& inputs,
                                           const ProductForm& form,
                                           const reference::ReferenceOptions& options, RandomSource& random) {
  const auto K = static_cast<std::size_t>(problem.hc_hidden_size()),
             M = static_cast<std::size_t>(problem.hc_mult3());
  const Tensor &residual = inputs.at("residual"), &fn = inputs.at("fn");

  // fn as the kernel's multiplier sees it, term after term of each weight.
  const std::size_t terms = form.terms(1).size();
  std::vector<std::vector<float>> seen(M);
  for (std::size_t m = 0; m < M; ++m) {
    for (const float weight : floats(fn, m * K, K)) {
      for (const float term : form.terms(weight)) seen[m].push_back(term);
    }
  }

  std::vector<OrderTightness> result;
  std::vector<const SummationOrder*> orders;  // of the rows of `result`
  for (const SummationOrder& order : kOrders) {
    for (const bool fused : {true, false}) {
      if (fused && !order.can_fuse) continue;
      result.push_back({std::string(order.name), fused});
      orders.push_back(&order);
    }
  }
  const reference::Reference reference(problem, {.projection = form.precision}, inputs, options);
  for (std::int64_t t = 0; t < problem.num_tokens; ++t) {
    const reference::Block block = reference.evaluate(t, 1);
    const std::vector<float> x = floats(residual, static_cast<std::size_t>(t) * K, K);
    std::vector<float> repeated;
    for (const float x_k : x) repeated.insert(repeated.end(), terms, x_k);

    const auto compare = [&](const reference::OutputBlock& output, std::size_t e, const Factors& factors) {
      for (std::size_t row = 0; row < result.size(); ++row) {
        const double sum = orders[row]->sum(factors, result[row].fused, random);
        const double error = std::fabs(sum - output.value[e]);
        if (error == 0) continue;  // where the radius may be 0 as well
        result[row].of_probabilistic =
            std::max(result[row].of_probabilistic, error / output.probabilistic[e]);
        result[row].of_deterministic =
            std::max(result[row].of_deterministic, error / output.deterministic[e]);
      }
    };
    for (std::size_t m = 0; m < M; ++m) compare(block.outputs[0], m, {repeated, seen[m]});
    compare(block.outputs[1], 0, {x, x});
  }
  return result;
}

}  // namespace mhcheck::oracle

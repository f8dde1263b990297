#include "properties/laws/streams.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <stdexcept>

#include "properties/laws/tokens.h"

namespace mhcheck::properties {
namespace {

using Places = std::vector<std::size_t>;

struct Order {
  const Problem& problem;
  const std::vector<int>& streams;

  std::size_t n() const { return streams.size(); }
  std::size_t hidden() const { return static_cast<std::size_t>(problem.hidden_size); }
  std::size_t of(std::size_t stream) const { return static_cast<std::size_t>(streams[stream]); }
};

Places in_place(std::size_t count) {
  Places places(count);
  std::iota(places.begin(), places.end(), std::size_t{0});
  return places;
}

Places one_row(const Order& order) { return in_place(order.hidden()); }
Places one_number(const Order&) { return in_place(1); }
Places scales(const Order& order) { return in_place(order.problem.op == Op::hc_head ? 1 : 3); }

// A row of hidden_size for each stream.
Places rows(const Order& order) {
  Places places;
  for (std::size_t j = 0; j < order.n(); ++j) {
    for (std::size_t h = 0; h < order.hidden(); ++h) places.push_back(order.of(j) * order.hidden() + h);
  }
  return places;
}

Places gates(const Order& order) { return {order.streams.begin(), order.streams.end()}; }

Places matrix(const Order& order) {
  Places places;
  for (std::size_t i = 0; i < order.n(); ++i) {
    for (std::size_t j = 0; j < order.n(); ++j) places.push_back(order.of(i) * order.n() + order.of(j));
  }
  return places;
}

// The rows of a projection: pre, post, comb; of hc_head pre alone.
Places mixes(const Order& order) {
  Places places = gates(order);
  if (order.problem.op == Op::hc_head) return places;
  for (std::size_t j = 0; j < order.n(); ++j) places.push_back(order.n() + order.of(j));
  for (const std::size_t place : matrix(order)) places.push_back(2 * order.n() + place);
  return places;
}

Places product(const Places& outer, const Places& inner) {
  Places places;
  for (const std::size_t row : outer) {
    for (const std::size_t column : inner) places.push_back(row * inner.size() + column);
  }
  return places;
}

Places projection(const Order& order) { return product(mixes(order), rows(order)); }
Places broadcast_projection(const Order& order) { return product(mixes(order), one_row(order)); }

struct TensorRow {
  std::string_view name;
  Places (*places)(const Order&);
};

constexpr TensorRow kTensors[] = {
    {"x", one_row},           {"residual", rows},
    {"fn", projection},       {"fn_broadcast", broadcast_projection},
    {"hc_scale", scales},     {"hc_base", mixes},
    {"logits", matrix},       {"post_mix", gates},
    {"comb_mix", matrix},     {"pre_mix", gates},
    {"norm_weight", one_row}, {"gemm_out_mul", mixes},
    {"layer_input", one_row}, {"gemm_out_sqrsum", one_number},
    {"next_residual", rows},  {"next_pre_mix", gates},
};

}  // namespace

std::vector<int> rotated_streams(const Problem& problem) {
  std::vector<int> streams(static_cast<std::size_t>(problem.hc_mult));
  const int first = problem.entry == Entry::carried ? 0 : 1;
  std::iota(streams.begin(), streams.end(), 0);
  for (int j = first; j < problem.hc_mult; ++j) streams[static_cast<std::size_t>(j)] = j + 1;
  streams.back() = first;
  return streams;
}

std::vector<std::size_t> places_of_streams(std::string_view tensor, const Problem& problem,
                                           const std::vector<int>& streams) {
  const TensorRow* const row = std::ranges::find(kTensors, tensor, &TensorRow::name);
  if (row == std::end(kTensors)) throw std::logic_error("a tensor without streams: " + std::string(tensor));
  return row->places({problem, streams});
}

TensorMap with_streams(const Problem& problem, const TensorMap& inputs, const std::vector<int>& streams) {
  TensorMap result;
  for (const TensorSpec& spec : input_specs(problem)) {
    const std::string name(spec.name);
    const std::vector<std::size_t> places = places_of_streams(name, problem, streams);
    const Tensor& from = inputs.at(name);
    Tensor to(spec.dtype, spec.shape);
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::size_t index = i % places.size();
      to.set_bits(i - index + places[index], from.bits(i));
    }
    result.emplace(name, std::move(to));
  }
  return result;
}

}  // namespace mhcheck::properties

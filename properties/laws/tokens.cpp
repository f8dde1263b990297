#include "properties/laws/tokens.h"

#include <fmt/format.h>

#include <algorithm>

namespace mhcheck::properties {
namespace {

std::size_t product(std::span<const std::int64_t> extents) {
  return element_count(Extents(extents.begin(), extents.end()));
}

Problem with_num_tokens(const Problem& problem, std::size_t count) {
  Problem changed = problem;
  changed.num_tokens = static_cast<std::int64_t>(count);
  return changed;
}

}  // namespace

std::vector<std::optional<TokenPlaces>> token_places(Specs specs, const Problem& problem) {
  const std::vector<TensorSpec> here = specs(problem);
  // The extent of the tokens is the one that grows with them.
  const std::vector<TensorSpec> grown = specs(with_num_tokens(problem, problem.num_tokens + 1));
  std::vector<std::optional<TokenPlaces>> places(here.size());
  for (std::size_t i = 0; i < here.size(); ++i) {
    const auto [axis, grown_axis] = std::ranges::mismatch(here[i].shape, grown[i].shape);
    if (axis == here[i].shape.end()) continue;
    places[i] = TokenPlaces{product({here[i].shape.begin(), axis}), product({axis + 1, here[i].shape.end()})};
  }
  return places;
}

TensorMap with_tokens(Specs specs, const Problem& problem, const TensorMap& tensors,
                      std::span<const std::int64_t> tokens) {
  const std::vector<std::optional<TokenPlaces>> places = token_places(specs, problem);
  const std::vector<TensorSpec> chosen = specs(with_num_tokens(problem, tokens.size()));
  const auto all = static_cast<std::size_t>(problem.num_tokens);
  TensorMap result;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const std::string name(chosen[i].name);
    const Tensor& from = tensors.at(name);
    if (!places[i]) {
      result.emplace(name, from);
      continue;
    }
    Tensor to(chosen[i].dtype, chosen[i].shape);
    const std::size_t bytes = places[i]->run * size_of(to.dtype());
    for (std::size_t block = 0; block < places[i]->blocks; ++block) {
      for (std::size_t t = 0; t < tokens.size(); ++t) {
        const std::size_t source = block * all + static_cast<std::size_t>(tokens[t]);
        std::ranges::copy(
            from.bytes().subspan(source * bytes, bytes),
            to.bytes().begin() + static_cast<std::ptrdiff_t>((block * tokens.size() + t) * bytes));
      }
    }
    result.emplace(name, std::move(to));
  }
  return result;
}

std::vector<std::int64_t> tokens_up_to(std::int64_t count) {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), std::int64_t{0});
  return tokens;
}

std::optional<std::string> first_difference(const Problem& problem, std::span<const std::int64_t> names,
                                            const TensorMap& one, const TensorMap& other) {
  const Problem compared = with_num_tokens(problem, names.size());
  const std::vector<TensorSpec> specs = output_specs(compared);
  const std::vector<std::optional<TokenPlaces>> places = token_places(output_specs, compared);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const Tensor &left = one.at(std::string(specs[i].name)), &right = other.at(std::string(specs[i].name));
    if (std::ranges::equal(left.bytes(), right.bytes())) continue;
    std::size_t element = 0;
    while (left.bits(element) == right.bits(element)) ++element;
    const std::size_t run = places[i]->run, row = element / run, token = row % names.size();
    return fmt::format("{} of token {} has {} and {} at element {}{}", specs[i].name, names[token],
                       hex_bits(left.dtype(), left.bits(element)),
                       hex_bits(right.dtype(), right.bits(element)), element % run,
                       specs[i].partial_sums ? fmt::format(" of split {}", row / names.size()) : "");
  }
  return std::nullopt;
}

}  // namespace mhcheck::properties

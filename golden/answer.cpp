#include "golden/answer.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/acceptance.h"

namespace mhcheck::golden {
namespace {

// Patterns of the smallest and the largest value that a correct kernel may store.
reference::Acceptance interval(Dtype dtype, double value, double radius, std::uint32_t rounded) {
  if (std::isnan(value)) return {rounded, rounded};
  if (std::isinf(radius)) {
    const std::uint32_t infinity = format_of(dtype).infinity();
    return {infinity | format_of(dtype).sign_mask(), infinity};
  }
  return reference::accepted(dtype, value, radius, rounded);
}

void store(const reference::OutputBlock& block, std::size_t first_element, Tensor& out, Tensor& lo,
           Tensor& hi) {
  for (std::size_t e = 0; e < block.value.size(); ++e) {
    const reference::Acceptance right =
        interval(out.dtype(), block.value[e], block.probabilistic[e], block.rounded[e]);
    out.set_bits(first_element + e, block.rounded[e]);
    lo.set_bits(first_element + e, right.lo);
    hi.set_bits(first_element + e, right.hi);
  }
}

}  // namespace

Answer answer_of(const Case& c, const TensorMap& inputs, const reference::ReferenceOptions& options) {
  const reference::Reference reference(c.problem, c.profile, inputs, options);
  Answer answer;
  for (const TensorSpec& spec : golden_output_specs(c.problem)) {
    for (TensorMap* tensors : {&answer.out, &answer.lo, &answer.hi}) {
      tensors->emplace(spec.name, Tensor(spec.dtype, spec.shape));
    }
  }
  const std::int64_t num_tokens = c.problem.num_tokens;
  constexpr std::int64_t kBlock = reference::Reference::kBlockTokens;
  const std::int64_t num_blocks = (num_tokens + kBlock - 1) / kBlock;
  tbb::parallel_for(std::int64_t{0}, num_blocks, [&](std::int64_t index) {
    const std::int64_t first = index * kBlock;
    const reference::Block block = reference.evaluate(first, std::min(kBlock, num_tokens - first));
    for (const reference::OutputBlock& output : block.outputs) {
      const std::string name(output.spec.name);
      store(output, static_cast<std::size_t>(first) * output.elements_per_token, answer.out.at(name),
            answer.lo.at(name), answer.hi.at(name));
    }
  });
  return answer;
}

}  // namespace mhcheck::golden

// A case with its right answer, against which outputs can be judged as often as is wanted.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel_set.h"
#include "reference/base/case.h"
#include "reference/reference.h"

namespace mhcheck::power {

/// What the verdict says of outputs.
enum class Seen : std::uint8_t {
  no,          ///< they conform
  by_tensor,   ///< every element is one that a correct kernel may store; an aggregate is not
  by_element,  ///< some element is not
};

class AnsweredCase {
 public:
  /// Throws what reference::Reference throws.
  explicit AnsweredCase(const Case& c);

  const Case& tested() const { return case_; }
  const TensorMap& inputs() const { return inputs_; }
  /// Of the output in that place of output_specs.
  const reference::OutputBlock& answer(std::size_t output) const { return block_.outputs[output]; }

  /// The program's verdict on one output, or on all of them.
  Seen judge(std::size_t output, std::span<const std::byte> payload) const;
  Seen judge(const kernels::OutputRegions& outputs) const;

 private:
  Case case_;
  TensorMap inputs_;
  reference::Block block_;
  bool independent_tokens_;
};

}  // namespace mhcheck::power

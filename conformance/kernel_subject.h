// A kernel set as laws see it: run on guarded outputs.
#pragma once

#include "kernels/kernel_set.h"
#include "properties/laws.h"

namespace mhcheck::conformance {

class KernelSubject : public properties::Subject {
 public:
  // Keeps a reference to the kernels.
  explicit KernelSubject(kernels::KernelSet& kernels) : kernels_(kernels) {}

  std::string why_refused(const Problem& problem) const override;
  RoundingProfile profile(Op op) const override { return kernels_.profile(op); }
  bool batch_invariant(Op op) const override { return kernels_.batch_invariant(op); }
  // Throws kernels::RunFailure.
  properties::RunTrace run(const Problem& problem, TensorMap& inputs, TensorMap& outputs) override;

 private:
  kernels::KernelSet& kernels_;
};

}  // namespace mhcheck::conformance

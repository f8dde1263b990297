// The host baseline with a fault planted into it: what each law has to see.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "conformance/kernel_subject.h"
#include "kernels/host/host_kernels.h"

namespace mhcheck::properties::testing {

// The host baseline that rounds as the case says.
inline std::unique_ptr<kernels::KernelSet> host_kernels_for(const Case& c) {
  for (const kernels::HostKernelRow& row : kernels::host_kernels()) {
    if (row.profile == c.profile) return kernels::make_host_kernels(row);
  }
  throw std::invalid_argument(to_descriptor(c) + ": no host baseline rounds so");
}

// Runs `inner` as it likes, which is right, and leaves something wrong.
using Fault = std::function<RunTrace(Subject& inner, const Problem&, TensorMap& inputs, TensorMap& outputs)>;

class PlantedSubject : public Subject {
 public:
  PlantedSubject(Subject& inner, Fault fault) : inner_(inner), fault_(std::move(fault)) {}

  std::string why_refused(const Problem& problem) const override { return inner_.why_refused(problem); }
  RoundingProfile profile(Op op) const override { return inner_.profile(op); }
  bool batch_invariant(Op op) const override { return inner_.batch_invariant(op); }
  RunTrace run(const Problem& problem, TensorMap& inputs, TensorMap& outputs) override {
    return fault_(inner_, problem, inputs, outputs);
  }

 private:
  Subject& inner_;
  Fault fault_;
};

}  // namespace mhcheck::properties::testing

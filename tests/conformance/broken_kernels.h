// A kernel set that runs another one and then breaks its outputs: negative tests of the runner and of every
// report. Each breakage is one row with the kind of failure that it must be named.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/failure.h"
#include "kernels/kernel_set.h"

namespace mhcheck::conformance::testing {

// What a breakage works on.
struct Wreckage {
  const Problem& problem;
  TensorMap& inputs;
  kernels::OutputRegions& outputs;

  // The last output: layer_input where the operator has one.
  const TensorSpec& victim() const { return specs.back(); }
  std::span<std::byte> payload() const { return outputs.at(std::string(victim().name)).payload(); }
  std::size_t size() const { return element_count(victim().shape); }
  std::size_t row() const { return size() / static_cast<std::size_t>(problem.num_tokens); }

  std::uint32_t bits(std::size_t i) const {
    std::uint32_t word = 0;
    std::memcpy(&word, payload().data() + i * size_of(victim().dtype), size_of(victim().dtype));
    return word;
  }
  void set_bits(std::size_t i, std::uint32_t word) const {
    std::memcpy(payload().data() + i * size_of(victim().dtype), &word, size_of(victim().dtype));
  }
  void scale(std::size_t begin, std::size_t end, double factor) const {
    for (std::size_t i = begin; i < end; ++i) {
      set_bits(i, encode(victim().dtype, factor * decode(victim().dtype, bits(i))));
    }
  }

  std::vector<TensorSpec> specs = output_specs(problem);
};

struct Breakage {
  std::string_view name;
  FailureKind kind;  // that the verdict must begin with
  std::function<void(const Wreckage&)> apply;
};

// Breakages for a problem with several tokens.
inline const std::vector<Breakage>& all_breakages() {
  static const std::vector<Breakage> rows{
      {"ScaledByOneHundredth", FailureKind::outside_deterministic,
       [](const Wreckage& w) { w.scale(0, w.size(), 1.01); }},
      {"RootTwoOnTheSecondToken", FailureKind::outside_deterministic,
       [](const Wreckage& w) { w.scale(w.row(), 2 * w.row(), std::sqrt(2.0)); }},
      {"TheLargestElementHalfAsLargeAgain", FailureKind::outside_deterministic,
       [](const Wreckage& w) {
         std::size_t largest = 0;
         const auto magnitude = [&](std::size_t i) { return std::fabs(decode(w.victim().dtype, w.bits(i))); };
         for (std::size_t i = 0; i < w.size(); ++i) {
           if (magnitude(i) > magnitude(largest)) largest = i;
         }
         w.scale(largest, largest + 1, 1.5);
       }},
      {"LastElementUnwritten", FailureKind::unwritten,
       [](const Wreckage& w) {
         const FloatFormat f = format_of(w.victim().dtype);
         w.set_bits(w.size() - 1, f.quiet_nan() | (0x2db6edu & ((1u << (f.mantissa_bits() - 1)) - 1)));
       }},
      {"LastElementNaN", FailureKind::not_a_number,
       [](const Wreckage& w) { w.set_bits(w.size() - 1, format_of(w.victim().dtype).quiet_nan()); }},
      {"FirstElementInfinite", FailureKind::not_a_number,
       [](const Wreckage& w) { w.set_bits(0, format_of(w.victim().dtype).infinity()); }},
      {"FirstTwoTokensSwapped", FailureKind::outside_deterministic,
       [](const Wreckage& w) {
         for (std::size_t i = 0; i < w.row(); ++i) {
           const std::uint32_t first = w.bits(i);
           w.set_bits(i, w.bits(w.row() + i));
           w.set_bits(w.row() + i, first);
         }
       }},
      {"OneByteBeforeTheOutput", FailureKind::written_outside,
       [](const Wreckage& w) {
         kernels::OutputRegion& region = w.outputs.at(std::string(w.victim().name));
         region.bytes[region.guard - 1] = std::byte{0};
       }},
      {"OneByteBehindTheOutput", FailureKind::written_outside,
       [](const Wreckage& w) {
         kernels::OutputRegion& region = w.outputs.at(std::string(w.victim().name));
         region.bytes[region.bytes.size() - region.guard] = std::byte{0};
       }},
      {"AnInputChanged", FailureKind::input_changed,
       [](const Wreckage& w) {
         Tensor& input = w.inputs.begin()->second;
         input.set_bits(input.size() - 1, input.bits(input.size() - 1) ^ 1u);
       }},
      {"Faulted", FailureKind::kernel_fault,
       [](const Wreckage&) { throw kernels::RunFailure("memory access fault at 0x10"); }},
  };
  return rows;
}

class BrokenKernels : public kernels::KernelSet {
 public:
  BrokenKernels(std::unique_ptr<kernels::KernelSet> inner, Breakage breakage)
      : inner_(std::move(inner)), breakage_(std::move(breakage)) {}

  std::string name() const override { return inner_->name() + "-" + std::string(breakage_.name); }
  bool implements(Op op) const override { return inner_->implements(op); }
  RoundingProfile profile(Op op) const override { return inner_->profile(op); }
  std::string why_refused(const Problem& problem) const override { return inner_->why_refused(problem); }
  bool batch_invariant(Op op) const override { return inner_->batch_invariant(op); }

  kernels::RunReport run(const Problem& problem, TensorMap& inputs,
                         kernels::OutputRegions& outputs) override {
    kernels::RunReport report = inner_->run(problem, inputs, outputs);
    breakage_.apply(Wreckage{problem, inputs, outputs});
    return report;
  }

 private:
  std::unique_ptr<kernels::KernelSet> inner_;
  Breakage breakage_;
};

}  // namespace mhcheck::conformance::testing

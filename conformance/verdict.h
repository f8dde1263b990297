// The comparator: what a kernel stored against what the reference says is right. docs/verdicts.md is its
// specification.
//
// An output is judged block by block of tokens, in any order and in parallel; merged in block order, the
// verdict is the same for any number of threads. Every tolerance comes from the reference's radii.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "conformance/aggregate.h"
#include "conformance/failure.h"
#include "conformance/guarded_output.h"
#include "kernels/simulator/sanitizers/finding.h"
#include "reference/base/tensor.h"
#include "reference/reference.h"

namespace mhcheck::conformance {

// One element, with everything that a report says about it.
struct ElementReport {
  std::int64_t token = 0;
  std::int64_t index = 0;     // in the token's row
  std::uint64_t flat = 0;     // token * elements_per_token + index
  bool partial_sums = false;  // `got` is the sum over the splits; the bits below mean nothing then
  std::uint32_t got_bits = 0, expected_bits = 0, lo_bits = 0, hi_bits = 0;
  double got = 0;
  double expected = 0;  // the exact result rounded to the format
  double lo = 0, hi = 0;
  double exact = 0;
  double deterministic = 0, probabilistic = 0, systematic = 0;
  double ulps = 0;         // (got - exact) / ulp, signed
  double bound_units = 0;  // |got - exact| / (probabilistic radius + half an ulp)
};

// One kind of failure found in an output.
struct Finding {
  FailureKind kind = FailureKind::kernel_fault;
  std::uint64_t count = 0;             // of elements, bytes or aggregates
  std::optional<ElementReport> worst;  // where elements failed
  std::string detail;                  // one line; where it is not an element that failed, what did
  std::optional<simulator::SanitizerFinding> seen = std::nullopt;  // of kind sanitizer
  std::string law = {};                                            // of kind law_broken: its name
};

struct OutputVerdict {
  std::string name;
  Dtype dtype = Dtype::fp32;
  Extents shape;
  std::uint64_t elements = 0;  // judged: for partial sums, the sums
  std::uint64_t undefined =
      0;                      // of these, any value is right: the contract defines none, or fp32 may overflow
  std::uint64_t flushed = 0;  // of these, a zero in place of a number below 2^-126
  std::vector<Finding> findings;       // ordered by kind; empty: the output conforms
  std::optional<ElementReport> worst;  // the largest error in bound units, right or wrong
  double worst_ulps = 0;               // the largest |ulps|
  Aggregates aggregates;

  bool conforms() const { return findings.empty(); }
};

class OutputJudge {
 public:
  // Throws std::invalid_argument when the payload's size is not that of the output.
  // `independent_tokens`: see TensorErrors::judge.
  OutputJudge(const TensorSpec& spec, std::int64_t num_tokens, std::span<const std::byte> payload,
              bool independent_tokens);

  // What was found in one block of tokens.
  class Tally {
   public:
    void merge(const Tally& next);

   private:
    friend class OutputJudge;
    // One kind of wrong element.
    struct Wrong {
      std::uint64_t count = 0;
      ElementReport worst;
    };
    void note_wrong(FailureKind kind, const ElementReport& report);

    std::uint64_t elements_ = 0, undefined_ = 0, flushed_ = 0;
    std::array<Wrong, kFailures.size()> wrong_{};
    std::optional<ElementReport> worst_;
    double worst_ulps_ = 0;
    TensorErrors errors_;
  };

  // Thread-safe. The block's spec must be the output's.
  Tally judge(const reference::Block& block, const reference::OutputBlock& expected) const;

  // The verdict on tallies merged in block order. Guard bytes and inputs are the caller's to add.
  OutputVerdict verdict(const Tally& total) const;

 private:
  template <Dtype D>
  void judge_elements(const reference::Block& block, const reference::OutputBlock& expected,
                      Tally& tally) const;
  void judge_partial_sums(const reference::Block& block, const reference::OutputBlock& expected,
                          Tally& tally) const;

  TensorSpec spec_;
  std::int64_t num_tokens_;
  std::span<const std::byte> payload_;
  bool independent_tokens_;
};

// The finding of changed guard bytes; nothing when they are whole.
std::optional<Finding> judge_guards(const TensorSpec& spec, const kernels::OutputRegion& region);

// The finding of a changed input: the first element that differs, tensor by tensor.
std::optional<Finding> judge_inputs(const TensorMap& before, const TensorMap& after);

// Keeps the findings of an output in the order of FailureKind.
void add_finding(OutputVerdict& verdict, Finding finding);

}  // namespace mhcheck::conformance

// The ways in which a kernel can be wrong, by name.
#pragma once

#include <array>
#include <string_view>

namespace mhcheck::conformance {

// Ordered by what it says about the kernel: the first kind found names the verdict.
enum class FailureKind {
  kernel_fault,
  sanitizer,
  schedule_dependent,
  unwritten,
  written_outside,
  input_changed,
  not_a_number,
  outside_deterministic,
  outside_probabilistic,
  wrong_aggregate,
  law_broken,
};

struct FailureRow {
  FailureKind kind;
  std::string_view name;
  std::string_view meaning;
};

inline constexpr std::array kFailures{
    FailureRow{FailureKind::kernel_fault, "kernel_fault",
               "the kernel faulted, hung or could not be launched"},
    FailureRow{FailureKind::sanitizer, "sanitizer", "a sanitizer saw the kernel do what it must not"},
    FailureRow{FailureKind::schedule_dependent, "schedule_dependent",
               "another interleaving of the waves gives other bits"},
    FailureRow{FailureKind::unwritten, "unwritten", "the kernel left elements of the output unwritten"},
    FailureRow{FailureKind::written_outside, "written_outside", "the kernel wrote outside the output"},
    FailureRow{FailureKind::input_changed, "input_changed", "the kernel changed an input"},
    FailureRow{FailureKind::not_a_number, "not_a_number",
               "NaN or Inf stored where the contract has a number"},
    FailureRow{FailureKind::outside_deterministic, "outside_deterministic",
               "values that no order of fp32 operations gives"},
    FailureRow{FailureKind::outside_probabilistic, "outside_probabilistic",
               "values that rounding errors give with a probability below 1e-17"},
    FailureRow{FailureKind::wrong_aggregate, "wrong_aggregate",
               "errors that agree in sign or scale as rounding errors do not"},
    FailureRow{FailureKind::law_broken, "law_broken", "a law is broken that every correct kernel keeps"},
};

constexpr const FailureRow& row_of(FailureKind kind) { return kFailures[static_cast<std::size_t>(kind)]; }

}  // namespace mhcheck::conformance

#include "tests/oracle/reference_checks.h"

#include <fmt/format.h>

#include <cmath>

namespace mhcheck::oracle {

testing::AssertionResult same_number(Dtype dtype, std::uint32_t got, std::uint32_t expected) {
  const bool zeros =
      (got & ~format_of(dtype).sign_mask()) == 0 && (expected & ~format_of(dtype).sign_mask()) == 0;
  if (got == expected || zeros) return testing::AssertionSuccess();
  return testing::AssertionFailure() << fmt::format("got {} ({}), expected {} ({})", hex_bits(dtype, got),
                                                    decode(dtype, got), hex_bits(dtype, expected),
                                                    decode(dtype, expected));
}

namespace {

// OutputBlock::value: the exact result to within 2^-50 relative, or far less than what a kernel may be off.
bool within_claim(double value, double exact, double deterministic) {
  constexpr double kClaim = 0x1p-50, kOfRadius = 0x1p-16, kOwnError = 0x1p-52, kDoublesEnd = 0x1p-1074;
  return std::fabs(value - exact) <=
         (kClaim + kOwnError) * std::fabs(exact) + kOfRadius * deterministic + kDoublesEnd;
}

// Empty when the radii of an element are as reference.h says.
std::string what_is_wrong_with_radii(const reference::OutputBlock& output, std::size_t e) {
  const double deterministic = output.deterministic[e], probabilistic = output.probabilistic[e],
               systematic = output.systematic[e];
  if (!(systematic >= 0)) return fmt::format("systematic radius {}", systematic);
  if (!(systematic <= probabilistic)) {
    return fmt::format("systematic radius {} above probabilistic {}", systematic, probabilistic);
  }
  if (!(probabilistic <= deterministic)) {
    return fmt::format("probabilistic radius {} above deterministic {}", probabilistic, deterministic);
  }
  return {};
}

}  // namespace

testing::AssertionResult agrees(const reference::Block& block, const std::map<std::string, Answer>& answers) {
  if (block.outputs.size() != answers.size()) {
    return testing::AssertionFailure() << block.outputs.size() << " outputs, expected " << answers.size();
  }
  for (const reference::OutputBlock& output : block.outputs) {
    const Answer& answer = answers.at(std::string(output.spec.name));
    const Dtype dtype = output.spec.dtype;
    const std::size_t size = answer.rounded.size();
    if (output.rounded.size() != size || output.value.size() != size) {
      return testing::AssertionFailure()
             << fmt::format("{}: {} elements, expected {}", output.spec.name, output.rounded.size(), size);
    }
    for (std::size_t e = 0; e < size; ++e) {
      const auto failure = [&](const std::string& what) {
        return testing::AssertionFailure() << fmt::format("{} element {}: {}", output.spec.name, e, what);
      };
      if (std::isnan(answer.value[e])) {
        // No result is defined: the reference says so, or leaves the kernel free otherwise.
        if (std::isnan(output.value[e]) || std::isinf(output.deterministic[e])) continue;
        return failure(fmt::format("value {:a} where none is defined", output.value[e]));
      }
      if (const auto same = same_number(dtype, output.rounded[e], answer.rounded.bits(e)); !same) {
        return failure(same.message());
      }
      if (!within_claim(output.value[e], answer.value[e], output.deterministic[e])) {
        return failure(fmt::format("value {:a}, expected {:a}", output.value[e], answer.value[e]));
      }
      if (const std::string wrong = what_is_wrong_with_radii(output, e); !wrong.empty())
        return failure(wrong);
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace mhcheck::oracle

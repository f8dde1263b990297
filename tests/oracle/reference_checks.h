// What must hold of every block that the reference gives, whatever the case.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "reference/base/operators.h"
#include "reference/base/tensor.h"
#include "reference/reference.h"
#include "tests/oracle/arb_oracle.h"

namespace mhcheck::oracle {

// Success when both patterns are equal or both are zeros: no sign is prescribed for a zero.
testing::AssertionResult same_number(Dtype dtype, std::uint32_t got, std::uint32_t expected);

// The outputs of all tokens agree with the oracle's in every bit, their values are within the reference's
// claim, and their radii are ordered; the first disagreement is the message.
testing::AssertionResult agrees(const reference::Block& block, const std::map<std::string, Answer>& answers);

}  // namespace mhcheck::oracle

// Laws about tokens among other tokens, each bit for bit.
#pragma once

#include <optional>
#include <string>

#include "properties/laws.h"

namespace mhcheck::properties {

std::string needs_tokens_that_do_not_meet(const Trial& trial);
std::optional<std::string> permuting_tokens_breaks(Trial& trial);

std::string needs_batch_invariance(const Trial& trial);
std::optional<std::string> another_batch_breaks(Trial& trial);

std::string needs_a_token(const Trial& trial);
std::optional<std::string> repeating_breaks(Trial& trial);

std::string needs_two_tokens(const Trial& trial);
std::optional<std::string> a_nan_breaks(Trial& trial);
std::optional<std::string> an_infinity_breaks(Trial& trial);

}  // namespace mhcheck::properties

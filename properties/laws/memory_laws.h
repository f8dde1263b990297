// Laws about memory and about no tokens at all.
#pragma once

#include <optional>
#include <string>

#include "properties/laws.h"

namespace mhcheck::properties {

std::string needs_an_empty_batch_to_be_taken(const Trial& trial);
std::optional<std::string> an_empty_batch_breaks(Trial& trial);

std::string needs_nothing(const Trial& trial);
std::optional<std::string> outputs_break(Trial& trial);
std::optional<std::string> inputs_break(Trial& trial);

}  // namespace mhcheck::properties

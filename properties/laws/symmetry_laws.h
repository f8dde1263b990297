// Laws about inputs that are changed in a way that the contract does not care about, within both bounds.
#pragma once

#include <optional>
#include <string>

#include "properties/laws.h"

namespace mhcheck::properties {

std::string needs_streams_to_permute(const Trial& trial);
std::optional<std::string> permuting_streams_breaks(Trial& trial);

std::string needs_a_root_mean_square(const Trial& trial);
std::optional<std::string> scaling_streams_breaks(Trial& trial);

}  // namespace mhcheck::properties

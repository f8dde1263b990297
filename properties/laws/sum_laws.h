// Laws about what outputs add up to.
#pragma once

#include <optional>
#include <string>

#include "properties/laws.h"

namespace mhcheck::properties {

std::string needs_comb(const Trial& trial);
std::optional<std::string> column_sums_break(Trial& trial);

std::string needs_a_norm(const Trial& trial);
std::optional<std::string> unit_norm_breaks(Trial& trial);

}  // namespace mhcheck::properties

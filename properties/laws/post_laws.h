// Laws about mhc_post: next_residual is linear in x and in residual.
#pragma once

#include <optional>
#include <string>

#include "properties/laws.h"

namespace mhcheck::properties {

std::string needs_a_post_stage(const Trial& trial);
std::optional<std::string> linearity_in_x_breaks(Trial& trial);
std::optional<std::string> linearity_in_residual_breaks(Trial& trial);

}  // namespace mhcheck::properties

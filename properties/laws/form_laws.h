// Laws about two ways to compute the same thing, within both bounds.
#pragma once

#include <optional>
#include <string>

#include "properties/laws.h"

namespace mhcheck::properties {

std::string needs_an_entry_form(const Trial& trial);
std::optional<std::string> the_carried_form_breaks(Trial& trial);

std::string needs_an_unfused_form(const Trial& trial);
std::optional<std::string> the_unfused_form_breaks(Trial& trial);

std::string needs_another_split(const Trial& trial);
std::optional<std::string> another_split_breaks(Trial& trial);

std::string needs_head_and_pre(const Trial& trial);
std::optional<std::string> the_head_breaks(Trial& trial);

}  // namespace mhcheck::properties

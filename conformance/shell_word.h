// Text as one word of a POSIX shell, for commands that are printed to be repeated.
#pragma once

#include <string>
#include <string_view>

namespace mhcheck::conformance {

// As it is where no character means anything to a shell, else in single quotes.
std::string shell_word(std::string_view text);

}  // namespace mhcheck::conformance

#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace mhcheck::simulator::testing {

/// Machine code of gfx950 assembly, one instruction a line. Throws std::invalid_argument with LLVM's message.
std::vector<std::byte> assemble(const std::string& text);

}  // namespace mhcheck::simulator::testing

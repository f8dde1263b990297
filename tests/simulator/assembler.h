#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace mhcheck::simulator::testing {

/// Machine code of gfx950 assembly, one instruction a line. Throws std::invalid_argument with LLVM's message.
std::vector<std::byte> assemble(const std::string& text);

/// Every mnemonic that the assembler takes for gfx950, without encoding suffix: of all opcodes of LLVM's
/// AMDGPU target those about which it complains for lack of operands and not for lack of the instruction.
/// Spellings that only the assembler knows are among them.
std::set<std::string> gfx950_mnemonics();

}  // namespace mhcheck::simulator::testing

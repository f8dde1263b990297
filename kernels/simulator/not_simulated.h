#pragma once

#include <span>
#include <string_view>

namespace mhcheck::simulator {

/// An instruction that gfx950 has and the simulator deliberately does not execute.
struct NotSimulated {
  std::string_view mnemonic;  ///< as the disassembler prints it
  std::string_view reason;    ///< completes "NAME: it ..."
};

/// All of them: whatever else LLVM's gfx950 target knows has a handler.
std::span<const NotSimulated> not_simulated();

/// The reason for a mnemonic, "" for one that is not in the table.
std::string_view why_not_simulated(std::string_view mnemonic);

}  // namespace mhcheck::simulator

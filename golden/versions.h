// What golden files say about their making.
#pragma once

#include <string_view>

namespace mhcheck::golden {

// Changes whenever the contract gives another right answer, or another interval, for the same inputs: golden
// files made under another version cannot be compared.
inline constexpr std::string_view kContractVersion = "2";

// The version of this build of mhcheck: for people who look for what wrote a file, never compared.
std::string_view program_version();

}  // namespace mhcheck::golden

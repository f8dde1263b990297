// What is tested where nothing else is said.
#pragma once

#include <string_view>

namespace mhcheck::conformance {

inline constexpr std::string_view kDefaultKernel = "host";
inline constexpr std::string_view kDefaultDevice = "host";

}  // namespace mhcheck::conformance

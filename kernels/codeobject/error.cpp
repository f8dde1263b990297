#include "kernels/codeobject/error.h"

#include <fmt/format.h>

namespace mhcheck::codeobject {

std::string CodeObjectError::printable(std::string_view text) {
  constexpr std::size_t kLongest = 1000;
  std::string result;
  for (const char c : text) {
    if (result.size() >= kLongest) return result + "...";
    if (c >= ' ' && c <= '~') {
      result += c;
    } else {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

}  // namespace mhcheck::codeobject

// Text inside XML and HTML.
#pragma once

#include <string>
#include <string_view>

namespace mhcheck::conformance {

// Markup characters as entities; control characters, which XML 1.0 has no way to write, as '?'.
inline std::string xml_text(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      case '\n':
      case '\t':
        escaped += c;
        break;
      default:
        escaped += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return escaped;
}

}  // namespace mhcheck::conformance

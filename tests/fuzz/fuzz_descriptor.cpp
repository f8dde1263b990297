// Any bytes are a case or a DescriptorError of one line; what parses is legal and reads back to itself.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "reference/base/case.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mhcheck;
  Case c;
  try {
    c = parse_descriptor({reinterpret_cast<const char*>(data), size});
  } catch (const DescriptorError& error) {
    if (std::strchr(error.what(), '\n') != nullptr) std::abort();
    return 0;
  }
  if (!why_illegal(c.problem).empty()) std::abort();
  if (parse_descriptor(to_descriptor(c)) != c) std::abort();
  if (parse_descriptor(to_canonical_descriptor(c)) != c) std::abort();
  return 0;
}

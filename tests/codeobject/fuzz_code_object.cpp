// libFuzzer: any bytes either describe a code object or end in a CodeObjectError.
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/codeobject/code_object.h"
#include "kernels/codeobject/describe.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace codeobject = mhcheck::codeobject;
  try {
    const auto bytes = std::as_bytes(std::span(data, size));
    for (const codeobject::CodeObject& object : codeobject::parse_code_objects(bytes, "input")) {
      (void)object.image_at(std::uint64_t{1} << 32);
      (void)codeobject::describe(object);
    }
  } catch (const codeobject::CodeObjectError&) {
  }
  return 0;
}

// The code objects that the build compiled for these tests.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "kernels/codeobject/code_object.h"

namespace mhcheck::codeobject {

inline std::filesystem::path object_path(const std::string& name) {
  return std::filesystem::path(MHCHECK_TEST_OBJECTS) / name;
}
inline std::vector<std::byte> object_bytes(const std::string& name) { return read_file(object_path(name)); }

}  // namespace mhcheck::codeobject

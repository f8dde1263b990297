#pragma once

#include <filesystem>
#include <string>

#include "kernels/codeobject/code_object.h"

namespace mhcheck::codeobject {

/// What is inside, for people, as lines of text: target, segments, relocations, and each kernel with its
/// registers, LDS, scratch and arguments.
std::string describe(const CodeObject& object);

/// The same for a whole file: its container, the images for other targets by name and size, and each gfx950
/// code object. A file without gfx950 code is described too. Throws CodeObjectError.
std::string describe_file(const std::filesystem::path& file);

}  // namespace mhcheck::codeobject

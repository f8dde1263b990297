// Checking a folder of golden cases against what this program computes today.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "golden/make.h"

namespace mhcheck::golden {

struct Verification {
  std::size_t cases = 0;
  // One line each, beginning with the file; empty when everything agrees.
  std::vector<std::string> differences;
};

// For each case of the manifest: the file's size and SHA-256, its metadata, its inputs against the
// generator's, and its outputs and intervals against the reference, bit for bit. A damaged file is a
// difference, and the other cases are checked all the same; a manifest that lists none is one too. Throws
// FileError when the manifest itself cannot be read.
Verification verify(const std::filesystem::path& folder, const InputSource& inputs_of);

}  // namespace mhcheck::golden

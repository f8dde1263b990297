// What every reader and writer of this folder throws when a file is not what it should be.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace mhcheck::golden {

// One line: the file, what is wrong, where, and what would be right.
class FileError : public std::runtime_error {
 public:
  FileError(const std::filesystem::path& file, std::string_view problem)
      : std::runtime_error(fmt::format("{}: {}", file.native(), problem)) {}
};

}  // namespace mhcheck::golden

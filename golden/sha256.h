// SHA-256 (FIPS 180-4) of golden files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace mhcheck::golden {

// 64 lower-case hexadecimal digits.
std::string sha256(std::span<const std::byte> bytes);

// Of a file's content, read piece by piece. Throws FileError when it cannot be read.
std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace mhcheck::golden

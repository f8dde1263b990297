// A file that appears under its name only when it is complete.
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string_view>

namespace mhcheck::golden {

// Writes beside the file and renames at the end, so that an interrupted or failed write leaves what was there
// before. Every failure is a FileError; the unfinished file is removed.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  // Makes the content durable and gives the file its name. Nothing may be written afterwards.
  void commit();

 private:
  [[noreturn]] void fail(std::string_view action) const;

  std::filesystem::path path_;
  std::filesystem::path unfinished_;
  std::FILE* stream_;
};

}  // namespace mhcheck::golden

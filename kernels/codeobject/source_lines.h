#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace mhcheck::codeobject {

/// The debug lines (DWARF) of a code object, read when first asked for. Not synchronised.
class SourceLines {
 public:
  /// Keeps a copy of the ELF file.
  explicit SourceLines(std::span<const std::byte> elf);
  ~SourceLines();

  /// "folder/file.hip:12" for the instruction at an address in the code object, "a.h:3 inlined at b.hip:12"
  /// for one that came from an inlined function; "" where the file has no debug lines, or none for this
  /// address.
  std::string at(std::uint64_t address);

 private:
  struct Reader;
  std::unique_ptr<Reader> reader_;
};

}  // namespace mhcheck::codeobject

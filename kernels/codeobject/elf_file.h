#pragma once

#include <llvm/BinaryFormat/ELF.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/codeobject/byte_view.h"

namespace mhcheck::codeobject {

namespace elf = llvm::ELF;

struct ElfSection {
  std::string name;
  elf::Elf64_Shdr header{};
};

/// The tables of a little-endian ELF64 file, host or device. Offsets inside the headers are as the file
/// states them: check each through ByteView when you follow it.
class ElfFile {
 public:
  static bool recognises(const ByteView& file) { return file.starts_with(0, elf::ElfMagic); }

  /// Reads the file header and the program headers. Throws CodeObjectError.
  explicit ElfFile(ByteView file);

  const ByteView& file() const { return file_; }
  const elf::Elf64_Ehdr& header() const { return header_; }
  const std::vector<elf::Elf64_Phdr>& segments() const { return segments_; }

  /// Reads the section table, which a loader does not need and a stripped file may lack. Throws
  /// CodeObjectError.
  std::vector<ElfSection> sections() const;

 private:
  ByteView file_;
  elf::Elf64_Ehdr header_{};
  std::vector<elf::Elf64_Phdr> segments_;
};

}  // namespace mhcheck::codeobject

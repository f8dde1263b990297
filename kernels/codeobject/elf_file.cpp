#include "kernels/codeobject/elf_file.h"

#include <algorithm>

namespace mhcheck::codeobject {
namespace {

// A string that ends inside its table.
std::string string_at(const ByteView& file, std::uint64_t table, std::uint64_t table_size,
                      std::uint64_t index) {
  const auto strings = file.slice(table, table_size, "the section name table");
  if (index >= strings.size()) {
    file.fail(Reason::kCorrupt,
              fmt::format("a section's name is at {:#x} of a name table of {:#x} bytes", index, table_size));
  }
  const auto* first = reinterpret_cast<const char*>(strings.data()) + index;
  const auto* last = reinterpret_cast<const char*>(strings.data()) + strings.size();
  const auto* end = std::find(first, last, '\0');
  if (end == last) file.fail(Reason::kCorrupt, "the section name table does not end with a zero byte");
  return {first, end};
}

}  // namespace

ElfFile::ElfFile(ByteView file) : file_(std::move(file)) {
  header_ = file_.read<elf::Elf64_Ehdr>(0, "the ELF header");
  if (header_.e_ident[elf::EI_CLASS] != elf::ELFCLASS64 ||
      header_.e_ident[elf::EI_DATA] != elf::ELFDATA2LSB) {
    file_.fail(Reason::kUnsupported,
               fmt::format("the ELF class and byte order are {} and {}, must be 2 (64 bits) and "
                           "1 (little endian)",
                           header_.e_ident[elf::EI_CLASS], header_.e_ident[elf::EI_DATA]));
  }
  if (header_.e_phnum != 0 && header_.e_phentsize != sizeof(elf::Elf64_Phdr)) {
    file_.fail(Reason::kCorrupt, fmt::format("a program header has {} bytes, must have {}",
                                             header_.e_phentsize, sizeof(elf::Elf64_Phdr)));
  }
  const std::uint64_t table_size = std::uint64_t{header_.e_phnum} * sizeof(elf::Elf64_Phdr);
  file_.slice(header_.e_phoff, table_size, "the program header table");
  for (std::uint64_t i = 0; i < header_.e_phnum; ++i) {
    segments_.push_back(
        file_.read<elf::Elf64_Phdr>(header_.e_phoff + i * sizeof(elf::Elf64_Phdr), "a program header"));
  }
}

std::vector<ElfSection> ElfFile::sections() const {
  if (header_.e_shnum == 0) return {};
  if (header_.e_shentsize != sizeof(elf::Elf64_Shdr)) {
    file_.fail(Reason::kCorrupt, fmt::format("a section header has {} bytes, must have {}",
                                             header_.e_shentsize, sizeof(elf::Elf64_Shdr)));
  }
  const std::uint64_t table_size = std::uint64_t{header_.e_shnum} * sizeof(elf::Elf64_Shdr);
  file_.slice(header_.e_shoff, table_size, "the section header table");
  if (header_.e_shstrndx >= header_.e_shnum) {
    file_.fail(Reason::kCorrupt,
               fmt::format("section {} is to hold the section names, but there are {} sections",
                           header_.e_shstrndx, header_.e_shnum));
  }
  std::vector<ElfSection> sections(header_.e_shnum);
  for (std::uint64_t i = 0; i < sections.size(); ++i) {
    sections[i].header =
        file_.read<elf::Elf64_Shdr>(header_.e_shoff + i * sizeof(elf::Elf64_Shdr), "a section header");
  }
  const elf::Elf64_Shdr names = sections[header_.e_shstrndx].header;
  for (ElfSection& section : sections) {
    section.name = string_at(file_, names.sh_offset, names.sh_size, section.header.sh_name);
  }
  return sections;
}

}  // namespace mhcheck::codeobject

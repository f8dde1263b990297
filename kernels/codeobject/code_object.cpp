#include "kernels/codeobject/code_object.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "kernels/codeobject/device_images.h"
#include "kernels/codeobject/elf_file.h"
#include "kernels/codeobject/metadata.h"

namespace mhcheck::codeobject {
namespace {

// Far above any kernel library; below what a forged header could make us allocate.
constexpr std::uint64_t kLargestImage = std::uint64_t{1} << 29;
constexpr std::uint64_t kLargestAlignment = std::uint64_t{1} << 21;
constexpr std::uint64_t kEntryAlignment = 256;

constexpr std::string_view kNoteOwner{"AMDGPU\0", 7};

bool is_power_of_two(std::uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

// The ELF note that holds the metadata; notes are aligned to 4 bytes.
std::optional<ByteView> find_metadata(const ByteView& notes) {
  for (std::uint64_t offset = 0; offset < notes.size();) {
    const auto header = notes.read<elf::Elf64_Nhdr>(offset, "a note's header");
    const std::uint64_t name_offset = offset + sizeof(header);
    const auto name = notes.slice(name_offset, header.n_namesz, "a note's owner");
    const std::uint64_t description_offset = name_offset + (std::uint64_t{header.n_namesz} + 3) / 4 * 4;
    const auto description = notes.slice(description_offset, header.n_descsz, "a note's content");
    const bool is_metadata = header.n_type == elf::NT_AMDGPU_METADATA && name.size() == kNoteOwner.size() &&
                             std::memcmp(name.data(), kNoteOwner.data(), name.size()) == 0;
    if (is_metadata) return ByteView(description, notes.origin() + ", metadata");
    offset = description_offset + (std::uint64_t{header.n_descsz} + 3) / 4 * 4;
  }
  return std::nullopt;
}

std::string feature_suffix(std::uint32_t flags, std::uint32_t mask, std::uint32_t on, std::uint32_t off,
                           std::string_view name) {
  if ((flags & mask) == on) return fmt::format(":{}+", name);
  if ((flags & mask) == off) return fmt::format(":{}-", name);
  return {};
}

// What PT_DYNAMIC says, as far as a loader needs it.
struct DynamicTable {
  std::map<std::uint64_t, std::uint64_t> entries;

  std::optional<std::uint64_t> find(std::uint64_t tag) const {
    const auto entry = entries.find(tag);
    if (entry == entries.end()) return std::nullopt;
    return entry->second;
  }
};

}  // namespace

// Takes an ELF file apart, in the order of the functions below.
class CodeObjectReader {
 public:
  CodeObjectReader(std::span<const std::byte> bytes, const std::string& origin)
      : elf_(ByteView(bytes, origin)) {
    object_.origin_ = origin;
  }

  CodeObject read() {
    check_header();
    read_segments();
    read_dynamic_table();
    read_symbols();
    read_relocations();
    read_kernels();
    object_.file_.assign(file().bytes().begin(), file().bytes().end());
    return std::move(object_);
  }

 private:
  struct Symbol {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::string name;
    bool defined = false;
  };

  const ByteView& file() const { return elf_.file(); }
  [[noreturn]] void fail(Reason reason, std::string_view what) const { file().fail(reason, what); }

  void check_header();
  void read_segments();
  void read_dynamic_table();
  void read_symbols();
  void read_relocations();
  void read_kernels();
  void locate(Kernel& kernel, const std::string& symbol_name) const;
  Metadata read_metadata() const;
  std::uint64_t symbol_count(std::uint64_t hash_address) const;

  // Memory of the image, which exists once read_segments() is done. A structure must lie inside one segment.
  const Segment* segment_of(std::uint64_t address, std::uint64_t size) const {
    for (const Segment& segment : object_.segments_) {
      if (address >= segment.address && size <= segment.size &&
          address - segment.address <= segment.size - size) {
        return &segment;
      }
    }
    return nullptr;
  }
  std::span<const std::byte> memory(std::uint64_t address, std::uint64_t size, std::string_view what) const {
    if (segment_of(address, size) == nullptr) {
      fail(Reason::kCorrupt,
           fmt::format("{} takes {:#x} bytes at address {:#x}, which is in no segment", what, size, address));
    }
    return std::span(object_.image_).subspan(address, size);
  }
  template <class Record>
  Record record(std::uint64_t address, std::string_view what) const {
    Record result;
    std::memcpy(&result, memory(address, sizeof(Record), what).data(), sizeof(Record));
    return result;
  }

  ElfFile elf_;
  CodeObject object_;
  DynamicTable dynamic_;
  std::vector<Symbol> symbols_;
};

void CodeObjectReader::check_header() {
  const elf::Elf64_Ehdr& header = elf_.header();
  if (header.e_machine != elf::EM_AMDGPU) {
    fail(Reason::kWrongTarget, fmt::format("the ELF machine is {}, must be {} (AMD GPU) in a code object",
                                           header.e_machine, static_cast<int>(elf::EM_AMDGPU)));
  }
  const std::uint32_t flags = header.e_flags;
  const std::string machine = name_of_machine(flags);
  if (machine != kTarget) {
    fail(Reason::kWrongTarget, fmt::format("compiled for {}, must be {}: compile with --offload-arch={}",
                                           machine, kTarget, kTarget));
  }
  if (header.e_ident[elf::EI_OSABI] != elf::ELFOSABI_AMDGPU_HSA) {
    fail(Reason::kUnsupported,
         fmt::format("the OS ABI is {}, must be {} (HSA)", header.e_ident[elf::EI_OSABI],
                     static_cast<int>(elf::ELFOSABI_AMDGPU_HSA)));
  }
  const int abi = header.e_ident[elf::EI_ABIVERSION];
  if (abi < elf::ELFABIVERSION_AMDGPU_HSA_V4 || abi > elf::ELFABIVERSION_AMDGPU_HSA_V6) {
    fail(Reason::kUnsupported, fmt::format("code object version {}, must be 4, 5 or 6", abi + 2));
  }
  object_.version_ = abi + 2;
  if (header.e_type != elf::ET_DYN) {
    fail(Reason::kUnsupported,
         fmt::format(
             "the ELF type is {}, must be {} (shared object): a relocatable file has to be linked with "
             "ld.lld -shared first",
             header.e_type, static_cast<int>(elf::ET_DYN)));
  }
  object_.target_ =
      machine +
      feature_suffix(flags, elf::EF_AMDGPU_FEATURE_SRAMECC_V4, elf::EF_AMDGPU_FEATURE_SRAMECC_ON_V4,
                     elf::EF_AMDGPU_FEATURE_SRAMECC_OFF_V4, "sramecc") +
      feature_suffix(flags, elf::EF_AMDGPU_FEATURE_XNACK_V4, elf::EF_AMDGPU_FEATURE_XNACK_ON_V4,
                     elf::EF_AMDGPU_FEATURE_XNACK_OFF_V4, "xnack");
}

void CodeObjectReader::read_segments() {
  std::vector<elf::Elf64_Phdr> loads;
  std::copy_if(
      elf_.segments().begin(), elf_.segments().end(), std::back_inserter(loads),
      [](const elf::Elf64_Phdr& segment) { return segment.p_type == elf::PT_LOAD && segment.p_memsz != 0; });
  if (loads.empty()) fail(Reason::kCorrupt, "there is no segment to load");
  std::sort(loads.begin(), loads.end(),
            [](const elf::Elf64_Phdr& a, const elf::Elf64_Phdr& b) { return a.p_vaddr < b.p_vaddr; });

  std::uint64_t end = 0;
  for (const elf::Elf64_Phdr& load : loads) {
    const std::string what = fmt::format("the segment at address {:#x}", load.p_vaddr);
    if (load.p_vaddr < end) {
      fail(Reason::kCorrupt, fmt::format("{} overlaps the one before it, which ends at {:#x}", what, end));
    }
    if (load.p_vaddr > kLargestImage || load.p_memsz > kLargestImage - load.p_vaddr) {
      fail(Reason::kCorrupt, fmt::format("{} has {:#x} bytes, but an image may take {:#x} bytes in all", what,
                                         load.p_memsz, kLargestImage));
    }
    if (load.p_filesz > load.p_memsz) {
      fail(Reason::kCorrupt, fmt::format("{} has {:#x} bytes in the file and only {:#x} in memory", what,
                                         load.p_filesz, load.p_memsz));
    }
    if (load.p_align > 1 && (!is_power_of_two(load.p_align) || load.p_align > kLargestAlignment)) {
      fail(Reason::kCorrupt, fmt::format("{} is aligned to {:#x}, must be a power of two up to {:#x}", what,
                                         load.p_align, kLargestAlignment));
    }
    file().slice(load.p_offset, load.p_filesz, what);
    object_.segments_.push_back({.address = load.p_vaddr,
                                 .size = load.p_memsz,
                                 .file_size = load.p_filesz,
                                 .readable = (load.p_flags & elf::PF_R) != 0,
                                 .writable = (load.p_flags & elf::PF_W) != 0,
                                 .executable = (load.p_flags & elf::PF_X) != 0});
    object_.alignment_ = std::max({object_.alignment_, load.p_align, kEntryAlignment});
    end = load.p_vaddr + load.p_memsz;
  }

  object_.image_.resize(end);
  for (const elf::Elf64_Phdr& load : loads) {
    const auto content = file().slice(load.p_offset, load.p_filesz, "a segment");
    std::copy(content.begin(), content.end(),
              object_.image_.begin() + static_cast<std::ptrdiff_t>(load.p_vaddr));
  }
}

void CodeObjectReader::read_dynamic_table() {
  const auto segment =
      std::find_if(elf_.segments().begin(), elf_.segments().end(),
                   [](const elf::Elf64_Phdr& candidate) { return candidate.p_type == elf::PT_DYNAMIC; });
  if (segment == elf_.segments().end())
    fail(Reason::kCorrupt, "there is no dynamic table, so no symbol to find");
  const ByteView table(memory(segment->p_vaddr, segment->p_memsz, "the dynamic table"),
                       file().origin() + ", dynamic table");
  for (std::uint64_t offset = 0;; offset += sizeof(elf::Elf64_Dyn)) {
    const auto entry = table.read<elf::Elf64_Dyn>(offset, "an entry");
    if (entry.d_tag == elf::DT_NULL) break;
    dynamic_.entries[static_cast<std::uint64_t>(entry.d_tag)] = entry.d_un.d_val;
  }
}

// DT_HASH counts the dynamic symbols; no other entry does.
std::uint64_t CodeObjectReader::symbol_count(std::uint64_t hash_address) const {
  struct HashHeader {
    std::uint32_t bucket_count, chain_count;
  };
  return record<HashHeader>(hash_address, "the symbol hash table").chain_count;
}

void CodeObjectReader::read_symbols() {
  const auto table = dynamic_.find(elf::DT_SYMTAB);
  const auto strings = dynamic_.find(elf::DT_STRTAB);
  const auto strings_size = dynamic_.find(elf::DT_STRSZ);
  const auto hash = dynamic_.find(elf::DT_HASH);
  if (!table || !strings || !strings_size || !hash) {
    fail(Reason::kCorrupt,
         "the dynamic table lacks one of DT_SYMTAB, DT_STRTAB, DT_STRSZ and DT_HASH (link with "
         "--hash-style=both)");
  }
  const std::uint64_t count = symbol_count(*hash);
  memory(*table, count * sizeof(elf::Elf64_Sym), "the symbol table");
  const auto names = memory(*strings, *strings_size, "the symbol name table");

  symbols_.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto symbol = record<elf::Elf64_Sym>(*table + i * sizeof(elf::Elf64_Sym), "a symbol");
    if (symbol.st_name >= names.size()) {
      fail(Reason::kCorrupt, fmt::format("the name of symbol {} is at {:#x} of a name table of {:#x} bytes",
                                         i, symbol.st_name, names.size()));
    }
    const auto* first = reinterpret_cast<const char*>(names.data()) + symbol.st_name;
    const std::size_t longest = names.size() - symbol.st_name;
    const std::size_t length = strnlen(first, longest);
    if (length == longest) fail(Reason::kCorrupt, "the symbol name table does not end with a zero byte");
    symbols_.push_back({.address = symbol.st_value,
                        .size = symbol.st_size,
                        .name = {first, length},
                        .defined = symbol.st_shndx != elf::SHN_UNDEF});
  }
}

void CodeObjectReader::read_relocations() {
  for (const auto& [tag, name] :
       {std::pair{elf::DT_REL, "DT_REL"}, {elf::DT_RELR, "DT_RELR"}, {elf::DT_JMPREL, "DT_JMPREL"}}) {
    if (dynamic_.find(tag)) {
      fail(Reason::kUnsupported, fmt::format("relocations come as {}, must come as DT_RELA", name));
    }
  }
  const auto table = dynamic_.find(elf::DT_RELA);
  if (!table) return;
  const std::uint64_t size = dynamic_.find(elf::DT_RELASZ).value_or(0);
  const std::uint64_t entry_size = dynamic_.find(elf::DT_RELAENT).value_or(sizeof(elf::Elf64_Rela));
  if (entry_size != sizeof(elf::Elf64_Rela) || size % entry_size != 0) {
    fail(Reason::kCorrupt,
         fmt::format("the relocation table has {} bytes in entries of {}, must be entries of {}", size,
                     entry_size, sizeof(elf::Elf64_Rela)));
  }
  memory(*table, size, "the relocation table");
  for (std::uint64_t offset = 0; offset < size; offset += entry_size) {
    const auto entry = record<elf::Elf64_Rela>(*table + offset, "a relocation");
    const std::uint32_t type = entry.getType();
    Relocation relocation{.address = entry.r_offset, .value = static_cast<std::uint64_t>(entry.r_addend)};
    memory(relocation.address, sizeof(std::uint64_t), "the target of a relocation");
    switch (type) {
      case elf::R_AMDGPU_NONE:
        continue;
      case elf::R_AMDGPU_RELATIVE64:
        break;
      case elf::R_AMDGPU_ABS64: {
        const std::uint32_t index = entry.getSymbol();
        if (index >= symbols_.size()) {
          fail(Reason::kCorrupt,
               fmt::format("a relocation uses symbol {}, but there are {}", index, symbols_.size()));
        }
        const Symbol& symbol = symbols_[index];
        if (!symbol.defined) {
          fail(Reason::kUnsupported,
               fmt::format(
                   "{} is undefined: a code object has to define every symbol it uses (link the device "
                   "libraries in)",
                   symbol.name));
        }
        relocation.value += symbol.address;
        break;
      }
      default:
        fail(Reason::kUnsupported,
             fmt::format(
                 "the relocation at {:#x} has type {}, a loaded code object may have R_AMDGPU_ABS64 ({}) and "
                 "R_AMDGPU_RELATIVE64 ({})",
                 entry.r_offset, type, static_cast<int>(elf::R_AMDGPU_ABS64),
                 static_cast<int>(elf::R_AMDGPU_RELATIVE64)));
    }
    object_.relocations_.push_back(relocation);
  }
}

Metadata CodeObjectReader::read_metadata() const {
  for (const elf::Elf64_Phdr& segment : elf_.segments()) {
    if (segment.p_type != elf::PT_NOTE) continue;
    const ByteView notes(file().slice(segment.p_offset, segment.p_filesz, "the note segment"),
                         file().origin());
    if (const auto document = find_metadata(notes)) return parse_metadata(*document);
  }
  fail(Reason::kCorrupt, "there is no AMDGPU metadata note, so no kernel can be told how to start");
}

void CodeObjectReader::read_kernels() {
  Metadata metadata = read_metadata();
  std::set<std::string> names;
  for (std::size_t i = 0; i < metadata.kernels.size(); ++i) {
    Kernel& kernel = metadata.kernels[i];
    if (!names.insert(kernel.name).second) {
      fail(Reason::kCorrupt, fmt::format("the metadata has two kernels named {}", kernel.name));
    }
    locate(kernel, metadata.symbols[i]);
    object_.kernels_.push_back(std::move(kernel));
  }
}

// Finds a kernel's descriptor and its first instruction.
void CodeObjectReader::locate(Kernel& kernel, const std::string& symbol_name) const {
  const auto symbol = std::find_if(symbols_.begin(), symbols_.end(), [&](const Symbol& candidate) {
    return candidate.name == symbol_name && candidate.defined;
  });
  if (symbol == symbols_.end()) {
    fail(Reason::kCorrupt,
         fmt::format("kernel {} has no symbol {} for its descriptor", kernel.name, symbol_name));
  }
  kernel.descriptor_address = symbol->address;
  kernel.descriptor =
      record<KernelDescriptor>(symbol->address, fmt::format("the descriptor of kernel {}", kernel.name));
  kernel.entry_address =
      symbol->address + static_cast<std::uint64_t>(kernel.descriptor.kernel_code_entry_byte_offset);

  // Compatible firmware starts a kernel with preloaded arguments one block later (gfx950.md, "Preload"): both
  // must exist.
  const std::uint64_t shortest = kernel.descriptor.preloaded_dwords() != 0 ? kEntryAlignment + 4 : 4;
  const Segment* code = segment_of(kernel.entry_address, shortest);
  if (code == nullptr || !code->executable) {
    fail(Reason::kCorrupt, fmt::format("kernel {} starts at {:#x}, which is not in executable code",
                                       kernel.name, kernel.entry_address));
  }
  if (kernel.entry_address % kEntryAlignment != 0) {
    fail(Reason::kCorrupt, fmt::format("kernel {} starts at {:#x}, must be a multiple of {}", kernel.name,
                                       kernel.entry_address, kEntryAlignment));
  }
  if (kernel.descriptor.kernarg_size != kernel.kernarg_size) {
    fail(Reason::kCorrupt,
         fmt::format("kernel {} takes {} bytes of arguments by its descriptor and {} by its metadata",
                     kernel.name, kernel.descriptor.kernarg_size, kernel.kernarg_size));
  }
}

CodeObject CodeObject::parse(std::span<const std::byte> elf_bytes, const std::string& origin) {
  return CodeObjectReader(elf_bytes, origin).read();
}

std::vector<std::byte> CodeObject::image_at(std::uint64_t address) const {
  std::vector<std::byte> image = image_;
  for (const Relocation& relocation : relocations_) {
    const std::uint64_t value = address + relocation.value;
    std::memcpy(image.data() + relocation.address, &value, sizeof(value));
  }
  return image;
}

std::vector<CodeObject> parse_code_objects(std::span<const std::byte> bytes, const std::string& origin) {
  const DeviceImages found = find_device_images(bytes, origin);
  std::vector<CodeObject> objects;
  std::set<std::string> other_targets;
  for (const DeviceImage& image : found.images) {
    const bool for_us = image.target == kTarget || image.target.starts_with(fmt::format("{}:", kTarget));
    if (for_us) {
      objects.push_back(CodeObject::parse(image.bytes, image.origin));
    } else {
      other_targets.insert(image.target);
    }
  }
  if (objects.empty()) {
    throw CodeObjectError(
        Reason::kWrongTarget,
        other_targets.empty()
            ? fmt::format("{}: no device code at all, must hold code for {}", origin, kTarget)
            : fmt::format("{}: code for {}, must be for {}: compile with --offload-arch={}", origin,
                          fmt::join(other_targets, ", "), kTarget, kTarget));
  }
  return objects;
}

std::vector<CodeObject> load_code_objects(const std::filesystem::path& file) {
  return parse_code_objects(read_file(file), file.string());
}

std::vector<std::byte> read_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream || std::filesystem::is_directory(file)) {
    throw CodeObjectError(Reason::kUnreadable, fmt::format("{}: cannot be opened: {}", file.string(),
                                                           std::strerror(stream ? EISDIR : errno)));
  }
  std::vector<std::byte> bytes;
  std::vector<char> chunk(std::size_t{1} << 20);
  while (stream.read(chunk.data(), static_cast<std::streamsize>(chunk.size())), stream.gcount() > 0) {
    const auto* first = reinterpret_cast<const std::byte*>(chunk.data());
    bytes.insert(bytes.end(), first, first + stream.gcount());
  }
  if (stream.bad())
    throw CodeObjectError(Reason::kUnreadable, fmt::format("{}: cannot be read", file.string()));
  return bytes;
}

}  // namespace mhcheck::codeobject

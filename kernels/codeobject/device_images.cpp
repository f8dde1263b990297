#include "kernels/codeobject/device_images.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/codeobject/compressed_bundle.h"
#include "kernels/codeobject/elf_file.h"

namespace mhcheck::codeobject {
namespace {

constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kFatBinarySection = ".hip_fatbin";

// An id is kind-architecture-vendor-system-environment-target, such as
// "hipv4-amdgcn-amd-amdhsa--gfx950:xnack-". Empty for the host's entry.
std::string target_of_entry(std::string_view id) {
  if (id.starts_with("host-")) return {};
  std::string_view target = id;
  for (int field = 0; field < 5; ++field) {
    const std::size_t dash = target.find('-');
    if (dash == std::string_view::npos) return std::string(id);
    target.remove_prefix(dash + 1);
  }
  return std::string(target);
}

// Reads the plain bundle at an offset; returns its size. Entry offsets count from the magic.
std::uint64_t read_bundle(const ByteView& file, std::uint64_t offset, std::vector<DeviceImage>& images) {
  const ByteView bundle(file.slice(offset, file.size() - offset, "an offload bundle"),
                        fmt::format("{}, offload bundle at {:#x}", file.origin(), offset));
  const auto count = bundle.read<std::uint64_t>(kBundleMagic.size(), "the number of entries");
  std::uint64_t position = kBundleMagic.size() + sizeof(std::uint64_t);
  std::uint64_t end = position;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto entry =
        bundle.read<std::array<std::uint64_t, 3>>(position, fmt::format("entry {} of {}", i, count));
    const auto [image_offset, image_size, id_size] = entry;
    position += sizeof(entry);
    const auto id_bytes = bundle.slice(position, id_size, fmt::format("the id of entry {}", i));
    const std::string id(reinterpret_cast<const char*>(id_bytes.data()), id_bytes.size());
    position += id_size;
    const auto image = bundle.slice(image_offset, image_size, fmt::format("the image of entry {}", i));
    end = std::max({end, position, image_offset + image_size});
    if (const std::string target = target_of_entry(id); !target.empty() && image_size != 0) {
      images.push_back({target, fmt::format("{}, entry {}", bundle.origin(), i), image});
    }
  }
  return end;
}

// Reads the bundle at an offset, compressed or not; returns the bytes it takes in the file.
std::uint64_t read_any_bundle(const ByteView& file, std::uint64_t offset, DeviceImages& found) {
  if (!file.starts_with(offset, kCompressedBundleMagic)) return read_bundle(file, offset, found.images);
  Decompressed plain = decompress_bundle(file, offset);
  found.unpacked.push_back(std::make_shared<const std::vector<std::byte>>(std::move(plain.bundle)));
  const ByteView unpacked(*found.unpacked.back(),
                          fmt::format("{}, unpacked from {:#x}", file.origin(), offset));
  if (!unpacked.starts_with(0, kBundleMagic)) {
    unpacked.fail(Reason::kCorrupt, fmt::format("the unpacked bytes do not start with {}", kBundleMagic));
  }
  read_bundle(unpacked, 0, found.images);
  return plain.compressed_size;
}

// One bundle after the other, with zero bytes between them: the linker aligns each.
void read_bundles(const ByteView& section, DeviceImages& found) {
  const auto bytes = section.bytes();
  for (std::uint64_t offset = 0;;) {
    const auto next = std::find_if(bytes.begin() + static_cast<std::ptrdiff_t>(offset), bytes.end(),
                                   [](std::byte b) { return b != std::byte{0}; });
    if (next == bytes.end()) return;
    offset = static_cast<std::uint64_t>(next - bytes.begin());
    if (!section.starts_with(offset, kBundleMagic) && !section.starts_with(offset, kCompressedBundleMagic)) {
      section.fail(Reason::kCorrupt,
                   fmt::format("there is no offload bundle at {:#x}: it should start with {} or {}", offset,
                               kBundleMagic, kCompressedBundleMagic));
    }
    offset += read_any_bundle(section, offset, found);
  }
}

void read_host_elf(const ElfFile& elf, DeviceImages& found) {
  const ByteView& file = elf.file();
  bool present = false;
  for (const ElfSection& section : elf.sections()) {
    if (section.name != kFatBinarySection || section.header.sh_type == elf::SHT_NOBITS) continue;
    present = true;
    const auto bytes =
        file.slice(section.header.sh_offset, section.header.sh_size, "the .hip_fatbin section");
    read_bundles(ByteView(bytes, file.origin() + ", .hip_fatbin"), found);
  }
  if (!present) {
    file.fail(Reason::kNotRecognised,
              "this ELF file is for the host and has no .hip_fatbin section, so it carries no GPU code");
  }
}

}  // namespace

std::string name_of_machine(std::uint32_t elf_flags) {
  static constexpr std::pair<std::uint32_t, std::string_view> kMachines[] = {
      {elf::EF_AMDGPU_MACH_AMDGCN_GFX900, "gfx900"},
      {elf::EF_AMDGPU_MACH_AMDGCN_GFX906, "gfx906"},
      {elf::EF_AMDGPU_MACH_AMDGCN_GFX908, "gfx908"},
      {elf::EF_AMDGPU_MACH_AMDGCN_GFX90A, "gfx90a"},
      {elf::EF_AMDGPU_MACH_AMDGCN_GFX942, "gfx942"},
      {elf::EF_AMDGPU_MACH_AMDGCN_GFX950, "gfx950"},
      {elf::EF_AMDGPU_MACH_AMDGCN_GFX9_4_GENERIC, "gfx9-4-generic"},
      {elf::EF_AMDGPU_MACH_AMDGCN_GFX1030, "gfx1030"},
      {elf::EF_AMDGPU_MACH_AMDGCN_GFX1100, "gfx1100"},
      {elf::EF_AMDGPU_MACH_AMDGCN_GFX1101, "gfx1101"},
      {elf::EF_AMDGPU_MACH_AMDGCN_GFX1200, "gfx1200"},
      {elf::EF_AMDGPU_MACH_AMDGCN_GFX1201, "gfx1201"},
      {elf::EF_AMDGPU_MACH_AMDGCN_GFX1250, "gfx1250"},
  };
  const std::uint32_t machine = elf_flags & elf::EF_AMDGPU_MACH;
  for (const auto& [number, name] : kMachines) {
    if (number == machine) return std::string(name);
  }
  return fmt::format("an unknown AMD GPU ({:#04x})", machine);
}

DeviceImages find_device_images(std::span<const std::byte> bytes, const std::string& origin) {
  const ByteView file(bytes, origin);
  DeviceImages found;
  if (file.starts_with(0, kBundleMagic)) {
    found.container = "offload bundle";
    read_bundles(file, found);
  } else if (file.starts_with(0, kCompressedBundleMagic)) {
    found.container = "compressed offload bundle";
    read_bundles(file, found);
  } else if (ElfFile::recognises(file)) {
    const ElfFile elf(file);
    if (elf.header().e_machine == elf::EM_AMDGPU) {
      found.container = "code object";
      found.images.push_back({name_of_machine(elf.header().e_flags), origin, bytes});
    } else {
      found.container = "ELF file with .hip_fatbin";
      read_host_elf(elf, found);
    }
  } else {
    file.fail(
        Reason::kNotRecognised,
        fmt::format("neither an ELF file nor an offload bundle: it should start with 7f 45 4c 46, {} or {}",
                    kBundleMagic, kCompressedBundleMagic));
  }
  return found;
}

}  // namespace mhcheck::codeobject

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/codeobject/byte_view.h"

namespace mhcheck::codeobject {

/// One device image of a file: an ELF code object, with the target that its container names.
struct DeviceImage {
  std::string target;  ///< "gfx950", "gfx942:sramecc+:xnack-"; of a bare code object, from its ELF flags
  std::string origin;  ///< file, container and position, for messages
  std::span<const std::byte> bytes;
};

/// Every device image of a file, in the order in which they stand.
struct DeviceImages {
  /// What the file is: "code object", "offload bundle", "compressed offload bundle", "ELF file with
  /// .hip_fatbin".
  std::string container;
  std::vector<DeviceImage> images;
  /// Backs images that were compressed; the others lie in the caller's bytes, which must outlive this.
  std::vector<std::shared_ptr<const std::vector<std::byte>>> unpacked;
};

/// Finds the device images in a code object, an offload bundle (plain or compressed), or an ELF object,
/// executable or shared library whose `.hip_fatbin` section holds bundles, one per translation unit. `origin`
/// names the bytes in messages. Throws CodeObjectError.
DeviceImages find_device_images(std::span<const std::byte> bytes, const std::string& origin);

/// "gfx950" and the like for the machine byte of an AMDGPU ELF's flags; "an unknown AMD GPU (0x..)"
/// otherwise.
std::string name_of_machine(std::uint32_t elf_flags);

}  // namespace mhcheck::codeobject

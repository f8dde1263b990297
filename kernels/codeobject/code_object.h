#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/codeobject/byte_view.h"
#include "kernels/codeobject/kernel_info.h"

namespace mhcheck::codeobject {

/// The processor that this project runs code for.
inline constexpr std::string_view kTarget = "gfx950";

/// A part of the image with one set of permissions. Addresses count from the image's start.
struct Segment {
  std::uint64_t address = 0;
  std::uint64_t size = 0;  ///< in memory, zero-filled tail included
  std::uint64_t file_size = 0;
  bool readable = false, writable = false, executable = false;
};

/// A value that the loader adds to the image once it knows where the image lies.
struct Relocation {
  std::uint64_t address = 0;  ///< of 8 bytes
  std::uint64_t value =
      0;  ///< without the load address, which is always added: every symbol is inside the image
};

/// One gfx950 code object: an ELF64 shared object of code object version 4, 5 or 6, checked from end to end.
/// Immutable.
class CodeObject {
 public:
  /// Reads an ELF image. `origin` names it in messages. The object keeps a copy of what it needs. Throws
  /// CodeObjectError: another target, or anything truncated, overlapping, out of range or unknown.
  static CodeObject parse(std::span<const std::byte> elf, const std::string& origin);

  const std::string& origin() const { return origin_; }
  /// "gfx950", with ":sramecc+" or ":xnack-" and the like where the object insists on a setting.
  const std::string& target() const { return target_; }
  int version() const { return version_; }  ///< of the code object format: 4, 5 or 6
  const std::vector<Kernel>& kernels() const { return kernels_; }
  const std::vector<Segment>& segments() const { return segments_; }
  const std::vector<Relocation>& relocations() const { return relocations_; }
  std::uint64_t image_size() const { return image_.size(); }
  std::uint64_t image_alignment() const { return alignment_; }
  /// The ELF file as it was given: what a vendor's runtime wants to load.
  std::span<const std::byte> file() const { return file_; }

  /// The image as it has to stand in memory at a device address, a multiple of image_alignment().
  std::vector<std::byte> image_at(std::uint64_t address) const;

 private:
  CodeObject() = default;
  friend class CodeObjectReader;

  std::string origin_, target_;
  int version_ = 0;
  std::vector<Kernel> kernels_;
  std::vector<Segment> segments_;
  std::vector<Relocation> relocations_;
  std::vector<std::byte> image_;
  std::vector<std::byte> file_;
  std::uint64_t alignment_ = 1;
};

/// All gfx950 code objects of a file's bytes (see find_device_images); at least one. Throws CodeObjectError;
/// a file for other targets only says which those are.
std::vector<CodeObject> parse_code_objects(std::span<const std::byte> bytes, const std::string& origin);
std::vector<CodeObject> load_code_objects(const std::filesystem::path& file);

/// The bytes of a file. Throws CodeObjectError (kUnreadable).
std::vector<std::byte> read_file(const std::filesystem::path& file);

}  // namespace mhcheck::codeobject

// manifest.json: what a folder of golden cases holds.
//
//   {
//     "format_version": 1,
//     "contract_version": "1",
//     "program_version": "0.1.0",
//     "cases": [
//       {"name": "...", "file": "....safetensors", "sha256": "...", "size": 12345, "descriptor": "..."}
//     ]
//   }
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace mhcheck::golden {

struct ManifestEntry {
  std::string name;  // unique in the folder
  std::string file;  // NAME.safetensors, beside the manifest
  std::string sha256;
  std::uint64_t size = 0;  // bytes
  std::string descriptor;
  bool operator==(const ManifestEntry&) const = default;
};

struct Manifest {
  std::string contract_version;
  std::string program_version;
  std::vector<ManifestEntry> cases;  // by name
  bool operator==(const Manifest&) const = default;
};

inline constexpr std::uint64_t kManifestFormatVersion = 1;

std::filesystem::path manifest_path(const std::filesystem::path& folder);
std::string case_file_name(const std::string& case_name);

// Throws FileError: unknown, missing and repeated fields, values of the wrong kind, a file outside the
// folder, another format version.
Manifest read_manifest(const std::filesystem::path& folder);

// The same manifest gives the same bytes, whatever the order of its cases. Throws FileError.
void write_manifest(const std::filesystem::path& folder, const Manifest& manifest);

}  // namespace mhcheck::golden

// The safetensors file format: named tensors and string metadata in one file, which PyTorch, JAX, numpy and
// the kernel frameworks read and write.
//
//   bytes 0..7          N, the length of the header, little-endian
//   bytes 8..8+N-1      the header: one JSON object, padded with spaces
//                       {"__metadata__": {"key": "text", ...},
//                        "name": {"dtype": "BF16", "shape": [3, 512], "data_offsets": [begin, end]}, ...}
//   bytes 8+N..         the tensors, row-major, little-endian; offsets count from here
//
// Source: README.md of github.com/huggingface/safetensors, "Format".
#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "golden/file_error.h"
#include "reference/base/tensor.h"

namespace mhcheck::golden {

// The element formats that are read. fp64 is for values before their rounding and cannot be a Tensor.
enum class FileDtype : std::uint8_t { bf16, fp16, fp32, fp64 };

// "BF16", "F16", "F32", "F64": as the header writes them.
std::string_view name_of(FileDtype dtype);
FileDtype file_dtype_of(Dtype dtype);

// What the header says of one tensor. Offsets count from the first byte after the header.
struct StoredTensor {
  FileDtype dtype = FileDtype::fp32;
  Extents shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

using Metadata = std::map<std::string, std::string>;

// Checks the whole header and every size on opening; the elements are read when asked for, straight into
// place, so that a file of several GB needs the memory of the tensors that are wanted and no more.
//
// Every member function throws FileError.
class SafetensorsReader {
 public:
  explicit SafetensorsReader(const std::filesystem::path& path);
  // The same from any seekable stream; `name` stands for the path in messages.
  SafetensorsReader(std::unique_ptr<std::istream> stream, std::string name);

  const std::string& file() const { return file_; }
  const Metadata& metadata() const { return metadata_; }
  const std::map<std::string, StoredTensor>& tensors() const { return tensors_; }

  // A tensor in one of the storage formats; F64 is an error.
  Tensor read(const std::string& name);
  // The elements of an F64 tensor; any other format is an error.
  std::vector<double> read_doubles(const std::string& name);

 private:
  void read_header();
  const StoredTensor& find(const std::string& name) const;
  void read_bytes(std::uint64_t offset, std::span<std::byte> bytes);

  std::unique_ptr<std::istream> stream_;
  std::string file_;
  Metadata metadata_;
  std::map<std::string, StoredTensor> tensors_;
  std::uint64_t data_begin_ = 0;
};

using TensorRefs = std::map<std::string, const Tensor*>;

// The same arguments give the same bytes. The header's length is a multiple of 8, and tensors stand by
// falling element size, then by name: every tensor is aligned to its element size. The file appears only when
// complete. Throws FileError when it cannot be written, std::invalid_argument for a name or text that the
// format cannot hold.
void write_safetensors(const std::filesystem::path& path, const Metadata& metadata,
                       const TensorRefs& tensors);

}  // namespace mhcheck::golden

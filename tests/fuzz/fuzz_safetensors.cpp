// Any bytes are a file or a FileError of one line; what opens is read to its last element, and every byte of
// it belongs to the header or to one tensor.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>

#include "golden/safetensors.h"

namespace {

using namespace mhcheck::golden;

std::size_t read_bytes(SafetensorsReader& reader, const std::string& name) {
  if (reader.tensors().at(name).dtype == FileDtype::fp64)
    return reader.read_doubles(name).size() * sizeof(double);
  return reader.read(name).bytes().size();
}

std::uint64_t header_length(const std::string& file) {
  std::uint64_t length;
  std::memcpy(&length, file.data(), sizeof length);
  return length;
}

void read_everything(const std::string& file) {
  try {
    SafetensorsReader reader(std::make_unique<std::istringstream>(file), "fuzz");
    std::size_t tensor_bytes = 0;
    for (const auto& [name, stored] : reader.tensors()) {
      const std::size_t bytes = read_bytes(reader, name);
      if (bytes != stored.end - stored.begin) std::abort();
      tensor_bytes += bytes;
    }
    if (sizeof(std::uint64_t) + header_length(file) + tensor_bytes != file.size()) std::abort();
  } catch (const FileError& error) {
    if (std::strchr(error.what(), '\n') != nullptr) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string file(reinterpret_cast<const char*>(data), size);
  read_everything(file);
  if (size < sizeof(std::uint64_t)) return 0;
  // The same once more with a header length that the file can have: nearly every mutation breaks it, and the
  // search would not come further.
  const std::uint64_t possible = header_length(file) % (size - sizeof(std::uint64_t) + 1);
  std::memcpy(file.data(), &possible, sizeof possible);
  read_everything(file);
  return 0;
}

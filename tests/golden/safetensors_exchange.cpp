// The C++ side of the Python tests: writes one file that Python reads, and tells what it reads in one that
// Python wrote.
//
//   safetensors_exchange write FILE   tensors of every storage format, bits by the rule in pattern()
//   safetensors_exchange show FILE    JSON: {"metadata": {...}, "tensors": {NAME: {"dtype", "shape", "hex"}}}
//
// A file that cannot be read gives one line on standard error and exit code 2.

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "golden/safetensors.h"

namespace mhcheck::golden {
namespace {

// Element i of every tensor: walks through all bit patterns of 16 bits, NaNs and subnormals included.
std::uint32_t pattern(Dtype dtype, std::size_t i) {
  const auto bits = static_cast<std::uint32_t>(i * 40503u);
  return dtype == Dtype::fp32 ? bits * 2654435761u : bits & 0xffffu;
}

Tensor patterned(Dtype dtype, Extents shape) {
  Tensor tensor(dtype, std::move(shape));
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor.set_bits(i, pattern(dtype, i));
  return tensor;
}

void write(const char* path) {
  const TensorMap tensors{{"in.residual", patterned(Dtype::bf16, {3, 4, 77})},
                          {"in.x", patterned(Dtype::fp16, {3, 77})},
                          {"in.fn", patterned(Dtype::fp32, {24, 308})},
                          {"in.none", patterned(Dtype::bf16, {0, 4, 77})},
                          {"in.scalar", patterned(Dtype::fp32, {})}};
  TensorRefs refs;
  for (const auto& [name, tensor] : tensors) refs[name] = &tensor;
  write_safetensors(
      path, {{"descriptor", "a \"quoted\" text, a back\\slash and \u00fc"}, {"contract_version", "1"}}, refs);
}

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

void show(const char* path) {
  SafetensorsReader reader{std::filesystem::path(path)};
  nlohmann::json tensors = nlohmann::json::object();
  for (const auto& [name, stored] : reader.tensors()) {
    std::string elements;
    if (stored.dtype == FileDtype::fp64) {
      const std::vector<double> doubles = reader.read_doubles(name);
      elements = hex(std::as_bytes(std::span(doubles)));
    } else {
      elements = hex(reader.read(name).bytes());
    }
    tensors[name] = {{"dtype", name_of(stored.dtype)}, {"shape", stored.shape}, {"hex", elements}};
  }
  fmt::print("{}\n", nlohmann::json{{"metadata", reader.metadata()}, {"tensors", tensors}}.dump());
}

}  // namespace
}  // namespace mhcheck::golden

int main(int argc, char** argv) {
  using namespace mhcheck::golden;
  const std::string_view command = argc == 3 ? argv[1] : "";
  if (command != "write" && command != "show") {
    std::fputs("usage: safetensors_exchange write|show FILE\n", stderr);
    return 2;
  }
  try {
    command == "write" ? write(argv[2]) : show(argv[2]);
  } catch (const FileError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
  return 0;
}

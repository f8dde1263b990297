#include "kernels/runtime/kernel_arguments.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

namespace mhcheck::runtime {
namespace {

// LLVM's AMDGPU usage guide, "Code Object V5 Metadata", value kinds. HIP launches have three dimensions,
// always.
std::optional<std::uint64_t> hidden_value(std::string_view kind, const Geometry& geometry) {
  const std::map<std::string_view, std::uint64_t> values = {
      {"hidden_block_count_x", geometry.grid[0]},
      {"hidden_block_count_y", geometry.grid[1]},
      {"hidden_block_count_z", geometry.grid[2]},
      {"hidden_group_size_x", geometry.block[0]},
      {"hidden_group_size_y", geometry.block[1]},
      {"hidden_group_size_z", geometry.block[2]},
      {"hidden_remainder_x", 0},
      {"hidden_remainder_y", 0},
      {"hidden_remainder_z", 0},
      {"hidden_global_offset_x", 0},
      {"hidden_global_offset_y", 0},
      {"hidden_global_offset_z", 0},
      {"hidden_grid_dims", 3},
      {"hidden_dynamic_lds_size", geometry.dynamic_lds_bytes},
      {"hidden_printf_buffer", 0},
      {"hidden_hostcall_buffer", 0},
      {"hidden_multigrid_sync_arg", 0},
      {"hidden_heap_v1", 0},
      {"hidden_default_queue", 0},
      {"hidden_completion_action", 0},
      {"hidden_queue_ptr", 0},
      {"hidden_private_base", 0},
      {"hidden_shared_base", 0},
      {"hidden_none", 0},
  };
  const auto value = values.find(kind);
  if (value == values.end()) return std::nullopt;
  return value->second;
}

}  // namespace

std::vector<std::byte> build_kernel_arguments(const codeobject::Kernel& kernel, const Geometry& geometry,
                                              std::span<const ArgumentValue> arguments) {
  std::vector<std::byte> segment(kernel.kernarg_size);
  std::size_t next_explicit = 0;
  for (const codeobject::Argument& argument : kernel.arguments) {
    std::byte* const target = segment.data() + argument.offset;
    if (!argument.hidden()) {
      const auto bytes = arguments[next_explicit++].bytes();
      std::memcpy(target, bytes.data(), bytes.size());
      continue;
    }
    const std::optional<std::uint64_t> value = hidden_value(argument.value_kind, geometry);
    if (!value) {
      throw DeviceError(Failure::kUnsupported,
                        kernel.name + ": no value is known for its argument of kind " + argument.value_kind);
    }
    std::memcpy(target, &*value, std::min<std::size_t>(argument.size, sizeof(*value)));
  }
  return segment;
}

}  // namespace mhcheck::runtime

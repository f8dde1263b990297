#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mhcheck::codeobject {

/// One argument of a kernel as the metadata describes it.
struct Argument {
  std::string name;          ///< may be empty: compilers leave names out
  std::string type_name;     ///< may be empty
  std::string value_kind;    ///< "by_value", "global_buffer", "hidden_block_count_x", ...
  std::uint32_t offset = 0;  ///< in the kernel argument segment
  std::uint32_t size = 0;

  /// Hidden arguments are filled by the runtime, not by the caller.
  bool hidden() const { return value_kind.starts_with("hidden_"); }
};

/// The kernel descriptor, 64 bytes in the read-only segment (LLVM's AMDGPU usage guide, "Kernel Descriptor").
struct KernelDescriptor {
  std::uint32_t group_segment_fixed_size = 0;
  std::uint32_t private_segment_fixed_size = 0;
  std::uint32_t kernarg_size = 0;
  std::array<std::uint8_t, 4> reserved0{};
  std::int64_t kernel_code_entry_byte_offset = 0;  ///< from the descriptor's own address
  std::array<std::uint8_t, 20> reserved1{};
  std::uint32_t compute_pgm_rsrc3 = 0;
  std::uint32_t compute_pgm_rsrc1 = 0;
  std::uint32_t compute_pgm_rsrc2 = 0;
  std::uint16_t kernel_code_properties = 0;
  std::uint16_t kernarg_preload = 0;
  std::array<std::uint8_t, 4> reserved3{};

  // Fields of the words above that a launch or a reader needs.
  std::uint32_t accum_offset() const { return ((compute_pgm_rsrc3 & 0x3f) + 1) * 4; }
  std::uint32_t allocated_vgprs() const { return ((compute_pgm_rsrc1 & 0x3f) + 1) * 8; }
  std::uint32_t preloaded_dwords() const { return kernarg_preload & 0x7f; }
  bool needs_dispatch_ptr() const { return (kernel_code_properties >> 1 & 1) != 0; }
  bool needs_queue_ptr() const { return (kernel_code_properties >> 2 & 1) != 0; }
};
static_assert(sizeof(KernelDescriptor) == 64);

/// One kernel of a code object. Addresses count from the start of the code object's image.
struct Kernel {
  std::string name;       ///< mangled
  std::string demangled;  ///< "void scale<float>(float*, int)"; equal to `name` where that is not mangled
  KernelDescriptor descriptor;
  std::uint64_t descriptor_address = 0;
  std::uint64_t entry_address = 0;

  // From the metadata.
  std::vector<Argument> arguments;  ///< by offset, hidden ones included
  std::uint32_t kernarg_size = 0;
  std::uint32_t kernarg_alignment = 8;
  std::uint32_t sgpr_count = 0, vgpr_count = 0, agpr_count = 0;  ///< vgpr_count includes AGPRs
  std::uint32_t sgpr_spills = 0, vgpr_spills = 0;
  std::uint32_t max_workgroup_size = 1024;  ///< work-items
  std::optional<std::array<std::uint32_t, 3>> required_workgroup_size;
  bool uses_dynamic_stack = false;

  /// The arguments that a caller passes, in order.
  std::vector<Argument> explicit_arguments() const;
};

}  // namespace mhcheck::codeobject

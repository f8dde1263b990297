#include "kernels/codeobject/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "kernels/codeobject/device_images.h"

namespace mhcheck::codeobject {
namespace {

class Lines {
 public:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    text_ += '\n';
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_registers(Lines& lines, const Kernel& kernel) {
  const std::uint32_t vector_only = kernel.vgpr_count - std::min(kernel.vgpr_count, kernel.agpr_count);
  lines.add("    registers     {} SGPRs, {} VGPRs, {} AGPRs (from {}), spilled {} SGPRs and {} VGPRs",
            kernel.sgpr_count, vector_only, kernel.agpr_count, kernel.descriptor.accum_offset(),
            kernel.sgpr_spills, kernel.vgpr_spills);
}

void add_memory(Lines& lines, const Kernel& kernel) {
  lines.add("    LDS           {} bytes static", kernel.descriptor.group_segment_fixed_size);
  lines.add("    scratch       {} bytes a work-item{}", kernel.descriptor.private_segment_fixed_size,
            kernel.uses_dynamic_stack ? ", and a dynamic stack" : "");
}

void add_workgroup(Lines& lines, const Kernel& kernel) {
  if (kernel.required_workgroup_size) {
    const auto& [x, y, z] = *kernel.required_workgroup_size;
    lines.add("    workgroup     exactly {} x {} x {} work-items", x, y, z);
  } else {
    lines.add("    workgroup     up to {} work-items", kernel.max_workgroup_size);
  }
}

void add_arguments(Lines& lines, const Kernel& kernel) {
  const std::vector<Argument> visible = kernel.explicit_arguments();
  const auto hidden = kernel.arguments.size() - visible.size();
  lines.add("    arguments     {} bytes: {} explicit, {} hidden, {} dwords preloaded", kernel.kernarg_size,
            visible.size(), hidden, kernel.descriptor.preloaded_dwords());
  for (const Argument& argument : visible) {
    lines.add("      {:>5}  {:>3} bytes  {:<14} {}{}{}", argument.offset, argument.size, argument.value_kind,
              argument.name, argument.type_name.empty() ? "" : " : ", argument.type_name);
  }
}

}  // namespace

std::string describe(const CodeObject& object) {
  Lines lines;
  lines.add("code object version {} for {}, {} kernels", object.version(), object.target(),
            object.kernels().size());
  for (const Segment& segment : object.segments()) {
    lines.add("  segment {:#010x}  {}{}{}  {} bytes, {} from the file", segment.address,
              segment.readable ? 'r' : '-', segment.writable ? 'w' : '-', segment.executable ? 'x' : '-',
              segment.size, segment.file_size);
  }
  if (!object.relocations().empty()) lines.add("  {} relocations", object.relocations().size());
  for (const Kernel& kernel : object.kernels()) {
    lines.add("  kernel {}", kernel.demangled);
    if (kernel.demangled != kernel.name) lines.add("    symbol        {}", kernel.name);
    lines.add("    entry         {:#x}", kernel.entry_address);
    add_registers(lines, kernel);
    add_memory(lines, kernel);
    add_workgroup(lines, kernel);
    add_arguments(lines, kernel);
  }
  return lines.take();
}

std::string describe_file(const std::filesystem::path& file) {
  const std::vector<std::byte> bytes = read_file(file);
  const DeviceImages found = find_device_images(bytes, file.string());
  std::string text =
      fmt::format("{}: {}, {} device images\n", file.string(), found.container, found.images.size());
  for (const DeviceImage& image : found.images) {
    if (image.target.substr(0, image.target.find(':')) == kTarget) {
      text += describe(CodeObject::parse(image.bytes, image.origin));
    } else {
      text += fmt::format("code for {}, {} bytes (not read: this program runs {})\n", image.target,
                          image.bytes.size(), kTarget);
    }
  }
  return text;
}

}  // namespace mhcheck::codeobject

#include "conformance/manifest_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "conformance/shell_word.h"
#include "kernels/manifests/manifest_kernels.h"
#include "kernels/runtime/open_device.h"

namespace mhcheck::conformance {
namespace {

// How the command line says it.
std::string options_of(const BroughtKernels& brought, const std::optional<std::string>& variant) {
  std::string options = fmt::format(" --manifest {}", shell_word(brought.manifest.native()));
  if (!brought.code_object.empty()) {
    options += fmt::format(" --code-object {}", shell_word(brought.code_object.native()));
  }
  if (variant) options += fmt::format(" --variant {}", shell_word(*variant));
  return options + device_options(brought.device, brought.simulation);
}

KernelRow row_of(const BroughtKernels& brought, const kernels::Manifest& manifest,
                 std::optional<std::string> variant) {
  return {.name = kernels::kernel_set_name(manifest, variant),
          .device = brought.device,
          .summary = fmt::format("from {}", manifest.origin),
          .options = options_of(brought, variant),
          .make = [device = brought.device, simulation = brought.simulation, manifest, variant,
                   code_object = kernels::code_object_path(manifest, brought.code_object)] {
            return std::make_unique<kernels::ManifestKernels>(runtime::open_device(device, simulation),
                                                              manifest, code_object, variant);
          }};
}

void require_code_objects(std::string_view device) {
  require_device(device);
  std::string names;
  for (const runtime::Provider& provider : runtime::providers()) {
    if (provider.name == device) return;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", provider.name);
  }
  throw UnknownName(
      fmt::format("--manifest: device {} runs no code objects; choose one with --device: {}", device, names));
}

}  // namespace

std::vector<KernelRow> rows_of(const BroughtKernels& brought) {
  require_code_objects(brought.device);
  const kernels::Manifest manifest = kernels::load_manifest(brought.manifest);
  if (brought.variant.empty()) return {row_of(brought, manifest, std::nullopt)};
  std::vector<KernelRow> rows;
  for (const std::string& name : kernels::variant_names(manifest)) {
    if (brought.variant == kernels::kAllVariants || brought.variant == name) {
      rows.push_back(row_of(brought, manifest, name));
    }
  }
  if (rows.empty()) {
    throw UnknownName(fmt::format("--variant: {} has no variant '{}', there are {} and {} for each of them",
                                  manifest.origin, brought.variant,
                                  fmt::join(kernels::variant_names(manifest), ", "), kernels::kAllVariants));
  }
  return rows;
}

}  // namespace mhcheck::conformance

#include "conformance/kernel_registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "conformance/defaults.h"
#include "kernels/host/host_kernels.h"
#include "kernels/manifests/manifest_kernels.h"
#include "kernels/runtime/open_device.h"

namespace mhcheck::conformance {
namespace {

// Our own kernels: the manifest that the build lays beside their machine code, and where that runs.
struct OwnKernels {
  std::string_view device;
  std::string_view manifest;
  std::string_view summary;
};
constexpr std::string_view kOwnName = "mhc";
constexpr OwnKernels kOwnKernels[] = {
    {"sim", MHCHECK_GFX950_MANIFEST, "every operator in HIP, as gfx950 machine code"},
    {"hip", MHCHECK_GFX950_MANIFEST, "every operator in HIP, as gfx950 machine code"},
    {"cuda", MHCHECK_SM_90_MANIFEST, "the same sources for sm_90"},
};

std::unique_ptr<kernels::KernelSet> make(const OwnKernels& own, const simulator::Options& simulation) {
  kernels::Manifest manifest = kernels::load_manifest(own.manifest);
  const std::filesystem::path code_object = kernels::code_object_path(manifest, {});
  return std::make_unique<kernels::ManifestKernels>(runtime::open_device(own.device, simulation),
                                                    std::move(manifest), code_object);
}

std::string kernel_options(std::string_view name, std::string_view device,
                           const simulator::Options& simulation) {
  return (name == kDefaultKernel ? "" : fmt::format(" --kernel {}", name)) +
         device_options(device, simulation);
}

}  // namespace

std::span<const DeviceRow> all_devices() {
  static const std::vector<DeviceRow> kDevices = [] {
    std::vector<DeviceRow> rows{{"host", "this machine's CPU, for the host baseline"}};
    for (const runtime::Provider& provider : runtime::providers()) {
      rows.push_back({provider.name, provider.summary});
    }
    return rows;
  }();
  return kDevices;
}

void require_device(std::string_view device) {
  std::vector<std::string_view> names;
  for (const DeviceRow& row : all_devices()) {
    if (row.name == device) return;
    names.push_back(row.name);
  }
  throw UnknownName(fmt::format("no device is called '{}', there are {}", device, fmt::join(names, ", ")));
}

std::vector<KernelRow> all_kernels(const simulator::Options& simulation) {
  std::vector<KernelRow> rows;
  for (const kernels::HostKernelRow& host : kernels::host_kernels()) {
    rows.push_back({.name = std::string(host.name),
                    .device = "host",
                    .summary = std::string(host.summary),
                    .options = kernel_options(host.name, "host", simulation),
                    .make = [&host] { return kernels::make_host_kernels(host); }});
  }
  for (const OwnKernels& own : kOwnKernels) {
    rows.push_back({.name = std::string(kOwnName),
                    .device = std::string(own.device),
                    .summary = std::string(own.summary),
                    .options = kernel_options(kOwnName, own.device, simulation),
                    .make = [&own, simulation] { return make(own, simulation); }});
  }
  return rows;
}

std::vector<KernelRow> kernels_of(std::string_view device, const simulator::Options& simulation) {
  require_device(device);
  std::vector<KernelRow> rows = all_kernels(simulation);
  std::erase_if(rows, [&](const KernelRow& row) { return row.device != device; });
  return rows;
}

const KernelRow& kernel_named(std::string_view name, std::span<const KernelRow> rows) {
  std::vector<std::string_view> names;
  for (const KernelRow& row : rows) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  throw UnknownName(fmt::format("no kernel of device {} is called '{}', there are {}", rows.front().device,
                                name, fmt::join(names, ", ")));
}

std::string device_options(std::string_view device, const simulator::Options& simulation) {
  std::string options;
  if (device != kDefaultDevice) options += fmt::format(" --device {}", device);
  if (simulation.seed != 0) options += fmt::format(" --schedule-seed {}", simulation.seed);
  return options;
}

bool rounds_as(const kernels::KernelSet& kernel, const Case& c) {
  if (!kernel.implements(c.problem.op)) return false;
  Case stated = c;
  stated.profile = kernel.profile(c.problem.op);
  return to_descriptor(stated) == to_descriptor(c);  // which leave out what the operator does not depend on
}

}  // namespace mhcheck::conformance

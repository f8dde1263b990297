#include "conformance/kernel_registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "kernels/host/host_kernels.h"
#include "kernels/manifests/manifest_kernels.h"
#include "kernels/runtime/open_device.h"

namespace mhcheck::conformance {
namespace {

constexpr std::array kDevices{
    DeviceRow{"host", "this machine's CPU"},
    DeviceRow{"sim", "the gfx950 simulator, on this machine's CPU"},
    DeviceRow{"hip", "a gfx950 GPU, through the HIP runtime"},
    DeviceRow{"cuda", "an NVIDIA GPU, through its driver"},
};

// Our own kernels: the manifest that the build lays beside their machine code, and where that runs.
struct OwnKernels {
  std::string_view device;
  std::string_view manifest;
  std::string_view summary;
};
constexpr OwnKernels kOwnKernels[] = {
    {"sim", MHCHECK_GFX950_MANIFEST, "every operator in HIP, as gfx950 machine code"},
    {"hip", MHCHECK_GFX950_MANIFEST, "every operator in HIP, as gfx950 machine code"},
    {"cuda", MHCHECK_SM_90_MANIFEST, "the same sources for sm_90"},
};

std::unique_ptr<kernels::KernelSet> make(const OwnKernels& own) {
  kernels::Manifest manifest = kernels::load_manifest(own.manifest);
  const std::filesystem::path code_object = kernels::code_object_path(manifest, {});
  return std::make_unique<kernels::ManifestKernels>(runtime::open_device(own.device), std::move(manifest),
                                                    code_object);
}

std::vector<KernelRow> registered() {
  std::vector<KernelRow> rows;
  for (const kernels::HostKernelRow& host : kernels::host_kernels()) {
    rows.push_back({.name = std::string(host.name),
                    .device = "host",
                    .summary = std::string(host.summary),
                    .make = [&host] { return kernels::make_host_kernels(host); }});
  }
  for (const OwnKernels& own : kOwnKernels) {
    rows.push_back({.name = "mhc",
                    .device = std::string(own.device),
                    .summary = std::string(own.summary),
                    .make = [&own] { return make(own); }});
  }
  return rows;
}

}  // namespace

std::span<const DeviceRow> all_devices() { return kDevices; }

std::span<const KernelRow> all_kernels() {
  static const std::vector<KernelRow> rows = registered();
  return rows;
}

std::vector<const KernelRow*> kernels_of(std::string_view device) {
  if (std::ranges::find(kDevices, device, &DeviceRow::name) == kDevices.end()) {
    std::vector<std::string_view> names;
    for (const DeviceRow& row : kDevices) names.push_back(row.name);
    throw UnknownName(fmt::format("no device is called '{}', there is {}", device, fmt::join(names, ", ")));
  }
  std::vector<const KernelRow*> rows;
  for (const KernelRow& row : all_kernels()) {
    if (row.device == device) rows.push_back(&row);
  }
  return rows;
}

const KernelRow& kernel_named(std::string_view name, std::string_view device) {
  std::vector<std::string_view> names;
  for (const KernelRow* row : kernels_of(device)) {
    if (row->name == name) return *row;
    names.push_back(row->name);
  }
  throw UnknownName(fmt::format("no kernel of device {} is called '{}', there are {}", device, name,
                                fmt::join(names, ", ")));
}

bool rounds_as(const kernels::KernelSet& kernel, const Case& c) {
  if (!kernel.implements(c.problem.op)) return false;
  Case stated = c;
  stated.profile = kernel.profile(c.problem.op);
  return to_descriptor(stated) == to_descriptor(c);  // which leave out what the operator does not depend on
}

}  // namespace mhcheck::conformance

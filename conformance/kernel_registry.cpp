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
};

// Where gfx950 machine code runs.
constexpr std::string_view kGfx950Devices[] = {"sim", "hip"};

// Our own HIP kernels, from the manifest that the build lays beside their code object.
std::unique_ptr<kernels::KernelSet> plain_kernels(std::string_view device) {
  kernels::Manifest manifest = kernels::load_manifest(MHCHECK_PLAIN_MANIFEST);
  const std::filesystem::path code_object = kernels::code_object_path(manifest, {});
  return std::make_unique<kernels::ManifestKernels>(runtime::open_device(device), std::move(manifest),
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
  for (const std::string_view device : kGfx950Devices) {
    rows.push_back({.name = "plain",
                    .device = std::string(device),
                    .summary = "mhc_pre and mhc_post in plain HIP, as gfx950 machine code",
                    .make = [device] { return plain_kernels(device); }});
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

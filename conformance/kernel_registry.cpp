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

// Where gfx950 machine code runs.
constexpr std::string_view kGfx950Devices[] = {"sim", "hip"};

// Our own HIP kernels, from the manifest that the build lays beside their code object.
std::unique_ptr<kernels::KernelSet> plain_kernels(std::string_view device,
                                                  const simulator::Options& simulation) {
  kernels::Manifest manifest = kernels::load_manifest(MHCHECK_PLAIN_MANIFEST);
  const std::filesystem::path code_object = kernels::code_object_path(manifest, {});
  return std::make_unique<kernels::ManifestKernels>(runtime::open_device(device, simulation),
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
  for (const std::string_view device : kGfx950Devices) {
    rows.push_back({.name = "plain",
                    .device = std::string(device),
                    .summary = "mhc_pre and mhc_post in plain HIP, as gfx950 machine code",
                    .options = kernel_options("plain", device, simulation),
                    .make = [device, simulation] { return plain_kernels(device, simulation); }});
  }
  return rows;
}

std::vector<KernelRow> kernels_of(std::string_view device, const simulator::Options& simulation) {
  require_device(device);
  std::vector<KernelRow> rows = all_kernels(simulation);
  std::erase_if(rows, [&](const KernelRow& row) { return row.device != device; });
  if (rows.empty()) {
    throw UnknownName(fmt::format(
        "the program has no kernels of its own for device {}: bring some with --manifest", device));
  }
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

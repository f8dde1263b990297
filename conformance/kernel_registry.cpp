#include "conformance/kernel_registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "kernels/host/host_kernels.h"

namespace mhcheck::conformance {
namespace {

constexpr std::array kDevices{DeviceRow{"host", "this machine's CPU"}};

std::vector<KernelRow> registered() {
  std::vector<KernelRow> rows;
  for (const kernels::HostKernelRow& host : kernels::host_kernels()) {
    rows.push_back({.name = std::string(host.name),
                    .device = "host",
                    .summary = std::string(host.summary),
                    .make = [&host] { return kernels::make_host_kernels(host); }});
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
  Case stated = c;
  stated.profile = kernel.profile(c.problem.op);
  return to_descriptor(stated) == to_descriptor(c);  // which leave out what the operator does not depend on
}

}  // namespace mhcheck::conformance

#include "kernels/runtime/open_device.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/runtime/cuda_device.h"
#include "kernels/runtime/hip_device.h"
#include "kernels/runtime/sim_device.h"

namespace mhcheck::runtime {
namespace {

struct Row {
  Provider provider;
  std::unique_ptr<Device> (*open)(const simulator::Options&);
};

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      {{"sim", "gfx950 simulated on this CPU"},
       [](const simulator::Options& options) { return open_sim(options); }},
      {{"hip", "a gfx950 GPU, or AMD's emulator, through libamdhip64"},
       [](const simulator::Options&) { return open_hip(); }},
      {{"cuda", "an NVIDIA GPU through libcuda"}, [](const simulator::Options&) { return open_cuda(); }},
  };
  return kRows;
}

}  // namespace

const std::vector<Provider>& providers() {
  static const std::vector<Provider> kProviders = [] {
    std::vector<Provider> all;
    for (const Row& row : rows()) all.push_back(row.provider);
    return all;
  }();
  return kProviders;
}

std::unique_ptr<Device> open_device(std::string_view provider, const simulator::Options& simulation) {
  for (const Row& row : rows()) {
    if (row.provider.name == provider) return row.open(simulation);
  }
  std::string names;
  for (const Row& row : rows()) names += fmt::format("{}{}", names.empty() ? "" : ", ", row.provider.name);
  throw DeviceError(Failure::kUnavailable,
                    fmt::format("there is no device named \"{}\", must be one of: {}", provider, names));
}

}  // namespace mhcheck::runtime

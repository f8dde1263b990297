// The tables of docs/kernels.md, in Markdown: what our own kernels move and compute at production sizes,
// counted by the simulator, and what the compiler gave them, read from the code object.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "bench/production_problem.h"
#include "kernels/codeobject/code_object.h"
#include "kernels/manifests/manifest_kernels.h"
#include "kernels/runtime/sim_device.h"

namespace {

using namespace mhcheck;

constexpr std::int64_t kHiddenSizes[] = {1280, 2560, 4096, 5120, 7168};
constexpr std::int64_t kTokenCounts[] = {1, 128, 1024};

struct Cost {
  int launches = 0;
  double minimum = 0;    // bytes of every tensor, once
  double requested = 0;  // bytes that lanes load and store, whichever cache serves them
  double touched = 0;    // bytes of the cache lines that a launch touches, once a launch
  std::uint64_t mfma = 0;
};

Cost cost_of(kernels::ManifestKernels& kernels, const Problem& problem) {
  Cost cost;
  TensorMap inputs;
  kernels::OutputRegions outputs;
  for (const TensorSpec& spec : input_specs(problem)) {
    const Tensor& tensor = inputs.emplace(spec.name, Tensor(spec.dtype, spec.shape)).first->second;
    cost.minimum += static_cast<double>(tensor.bytes().size());
  }
  for (const TensorSpec& spec : output_specs(problem)) {
    kernels::OutputRegion& region = outputs[std::string(spec.name)];
    region.bytes.resize(element_count(spec.shape) * size_of(spec.dtype));
    cost.minimum += static_cast<double>(region.bytes.size());
  }
  constexpr double kLine = 128;
  for (const kernels::LaunchReport& launch : kernels.run(problem, inputs, outputs).launches) {
    const auto counted = [&](const char* name) { return launch.counters.at(name); };
    ++cost.launches;
    cost.requested += static_cast<double>(counted("memory_bytes_read") + counted("memory_bytes_written"));
    cost.touched += kLine * static_cast<double>(counted("cache_lines"));
    cost.mfma += counted("mfma");
  }
  return cost;
}

void print_operators(kernels::ManifestKernels& kernels) {
  fmt::print(
      "| operator | hidden_size | launches | minimum, MB | touched / minimum | requested / minimum | MFMA |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const OperatorRow& row : all_operators()) {
    for (const std::int64_t hidden : kHiddenSizes) {
      std::set<int> launches;
      std::vector<std::string> minimum, touched, requested, mfma;
      for (const std::int64_t tokens : kTokenCounts) {
        const Cost cost = cost_of(kernels, production_problem(row, hidden, tokens));
        launches.insert(cost.launches);
        minimum.push_back(fmt::format("{:.3g}", cost.minimum / 1e6));
        touched.push_back(fmt::format("{:.2f}", cost.touched / cost.minimum));
        requested.push_back(fmt::format("{:.2f}", cost.requested / cost.minimum));
        mfma.push_back(fmt::to_string(cost.mfma));
      }
      fmt::print("| `{}` | {} | {} | {} | {} | {} | {} |\n", row.name, hidden, fmt::join(launches, ", "),
                 fmt::join(minimum, " / "), fmt::join(touched, " / "), fmt::join(requested, " / "),
                 fmt::join(mfma, " / "));
      if (row.op == Op::sinkhorn) break;  // has no hidden_size
    }
  }
}

// Waves that a SIMD holds at once, of at most 8: its 512 registers are given out in eights, and the 160 KiB
// of LDS are shared by the workgroups of a compute unit, whose waves are spread over four SIMDs.
std::uint32_t waves_of_a_simd(const codeobject::Kernel& kernel, std::uint64_t lds_bytes) {
  constexpr std::uint32_t kMost = 8, kRegisters = 512, kLds = 160 * 1024, kSimds = 4, kLanes = 64;
  const std::uint32_t allocated = (std::max(kernel.vgpr_count, 1u) + 7) / 8 * 8;
  std::uint32_t waves = std::min(kMost, kRegisters / allocated);
  if (lds_bytes != 0) {
    const std::uint32_t waves_of_a_workgroup = kernel.max_workgroup_size / kLanes;
    const auto workgroups = static_cast<std::uint32_t>(kLds / lds_bytes);
    waves = std::min(waves, workgroups * waves_of_a_workgroup / kSimds);
  }
  return waves;
}

void print_kernels(const kernels::Manifest& manifest) {
  constexpr std::int64_t kHidden = 7168;
  std::map<std::string, std::uint64_t> dynamic_lds;  // by kernel
  std::map<std::string, std::set<std::string_view>> operators;
  for (const kernels::OperatorEntry& entry : manifest.operators) {
    const OperatorRow& row = row_of(entry.op);
    for (const kernels::Variant& variant : entry.variants) {
      for (const kernels::LaunchStep& step : variant.launches) {
        operators[step.kernel].insert(row.name);
        const bool has_norm = row.fused_norm && !step.kernel.ends_with("none");
        Problem problem = production_problem(row, kHidden, 1);
        if (!has_norm) problem.norm_weight.reset();
        if (step.dynamic_lds) {
          dynamic_lds[step.kernel] =
              static_cast<std::uint64_t>(step.dynamic_lds->integer(kernels::names_of(problem, 1)));
        }
      }
    }
  }
  fmt::print(
      "| kernel | VGPRs | of them AGPRs | SGPRs | scratch | LDS, bytes | waves a SIMD | operators |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const codeobject::CodeObject& object :
       codeobject::load_code_objects(kernels::code_object_path(manifest, {}))) {
    for (const codeobject::Kernel& kernel : object.kernels()) {
      const std::uint64_t lds = kernel.descriptor.group_segment_fixed_size + dynamic_lds[kernel.name];
      fmt::print("| `{}` | {} | {} | {} | {} | {} | {} | {} |\n", kernel.name, kernel.vgpr_count,
                 kernel.agpr_count, kernel.sgpr_count, kernel.descriptor.private_segment_fixed_size, lds,
                 waves_of_a_simd(kernel, lds), fmt::join(operators[kernel.name], ", "));
    }
  }
}

}  // namespace

int main() {
  const kernels::Manifest manifest = kernels::load_manifest(MHCHECK_GFX950_MANIFEST);
  kernels::ManifestKernels kernels(runtime::open_sim(), manifest, kernels::code_object_path(manifest, {}));
  print_operators(kernels);
  fmt::print("\n");
  print_kernels(manifest);
}

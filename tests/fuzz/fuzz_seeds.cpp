// Writes the seeds of every harness, FOLDER/HARNESS/*: valid inputs of each shape that the format has, from
// which the search starts.

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "golden/safetensors.h"
#include "reference/base/case.h"

namespace {

using namespace mhcheck;

// A case of every operator, its name and its canonical form.
void write_descriptors(const std::filesystem::path& folder) {
  for (const OperatorRow& row : all_operators()) {
    Case c;
    c.problem.op = row.op;
    if (row.fused_norm) c.problem.norm_weight = Dtype::bf16;
    std::ofstream(folder / fmt::format("{}-short", row.name)) << to_descriptor(c);
    std::ofstream(folder / fmt::format("{}-canonical", row.name)) << to_canonical_descriptor(c);
  }
}

void write_safetensors_files(const std::filesystem::path& folder) {
  const Tensor brain(Dtype::bf16, {2, 1});
  const Tensor half(Dtype::fp16, {3});
  const Tensor single(Dtype::fp32, {});
  const Tensor none(Dtype::fp32, {0, 4});
  const golden::Metadata metadata{{"descriptor", "hc_expand:bf16:t1:n4:h8"}, {"contract_version", "1"}};
  golden::write_safetensors(folder / "empty", {}, {});
  golden::write_safetensors(folder / "metadata", metadata, {});
  golden::write_safetensors(folder / "one", {}, {{"in.x", &brain}});
  golden::write_safetensors(folder / "all", metadata,
                            {{"a", &brain}, {"b", &half}, {"c", &single}, {"d", &none}});
}

// Empty, whatever an earlier run has left there.
std::filesystem::path fresh(const std::filesystem::path& folder) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: fuzz_seeds FOLDER\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  write_descriptors(fresh(folder / "descriptor"));
  write_safetensors_files(fresh(folder / "safetensors"));
  return 0;
}

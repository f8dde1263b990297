// One golden case in one safetensors file: what goes in, what is right, and how far off a correct kernel may
// be.
//
//   in.NAME    an input, as input_specs(problem) describes it
//   out.NAME   an output, the exact result of the contract correctly rounded to the output's format
//   lo.NAME, hi.NAME   the smallest and the largest value that a correct kernel may store, in the same format
//   __metadata__       descriptor, contract_version, program_version
//
// Where the contract defines no result (NaN or Inf among a token's inputs) out, lo and hi are NaN: anything
// is right. Where only an fp32 evaluation may overflow, lo and hi are the infinities: anything is right. An
// output of partial sums [S,...] is defined by its sum alone: out, lo and hi hold that sum, with S = 1.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "golden/file_error.h"
#include "reference/base/case.h"
#include "reference/base/tensor.h"

namespace mhcheck::golden {

struct Answer {
  TensorMap out;
  TensorMap lo;
  TensorMap hi;
};

struct GoldenCase {
  Case c;
  TensorMap inputs;
  Answer answer;
};

struct GoldenCaseFile {
  GoldenCase golden;
  std::string descriptor;  // as it stands in the file
  std::string contract_version;
  std::string program_version;
};

// The outputs of a problem as a golden case holds them: partial sums with S = 1.
std::vector<TensorSpec> golden_output_specs(const Problem& problem);

// The same case gives the same bytes. Throws FileError, and std::invalid_argument when tensors are not those
// that the case's problem has.
void write_case(const std::filesystem::path& path, const GoldenCase& golden);

// Throws FileError when the file is damaged, is no golden case, or has other tensors than its descriptor asks
// for.
GoldenCaseFile read_case(const std::filesystem::path& path);

// Outputs that another program computed for a case.
struct CandidateOutputs {
  Case c;
  TensorMap outputs;  // as output_specs(problem) describes them
};

// Reads the tensors `out.NAME` of a file that another program wrote; `in.`, `lo.` and `hi.` tensors, kept
// from a golden case, are passed over, and so is other metadata. The case is that of the descriptor in
// __metadata__, or `known`; where both are there they must agree. Throws FileError.
CandidateOutputs read_outputs(const std::filesystem::path& path,
                              const std::optional<Case>& known = std::nullopt);

}  // namespace mhcheck::golden

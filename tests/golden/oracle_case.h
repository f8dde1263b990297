// The files of tests/data/oracle: cases with answers that were computed without this project.
#pragma once

#include <filesystem>
#include <vector>

#include "golden/safetensors.h"
#include "reference/base/operators.h"
#include "reference/base/tensor.h"

namespace mhcheck::golden {

// Every file of tests/data/oracle, or of the folder that the environment variable MHCHECK_ORACLE_DIR names,
// whatever files are there.
std::vector<std::filesystem::path> oracle_files();

struct OracleCase {
  Problem problem;
  RoundingProfile profile;
  TensorMap inputs;
};

// What the file asks. Throws FileError, or std::exception for a text that is not known.
OracleCase read_oracle_case(SafetensorsReader& reader);

}  // namespace mhcheck::golden

// A failure of a campaign as a file, which `mhcheck repro` takes.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "reference/base/case.h"

namespace mhcheck::conformance {

struct FailureFile {
  Case simplest;           // that fails
  Case found;              // the campaign's own, from which it was shrunk
  std::string kernel;      // the row's name
  nlohmann::json options;  // of KernelOptions: where that kernel comes from and how it runs
  std::string kind;        // of the failure: a FailureKind, a law, "crashed", "hung", "unjudged"
  std::string text;        // how the simplest case fails, several lines
};

// Both throw golden::FileError. A file is there complete or not at all.
void write_failure(const std::filesystem::path& path, const FailureFile& failure);
FailureFile read_failure(const std::filesystem::path& path);

}  // namespace mhcheck::conformance

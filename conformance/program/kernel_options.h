// The options that choose what is put under test: kernels of the program or brought ones, and their device.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "conformance/defaults.h"
#include "conformance/kernel_registry.h"

namespace mhcheck::conformance {

// --kernel, --device, --manifest, --code-object, --variant, --schedule-seed, --schedules, --sanitize,
// --laws.
class KernelOptions {
 public:
  // `laws` is what no --laws means.
  explicit KernelOptions(std::string laws = "none") : laws_(std::move(laws)) {}
  // What json() has written. Throws std::invalid_argument for anything else.
  static KernelOptions from_json(const nlohmann::json& written);

  // `kernel_help` says what no --kernel means.
  void add_to(CLI::App& command, const std::string& kernel_help);

  // Whether kernels are named or brought: otherwise rows() are all that the device has.
  bool chosen() const { return !kernels_.empty() || !manifest_.empty(); }
  // Throws std::invalid_argument for options that exclude or need each other, UnknownName, and what
  // conformance::rows_of throws.
  std::vector<KernelRow> rows() const;
  // What was asked for: for reports, and for files that it is to be read from again.
  nlohmann::ordered_json json() const;

 private:
  simulator::Options simulation() const;
  std::vector<KernelRow> plain_rows() const;
  void require_consistent() const;

  std::vector<std::string> kernels_;
  std::string device_{kDefaultDevice};
  std::string manifest_, code_object_, variant_, schedule_seed_ = "0";
  std::string schedules_ = "0", sanitize_ = "none", laws_;
};

}  // namespace mhcheck::conformance

// The options that choose cases, and the ones that say where reports go.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "conformance/case_list.h"
#include "conformance/case_result.h"

namespace mhcheck::conformance {

// --op, --hidden, --tokens, --dtype, --profile, --seed, --shard, as they were written.
class CaseOptions {
 public:
  void add_to(CLI::App& command);
  // Throws std::invalid_argument with one line that names the option.
  CaseSelection selection() const;
  // For the JSON report: what was asked for.
  nlohmann::ordered_json json() const;

 private:
  std::string operators_, hidden_sizes_, num_tokens_, dtypes_, shard_ = "1/1", profile_ = "smoke",
                                                               seed_ = "1";
};

// "512,1280", "512:7168:256", or both mixed: FIRST:LAST:STEP includes LAST where the steps meet it.
// Throws std::invalid_argument that begins with the option's name.
std::vector<std::int64_t> parse_sizes(std::string_view option, std::string_view text, std::int64_t smallest,
                                      std::int64_t largest);

// Throws std::invalid_argument that begins with the option's name.
std::uint64_t parse_seed(std::string_view option, std::string_view text);

// "mhc_pre,mhc_post", in this order; all of them where nothing is said. Throws std::invalid_argument that
// begins with --op.
std::vector<Op> parse_operators(std::string_view text);

// "bf16", "fp16" or both; both where nothing is said. Throws std::invalid_argument that begins with --dtype.
std::vector<Dtype> parse_dtypes(std::string_view text);

// --json, --junit, --html.
class ReportOptions {
 public:
  ReportOptions();
  ~ReportOptions();
  void add_to(CLI::App& command);
  // Opens the files, so that a path that cannot be written ends the program before the work and not after it.
  void open();
  void write(std::span<const CaseResult> results, const nlohmann::ordered_json& options);

 private:
  struct Files;
  std::string json_path_, junit_path_, html_path_;
  std::unique_ptr<Files> files_;
};

// --jobs: the number of threads, of the whole program.
class JobsOption {
 public:
  JobsOption();
  ~JobsOption();
  void add_to(CLI::App& command);
  void apply();

 private:
  struct Limit;
  int jobs_ = 0;
  std::unique_ptr<Limit> limit_;
};

}  // namespace mhcheck::conformance

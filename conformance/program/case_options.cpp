#include "conformance/program/case_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/global_control.h>

#include <charconv>
#include <optional>
#include <set>

#include "conformance/program/commands.h"
#include "conformance/report/html_report.h"
#include "conformance/report/json_report.h"
#include "conformance/report/junit_report.h"
#include "golden/atomic_file.h"

namespace mhcheck::conformance {
namespace {

// An empty value is more likely an unset variable of a script than a wish for the default.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

template <class Integer>
std::optional<Integer> parse_integer(std::string_view text) {
  Integer value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Shard parse_shard(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '/');
  if (parts.size() == 2) {
    const auto number = parse_integer<std::uint64_t>(parts[0]);
    const auto count = parse_integer<std::uint64_t>(parts[1]);
    if (number && count && *number >= 1 && *number <= *count) return {*number, *count};
  }
  throw std::invalid_argument(fmt::format("--shard: '{}' is not K/N with 1 <= K <= N", text));
}

}  // namespace

std::vector<std::int64_t> parse_sizes(std::string_view option, std::string_view text, std::int64_t smallest,
                                      std::int64_t largest) {
  constexpr std::size_t most = 100000;
  std::vector<std::int64_t> sizes;
  for (const std::string_view part : split(text, ',')) {
    std::vector<std::int64_t> numbers;
    for (const std::string_view number : split(part, ':')) {
      const auto value = parse_integer<std::int64_t>(number);
      if (!value) {
        throw std::invalid_argument(
            fmt::format("{}: '{}' is neither a number nor FIRST:LAST:STEP", option, part));
      }
      numbers.push_back(*value);
    }
    if (numbers.size() != 1 && numbers.size() != 3) {
      throw std::invalid_argument(
          fmt::format("{}: '{}' is neither a number nor FIRST:LAST:STEP", option, part));
    }
    const std::int64_t first = numbers[0], last = numbers.size() == 3 ? numbers[1] : first;
    const std::int64_t step = numbers.size() == 3 ? numbers[2] : 1;
    if (step < 1 || last < first) {
      throw std::invalid_argument(
          fmt::format("{}: '{}' needs FIRST <= LAST and a STEP of 1 or more", option, part));
    }
    if (first < smallest || last > largest) {
      throw std::invalid_argument(
          fmt::format("{}: '{}' is out of range, {} to {} are possible", option, part, smallest, largest));
    }
    for (std::int64_t size = first; size <= last; size += step) {
      if (sizes.size() == most) {
        throw std::invalid_argument(fmt::format("{}: '{}' gives more than {} sizes", option, text, most));
      }
      sizes.push_back(size);
    }
  }
  return sizes;
}

std::vector<Op> parse_operators(std::string_view text) {
  std::vector<Op> operators;
  if (text.empty()) {
    for (const OperatorRow& row : all_operators()) operators.push_back(row.op);
    return operators;
  }
  for (const std::string_view name : split(text, ',')) {
    const std::optional<Op> op = op_from_name(name);
    if (!op) {
      std::vector<std::string_view> names;
      for (const OperatorRow& row : all_operators()) names.push_back(row.name);
      throw std::invalid_argument(
          fmt::format("--op: no operator is called '{}', there are {}", name, fmt::join(names, ", ")));
    }
    operators.push_back(*op);
  }
  return operators;
}

std::vector<Dtype> parse_dtypes(std::string_view text) {
  if (text.empty()) return {Dtype::bf16, Dtype::fp16};
  std::vector<Dtype> dtypes;
  for (const std::string_view name : split(text, ',')) {
    const std::optional<Dtype> dtype = dtype_from_name(name);
    if (!dtype || *dtype == Dtype::fp32) {
      throw std::invalid_argument(fmt::format("--dtype: '{}' is not bf16 or fp16", name));
    }
    dtypes.push_back(*dtype);
  }
  return dtypes;
}

std::uint64_t parse_seed(std::string_view option, std::string_view text) {
  const auto seed = parse_integer<std::uint64_t>(text);
  if (!seed) {
    throw std::invalid_argument(fmt::format("{}: '{}' is not a number from 0 to 2^64 - 1", option, text));
  }
  return *seed;
}

void CaseOptions::add_to(CLI::App& command) {
  command.add_option("--op", operators_, "operators, for example mhc_pre,mhc_post; default: all")
      ->check(kNotEmpty);
  command.add_option("--hidden", hidden_sizes_, "hidden sizes, for example 512,1280 or 512:7168:512")
      ->check(kNotEmpty);
  command.add_option("--tokens", num_tokens_, "numbers of tokens, for example 0,1,33")->check(kNotEmpty);
  command.add_option("--dtype", dtypes_, "bf16, fp16 or both; default: both")->check(kNotEmpty);
  command.add_option("--profile", profile_, "how many cases: smoke, merge or nightly")->capture_default_str();
  command.add_option("--seed", seed_, "seed of the inputs")->capture_default_str();
  command.add_option("--shard", shard_, "K/N: every N-th case, beginning with the K-th")
      ->capture_default_str();
}

CaseSelection CaseOptions::selection() const {
  CaseSelection s;
  s.profile = profile_named(profile_).name;
  if (!operators_.empty()) s.operators = parse_operators(operators_);
  constexpr std::int64_t most = std::int64_t{1} << 31;  // of a legal problem
  if (!hidden_sizes_.empty()) s.hidden_sizes = parse_sizes("--hidden", hidden_sizes_, 1, most);
  if (!num_tokens_.empty()) s.num_tokens = parse_sizes("--tokens", num_tokens_, 0, most);
  if (!dtypes_.empty()) s.dtypes = parse_dtypes(dtypes_);
  s.seed = parse_seed("--seed", seed_);
  s.shard = parse_shard(shard_);
  return s;
}

nlohmann::ordered_json CaseOptions::json() const {
  nlohmann::ordered_json json{{"profile", profile_}, {"seed", seed_}, {"shard", shard_}};
  if (!operators_.empty()) json["op"] = operators_;
  if (!hidden_sizes_.empty()) json["hidden"] = hidden_sizes_;
  if (!num_tokens_.empty()) json["tokens"] = num_tokens_;
  if (!dtypes_.empty()) json["dtype"] = dtypes_;
  return json;
}

struct ReportOptions::Files {
  std::optional<golden::AtomicFile> json, junit, html;
};

ReportOptions::ReportOptions() : files_(std::make_unique<Files>()) {}
ReportOptions::~ReportOptions() = default;

void ReportOptions::add_to(CLI::App& command) {
  command.add_option("--json", json_path_, "write everything to this file")->check(kNotEmpty);
  command.add_option("--junit", junit_path_, "write JUnit XML to this file")->check(kNotEmpty);
  command.add_option("--html", html_path_, "write a page with the table and plots to this file")
      ->check(kNotEmpty);
}

void ReportOptions::open() {
  std::set<std::string> paths;
  for (const std::string* path : {&json_path_, &junit_path_, &html_path_}) {
    if (!path->empty() && !paths.insert(*path).second) {
      throw std::invalid_argument(
          fmt::format("two reports are to be written to {}; each needs its own file", *path));
    }
  }
  if (!json_path_.empty()) files_->json.emplace(json_path_);
  if (!junit_path_.empty()) files_->junit.emplace(junit_path_);
  if (!html_path_.empty()) files_->html.emplace(html_path_);
}

void ReportOptions::write(std::span<const CaseResult> results, const nlohmann::ordered_json& options) {
  const auto finish = [](std::optional<golden::AtomicFile>& file, const auto& content) {
    if (!file) return;
    file->write(std::string_view(content()));
    file->commit();
  };
  finish(files_->json, [&] { return json_report(results, options).dump(1) + "\n"; });
  finish(files_->junit, [&] { return junit_report(results); });
  finish(files_->html, [&] { return html_report(results); });
}

struct JobsOption::Limit {
  tbb::global_control control;
};

JobsOption::JobsOption() = default;
JobsOption::~JobsOption() = default;

void JobsOption::add_to(CLI::App& command) {
  command.add_option("--jobs", jobs_, "threads; default: one a core")->check(CLI::Range(1, 4096));
}

void JobsOption::apply() {
  if (jobs_ == 0) return;
  limit_.reset(new Limit{
      tbb::global_control(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(jobs_))});
}

}  // namespace mhcheck::conformance

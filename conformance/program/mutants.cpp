// mhcheck mutants: every broken kernel of the zoo must be caught.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "conformance/mutant_hunt.h"
#include "conformance/program/case_options.h"
#include "conformance/program/commands.h"
#include "conformance/report/mutant_report.h"
#include "golden/atomic_file.h"

namespace mhcheck::conformance {
namespace {

struct MutantOptions {
  std::vector<std::string> names;
  std::string json_path, html_path, markdown_path;
  JobsOption jobs;
  bool quiet = false;
};

std::vector<const mutants::Mutant*> chosen(const std::vector<std::string>& names) {
  std::vector<const mutants::Mutant*> all;
  for (const mutants::Mutant& mutant : mutants::zoo()) all.push_back(&mutant);
  if (names.empty()) return all;
  std::vector<const mutants::Mutant*> named;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(all, name, &mutants::Mutant::name);
    if (found == all.end()) {
      throw std::invalid_argument(
          fmt::format("--mutant: no mutant is called '{}'; see mhcheck list mutants", name));
    }
    named.push_back(*found);
  }
  return named;
}

void write(std::optional<golden::AtomicFile>& file, const std::string& content) {
  if (!file) return;
  file->write(std::string_view(content));
  file->commit();
}

int run_zoo(MutantOptions& options) {
  const std::vector<const mutants::Mutant*> mutants = chosen(options.names);
  std::set<std::string> paths;
  for (const std::string* path : {&options.json_path, &options.html_path, &options.markdown_path}) {
    if (!path->empty() && !paths.insert(*path).second) {
      throw std::invalid_argument(
          fmt::format("two reports are to be written to {}; each needs its own file", *path));
    }
  }
  // Opened before the work, so that a path that cannot be written ends the program at once.
  std::optional<golden::AtomicFile> json, html, markdown;
  if (!options.json_path.empty()) json.emplace(options.json_path);
  if (!options.html_path.empty()) html.emplace(options.html_path);
  if (!options.markdown_path.empty()) markdown.emplace(options.markdown_path);
  options.jobs.apply();

  const std::vector<MutantResult> results = hunt_all(mutants);
  for (const MutantResult& result : results) {
    // All about those that were asked for by name, and about those that got away.
    if (!result.killed() || (!options.names.empty() && !options.quiet))
      fmt::print("{}\n", mutant_text(result));
  }
  if (!options.quiet) fmt::print("{}", mutant_table(results));
  write(json, mutant_json(results).dump(1) + "\n");
  write(html, mutant_html(results));
  write(markdown, mutant_markdown(results));
  return exit_code(results);
}

}  // namespace

void add_mutants_command(CLI::App& program, int& exit_code) {
  CLI::App& command =
      *program.add_subcommand("mutants", "run the zoo of broken kernels, every one of which must be caught");
  const auto options = std::make_shared<MutantOptions>();
  command.add_option("--mutant", options->names, "these only, and everything about them; default: all")
      ->delimiter(',');
  command.add_option("--json", options->json_path, "write everything to this file")->check(kNotEmpty);
  command.add_option("--html", options->html_path, "write a page with the table to this file")
      ->check(kNotEmpty);
  command.add_option("--markdown", options->markdown_path, "write the table of docs/mutants.md to this file")
      ->check(kNotEmpty);
  options->jobs.add_to(command);
  command.add_flag("--quiet", options->quiet, "print mutants that were not caught only");
  command.callback([options, &exit_code] { exit_code = run_zoo(*options); });
}

}  // namespace mhcheck::conformance

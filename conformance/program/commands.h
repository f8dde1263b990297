// The commands of mhcheck. Each adds its subcommand to the program; when it is the one that was called, it
// sets the exit code. Whatever is wrong with the call or its files is thrown as an exception with one line.
#pragma once

#include <CLI/CLI.hpp>

namespace mhcheck::conformance {

void add_run_command(CLI::App& program, int& exit_code);
void add_check_command(CLI::App& program, int& exit_code);
void add_golden_command(CLI::App& program, int& exit_code);
void add_repro_command(CLI::App& program, int& exit_code);
void add_inspect_command(CLI::App& program, int& exit_code);
void add_fuzz_command(CLI::App& program, int& exit_code);
void add_mutants_command(CLI::App& program, int& exit_code);
void add_list_command(CLI::App& program, int& exit_code);

// Throws std::invalid_argument that lists the commands when none of them was given. (CLI11's own check would
// hide that a command was misspelt.)
void require_command(const CLI::App& app);

// For options whose value must not be empty: an unset shell variable is no wish.
inline const CLI::Validator kNotEmpty(
    [](const std::string& text) { return text.empty() ? "the value is empty" : ""; }, "");

// 0 everything conforms, 1 something does not, 2 it could not be run.
inline constexpr int kConforms = 0;
inline constexpr int kDoesNotConform = 1;
inline constexpr int kCouldNotRun = 2;

}  // namespace mhcheck::conformance

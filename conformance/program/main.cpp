// mhcheck: tells whether an mHC kernel is right.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>

#include "conformance/program/commands.h"
#include "golden/versions.h"
#include "reference/base/keep_freed_memory.h"

namespace {

// One line on stderr, whatever happened.
int could_not_run(std::string_view what) {
  const std::size_t end_of_line = what.find('\n');
  fmt::print(stderr, "mhcheck: {}\n", what.substr(0, end_of_line));
  return mhcheck::conformance::kCouldNotRun;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace mhcheck::conformance;
  mhcheck::keep_freed_memory();
  int exit_code = kConforms;
  try {
    CLI::App program{"Numerical verification and conformance of mHC kernels.", "mhcheck"};
    program.set_version_flag("--version", std::string(mhcheck::golden::program_version()));
    program.require_subcommand(0, 1);
    program.footer("Exit code: 0 every case conforms, 1 something does not, 2 it could not be run.");
    add_run_command(program, exit_code);
    add_golden_command(program, exit_code);
    add_check_command(program, exit_code);
    add_repro_command(program, exit_code);
    add_inspect_command(program, exit_code);
    add_fuzz_command(program, exit_code);
    add_mutants_command(program, exit_code);
    add_list_command(program, exit_code);
    try {
      program.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
      if (e.get_exit_code() == 0) return program.exit(e);  // --help, --version
      return could_not_run(fmt::format("{}; see mhcheck --help", e.what()));
    }
    require_command(program);
  } catch (const std::bad_alloc&) {
    return could_not_run("out of memory");
  } catch (const std::exception& e) {
    return could_not_run(e.what());
  }
  return exit_code;
}

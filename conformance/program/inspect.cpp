// mhcheck inspect: what is inside a code object, a bundle, or a program that carries them.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "conformance/program/commands.h"
#include "kernels/codeobject/describe.h"

namespace mhcheck::conformance {

void add_inspect_command(CLI::App& program, int& exit_code) {
  CLI::App& command =
      *program.add_subcommand("inspect", "show the kernels in a .hsaco, a bundle, a fat binary or a .so");
  const auto file = std::make_shared<std::string>();
  command.add_option("file", *file, "a code object or a file that carries some")->required();
  command.callback([file, &exit_code] {
    fmt::print("{}", codeobject::describe_file(*file));
    exit_code = kConforms;
  });
}

}  // namespace mhcheck::conformance

#include "conformance/program/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

namespace mhcheck::conformance {

void require_command(const CLI::App& app) {
  if (!app.get_subcommands().empty()) return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  throw std::invalid_argument(fmt::format("{} needs a command: {}", app.get_name(), fmt::join(names, ", ")));
}

}  // namespace mhcheck::conformance

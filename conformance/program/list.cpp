// mhcheck list: what there is.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "conformance/case_list.h"
#include "conformance/kernel_registry.h"
#include "conformance/program/commands.h"
#include "kernels/mutants/zoo.h"
#include "properties/laws.h"
#include "properties/regimes.h"

namespace mhcheck::conformance {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

Rows operators() {
  Rows rows;
  for (const OperatorRow& row : all_operators()) rows.emplace_back(row.name, row.summary);
  return rows;
}

Rows kernel_names() {
  Rows rows;
  for (const KernelRow& row : all_kernels()) {
    rows.emplace_back(row.name, fmt::format("device {}: {}", row.device, row.summary));
  }
  return rows;
}

Rows zoo() {
  Rows rows;
  for (const mutants::Mutant& mutant : mutants::zoo()) rows.emplace_back(mutant.name, mutant.broken);
  return rows;
}

Rows laws() {
  Rows rows;
  for (const properties::Law& law : properties::all_laws()) rows.emplace_back(law.name, law.sentence);
  return rows;
}

Rows regimes() {
  Rows rows;
  for (const properties::Regime& regime : properties::all_regimes())
    rows.emplace_back(regime.name, regime.purpose);
  return rows;
}

Rows devices() {
  Rows rows;
  for (const DeviceRow& row : all_devices()) rows.emplace_back(row.name, row.summary);
  return rows;
}

Rows profiles() {
  Rows rows;
  for (const Profile& profile : all_profiles()) rows.emplace_back(profile.name, profile.summary);
  return rows;
}

void print(const Rows& rows) {
  std::size_t width = 0;
  for (const auto& [name, summary] : rows) width = std::max(width, name.size());
  for (const auto& [name, summary] : rows) fmt::print("{:<{}}  {}\n", name, width, summary);
}

struct Listing {
  const char* name;
  const char* summary;
  Rows (*rows)();
};

constexpr Listing kListings[] = {
    {"operators", "the operators of the contract", operators},
    {"kernels", "the kernels that can be put under test", kernel_names},
    {"mutants", "the broken kernels of the zoo", zoo},
    {"properties", "the laws that every correct kernel keeps", laws},
    {"regimes", "the kinds of inputs", regimes},
    {"devices", "where kernels run", devices},
    {"profiles", "how many cases a run has", profiles},
};

}  // namespace

void add_list_command(CLI::App& program, int&) {
  CLI::App& command = *program.add_subcommand("list", "show what there is");
  command.require_subcommand(0, 1);
  command.callback([&command] { require_command(command); });
  for (const Listing& listing : kListings) {
    command.add_subcommand(listing.name, listing.summary)->callback([&listing] { print(listing.rows()); });
  }
}

}  // namespace mhcheck::conformance

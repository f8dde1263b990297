#include "conformance/program/kernel_options.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "conformance/manifest_rows.h"
#include "conformance/program/case_options.h"

namespace mhcheck::conformance {

void KernelOptions::add_to(CLI::App& command, const std::string& kernel_help) {
  command.add_option("--kernel", kernels_, kernel_help)->delimiter(',');
  command.add_option("--device", device_, "where kernels run: host, sim, hip or cuda")->capture_default_str();
  command.add_option("--manifest", manifest_,
                     "bring your own kernels: the file that says how to launch them");
  command.add_option("--code-object", code_object_,
                     "the file they are in; default: the one the manifest names");
  command.add_option("--variant", variant_,
                     "one of the manifest's variants, or all; default: each case's first that is for it");
  command
      .add_option("--schedule-seed", schedule_seed_,
                  "how the simulator interleaves waves; 0 runs one after the other up to each barrier")
      ->capture_default_str();
  command
      .add_option("--schedules", schedules_,
                  "run every case under so many further interleavings, which must give the same bits")
      ->capture_default_str();
  command
      .add_option(
          "--sanitize", sanitize_,
          "what the simulator looks for while kernels run: all, none, or some of bounds, writes, race, "
          "wait, uninit, lanes, barrier")
      ->capture_default_str();
  command
      .add_option(
          "--laws", laws_,
          "what else to ask of the kernels at every case: all, none, or some of mhcheck list properties")
      ->capture_default_str();
}

KernelOptions KernelOptions::from_json(const nlohmann::json& written) {
  if (!written.is_object()) {
    throw std::invalid_argument(
        fmt::format("the options are a JSON {}, must be an object", written.type_name()));
  }
  KernelOptions read;
  const std::map<std::string_view, std::string*> texts{{"device", &read.device_},
                                                       {"manifest", &read.manifest_},
                                                       {"code_object", &read.code_object_},
                                                       {"variant", &read.variant_},
                                                       {"schedule_seed", &read.schedule_seed_},
                                                       {"schedules", &read.schedules_},
                                                       {"sanitize", &read.sanitize_},
                                                       {"laws", &read.laws_}};
  for (const auto& [name, value] : written.items()) {
    try {
      if (name == "kernel") {
        value.get_to(read.kernels_);
      } else if (const auto text = texts.find(name); text != texts.end()) {
        value.get_to(*text->second);
      } else {
        throw std::invalid_argument(fmt::format("the options have an unknown field '{}'", name));
      }
    } catch (const nlohmann::json::exception&) {
      throw std::invalid_argument(fmt::format("the option {} is a JSON {}, must be {}", name,
                                              value.type_name(),
                                              name == "kernel" ? "an array of strings" : "a string"));
    }
  }
  return read;
}

void KernelOptions::require_consistent() const {
  if (!manifest_.empty() && !kernels_.empty()) {
    throw std::invalid_argument(
        "--kernel and --manifest exclude each other: a manifest brings kernels, --kernel names the program's "
        "own");
  }
  for (const auto& [option, value] :
       {std::pair<const char*, const std::string&>{"--code-object", code_object_}, {"--variant", variant_}}) {
    if (manifest_.empty() && !value.empty()) {
      throw std::invalid_argument(
          fmt::format("{} needs --manifest, which says how to launch the kernels", option));
    }
  }
}

simulator::Options KernelOptions::simulation() const {
  simulator::Options simulation;
  simulation.seed = parse_seed("--schedule-seed", schedule_seed_);
  if (simulation.seed != 0 && device_ != "sim") {
    throw std::invalid_argument(
        fmt::format("--schedule-seed: device {} schedules its waves itself; only sim takes a seed", device_));
  }
  return simulation;
}

std::vector<KernelRow> KernelOptions::rows() const {
  const std::uint64_t schedules = parse_seed("--schedules", schedules_);
  simulator::SanitizerSet sanitizers;
  try {
    sanitizers = simulator::parse_sanitizers(sanitize_);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("--sanitize: {}", error.what()));
  }
  std::vector<const properties::Law*> laws;
  try {
    laws = properties::parse_laws(laws_);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("--laws: {}", error.what()));
  }
  require_device(device_);
  if ((schedules != 0 || !sanitizers.empty()) && device_ != "sim") {
    throw std::invalid_argument(fmt::format("{}: only the simulator can do this, say --device sim",
                                            sanitizers.empty() ? "--schedules" : "--sanitize"));
  }
  std::vector<KernelRow> rows = plain_rows();
  for (KernelRow& row : rows) {
    row.schedule_seed = simulation().seed;
    row.schedules = schedules;
    row.sanitizers = sanitizers;
    row.laws = laws;
    if (schedules != 0) row.options += fmt::format(" --schedules {}", schedules);
    if (!sanitizers.empty()) row.options += fmt::format(" --sanitize {}", to_string(sanitizers));
    if (!laws.empty()) row.options += fmt::format(" --laws {}", properties::to_string(laws));
  }
  return rows;
}

std::vector<KernelRow> KernelOptions::plain_rows() const {
  require_device(device_);
  require_consistent();
  if (!manifest_.empty()) {
    return rows_of({.manifest = manifest_,
                    .code_object = code_object_,
                    .variant = variant_,
                    .device = device_,
                    .simulation = simulation()});
  }
  const std::vector<KernelRow> all = kernels_of(device_, simulation());
  if (kernels_.empty()) return all;
  std::vector<KernelRow> named;
  for (const std::string& name : kernels_) named.push_back(kernel_named(name, all));
  return named;
}

nlohmann::ordered_json KernelOptions::json() const {
  nlohmann::ordered_json json{{"device", device_}};
  if (!kernels_.empty()) json["kernel"] = kernels_;
  if (!manifest_.empty()) json["manifest"] = manifest_;
  if (!code_object_.empty()) json["code_object"] = code_object_;
  if (!variant_.empty()) json["variant"] = variant_;
  json["schedule_seed"] = schedule_seed_;
  json["schedules"] = schedules_;
  json["sanitize"] = sanitize_;
  json["laws"] = laws_;
  return json;
}

}  // namespace mhcheck::conformance

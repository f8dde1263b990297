#include "golden/case_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "golden/safetensors.h"
#include "golden/strict_json.h"
#include "golden/versions.h"

namespace mhcheck::golden {
namespace {

constexpr std::string_view kDescriptorKey = "descriptor";
constexpr std::string_view kContractVersionKey = "contract_version";
constexpr std::string_view kProgramVersionKey = "program_version";

// The groups of tensors in a case's file.
constexpr std::string_view kIn = "in.";
constexpr std::string_view kOut = "out.";
constexpr std::string_view kLo = "lo.";
constexpr std::string_view kHi = "hi.";

std::string stored_name(std::string_view group, std::string_view tensor) {
  return fmt::format("{}{}", group, tensor);
}

std::string describe(Dtype dtype, const Extents& shape) {
  return fmt::format("{} {}", name_of(file_dtype_of(dtype)), to_string(shape));
}

void add_group(TensorRefs& tensors, std::string_view group, const TensorMap& of_group,
               const std::vector<TensorSpec>& specs) {
  for (const TensorSpec& spec : specs) {
    const auto found = of_group.find(std::string(spec.name));
    if (found == of_group.end() || found->second.dtype() != spec.dtype ||
        found->second.shape() != spec.shape) {
      throw std::invalid_argument(fmt::format("a golden case needs a tensor {} {}",
                                              stored_name(group, spec.name),
                                              describe(spec.dtype, spec.shape)));
    }
    tensors[stored_name(group, spec.name)] = &found->second;
  }
  if (of_group.size() != specs.size()) {
    throw std::invalid_argument(
        fmt::format("a golden case has {} tensors {}*, not {}", specs.size(), group, of_group.size()));
  }
}

TensorMap read_group(SafetensorsReader& reader, std::string_view group,
                     const std::vector<TensorSpec>& specs) {
  TensorMap tensors;
  for (const TensorSpec& spec : specs) {
    const std::string name = stored_name(group, spec.name);
    const std::string expected = describe(spec.dtype, spec.shape);
    const auto found = reader.tensors().find(name);
    if (found == reader.tensors().end()) {
      throw FileError(reader.file(),
                      fmt::format("has no tensor \"{}\", the case needs it: {}", name, expected));
    }
    const StoredTensor& stored = found->second;
    if (stored.dtype != file_dtype_of(spec.dtype) || stored.shape != spec.shape) {
      throw FileError(reader.file(), fmt::format("tensor \"{}\" is {} {}, the case needs {}", name,
                                                 name_of(stored.dtype), to_string(stored.shape), expected));
    }
    tensors.emplace(spec.name, reader.read(name));
  }
  return tensors;
}

const std::string& metadata_field(const SafetensorsReader& reader, std::string_view key) {
  const auto found = reader.metadata().find(std::string(key));
  if (found == reader.metadata().end()) {
    throw FileError(reader.file(), fmt::format("__metadata__ has no \"{}\"", key));
  }
  return found->second;
}

Case case_of_descriptor(const std::string& file, const std::string& descriptor) {
  try {
    return parse_descriptor(descriptor);
  } catch (const DescriptorError& error) {
    throw FileError(file, fmt::format("the descriptor in __metadata__ is wrong: {}", error.what()));
  }
}

void refuse_unknown_metadata(const SafetensorsReader& reader) {
  for (const auto& [key, text] : reader.metadata()) {
    if (key != kDescriptorKey && key != kContractVersionKey && key != kProgramVersionKey) {
      throw FileError(reader.file(),
                      fmt::format("__metadata__ has an unknown field {}; known are {}, {}, {}",
                                  in_quotes(key), kDescriptorKey, kContractVersionKey, kProgramVersionKey));
    }
  }
}

bool is_in_group(std::string_view name, std::string_view group, const std::vector<TensorSpec>& specs) {
  return name.starts_with(group) && std::any_of(specs.begin(), specs.end(), [&](const TensorSpec& spec) {
           return name.substr(group.size()) == spec.name;
         });
}

}  // namespace

std::vector<TensorSpec> golden_output_specs(const Problem& problem) {
  std::vector<TensorSpec> specs = output_specs(problem);
  for (TensorSpec& spec : specs) {
    if (spec.partial_sums) spec.shape[0] = 1;
  }
  return specs;
}

void write_case(const std::filesystem::path& path, const GoldenCase& golden) {
  const std::vector<TensorSpec> outputs = golden_output_specs(golden.c.problem);
  TensorRefs tensors;
  add_group(tensors, kIn, golden.inputs, input_specs(golden.c.problem));
  add_group(tensors, kOut, golden.answer.out, outputs);
  add_group(tensors, kLo, golden.answer.lo, outputs);
  add_group(tensors, kHi, golden.answer.hi, outputs);
  const Metadata metadata{{std::string(kDescriptorKey), to_descriptor(golden.c)},
                          {std::string(kContractVersionKey), std::string(kContractVersion)},
                          {std::string(kProgramVersionKey), std::string(program_version())}};
  write_safetensors(path, metadata, tensors);
}

GoldenCaseFile read_case(const std::filesystem::path& path) {
  SafetensorsReader reader(path);
  refuse_unknown_metadata(reader);
  GoldenCaseFile file;
  file.descriptor = metadata_field(reader, kDescriptorKey);
  file.contract_version = metadata_field(reader, kContractVersionKey);
  file.program_version = metadata_field(reader, kProgramVersionKey);
  GoldenCase& golden = file.golden;
  golden.c = case_of_descriptor(reader.file(), file.descriptor);

  const std::vector<TensorSpec> inputs = input_specs(golden.c.problem);
  const std::vector<TensorSpec> outputs = golden_output_specs(golden.c.problem);
  for (const auto& [name, stored] : reader.tensors()) {
    if (!is_in_group(name, kIn, inputs) && !is_in_group(name, kOut, outputs) &&
        !is_in_group(name, kLo, outputs) && !is_in_group(name, kHi, outputs)) {
      throw FileError(reader.file(),
                      fmt::format("has a tensor {} that its case does not have", in_quotes(name)));
    }
  }
  golden.inputs = read_group(reader, kIn, inputs);
  golden.answer.out = read_group(reader, kOut, outputs);
  golden.answer.lo = read_group(reader, kLo, outputs);
  golden.answer.hi = read_group(reader, kHi, outputs);
  return file;
}

CandidateOutputs read_outputs(const std::filesystem::path& path, const std::optional<Case>& known) {
  SafetensorsReader reader(path);
  std::optional<Case> stated;
  if (const auto found = reader.metadata().find(std::string(kDescriptorKey));
      found != reader.metadata().end()) {
    stated = case_of_descriptor(reader.file(), found->second);
  }
  if (!stated && !known) {
    throw FileError(reader.file(),
                    "__metadata__ has no \"descriptor\", and no case was named: which case is it?");
  }
  if (stated && known && *stated != *known) {
    throw FileError(reader.file(), fmt::format("its descriptor is {}, the named case is {}",
                                               to_descriptor(*stated), to_descriptor(*known)));
  }
  const Case& c = stated ? *stated : *known;

  const std::vector<TensorSpec> outputs = output_specs(c.problem);
  constexpr std::array kPassedOver{kIn, kLo, kHi};
  for (const auto& [name, stored] : reader.tensors()) {
    const bool passed_over =
        std::any_of(kPassedOver.begin(), kPassedOver.end(),
                    [&, &stored_as = name](std::string_view group) { return stored_as.starts_with(group); });
    if (!passed_over && !is_in_group(name, kOut, outputs)) {
      throw FileError(reader.file(), fmt::format("has a tensor {} that is no output of {}", in_quotes(name),
                                                 row_of(c.problem.op).name));
    }
  }
  return {c, read_group(reader, kOut, outputs)};
}

}  // namespace mhcheck::golden

#include "kernels/manifests/manifest_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/codeobject/code_object.h"
#include "kernels/manifests/padding.h"

namespace mhcheck::kernels {
namespace {

using runtime::ArgumentValue;
using runtime::Buffer;
using runtime::Device;

// Errors of expressions become the manifest's, with the place where the expression stands.
template <class Evaluate>
auto evaluated(const Manifest& manifest, const std::string& place, Evaluate evaluate) {
  try {
    return evaluate();
  } catch (const ExpressionError& error) {
    throw ManifestError(fmt::format("{}: {}: {}", manifest.origin, place, error.what()));
  }
}

void define(const Manifest& manifest, const std::vector<Binding>& bindings, Names& names) {
  for (const Binding& binding : bindings) {
    names[binding.name] = evaluated(manifest, fmt::format("let {}", binding.name),
                                    [&] { return binding.value.evaluate(names); });
  }
}

// The description of "in.x" or "out.y".
TensorSpec spec_of(const Problem& problem, std::string_view name) {
  const bool input = name.starts_with("in.");
  const std::vector<TensorSpec> specs = input ? input_specs(problem) : output_specs(problem);
  return *std::ranges::find(specs, name.substr(name.find('.') + 1), &TensorSpec::name);
}

simulator::BufferRole role_of(std::string_view name) {
  return name.starts_with("in.") ? simulator::BufferRole::kInput : simulator::BufferRole::kOutput;
}

simulator::BufferUse use_of(const TensorSpec& spec, simulator::BufferRole role) {
  return {.role = role,
          .element_bytes = static_cast<std::uint32_t>(size_of(spec.dtype)),
          .extents = {spec.shape.begin(), spec.shape.end()},
          .tensor = {}};
}

// One run: the buffers, and the launches over them.
class Run {
 public:
  Run(Device& device, const runtime::Module& module, const Manifest& manifest, const Problem& problem,
      const Variant& variant, Names names)
      : device_(device),
        module_(module),
        manifest_(manifest),
        problem_(problem),
        variant_(variant),
        names_(std::move(names)) {}

  RunReport execute(TensorMap& inputs, OutputRegions& outputs) {
    std::map<std::string, std::span<std::byte>> tensors;  // of the case, as the manifest calls them
    for (auto& [name, tensor] : inputs) tensors.emplace("in." + name, tensor.bytes());
    for (auto& [name, region] : outputs) tensors.emplace("out." + name, region.payload());
    for (const auto& [name, content] : tensors) {
      const auto holder = std::ranges::find(variant_.padded, name, &PaddedTensor::holds);
      if (holder == variant_.padded.end()) {
        add(name, content, use_of(spec_of(problem_, name), role_of(name)));
      } else {
        add_padded(*holder, content);
      }
    }
    for (const WorkspaceTensor& tensor : variant_.workspace) add_workspace(tensor);

    RunReport report;
    for (const LaunchStep& step : variant_.launches) {
      const bool wanted = !step.when || evaluated(manifest_, place(step, "when"),
                                                  [&] { return step.when->condition(names_); });
      if (!wanted) continue;
      report.launches.push_back(launch(step));
    }
    report.findings = device_.findings();

    for (const auto& [name, buffer] : buffers_) {
      if (const std::string damage = device_.guard_damage(buffer); !damage.empty()) throw RunFailure(damage);
    }
    for (const auto& [name, content] : tensors) {
      const auto padded = padded_.find(name);
      if (padded == padded_.end()) {
        device_.download(buffers_.at(name), content);
      } else {
        std::vector<std::byte> whole(padded->second.padding.outer_bytes());
        device_.download(buffers_.at(padded->second.buffer), whole);
        padded->second.padding.gather(whole, content);
      }
    }
    return report;
  }

 private:
  static std::string place(const LaunchStep& step, std::string_view field) {
    return fmt::format("{} of the launch of {}", field, step.kernel);
  }

  void add(const std::string& name, std::span<const std::byte> content, const simulator::BufferUse& use) {
    const auto& [entry, inserted] = buffers_.emplace(name, device_.allocate(content.size(), name));
    device_.declare(entry->second, use);
    device_.upload(entry->second, content);
  }

  // Evaluated, and small enough that their product counts bytes.
  Extents shape_of(const std::string& where, const std::vector<Expression>& expressions,
                   std::uint64_t element_bytes) const;
  void add_workspace(const WorkspaceTensor& tensor);
  void add_padded(const PaddedTensor& tensor, std::span<const std::byte> content);
  std::array<std::uint64_t, 3> extents(const LaunchStep& step, std::string_view field,
                                       const std::vector<Expression>& expressions) const;
  ArgumentValue value_of(const LaunchStep& step, const TensorArgument& argument) const;
  ArgumentValue value_of(const LaunchStep& step, const ScalarArgument& argument) const;
  ArgumentValue value_of(const LaunchStep& step, const StructArgument& argument) const;
  ArgumentValue value_of(const LaunchStep& step, const LaunchArgument& argument) const;
  LaunchReport launch(const LaunchStep& step);

  Device& device_;
  const runtime::Module& module_;
  const Manifest& manifest_;
  const Problem& problem_;
  const Variant& variant_;
  Names names_;
  std::map<std::string, Buffer> buffers_;
  struct Padded {
    std::string buffer;
    Padding padding;
  };
  std::map<std::string, Padded> padded_;  // by the case's tensor
};

// The bytes of one element with its initial value.
std::vector<std::byte> initial_element(const WorkspaceTensor& tensor, const Names& names) {
  const auto bytes_of = [](auto value) {
    std::vector<std::byte> bytes(sizeof(value));
    std::memcpy(bytes.data(), &value, sizeof(value));
    return bytes;
  };
  switch (tensor.type) {
    case WorkspaceType::kBf16:
      return bytes_of(static_cast<std::uint16_t>(encode<Dtype::bf16>(tensor.initial->real(names))));
    case WorkspaceType::kFp16:
      return bytes_of(static_cast<std::uint16_t>(encode<Dtype::fp16>(tensor.initial->real(names))));
    case WorkspaceType::kFp32:
      return bytes_of(encode<Dtype::fp32>(tensor.initial->real(names)));
    case WorkspaceType::kI32: {
      const std::int64_t value = tensor.initial->integer(names);
      if (value != static_cast<std::int32_t>(value)) {
        throw ExpressionError(tensor.initial->text(), 0,
                              fmt::format("the result is {}, which does not fit i32", value));
      }
      return bytes_of(static_cast<std::int32_t>(value));
    }
  }
  return {};
}

std::uint64_t element_size(WorkspaceType type) {
  return type == WorkspaceType::kBf16 || type == WorkspaceType::kFp16 ? 2 : 4;
}

Extents Run::shape_of(const std::string& where, const std::vector<Expression>& expressions,
                      std::uint64_t element_bytes) const {
  Extents shape;
  std::uint64_t bytes = element_bytes;
  for (const Expression& expression : expressions) {
    const std::int64_t extent = evaluated(manifest_, where, [&] { return expression.integer(names_); });
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) {
      throw ManifestError(
          fmt::format("{}: {}: an extent is {}, which is no size", manifest_.origin, where, extent));
    }
    shape.push_back(extent);
  }
  return shape;
}

void Run::add_workspace(const WorkspaceTensor& tensor) {
  const std::string where = fmt::format("workspace {}", tensor.name);
  const std::uint64_t bytes =
      element_size(tensor.type) * element_count(shape_of(where, tensor.shape, element_size(tensor.type)));
  const std::string name = "ws." + tensor.name;
  const auto& [entry, inserted] = buffers_.emplace(name, device_.allocate(bytes, name));
  device_.declare(entry->second, {.role = simulator::BufferRole::kWorkspace,
                                  .element_bytes = static_cast<std::uint32_t>(element_size(tensor.type)),
                                  .extents = {}});
  if (!tensor.initial) return;
  const std::vector<std::byte> element =
      evaluated(manifest_, where, [&] { return initial_element(tensor, names_); });
  std::vector<std::byte> content(bytes);
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = element[i % element.size()];
  device_.upload(entry->second, content);
}

void Run::add_padded(const PaddedTensor& tensor, std::span<const std::byte> content) {
  const std::string where = fmt::format("workspace {}", tensor.name);
  const TensorSpec spec = spec_of(problem_, tensor.holds);
  Extents outer = shape_of(where, tensor.shape, size_of(spec.dtype));
  const bool fits = outer.size() == spec.shape.size() &&
                    std::equal(spec.shape.begin(), spec.shape.end(), outer.begin(), std::less_equal<>());
  if (!fits) {
    throw ManifestError(fmt::format("{}: {}: {} of shape {} does not fit into {}", manifest_.origin, where,
                                    tensor.holds, to_string(spec.shape), to_string(outer)));
  }
  const Padding padding(spec.shape, std::move(outer), size_of(spec.dtype));
  // NaN in every floating-point format: what reads beside the tensor becomes visible.
  std::vector<std::byte> whole(padding.outer_bytes(), std::byte{0xff});
  padding.scatter(content, whole);
  simulator::BufferUse use = use_of(spec, role_of(tensor.holds));
  use.extents.assign(padding.outer().begin(), padding.outer().end());
  if (!tensor.free_padding) {
    use.tensor.assign(spec.shape.begin(), spec.shape.end());
  } else if (use.role == simulator::BufferRole::kOutput) {
    // Nobody says which elements the kernel writes, and which waves.
    use.role = simulator::BufferRole::kWorkspace;
  }
  add("ws." + tensor.name, whole, use);
  padded_.emplace(tensor.holds, Padded{"ws." + tensor.name, padding});
}

std::array<std::uint64_t, 3> Run::extents(const LaunchStep& step, std::string_view field,
                                          const std::vector<Expression>& expressions) const {
  std::array<std::uint64_t, 3> result{1, 1, 1};
  for (std::size_t axis = 0; axis < expressions.size(); ++axis) {
    const std::int64_t value =
        evaluated(manifest_, place(step, field), [&] { return expressions[axis].integer(names_); });
    if (value < 0) {
      throw ManifestError(fmt::format("{}: {}: {} is {}, must not be negative", manifest_.origin,
                                      place(step, field), expressions[axis].text(), value));
    }
    result[axis] = static_cast<std::uint64_t>(value);
  }
  return result;
}

ArgumentValue Run::value_of(const LaunchStep& step, const TensorArgument& argument) const {
  const auto buffer = buffers_.find(argument.name);
  if (buffer != buffers_.end()) return ArgumentValue(buffer->second.address());
  if (argument.optional) return ArgumentValue(std::uint64_t{0});
  throw ManifestError(
      fmt::format("{}: {}: this case has no tensor {}; an argument that may be null is written "
                  "{{\"optional\": \"{}\"}}",
                  manifest_.origin, place(step, "args"), argument.name, argument.name));
}

// The value, or an error where the type cannot hold it.
template <class Integer>
ArgumentValue fitting(const Expression& expression, const Names& names, std::string_view type) {
  const std::int64_t value = expression.integer(names);
  if (!std::in_range<Integer>(value)) {
    throw ExpressionError(expression.text(), 0,
                          fmt::format("the result is {}, which does not fit {}", value, type));
  }
  return ArgumentValue(static_cast<Integer>(value));
}

ArgumentValue scalar_value(const ScalarArgument& argument, const Names& names) {
  switch (argument.type) {
    case ScalarType::kI8:
      return fitting<std::int8_t>(argument.value, names, "i8");
    case ScalarType::kI16:
      return fitting<std::int16_t>(argument.value, names, "i16");
    case ScalarType::kI32:
      return fitting<std::int32_t>(argument.value, names, "i32");
    case ScalarType::kI64:
      return fitting<std::int64_t>(argument.value, names, "i64");
    case ScalarType::kU8:
      return fitting<std::uint8_t>(argument.value, names, "u8");
    case ScalarType::kU16:
      return fitting<std::uint16_t>(argument.value, names, "u16");
    case ScalarType::kU32:
      return fitting<std::uint32_t>(argument.value, names, "u32");
    case ScalarType::kU64:
      return fitting<std::uint64_t>(argument.value, names, "u64");
    case ScalarType::kBf16:
      return ArgumentValue(static_cast<std::uint16_t>(encode<Dtype::bf16>(argument.value.real(names))));
    case ScalarType::kFp16:
      return ArgumentValue(static_cast<std::uint16_t>(encode<Dtype::fp16>(argument.value.real(names))));
    case ScalarType::kF32:
      return ArgumentValue(static_cast<float>(argument.value.real(names)));
    case ScalarType::kF64:
      break;
  }
  return ArgumentValue(argument.value.real(names));
}

ArgumentValue Run::value_of(const LaunchStep& step, const ScalarArgument& argument) const {
  return evaluated(manifest_, place(step, "args"), [&] { return scalar_value(argument, names_); });
}

// Padding is zero.
ArgumentValue Run::value_of(const LaunchStep& step, const StructArgument& argument) const {
  std::vector<std::byte> bytes;
  for (const LaunchArgument& member : argument.members) {
    bytes.resize(round_up(static_cast<std::uint32_t>(bytes.size()), layout_of(member).alignment));
    const ArgumentValue value = value_of(step, member);
    bytes.insert(bytes.end(), value.bytes().begin(), value.bytes().end());
  }
  bytes.resize(layout_of(argument).size);
  return ArgumentValue(std::move(bytes));
}

ArgumentValue Run::value_of(const LaunchStep& step, const LaunchArgument& argument) const {
  return std::visit([&](const auto& one) { return value_of(step, one); }, argument);
}

LaunchReport Run::launch(const LaunchStep& step) {
  runtime::Geometry geometry;
  geometry.grid = extents(step, "grid", step.grid);
  geometry.block = extents(step, "block", step.block);
  if (step.dynamic_lds) geometry.dynamic_lds_bytes = extents(step, "dynamic_lds", {*step.dynamic_lds})[0];
  std::vector<ArgumentValue> arguments;
  for (const LaunchArgument& argument : step.arguments) arguments.push_back(value_of(step, argument));
  const runtime::Kernel& kernel = module_.find_kernel(step.kernel);
  device_.launch(kernel, geometry, arguments);
  // Each launch for itself: what it counts, and what it did wrong, are its own.
  return {kernel.name(), device_.wait()};
}

}  // namespace

std::string kernel_set_name(const Manifest& manifest, const std::optional<std::string>& variant) {
  return variant ? fmt::format("{}/{}", manifest.name, *variant) : manifest.name;
}

ManifestKernels::ManifestKernels(std::shared_ptr<runtime::Device> device, Manifest manifest,
                                 const std::filesystem::path& code_object, std::optional<std::string> variant)
    : device_(std::move(device)), manifest_(std::move(manifest)), variant_(std::move(variant)) {
  const std::string& target = device_->properties().target;
  if (manifest_.target != target) {
    throw ManifestError(fmt::format("{}: the manifest is for {}, the device {} runs {}", manifest_.origin,
                                    manifest_.target, device_->properties().name, target));
  }
  if (variant_) {
    const std::vector<std::string> names = variant_names(manifest_);
    if (std::find(names.begin(), names.end(), *variant_) == names.end()) {
      throw ManifestError(fmt::format("{}: there is no variant \"{}\", must be one of {}", manifest_.origin,
                                      *variant_, fmt::join(names, ", ")));
    }
  }
  module_ = device_->load(codeobject::read_file(code_object), code_object.string());
  check_launches();
}

ManifestKernels::~ManifestKernels() = default;

void ManifestKernels::check_launches() const {
  for (const OperatorEntry& entry : manifest_.operators) {
    for (const Variant& variant : entry.variants) {
      for (const LaunchStep& step : variant.launches) {
        std::vector<std::uint32_t> sizes;
        for (const LaunchArgument& argument : step.arguments) sizes.push_back(layout_of(argument).size);
        try {
          runtime::check_arguments(module_->find_kernel(step.kernel), sizes);
        } catch (const runtime::DeviceError& error) {
          throw ManifestError(fmt::format("{}: {}: {}: {}", manifest_.origin, row_of(entry.op).name,
                                          variant.name, error.what()));
        }
      }
    }
  }
}

bool ManifestKernels::implements(Op op) const {
  const OperatorEntry* entry = manifest_.find(op);
  if (entry == nullptr) return false;
  if (!variant_) return true;
  return std::any_of(entry->variants.begin(), entry->variants.end(),
                     [&](const Variant& variant) { return variant.name == *variant_; });
}

RoundingProfile ManifestKernels::profile(Op op) const {
  const std::vector<Variant>& variants = manifest_.find(op)->variants;
  if (!variant_) return variants.front().rounding;
  return std::find_if(variants.begin(), variants.end(),
                      [&](const Variant& variant) { return variant.name == *variant_; })
      ->rounding;
}

void ManifestKernels::instrument(const runtime::Instrumentation& wanted) { device_->instrument(wanted); }

bool ManifestKernels::batch_invariant(Op op) const { return manifest_.find(op)->batch_invariant; }

Names ManifestKernels::names_for(const OperatorEntry& entry, const Problem& problem) const {
  Names names = names_of(problem, device_->properties().num_cus);
  define(manifest_, entry.bindings, names);
  return names;
}

const Variant* ManifestKernels::choose(const OperatorEntry& entry, const Names& names) const {
  for (const Variant& variant : entry.variants) {
    if (variant_ ? variant.name != *variant_ : variant.rounding != entry.variants.front().rounding) continue;
    const bool fits = !variant.when || evaluated(manifest_, fmt::format("when of variant {}", variant.name),
                                                 [&] { return variant.when->condition(names); });
    if (fits) return &variant;
  }
  return nullptr;
}

std::string ManifestKernels::why_refused(const Problem& problem) const {
  if (!implements(problem.op)) return fmt::format("{} has no {}", name(), row_of(problem.op).name);
  const OperatorEntry& entry = *manifest_.find(problem.op);
  const Names case_only = names_of(problem, device_->properties().num_cus);
  for (const Limit& limit : entry.limits) {
    const bool holds = evaluated(manifest_, fmt::format("limit \"{}\"", limit.message),
                                 [&] { return limit.require.condition(case_only); });
    if (!holds) return fmt::format("{} ({})", limit.message, limit.require.text());
  }
  if (choose(entry, names_for(entry, problem)) == nullptr) {
    return variant_ ? fmt::format("variant {} is not for this problem", *variant_)
                    : "no variant is for this problem";
  }
  return {};
}

RunReport ManifestKernels::run(const Problem& problem, TensorMap& inputs, OutputRegions& outputs) {
  if (const std::string refused = why_refused(problem); !refused.empty()) throw RunFailure(refused);
  const OperatorEntry& entry = *manifest_.find(problem.op);
  Names names = names_for(entry, problem);
  const Variant& variant = *choose(entry, names);
  define(manifest_, variant.bindings, names);
  try {
    return Run(*device_, *module_, manifest_, problem, variant, std::move(names)).execute(inputs, outputs);
  } catch (const runtime::DeviceError& error) {
    throw RunFailure(error.what(), device_->findings());
  }
}

std::vector<std::string> variant_names(const Manifest& manifest) {
  std::vector<std::string> names;
  for (const OperatorEntry& entry : manifest.operators) {
    for (const Variant& variant : entry.variants) {
      if (std::find(names.begin(), names.end(), variant.name) == names.end()) names.push_back(variant.name);
    }
  }
  return names;
}

std::filesystem::path code_object_path(const Manifest& manifest, const std::filesystem::path& given) {
  if (!given.empty()) return given;
  if (manifest.code_object.empty()) {
    throw ManifestError(fmt::format(
        "{}: no code object: give \"code_object\" in the manifest or on the command line", manifest.origin));
  }
  return std::filesystem::path(manifest.origin).parent_path() / manifest.code_object;
}

}  // namespace mhcheck::kernels

#include "kernels/manifests/manifest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>

namespace mhcheck::kernels {
namespace {

// Keeps the order of an object's members: bindings may use those before them.
using Json = nlohmann::ordered_json;

template <class Value>
using NamedValues = std::initializer_list<std::pair<std::string_view, Value>>;

// A value of the document and the way to it, for messages.
class Field {
 public:
  Field(const Json& value, std::string path) : value_(value), path_(std::move(path)) {}

  [[noreturn]] void fail(std::string_view problem) const {
    throw ManifestError(fmt::format("{}: {}", path_, problem));
  }

  void expect_object(std::initializer_list<std::string_view> known) const {
    if (!value_.is_object()) fail(fmt::format("is of type {}, must be an object", value_.type_name()));
    for (const auto& [key, member] : value_.items()) {
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        fail(fmt::format("has an unknown field \"{}\", must be one of {}", key, fmt::join(known, ", ")));
      }
    }
  }
  std::optional<Field> member(std::string_view key) const {
    const auto found = value_.find(std::string(key));
    if (found == value_.end()) return std::nullopt;
    return Field(*found, fmt::format("{}.{}", path_, key));
  }
  Field required(std::string_view key) const {
    const std::optional<Field> found = member(key);
    if (!found) fail(fmt::format("has no field \"{}\"", key));
    return *found;
  }
  bool is_string() const { return value_.is_string(); }
  bool is_object() const { return value_.is_object(); }
  std::string string() const {
    if (!value_.is_string()) fail(fmt::format("is of type {}, must be a string", value_.type_name()));
    return value_.get<std::string>();
  }
  bool boolean() const {
    if (!value_.is_boolean()) fail(fmt::format("is of type {}, must be true or false", value_.type_name()));
    return value_.get<bool>();
  }
  std::vector<Field> elements() const {
    if (!value_.is_array()) fail(fmt::format("is of type {}, must be an array", value_.type_name()));
    std::vector<Field> all;
    for (std::size_t i = 0; i < value_.size(); ++i)
      all.emplace_back(value_[i], fmt::format("{}[{}]", path_, i));
    return all;
  }
  std::vector<std::pair<std::string, Field>> members() const {
    if (!value_.is_object()) fail(fmt::format("is of type {}, must be an object", value_.type_name()));
    std::vector<std::pair<std::string, Field>> all;
    for (const auto& [key, value] : value_.items())
      all.emplace_back(key, Field(value, fmt::format("{}.{}", path_, key)));
    return all;
  }
  template <class Value>
  Value one_of(NamedValues<Value> choices) const {
    const std::string text = string();
    std::vector<std::string_view> names;
    for (const auto& [name, value] : choices) {
      if (name == text) return value;
      names.push_back(name);
    }
    fail(fmt::format("is \"{}\", must be one of {}", text, fmt::join(names, ", ")));
  }

  // A string, or a plain number in its place.
  Expression expression(const std::vector<std::string>& names) const {
    if (!value_.is_string() && !value_.is_number()) {
      fail(fmt::format("is of type {}, must be an expression in a string, or a number", value_.type_name()));
    }
    try {
      Expression parsed = Expression::parse(value_.is_string() ? value_.get<std::string>() : value_.dump());
      parsed.check_names(names);
      return parsed;
    } catch (const ExpressionError& error) {
      fail(error.what());
    }
  }

 private:
  const Json& value_;
  std::string path_;
};

bool is_identifier(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// What expressions and arguments of one variant may name.
struct Scope {
  Op op;
  std::vector<std::string> names;
  std::set<std::string> tensors;
};

// Every tensor that some problem of the operator has, as "in.x" and "out.y".
std::set<std::string> case_tensors(Op op) {
  const OperatorRow& row = row_of(op);
  std::set<std::string> names;
  Problem problem;
  problem.op = op;
  if (row.fused_norm) problem.norm_weight = Dtype::fp32;
  for (const Entry entry : {Entry::carried, Entry::entry, Entry::broadcast}) {
    if (entry != Entry::carried && !row.entries) continue;
    problem.entry = entry;
    for (const TensorSpec& spec : input_specs(problem)) names.insert(fmt::format("in.{}", spec.name));
    for (const TensorSpec& spec : output_specs(problem)) names.insert(fmt::format("out.{}", spec.name));
  }
  return names;
}

std::vector<Expression> expressions(const Field& field, const Scope& scope) {
  std::vector<Expression> all;
  for (const Field& element : field.elements()) all.push_back(element.expression(scope.names));
  return all;
}

std::vector<Expression> directions(const Field& field, const Scope& scope) {
  std::vector<Expression> all = expressions(field, scope);
  if (all.empty() || all.size() > 3)
    field.fail(fmt::format("has {} directions, must have 1 to 3", all.size()));
  return all;
}

std::vector<Binding> read_bindings(const Field& entry, Scope& scope) {
  std::vector<Binding> bindings;
  const std::optional<Field> field = entry.member("let");
  if (!field) return bindings;
  for (const auto& [name, value] : field->members()) {
    if (!is_identifier(name)) value.fail("is no name: letters, digits and _ only, and no digit first");
    if (std::find(scope.names.begin(), scope.names.end(), name) != scope.names.end()) {
      value.fail("is defined already");
    }
    bindings.push_back({name, value.expression(scope.names)});
    scope.names.push_back(name);
  }
  return bindings;
}

std::vector<Limit> read_limits(const Field& entry, const Scope& scope) {
  std::vector<Limit> limits;
  const std::optional<Field> field = entry.member("limits");
  if (!field) return limits;
  for (const Field& limit : field->elements()) {
    limit.expect_object({"require", "message"});
    limits.push_back({limit.required("require").expression(scope.names), limit.required("message").string()});
  }
  return limits;
}

std::string tensor_name(const Field& field, const Scope& scope) {
  std::string name = field.string();
  if (!scope.tensors.contains(name)) {
    field.fail(
        fmt::format("there is no tensor \"{}\", must be one of {}", name, fmt::join(scope.tensors, ", ")));
  }
  return name;
}

std::string workspace_name(const Field& tensor, Scope& scope) {
  const Field name = tensor.required("name");
  if (!is_identifier(name.string())) name.fail("is no name: letters, digits and _ only, and no digit first");
  if (!scope.tensors.insert(fmt::format("ws.{}", name.string())).second) name.fail("is defined already");
  return name.string();
}

PaddedTensor read_padded(const Field& tensor, Scope& scope) {
  tensor.expect_object({"name", "holds", "shape", "padding"});
  const Field holds = tensor.required("holds");
  PaddedTensor parsed{.name = {},
                      .holds = tensor_name(holds, scope),
                      .shape = expressions(tensor.required("shape"), scope),
                      .free_padding = false};
  if (const auto padding = tensor.member("padding"))
    parsed.free_padding = padding->one_of<bool>({{"untouched", false}, {"free", true}});
  if (parsed.holds.starts_with("ws.")) holds.fail("must be a tensor of the case, \"in.*\" or \"out.*\"");
  scope.tensors.erase(parsed.holds);
  parsed.name = workspace_name(tensor, scope);
  return parsed;
}

WorkspaceTensor read_workspace_tensor(const Field& tensor, Scope& scope) {
  tensor.expect_object({"name", "dtype", "shape", "initial"});
  WorkspaceTensor parsed{
      .name = workspace_name(tensor, scope),
      .type = tensor.required("dtype").one_of<WorkspaceType>({{"bf16", WorkspaceType::kBf16},
                                                              {"fp16", WorkspaceType::kFp16},
                                                              {"fp32", WorkspaceType::kFp32},
                                                              {"i32", WorkspaceType::kI32}}),
      .shape = expressions(tensor.required("shape"), scope),
      .initial = std::nullopt};
  if (const auto initial = tensor.member("initial")) parsed.initial = initial->expression(scope.names);
  return parsed;
}

// The workspace tensors of an entry or a variant, added to what the variant has.
void read_workspace(const Field& entry, Scope& scope, Variant& variant) {
  const std::optional<Field> field = entry.member("workspace");
  if (!field) return;
  for (const Field& tensor : field->elements()) {
    if (tensor.is_object() && tensor.member("holds")) {
      variant.padded.push_back(read_padded(tensor, scope));
    } else {
      variant.workspace.push_back(read_workspace_tensor(tensor, scope));
    }
  }
}

struct ScalarRow {
  std::string_view name;
  ScalarType type;
  std::uint32_t bytes;
};
constexpr ScalarRow kScalars[] = {
    {"i8", ScalarType::kI8, 1},     {"i16", ScalarType::kI16, 2}, {"i32", ScalarType::kI32, 4},
    {"i64", ScalarType::kI64, 8},   {"u8", ScalarType::kU8, 1},   {"u16", ScalarType::kU16, 2},
    {"u32", ScalarType::kU32, 4},   {"u64", ScalarType::kU64, 8}, {"bf16", ScalarType::kBf16, 2},
    {"fp16", ScalarType::kFp16, 2}, {"f32", ScalarType::kF32, 4}, {"f64", ScalarType::kF64, 8},
};

// "in.residual", {"optional": "in.norm_weight"}, {"i32": "num_tokens"}, {"struct": [...]}.
LaunchArgument read_argument(const Field& field, const Scope& scope) {
  if (field.is_string()) return TensorArgument{tensor_name(field, scope), /*optional=*/false};
  field.expect_object({"optional", "struct", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bf16",
                       "fp16", "f32", "f64"});
  if (field.members().size() != 1)
    field.fail("must have exactly one field: the argument's type with its value");
  if (const auto optional = field.member("optional"))
    return TensorArgument{tensor_name(*optional, scope), true};
  if (const auto members = field.member("struct")) {
    StructArgument structure;
    for (const Field& member : members->elements()) structure.members.push_back(read_argument(member, scope));
    if (structure.members.empty()) members->fail("is empty, must have a member");
    return structure;
  }
  for (const ScalarRow& row : kScalars) {
    if (const auto value = field.member(row.name))
      return ScalarArgument{row.type, value->expression(scope.names)};
  }
  field.fail("must be a tensor or a typed scalar");
}

// A kernel and when it is the one.
struct NamedKernel {
  std::string name;
  std::string condition;  // empty: always
};

// Every kernel that a name with "{dtype}" or "{norm_weight}" in it stands for, in the problems of the
// operator.
std::vector<NamedKernel> spell_out(const Field& name, Op op) {
  const OperatorRow& row = row_of(op);
  std::vector<std::string_view> norm_weights;
  if (!row.needs_norm) norm_weights.push_back("none");
  if (row.fused_norm) {
    for (const Dtype dtype : kAllDtypes) norm_weights.push_back(name_of(dtype));
  }
  const std::pair<std::string_view, std::vector<std::string_view>> placeholders[] = {
      {"dtype", {name_of(Dtype::bf16), name_of(Dtype::fp16)}}, {"norm_weight", norm_weights}};

  std::vector<NamedKernel> kernels{{.name = name.string(), .condition = {}}};
  for (const auto& [placeholder, values] : placeholders) {
    const std::string braced = fmt::format("{{{}}}", placeholder);
    const std::size_t at = kernels.front().name.find(braced);
    if (at == std::string::npos) continue;
    std::vector<NamedKernel> spelled;
    for (const NamedKernel& kernel : kernels) {
      for (const std::string_view value : values) {
        NamedKernel one = kernel;
        one.name.replace(one.name.find(braced), braced.size(), value);
        one.condition += fmt::format("{}{} == {}", one.condition.empty() ? "" : " && ", placeholder, value);
        spelled.push_back(std::move(one));
      }
    }
    kernels = std::move(spelled);
  }
  if (kernels.front().name.find_first_of("{}") != std::string::npos) {
    name.fail(fmt::format("is \"{}\": what stands in braces must be one of dtype and norm_weight, each once",
                          name.string()));
  }
  return kernels;
}

LaunchStep read_launch(const Field& field, const Scope& scope, const NamedKernel& kernel) {
  field.expect_object({"kernel", "when", "grid", "block", "dynamic_lds", "args"});
  LaunchStep step{.kernel = kernel.name,
                  .when = std::nullopt,
                  .grid = directions(field.required("grid"), scope),
                  .block = directions(field.required("block"), scope),
                  .dynamic_lds = std::nullopt,
                  .arguments = {}};
  if (const auto when = field.member("when")) step.when = when->expression(scope.names);
  if (!kernel.condition.empty()) {
    step.when = Expression::parse(step.when ? fmt::format("{} && ({})", kernel.condition, step.when->text())
                                            : kernel.condition);
  }
  if (const auto bytes = field.member("dynamic_lds")) step.dynamic_lds = bytes->expression(scope.names);
  for (const Field& argument : field.required("args").elements()) {
    step.arguments.push_back(read_argument(argument, scope));
  }
  return step;
}

void read_steps(const Field& field, Scope& scope, Variant& variant) {
  read_workspace(field, scope, variant);
  const Field launches = field.required("launches");
  for (const Field& launch : launches.elements()) {
    for (const NamedKernel& kernel : spell_out(launch.required("kernel"), scope.op)) {
      variant.launches.push_back(read_launch(launch, scope, kernel));
    }
  }
  if (variant.launches.empty()) launches.fail("is empty, must have a launch");
}

// What the entry states; `profile` where it states nothing.
RoundingProfile read_rounding(const Field& entry, RoundingProfile profile) {
  const std::optional<Field> field = entry.member("rounding");
  if (!field) return profile;
  field->expect_object({"collapse", "next_residual", "projection"});
  if (const auto collapse = field->member("collapse")) {
    profile.collapse = collapse->one_of<CollapseRounding>({{"storage", CollapseRounding::storage},
                                                           {"fp32_sumsq", CollapseRounding::fp32_sumsq},
                                                           {"fp32", CollapseRounding::fp32}});
  }
  if (const auto next = field->member("next_residual")) {
    profile.next_residual = next->one_of<NextResidual>({{"rounded", NextResidual::rounded},
                                                        {"unrounded", NextResidual::unrounded},
                                                        {"fp32_sumsq", NextResidual::fp32_sumsq}});
  }
  if (const auto projection = field->member("projection")) {
    profile.projection = projection->one_of<ProjectionPrecision>({{"fp32", ProjectionPrecision::fp32},
                                                                  {"tf32", ProjectionPrecision::tf32},
                                                                  {"bf16x2", ProjectionPrecision::bf16x2},
                                                                  {"bf16x1", ProjectionPrecision::bf16x1}});
  }
  return profile;
}

// `variant` begins with what the entry shares among its variants.
Variant read_variant(const Field& field, Scope scope, Variant variant) {
  field.expect_object({"name", "rounding", "when", "let", "workspace", "launches"});
  variant.name = field.required("name").string();
  variant.rounding = read_rounding(field, variant.rounding);
  if (const auto when = field.member("when")) variant.when = when->expression(scope.names);
  variant.bindings = read_bindings(field, scope);
  read_steps(field, scope, variant);
  return variant;
}

OperatorEntry read_operator(const std::string& name, const Field& field) {
  const std::optional<Op> op = op_from_name(name);
  if (!op) {
    std::vector<std::string_view> known;
    for (const OperatorRow& row : all_operators()) known.push_back(row.name);
    field.fail(fmt::format("is no operator, must be one of {}", fmt::join(known, ", ")));
  }
  field.expect_object({"rounding", "batch_invariant", "limits", "let", "workspace", "launches", "variants"});
  OperatorEntry entry;
  entry.op = *op;
  const RoundingProfile rounding = read_rounding(field, RoundingProfile{});
  if (const auto invariant = field.member("batch_invariant")) entry.batch_invariant = invariant->boolean();

  Scope scope{.op = *op, .names = case_names(), .tensors = case_tensors(*op)};
  entry.limits = read_limits(field, scope);
  entry.bindings = read_bindings(field, scope);

  const std::optional<Field> variants = field.member("variants");
  if (variants.has_value() == field.member("launches").has_value()) {
    field.fail("must have either \"launches\" or \"variants\"");
  }
  if (!variants) {
    Variant only;
    only.name = "default";
    only.rounding = rounding;
    read_steps(field, scope, only);
    entry.variants.push_back(std::move(only));
    return entry;
  }
  Variant shared;
  shared.rounding = rounding;
  read_workspace(field, scope, shared);
  std::set<std::string> names;
  for (const Field& variant : variants->elements()) {
    entry.variants.push_back(read_variant(variant, scope, shared));
    if (entry.variants.back().name == kAllVariants) {
      variant.fail(
          fmt::format("is called \"{0}\", which on the command line stands for {0} variants", kAllVariants));
    }
    if (!names.insert(entry.variants.back().name).second) {
      variant.fail(fmt::format("has the name \"{}\" of an earlier variant", entry.variants.back().name));
    }
  }
  if (entry.variants.empty()) variants->fail("is empty, must have a variant");
  return entry;
}

}  // namespace

ArgumentLayout layout_of(const LaunchArgument& argument) {
  constexpr std::uint32_t kAddressBytes = 8;
  if (const auto* scalar = std::get_if<ScalarArgument>(&argument)) {
    const std::uint32_t bytes = std::ranges::find(kScalars, scalar->type, &ScalarRow::type)->bytes;
    return {bytes, bytes};
  }
  const auto* structure = std::get_if<StructArgument>(&argument);
  if (structure == nullptr) return {kAddressBytes, kAddressBytes};
  ArgumentLayout whole{0, 1};
  for (const LaunchArgument& member : structure->members) {
    const ArgumentLayout layout = layout_of(member);
    whole.alignment = std::max(whole.alignment, layout.alignment);
    whole.size = round_up(whole.size, layout.alignment) + layout.size;
  }
  whole.size = round_up(whole.size, whole.alignment);
  return whole;
}

const OperatorEntry* Manifest::find(Op op) const {
  const auto found = std::find_if(operators.begin(), operators.end(),
                                  [&](const OperatorEntry& entry) { return entry.op == op; });
  return found == operators.end() ? nullptr : &*found;
}

Manifest parse_manifest(std::string_view json, const std::string& origin) {
  Json document;
  try {
    document = Json::parse(json);
  } catch (const Json::exception& error) {
    throw ManifestError(fmt::format("{}: no JSON: {}", origin, error.what()));
  }
  const Field root(document, origin);
  root.expect_object({"name", "code_object", "target", "operators"});
  Manifest manifest;
  manifest.origin = origin;
  manifest.name = root.required("name").string();
  manifest.target = root.required("target").string();
  if (const auto code_object = root.member("code_object")) manifest.code_object = code_object->string();
  const Field operators = root.required("operators");
  for (const auto& [name, field] : operators.members())
    manifest.operators.push_back(read_operator(name, field));
  if (manifest.operators.empty()) operators.fail("is empty, must have an operator");
  return manifest;
}

Manifest load_manifest(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw ManifestError(fmt::format("{}: cannot be opened", file.string()));
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) throw ManifestError(fmt::format("{}: cannot be read", file.string()));
  return parse_manifest(text.str(), file.string());
}

}  // namespace mhcheck::kernels

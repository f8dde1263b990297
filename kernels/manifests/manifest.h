#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/manifests/expression.h"
#include "reference/base/operators.h"

namespace mhcheck::kernels {

/// A manifest that cannot be used: which file, which field of it, what is wrong and what would be right. An
/// error in an expression shows it below, with a caret under the place.
class ManifestError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What a kernel needs to hold for a problem, and what to say when it does not.
struct Limit {
  Expression require;
  std::string message;
};

/// A name for a value, usable in everything after it.
struct Binding {
  std::string name;
  Expression value;
};

enum class WorkspaceType : std::uint8_t { kBf16, kFp16, kFp32, kI32 };

/// A tensor that lives between the launches of one run. Without an initial value it holds NaN patterns.
struct WorkspaceTensor {
  std::string name;
  WorkspaceType type = WorkspaceType::kFp32;
  std::vector<Expression> shape;
  std::optional<Expression> initial;  ///< of every element
};

/// A tensor of the case in a larger one of the same rank and type, at its origin, so that its strides are not
/// those of a dense tensor. Takes the case's tensor's place in the launches, under its own name in the
/// workspace; the elements around it are NaN patterns. Missing where the case's tensor is.
struct PaddedTensor {
  std::string name;
  std::string holds;  ///< "in.residual" or "out.gemm_out_mul"
  std::vector<Expression> shape;
  bool free_padding = false;  ///< the kernel may touch what lies around it
};

/// The device address of "in.residual", "out.layer_input" or "ws.partial_sums". An optional one is null where
/// the case has no such tensor (a norm weight without a fused norm, a mix in head mode).
struct TensorArgument {
  std::string name;
  bool optional = false;
};

enum class ScalarType : std::uint8_t {
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kBf16,
  kFp16,
  kF32,
  kF64
};

struct ScalarArgument {
  ScalarType type = ScalarType::kI32;
  Expression value;
};

struct StructArgument;
using LaunchArgument = std::variant<TensorArgument, ScalarArgument, StructArgument>;

/// A structure that is passed by value, its members laid out as C does: each at a multiple of its alignment,
/// which is its size, or for a structure that of its widest member.
struct StructArgument {
  std::vector<LaunchArgument> members;
};

/// The bytes that an argument takes, and what its place must be a multiple of.
struct ArgumentLayout {
  std::uint32_t size, alignment;
};
ArgumentLayout layout_of(const LaunchArgument& argument);
constexpr std::uint32_t round_up(std::uint32_t size, std::uint32_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

struct LaunchStep {
  std::string kernel;                     ///< mangled or demangled name, or a glob that matches one
  std::optional<Expression> when;         ///< skipped where it does not hold
  std::vector<Expression> grid;           ///< workgroups; one to three directions
  std::vector<Expression> block;          ///< work-items
  std::optional<Expression> dynamic_lds;  ///< bytes
  std::vector<LaunchArgument> arguments;
};

/// What stands for every variant where one is asked for, so that none can have the name.
inline constexpr std::string_view kAllVariants = "all";

/// One way to run an operator.
struct Variant {
  std::string name;                ///< "default" where the operator has one only
  RoundingProfile rounding;        ///< its own, or else the operator's
  std::optional<Expression> when;  ///< chosen where it holds; of several, the first
  std::vector<Binding> bindings;
  std::vector<WorkspaceTensor> workspace;
  std::vector<PaddedTensor> padded;
  std::vector<LaunchStep> launches;
};

struct OperatorEntry {
  Op op = Op::mhc_pre;
  bool batch_invariant = true;
  std::vector<Limit> limits;
  std::vector<Binding> bindings;
  std::vector<Variant> variants;  ///< at least one
};

/// How to run operators with the kernels of a code object: a JSON file, described in docs/manifests.md.
struct Manifest {
  std::string origin;  ///< the file, for messages
  std::string name;
  std::string code_object;  ///< as written, relative to the manifest; may be empty
  std::string target;       ///< "gfx950", "sm_90"
  std::vector<OperatorEntry> operators;

  const OperatorEntry* find(Op op) const;
};

/// Reads a manifest. Unknown fields, unknown names in expressions and tensors that the operator does not have
/// are errors here, not at the launch. Throws ManifestError.
Manifest parse_manifest(std::string_view json, const std::string& origin);
Manifest load_manifest(const std::filesystem::path& file);

/// The names that every expression may use, beside the manifest's own bindings.
std::vector<std::string> case_names();

/// Their values for a problem on a device with so many compute units.
Names names_of(const Problem& problem, int num_cus);

}  // namespace mhcheck::kernels

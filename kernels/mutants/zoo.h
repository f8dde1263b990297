// The zoo: kernels that are each wrong in one way, and must be caught. One row a mutant, in zoo.cpp.
//
// A mutant runs as gfx950 machine code: the launches of the correct base (base.json), with one kernel
// replaced by a broken one, or, where the fault is the host's, with a broken launch.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "kernels/manifests/manifest.h"
#include "reference/base/operators.h"

namespace mhcheck::mutants {

/// What can catch a mutant.
enum class Check : std::uint8_t {
  fault,       ///< the kernel faulted, hung, or could not be launched
  memory,      ///< unwritten outputs, writes beside them, changed inputs
  membership,  ///< elements outside what a correct kernel may store
  bias,        ///< errors that agree in sign or scale
  sanitizer,   ///< what the simulator's sanitizers see the machine code do
  schedule,    ///< other bits when the waves run in another order
  law,         ///< a law that every correct kernel keeps
};

struct CheckRow {
  Check check;
  std::string_view name;
};
inline constexpr CheckRow kChecks[] = {
    {Check::fault, "fault"}, {Check::memory, "memory"},       {Check::membership, "membership"},
    {Check::bias, "bias"},   {Check::sanitizer, "sanitizer"}, {Check::schedule, "schedule"},
    {Check::law, "law"},
};
constexpr std::string_view name_of(Check check) { return kChecks[static_cast<std::size_t>(check)].name; }

struct Mutant {
  std::string_view name;
  Op op = Op::mhc_pre;
  /// The stage whose kernel STAGE_correct is replaced by STAGE_NAME: "sums", "finish", "post", "head",
  /// "collapse", "expand", "sinkhorn" or "norm". Empty where the fault is the host's and stands in `patch`
  /// alone.
  std::string_view stage;
  std::string_view broken;       ///< what is wrong, in one line
  std::string_view report = "";  ///< the public report behind it; empty where there is none
  Check caught_by = Check::membership;
  std::string_view law = "";  ///< which one, where a law must catch it
  /// A JSON patch (RFC 6902) of the operator's entry in the manifest; empty: the launches of the base.
  std::string_view patch = "";
  /// A case of its own, where those of the suite's profiles do not reach the fault in reasonable time, and
  /// why.
  std::string_view own_case = "";
  std::string_view why_own_case = "";
};

std::span<const Mutant> zoo();

/// The correct base, and the base with the mutant's fault in it. Throws kernels::ManifestError.
kernels::Manifest base_manifest();
kernels::Manifest manifest_of(const Mutant& mutant);

}  // namespace mhcheck::mutants

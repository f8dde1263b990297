#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernel_set.h"
#include "kernels/manifests/manifest.h"
#include "kernels/runtime/device.h"

namespace mhcheck::kernels {

/// The manifest's name, with "/VARIANT" behind it where one is pinned.
std::string kernel_set_name(const Manifest& manifest, const std::optional<std::string>& variant);

/// The kernels of a code object as a manifest says to run them, on a device: how every user's kernel comes
/// under test.
class ManifestKernels : public KernelSet {
 public:
  /// Loads the code object onto the device. `variant` pins one variant by name, for every operator that has
  /// it; without it the first whose `when` holds runs, of those that round as the operator's first one.
  /// Throws ManifestError when the manifest is for another target, has no such variant, or gives a kernel
  /// other arguments than it takes, codeobject::CodeObjectError for the code object or a kernel that it does
  /// not have, or runtime::DeviceError.
  ManifestKernels(std::shared_ptr<runtime::Device> device, Manifest manifest,
                  const std::filesystem::path& code_object,
                  std::optional<std::string> variant = std::nullopt);
  ~ManifestKernels() override;

  std::string name() const override { return kernel_set_name(manifest_, variant_); }
  bool implements(Op op) const override;
  RoundingProfile profile(Op op) const override;
  /// Throws ManifestError when a limit cannot be evaluated.
  std::string why_refused(const Problem& problem) const override;
  bool batch_invariant(Op op) const override;
  void instrument(const runtime::Instrumentation& wanted) override;
  /// Beside RunFailure, throws ManifestError when an expression cannot be evaluated. Every buffer exists for
  /// this run only.
  RunReport run(const Problem& problem, TensorMap& inputs, OutputRegions& outputs) override;

 private:
  void check_launches() const;
  const Variant* choose(const OperatorEntry& entry, const Names& names) const;
  Names names_for(const OperatorEntry& entry, const Problem& problem) const;

  std::shared_ptr<runtime::Device> device_;
  Manifest manifest_;
  std::optional<std::string> variant_;
  std::unique_ptr<runtime::Module> module_;
};

/// The names of all variants in a manifest, each once, in order: what `--variant all` runs.
std::vector<std::string> variant_names(const Manifest& manifest);

/// Where the manifest's code object is: `given` where that is not empty, else the manifest's own entry, which
/// counts from the manifest's folder. Throws ManifestError when neither names one.
std::filesystem::path code_object_path(const Manifest& manifest, const std::filesystem::path& given);

}  // namespace mhcheck::kernels

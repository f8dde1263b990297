#include "golden/verify.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "golden/answer.h"
#include "golden/case_file.h"
#include "golden/file_error.h"
#include "golden/sha256.h"
#include "golden/versions.h"

namespace mhcheck::golden {
namespace {

std::string element(const Tensor& tensor, std::size_t index) {
  return fmt::format("{} ({:.9g})", hex_bits(tensor.dtype(), tensor.bits(index)), tensor.value(index));
}

Extents index_in(const Extents& shape, std::size_t linear) {
  Extents index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto extent = static_cast<std::size_t>(shape[axis]);
    index[axis] = static_cast<std::int64_t>(linear % extent);
    linear /= extent;
  }
  return index;
}

// Empty when both have the same bits. They have the same format and shape.
std::string difference(const Tensor& stored, const Tensor& computed) {
  std::size_t count = 0;
  std::size_t first = 0;
  for (std::size_t e = 0; e < stored.size(); ++e) {
    if (stored.bits(e) == computed.bits(e)) continue;
    if (count == 0) first = e;
    ++count;
  }
  if (count == 0) return {};
  return fmt::format("{} of {} elements differ, first at {}: the file has {}, computed is {}", count,
                     stored.size(), to_string(index_in(stored.shape(), first)), element(stored, first),
                     element(computed, first));
}

class CaseVerifier {
 public:
  CaseVerifier(const std::filesystem::path& folder, const Manifest& manifest, const ManifestEntry& entry,
               Verification& verification)
      : path_(folder / entry.file),
        program_version_(manifest.program_version),
        entry_(entry),
        verification_(verification) {}

  void verify(const InputSource& inputs_of) {
    try {
      check_bytes();
      check_content(inputs_of);
    } catch (const FileError& error) {
      verification_.differences.emplace_back(error.what());
    } catch (const std::exception& error) {
      // A damaged descriptor can be another valid case, one that has no inputs or no answer.
      report(fmt::format("cannot be computed again: {}", error.what()));
    }
  }

 private:
  void report(std::string_view what) {
    verification_.differences.emplace_back(FileError(path_, what).what());
  }

  void check_bytes() {
    const std::string sha256 = sha256_of_file(path_);
    const std::uint64_t size = std::filesystem::file_size(path_);
    if (size != entry_.size) report(fmt::format("has {} bytes, the manifest says {}", size, entry_.size));
    if (sha256 != entry_.sha256)
      report(fmt::format("SHA-256 is {}, the manifest says {}", sha256, entry_.sha256));
  }

  void check_content(const InputSource& inputs_of) {
    const GoldenCaseFile file = read_case(path_);
    if (file.descriptor != entry_.descriptor) {
      report(fmt::format("its descriptor is {}, the manifest says {}", file.descriptor, entry_.descriptor));
    }
    if (case_name(file.golden.c) != entry_.name) {
      report(
          fmt::format("its case is named {}, the manifest says {}", case_name(file.golden.c), entry_.name));
    }
    if (file.program_version != program_version_) {
      report(fmt::format("was written by version {}, the manifest says {}", file.program_version,
                         program_version_));
    }
    if (file.contract_version != kContractVersion) {
      report(fmt::format("was made under contract version {}, this program has {}: make it again",
                         file.contract_version, kContractVersion));
      return;
    }
    const GeneratedInputs generated = inputs_of(file.golden.c);
    compare("in.", file.golden.inputs, generated.tensors);
    const Answer computed = answer_of(file.golden.c, file.golden.inputs, generated.options);
    compare("out.", file.golden.answer.out, computed.out);
    compare("lo.", file.golden.answer.lo, computed.lo);
    compare("hi.", file.golden.answer.hi, computed.hi);
  }

  void compare(std::string_view group, const TensorMap& stored, const TensorMap& computed) {
    for (const auto& [name, tensor] : stored) {
      const std::string found = difference(tensor, computed.at(name));
      if (!found.empty()) report(fmt::format("{}{}: {}", group, name, found));
    }
  }

  std::filesystem::path path_;
  const std::string& program_version_;
  const ManifestEntry& entry_;
  Verification& verification_;
};

}  // namespace

Verification verify(const std::filesystem::path& folder, const InputSource& inputs_of) {
  const Manifest manifest = read_manifest(folder);
  Verification verification{.cases = manifest.cases.size(), .differences = {}};
  if (manifest.contract_version != kContractVersion) {
    verification.differences.emplace_back(
        FileError(manifest_path(folder),
                  fmt::format("was made under contract version {}, this program has {}",
                              manifest.contract_version, kContractVersion))
            .what());
  }
  if (manifest.cases.empty()) {
    verification.differences.emplace_back(
        FileError(manifest_path(folder), "lists no case: there is nothing to verify").what());
  }
  for (const ManifestEntry& entry : manifest.cases) {
    CaseVerifier(folder, manifest, entry, verification).verify(inputs_of);
  }
  return verification;
}

}  // namespace mhcheck::golden

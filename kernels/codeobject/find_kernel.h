#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mhcheck::codeobject {

/// The names one kernel goes by.
struct KernelNames {
  std::string mangled;
  std::string demangled;
};

/// The index of the one kernel that `pattern` names. Tried in this order, the first kind with a match
/// decides: the mangled name; the demangled name, with or without its parameter list ("void
/// scale<float>(float*, int)" or "scale<float>"); a glob with `*` and `?` over all of these. Throws
/// CodeObjectError (kNoKernel) when nothing matches or several different kernels do, and lists candidates.
/// `origin` names the file. Kernels of equal mangled names are the same template compiled in several
/// translation units: the first stands for all.
std::size_t find_kernel(std::span<const KernelNames> kernels, std::string_view pattern,
                        std::string_view origin);

/// Whether a text matches a glob in which `*` stands for any characters and `?` for any one; all else is
/// literal.
bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace mhcheck::codeobject

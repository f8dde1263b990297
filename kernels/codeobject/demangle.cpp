#include "kernels/codeobject/demangle.h"

#include <llvm/Demangle/Demangle.h>

#include <cstdlib>
#include <memory>

namespace mhcheck::codeobject {

// LLVM's demangler rather than the C++ library's: it knows the 16-bit float types of kernel templates.
std::string demangle(const std::string& symbol) {
  // The demangler recurses on nested names; no compiler writes longer ones, a forged file may.
  constexpr std::size_t kLongest = 8192;
  if (!symbol.starts_with("_Z") || symbol.size() > kLongest) return symbol;
  const std::unique_ptr<char, decltype(&std::free)> text(llvm::itaniumDemangle(symbol), &std::free);
  return text == nullptr ? symbol : std::string(text.get());
}

}  // namespace mhcheck::codeobject

#include "kernels/runtime/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/runtime/device.h"

namespace mhcheck::runtime {

SharedLibrary::SharedLibrary(std::span<const std::string> names, std::string_view advice) : advice_(advice) {
  std::string reason;
  for (const std::string& name : names) {
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      name_ = name;
      return;
    }
    reason = dlerror();
  }
  throw DeviceError(Failure::kUnavailable,
                    fmt::format("cannot open {} ({}): {}", fmt::join(names, " or "), reason, advice));
}

void* SharedLibrary::find(const char* name) const {
  void* const symbol = dlsym(handle_, name);
  if (symbol == nullptr) {
    throw DeviceError(Failure::kUnavailable, fmt::format("{} has no function {}: {}", name_, name, advice_));
  }
  return symbol;
}

}  // namespace mhcheck::runtime

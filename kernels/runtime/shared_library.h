#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mhcheck::runtime {

/// A vendor's library, opened at run time so that the program starts on machines without it. Stays open to
/// the end of the process: GPU runtimes do not survive being closed.
class SharedLibrary {
 public:
  /// Opens the first of `names` that the dynamic linker finds. Throws DeviceError (kUnavailable) that says
  /// which names were tried, why the last failed, and `advice`: what to install.
  SharedLibrary(std::span<const std::string> names, std::string_view advice);

  /// A function of the library. Throws DeviceError (kUnavailable) when the library has none of that name.
  template <class Function>
  Function* symbol(const char* name) const {
    return reinterpret_cast<Function*>(find(name));
  }

 private:
  void* find(const char* name) const;

  void* handle_ = nullptr;
  std::string name_;
  std::string advice_;
};

}  // namespace mhcheck::runtime

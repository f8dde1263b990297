#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace mhcheck::codeobject {

/// Why a file cannot be used as a code object.
enum class Reason {
  kUnreadable,     ///< the file cannot be opened or read
  kNotRecognised,  ///< neither ELF nor offload bundle
  kTruncated,      ///< a structure reaches past the end of the bytes
  kCorrupt,        ///< bytes that contradict each other or the format
  kUnsupported,    ///< legal, but nothing that a gfx950 kernel library uses
  kWrongTarget,    ///< made for another processor
  kNoKernel,       ///< no kernel, or more than one, has the name asked for
};

/// The one error of this folder. The message is one line: which file and part, what is wrong, what would be
/// right.
class CodeObjectError : public std::runtime_error {
 public:
  CodeObjectError(Reason reason, std::string_view message)
      : std::runtime_error(printable(message)), reason_(reason) {}
  Reason reason() const { return reason_; }

 private:
  // Names from a corrupt file may hold anything; a message is one line of ASCII of bounded length.
  static std::string printable(std::string_view text);

  Reason reason_;
};

}  // namespace mhcheck::codeobject

#pragma once

#include <string>

namespace mhcheck::codeobject {

/// The C++ name of a mangled symbol, with its template arguments and parameter list; the symbol itself where
/// it is not mangled.
std::string demangle(const std::string& symbol);

}  // namespace mhcheck::codeobject

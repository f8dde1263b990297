// JSON as the files of this folder use it: no key twice, no field that is not known, every error one line.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace mhcheck::golden {

// Parses `text`, which stands at byte `offset` of `file`. Throws FileError with the byte of a syntax error,
// or with the name of a key that an object has twice.
nlohmann::json parse_strict_json(std::string_view file, std::string_view text, std::uint64_t offset);

// The object has each of these fields and no other; `where` says in messages what the object is.
void require_fields(std::string_view file, std::string_view where, const nlohmann::json& object,
                    std::initializer_list<std::string_view> fields);

// A name from a file, quoted and escaped so that it takes one line of printable ASCII; long ones are cut.
std::string in_quotes(std::string_view name);

}  // namespace mhcheck::golden

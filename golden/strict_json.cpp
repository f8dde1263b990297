#include "golden/strict_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

#include "golden/file_error.h"

namespace mhcheck::golden {

using nlohmann::json;

json parse_strict_json(std::string_view file, std::string_view text, std::uint64_t offset) {
  std::vector<std::set<std::string>> keys_of_open_objects;
  const auto refuse_repeated_keys = [&](int /*depth*/, json::parse_event_t event, const json& parsed) {
    if (event == json::parse_event_t::object_start) keys_of_open_objects.emplace_back();
    if (event == json::parse_event_t::object_end) keys_of_open_objects.pop_back();
    if (event == json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_of_open_objects.back().insert(key).second) {
        throw FileError(file, fmt::format("the JSON has the key {} twice in one object", in_quotes(key)));
      }
    }
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), refuse_repeated_keys);
  } catch (const json::parse_error& error) {
    throw FileError(
        file, fmt::format("not valid JSON at byte {}", offset + std::max<std::size_t>(error.byte, 1) - 1));
  } catch (const json::out_of_range&) {
    throw FileError(file, "the JSON has a number that no double can hold");
  }
}

void require_fields(std::string_view file, std::string_view where, const json& object,
                    std::initializer_list<std::string_view> fields) {
  if (!object.is_object()) {
    throw FileError(file, fmt::format("{} is a JSON {}, must be an object", where, object.type_name()));
  }
  for (const std::string_view field : fields) {
    if (!object.contains(field)) throw FileError(file, fmt::format("{} has no field \"{}\"", where, field));
  }
  for (const auto& [key, value] : object.items()) {
    if (std::find(fields.begin(), fields.end(), key) == fields.end()) {
      throw FileError(file, fmt::format("{} has an unknown field {}; known are {}", where, in_quotes(key),
                                        fmt::join(fields, ", ")));
    }
  }
}

std::string in_quotes(std::string_view name) {
  constexpr std::size_t kLongest = 100;
  const bool cut = name.size() > kLongest;
  std::string text =
      json(name.substr(0, kLongest))
          .dump(/*indent=*/-1, /*indent_char=*/' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  if (cut) text += "...";
  return text;
}

}  // namespace mhcheck::golden

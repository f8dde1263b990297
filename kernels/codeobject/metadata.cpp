#include "kernels/codeobject/metadata.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "kernels/codeobject/demangle.h"

namespace mhcheck::codeobject {
namespace {

using nlohmann::json;

// The library's reader recurses once a level: nesting is measured before it is built.
class DepthLimit : public nlohmann::json_sax<json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t, const std::string&, const json::exception& error) override {
    problem = error.what();
    return false;
  }

  std::string problem;

 private:
  static constexpr int kDeepest = 16;  // real metadata has five levels
  bool enter() {
    if (++depth_ <= kDeepest) return true;
    problem = fmt::format("maps and arrays nested more than {} deep", kDeepest);
    return false;
  }
  bool leave() {
    --depth_;
    return true;
  }
  int depth_ = 0;
};

json parse_document(const ByteView& document) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(document.bytes().data());
  const auto* last = first + document.size();
  DepthLimit limit;
  if (!json::sax_parse(first, last, &limit, json::input_format_t::msgpack)) {
    document.fail(Reason::kCorrupt, fmt::format("not a MessagePack document: {}", limit.problem));
  }
  return json::from_msgpack(first, last);
}

// The map of one kernel, argument or the document, with checked access.
class Map {
 public:
  Map(const json& value, const ByteView& document, std::string what)
      : value_(value), document_(document), what_(std::move(what)) {
    if (!value_.is_object()) fail(fmt::format("is of type {}, must be a map", value_.type_name()));
  }

  const json* find(const char* key) const {
    const auto entry = value_.find(key);
    return entry == value_.end() ? nullptr : &*entry;
  }
  std::string string(const char* key) const {
    const json* entry = find(key);
    if (entry == nullptr) fail(fmt::format("has no {}", key));
    return as_string(key, *entry);
  }
  std::string string_or_empty(const char* key) const {
    const json* entry = find(key);
    return entry == nullptr ? std::string() : as_string(key, *entry);
  }
  std::uint32_t number(const char* key) const {
    const json* entry = find(key);
    if (entry == nullptr) fail(fmt::format("has no {}", key));
    return as_number(key, *entry);
  }
  std::uint32_t number_or(const char* key, std::uint32_t otherwise) const {
    const json* entry = find(key);
    return entry == nullptr ? otherwise : as_number(key, *entry);
  }
  bool flag(const char* key) const {
    const json* entry = find(key);
    if (entry == nullptr) return false;
    if (!entry->is_boolean())
      fail(fmt::format("has a {} of type {}, must be a boolean", key, entry->type_name()));
    return entry->get<bool>();
  }
  const json& array(const char* key) const {
    static const json kEmpty = json::array();
    const json* entry = find(key);
    if (entry == nullptr) return kEmpty;
    if (!entry->is_array())
      fail(fmt::format("has a {} of type {}, must be an array", key, entry->type_name()));
    return *entry;
  }
  std::uint32_t as_number(const char* key, const json& entry) const {
    if (!entry.is_number_unsigned() ||
        entry.get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max()) {
      fail(fmt::format("has a {} that is no unsigned 32-bit integer", key));
    }
    return entry.get<std::uint32_t>();
  }
  [[noreturn]] void fail(const std::string& what) const {
    document_.fail(Reason::kCorrupt, fmt::format("{} {}", what_, what));
  }

 private:
  std::string as_string(const char* key, const json& entry) const {
    if (!entry.is_string())
      fail(fmt::format("has a {} of type {}, must be a string", key, entry.type_name()));
    auto text = entry.get<std::string>();
    const bool plain = std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
    if (!plain) fail(fmt::format("has a {} with bytes that are no printable ASCII: {}", key, text));
    return text;
  }

  const json& value_;
  const ByteView& document_;
  std::string what_;
};

// The whole segment has a few hundred bytes in practice; the limit keeps sums of offset and size small.
constexpr std::uint32_t kLargestKernarg = 64 * 1024;

Argument parse_argument(const Map& map, std::uint32_t kernarg_size) {
  Argument argument;
  argument.name = map.string_or_empty(".name");
  argument.type_name = map.string_or_empty(".type_name");
  argument.value_kind = map.string(".value_kind");
  argument.offset = map.number(".offset");
  argument.size = map.number(".size");
  if (argument.offset > kernarg_size || argument.size > kernarg_size - argument.offset) {
    map.fail(fmt::format("takes {} bytes at offset {}, past the end of the {} bytes of kernel arguments",
                         argument.size, argument.offset, kernarg_size));
  }
  return argument;
}

void check_disjoint(const Kernel& kernel, const Map& map) {
  for (std::size_t i = 1; i < kernel.arguments.size(); ++i) {
    const Argument& before = kernel.arguments[i - 1];
    if (before.offset + before.size > kernel.arguments[i].offset) {
      map.fail(fmt::format("has arguments that overlap, at offsets {} and {}", before.offset,
                           kernel.arguments[i].offset));
    }
  }
}

std::array<std::uint32_t, 3> parse_size3(const Map& map, const char* key, const json& value) {
  if (!value.is_array() || value.size() != 3)
    map.fail(fmt::format("has a {} that is no array of three", key));
  std::array<std::uint32_t, 3> size{};
  std::transform(value.begin(), value.end(), size.begin(),
                 [&](const json& entry) { return map.as_number(key, entry); });
  return size;
}

Kernel parse_kernel(const Map& map, const ByteView& document) {
  Kernel kernel;
  kernel.name = map.string(".name");
  kernel.demangled = demangle(kernel.name);
  kernel.kernarg_size = map.number(".kernarg_segment_size");
  if (kernel.kernarg_size > kLargestKernarg) {
    map.fail(fmt::format("claims {} bytes of kernel arguments, at most {} make sense", kernel.kernarg_size,
                         kLargestKernarg));
  }
  kernel.kernarg_alignment = map.number_or(".kernarg_segment_align", 8);
  kernel.sgpr_count = map.number_or(".sgpr_count", 0);
  kernel.vgpr_count = map.number_or(".vgpr_count", 0);
  kernel.agpr_count = map.number_or(".agpr_count", 0);
  kernel.sgpr_spills = map.number_or(".sgpr_spill_count", 0);
  kernel.vgpr_spills = map.number_or(".vgpr_spill_count", 0);
  kernel.max_workgroup_size = map.number_or(".max_flat_workgroup_size", 1024);
  kernel.uses_dynamic_stack = map.flag(".uses_dynamic_stack");
  if (const json* size = map.find(".reqd_workgroup_size")) {
    kernel.required_workgroup_size = parse_size3(map, ".reqd_workgroup_size", *size);
  }
  if (const std::uint32_t wave = map.number_or(".wavefront_size", 64); wave != 64) {
    document.fail(
        Reason::kUnsupported,
        fmt::format("kernel {} is compiled for waves of {} lanes, gfx950 has 64", kernel.name, wave));
  }
  const json& arguments = map.array(".args");
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Map argument(arguments[i], document, fmt::format("argument {} of kernel {}", i, kernel.name));
    kernel.arguments.push_back(parse_argument(argument, kernel.kernarg_size));
  }
  std::stable_sort(kernel.arguments.begin(), kernel.arguments.end(),
                   [](const Argument& a, const Argument& b) { return a.offset < b.offset; });
  check_disjoint(kernel, map);
  return kernel;
}

}  // namespace

std::vector<Argument> Kernel::explicit_arguments() const {
  std::vector<Argument> visible;
  std::copy_if(arguments.begin(), arguments.end(), std::back_inserter(visible),
               [](const Argument& argument) { return !argument.hidden(); });
  return visible;
}

Metadata parse_metadata(const ByteView& document) {
  const json root = parse_document(document);
  const Map map(root, document, "the metadata");
  Metadata metadata;
  metadata.target = map.string_or_empty("amdhsa.target");
  const json& kernels = map.array("amdhsa.kernels");
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const Map kernel(kernels[i], document, fmt::format("the metadata of kernel {}", i));
    metadata.kernels.push_back(parse_kernel(kernel, document));
    metadata.symbols.push_back(kernel.string(".symbol"));
  }
  return metadata;
}

}  // namespace mhcheck::codeobject

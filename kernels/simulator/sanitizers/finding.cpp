#include "kernels/simulator/sanitizers/finding.h"

#include <fmt/format.h>

#include <stdexcept>

namespace mhcheck::simulator {
namespace {

// "lane 3", "lanes 0-31, 40": ranges, since lanes mostly come in blocks.
std::string lanes_text(uint64_t lanes) {
  std::string ranges;
  bool many = false;
  for (int first = 0; first < 64; ++first) {
    if (!(lanes >> first & 1)) continue;
    int last = first;
    while (last < 63 && lanes >> (last + 1) & 1) ++last;
    many |= last > first || !ranges.empty();
    if (!ranges.empty()) ranges += ", ";
    ranges += last > first ? fmt::format("{}-{}", first, last) : fmt::format("{}", first);
    first = last;
  }
  return (many ? "lanes " : "lane ") + ranges;
}

std::string place_text(const FindingPlace& place) {
  std::string text = fmt::format("`{}` at {:#x}", place.instruction, place.address);
  if (!place.source.empty()) text += fmt::format(" ({})", place.source);
  const auto& [x, y, z] = place.workgroup;
  text += fmt::format(", workgroup ({}, {}, {}), wave {}", x, y, z, place.wave);
  if (place.lanes) text += ", " + lanes_text(place.lanes);
  return text;
}

}  // namespace

SanitizerSet parse_sanitizers(std::string_view list) {
  if (list == "all") return SanitizerSet::all();
  SanitizerSet set;
  if (list == "none") return set;
  for (;;) {
    const size_t comma = list.find(',');
    const std::string_view name = list.substr(0, comma);
    const SanitizerRow* found = nullptr;
    std::string names = "all, none";
    for (const SanitizerRow& row : kSanitizers) {
      if (row.name == name) found = &row;
      names += fmt::format(", {}", row.name);
    }
    if (!found)
      throw std::invalid_argument(fmt::format("no sanitizer is called '{}', there are {}", name, names));
    set.add(found->sanitizer);
    if (comma == std::string_view::npos) return set;
    list.remove_prefix(comma + 1);
  }
}

std::string to_string(const SanitizerSet& set) {
  if (set.empty()) return "none";
  if (set == SanitizerSet::all()) return "all";
  std::string list;
  for (const SanitizerRow& row : kSanitizers) {
    if (!set.has(row.sanitizer)) continue;
    if (!list.empty()) list += ',';
    list += row.name;
  }
  return list;
}

std::string to_string(const SanitizerFinding& finding) {
  std::string text = fmt::format("{}: {}", row_of(finding.sanitizer).name, finding.what);
  if (!finding.memory.empty()) text += ": " + finding.memory;
  if (finding.place) text += "; " + place_text(*finding.place);
  if (finding.other) text += fmt::format("; {} {}", finding.other_role, place_text(*finding.other));
  if (!finding.kernel.empty()) text += fmt::format("; kernel {}", finding.kernel);
  if (finding.count > 1) text += fmt::format("; seen {} times", finding.count);
  return text;
}

}  // namespace mhcheck::simulator

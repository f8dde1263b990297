#include "kernels/codeobject/find_kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "kernels/codeobject/error.h"

namespace mhcheck::codeobject {
namespace {

// "void scale<float>(float*, int)" -> "scale<float>"; kernels return nothing else.
std::string_view short_name(std::string_view demangled) {
  constexpr std::string_view kReturnType = "void ";
  if (demangled.starts_with(kReturnType)) demangled.remove_prefix(kReturnType.size());
  if (!demangled.ends_with(')')) return demangled;
  int depth = 0;
  for (std::size_t i = demangled.size(); i-- > 0;) {
    if (demangled[i] == ')') ++depth;
    if (demangled[i] == '(' && --depth == 0) return demangled.substr(0, i);
  }
  return demangled;
}

using Predicate = std::function<bool(const KernelNames&)>;

// The first kernel of each distinct mangled name that satisfies the predicate.
std::vector<std::size_t> select(std::span<const KernelNames> kernels, const Predicate& matches) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (!matches(kernels[i])) continue;
    const bool known = std::any_of(found.begin(), found.end(), [&](std::size_t other) {
      return kernels[other].mangled == kernels[i].mangled;
    });
    if (!known) found.push_back(i);
  }
  return found;
}

std::string list_names(std::span<const KernelNames> kernels, const std::vector<std::size_t>& which) {
  constexpr std::size_t kMost = 6;
  std::vector<std::string_view> names;
  for (const std::size_t i : which) {
    if (names.size() == kMost) break;
    names.push_back(short_name(kernels[i].demangled));
  }
  const std::size_t left = which.size() - names.size();
  return fmt::format("{}{}", fmt::join(names, ", "), left != 0 ? fmt::format(" and {} more", left) : "");
}

}  // namespace

bool matches_glob(std::string_view pattern, std::string_view text) {
  // Where to resume when a literal fails: one more character goes to the latest star.
  std::size_t star = std::string_view::npos, star_text = 0;
  std::size_t p = 0, t = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::size_t find_kernel(std::span<const KernelNames> kernels, std::string_view pattern,
                        std::string_view origin) {
  const Predicate kinds[] = {
      [&](const KernelNames& k) { return k.mangled == pattern; },
      [&](const KernelNames& k) { return k.demangled == pattern; },
      [&](const KernelNames& k) { return short_name(k.demangled) == pattern; },
      [&](const KernelNames& k) {
        return matches_glob(pattern, k.mangled) || matches_glob(pattern, k.demangled) ||
               matches_glob(pattern, short_name(k.demangled));
      },
  };
  for (const Predicate& kind : kinds) {
    const std::vector<std::size_t> found = select(kernels, kind);
    if (found.size() == 1) return found.front();
    if (found.size() > 1) {
      throw CodeObjectError(Reason::kNoKernel,
                            fmt::format("{}: {} kernels match \"{}\", must be one: {}", origin, found.size(),
                                        pattern, list_names(kernels, found)));
    }
  }
  const std::vector<std::size_t> all = select(kernels, [](const KernelNames&) { return true; });
  throw CodeObjectError(Reason::kNoKernel,
                        fmt::format("{}: no kernel matches \"{}\"; there are: {}", origin, pattern,
                                    all.empty() ? "none" : list_names(kernels, all)));
}

}  // namespace mhcheck::codeobject

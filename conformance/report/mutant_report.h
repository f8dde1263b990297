// What became of the zoo, as a table for people, a Markdown table, JSON and HTML.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "conformance/mutant_hunt.h"

namespace mhcheck::conformance {

// The matrix mutant x check, then the score.
std::string mutant_table(std::span<const MutantResult> results);

// Everything about one mutant: what is broken, the case, what each check found.
std::string mutant_text(const MutantResult& result);

// One row a mutant: what is broken, which checks found it and which first, what the usual recipe says.
std::string mutant_markdown(std::span<const MutantResult> results);

nlohmann::ordered_json mutant_json(std::span<const MutantResult> results);

std::string mutant_html(std::span<const MutantResult> results);

}  // namespace mhcheck::conformance

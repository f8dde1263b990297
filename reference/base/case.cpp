#include "reference/base/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <locale>
#include <sstream>
#include <system_error>
#include <vector>

namespace mhcheck {
namespace {

// ---- Values: how each kind of value is written and read ------------------------------------------------

// Decimal digits alone: no sign, no blanks.
template <std::integral Integer>
bool read(std::string_view text, Integer& value) {
  if (text.empty() || !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return false;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

template <std::integral Integer>
std::string write(Integer value) {
  return std::to_string(value);
}

// -12, 0.5 or 1e-6: [-]digits[.digits][e[+-]digits].
bool is_decimal_number(std::string_view text) {
  const auto skip_digits = [&text] {
    const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(end);
    return end > 0;
  };
  if (text.starts_with('-')) text.remove_prefix(1);
  if (!skip_digits()) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!skip_digits()) return false;
  }
  if (text.starts_with('e')) {
    text.remove_prefix(1);
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    if (!skip_digits()) return false;
  }
  return text.empty();
}

// The fp32 nearest to the decimal number. A stream in the classic locale and not from_chars, which has no
// answer for a number that rounds to zero.
bool read(std::string_view text, float& value) {
  if (!is_decimal_number(text)) return false;
  std::istringstream stream{std::string(text)};
  stream.imbue(std::locale::classic());
  return static_cast<bool>(stream >> value);  // fails on overflow only
}

// The fewest digits that read back to the same fp32, in the shorter of plain and exponent notation.
std::string write(float value) {
  std::array<char, 64> buffer;  // longest: 2^-149 in plain notation
  const auto digits = [&](std::chars_format format) {
    const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format);
    return std::string(buffer.data(), end);
  };
  const std::string plain = digits(std::chars_format::fixed);
  std::string exponent = digits(std::chars_format::scientific);
  // to_chars writes 1e-06 and 1e+20 for 1e-6 and 1e20.
  std::size_t at = exponent.find('e') + 1;
  if (exponent[at] == '+') exponent.erase(at, 1);
  if (exponent[at] == '-') ++at;
  if (exponent[at] == '0') exponent.erase(at, 1);
  return exponent.size() < plain.size() ? exponent : plain;
}

template <class Enum>
struct Name {
  Enum value;
  std::string_view text;
};

constexpr Name<Entry> kEntries[] = {
    {Entry::carried, "carried"}, {Entry::entry, "entry"}, {Entry::broadcast, "broadcast"}};
constexpr Name<CollapseRounding> kCollapseRoundings[] = {{CollapseRounding::storage, "storage"},
                                                         {CollapseRounding::fp32_sumsq, "fp32_sumsq"},
                                                         {CollapseRounding::fp32, "fp32"}};
constexpr Name<NextResidual> kNextResiduals[] = {{NextResidual::rounded, "rounded"},
                                                 {NextResidual::unrounded, "unrounded"},
                                                 {NextResidual::fp32_sumsq, "fp32_sumsq"}};
constexpr Name<ProjectionPrecision> kProjectionPrecisions[] = {{ProjectionPrecision::fp32, "fp32"},
                                                               {ProjectionPrecision::tf32, "tf32"},
                                                               {ProjectionPrecision::bf16x2, "bf16x2"},
                                                               {ProjectionPrecision::bf16x1, "bf16x1"}};

template <class Enum, std::size_t N>
bool read(std::string_view text, const Name<Enum> (&names)[N], Enum& value) {
  const auto* found = std::find_if(names, names + N, [&](const auto& name) { return name.text == text; });
  if (found == names + N) return false;
  value = found->value;
  return true;
}

template <class Enum, std::size_t N>
std::string write(Enum value, const Name<Enum> (&names)[N]) {
  const auto* found = std::find_if(names, names + N, [&](const auto& name) { return name.value == value; });
  return std::string(found->text);
}

bool read(std::string_view text, std::optional<Dtype>& norm_weight) {
  if (text == "none") {
    norm_weight.reset();
    return true;
  }
  const std::optional<Dtype> dtype = dtype_from_name(text);
  if (dtype) norm_weight = dtype;
  return dtype.has_value();
}

std::string write(std::optional<Dtype> norm_weight) {
  return std::string(norm_weight ? name_of(*norm_weight) : "none");
}

bool read_regime(std::string_view text, std::string& regime) {
  if (text.empty() ||
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string_view::npos) {
    return false;
  }
  regime = text;
  return true;
}

// ---- The keys: one row each ----------------------------------------------------------------------------

struct Key {
  std::string_view name;
  std::string_view separator;                           // between the name and the value
  std::string_view right_value;                         // completes "write "
  std::string_view meant_for;                           // completes "it is for "
  bool (*applies)(const Problem&, const OperatorRow&);  // does the case depend on it?
  bool (*read)(std::string_view, Case&);                // false: that is no value of this key
  std::string (*write)(const Case&);
};

template <ParameterBit Bit>
bool depends_on(const Problem&, const OperatorRow& row) {
  return (row.parameters & Bit) != 0;
}

constexpr std::string_view kEpsilon = "a number from 0 to 1, as 1e-6";

// In the order in which a descriptor is written.
// clang-format off
constexpr Key kKeys[] = {
    {"sk", "", "skS with a whole number S, as sk7", "operators with a projection",
     [](const Problem&, const OperatorRow& row) { return row.splits || row.projection; },
     [](std::string_view text, Case& c) { return read(text, c.problem.split_k); },
     [](const Case& c) { return write(c.problem.split_k); }},
    {"norm", "=", "none, bf16, fp16 or fp32", "operators with a fused rmsnorm",
     [](const Problem&, const OperatorRow& row) { return row.fused_norm; },
     [](std::string_view text, Case& c) { return read(text, c.problem.norm_weight); },
     [](const Case& c) { return write(c.problem.norm_weight); }},
    {"entry", "=", "carried, entry or broadcast", "mhc_pre_delayed",
     [](const Problem&, const OperatorRow& row) { return row.entries; },
     [](std::string_view text, Case& c) { return read(text, kEntries, c.problem.entry); },
     [](const Case& c) { return write(c.problem.entry, kEntries); }},
    {"repeat", "=", "a whole number, as 20", "operators with a Sinkhorn stage", depends_on<kSinkhornRepeat>,
     [](std::string_view text, Case& c) { return read(text, c.problem.parameters.sinkhorn_repeat); },
     [](const Case& c) { return write(c.problem.parameters.sinkhorn_repeat); }},
    {"mult", "=", "a finite number, as 2", "operators that compute a post_mix", depends_on<kHcPostMultValue>,
     [](std::string_view text, Case& c) { return read(text, c.problem.parameters.hc_post_mult_value); },
     [](const Case& c) { return write(c.problem.parameters.hc_post_mult_value); }},
    {"rms_eps", "=", kEpsilon, "operators that compute mixes", depends_on<kRmsEps>,
     [](std::string_view text, Case& c) { return read(text, c.problem.parameters.rms_eps); },
     [](const Case& c) { return write(c.problem.parameters.rms_eps); }},
    {"hc_pre_eps", "=", kEpsilon, "operators that compute a pre_mix", depends_on<kHcPreEps>,
     [](std::string_view text, Case& c) { return read(text, c.problem.parameters.hc_pre_eps); },
     [](const Case& c) { return write(c.problem.parameters.hc_pre_eps); }},
    {"hc_sinkhorn_eps", "=", kEpsilon, "operators with a Sinkhorn stage", depends_on<kHcSinkhornEps>,
     [](std::string_view text, Case& c) { return read(text, c.problem.parameters.hc_sinkhorn_eps); },
     [](const Case& c) { return write(c.problem.parameters.hc_sinkhorn_eps); }},
    {"norm_eps", "=", kEpsilon, "cases with an rmsnorm (norm=bf16, fp16 or fp32)",
     [](const Problem& p, const OperatorRow&) { return p.norm_weight.has_value(); },
     [](std::string_view text, Case& c) { return read(text, c.problem.parameters.norm_eps); },
     [](const Case& c) { return write(c.problem.parameters.norm_eps); }},
    {"collapse", "=", "storage, fp32_sumsq or fp32", "a collapse with a fused rmsnorm (norm=bf16, fp16 or fp32)",
     // An operator that always normalises is rmsnorm itself: nothing is collapsed before it.
     [](const Problem& p, const OperatorRow& row) { return p.norm_weight.has_value() && !row.needs_norm; },
     [](std::string_view text, Case& c) { return read(text, kCollapseRoundings, c.profile.collapse); },
     [](const Case& c) { return write(c.profile.collapse, kCollapseRoundings); }},
    {"next", "=", "rounded, unrounded or fp32_sumsq", "operators with mhc_post before a projection",
     [](const Problem&, const OperatorRow& row) { return row.post_stage && row.projection; },
     [](std::string_view text, Case& c) { return read(text, kNextResiduals, c.profile.next_residual); },
     [](const Case& c) { return write(c.profile.next_residual, kNextResiduals); }},
    {"proj", "=", "fp32, tf32, bf16x2 or bf16x1", "operators with a projection",
     [](const Problem&, const OperatorRow& row) { return row.projection; },
     [](std::string_view text, Case& c) { return read(text, kProjectionPrecisions, c.profile.projection); },
     [](const Case& c) { return write(c.profile.projection, kProjectionPrecisions); }},
    {"in", "=", "the name of an input regime, as gauss", "every operator",
     [](const Problem&, const OperatorRow&) { return true; },
     [](std::string_view text, Case& c) { return read_regime(text, c.regime); },
     [](const Case& c) { return c.regime; }},
    {"seed", "=", "a whole number below 2^64, as 42", "every operator",
     [](const Problem&, const OperatorRow&) { return true; },
     [](std::string_view text, Case& c) { return read(text, c.seed); },
     [](const Case& c) { return write(c.seed); }},
};
// clang-format on

// ---- The five fields before the keys -------------------------------------------------------------------

bool read_operator(std::string_view text, Case& c) {
  const std::optional<Op> op = op_from_name(text);
  if (op) c.problem.op = *op;
  return op.has_value();
}

std::string operator_names() {
  std::string names;
  for (const OperatorRow& row : all_operators()) fmt::format_to(std::back_inserter(names), " {}", row.name);
  return "one of" + names;
}

bool read_streams_dtype(std::string_view text, Case& c) {
  const std::optional<Dtype> dtype = dtype_from_name(text);
  if (dtype) c.problem.dtype = *dtype;
  return dtype.has_value();
}

// "t33" into 33 when `letter` is t.
template <std::integral Integer>
bool read_extent(std::string_view text, char letter, Integer& value) {
  return text.starts_with(letter) && read(text.substr(1), value);
}

struct LeadingField {
  std::string_view name;
  bool (*read)(std::string_view, Case&);
  std::string (*right_value)();  // completes "write "
};

constexpr LeadingField kLeadingFields[] = {
    {"OP", read_operator, operator_names},
    {"DTYPE", read_streams_dtype, [] { return std::string("bf16 or fp16"); }},
    {"tTOKENS", [](std::string_view text, Case& c) { return read_extent(text, 't', c.problem.num_tokens); },
     [] { return std::string("t and the number of tokens, as t33"); }},
    {"nHC_MULT", [](std::string_view text, Case& c) { return read_extent(text, 'n', c.problem.hc_mult); },
     [] { return std::string("n and the number of streams, as n4"); }},
    {"hHIDDEN", [](std::string_view text, Case& c) { return read_extent(text, 'h', c.problem.hidden_size); },
     [] { return std::string("h and the hidden size, as h4096"); }},
};
constexpr std::string_view kGrammar = "OP:DTYPE:tTOKENS:nHC_MULT:hHIDDEN[:key=value]...";

// ---- Parsing -------------------------------------------------------------------------------------------

struct Field {
  std::string_view text;
  std::size_t position;  // of its first character, counted from 1
};

std::vector<Field> split_at_colons(std::string_view text) {
  std::vector<Field> fields;
  std::size_t start = 0;
  for (;;) {
    const std::size_t colon = std::min(text.find(':', start), text.size());
    fields.push_back({text.substr(start, colon - start), start + 1});
    if (colon == text.size()) return fields;
    start = colon + 1;
  }
}

[[noreturn]] void fail(std::size_t position, std::string_view what) {
  throw DescriptorError(fmt::format("descriptor, character {}: {}", position, what));
}

// For messages: printable, on one line, not longer than a line.
std::string quoted(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string result = "'";
  for (const char c : text.substr(0, kLongest)) {
    if (c >= ' ' && c <= '~') {
      result += c;
    } else {
      fmt::format_to(std::back_inserter(result), "\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return result + (text.size() > kLongest ? "...'" : "'");
}

// Every field is legal or not for itself once the operator is known, so the field that was read last is the
// one to blame.
void check_legal_so_far(const Problem& problem, std::size_t position) {
  Problem with_norm = problem;
  if (row_of(problem.op).needs_norm && !problem.norm_weight) with_norm.norm_weight = Dtype::fp32;
  const std::string reason = why_illegal(with_norm);
  if (!reason.empty()) fail(position, reason);
}

const Key& key_of(const Field& field, const OperatorRow& row) {
  if (field.text.empty()) fail(field.position, "an empty field; write key=value, or nothing after the last");
  const std::string_view before_equals = field.text.substr(0, field.text.find('='));
  for (const Key& key : kKeys) {
    const bool has_equals = before_equals.size() < field.text.size();
    if (key.separator == "=" ? has_equals && before_equals == key.name
                             : !has_equals && field.text.starts_with(key.name)) {
      return key;
    }
  }
  Problem with_every_option;
  with_every_option.op = row.op;
  if (row.fused_norm) with_every_option.norm_weight = Dtype::fp32;
  std::string known;
  for (const Key& key : kKeys) {
    if (key.applies(with_every_option, row)) {
      fmt::format_to(std::back_inserter(known), " {}{}", key.name, key.separator);
    }
  }
  fail(field.position,
       fmt::format("no key of {} reads {}; the keys are{}", row.name, quoted(field.text), known));
}

struct GivenKey {
  const Key* key;
  std::size_t position;
};

void read_key(const Field& field, Case& c, std::vector<GivenKey>& given) {
  const OperatorRow& row = row_of(c.problem.op);
  const Key& key = key_of(field, row);
  for (const GivenKey& earlier : given) {
    if (earlier.key == &key) {
      fail(field.position,
           fmt::format("{} stands twice, first at character {}; write it once", key.name, earlier.position));
    }
  }
  given.push_back({&key, field.position});
  const std::string_view value = field.text.substr(key.name.size() + key.separator.size());
  if (!key.read(value, c)) {
    fail(field.position, fmt::format("{} cannot be {}; write {}", key.name, quoted(value), key.right_value));
  }
  check_legal_so_far(c.problem, field.position);
}

std::string to_text(const Case& c, bool with_defaults) {
  const Problem& p = c.problem;
  const OperatorRow& row = row_of(p.op);
  std::string text =
      fmt::format("{}:{}:t{}:n{}:h{}", row.name, name_of(p.dtype), p.num_tokens, p.hc_mult, p.hidden_size);
  const Case defaults;
  for (const Key& key : kKeys) {
    if (!key.applies(p, row)) continue;
    const std::string value = key.write(c);
    if (!with_defaults && value == key.write(defaults)) continue;
    fmt::format_to(std::back_inserter(text), ":{}{}{}", key.name, key.separator, value);
  }
  return text;
}

}  // namespace

Case parse_descriptor(std::string_view text) {
  const std::vector<Field> fields = split_at_colons(text);
  Case c;
  std::size_t next = 0;
  for (const LeadingField& leading : kLeadingFields) {
    if (next == fields.size()) {
      fail(text.size() + 1, fmt::format("{} is missing; write {}", leading.name, kGrammar));
    }
    const Field& field = fields[next++];
    if (!leading.read(field.text, c)) {
      fail(field.position,
           fmt::format("{} cannot be {}; write {}", leading.name, quoted(field.text), leading.right_value()));
    }
    check_legal_so_far(c.problem, field.position);
  }

  std::vector<GivenKey> given;
  for (; next < fields.size(); ++next) read_key(fields[next], c, given);

  // Only now: the order of the keys is free, and norm decides about others.
  const OperatorRow& row = row_of(c.problem.op);
  for (const auto& [key, position] : given) {
    if (!key->applies(c.problem, row)) {
      fail(position, fmt::format("this case of {} does not depend on {}: it is for {}; leave it out",
                                 row.name, key->name, key->meant_for));
    }
  }
  const std::string reason = why_illegal(c.problem);
  if (!reason.empty()) fail(text.size() + 1, reason);
  return c;
}

std::string to_descriptor(const Case& c) { return to_text(c, /*with_defaults=*/false); }

std::string to_canonical_descriptor(const Case& c) { return to_text(c, /*with_defaults=*/true); }

}  // namespace mhcheck

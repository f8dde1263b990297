#include "conformance/fuzz/outcome.h"

#include <fmt/format.h>

#include <limits>
#include <stdexcept>

namespace mhcheck::conformance {
namespace {

using nlohmann::json;

CaseStatus status_named(const std::string& name) {
  for (const CaseStatus status : {CaseStatus::passed, CaseStatus::failed, CaseStatus::refused}) {
    if (name == name_of(status)) return status;
  }
  throw std::invalid_argument(fmt::format("status is '{}', must be passed, failed or refused", name));
}

// JSON has no infinity: null stands for it.
double number(const json& value) {
  return value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>();
}

}  // namespace

json to_json(const Outcome& o) {
  json fields{{"status", name_of(o.status)},
              {"worst", {o.worst.bound_units, o.worst.ulps, o.worst.bias}},
              {"counts", {o.elements, o.undefined, o.flushed, o.launches}},
              {"certified", o.certification.elements},
              {"laws", {{"kept", o.laws_kept}, {"broken", o.laws_broken}, {"silent", o.laws_silent}}},
              {"seconds", o.seconds}};
  if (o.status == CaseStatus::failed) {
    fields["kind"] = o.kind;
    fields["text"] = o.text;
  }
  return fields;
}

Outcome outcome_from_json(const json& fields) {
  try {
    Outcome o;
    o.status = status_named(fields.at("status"));
    o.worst = {number(fields.at("worst").at(0)), number(fields.at("worst").at(1)),
               number(fields.at("worst").at(2))};
    const json& counts = fields.at("counts");
    o.elements = counts.at(0);
    o.undefined = counts.at(1);
    o.flushed = counts.at(2);
    o.launches = counts.at(3);
    fields.at("certified").get_to(o.certification.elements);
    const json& laws = fields.at("laws");
    laws.at("kept").get_to(o.laws_kept);
    laws.at("broken").get_to(o.laws_broken);
    laws.at("silent").get_to(o.laws_silent);
    o.seconds = fields.at("seconds");
    if (o.status == CaseStatus::failed) {
      o.kind = fields.at("kind");
      o.text = fields.at("text");
    }
    return o;
  } catch (const json::exception&) {
    throw std::invalid_argument("no outcome of a case: a field is missing or of the wrong type");
  }
}

}  // namespace mhcheck::conformance

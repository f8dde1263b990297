#include "conformance/fuzz/record.h"

#include <fmt/format.h>

#include <stdexcept>

namespace mhcheck::conformance {

using nlohmann::json;

json to_json(const Record& record) {
  json fields{{"case", record.number},
              {"kernel", record.kernel},
              {"descriptor", to_descriptor(record.tested)},
              {"outcome", to_json(record.outcome)}};
  if (record.simplest) {
    fields["simplest"] = {{"descriptor", to_descriptor(record.simplest->tested)},
                          {"text", record.simplest->text},
                          {"evaluations", record.simplest->evaluations}};
  }
  return fields;
}

Record record_from_json(const json& fields) {
  try {
    Record record;
    record.number = fields.at("case");
    record.kernel = fields.at("kernel");
    record.tested = parse_descriptor(fields.at("descriptor").get<std::string>());
    record.outcome = outcome_from_json(fields.at("outcome"));
    if (record.outcome.status == CaseStatus::failed) {
      const json& simplest = fields.at("simplest");
      record.simplest = {.tested = parse_descriptor(simplest.at("descriptor").get<std::string>()),
                         .text = simplest.at("text"),
                         .evaluations = simplest.at("evaluations")};
    }
    return record;
  } catch (const json::exception&) {
    throw std::invalid_argument("no record of a case: a field is missing or of the wrong type");
  } catch (const DescriptorError& error) {
    throw std::invalid_argument(error.what());
  }
}

}  // namespace mhcheck::conformance

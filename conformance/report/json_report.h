// Everything a campaign found, as JSON. Fields whose names contain "seconds" are times; all others are the
// same for the same options on every machine and for every number of threads.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "conformance/case_result.h"
#include "conformance/report/summary.h"

namespace mhcheck::conformance {

// `options` says which cases were asked for; it stands in the report as it is.
nlohmann::ordered_json json_report(std::span<const CaseResult> results, nlohmann::ordered_json options);

nlohmann::ordered_json case_json(const CaseResult& result);

// {"total": {...}, "table": [{"kernel", "operator", ...}, ...]}
nlohmann::ordered_json summary_json(std::span<const SummaryRow> rows);

}  // namespace mhcheck::conformance

#include "conformance/report/json_report.h"

#include <fmt/format.h>

#include <cmath>

#include "conformance/report/failure_text.h"
#include "golden/versions.h"

namespace mhcheck::conformance {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no NaN and no infinity; they are written as strings.
Json number(double value) {
  if (std::isfinite(value)) return value;
  return fmt::format("{}", value);
}

Json certification_json(const reference::Certification& certification) {
  Json json = Json::object();
  for (int level = 0; level < reference::Certification::kLevels; ++level) {
    const std::uint64_t count = certification.elements[static_cast<std::size_t>(level)];
    if (count > 0) json[reference::level_name(level)] = count;
  }
  return json;
}

Json element_json(const ElementReport& e, Dtype dtype) {
  Json json{{"token", e.token},
            {"index", e.index},
            {"flat", e.flat},
            {"got", number(e.got)},
            {"expected", number(e.expected)},
            {"exact", number(e.exact)},
            {"interval", {number(e.lo), number(e.hi)}},
            {"radius",
             {{"probabilistic", number(e.probabilistic)},
              {"systematic", number(e.systematic)},
              {"deterministic", number(e.deterministic)}}},
            {"ulps", number(e.ulps)},
            {"bound_units", number(e.bound_units)}};
  if (!e.partial_sums) {
    json["bits"] = {{"got", hex_bits(dtype, e.got_bits)},
                    {"expected", hex_bits(dtype, e.expected_bits)},
                    {"interval", {hex_bits(dtype, e.lo_bits), hex_bits(dtype, e.hi_bits)}}};
  }
  return json;
}

Json place_json(const simulator::FindingPlace& place) {
  Json json{{"instruction", place.instruction}, {"address", fmt::format("{:#x}", place.address)}};
  if (!place.source.empty()) json["source"] = place.source;
  json["workgroup"] = place.workgroup;
  json["wave"] = place.wave;
  json["lanes"] = fmt::format("{:#018x}", place.lanes);
  return json;
}

Json sanitizer_json(const simulator::SanitizerFinding& seen) {
  Json json{{"sanitizer", row_of(seen.sanitizer).name}, {"what", seen.what}};
  if (!seen.kernel.empty()) json["kernel"] = seen.kernel;
  if (!seen.memory.empty()) json["memory"] = seen.memory;
  if (seen.place) json["place"] = place_json(*seen.place);
  if (seen.other) {
    json["other_role"] = seen.other_role;
    json["other"] = place_json(*seen.other);
  }
  return json;
}

Json laws_json(const std::vector<LawOutcome>& outcomes) {
  Json json = Json::object();
  for (const LawOutcome& outcome : outcomes) {
    Json& law = json[std::string(outcome.law->name)];
    law["status"] = name_of(outcome.status);
    if (!outcome.reason.empty()) law["reason"] = outcome.reason;
  }
  return json;
}

Json finding_json(const Finding& finding, Dtype dtype) {
  Json json{{"kind", row_of(finding.kind).name}, {"count", finding.count}};
  if (!finding.detail.empty()) json["detail"] = finding.detail;
  if (!finding.law.empty()) json["law"] = finding.law;
  if (finding.seen) json["seen"] = sanitizer_json(*finding.seen);
  if (finding.worst) json["worst"] = element_json(*finding.worst, dtype);
  return json;
}

Json bias_json(const Bias& bias, double base) {
  if (!bias.judged) return nullptr;
  Json json{{"value", number(base + bias.value)},
            {"deviation", number(bias.value)},
            {"tolerance", number(bias.tolerance)}};
  if (bias.biased_tokens > 0) {
    json["biased_tokens"] = bias.biased_tokens;
    json["worst_token"] = {{"token", bias.worst_token.token},
                           {"value", number(base + bias.worst_token.value)},
                           {"tolerance", number(bias.worst_token.tolerance)}};
  }
  return json;
}

Json output_json(const OutputVerdict& output) {
  const SignCounts& signs = output.aggregates.signs.counts;
  Json json{{"name", output.name},         {"dtype", name_of(output.dtype)},
            {"shape", output.shape},       {"conforms", output.conforms()},
            {"elements", output.elements}, {"undefined", output.undefined},
            {"flushed", output.flushed},   {"worst_ulps", number(output.worst_ulps)}};
  json["worst"] = output.worst ? element_json(*output.worst, output.dtype) : Json(nullptr);
  json["fitted_scale"] = bias_json(output.aggregates.scale, /*base=*/1);
  json["mean_signed_error"] = bias_json(output.aggregates.mean, /*base=*/0);
  json["sign_balance"] = {{"above", signs.above},
                          {"below", signs.below},
                          {"far_above", signs.far_above},
                          {"far_below", signs.far_below},
                          {"tolerance", number(output.aggregates.signs.tolerance)},
                          {"judged", output.aggregates.signs.judged}};
  json["findings"] = Json::array();
  for (const Finding& finding : output.findings)
    json["findings"].push_back(finding_json(finding, output.dtype));
  return json;
}

Json counts_json(const SummaryRow& row) {
  return {{"cases", row.cases},
          {"passed", row.passed},
          {"failed", row.failed},
          {"refused", row.refused},
          {"unjudged", row.unjudged},
          {"elements", row.elements},
          {"undefined", row.undefined},
          {"flushed", row.flushed},
          {"worst_bound_units", number(row.worst.bound_units)},
          {"worst_ulps", number(row.worst.ulps)},
          {"worst_bias", number(row.worst.bias)},
          {"launches", row.launches},
          {"certification", certification_json(row.certification)},
          {"laws", {{"kept", row.laws.kept}, {"broken", row.laws.broken}, {"silent", row.laws.silent}}},
          {"seconds", row.seconds}};
}

}  // namespace

Json case_json(const CaseResult& result) {
  Json json{{"descriptor", to_descriptor(result.tested)},
            {"canonical", to_canonical_descriptor(result.tested)},
            {"operator", row_of(result.tested.problem.op).name},
            {"kernel", result.kernel},
            {"device", result.device},
            {"status", name_of(result.status)}};
  if (!result.reason.empty()) json["reason"] = result.reason;
  json["repeat"] = result.repeat;
  json["launches"] = result.launches.size();
  json["per_launch"] = Json::array();
  for (const kernels::LaunchReport& launch : result.launches) {
    json["per_launch"].push_back({{"kernel", launch.kernel}, {"counters", launch.counters}});
  }
  json["counters"] = added_up(result.launches);
  json["certification"] = certification_json(result.certification);
  if (!result.laws.empty()) json["laws"] = laws_json(result.laws);
  json["findings"] = Json::array();
  // Findings of a run name no element, so the format does not matter.
  for (const Finding& finding : result.run_findings)
    json["findings"].push_back(finding_json(finding, Dtype::fp32));
  json["outputs"] = Json::array();
  for (const OutputVerdict& output : result.outputs) json["outputs"].push_back(output_json(output));
  json["kernel_seconds"] = result.kernel_seconds;
  json["judge_seconds"] = result.judge_seconds;
  return json;
}

Json summary_json(std::span<const SummaryRow> rows) {
  Json json{{"total", counts_json(total_of(rows))}, {"table", Json::array()}};
  for (const SummaryRow& row : rows) {
    Json line{{"kernel", row.kernel}, {"operator", row_of(row.op).name}};
    line.update(counts_json(row));
    json["table"].push_back(std::move(line));
  }
  return json;
}

Json json_report(std::span<const CaseResult> results, Json options) {
  Json report{
      {"program", "mhcheck"}, {"version", golden::program_version()}, {"options", std::move(options)}};
  report.update(summary_json(summarise(results)));
  report["cases"] = Json::array();
  for (const CaseResult& result : results) report["cases"].push_back(case_json(result));
  return report;
}

}  // namespace mhcheck::conformance

// Reports of hand-made results: what they must contain, and that they are well formed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/report/case_text.h"
#include "conformance/report/failure_text.h"
#include "conformance/report/html_report.h"
#include "conformance/report/json_report.h"
#include "conformance/report/junit_report.h"
#include "conformance/report/summary.h"
#include "conformance/report/xml_text.h"
#include "conformance/runner.h"
#include "tests/conformance/synthetic_output.h"

namespace mhcheck::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CaseResult result_of(std::string_view descriptor, CaseStatus status) {
  CaseResult r;
  r.tested = parse_descriptor(descriptor);
  r.kernel = "host";
  r.device = "host";
  r.status = status;
  r.repeat = repeat_command(r.tested, {});
  r.launches = {{"first_kernel", {{"mfma", 5}, {"valu", 1200}}}, {"second_kernel", {{"valu", 30}}}};
  r.kernel_seconds = 0.25;
  return r;
}

// One passed, one failed by an ulp, one refused, one faulted with markup in its message.
std::vector<CaseResult> a_campaign() {
  std::vector<CaseResult> results;
  testing::SyntheticOutput right = testing::gaussian_output(Dtype::bf16, 3, 512);
  results.push_back(result_of("mhc_post:bf16:t3:n4:h512:seed=7", CaseStatus::passed));
  results.back().outputs.push_back(right.judge());

  testing::SyntheticOutput wrong = right;
  wrong.value[700] = 1.5;
  wrong.store(700, encode(Dtype::bf16, 1.5) + 1);
  results.push_back(result_of("mhc_pre:bf16:t3:n4:h512:seed=7", CaseStatus::failed));
  results.back().outputs.push_back(wrong.judge());

  results.push_back(result_of("mhc_pre:bf16:t3:n3:h512:seed=7", CaseStatus::refused));
  results.back().reason = "hc_mult must be 4";
  results.push_back(result_of("hc_head:fp16:t3:n4:h512:seed=7", CaseStatus::failed));
  results.back().run_findings.push_back(
      {FailureKind::kernel_fault, 1, std::nullopt, "fault in <kernel> & \"more\"\x01"});
  return results;
}

TEST(Summary, CountsByKernelAndOperatorInTheOperatorsOrder) {
  const std::vector<CaseResult> results = a_campaign();
  const std::vector<SummaryRow> rows = summarise(results);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].op, Op::mhc_pre);
  EXPECT_EQ(rows[0].cases, 2u);
  EXPECT_EQ(rows[0].failed, 1u);
  EXPECT_EQ(rows[0].refused, 1u);
  EXPECT_GT(rows[0].worst.bound_units, 1);
  EXPECT_EQ(rows[1].op, Op::mhc_post);
  EXPECT_EQ(rows[1].passed, 1u);
  EXPECT_LE(rows[1].worst.bound_units, 1);
  EXPECT_EQ(rows[2].op, Op::hc_head);
  const SummaryRow total = total_of(rows);
  EXPECT_EQ(total.cases, 4u);
  EXPECT_EQ(total.launches, 8u);
}

TEST(Summary, TheExitCodeTellsFailureFromNoVerdict) {
  SummaryRow total;
  EXPECT_EQ(exit_code(total), 2);  // nothing was judged
  total.refused = 5;
  EXPECT_EQ(exit_code(total), 2);
  total.passed = 1;
  EXPECT_EQ(exit_code(total), 0);
  total.unjudged = 1;
  EXPECT_EQ(exit_code(total), 2);
  total.failed = 1;
  EXPECT_EQ(exit_code(total), 1);
}

TEST(Summary, TableColumnsAreAligned) {
  const std::string table = summary_table(summarise(a_campaign()));
  std::size_t width = 0;
  std::size_t lines = 0;
  for (std::size_t begin = 0, end; (end = table.find('\n', begin)) != std::string::npos; begin = end + 1) {
    if (lines++ == 5) break;  // the sentence behind the table
    if (width == 0) width = end - begin;
    EXPECT_EQ(end - begin, width) << table;
  }
  EXPECT_THAT(table, HasSubstr("total"));
}

TEST(Summary, SaysWhatWasCoveredAndWhatWasNot) {
  const std::vector<CaseResult> results = a_campaign();
  const std::string text = coverage_text(results);
  EXPECT_THAT(text, HasSubstr("covered: 3 of 13 operators, 1 input regimes, 1 hidden sizes 512 to 512"));
  EXPECT_THAT(
      text,
      HasSubstr("mhc_pre on host: 1 refused, the first is mhc_pre:bf16:t3:n3:h512:seed=7: hc_mult must"));
  EXPECT_THAT(text, HasSubstr("hc_head on host: no element with a defined value was judged"));
  EXPECT_EQ(coverage_text({}), "covered: nothing\n");
}

TEST(FailureText, SaysWhatWhereHowFarAndHowToRepeat) {
  const std::string text = failure_text(a_campaign()[1]);
  EXPECT_THAT(text, HasSubstr("FAILED  mhc_pre:bf16:t3:n4:h512:seed=7   kernel host, device host"));
  EXPECT_THAT(text, HasSubstr("layer_input bf16 [3, 512]"));
  EXPECT_THAT(text, HasSubstr("outside_deterministic"));
  EXPECT_THAT(text, HasSubstr("1 of 1536 elements"));
  EXPECT_THAT(text, HasSubstr("token 1, index 188 (element 700)"));
  EXPECT_THAT(text, HasSubstr("1.5078125         0x3fc1"));
  EXPECT_THAT(text, HasSubstr("1.5               0x3fc0  exact 1.5"));
  EXPECT_THAT(text, HasSubstr("+1 ulp, "));
  EXPECT_THAT(text, HasSubstr("repeat: mhcheck repro 'mhc_pre:bf16:t3:n4:h512:seed=7'\n"));
  EXPECT_EQ(failure_text(a_campaign()[0]), "");
}

TEST(JsonReport, HoldsEverythingThatTheOthersShow) {
  const std::vector<CaseResult> results = a_campaign();
  const nlohmann::ordered_json report = json_report(results, {{"seed", 1}});
  EXPECT_EQ(report["options"]["seed"], 1);
  EXPECT_EQ(report["total"]["cases"], 4);
  EXPECT_EQ(report["total"]["failed"], 2);
  EXPECT_EQ(report["table"][0]["operator"], "mhc_pre");
  ASSERT_EQ(report["cases"].size(), 4u);
  const auto& failed = report["cases"][1];
  EXPECT_EQ(failed["status"], "failed");
  const auto& finding = failed["outputs"][0]["findings"][0];
  EXPECT_EQ(finding["kind"], "outside_deterministic");
  EXPECT_EQ(finding["worst"]["flat"], 700);
  EXPECT_EQ(finding["worst"]["bits"]["got"], "0x3fc1");
  EXPECT_EQ(finding["worst"]["exact"], 1.5);
  EXPECT_EQ(failed["repeat"], "mhcheck repro 'mhc_pre:bf16:t3:n4:h512:seed=7'");
  EXPECT_EQ(report["cases"][2]["reason"], "hc_mult must be 4");
  EXPECT_EQ(report["cases"][3]["findings"][0]["kind"], "kernel_fault");
  EXPECT_TRUE(report["cases"][0]["outputs"][0]["fitted_scale"]["tolerance"].is_number());
  // It must be JSON to any reader, whatever stands in it.
  EXPECT_EQ(nlohmann::ordered_json::parse(report.dump()), report);
}

TEST(JsonReport, HasTheCountersOfEachLaunchAndTheirSum) {
  const nlohmann::ordered_json passed = json_report(a_campaign(), {})["cases"][0];
  EXPECT_EQ(passed["launches"], 2);
  ASSERT_EQ(passed["per_launch"].size(), 2u);
  EXPECT_EQ(passed["per_launch"][0]["kernel"], "first_kernel");
  EXPECT_EQ(passed["per_launch"][0]["counters"]["valu"], 1200);
  EXPECT_EQ(passed["per_launch"][1]["counters"]["valu"], 30);
  EXPECT_EQ(passed["counters"]["valu"], 1230);
  EXPECT_EQ(passed["counters"]["mfma"], 5);
}

TEST(CaseText, ShowsTheCountersOfEachLaunchAndTheirSum) {
  const std::string text = case_text(a_campaign()[0], {});
  EXPECT_THAT(text, HasSubstr("2 launches"));
  EXPECT_THAT(text, HasSubstr("launch 1   first_kernel\nlaunch 2   second_kernel\n"));
  EXPECT_THAT(text, HasSubstr("counted                      launch 1       launch 2            sum\n"
                              "  mfma                              5              0              5\n"
                              "  valu                           1200             30           1230\n"));
  CaseResult nothing_counted = a_campaign()[0];
  for (kernels::LaunchReport& launch : nothing_counted.launches) launch.counters.clear();
  EXPECT_THAT(case_text(nothing_counted, {}), Not(HasSubstr("counted")));
}

TEST(JsonReport, NotANumberIsWrittenAsText) {
  testing::SyntheticOutput o = testing::gaussian_output(Dtype::bf16, 3, 512);
  o.store(5, format_of(Dtype::bf16).quiet_nan());
  CaseResult r = result_of("mhc_post:bf16:t3:n4:h512:seed=7", CaseStatus::failed);
  r.outputs.push_back(o.judge());
  const nlohmann::ordered_json worst = case_json(r)["outputs"][0]["findings"][0]["worst"];
  EXPECT_EQ(worst["got"], "nan");
  EXPECT_EQ(worst["ulps"], "inf");
}

TEST(XmlText, EscapesMarkupAndControlCharacters) {
  EXPECT_EQ(xml_text("a<b>&\"c'\x01\n"), "a&lt;b&gt;&amp;&quot;c&#39;?\n");
}

TEST(JunitReport, CountsAndEscapes) {
  const std::string xml = junit_report(a_campaign());
  EXPECT_THAT(
      xml, HasSubstr("<testsuites name=\"mhcheck\" tests=\"4\" failures=\"2\" errors=\"0\" skipped=\"1\""));
  EXPECT_THAT(xml, HasSubstr("<testsuite name=\"host.mhc_pre\" tests=\"2\" failures=\"1\""));
  EXPECT_THAT(xml, HasSubstr("<failure type=\"outside_deterministic\""));
  EXPECT_THAT(xml, HasSubstr("fault in &lt;kernel&gt; &amp; &quot;more&quot;?"));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"refused: hc_mult must be 4\"/>"));
}

TEST(HtmlReport, NeedsNothingFromOutsideAndShowsTheFailure) {
  const std::string html = html_report(a_campaign());
  EXPECT_THAT(html, HasSubstr("1 of 4 cases conform"));
  EXPECT_THAT(html, HasSubstr("<svg"));
  EXPECT_THAT(html, HasSubstr("class=\"wrong\""));
  EXPECT_THAT(html, HasSubstr("token 1, index 188"));
  EXPECT_THAT(html, HasSubstr("hc_mult must be 4"));
  EXPECT_THAT(html, Not(HasSubstr("http")));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("<kernel>")));
}

}  // namespace
}  // namespace mhcheck::conformance

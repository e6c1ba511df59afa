#include "bench/load/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/load/report_html.h"
#include "bench/load/report_json.h"
#include "bench/load/report_table.h"
#include "tests/bench/load/request_logs.h"

namespace kantha::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A target whose rounds each have one request of that TTFT, and 10 tokens in a second.
TargetReport target(const std::string& name, const std::vector<double>& ttft_by_round) {
  TargetReport out;
  out.target = {.name = name, .url = "http://" + name + ":1"};
  out.facts.model = "m";
  for (const double ttft : ttft_by_round) {
    out.phases.push_back(phase_of({answered(0, {ttft, ttft + 10}, 1000, 10)}));
    out.rounds.push_back(measure({&out.phases.back(), 1}, {}));
  }
  out.all = measure(out.phases, {});
  return out;
}

BenchReport report_of(std::vector<TargetReport> targets) {
  BenchReport report;
  report.targets = std::move(targets);
  report.comparisons = compare(report.targets);
  return report;
}

const Ratio* find(const Comparison& comparison, const std::string& figure) {
  for (const Ratio& ratio : comparison.ratios) {
    if (ratio.figure == figure) return &ratio;
  }
  return nullptr;
}

TEST(Compare, GivesRatiosOfMediansWithTheRoundsSpread) {
  const auto comparisons = compare({target("a", {100, 200, 300}), target("b", {50, 150, 330})});
  ASSERT_EQ(comparisons.size(), 1U);
  EXPECT_EQ(comparisons[0].name, "b");
  const Ratio* ttft = find(comparisons[0], "ttft_ms_p50");
  ASSERT_NE(ttft, nullptr);
  EXPECT_DOUBLE_EQ(ttft->first, 200);
  EXPECT_DOUBLE_EQ(ttft->other, 150);
  EXPECT_DOUBLE_EQ(ttft->ratio, 0.75);
  EXPECT_DOUBLE_EQ(ttft->lowest, 0.5);
  EXPECT_DOUBLE_EQ(ttft->highest, 1.1);
  EXPECT_EQ(ttft->rounds, 3U);
  EXPECT_DOUBLE_EQ(find(comparisons[0], "output_tokens_per_s")->ratio, 1);
}

TEST(Compare, LeavesOutFiguresThatOneSideDoesNotHave) {
  TargetReport dead;
  dead.target.name = "dead";
  dead.dead = "refused";
  const auto comparisons = compare({target("a", {100}), dead});
  ASSERT_EQ(comparisons.size(), 1U);
  EXPECT_TRUE(comparisons[0].ratios.empty());
  EXPECT_TRUE(compare({target("a", {100})}).empty());
}

TEST(Report, IsValidOnlyWhenEveryTargetIs) {
  EXPECT_TRUE(report_of({target("a", {100})}).is_valid());
  BenchReport report = report_of({target("a", {100}), target("b", {100})});
  report.targets[1].dead = "refused";
  EXPECT_FALSE(report.is_valid());
  EXPECT_TRUE(report.any_success());
  report = report_of({target("a", {})});
  EXPECT_FALSE(report.any_success());
  EXPECT_FALSE(report.is_valid());
}

TEST(Table, SaysWhatWasMeasuredAndWhatWasNot) {
  BenchReport report = report_of({target("a", {100, 200}), target("b", {100, 100})});
  report.targets[0].warnings.push_back("be careful");
  const std::string table = table_of(report);
  for (const char* text :
       {"a at http://a:1, model m", "2 ok, 0 failed", "TTFT ms", "ITL ms", "10.00 output tok/s",
        "Little's law", "note: be careful", "b against a", "TTFT p50 (ms)"}) {
    EXPECT_THAT(table, HasSubstr(text));
  }
  report.targets[1].dead = "nobody there";
  EXPECT_THAT(table_of(report), HasSubstr("NOT MEASURED: nobody there"));
}

TEST(Table, SaysInvalidAndTheFirstErrorOfEachKind) {
  TargetReport bad = target("a", {});
  bad.phases.push_back(phase_of({failed(0, 1, Outcome::kStatus, 503)}));
  bad.all = measure(bad.phases, {});
  const std::string table = table_of(report_of({bad}));
  EXPECT_THAT(table, HasSubstr("INVALID: no request succeeded"));
  EXPECT_THAT(table, HasSubstr("http_503"));
  EXPECT_THAT(table, HasSubstr("first: it went wrong"));
  EXPECT_THAT(table, Not(HasSubstr("nan")));
}

TEST(Report, SaysInEveryFormHowManyRequestsWereResent) {
  TargetReport one = target("a", {100, 200});
  one.phases[1].requests[0].was_resent = true;
  one.all = measure(one.phases, {});
  const BenchReport report = report_of({one});
  EXPECT_THAT(table_of(report), HasSubstr("2 ok, 0 failed, 1 resent, in"));
  EXPECT_THAT(html_of(report), HasSubstr("2 ok, 0 failed, 0 cut off, 1 resent, 0 not sent"));
  const OrderedJson json = json_of(report);
  EXPECT_EQ(json["targets"][0]["measures"]["resent"], 1);
  EXPECT_FALSE(json["targets"][0]["requests"][0].contains("resent"));
  EXPECT_EQ(json["targets"][0]["requests"][1]["resent"], true);
  EXPECT_THAT(table_of(report_of({target("a", {100})})), Not(HasSubstr("resent")));
}

TEST(Html, HasPlotsTilesAndComparisonsAndEscapesNames) {
  BenchReport report = report_of({target("a", {100, 200}), target("<b>&", {50, 100})});
  report.targets[0].warnings.push_back("\"<i>\"");
  const std::string page = html_of(report);
  EXPECT_THAT(page, HasSubstr("Valid"));
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;&amp; against a"));
  EXPECT_THAT(page, HasSubstr("&quot;&lt;i&gt;&quot;"));
  EXPECT_THAT(page, HasSubstr("<polyline class=\"s1\""));
  EXPECT_THAT(page, HasSubstr("class=\"whisker\""));
  EXPECT_THAT(page, HasSubstr("<td>TTFT, ms</td><td>150.0</td>"));
  EXPECT_THAT(page, Not(HasSubstr("<b>&")));
  EXPECT_THAT(page, Not(HasSubstr("<i>\"")));
}

TEST(Html, SaysWhatWasNotMeasured) {
  TargetReport dead;
  dead.target.name = "dead";
  dead.dead = "nobody <there>";
  dead.all = measure({}, {});
  const std::string page = html_of(report_of({dead}));
  EXPECT_THAT(page, HasSubstr("Nothing succeeded"));
  EXPECT_THAT(page, HasSubstr("Not measured: nobody &lt;there&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<svg")));
}

TEST(Json, HasTheSchemaTheFiguresAndEveryRequest) {
  const OrderedJson json = json_of(report_of({target("a", {100, 200}), target("b", {50, 100})}));
  EXPECT_EQ(json["schema"], "kantha.bench/1");
  EXPECT_EQ(json["valid"], true);
  const OrderedJson& a = json["targets"][0];
  EXPECT_EQ(a["measures"]["ttft_ms"]["p50"], 150);
  EXPECT_EQ(a["measures"]["ok"], 2);
  EXPECT_EQ(a["rounds"].size(), 2U);
  EXPECT_EQ(a["requests"].size(), 2U);
  EXPECT_EQ(a["requests"][1]["round"], 1);
  EXPECT_EQ(a["requests"][1]["ttft_ms"], 200);
  EXPECT_EQ(json["comparisons"][0]["against"], "a");
  EXPECT_EQ(json["comparisons"][0]["ratios"]["ttft_ms_p50"]["ratio"], 0.5);
}

TEST(Json, WritesNullForWhatIsNotKnown) {
  TargetReport silent = target("a", {100});
  silent.phases[0].requests[0].usage.reset();
  silent.all = measure(silent.phases, {});
  const OrderedJson json = json_of(report_of({silent}));
  EXPECT_TRUE(json["targets"][0]["measures"]["output_tokens_per_s"].is_null());
  EXPECT_TRUE(json["targets"][0]["requests"][0]["output_tokens"].is_null());
  EXPECT_TRUE(json["targets"][0]["server"].is_null());
}

}  // namespace
}  // namespace kantha::bench

#include "base/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace kantha {
namespace {

using testing::HasSubstr;

int occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Metrics, ACounterShowsItsSumUnderItsLabels) {
  MetricRegistry registry;
  Counter& counter = registry.counter("vllm:requests_total", "Requests.", {{"model", "a\"b"}});
  counter.add();
  counter.add(2);
  EXPECT_EQ(counter.value(), 3);
  const std::string text = registry.scrape();
  EXPECT_THAT(text, HasSubstr("# HELP vllm:requests_total Requests.\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE vllm:requests_total counter\n"));
  EXPECT_THAT(text, HasSubstr("vllm:requests_total{model=\"a\\\"b\"} 3\n"));
}

TEST(Metrics, TheSameNameAndLabelsAreTheSameSeries) {
  MetricRegistry registry;
  Counter& one = registry.counter("x_total", "X.", {{"k", "1"}});
  EXPECT_EQ(&one, &registry.counter("x_total", "X.", {{"k", "1"}}));
  EXPECT_NE(&one, &registry.counter("x_total", "X.", {{"k", "2"}}));
  const std::string text = registry.scrape();
  EXPECT_EQ(occurrences(text, "# HELP x_total"), 1) << text;
  EXPECT_EQ(occurrences(text, "# TYPE x_total"), 1) << text;
}

TEST(Metrics, AHistogramCountsPerBucket) {
  MetricRegistry registry;
  Histogram& histogram = registry.histogram("ttft_seconds", "TTFT.", {}, {0.1, 1});
  histogram.observe(0.05);
  histogram.observe(0.5);
  histogram.observe(5);
  const std::string text = registry.scrape();
  EXPECT_THAT(text, HasSubstr("ttft_seconds_count 3\n"));
  EXPECT_THAT(text, HasSubstr("ttft_seconds_sum 5.55"));
  EXPECT_THAT(text, HasSubstr("ttft_seconds_bucket{le=\"0.1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("ttft_seconds_bucket{le=\"1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("ttft_seconds_bucket{le=\"+Inf\"} 3\n"));
}

TEST(Metrics, AGaugeIsReadWhenScraped) {
  MetricRegistry registry;
  double value = 1;
  registry.gauge("depth", "Depth.", {}, [&] { return value; });
  EXPECT_THAT(registry.scrape(), HasSubstr("depth 1\n"));
  value = 2.5;
  EXPECT_THAT(registry.scrape(), HasSubstr("depth 2.5\n"));
}

TEST(Metrics, ACounterKeptElsewhereIsReadWhenScraped) {
  MetricRegistry registry;
  double sum = 0;
  registry.counter("starts_total", "Starts.", {}, [&] { return sum; });
  EXPECT_THAT(registry.scrape(), HasSubstr("# TYPE starts_total counter\nstarts_total 0\n"));
  sum = 3;
  EXPECT_THAT(registry.scrape(), HasSubstr("starts_total 3\n"));
  sum = 2;
  EXPECT_THAT(registry.scrape(), HasSubstr("starts_total 3\n"));
}

TEST(Metrics, AHistogramKeptElsewhereIsReadWhenScraped) {
  MetricRegistry registry;
  HistogramTotals totals{.counts = {0, 0, 0}, .sum = 0};
  registry.histogram("rows", "Rows.", {}, {1, 8}, [&] { return totals; });
  EXPECT_THAT(registry.scrape(), HasSubstr("rows_count 0\n"));
  totals = {.counts = {1, 2, 3}, .sum = 100};
  static_cast<void>(registry.scrape());
  const std::string text = registry.scrape();
  EXPECT_THAT(text, HasSubstr("rows_bucket{le=\"1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("rows_bucket{le=\"8\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("rows_count 6\n"));
  EXPECT_THAT(text, HasSubstr("rows_sum 100\n"));
  totals = {.counts = {0, 4, 3}, .sum = 90};
  EXPECT_THAT(registry.scrape(), HasSubstr("rows_bucket{le=\"1\"} 1\n")) << "falls are not shown";
}

TEST(Metrics, AGaugesReaderMayUseTheRegistry) {
  MetricRegistry registry;
  registry.gauge("depth", "Depth.", {}, [&] {
    registry.counter("scrapes_total", "Scrapes.", {}).add();
    return 1.0;
  });
  EXPECT_THAT(registry.scrape(), HasSubstr("scrapes_total 1\n"));
}

TEST(Metrics, ThreadsMayCountAndScrapeAtOnce) {
  MetricRegistry registry;
  registry.gauge("one", "One.", {}, [] { return 1.0; });
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&registry] {
        for (int i = 0; i < 1000; ++i) {
          registry.counter("n_total", "N.", {}).add();
          registry.histogram("h", "H.", {}, {1, 2}).observe(i % 3);
          if (i % 250 == 0) static_cast<void>(registry.scrape());
        }
      });
    }
  }
  EXPECT_EQ(registry.counter("n_total", "N.", {}).value(), 4000);
}

TEST(MetricsDeathTest, ACounterCannotFall) {
  MetricRegistry registry;
  Counter& counter = registry.counter("x_total", "X.", {});
  EXPECT_DEATH(counter.add(-1), "only rises");
}

}  // namespace
}  // namespace kantha

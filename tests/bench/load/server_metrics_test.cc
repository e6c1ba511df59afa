#include "bench/load/server_metrics.h"

#include <gtest/gtest.h>

namespace kantha::bench {
namespace {

constexpr const char* kBefore = R"(# HELP vllm:num_preemptions_total x
vllm:num_preemptions_total{model_name="m"} 2
vllm:prefix_cache_queries_total{model_name="m"} 100
vllm:prefix_cache_hits_total{model_name="m"} 0
vllm:prompt_tokens_total{model_name="m"} 100
)";
constexpr const char* kAfter = R"(vllm:num_preemptions_total{model_name="m"} 5
vllm:prefix_cache_queries_total{model_name="m"} 300
vllm:prefix_cache_hits_total{model_name="m"} 150
vllm:prompt_tokens_total{model_name="m",engine="0"} 400
vllm:prompt_tokens_total{model_name="m",engine="1"} 50
vllm:request_queue_time_seconds_sum{model_name="m"} 3
vllm:request_queue_time_seconds_count{model_name="m"} 6
vllm:request_queue_time_seconds_bucket{le="+Inf"} 6
other_metric 7
)";

TEST(ReadMetrics, SumsOverLabelsAndSkipsWhatItDoesNotKnow) {
  const MetricSums sums = read_metrics(kAfter);
  EXPECT_EQ(sums.at("prompt_tokens"), 450);
  EXPECT_EQ(sums.count("request_queue_time_seconds_bucket"), 0U);
  EXPECT_EQ(sums.count("other_metric"), 0U);
}

TEST(ReadMetrics, SurvivesNonsense) {
  for (const char* text : {"", "vllm:", "vllm:x", "vllm:x{", "vllm:x{a=\"b\"}", "vllm:x{} nan",
                           "vllm:x abc", "<html>", "vllm:x{a=\"}\" 3"}) {
    EXPECT_TRUE(read_metrics(text).empty()) << text;
  }
  EXPECT_EQ(read_metrics("vllm:x 3 1700000000\r\n").at("x"), 3);
}

TEST(ServerWatch, GivesWhatAPhaseChanged) {
  ServerWatch watch;
  watch.add_phase(read_metrics(kBefore), read_metrics(kAfter));
  const ServerFigures figures = watch.figures();
  EXPECT_EQ(figures.preemptions, 3);
  EXPECT_EQ(figures.prompt_tokens, 350);
  EXPECT_EQ(figures.prefix_hit_ratio, 0.75);
  EXPECT_EQ(figures.queue_mean_s, 0.5);
  EXPECT_FALSE(figures.waiting_peak.has_value());
}

TEST(ServerWatch, AddsPhasesAndSurvivesARestart) {
  ServerWatch watch;
  watch.add_phase({{"num_preemptions", 1}}, {{"num_preemptions", 4}});
  watch.add_phase({{"num_preemptions", 4}}, {{"num_preemptions", 2}});
  EXPECT_EQ(watch.figures().preemptions, 5);
}

TEST(ServerWatch, KeepsThePeaksOfGauges) {
  ServerWatch watch;
  watch.add_sample({{"num_requests_waiting", 3}, {"kv_cache_usage_perc", 0.2}});
  watch.add_sample({{"num_requests_waiting", 9}, {"kv_cache_usage_perc", 0.1}});
  EXPECT_EQ(watch.figures().waiting_peak, 9);
  EXPECT_EQ(watch.figures().kv_usage_peak, 0.2);
}

TEST(ServerWatch, ASilentServerHasNoFigures) { EXPECT_FALSE(ServerWatch().figures().any()); }

}  // namespace
}  // namespace kantha::bench

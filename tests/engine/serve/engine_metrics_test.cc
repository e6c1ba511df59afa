#include "engine/serve/engine_metrics.h"

#include <gtest/gtest.h>

#include "tests/base/metric_kinds.h"
#include "tests/engine/serve/served.h"
#include "tests/fake/byte_vocabulary.h"

namespace kantha::serve {
namespace {

TEST(EngineMetrics, ThePageAndTheScrapeNameTheSameSeries) {  // report B100
  Served served;
  const std::string text = served.call("GET", "/metrics").body;
  EXPECT_EQ(test::scraped_kinds(text), test::documented_kinds(KANTHA_METRICS_PAGE));
}

TEST(EngineMetrics, EverySeriesIsThereWithZeroBeforeTheFirstRequest) {  // report B100
  Served served;
  for (const char* reason : {"stop", "length", "abort", "error", "deadline"}) {
    const std::string label = std::string("finished_reason=\"") + reason + "\"";
    EXPECT_EQ(served.metric("vllm:request_success_total", label), 0) << reason;
  }
  EXPECT_EQ(served.metric("vllm:admission_rejections_total", "queue_full"), 0);
  EXPECT_EQ(served.metric("vllm:iteration_tokens_total_count"), 0);
  EXPECT_EQ(served.metric("vllm:request_queue_time_seconds_count"), 0);
  EXPECT_EQ(served.metric("kantha_http_requests_total", R"(route="/v1/chat/completions")"), 0);
  EXPECT_EQ(served.metric("vllm:engine_healthy"), 1);
}

TEST(EngineMetrics, TheEnginesNumbersAreShownAsTheyAre) {
  Served served;
  gateway::EngineStats stats;
  stats.blocks_total = 10;
  stats.blocks_active = 5;
  stats.kv_tokens_reserved = 80;
  stats.kv_tokens_used = 60;
  stats.step_sizes.add(1);
  stats.step_sizes.add(200);
  stats.step_seconds_total = 3;
  stats.forward_seconds_total = 2.5;
  stats.prompt_tokens_queued_max = 777;
  stats.finished_total[static_cast<std::size_t>(sched::FinishReason::kError)] = 2;
  served.engine().set_stats(stats);
  EXPECT_EQ(served.metric("vllm:kv_cache_usage_perc"), 0.5);
  EXPECT_EQ(served.metric("kantha_kv_tokens", "reserved"), 80);
  EXPECT_EQ(served.metric("kantha_kv_tokens", "used"), 60);
  EXPECT_EQ(served.metric("kantha_kv_waste_ratio"), 0.25);
  EXPECT_EQ(served.metric("vllm:iteration_tokens_total_bucket", R"(le="128")"), 1);
  EXPECT_EQ(served.metric("vllm:iteration_tokens_total_bucket", R"(le="256")"), 2);
  EXPECT_EQ(served.metric("vllm:iteration_tokens_total_sum"), 201);
  EXPECT_EQ(served.metric("kantha_engine_step_overhead_seconds_total"), 0.5);
  EXPECT_EQ(served.metric("kantha_queue_tokens_max"), 777);
  EXPECT_EQ(served.metric("vllm:corrupted_requests_total"), 2);
  // The engine is idle again: gauges follow, counters stay (report B098).
  served.engine().set_stats({});
  EXPECT_EQ(served.metric("vllm:kv_cache_usage_perc"), 0);
  EXPECT_EQ(served.metric("kantha_kv_waste_ratio"), 0);
  EXPECT_EQ(served.metric("vllm:iteration_tokens_total_sum"), 201);
  EXPECT_EQ(served.metric("kantha_engine_step_overhead_seconds_total"), 0.5);
}

TEST(EngineMetrics, ARequestLeavesItsTimesAndSizes) {
  Served served;
  served.engine().on_submit([](const sched::GenerateSpec&) {
    return fake::FakeReply{.tokens = fake::byte_tokens("abc"), .end_token = fake::kTurnEnd};
  });
  ASSERT_EQ(served.post("/v1/completions", completion({{"max_tokens", 7}, {"n", 2}})).status, 200);
  EXPECT_EQ(served.metric("vllm:request_params_n_sum"), 2);
  EXPECT_EQ(served.metric("vllm:request_params_n_count"), 1);
  EXPECT_EQ(served.metric("vllm:request_params_max_tokens_sum"), 7);
  EXPECT_EQ(served.metric("vllm:time_to_first_token_seconds_count"), 2);
  EXPECT_EQ(served.metric("vllm:inter_token_latency_seconds_count"), 6);
  for (const char* name :
       {"vllm:request_queue_time_seconds", "vllm:request_prefill_time_seconds",
        "vllm:request_decode_time_seconds", "vllm:request_inference_time_seconds",
        "vllm:request_time_per_output_token_seconds", "vllm:e2e_request_latency_seconds",
        "vllm:request_prefill_kv_computed_tokens"}) {
    EXPECT_EQ(served.metric(std::string(name) + "_count"), 2) << name;
  }
  EXPECT_EQ(served.metric("vllm:prompt_tokens_by_source_total", "local_compute"), 4);
}

TEST(EngineMetrics, RefusalsAreCountedByReason) {
  Served served;
  served.engine().refuse(ok_status(), Error{.code = Code::kResourceExhausted, .message = "full"});
  EXPECT_EQ(served.post("/v1/completions", completion()).status, 429);
  EXPECT_EQ(served.metric("vllm:admission_rejections_total", "queue_full"), 1);
  EXPECT_EQ(served.metric("vllm:admission_rejections_total", "unavailable"), 0);
}

}  // namespace
}  // namespace kantha::serve

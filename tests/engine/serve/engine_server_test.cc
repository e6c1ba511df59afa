#include "engine/serve/engine_server.h"

#include <gtest/gtest.h>

#include "engine/serve/command_line.h"
#include "tests/engine/serve/served.h"
#include "tests/fake/byte_vocabulary.h"

namespace kantha::serve {
namespace {

using fake::byte_tokens;
using fake::FakeReply;
using sched::FinishReason;

TEST(EngineServer, HealthRoutesTellLoadingFromReady) {
  Served served({.slow_boot = true});
  EXPECT_EQ(served.call("GET", "/live").status, 200);
  EXPECT_EQ(served.call("GET", "/health").status, 503);
  EXPECT_EQ(served.call("GET", "/metrics").status, 200);
  const auto ready = served.call("GET", "/ready");
  EXPECT_EQ(ready.status, 503);
  EXPECT_EQ(error_key(ready, "code"), "model_loading");
  const auto startup = served.call("GET", "/startup");
  EXPECT_EQ(startup.status, 503);
  EXPECT_TRUE(net::eventually([&] {
    return Json::parse(served.call("GET", "/startup").body)["step"] == "waiting for the test";
  }));
  const auto early = served.post("/v1/completions", completion());
  EXPECT_EQ(early.status, 503);
  EXPECT_TRUE(early.headers.find("retry-after").has_value());
  EXPECT_EQ(served.call("GET", "/v1/models").status, 503);
  served.finish_boot();
  EXPECT_TRUE(net::eventually([&] { return served.call("GET", "/ready").status == 200; }));
  EXPECT_EQ(served.call("GET", "/startup").status, 200);
  EXPECT_EQ(served.call("GET", "/health").status, 200);
}

TEST(EngineServer, DrainFinishesWhatRunsAndRefusesWhatIsNew) {
  Served served({.drain_timeout_s = 30});
  served.engine().on_submit([](const sched::GenerateSpec&) {
    return FakeReply{.tokens = byte_tokens("ab"), .finish = std::nullopt};
  });
  auto peer = served.open_post("/v1/completions", completion({{"stream", true}}));
  peer->read_until("\"b\"");
  served.server().shutdown();
  EXPECT_TRUE(net::eventually([&] { return served.call("GET", "/ready").status == 503; }));
  EXPECT_EQ(served.call("GET", "/live").status, 200);
  EXPECT_EQ(served.call("GET", "/health").status, 200);
  const auto refused = served.post("/v1/completions", completion());
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(error_key(refused, "code"), "server_draining");
  EXPECT_TRUE(refused.headers.find("retry-after").has_value());
  EXPECT_EQ(refused.headers.find("connection"), "close");
  served.engine().emit(served.engine().submitted().at(0).id, byte_tokens("c"),
                       FinishReason::kLength);
  EXPECT_NE(peer->read_until("[DONE]\n\n").find("[DONE]"), std::string::npos);
  EXPECT_EQ(served.join(), kExitOk);
}

TEST(EngineServer, DrainEndsStreamsThatOutliveItWithAnErrorEvent) {
  Served served({.drain_timeout_s = 0});
  served.engine().on_submit([](const sched::GenerateSpec&) {
    return FakeReply{.tokens = byte_tokens("a"), .finish = std::nullopt};
  });
  auto peer = served.open_post("/v1/completions", completion({{"stream", true}}));
  peer->read_until("\"a\"");
  served.server().shutdown();
  const std::string rest = peer->read_to_end();
  EXPECT_NE(rest.find("server_draining"), std::string::npos) << rest;
  EXPECT_EQ(rest.find("[DONE]"), std::string::npos);
  EXPECT_EQ(served.join(), kExitOk);
  EXPECT_TRUE(net::eventually([&] { return served.engine().open_requests() == 0; }));
}

TEST(EngineServer, SecondShutdownEndsAtOnce) {
  Served served({.drain_timeout_s = 600});
  served.engine().on_submit([](const sched::GenerateSpec&) {
    return FakeReply{.tokens = byte_tokens("a"), .finish = std::nullopt};
  });
  auto peer = served.open_post("/v1/completions", completion({{"stream", true}}));
  peer->read_until("\"a\"");
  served.server().shutdown();
  served.server().shutdown();
  EXPECT_EQ(served.join(), kExitOk);
}

TEST(EngineServer, AdminDrainRefusesNewWorkAndStays) {
  Served served({.unix_socket = true});
  const auto drained = served.call_at(served.unix_endpoint(), "POST", "/admin/v1/drain");
  EXPECT_EQ(Json::parse(drained.body)["phase"], "draining");
  EXPECT_EQ(served.post("/v1/completions", completion()).status, 503);
  EXPECT_EQ(served.call("GET", "/live").status, 200);
}

TEST(EngineServer, AdminShutdownEndsTheProcess) {
  Served served({.unix_socket = true});
  EXPECT_EQ(served.call_at(served.unix_endpoint(), "POST", "/admin/v1/shutdown").status, 200);
  EXPECT_EQ(served.join(), kExitOk);
}

TEST(EngineServer, ModelThatCannotLoadEndsWithItsOwnStatus) {
  EngineConfig config;
  config.listen.push_back({.host = "127.0.0.1"});
  EngineServer server(
      config, [](PhaseBoard&) -> Result<ServedModel> { return data_loss("truncated"); },
      system_clock());
  ASSERT_TRUE(server.listen().ok());
  EXPECT_EQ(server.run(), kExitModel);
}

TEST(EngineServer, AddressInUseIsAnError) {
  Served served;
  EngineConfig config;
  config.listen.push_back(served.endpoint());
  EngineServer second(
      config, [](PhaseBoard&) -> Result<ServedModel> { return internal_error("unused"); },
      system_clock());
  EXPECT_EQ(second.listen().error().code, Code::kAlreadyExists);
}

TEST(EngineServer, AllSeriesAreThereWithZeroBeforeTheFirstRequest) {  // report B100
  Served served;
  for (const char* name :
       {"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc",
        "vllm:prompt_tokens_total", "vllm:generation_tokens_total",
        "vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total",
        "vllm:num_preemptions_total", "vllm:request_success_total",
        "vllm:time_to_first_token_seconds_count", "vllm:inter_token_latency_seconds_count",
        "vllm:e2e_request_latency_seconds_count", "vllm:request_prompt_tokens_count",
        "vllm:request_generation_tokens_count", "kantha_kv_pressure"}) {
    EXPECT_EQ(served.metric(name, R"(model_name="m")"), 0) << name;
  }
  EXPECT_EQ(served.metric("vllm:cache_config_info"), 1);
  EXPECT_EQ(served.metric("kantha_kv_blocks", R"(state="free")"), 100);
  EXPECT_EQ(served.metric("vllm:time_to_first_token_seconds_bucket", R"(le="0.0005")"), 0);
}

TEST(EngineServer, RequestsMoveTheSeries) {  // report B098
  Served served;
  served.engine().on_submit([](const sched::GenerateSpec& spec) {
    const auto finish = spec.max_tokens == 1 ? FinishReason::kLength : FinishReason::kStop;
    return FakeReply{.tokens = byte_tokens("abc"), .finish = finish};
  });
  served.post("/v1/completions", completion());
  served.post("/v1/completions", completion({{"max_tokens", 1}}));
  const auto ended = [&](const std::string& reason) {
    return served.metric("vllm:request_success_total", "finished_reason=\"" + reason + "\"");
  };
  EXPECT_EQ(ended("stop"), 1);
  EXPECT_EQ(ended("length"), 1);
  EXPECT_EQ(ended("abort"), 0);
  EXPECT_EQ(ended("error"), 0);
  EXPECT_EQ(served.metric("vllm:time_to_first_token_seconds_count"), 2);
  EXPECT_EQ(served.metric("vllm:inter_token_latency_seconds_count"), 4);
  EXPECT_EQ(served.metric("vllm:e2e_request_latency_seconds_count"), 2);
  gateway::EngineStats stats;
  stats.prompt_tokens_total = 40;
  stats.blocks_total = 100;
  stats.blocks_active = 25;
  served.engine().set_stats(stats);
  EXPECT_EQ(served.metric("vllm:prompt_tokens_total"), 40);
  EXPECT_EQ(served.metric("vllm:kv_cache_usage_perc"), 0.25);
  stats.prompt_tokens_total = 30;  // a counter never falls
  served.engine().set_stats(stats);
  EXPECT_EQ(served.metric("vllm:prompt_tokens_total"), 40);
}

TEST(EngineServer, AnEngineThatMakesNoProgressIsNeitherReadyNorAlive) {
  Served served;
  gateway::EngineStats stats;
  stats.requests_running = 1;
  stats.steps_total = 100;
  stats.step_seconds_total = 1;
  stats.busy_since = system_clock().now() - std::chrono::minutes(1);
  stats.last_step = system_clock().now() - std::chrono::seconds(11);
  served.engine().set_stats(stats);
  for (const char* path : {"/live", "/ready", "/health"}) {
    EXPECT_TRUE(net::eventually([&] { return served.call("GET", path).status == 503; })) << path;
    EXPECT_EQ(error_key(served.call("GET", path), "code"), "engine_stalled") << path;
  }
  EXPECT_EQ(served.metric("vllm:engine_healthy"), 0);
  // A step came after all.
  stats.last_step = system_clock().now();
  served.engine().set_stats(stats);
  EXPECT_TRUE(net::eventually([&] { return served.call("GET", "/live").status == 200; }));
  // Idle for hours.
  stats = {};
  stats.steps_total = 100;
  stats.last_step = system_clock().now() - std::chrono::hours(1);
  served.engine().set_stats(stats);
  EXPECT_EQ(served.call("GET", "/ready").status, 200);
}

}  // namespace
}  // namespace kantha::serve

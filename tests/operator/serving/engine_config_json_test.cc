#include "operator/serving/engine_config_json.h"

#include <gtest/gtest.h>

#include <functional>

namespace kantha::serving {
namespace {

ModelServing sample() {
  ModelServing m;
  m.metadata.name = "smollm2";
  m.spec.model.name = "smollm2-135m-instruct";
  m.spec.model.source.host_path = "m.gguf";
  m.spec.engine.config.max_model_len = 8192;
  m.spec.engine.config.kv_cache_memory = "2Gi";
  m.spec.replicas = 2;
  return m;
}

TEST(EngineConfigJson, IsTheTextThatTheEngineReads) {
  EXPECT_EQ(engine_config_json(sample(), {"/models/m.gguf", "/run/engine.sock"}),
            R"({"model":{"path":"/models/m.gguf","name":"smollm2-135m-instruct"},)"
            R"("engine":{"maxModelLen":8192,"maxNumSeqs":64,"blockSize":16,"kvCacheDtype":"auto",)"
            R"("kvCacheMemory":2147483648,"gpuMemoryUtilization":0.92,"prefixCaching":true},)"
            R"("listen":["unix:/run/engine.sock"],"drain":{"timeoutSeconds":300}})"
            "\n");
}

TEST(EngineConfigJson, WhatTheEngineShallDecideIsLeftOut) {
  ModelServing m = sample();
  m.spec.engine.config.max_model_len = 0;
  m.spec.engine.config.kv_cache_memory.clear();
  const Json json = Json::parse(engine_config_json(m, {"m", "s"}));
  EXPECT_FALSE(json["engine"].contains("maxModelLen"));
  EXPECT_FALSE(json["engine"].contains("kvCacheMemory"));
}

TEST(EngineConfigJson, CpusAndTheQueueLimitReachTheEngineWhenGiven) {
  ModelServing m = sample();
  EXPECT_FALSE(Json::parse(engine_config_json(m, {"m", "s"}))["engine"].contains("threads"));
  m.spec.resources.cpu = "1500m";
  m.spec.gateway.limits.max_queued_tokens = 1000;
  const Json json = Json::parse(engine_config_json(m, {"m", "s"}));
  EXPECT_EQ(json["engine"]["threads"], 2) << "rounded up";
  EXPECT_EQ(json["engine"]["maxQueuedTokens"], 1000);
}

TEST(EngineConfigJson, TargetsReachTheEngineWhenTheyAreNotTheDefault) {
  ModelServing m = sample();
  m.spec.engine.config.ttft_target_ms = 2000;
  m.spec.engine.config.itl_target_ms = 50;
  const Json json = Json::parse(engine_config_json(m, {"m", "s"}));
  EXPECT_EQ(json["engine"]["ttftTargetMs"], 2000);
  EXPECT_EQ(json["engine"]["itlTargetMs"], 50);
  const Json plain = Json::parse(engine_config_json(sample(), {"m", "s"}));
  EXPECT_FALSE(plain["engine"].contains("ttftTargetMs"));
  EXPECT_FALSE(plain["engine"].contains("itlTargetMs"));
}

TEST(EngineConfigJson, ParsersReachTheEngineWhenTheyAreChosen) {
  ModelServing m = sample();
  m.spec.engine.config.tool_parser = "hermes";
  m.spec.engine.config.reasoning_parser = "none";
  const Json json = Json::parse(engine_config_json(m, {"m", "s"}));
  EXPECT_EQ(json["engine"]["toolParser"], "hermes");
  EXPECT_EQ(json["engine"]["reasoningParser"], "none");
  const Json plain = Json::parse(engine_config_json(sample(), {"m", "s"}));
  EXPECT_FALSE(plain["engine"].contains("toolParser"));
  EXPECT_FALSE(plain["engine"].contains("reasoningParser"));
}

TEST(EngineConfigJson, TheHashIsThatOfTheBytes) {
  EXPECT_EQ(engine_config_hash("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string a = engine_config_json(sample(), {"m", "s"});
  EXPECT_EQ(engine_config_hash(a), engine_config_hash(engine_config_json(sample(), {"m", "s"})));
}

TEST(Revision, OnlyWhatDecidesTheAnswersIsInIt) {
  using Edit = std::function<void(ModelServing&)>;
  const struct {
    const char* name;
    Edit edit;
    bool whole;
    bool pod;
  } cases[] = {
      {"replicas", [](auto& m) { m.spec.replicas = 5; }, false, false},
      {"autoscaling", [](auto& m) { m.spec.autoscaling.emplace(); }, false, false},
      {"labels", [](auto& m) { m.metadata.labels["a"] = "b"; }, false, false},
      {"pacing", [](auto& m) { m.spec.rollout.paused = true; }, false, false},
      {"batch size", [](auto& m) { m.spec.engine.config.max_num_seqs = 8; }, true, false},
      {"prefix caching", [](auto& m) { m.spec.engine.config.prefix_caching = false; }, true, false},
      {"image", [](auto& m) { m.spec.engine.image = "other"; }, true, true},
      {"served name", [](auto& m) { m.spec.model.name = "other"; }, true, true},
      {"drain", [](auto& m) { m.spec.drain.timeout_seconds = 5; }, true, true},
  };
  const Revision base = revision_of(sample(), "/m.gguf");
  for (const auto& c : cases) {
    ModelServing m = sample();
    c.edit(m);
    const Revision edited = revision_of(m, "/m.gguf");
    EXPECT_EQ(edited.whole != base.whole, c.whole) << c.name;
    EXPECT_EQ(edited.pod != base.pod, c.pod) << c.name;
  }
  const Revision moved = revision_of(sample(), "/other.gguf");
  EXPECT_NE(moved.whole, base.whole) << "other weights";
  EXPECT_EQ(moved.pod, base.pod);
  EXPECT_EQ(short_revision(base.whole), "r-" + base.whole.substr(0, 10));
}

}  // namespace
}  // namespace kantha::serving

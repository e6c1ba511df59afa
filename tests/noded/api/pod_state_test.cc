#include "noded/api/pod_state.h"

#include <gtest/gtest.h>

namespace kantha::noded {
namespace {

PodState full_state() {
  PodState state;
  state.pod = "smollm2-1";
  state.model = "smollm2-135m-instruct";
  state.version = "0.1.0";
  state.phase = EnginePhase::kBackoff;
  state.message = "engine ended: signal 9 (Killed)";
  state.engine_version = "0.1.0+cpu";
  state.config_hash = "abc123";
  state.engine_pid = 4711;
  state.engine_restarts = 3;
  state.streams = 7;
  state.requests_held = 2;
  state.told_config_hash = "def456";
  state.tokenizer_hash = "0123";
  state.draining = true;
  state.asks_for_keys = true;
  state.api_keys = 3;
  state.api_keys_error = "keys[1].tenant: required";
  state.requests_total = 9'007'199'254'740'993;
  state.streams_resumed = 21;
  state.streams_broken = 1;
  state.kv_blocks_total = 4096;
  state.kv_blocks_active = 100;
  state.kv_blocks_cached = 50;
  state.kv_blocks_free = 3946;
  state.waiting_tokens = 12;
  state.kv_pressure = 1.25;
  state.tokens_per_second = 31.5;
  state.age_ms = 850;
  state.idle_ms = 12'000;
  return state;
}

TEST(PodState, SurvivesTheTripThroughJsonText) {
  const Json sent = to_json(full_state());
  const Result<PodState> read = pod_state_from_json(Json::parse(sent.dump()));
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(to_json(*read), sent);
  EXPECT_EQ(read->phase, EnginePhase::kBackoff);
  EXPECT_EQ(read->requests_total, 9'007'199'254'740'993) << "64 bits stay exact";
  EXPECT_EQ(read->message, "engine ended: signal 9 (Killed)");
  EXPECT_EQ(read->tokens_per_second, 31.5);
  EXPECT_EQ(read->told_config_hash, "def456");
  EXPECT_EQ(read->tokenizer_hash, "0123");
  EXPECT_EQ(read->requests_held, 2);
  EXPECT_EQ(read->idle_ms, 12'000);
  EXPECT_TRUE(read->draining);
  EXPECT_TRUE(read->asks_for_keys);
  EXPECT_EQ(read->api_keys, 3);
  EXPECT_EQ(read->api_keys_error, "keys[1].tenant: required");
}

TEST(PodState, OfANodedThatDoesNotSayIsNotIdle) {
  Json sent = to_json(full_state());
  sent.erase("idle_ms");
  EXPECT_EQ(pod_state_from_json(sent)->idle_ms, -1);
}

TEST(PodState, CarriesTheWeightsThatNodedBrings) {
  PodState state = full_state();
  EXPECT_FALSE(to_json(state).contains("weights"));
  for (int i = 0; i <= static_cast<int>(WeightsPhase::kFailed); ++i) {
    state.weights = WeightsState{static_cast<WeightsPhase>(i), 5, 10, "http://a/b", "words"};
    const Result<PodState> read = pod_state_from_json(to_json(state));
    ASSERT_TRUE(read.ok()) << read.error().to_string();
    EXPECT_EQ(read->weights, state.weights);
  }
  Json wrong = to_json(state);
  wrong["weights"]["bytes_done"] = -1;
  EXPECT_EQ(pod_state_from_json(wrong).error().field, "weights.bytes_done");
  wrong["weights"] = "all";
  EXPECT_FALSE(pod_state_from_json(wrong).ok());
  wrong["weights"] = {{"phase", "lost"}};
  EXPECT_EQ(pod_state_from_json(wrong).error().field, "weights.phase");
}

TEST(PodState, EveryPhaseHasItsOwnNameThatReadsBack) {
  for (int i = 0; i <= static_cast<int>(EnginePhase::kFetching); ++i) {
    PodState state;
    state.phase = static_cast<EnginePhase>(i);
    const Result<PodState> read = pod_state_from_json(to_json(state));
    ASSERT_TRUE(read.ok()) << i;
    EXPECT_EQ(read->phase, state.phase);
  }
}

TEST(PodState, AnOlderOrNewerPeerIsUnderstood) {
  const Result<PodState> empty = pod_state_from_json(Json::object());
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->phase, EnginePhase::kStarting);
  EXPECT_EQ(empty->streams, 0);
  const Result<PodState> newer =
      pod_state_from_json(Json::parse(R"({"streams": 2, "future": {"a": [1]}, "pod": null})"));
  ASSERT_TRUE(newer.ok());
  EXPECT_EQ(newer->streams, 2);
}

TEST(PodState, WrongTypesNameTheField) {
  const struct {
    const char* json;
    const char* field;
  } cases[] = {
      {R"({"streams": "two"})", "streams"},
      {R"({"streams": -1})", "streams"},
      {R"({"streams": 1.5})", "streams"},
      {R"({"phase": "flying"})", "phase"},
      {R"({"phase": 3})", "phase"},
      {R"({"pod": 3})", "pod"},
      {R"({"kv_pressure": "1"})", "kv_pressure"},
      {R"({"kv_pressure": -0.5})", "kv_pressure"},
      {R"({"config_hash": []})", "config_hash"},
  };
  for (const auto& c : cases) {
    const Result<PodState> read = pod_state_from_json(Json::parse(c.json));
    ASSERT_FALSE(read.ok()) << c.json;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument);
    EXPECT_EQ(read.error().field, c.field) << read.error().to_string();
  }
  EXPECT_FALSE(pod_state_from_json(Json::parse("[1]")).ok());
  EXPECT_FALSE(pod_state_from_json(Json::parse("3")).ok());
}

}  // namespace
}  // namespace kantha::noded

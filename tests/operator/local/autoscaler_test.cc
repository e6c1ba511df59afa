#include "operator/local/autoscaler.h"

#include <gtest/gtest.h>

namespace kantha::local {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kNow{1000s};

/// A pod that serves as it was told.
PodFacts serving_pod(double pressure) {
  PodFacts out;
  out.name = "m-0";
  out.told_revision = "r";
  out.told_config_hash = "h";
  out.running = true;
  out.state_at = kNow - 1s;
  noded::PodState& state = out.state.emplace();
  state.phase = noded::EnginePhase::kReady;
  state.config_hash = "h";
  state.kv_blocks_total = 100;
  state.kv_pressure = pressure;
  state.age_ms = 500;
  return out;
}

TEST(ScalePod, IsASampleWithTheAgeOfBothWays) {
  const auto pod = scale_pod(serving_pod(1.25), kNow);
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->pressure, 1.25);
  EXPECT_EQ(pod->age, 1500ms);
}

TEST(ScalePod, HasNoSampleWhileItDoesNotServeAsTold) {
  const std::pair<const char*, void (*)(PodFacts&)> table[] = {
      {"loading", [](PodFacts& f) { f.state->phase = noded::EnginePhase::kStarting; }},
      {"fetching", [](PodFacts& f) { f.state->phase = noded::EnginePhase::kFetching; }},
      {"swapping", [](PodFacts& f) { f.told_config_hash = "other"; }},
      {"silent", [](PodFacts& f) { f.state_at = kNow - 6s; }},
      {"never answered", [](PodFacts& f) { f.state.reset(); }},
      {"ended", [](PodFacts& f) { f.running = false; }},
      {"no numbers of its engine", [](PodFacts& f) { f.state->kv_blocks_total = 0; }},
  };
  for (const auto& [what, change] : table) {
    PodFacts facts = serving_pod(1);
    change(facts);
    const auto pod = scale_pod(facts, kNow);
    ASSERT_TRUE(pod) << what;
    EXPECT_FALSE(pod->pressure) << what;
    EXPECT_FALSE(pod->why_none.empty()) << what;
  }
}

TEST(ScalePod, OnItsWayOutDoesNotCount) {
  PodFacts draining = serving_pod(1);
  draining.drain_deadline = kNow + 5s;
  EXPECT_FALSE(scale_pod(draining, kNow));
  PodFacts ending = serving_pod(1);
  ending.terminating = true;
  EXPECT_FALSE(scale_pod(ending, kNow));
}

serving::ModelServing with_autoscaling() {
  serving::ModelServing out;
  out.spec.autoscaling =
      serving::AutoscalingSpec{.min_replicas = 1, .max_replicas = 4, .target_kv_pressure = 0.5};
  return out;
}

TEST(Autoscaler, LooksOnlyNowAndThen) {
  FakeClock clock;
  Autoscaler scaler(5s);
  const std::vector<serving::ScalePod> busy = {{.name = "m-0", .pressure = 1.4}};
  EXPECT_EQ(scaler.look(with_autoscaling(), busy, "", clock), 3);
  EXPECT_EQ(scaler.decisions().size(), 1u);
  EXPECT_FALSE(scaler.look(with_autoscaling(), busy, "", clock));
  clock.advance(5s);
  EXPECT_EQ(scaler.look(with_autoscaling(), busy, "", clock), 3) << "nobody carried it out";
}

TEST(Autoscaler, SaysWhetherItActs) {
  FakeClock clock;
  Autoscaler scaler(5s);
  EXPECT_FALSE(scaler.condition());
  scaler.look(with_autoscaling(), {{.name = "m-0", .why_none = "loading"}}, "", clock);
  EXPECT_EQ(scaler.condition()->status, serving::ConditionStatus::kFalse);
  EXPECT_EQ(scaler.condition()->reason, "NoSamples");
  clock.advance(5s);
  scaler.look(with_autoscaling(), {{.name = "m-0", .pressure = 0.5}}, "", clock);
  EXPECT_EQ(scaler.condition()->status, serving::ConditionStatus::kTrue);
  scaler.look({}, {}, "", clock);
  EXPECT_FALSE(scaler.condition()) << "spec.autoscaling was taken away";
}

}  // namespace
}  // namespace kantha::local

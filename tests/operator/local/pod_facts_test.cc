#include "operator/local/pod_facts.h"

#include <gtest/gtest.h>

#include <functional>

#include "operator/local/local_rules.h"
#include "operator/local/replicas_owner.h"

namespace kantha::local {
namespace {

using namespace std::chrono_literals;
using noded::EnginePhase;

const TimePoint kNow = TimePoint{} + 100s;

/// A pod that serves.
PodFacts good() {
  PodFacts facts;
  facts.name = "m-0";
  facts.told_revision = "rev";
  facts.told_config_hash = "hash";
  facts.running = true;
  facts.state.emplace();
  facts.state->phase = EnginePhase::kReady;
  facts.state->config_hash = "hash";
  facts.state->streams = 2;
  facts.state_at = kNow - 1s;
  return facts;
}

TEST(PodFacts, WhatThePlannerSees) {
  struct Expected {
    bool available, failing;
    std::optional<std::int64_t> streams;
    const char* word;
  };
  const struct {
    const char* name;
    std::function<void(PodFacts&)> change;
    Expected expected;
  } cases[] = {
      {"a pod that serves", [](auto&) {}, {true, false, 2, "ready"}},
      {"a process without an answer yet",
       [](auto& f) { f.state.reset(); },
       {false, false, std::nullopt, "starting"}},
      {"an engine that starts",
       [](auto& f) { f.state->phase = EnginePhase::kStarting; },
       {false, false, 2, "starting"}},
      {"an engine in a crash loop",
       [](auto& f) { f.state->phase = EnginePhase::kCrashLoop; },
       {false, true, 2, "crash_loop"}},
      {"an answer too old to believe",
       [](auto& f) { f.state_at = kNow - 6s; },
       {false, true, std::nullopt, "unreachable"}},
      {"a process that ended",
       [](auto& f) {
         f.running = false;
         f.last_exit = "exit 3";
         f.state.reset();
       },
       {false, true, 0, "down"}},
      {"the old configuration",
       [](auto& f) { f.state->config_hash = "before"; },
       {false, false, 2, "restarting"}},
      {"a drain that noded has not seen yet",
       [](auto& f) {
         f.drain_deadline = kNow + 9s;
         f.state->streams = 0;
       },
       {false, false, std::nullopt, "draining"}},
      {"a drain under way",
       [](auto& f) {
         f.drain_deadline = kNow + 9s;
         f.state->phase = EnginePhase::kDraining;
       },
       {false, false, 2, "draining"}},
      {"a drained noded that ended by itself is no failure",
       [](auto& f) {
         f.drain_deadline = kNow + 9s;
         f.running = false;
         f.last_exit = "exit 0";
       },
       {false, false, 0, "draining"}},
      {"told to end", [](auto& f) { f.terminating = true; }, {false, false, 2, "ending"}},
  };
  for (const auto& c : cases) {
    PodFacts facts = good();
    c.change(facts);
    const serving::ObservedPod pod = observe(facts, kNow);
    EXPECT_EQ(serving::is_available(pod), c.expected.available) << c.name;
    EXPECT_EQ(pod.failing, c.expected.failing) << c.name;
    EXPECT_EQ(pod.streams, c.expected.streams) << c.name;
    EXPECT_EQ(phase_word(facts, kNow), c.expected.word) << c.name;
    EXPECT_EQ(pod.message.empty(), pod.ready) << c.name;
  }
}

TEST(ReplicasOwner, AScaleHoldsUntilTheFilesOwnNumberChanges) {
  ReplicasOwner owner;
  EXPECT_FALSE(owner.file_says(2));
  EXPECT_EQ(owner.wanted(), 2);
  owner.scale_says(5);
  EXPECT_EQ(owner.wanted(), 5);
  EXPECT_FALSE(owner.file_says(2)) << "an edit of something else";
  EXPECT_EQ(owner.wanted(), 5);
  EXPECT_TRUE(owner.file_says(3));
  EXPECT_EQ(owner.wanted(), 3);
  EXPECT_FALSE(owner.file_says(4)) << "nothing was scaled";
}

TEST(LocalRules, WhatOnlyAClusterCanDoIsRefusedByName) {
  serving::ModelServing m;
  m.spec.model.source.host_path = "x";
  EXPECT_TRUE(local_problems(m).empty());
  m.spec.engine.image = "/bin/sh";
  EXPECT_TRUE(local_problems(m).empty());
  m.spec.engine.image = "registry/engine:1";
  m.spec.replicas = 65;
  m.spec.model.source.pvc.emplace();
  std::string paths;
  for (const auto& problem : local_problems(m)) paths += problem.path + " ";
  EXPECT_EQ(paths, "spec.model.source.pvc spec.engine.image spec.replicas ");
  m = {};
  m.spec.autoscaling = serving::AutoscalingSpec{.min_replicas = 1, .max_replicas = 65};
  ASSERT_EQ(local_problems(m).size(), 1u);
  EXPECT_EQ(local_problems(m)[0].path, "spec.autoscaling.maxReplicas");
}

}  // namespace
}  // namespace kantha::local

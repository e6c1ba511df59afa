#include "operator/serving/plan_victims.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace kantha::serving {
namespace {

using Ordinals = std::set<std::int64_t>;
using Change = std::function<void(Observed&)>;

const TimePoint kNow = TimePoint{} + std::chrono::seconds(1000);

/// Four pods that serve as they should, each with two requests and a cache half full.
Observed four(std::int64_t wanted, const Change& change = [](Observed&) {}) {
  Observed out;
  out.serving.metadata.name = "m";
  out.serving.spec.replicas = wanted;
  out.target = {"new", "pod1"};
  for (std::int64_t i = 0; i < 4; ++i) {
    ObservedPod pod;
    pod.ordinal = i;
    pod.name = "m-" + std::to_string(i);
    pod.pod_revision = "pod1";
    pod.revision = pod.told_revision = "new";
    pod.ready = true;
    pod.streams = 2;
    pod.warm = 0.5;
    pod.node = "n" + std::to_string(i);
    out.pods.push_back(pod);
  }
  change(out);
  return out;
}

TEST(PlanVictims, WhoGoesFirst) {
  const struct {
    const char* name;
    std::int64_t wanted;
    Change change;
    Ordinals kept;
  } cases[] = {
      {"the highest, among equals", 3, [](Observed&) {}, {0, 1, 2}},
      {"one that is not ready", 3, [](auto& o) { o.pods[0].ready = false; }, {1, 2, 3}},
      {"one on an older revision",
       3,
       [](auto& o) { o.pods[1].told_revision = o.pods[1].revision = "old"; },
       {0, 2, 3}},
      {"not ready comes before old",
       3,
       [](auto& o) {
         o.pods[1].told_revision = o.pods[1].revision = "old";
         o.pods[2].ready = false;
       },
       {0, 1, 3}},
      {"one on a node that is about to go",
       3,
       [](auto& o) {
         o.pods[1].node_leaves = true;
         o.pods[1].streams = 40;
         o.pods[2].told_revision = o.pods[2].revision = "old";
       },
       {0, 2, 3}},
      {"not ready comes before a node that is about to go",
       3,
       [](auto& o) {
         o.pods[1].node_leaves = true;
         o.pods[2].ready = false;
       },
       {0, 1, 3}},
      {"one with fewer requests", 3, [](auto& o) { o.pods[1].streams = 0; }, {0, 2, 3}},
      {"requests of the same power of two are alike",
       3,
       [](auto& o) { o.pods[1].streams = 3; },
       {0, 1, 2}},
      {"requests that nobody knows count as many",
       3,
       [](auto& o) { o.pods[3].streams.reset(); },
       {0, 1, 3}},
      {"a cold cache", 3, [](auto& o) { o.pods[1].warm = 0.1; }, {0, 2, 3}},
      {"requests count more than a cache",
       3,
       [](auto& o) {
         o.pods[1].warm = 0.0;
         o.pods[2].streams = 0;
       },
       {0, 1, 3}},
      {"one that is alone on its node",
       3,
       [](auto& o) { o.pods[0].node = o.pods[2].node = o.pods[3].node = "shared"; },
       {0, 2, 3}},
      {"a cache counts more than a node",
       3,
       [](auto& o) {
         o.pods[0].node = o.pods[2].node = o.pods[3].node = "shared";
         o.pods[2].warm = 0.0;
       },
       {0, 1, 3}},
      {"who drains already, whatever it holds",
       3,
       [](auto& o) {
         o.pods[0].draining = true;
         o.pods[0].streams = 40;
         o.pods[3].streams = 0;
       },
       {1, 2, 3}},
      {"who ended for good", 3, [](auto& o) { o.pods[2].replace_at = kNow; }, {0, 1, 3}},
      {"several at once",
       2,
       [](auto& o) {
         o.pods[0].streams = 0;
         o.pods[2].ready = false;
       },
       {1, 3}},
      {"all of them", 0, [](Observed&) {}, {}},
      {"nobody, where none is too many", 4, [](auto& o) { o.pods[0].ready = false; }, {0, 1, 2, 3}},
  };
  for (const auto& c : cases) EXPECT_EQ(kept_ordinals(four(c.wanted, c.change)), c.kept) << c.name;
}

TEST(PlanVictims, NewPodsTakeTheSmallestFreeNames) {
  EXPECT_EQ(kept_ordinals(four(3, [](auto& o) { o.pods.clear(); })), (Ordinals{0, 1, 2}));
  EXPECT_EQ(kept_ordinals(four(3, [](auto& o) { o.pods = {o.pods[1], o.pods[3]}; })),
            (Ordinals{0, 1, 3}));
}

TEST(PlanVictims, TheRingOfARolloutGoesLast) {
  const auto tried = [](Observed& o, std::int64_t on_target) {
    for (ObservedPod& pod : o.pods) pod.told_revision = pod.revision = "old";
    o.pods[3].told_revision = "new";
    o.pods[3].ready = false;
    o.split = RevisionSplit{{"old", "pod1"}, on_target, false};
  };
  EXPECT_EQ(kept_ordinals(four(2, [&](auto& o) { tried(o, 1); })), (Ordinals{0, 3}));
  EXPECT_EQ(kept_ordinals(four(3, [&](auto& o) { tried(o, 0); })), (Ordinals{0, 1, 2}))
      << "after it failed it is the one on the wrong revision";
}

TEST(PlanVictims, AChoiceStandsOnceItWasCarriedOut) {
  Observed seen = four(3, [](auto& o) { o.pods[1].streams = 0; });
  const Plan first = plan(seen, kNow);
  ASSERT_EQ(first.actions.size(), 1U);
  EXPECT_EQ(first.actions[0].pod, "m-1");
  EXPECT_EQ(first.actions[0].kind, ActionKind::kDrainPod);
  EXPECT_TRUE(first.actions[0].is_surplus);
  seen.pods[1].draining = true;
  seen.pods[1].streams = 0;
  seen.pods[3].streams = 0;  // less than before, and too late
  seen.pods[3].warm = 0;
  const Plan second = plan(seen, kNow);
  ASSERT_EQ(second.actions.size(), 1U);
  EXPECT_EQ(second.actions[0].pod, "m-1");
  EXPECT_EQ(second.actions[0].kind, ActionKind::kDeletePod);
  seen.pods.erase(seen.pods.begin() + 1);
  EXPECT_TRUE(plan(seen, kNow).actions.empty());
  EXPECT_TRUE(plan(seen, kNow).settled);
}

/// Four pods under an autoscaler of at most `max` pods; each is asked for `pressure` of its cache.
Observed loaded(std::int64_t wanted, double pressure, std::int64_t max = 6) {
  return four(wanted, [&](Observed& o) {
    o.serving.spec.autoscaling.emplace().max_replicas = max;
    for (ObservedPod& pod : o.pods) pod.kv = KvDemand{pressure * 100, 100};
  });
}

TEST(PlanVictims, GoOnlyAsFarAsTheOthersBearTheirLoad) {
  const struct {
    const char* name;
    Observed seen;
    std::size_t drained;
  } cases[] = {
      {"little to do", loaded(2, 0.3), 2},
      {"one of two may go", loaded(2, 0.6), 1},
      {"exactly nine tenths", loaded(3, 0.675), 1},
      {"a little more", loaded(3, 0.68), 0},
      {"requests wait", loaded(3, 2.5), 0},
      {"a person decides on the count",
       [] {
         Observed o = loaded(3, 2.5);
         o.serving.spec.autoscaling.reset();
         return o;
       }(),
       1},
      {"somebody lowered maxReplicas", loaded(3, 2.5, 3), 1},
      {"nothing is wanted", loaded(0, 2.5), 4},
      {"nobody says anything",
       four(3, [](Observed& o) { o.serving.spec.autoscaling.emplace().max_replicas = 6; }), 1},
      {"who says nothing bears nothing",
       [] {
         Observed o = loaded(3, 0.5);
         o.pods[0].kv.reset();
         o.pods[1].kv.reset();
         return o;
       }(),
       0},
      {"what is asked of a pod that leaves comes to the others",
       [] {
         Observed o = loaded(2, 0.6);
         o.pods[3].draining = true;
         o.pods[3].streams = 5;
         return o;
       }(),
       0},
      {"a pod that does not serve goes whatever the load is",
       [] {
         Observed o = loaded(3, 2.5);
         o.pods[3].ready = false;
         return o;
       }(),
       1},
      {"a small pod beside large ones",
       [] {
         Observed o = loaded(3, 0.85);
         o.pods[3].kv = KvDemand{8, 10};
         return o;
       }(),
       1},
  };
  for (const auto& c : cases) {
    const Plan made = plan(c.seen, kNow);
    EXPECT_EQ(made.actions.size(), c.drained) << c.name;
    const bool is_held = made.conditions[1].reason == "ScaleInHeld";
    const auto leaves = std::count_if(c.seen.pods.begin(), c.seen.pods.end(),
                                      [](const ObservedPod& pod) { return pod.draining; });
    const std::size_t staying = c.seen.pods.size() - static_cast<std::size_t>(leaves) - c.drained;
    const auto wanted = static_cast<std::size_t>(c.seen.serving.replicas_or_default());
    EXPECT_EQ(is_held, staying > wanted) << c.name << ": " << made.conditions[1].message;
  }
}

TEST(KvDemand, IsThePressureInBlocks) {
  noded::PodState state;
  EXPECT_FALSE(kv_demand(state));
  state.kv_blocks_total = 200;
  state.kv_pressure = 1.5;
  EXPECT_DOUBLE_EQ(kv_demand(state)->wanted, 300);
  EXPECT_DOUBLE_EQ(kv_demand(state)->blocks, 200);
}

TEST(WarmShare, IsWhatIsHeldOverWhatIsThere) {
  noded::PodState state;
  EXPECT_FALSE(warm_share(state));
  state.kv_blocks_total = 200;
  state.kv_blocks_active = 10;
  state.kv_blocks_cached = 90;
  EXPECT_DOUBLE_EQ(*warm_share(state), 0.5);
}

}  // namespace
}  // namespace kantha::serving

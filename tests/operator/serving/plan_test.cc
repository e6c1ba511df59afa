#include "operator/serving/plan.h"

#include <gtest/gtest.h>

#include <functional>

namespace kantha::serving {
namespace {

using namespace std::chrono_literals;

const TimePoint kNow = TimePoint{} + 1000s;

/// A pod that is as it should be; the cases change what they are about.
ObservedPod good(std::int64_t ordinal) {
  ObservedPod pod;
  pod.ordinal = ordinal;
  pod.name = "m-" + std::to_string(ordinal);
  pod.pod_revision = "pod1";
  pod.revision = pod.told_revision = "new";
  pod.ready = true;
  pod.streams = 0;
  return pod;
}

ObservedPod with(std::int64_t ordinal, const std::function<void(ObservedPod&)>& change) {
  ObservedPod pod = good(ordinal);
  change(pod);
  return pod;
}

ObservedPod old(std::int64_t ordinal) {
  return with(ordinal, [](auto& p) { p.revision = p.told_revision = "old"; });
}
ObservedPod old_template(std::int64_t ordinal) {
  return with(ordinal, [](auto& p) {
    p.revision = p.told_revision = "old";
    p.pod_revision = "pod0";
  });
}
ObservedPod starting(std::int64_t ordinal) {
  return with(ordinal, [](auto& p) {
    p.ready = false;
    p.revision.clear();
    p.streams.reset();
  });
}
ObservedPod restarting(std::int64_t ordinal) {
  return with(ordinal, [](auto& p) { p.revision = "old"; });
}
/// Ready, and nobody knows whether it runs what it was told before the spec changed again.
ObservedPod unverified(std::int64_t ordinal) {
  return with(ordinal, [](auto& p) {
    p.told_revision = "middle";
    p.revision.clear();
  });
}
ObservedPod restarting_old_template(std::int64_t ordinal) {
  return with(ordinal, [](auto& p) {
    p.revision.clear();
    p.pod_revision = "pod0";
  });
}
ObservedPod crashing(std::int64_t ordinal) {
  return with(ordinal, [](auto& p) {
    p.ready = false;
    p.failing = true;
    p.message = "exit 3";
  });
}
ObservedPod crashing_old(std::int64_t ordinal) {
  return with(ordinal, [](auto& p) {
    p = crashing(p.ordinal);
    p.revision = p.told_revision = "old";
  });
}
ObservedPod draining(std::int64_t ordinal, std::int64_t streams, Duration left = 10s) {
  return with(ordinal, [&](auto& p) {
    p.draining = true;
    p.streams = streams;
    p.drain_deadline = kNow + left;
  });
}
ObservedPod terminating(std::int64_t ordinal) {
  return with(ordinal, [](auto& p) {
    p.draining = p.terminating = true;
    p.ready = false;
  });
}

Observed seen(std::int64_t replicas, std::vector<ObservedPod> pods) {
  Observed out;
  out.serving.metadata.name = "m";
  out.serving.metadata.generation = 7;
  out.serving.spec.replicas = replicas;
  out.target = {"new", "pod1"};
  out.pods = std::move(pods);
  return out;
}

/// "CreatePod m-0, DrainPod m-2"
std::string deeds(const Plan& plan) {
  std::string out;
  for (const Action& action : plan.actions) {
    if (!out.empty()) out += ", ";
    out += std::string(action_name(action.kind)) + " " + action.pod;
  }
  return out;
}

struct Case {
  const char* name;
  std::int64_t replicas;
  std::vector<ObservedPod> pods;
  const char* deeds;
};

void expect_deeds(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    EXPECT_EQ(deeds(plan(seen(c.replicas, c.pods), kNow)), c.deeds) << c.name;
  }
}

TEST(PlanScale, MakesWhatIsMissingAndDrainsWhatIsTooMuch) {
  expect_deeds({
      {"nothing wanted and nothing there", 0, {}, ""},
      {"the first start makes every pod", 3, {}, "CreatePod m-0, CreatePod m-1, CreatePod m-2"},
      {"all is well", 2, {good(0), good(1)}, ""},
      {"a hole is filled with its own name", 3, {good(0), good(2)}, "CreatePod m-1"},
      {"scale out adds at the end", 3, {good(0)}, "CreatePod m-1, CreatePod m-2"},
      {"scale in drains the highest first",
       1,
       {good(0), good(1), good(2)},
       "DrainPod m-2, DrainPod m-1"},
      {"zero replicas drain everything", 0, {good(0), good(1)}, "DrainPod m-1, DrainPod m-0"},
      {"a pod that still starts is not drained but deleted",
       1,
       {good(0), starting(1)},
       "DeletePod m-1"},
      {"a crashing surplus pod is deleted", 1, {good(0), crashing(1)}, "DeletePod m-1"},
      {"a broken pod with streams in flight is drained",
       1,
       {good(0), with(1,
                      [](auto& p) {
                        p.ready = false;
                        p.streams = 2;
                      })},
       "DrainPod m-1"},
      {"a pod that is down goes before one that serves",
       1,
       {crashing(0), good(1)},
       "DeletePod m-0"},
      {"a pod that drains already goes, and no other",
       2,
       {draining(0, 3), starting(1), good(2)},
       ""},
      {"a pod that starts goes before one that serves",
       2,
       {good(0), starting(1), good(2), good(3)},
       "DrainPod m-3, DeletePod m-1"},
      {"order of observation does not matter",
       1,
       {good(2), good(0), good(1)},
       "DrainPod m-2, DrainPod m-1"},
  });
}

TEST(PlanDrain, ADrainEndsWithTheStreamsOrTheDeadline) {
  expect_deeds({
      {"streams in flight hold the pod", 1, {good(0), draining(1, 3)}, ""},
      {"no stream left ends it", 1, {good(0), draining(1, 0)}, "DeletePod m-1"},
      {"the deadline ends it", 1, {good(0), draining(1, 3, 0s)}, "DeletePod m-1"},
      {"unknown streams wait for the deadline",
       1,
       {good(0), with(1,
                      [](auto& p) {
                        p.draining = true;
                        p.streams.reset();
                        p.drain_deadline = kNow + 1s;
                      })},
       ""},
      {"a terminating pod is left alone", 1, {good(0), terminating(1)}, ""},
      {"a name is taken until its pod is gone", 2, {good(0), terminating(1)}, ""},
      {"a draining pod that is wanted again is let go, then made anew",
       2,
       {good(0), draining(1, 0)},
       "DeletePod m-1"},
  });
}

TEST(PlanUpdate, OneReadyPodAtATimeMovesAndTheNextWaitsUntilItIsVerified) {
  expect_deeds({
      {"the highest ordinal goes first", 3, {old(0), old(1), old(2)}, "RestartEngine m-2"},
      {"the next waits while one restarts", 3, {old(0), old(1), restarting(2)}, ""},
      {"the next waits while one still starts", 3, {old(0), old(1), starting(2)}, ""},
      {"the next goes when the first is verified",
       3,
       {old(0), old(1), good(2)},
       "RestartEngine m-1"},
      {"a ready pod that reports the old revision is not verified", 2, {old(0), restarting(1)}, ""},
      {"a crashing new revision stops the rollout", 3, {old(0), old(1), crashing(2)}, ""},
      {"a pod that is down for another reason uses the budget",
       3,
       {old(0), good(1), crashing(2)},
       ""},
      {"a missing pod uses the budget", 2, {old(0)}, "CreatePod m-1"},
      {"a broken old pod is fixed at once", 2, {old(0), crashing_old(1)}, "RestartEngine m-1"},
      {"all broken old pods are fixed at once",
       2,
       {crashing_old(0), crashing_old(1)},
       "RestartEngine m-1, RestartEngine m-0"},
      {"the only pod is restarted in place", 1, {old(0)}, "RestartEngine m-0"},
      {"a change of image needs a new pod", 2, {old_template(0), old_template(1)}, "DrainPod m-1"},
      {"the replaced pod is deleted when drained",
       2,
       {old_template(0), draining(1, 0)},
       "DeletePod m-1"},
      {"a broken pod with an old image is deleted at once",
       1,
       {with(0,
             [](auto& p) {
               p = crashing_old(0);
               p.pod_revision = "pod0";
             })},
       "DeletePod m-0"},
      {"ready pods that nobody verified may serve: one at a time",
       3,
       {unverified(0), unverified(1), unverified(2)},
       "RestartEngine m-2"},
      {"the next of them waits for the first",
       3,
       {unverified(0), unverified(1), restarting(2)},
       ""},
      {"and goes when the first is verified",
       3,
       {unverified(0), unverified(1), good(2)},
       "RestartEngine m-1"},
      {"an unverified pod is no spare capacity", 2, {old(0), unverified(1)}, "RestartEngine m-1"},
      {"a changed template takes unverified pods one at a time, too",
       3,
       {restarting_old_template(0), restarting_old_template(1), restarting_old_template(2)},
       "DrainPod m-2"},
      {"the only pod may go, verified or not", 1, {unverified(0)}, "RestartEngine m-0"},
      {"surplus of which nobody knows what it runs stays while pods are missing",
       2,
       {starting(0), starting(1), unverified(2), unverified(3)},
       ""},
      {"and goes when enough are ready",
       1,
       {good(0), unverified(1), unverified(2)},
       "DrainPod m-2, DrainPod m-1"},
      {"surplus pods are not updated", 1, {good(0), old(1)}, "DrainPod m-1"},
      {"scale-in and update go together",
       2,
       {old(0), old(1), old(2)},
       "RestartEngine m-1, DrainPod m-2"},
  });
}

TEST(PlanUpdate, TheBudgetIsMaxUnavailable) {
  Observed two = seen(4, {old(0), old(1), old(2), old(3)});
  two.serving.spec.rollout.max_unavailable = {2, false};
  EXPECT_EQ(deeds(plan(two, kNow)), "RestartEngine m-3, RestartEngine m-2");
  two.serving.spec.rollout.max_unavailable = {50, true};
  EXPECT_EQ(deeds(plan(two, kNow)), "RestartEngine m-3, RestartEngine m-2");
  two.serving.spec.rollout.max_unavailable = {1, true};
  EXPECT_EQ(deeds(plan(two, kNow)), "RestartEngine m-3") << "a share of something is something";
}

TEST(PlanUpdate, PausedMeansNoPodChanges) {
  Observed paused = seen(3, {old(0), crashing_old(1)});
  paused.serving.spec.rollout.paused = true;
  EXPECT_EQ(deeds(plan(paused, kNow)), "CreatePod m-2") << "but missing pods are made";
  const Plan made = plan(paused, kNow);
  EXPECT_EQ(made.conditions[1].reason, "RolloutPaused");
}

TEST(PlanConditions, SayWhatIsAndWhatIsNeeded) {
  const struct {
    const char* name;
    Observed observed;
    const char* available;
    const char* progressing;
    const char* degraded;
  } cases[] = {
      {"all is well", seen(2, {good(0), good(1)}), "True PodsAvailable", "False Complete",
       "False AsExpected"},
      {"nothing there yet", seen(2, {}), "False PodsUnavailable", "True Scaling",
       "False AsExpected"},
      {"one of two is enough", seen(2, {good(0), starting(1)}), "True PodsAvailable",
       "True Starting", "False AsExpected"},
      {"one of three is not", seen(3, {good(0), starting(1), starting(2)}), "False PodsUnavailable",
       "True Starting", "False AsExpected"},
      {"none of one is not", seen(1, {starting(0)}), "False PodsUnavailable", "True Starting",
       "False AsExpected"},
      {"zero is a state of its own", seen(0, {}), "False ScaledToZero", "False Complete",
       "False AsExpected"},
      {"on the way to zero", seen(0, {draining(0, 1)}), "False ScaledToZero", "True Scaling",
       "False AsExpected"},
      {"a rollout", seen(2, {old(0), old(1)}), "True PodsAvailable", "True RollingOut",
       "False AsExpected"},
      {"a crash", seen(2, {good(0), crashing(1)}), "True PodsAvailable", "True Starting",
       "True PodsFailing"},
  };
  for (const auto& c : cases) {
    const Plan made = plan(c.observed, kNow);
    ASSERT_EQ(made.conditions.size(), 3u);
    const auto text = [&](std::size_t i) {
      return std::string(condition_status_name(made.conditions[i].status)) + " " +
             made.conditions[i].reason;
    };
    EXPECT_EQ(text(0), c.available) << c.name;
    EXPECT_EQ(text(1), c.progressing) << c.name;
    EXPECT_EQ(text(2), c.degraded) << c.name;
    for (const Condition& condition : made.conditions) {
      EXPECT_EQ(condition.observed_generation, 7) << c.name;
      EXPECT_FALSE(condition.message.empty()) << c.name;
    }
  }
  const Plan crashed = plan(seen(2, {good(0), crashing(1)}), kNow);
  EXPECT_EQ(crashed.conditions[2].message, "m-1: exit 3");
}

TEST(PlanCounts, CountWhatServesAndWhatIsVerified) {
  const Plan made =
      plan(seen(4, {good(0), old(1), restarting(2), draining(3, 1), terminating(4)}), kNow);
  EXPECT_EQ(made.counts.wanted, 4);
  EXPECT_EQ(made.counts.existing, 4);
  EXPECT_EQ(made.counts.ready, 4);
  EXPECT_EQ(made.counts.available, 2);
  EXPECT_EQ(made.counts.updated, 1);
  EXPECT_FALSE(made.settled);
  EXPECT_TRUE(plan(seen(1, {good(0)}), kNow).settled);
  EXPECT_FALSE(plan(seen(1, {good(0), terminating(1)}), kNow).settled);
}

TEST(PlanCounts, ReplicasComeFromTheSpecOrAutoscalingsMinimum) {
  Observed observed = seen(0, {});
  observed.serving.spec.replicas.reset();
  EXPECT_EQ(plan(observed, kNow).counts.wanted, 1);
  observed.serving.spec.autoscaling = AutoscalingSpec{.min_replicas = 3, .max_replicas = 5};
  EXPECT_EQ(plan(observed, kNow).counts.wanted, 3);
}

}  // namespace
}  // namespace kantha::serving

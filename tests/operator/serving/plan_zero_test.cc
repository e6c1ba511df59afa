#include "operator/serving/plan_zero.h"

#include <gtest/gtest.h>

namespace kantha::serving {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kNow{10'000s};

/// One pod that has been up for an hour, with a door that is there and closed.
ZeroInput awake(Duration idle) {
  ZeroInput out;
  out.replicas = 1;
  out.spec = {.min_replicas = 0, .max_replicas = 3, .idle_seconds = 60};
  out.pods = {{"m-0", idle}};
  out.available = 1;
  out.door = {.is_there = true, .is_open = false, .waiting = 0, .idle = 1h};
  return out;
}
ZeroInput asleep(std::int64_t waiting) {
  ZeroInput out = awake(0s);
  out.replicas = 0;
  out.pods.clear();
  out.available = 0;
  out.door.is_open = true;
  out.door.waiting = waiting;
  return out;
}
ZeroMemory long_awake() { return {.awake_since = kNow - 1h, .open_since = {}}; }

TEST(PlanZero, SaysWhatToDoInEachState) {
  using R = ZeroReason;
  struct Case {
    const char* what;
    void (*change)(ZeroInput&);
    R reason;
    bool wants_door;
  };
  const Case table[] = {
      {"a request a moment ago", [](ZeroInput& in) { in.pods[0].idle = 10s; }, R::kBusy, false},
      {"a request runs", [](ZeroInput& in) { in.pods[0].idle = 0s; }, R::kBusy, false},
      {"one of two pods is busy", [](ZeroInput& in) { in.pods.push_back({"m-1", 3s}); }, R::kBusy,
       false},
      {"a pod that says nothing may be busy",
       [](ZeroInput& in) { in.pods.push_back({"m-1", std::nullopt}); }, R::kUnknown, false},
      {"a door that says nothing may hold somebody", [](ZeroInput& in) { in.door.idle.reset(); },
       R::kUnknown, false},
      {"a request is in the door", [](ZeroInput& in) { in.door.waiting = 1; }, R::kBusy, false},
      {"a request has just left the door", [](ZeroInput& in) { in.door.idle = 1s; }, R::kBusy,
       false},
      {"nobody would take the requests", [](ZeroInput& in) { in.door.is_there = false; },
       R::kNoDoor, false},
      {"a rollout is under way", [](ZeroInput& in) { in.holds = "a rollout"; }, R::kHeld, false},
      {"no pod takes requests", [](ZeroInput& in) { in.available = 0; }, R::kWaking, true},
      {"idle: the door opens before anything goes", [](ZeroInput&) {}, R::kOpening, true},
  };
  for (const Case& one : table) {
    ZeroInput input = awake(61s);
    one.change(input);
    const ZeroStep step = plan_zero(long_awake(), input, kNow);
    EXPECT_EQ(zero_reason_name(step.reason), zero_reason_name(one.reason)) << one.what;
    EXPECT_EQ(step.wants_door, one.wants_door) << one.what;
    EXPECT_FALSE(step.replicas) << one.what;
  }
}

TEST(PlanZero, TheLastPodGoesOnlyWhenTheDoorHasBeenOpenForAWhile) {
  ZeroInput input = awake(61s);
  ZeroStep step = plan_zero(long_awake(), input, kNow);
  ASSERT_EQ(step.reason, ZeroReason::kOpening);
  EXPECT_FALSE(step.look_again) << "that it is open is news";
  input.door.is_open = true;
  step = plan_zero(step.memory, input, kNow + 1s);
  ASSERT_EQ(step.reason, ZeroReason::kOpening);
  EXPECT_EQ(step.look_again, 3s);
  step = plan_zero(step.memory, input, kNow + 3s);
  ASSERT_EQ(step.reason, ZeroReason::kOpening);
  step = plan_zero(step.memory, input, kNow + 4s);
  EXPECT_EQ(step.replicas, 0);
  const auto made = zero_decision(step, 1, WallTime{});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->from + ">" + made->to + " " + made->reason, "1>0 Idle");
  EXPECT_EQ(made->inputs, "no request for 61 s, idleSeconds 60");
}

TEST(PlanZero, ARequestWhileTheDoorOpensKeepsThePod) {
  ZeroInput input = awake(61s);
  input.door.is_open = true;
  ZeroStep step = plan_zero(long_awake(), input, kNow);
  ASSERT_EQ(step.reason, ZeroReason::kOpening);
  input.door.idle = 0s;
  step = plan_zero(step.memory, input, kNow + 4s);
  EXPECT_EQ(step.reason, ZeroReason::kBusy);
  EXPECT_FALSE(step.memory.open_since) << "and everything begins anew";
  EXPECT_FALSE(step.wants_door);
}

TEST(PlanZero, TheFirstRequestWakesAndTheDoorStaysUntilPodsHaveBeenThere) {
  EXPECT_EQ(plan_zero({}, asleep(0), kNow).reason, ZeroReason::kAsleep);
  EXPECT_TRUE(plan_zero({}, asleep(0), kNow).wants_door);
  ZeroStep step = plan_zero({}, asleep(2), kNow);
  EXPECT_EQ(step.replicas, 1);
  EXPECT_EQ(zero_decision(step, 0, WallTime{})->inputs, "2 requests wait for a pod");

  ZeroInput input = awake(0s);
  input.available = 0;
  input.pods[0].idle.reset();
  step = plan_zero(step.memory, input, kNow + 1s);
  EXPECT_EQ(step.reason, ZeroReason::kWaking);
  EXPECT_TRUE(step.wants_door);
  input = awake(0s);
  step = plan_zero(step.memory, input, kNow + 60s);
  EXPECT_TRUE(step.wants_door);
  EXPECT_EQ(step.look_again, 5s);
  EXPECT_FALSE(plan_zero(step.memory, input, kNow + 65s).wants_door);
}

TEST(PlanZero, APodThatLoadedForLongHasNotBeenIdleForSoLong) {
  // Its noded has had no request since it started; it has taken some for a second only.
  ZeroStep step = plan_zero({}, awake(1h), kNow);
  EXPECT_EQ(step.reason, ZeroReason::kBusy);
  EXPECT_EQ(plan_zero(step.memory, awake(1h), kNow + 59s).reason, ZeroReason::kBusy);
  EXPECT_EQ(plan_zero(step.memory, awake(1h), kNow + 60s).reason, ZeroReason::kOpening);
}

TEST(PlanZero, IsSaidInTheConditionWhereItHasASay) {
  const Condition law{"ScalingActive", ConditionStatus::kTrue, "FollowsPressure", "follows"};
  const auto said = [&](const ZeroInput& in) {
    return with_zero(plan_zero(long_awake(), in, kNow), law)->reason;
  };
  EXPECT_EQ(said(asleep(0)), "ScaledToZero");
  EXPECT_EQ(said(asleep(1)), "Waking");
  EXPECT_EQ(said(awake(0s)), "FollowsPressure");
  ZeroInput without = awake(61s);
  without.door.is_there = false;
  EXPECT_EQ(said(without), "NoActivator");
}

}  // namespace
}  // namespace kantha::serving

#include "operator/serving/scale_law.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace kantha::serving {
namespace {

using namespace std::chrono_literals;

TimePoint at(std::int64_t second) { return TimePoint(std::chrono::seconds(10'000 + second)); }

/// Pods p0, p1, … with these pressures; a negative one is a pod without a sample.
ScaleInput input(std::int64_t current, const std::vector<double>& pressures, double target = 0.5,
                 std::int64_t max = 20) {
  ScaleInput out;
  out.current = current;
  out.spec.min_replicas = 1;
  out.spec.max_replicas = max;
  out.spec.target_kv_pressure = target;
  for (const double pressure : pressures) {
    ScalePod pod{"p" + std::to_string(out.pods.size())};
    if (pressure >= 0) {
      pod.pressure = pressure;
      pod.age = 1s;
    } else {
      pod.why_none = "loading";
    }
    out.pods.push_back(pod);
  }
  return out;
}

/// No windows and no limits of speed: what the pressure asks for.
ScaleInput at_once(ScaleInput in) {
  in.spec.behavior.scale_up = ScalingRules{0, "", {{"Percent", 10'000, 15}}, ""};
  in.spec.behavior.scale_down = ScalingRules{0, "", {{"Percent", 100, 15}}, ""};
  return in;
}

struct OneLook {
  const char* what;
  ScaleInput in;
  std::int64_t wanted;
  ScaleReason reason;
};

TEST(ScaleLaw, DecidesOneLook) {
  const OneLook table[] = {
      {"pressure at the target", input(3, {0.5, 0.5, 0.5}), 3, ScaleReason::kWithinTolerance},
      {"a tenth above it", input(3, {0.55, 0.55, 0.55}), 3, ScaleReason::kWithinTolerance},
      {"more than a tenth above", input(3, {0.6, 0.6, 0.6}), 4, ScaleReason::kPressureAboveTarget},
      {"pressure above 1 is no more bounded than the load", input(1, {5.0}), 10,
       ScaleReason::kPressureAboveTarget},
      {"half of it", input(4, {0.2, 0.3, 0.2, 0.3}), 2, ScaleReason::kPressureBelowTarget},
      {"nothing to do", input(4, {0, 0, 0, 0}), 1, ScaleReason::kPressureBelowTarget},
      {"never above max", input(2, {9, 9}, 0.5, 6), 6, ScaleReason::kPressureAboveTarget},
      {"a rounding error is no pod", input(3, {0.1 + 0.2, 0.3, 0.3}, 0.1), 9,
       ScaleReason::kPressureAboveTarget},
      {"nobody has said anything", input(3, {-1, -1, -1}), 3, ScaleReason::kNoSamples},
      {"no pod is there yet", input(3, {}), 3, ScaleReason::kNoSamples},
      {"pods on their way count as idle", input(4, {0.95, 0.95, -1, -1}), 4,
       ScaleReason::kMissingSamples},
      {"and still more are asked for where that is not enough", input(4, {4, 4, -1, -1}), 16,
       ScaleReason::kPressureAboveTarget},
      {"going down a silent pod counts as at the target", input(3, {0.1, 0.1, -1}), 2,
       ScaleReason::kPressureBelowTarget},
      {"one idle pod among silent ones takes no more than itself away",
       input(5, {0.0, -1, -1, -1, -1}), 4, ScaleReason::kPressureBelowTarget},
      {"what may sleep keeps one pod while it is awake",
       [] {
         auto in = input(2, {0, 0});
         in.spec.min_replicas = 0;
         return in;
       }(),
       1, ScaleReason::kPressureBelowTarget},
      {"stopped by a person", input(0, {}), 0, ScaleReason::kScalingDisabled},
      {"an edit raised min",
       [] {
         auto in = input(1, {0.5});
         in.spec.min_replicas = 3;
         return in;
       }(),
       3, ScaleReason::kTooFewReplicas},
      {"an edit lowered max", input(5, {9, 9, 9, 9, 9}, 0.5, 2), 2, ScaleReason::kTooManyReplicas},
  };
  for (const OneLook& look : table) {
    ScaleLaw law;
    const ScaleVerdict verdict = law.decide(at_once(look.in), at(0));
    EXPECT_EQ(verdict.wanted, look.wanted) << look.what;
    EXPECT_EQ(scale_reason_name(verdict.reason), scale_reason_name(look.reason)) << look.what;
  }
}

TEST(ScaleLaw, StaleNegativeAndEndlessSamplesAreNone) {
  ScaleInput in = at_once(input(2, {9, 9}));
  for (ScalePod& pod : in.pods) pod.age = kSampleStaleAfter + 1ms;
  EXPECT_EQ(ScaleLaw().decide(in, at(0)).reason, ScaleReason::kNoSamples);
  in.pods[0] = {"p0", std::nan(""), 0s};
  in.pods[1] = {"p1", -4.0, 0s};
  EXPECT_EQ(ScaleLaw().decide(in, at(0)).wanted, 2);
  in.pods[1] = {"p1", std::numeric_limits<double>::infinity(), 0s};
  EXPECT_EQ(ScaleLaw().decide(in, at(0)).wanted, 2);
}

TEST(ScaleLaw, PodsThatLoadForTenMinutesAreAskedForOnce) {
  ScaleLaw law;
  std::int64_t count = 2;
  for (int second = 0; second < 600; second += 5) {
    std::vector<double> pressures(static_cast<std::size_t>(count), -1);
    pressures[0] = pressures[1] = 0.95;
    count = law.decide(input(count, pressures), at(second)).wanted;
  }
  EXPECT_EQ(count, 4);
}

TEST(ScaleLaw, AnOutageAtThePeakHoldsTheCountHoweverLong) {
  ScaleLaw law;
  EXPECT_EQ(law.decide(input(6, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}), at(0)).wanted, 6);
  for (int second = 5; second < 3'600; second += 5) {
    EXPECT_EQ(law.decide(input(6, {-1, -1, -1, -1, -1, -1}), at(second)).wanted, 6);
  }
}

TEST(ScaleLaw, SilenceTakesPodsAwayOnlyAfterTheWindow) {
  ScaleLaw law;
  EXPECT_EQ(law.decide(input(3, {0.5, 0.5, 0.5}), at(0)).wanted, 3);
  for (int second = 5; second < 300; second += 5) {
    const ScaleVerdict verdict = law.decide(input(3, {0, 0, 0}), at(second));
    EXPECT_EQ(verdict.wanted, 3) << second;
    EXPECT_EQ(verdict.reason, ScaleReason::kStabilizing);
  }
  EXPECT_EQ(law.decide(input(3, {0, 0, 0}), at(300)).wanted, 1);
}

TEST(ScaleLaw, AShortDipDoesNotFlap) {
  ScaleLaw law;
  std::int64_t count = 4;
  for (int second = 0; second < 1'200; second += 5) {
    const double pressure = second % 60 < 30 ? 0.5 : 0.05;
    const std::vector<double> pressures(static_cast<std::size_t>(count), pressure);
    count = law.decide(input(count, pressures), at(second)).wanted;
    ASSERT_EQ(count, 4) << second;
  }
}

TEST(ScaleLaw, ARestartBeginsTheWindowAnew) {
  ScaleLaw fresh;
  EXPECT_EQ(fresh.decide(input(5, {0, 0, 0, 0, 0}), at(0)).wanted, 5);
}

TEST(ScaleLaw, TheDefaultPoliciesDoubleOrAddFourIn15Seconds) {
  ScaleLaw law;
  EXPECT_EQ(law.decide(input(1, {50}, 0.5, 100), at(0)).wanted, 5);
  // Of the same 15 seconds nothing is left.
  EXPECT_EQ(law.decide(input(5, {50, 50, 50, 50, 50}, 0.5, 100), at(5)).wanted, 5);
  EXPECT_EQ(law.decide(input(5, {50, 50, 50, 50, 50}, 0.5, 100), at(15)).wanted, 10);
}

TEST(ScaleLaw, FollowsTheBehaviorOfTheSpec) {
  ScaleInput in = input(10, std::vector<double>(10, 0.0));
  in.spec.behavior.scale_down = ScalingRules{0, "", {{"Pods", 1, 60}}, ""};
  ScaleLaw slow;
  EXPECT_EQ(slow.decide(in, at(0)).wanted, 9);
  in = input(9, std::vector<double>(9, 0.0));
  in.spec.behavior.scale_down = ScalingRules{0, "", {{"Pods", 1, 60}}, ""};
  EXPECT_EQ(slow.decide(in, at(5)).reason, ScaleReason::kRateLimited);
  EXPECT_EQ(slow.decide(in, at(60)).wanted, 8);

  in.spec.behavior.scale_down->select_policy = "Disabled";
  EXPECT_EQ(ScaleLaw().decide(in, at(0)).reason, ScaleReason::kScalingDisabled);

  in.spec.behavior.scale_down = ScalingRules{0, "Min", {{"Pods", 1, 60}, {"Percent", 50, 60}}, ""};
  EXPECT_EQ(ScaleLaw().decide(in, at(0)).wanted, 8);
  in.spec.behavior.scale_down->select_policy = "Max";
  EXPECT_EQ(ScaleLaw().decide(in, at(0)).wanted, 4);

  ScaleInput up = at_once(input(2, {0.6, 0.6}));
  up.spec.behavior.scale_up->tolerance = "250m";
  EXPECT_EQ(ScaleLaw().decide(up, at(0)).reason, ScaleReason::kWithinTolerance);
}

TEST(ScaleLaw, ARolloutHoldsPodsBackFromLeavingAndNotFromComing) {
  ScaleInput down = at_once(input(3, {0, 0, 0}));
  down.holds_down = "a rollout is under way";
  const ScaleVerdict held = ScaleLaw().decide(down, at(0));
  EXPECT_EQ(held.wanted, 3);
  EXPECT_EQ(held.reason, ScaleReason::kHeld);
  EXPECT_NE(scale_arithmetic(held).back().find("a rollout is under way"), std::string::npos);
  ScaleInput up = at_once(input(1, {1.5}));
  up.holds_down = "a rollout is under way";
  EXPECT_EQ(ScaleLaw().decide(up, at(0)).wanted, 3);
}

/// Looks until ten times the load that `count` pods bear at the target is served; pods serve at the
/// next look. `is_bounded` cuts the signal at 1, as an occupancy gauge does.
int looks_until_served(std::int64_t count, bool is_bounded, const ScalingBehavior& behavior) {
  constexpr double kTarget = 0.8;
  const double demand = 10 * kTarget * static_cast<double>(count);
  const std::int64_t needed = 10 * count;
  ScaleLaw law;
  for (int look = 0; look < 100; ++look) {
    if (count >= needed) return look;
    const double each = demand / static_cast<double>(count);
    const std::vector<double> pressures(static_cast<std::size_t>(count),
                                        is_bounded ? std::min(each, 1.0) : each);
    ScaleInput in = input(count, pressures, kTarget, 10'000);
    in.spec.behavior = behavior;
    const std::int64_t wanted = law.decide(in, at(look * 15)).wanted;
    // Within the tolerance of the target nothing more is asked for.
    if (wanted == count && each <= kTarget * 1.1) return look;
    count = wanted;
  }
  return 100;
}

TEST(ScaleLaw, ATenfoldStepIsServedWithinThreeLooksBecauseTheSignalHasNoTop) {
  const ScalingBehavior defaults;
  ScalingBehavior tenfold;
  tenfold.scale_up = ScalingRules{0, "", {{"Percent", 900, 15}}, ""};
  EXPECT_LE(looks_until_served(1, false, defaults), 3);
  EXPECT_GE(looks_until_served(1, true, defaults), 7);
  for (const std::int64_t pods : {1, 4, 10, 100, 1000}) {
    EXPECT_EQ(looks_until_served(pods, false, tenfold), 1) << pods << ": the signal asks at once";
  }
  // A gauge that ends at 1 asks for a quarter more at each look, whatever the policies allow: to the
  // last pod 11 times, of which the tolerance saves one.
  EXPECT_EQ(looks_until_served(1000, true, tenfold), 10);
  EXPECT_EQ(looks_until_served(1000, true, defaults), 10);
  // An HPA's default policies let a large fleet no more than double in 15 seconds.
  EXPECT_EQ(looks_until_served(100, false, defaults), 4);
}

TEST(ScaleLaw, TheArithmeticNamesEveryPodAndEachStep) {
  ScaleInput in = at_once(input(3, {0.9, 0.7, -1}));
  in.pods[1].age = 40s;
  const ScaleVerdict verdict = ScaleLaw().decide(in, at(0));
  std::string all;
  for (const std::string& line : scale_arithmetic(verdict)) all += line + "\n";
  for (const char* words : {"p0: pressure 0.900, 1.0 s old", "p1: no sample (stale, 40.0 s old)",
                            "p2: no sample (loading)", "mean 0.900 of 1 pods, target 0.500",
                            "2 without a sample count as idle: 0.300"}) {
    EXPECT_NE(all.find(words), std::string::npos) << words << " in\n" << all;
  }
}

TEST(ScaleLaw, AChangeIsADecisionAndAnUnchangedCountIsNone) {
  const WallTime now(std::chrono::milliseconds(1'800'000'000'500));
  const auto made = scale_decision(ScaleLaw().decide(at_once(input(1, {1.4})), at(0)), now);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->kind, "Scale");
  EXPECT_EQ(made->from, "1");
  EXPECT_EQ(made->to, "3");
  EXPECT_EQ(made->reason, "PressureAboveTarget");
  EXPECT_NE(made->inputs.find("p0: pressure 1.400"), std::string::npos);
  const std::vector<double> crowd(200, 1.4);
  const auto large = scale_decision(ScaleLaw().decide(at_once(input(200, crowd)), at(0)), now);
  const std::string kept = to_json(*large).at("message");
  EXPECT_NE(kept.find("mean 1.400 of 200 pods"), std::string::npos) << "is not cut off: " << kept;
  EXPECT_EQ(made->at, WallTime(std::chrono::seconds(1'800'000'000)));
  EXPECT_FALSE(scale_decision(ScaleLaw().decide(input(2, {0.5, 0.5}), at(0)), now));
}

}  // namespace
}  // namespace kantha::serving

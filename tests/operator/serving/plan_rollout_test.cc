#include "operator/serving/plan_rollout.h"

#include <gtest/gtest.h>

#include "tests/operator/serving/rollout_world.h"

namespace kantha::serving {
namespace {

const Verdict kPass{VerdictKind::kPass, "all well"};
const Verdict kFail{VerdictKind::kFail, "slow"};
const Verdict kUnsure{VerdictKind::kInconclusive, "few requests"};

/// A rollout of "new" whose first ring bakes.
RolloutWorld baking(std::int64_t replicas = 4) {
  RolloutWorld world(replicas);
  world.target = "new";
  world.steps(2);
  EXPECT_EQ(world.phase(), "Baking");
  return world;
}

TEST(PlanRollout, AGoodBuildGoesThroughAllRings) {
  RolloutWorld world(4);
  world.target = "new";
  world.verdict = kPass;
  world.steps(3);
  EXPECT_EQ(world.phase(), "Baking");
  EXPECT_EQ(world.state.ring_name, "canary");
  EXPECT_EQ(world.count("new"), 1);
  world.wait(599);
  world.steps(3);
  EXPECT_EQ(world.count("new"), 1) << "a pass does not count before the bake is over";
  world.wait(1);
  world.steps(3);
  EXPECT_EQ(world.state.ring_name, "half");
  EXPECT_EQ(world.count("new"), 2);
  world.wait(600);
  world.steps(6);
  EXPECT_EQ(world.state.ring_name, "all");
  EXPECT_EQ(world.phase(), "Baking");
  EXPECT_EQ(world.count("new"), 4);
  world.wait(600);
  world.steps(2);
  EXPECT_EQ(world.phase(), "Done");
  EXPECT_EQ(world.state.good_spec, "new");
  EXPECT_EQ(world.state.older_spec, "good");
  EXPECT_EQ(world.last_plan.conditions[1].reason, "Complete");
}

TEST(PlanRollout, AFailedVerdictGoesBackAndIsRemembered) {
  RolloutWorld world = baking();
  world.verdict = kFail;
  world.step();
  EXPECT_EQ(world.phase(), "RollingBack");
  EXPECT_EQ(world.state.verdict, "Fail");
  EXPECT_EQ(world.count("good"), 4) << "the first deed of the way back is in the same pass";
  world.verdict = {};
  world.steps(20);
  EXPECT_EQ(world.phase(), "RolledBack");
  EXPECT_EQ(world.count("new"), 0);
  EXPECT_EQ(gate_condition(world.state, world.serving).reason, "RevisionFailed");
  world.target = "newer";
  world.steps(2);
  EXPECT_EQ(world.phase(), "Baking") << "another spec is another try";
}

TEST(PlanRollout, ACrashLoopFailsAtOnceWithAndWithoutRings) {
  for (const bool rings : {true, false}) {
    RolloutWorld world(3);
    if (!rings) world.serving.spec.rollout.rings.clear();
    world.target = "bad";
    world.steps(2);
    EXPECT_EQ(world.phase(), "RollingBack");
    EXPECT_EQ(world.count("bad"), 0);
    world.steps(2);
    EXPECT_EQ(world.phase(), "RolledBack");
    EXPECT_EQ(world.ready_count(), 3);
  }
}

TEST(PlanRollout, WithoutRingsPodsChangeOneAfterAnother) {
  RolloutWorld world(3);
  world.serving.spec.rollout.rings.clear();
  world.target = "new";
  for (int i = 1; i <= 3; ++i) {
    world.step();
    EXPECT_EQ(world.count("new"), i);
  }
  world.step();
  EXPECT_EQ(world.phase(), "Done");
  EXPECT_EQ(gate_condition(world.state, world.serving).reason, "NoGates");
}

TEST(PlanRollout, TheFirstRevisionHasNoWayBack) {
  RolloutWorld world(2);
  world.state = {};
  world.pods.assign(world.pods.size(), {});
  world.target = "bad";
  world.steps(5);
  EXPECT_EQ(world.phase(), "None");
  EXPECT_EQ(world.count("bad"), 2);
  world.target = "good";
  world.steps(5);
  EXPECT_EQ(world.phase(), "Done");
  EXPECT_EQ(world.state.good_spec, "good");
}

TEST(PlanRollout, TooLittleEvidenceProlongsThenPauses) {
  RolloutWorld world = baking();
  world.verdict = kUnsure;
  world.wait(600);
  world.step();
  EXPECT_EQ(world.phase(), "Baking");
  EXPECT_TRUE(world.has_event("BakeProlonged"));
  world.wait(600);
  world.step();
  EXPECT_EQ(world.state.extensions, 2);
  world.wait(600);
  world.step();
  EXPECT_EQ(world.phase(), "Paused");
  EXPECT_EQ(gate_condition(world.state, world.serving).reason, "Inconclusive");
  world.wait(100'000);
  world.steps(5);
  EXPECT_EQ(world.count("new"), 1) << "it never passes by time";
  world.verdict = kPass;
  world.steps(2);
  EXPECT_EQ(world.state.ring_name, "half") << "but by evidence that came late";
}

TEST(PlanRollout, PromoteIsForOneRingOfOneRevision) {
  RolloutWorld world = baking();
  world.serving.spec.rollout.promote = short_revision("other") + "/canary";
  world.steps(2);
  EXPECT_EQ(world.state.ring_name, "canary");
  world.serving.spec.rollout.promote = short_revision("new") + "/canary";
  world.steps(3);
  EXPECT_EQ(world.state.ring_name, "half");
  EXPECT_EQ(world.phase(), "Baking");
  world.steps(5);
  EXPECT_EQ(world.state.ring_name, "half");
}

TEST(PlanRollout, AbortNamesTheTarget) {
  RolloutWorld world = baking();
  world.serving.spec.rollout.abort = short_revision("other");
  world.step();
  EXPECT_EQ(world.phase(), "Baking");
  world.serving.spec.rollout.abort = short_revision("new");
  world.steps(3);
  EXPECT_EQ(world.phase(), "RolledBack");
  EXPECT_TRUE(world.has_event("RolloutAborted"));
  EXPECT_EQ(world.count("good"), 4);
}

TEST(PlanRollout, GoingBackToTheOldSpecEndsIt) {
  RolloutWorld world = baking();
  world.target = "good";
  world.steps(2);
  EXPECT_EQ(world.phase(), "Done");
  EXPECT_EQ(world.count("good"), 4);
  EXPECT_TRUE(world.has_event("RolloutCancelled"));
}

TEST(PlanRollout, ANewSpecInTheMiddleIsANewTargetFromTheFirstRing) {
  RolloutWorld world = baking();
  world.verdict = kPass;
  world.wait(600);
  world.steps(3);
  EXPECT_EQ(world.count("new"), 2);
  world.verdict = {};
  world.target = "newer";
  world.steps(4);
  EXPECT_EQ(world.phase(), "Baking");
  EXPECT_EQ(world.state.ring_name, "canary");
  EXPECT_EQ(world.count("newer"), 1);
  EXPECT_EQ(world.count("new"), 0) << "what was never good does not stay";
  EXPECT_EQ(world.count("good"), 3);
}

TEST(PlanRollout, ScalingKeepsTheSplit) {
  RolloutWorld world = baking(4);
  world.serving.spec.rollout.paused = true;
  for (const int replicas : {8, 3, 6}) {
    world.serving.spec.replicas = replicas;
    world.steps(4);
    EXPECT_EQ(world.count("new"), 1) << replicas;
    EXPECT_EQ(world.ready_count(), replicas);
  }
  world.serving.spec.rollout.abort = short_revision("new");
  world.serving.spec.rollout.paused = false;
  world.steps(3);
  world.serving.spec.replicas = 9;
  world.pods[2] = {};
  world.steps(3);
  EXPECT_EQ(world.count("new"), 0);
  EXPECT_EQ(world.count("good"), 9);
}

TEST(PlanRollout, ScaleInWaitsForARing) {
  RolloutWorld world = baking(4);
  world.serving.spec.replicas = 2;
  world.steps(3);
  EXPECT_EQ(world.ready_count(), 4);
  world.verdict = kFail;
  world.steps(6);
  EXPECT_EQ(world.ready_count(), 2);
}

TEST(PlanRollout, ALostRingPodIsMadeAnewOnTheTarget) {
  RolloutWorld world = baking(4);
  world.pods[0] = {};
  world.pass();
  EXPECT_EQ(world.pods[0].told, "new");
  EXPECT_EQ(world.count("new"), 1);
  world.settle_pods();
  world.pods[3] = {};
  world.pass();
  EXPECT_EQ(world.pods[3].told, "good");
}

TEST(PlanRollout, BrokenPodsOfTheOldRevisionMoveFirst) {
  RolloutWorld world(4);
  world.pods[2].is = PodIs::kCrashing;
  world.target = "new";
  world.step();
  EXPECT_EQ(world.pods[2].told, "new");
  EXPECT_EQ(world.count("new"), 1);
}

TEST(PlanRollout, APodThatDoesNotComeUpFailsItsRevisionByTheDeadline) {
  RolloutWorld world(4);
  world.target = "new";
  world.pass();
  world.pass();
  world.wait(899);
  world.pass();
  EXPECT_EQ(world.phase(), "Swapping");
  world.wait(1);
  world.pass();
  EXPECT_EQ(world.phase(), "RollingBack");
  EXPECT_NE(world.state.message.find("m-0 is not ready after 900 s"), std::string::npos);
}

TEST(PlanRollout, AnOperatorThatWasDownBlamesNobody) {
  RolloutWorld world(4);
  world.target = "new";
  world.pass();
  world.pods[0] = {PodIs::kReady, "good"};  // the deed was lost with the operator
  world.wait(100'000);
  world.pass();
  world.pass();
  EXPECT_EQ(world.phase(), "Swapping");
  EXPECT_EQ(world.pods[0].told, "new");
}

TEST(PlanRollout, WrongOutputFailsAtOnce) {
  RolloutWorld world = baking();
  Observed seen = world.observed();
  seen.pods[0].wrong_output = "golden prompt 2 differs";
  const RolloutStep step =
      plan_rollout(world.state, {seen, Revision{"good", "p"}, "new", {}}, world.now);
  EXPECT_EQ(step.state.phase, RolloutPhase::kRollingBack);
  EXPECT_EQ(step.state.message, "m-0: golden prompt 2 differs");
  EXPECT_EQ(step.split->on_target, 0);
  seen.pods[1].wrong_output = "golden prompt 2 differs";
  const RolloutStep unfair =
      plan_rollout(world.state, {seen, Revision{"good", "p"}, "new", {}}, world.now);
  EXPECT_EQ(unfair.state.phase, RolloutPhase::kBaking) << "the good build differs, too";
}

TEST(PlanRollout, AGoldenSetThatTheOldBuildFailsIsSaidAndBlamesNobody) {
  RolloutWorld world(4);
  world.target = "new";
  world.step();
  Observed seen = world.observed();
  seen.pods[0].wrong_output = seen.pods[1].wrong_output = "golden prompt 2 differs";
  const RolloutStep step =
      plan_rollout(world.state, {seen, Revision{"good", "p"}, "new", {}}, world.now);
  EXPECT_EQ(step.state.phase, RolloutPhase::kBaking);
  ASSERT_EQ(step.events.size(), 2U);
  EXPECT_EQ(step.events[1].reason, "GoldenSetUnfit");
  EXPECT_TRUE(step.events[1].is_warning);
  const Condition gate = gate_condition(step.state, world.serving);
  EXPECT_NE(gate.message.find("the golden prompts do not count, for m-1 with "), std::string::npos)
      << gate.message;
}

TEST(PlanRollout, SkipLetsAllRingsPassAndNoFailure) {
  RolloutWorld world = baking();
  world.serving.spec.rollout.promote = short_revision("new") + "/*";
  world.steps(12);
  EXPECT_EQ(world.phase(), "Done");
  EXPECT_EQ(world.count("new"), 4);
  RolloutWorld other = baking();
  other.serving.spec.rollout.promote = short_revision("new") + "/*";
  other.verdict = kFail;
  other.steps(2);
  EXPECT_EQ(other.count("new"), 0);
}

TEST(PlanRollout, RingsBeginInWindowsAndTheWayBackWaitsForNone) {
  RolloutWorld world(4);
  const WallTime midnight = std::chrono::floor<std::chrono::days>(world.now);
  world.now = midnight + std::chrono::hours(12);
  world.serving.spec.rollout.windows = {{{}, "22:00", "23:00"}};
  world.target = "new";
  world.steps(3);
  EXPECT_EQ(world.phase(), "Waiting");
  EXPECT_EQ(world.count("good"), 4);
  EXPECT_EQ(gate_condition(world.state, world.serving).reason, "OutsideWindow");
  EXPECT_TRUE(world.has_event("RolloutWaits"));
  world.serving.spec.replicas = 5;
  world.steps(2);
  EXPECT_EQ(world.count("good"), 5) << "a scale-out meanwhile";
  world.now = midnight + std::chrono::hours(22);
  world.steps(3);
  EXPECT_EQ(world.phase(), "Baking");
  EXPECT_EQ(world.count("new"), 1);
  world.verdict = kPass;
  world.now = midnight + std::chrono::hours(23);
  world.events.clear();
  world.steps(3);
  EXPECT_EQ(world.count("new"), 1) << "the next ring is late";
  EXPECT_EQ(world.events.size(), 1U) << "told once";
  EXPECT_NE(world.state.message.find("ring canary passed; the next one waits for the window of "),
            std::string::npos);
  world.verdict = kFail;
  world.steps(5);
  EXPECT_EQ(world.phase(), "RolledBack");
  world.target = "newer";
  world.verdict = {};
  world.steps(2);
  EXPECT_EQ(world.phase(), "Waiting");
  world.serving.spec.rollout.promote = short_revision("newer") + "/*";
  world.steps(20);
  EXPECT_EQ(world.count("newer"), 5) << "a person may go on";
}

TEST(PlanRollout, WhileItWaitsItCanBeGivenUpOrTakenBack) {
  RolloutWorld world(3);
  world.serving.spec.rollout.windows = {{{}, "22:00", "23:00"}};
  world.now = std::chrono::floor<std::chrono::days>(world.now) + std::chrono::hours(12);
  world.target = "new";
  world.steps(2);
  world.serving.spec.rollout.abort = short_revision("new");
  world.steps(3);
  EXPECT_EQ(world.phase(), "RolledBack");
  world.target = "newer";
  world.steps(2);
  EXPECT_EQ(world.phase(), "Waiting");
  world.target = "good";
  world.steps(2);
  EXPECT_EQ(world.phase(), "Done");
}

TEST(PlanRollout, AnAbortOfNothingDoesNothing) {
  RolloutWorld world(3);
  world.serving.spec.rollout.abort = short_revision("good");
  world.steps(3);
  EXPECT_EQ(world.phase(), "Done");
  EXPECT_TRUE(world.events.empty());
  EXPECT_EQ(world.ready_count(), 3);
}

TEST(PlanRollout, OfTwoEditsWithinASecondTheLastOneCounts) {
  RolloutWorld world(4);
  world.target = "bad";
  world.pass();
  world.target = "new";
  world.pass();
  EXPECT_LE(world.count("bad") + world.count("new"), 1) << "one ring pod for both";
  world.steps(4);
  EXPECT_EQ(world.phase(), "Baking");
  EXPECT_EQ(world.count("new"), 1);
  EXPECT_EQ(world.count("bad"), 0);
}

TEST(PlanRollout, NothingIsTriedOnNoPods) {
  RolloutWorld world(2);
  world.serving.spec.replicas = 0;
  world.steps(2);
  world.target = "new";
  world.verdict = kPass;
  world.wait(10'000);
  world.steps(5);
  EXPECT_EQ(world.state.good_spec, "good");
  EXPECT_EQ(gate_condition(world.state, world.serving).reason, "ScaledToZero");
  world.serving.spec.replicas = 2;
  world.steps(3);
  EXPECT_EQ(world.count("new"), 1);
}

TEST(PlanRollout, APlaceThatSomebodyElseHoldsIsNoRing) {
  RolloutWorld world(3);
  world.pods[0] = {};
  world.target = "new";
  Observed seen = world.observed();
  seen.blocked = {0};
  seen.split = RevisionSplit{{"good", "p"}, 1, false};
  const Plan made = plan(seen, TimePoint{});
  for (const Action& action : made.actions) EXPECT_NE(action.ordinal, 0);
}

TEST(RolloutState, SurvivesItsJson) {
  RolloutState state = baking().state;
  state.verdict = "Inconclusive";
  state.older_spec = "{}";
  EXPECT_EQ(rollout_state_from_json(to_json(state)), state);
  EXPECT_EQ(rollout_state_from_json(Json("text")), RolloutState());
  EXPECT_EQ(rollout_state_from_json({{"phase", "Sleeping"}, {"ringSize", -4}}), RolloutState());
}

TEST(RolloutState, ARevisionsSpecIsItsEngineAndModelAndNotItsScale) {
  ModelServing serving;
  serving.metadata.name = "m";
  serving.spec.model.source.host_path = "/m.gguf";
  serving.spec.engine.image = "localhost/engine:1";
  serving.spec.replicas = 3;
  const std::string text = revision_spec_text(serving, serving.spec.engine.image);
  ModelServing edited = serving;
  edited.spec.engine.image = "localhost/engine:2";
  edited.spec.replicas = 7;
  edited.spec.rollout.paused = true;
  const auto back = with_revision_spec(edited, text);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->spec.engine.image, "localhost/engine:1");
  EXPECT_EQ(back->spec.replicas, 7);
  EXPECT_TRUE(back->spec.rollout.paused);
  EXPECT_FALSE(with_revision_spec(edited, "{\"engine\": 3}").has_value());
  EXPECT_FALSE(with_revision_spec(edited, "").has_value());
}

}  // namespace
}  // namespace kantha::serving

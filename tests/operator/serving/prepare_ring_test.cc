#include <gtest/gtest.h>

#include "tests/operator/serving/rollout_world.h"

/// A ring begins when its nodes have the image: no pod is touched before.
namespace kantha::serving {
namespace {

using Nodes = std::vector<std::string>;

RolloutWorld world_with_nodes(std::int64_t replicas = 4) {
  RolloutWorld world(replicas);
  world.nodes_pull = true;
  return world;
}

TEST(PrepareRing, TheNodesOfTheRingPullTheImageBeforeAPodIsTold) {
  RolloutWorld world = world_with_nodes();
  world.set_target("new");
  world.pass();
  EXPECT_EQ(world.phase(), "Preparing");
  EXPECT_EQ(world.pull_on, Nodes{"node-0"});
  world.wait(60);
  world.pass();
  EXPECT_EQ(world.count("new"), 0) << "it is not there yet";
  EXPECT_EQ(gate_condition(world.state, world.serving).reason, "Preparing");
  world.settle_nodes();
  world.pass();
  EXPECT_EQ(world.phase(), "Swapping");
  EXPECT_EQ(world.count("new"), 1);
  EXPECT_TRUE(world.pull_on.empty()) << "nobody waits for it any more";
}

TEST(PrepareRing, EachRingPullsOnItsOwnNodesAndKeepsThePodsOfTheOneBefore) {
  RolloutWorld world = world_with_nodes();
  world.set_target("new");
  world.verdict = {VerdictKind::kPass, "well"};
  world.steps(4);
  ASSERT_EQ(world.phase(), "Baking");
  world.wait(600);
  world.pass();
  EXPECT_EQ(world.phase(), "Preparing");
  EXPECT_EQ(world.state.ring_name, "half");
  EXPECT_EQ(world.pull_on, Nodes{"node-1"});
  EXPECT_EQ(world.count("new"), 1) << "the ring before stays";
  for (int ring = 0; ring < 3; ++ring) {
    world.steps(10);
    world.wait(600);
  }
  EXPECT_EQ(world.phase(), "Done");
  EXPECT_EQ(world.count("new"), 4);
}

TEST(PrepareRing, AnImageThatIsNotThereFailsWithoutAnyPodTouched) {
  RolloutWorld world = world_with_nodes();
  world.set_target("absent");
  world.pass();
  world.settle_nodes();
  world.pass();
  EXPECT_EQ(world.phase(), "RollingBack");
  EXPECT_EQ(world.state.message, "node node-0: not there");
  world.pass();
  EXPECT_EQ(world.phase(), "RolledBack");
  EXPECT_EQ(world.count("good"), 4);
  EXPECT_EQ(world.ready_count(), 4);
  world.steps(5);
  EXPECT_EQ(world.phase(), "RolledBack") << "it is not tried again";
}

TEST(PrepareRing, PodsOfAnEarlierTargetMoveAtOnceAndAreNotSentBackForAPull) {
  RolloutWorld world = world_with_nodes();
  world.set_target("new");
  world.steps(3);
  ASSERT_EQ(world.count("new"), 1);
  world.set_target("newer");
  world.pass();
  EXPECT_EQ(world.phase(), "Swapping");
  EXPECT_EQ(world.count("newer"), 1);
  EXPECT_EQ(world.count("good"), 3);
}

TEST(PrepareRing, AConfigurationAloneNeedsNoPull) {
  RolloutWorld world = world_with_nodes();
  world.set_target("new");
  world.have_image = {"node-0", "node-1", "node-2", "node-3"};
  world.pass();
  EXPECT_EQ(world.phase(), "Swapping");
}

TEST(PrepareRing, ANodeThatDoesNotPullHoldsTheRingUntilTheDeadlineOnly) {
  RolloutWorld world = world_with_nodes();
  world.set_target("new");
  world.pass();
  world.wait(899);
  world.pass();
  EXPECT_EQ(world.phase(), "Preparing");
  world.wait(1);
  world.pass();
  EXPECT_EQ(world.phase(), "Swapping");
  EXPECT_TRUE(world.has_event("ImageNotPulled"));
}

TEST(PrepareRing, ARingThatBeganWithoutTheImageDoesNotWaitForItAgain) {
  RolloutWorld world = world_with_nodes();
  world.serving.spec.rollout.rings.clear();
  world.set_target("new");
  world.pass();
  world.wait(900);
  for (int moved = 1; moved <= 4; ++moved) {
    world.pass();
    EXPECT_EQ(world.phase(), "Swapping");
    EXPECT_EQ(world.count("new"), moved);
    EXPECT_EQ(gate_condition(world.state, world.serving).status, ConditionStatus::kFalse);
    world.settle_pods();  // their kubelets pulled it
  }
  world.pass();
  EXPECT_EQ(world.phase(), "Done");
}

/// A ring of all of three replicas is on its way, and the fourth pod, which was to go, stays.
class JoinRing : public testing::Test {
 protected:
  JoinRing() {
    world.nodes_pull = true;
    world.serving.spec.rollout.rings = {{"all", {100, true}}};
    world.serving.spec.replicas = 3;
    world.set_target("new");
    world.have_image = {"node-0", "node-1", "node-2"};
    world.step();
    world.serving.spec.replicas = 4;
    for (int i = 0; i < 3; ++i) {
      world.pass();
      world.settle_pods();
    }
  }
  Condition gate() { return gate_condition(world.state, world.serving); }

  RolloutWorld world{4};
};

TEST_F(JoinRing, ItsPodIsToldOnceTheNodeHasTheImage) {
  EXPECT_EQ(world.phase(), "Swapping");
  EXPECT_EQ(world.count("new"), 3) << "the others go on meanwhile";
  EXPECT_EQ(world.pods[3], (ModelPod{PodIs::kReady, "good"}));
  EXPECT_EQ(world.pull_on, Nodes{"node-3"});
  EXPECT_EQ(gate().status, ConditionStatus::kTrue);
  EXPECT_EQ(gate().reason, "Preparing");
  EXPECT_EQ(gate().message, "m-3 waits until node-3 has the image");
  EXPECT_EQ(progress_condition(world.state, {}).reason, "Preparing");
  world.settle_nodes();
  world.pass();
  EXPECT_EQ(world.count("new"), 4);
  EXPECT_EQ(gate().status, ConditionStatus::kFalse);
  world.settle_pods();
  world.pass();
  EXPECT_EQ(world.phase(), "Baking");
}

TEST_F(JoinRing, ItIsToldWithoutWhenTheNodeTakesLongerThanTheDeadline) {
  world.wait(899);
  world.pass();
  EXPECT_EQ(world.count("new"), 3);
  world.wait(1);
  world.pass();
  EXPECT_EQ(world.count("new"), 4);
  EXPECT_TRUE(world.has_event("ImageNotPulled"));
  EXPECT_EQ(gate().status, ConditionStatus::kFalse) << "nothing holds it any more";
}

TEST_F(JoinRing, AnImageThatItsNodeCannotGetFailsWithoutThatPodTouched) {
  world.failed_pulls = {"node-3"};
  world.pass();
  EXPECT_EQ(world.phase(), "RollingBack");
  EXPECT_EQ(world.state.message, "node node-3: not there");
  world.steps(8);
  EXPECT_EQ(world.phase(), "RolledBack");
  EXPECT_EQ(world.count("good"), 4);
  EXPECT_EQ(world.state.image_wait, "");
}

TEST_F(JoinRing, TheWayBackWaitsForNoImage) {
  world.serving.spec.rollout.abort = short_revision("new");
  world.pass();
  EXPECT_EQ(world.phase(), "RollingBack");
  EXPECT_TRUE(world.pull_on.empty());
  EXPECT_TRUE(world.split->not_yet.empty());
  EXPECT_EQ(world.count("new"), 2) << "the first one is on its way already";
}

TEST_F(JoinRing, APauseIsNobodysDelay) {
  world.serving.spec.rollout.paused = true;
  world.pass();
  EXPECT_TRUE(world.pull_on.empty());
  EXPECT_EQ(gate().reason, "Paused");
  world.wait(5000);
  world.serving.spec.rollout.paused = false;
  world.pass();
  EXPECT_EQ(world.count("new"), 3);
  EXPECT_EQ(gate().reason, "Preparing") << "its node gets its time once more";
}

TEST_F(JoinRing, APodThatIsLostMeanwhileIsMadeOnTheTargetAtOnce) {
  world.pods[3] = {};
  world.pass();
  EXPECT_EQ(world.pods[3], (ModelPod{PodIs::kStarting, "new"}));
}

TEST(PrepareRing, OnlyPodsOfAnEarlierTargetMoveWithoutTheImage) {
  RolloutWorld world = world_with_nodes();
  world.serving.spec.rollout.rings.clear();
  world.set_target("new");
  world.steps(2);
  ASSERT_EQ(world.count("new"), 1);
  world.set_target("newer");
  world.pass();
  world.settle_pods();
  world.pass();
  EXPECT_EQ(world.count("newer"), 1);
  EXPECT_EQ(world.count("good"), 3);
  EXPECT_EQ(world.pull_on, (Nodes{"node-0", "node-1", "node-2"}));
  EXPECT_EQ(gate_condition(world.state, world.serving).message,
            "m-0 waits until node-0 has the image, and so do 2 more");
}

TEST(PrepareRing, WhatWasPulledIsRememberedUntilThePodIsTold) {
  RolloutWorld world = world_with_nodes();
  world.serving.spec.rollout.rings.clear();
  world.set_target("new");
  world.pass();
  world.settle_nodes();
  for (std::int64_t left = 4; left > 0; --left) {
    world.pass();
    EXPECT_EQ(std::ssize(world.have_image), left) << "of its node, too, until it is seen";
    EXPECT_TRUE(world.pull_on.empty()) << "nothing is pulled twice";
    world.settle_pods();
  }
  world.pass();
  EXPECT_EQ(world.phase(), "Done");
  EXPECT_TRUE(world.have_image.empty());
}

TEST(PrepareRing, PausedPullsNothingAndAbortEndsIt) {
  RolloutWorld world = world_with_nodes();
  world.set_target("new");
  world.pass();
  world.serving.spec.rollout.paused = true;
  world.pass();
  EXPECT_TRUE(world.pull_on.empty());
  world.wait(5000);
  world.pass();
  EXPECT_EQ(world.phase(), "Preparing") << "a pause is nobody's delay";
  world.serving.spec.rollout.abort = short_revision("new");
  world.pass();
  EXPECT_EQ(world.phase(), "RollingBack");
  EXPECT_EQ(world.count("new"), 0);
}

TEST(PrepareRing, AnEditWhileItIsPreparedPreparesTheNextTarget) {
  RolloutWorld world = world_with_nodes();
  world.set_target("absent");
  world.pass();
  world.set_target("new");
  world.pass();
  EXPECT_EQ(world.phase(), "Preparing");
  world.steps(4);
  EXPECT_EQ(world.count("new"), 1);
  EXPECT_EQ(world.count("absent"), 0);
  world.set_target("good");
  world.pass();
  EXPECT_EQ(world.phase(), "Done");
}

TEST(PrepareRing, RingsThatBecomeFewerMeanwhileAreNoTrouble) {
  RolloutWorld world = world_with_nodes();
  world.set_target("new");
  world.verdict = {VerdictKind::kPass, "well"};
  world.steps(4);
  world.wait(600);
  world.pass();
  ASSERT_EQ(world.phase(), "Preparing");
  world.serving.spec.rollout.rings.resize(1);
  world.steps(3);
  EXPECT_EQ(world.phase(), "Baking");
  world.serving.spec.rollout.rings.clear();
  world.steps(3);
  EXPECT_EQ(world.count("new") + world.count("good"), 4);
}

TEST(PrepareRing, ATagIsWhatTheFirstPodShowedAndTheGoodOneIsRemembered) {
  RolloutWorld world = world_with_nodes();
  world.serving.spec.rollout.rings.clear();
  world.set_target("new");
  world.pass();
  EXPECT_EQ(world.state.image, "");
  world.resolved_image = "r/engine@sha256:1";
  world.step();
  EXPECT_EQ(world.state.image, "r/engine@sha256:1");
  world.resolved_image = "r/engine@sha256:2";
  world.steps(20);
  EXPECT_EQ(world.phase(), "Done");
  EXPECT_EQ(world.state.image, "r/engine@sha256:1") << "it is resolved once";
  EXPECT_EQ(world.state.good_image, "r/engine@sha256:1");
  world.resolved_image.clear();
  world.set_target("bad");
  world.steps(5);
  EXPECT_EQ(world.state.image, "") << "the next target has a tag of its own";
  EXPECT_EQ(world.state.good_image, "r/engine@sha256:1");
  world.set_target("new");
  world.steps(5);
  EXPECT_EQ(world.state.image, "r/engine@sha256:1") << "back is back to what it was";
}

}  // namespace
}  // namespace kantha::serving

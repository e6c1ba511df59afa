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

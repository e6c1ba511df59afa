#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "tests/sim/sim_world.h"

/// Reports of rollouts that went wrong elsewhere (shared/cases/reports.md), as stories of the
/// simulated cluster; and bad input in the middle of one.
namespace kantha::sim {
namespace {

using namespace std::chrono_literals;

const Json kRings = {{{"name", "canary"}, {"size", 1}},
                     {{"name", "half"}, {"size", "50%"}},
                     {{"name", "all"}, {"size", "100%"}}};

Json image(const std::string& tag) {
  return {{"engine", {{"image", "example.com/engine:" + tag}}}};
}

class RolloutCase : public testing::Test {
 protected:
  void start(const Json& spec, WorldOptions options = {}) {
    world_ = std::make_unique<SimWorld>(options);
    world_->kubelets().set_image("example.com/engine:crash", {.crashes = true});
    world_->start_operator();
    world_->create_serving("a", spec);
  }
  void edit(const Json& spec) { ASSERT_EQ(world_->patch_serving("a", {{"spec", spec}}), 200); }
  Json status() { return (*world_->serving("a")).value("status", Json::object()); }
  std::string phase() { return status().value("/rollout/phase"_json_pointer, ""); }
  void expect_phase(const std::string& wanted) {
    const auto there = [&] {
      const auto object = world_->serving("a");
      const bool is_seen = status()["observedGeneration"] == (*object)["metadata"]["generation"];
      return is_seen && phase() == wanted && world_->is_whole("a");
    };
    EXPECT_TRUE(world_->run_until(there)) << "not " << wanted << " but " << phase() << "\n"
                                          << world_->report();
  }
  std::int64_t on(const std::string& tag) {
    std::int64_t out = 0;
    for (const auto& pod : world_->pods("a")) {
      out += (*pod)["spec"]["containers"][1]["image"] == "example.com/engine:" + tag ? 1 : 0;
    }
    return out;
  }
  std::int64_t serving() {
    const auto pods = world_->pods("a");
    return std::count_if(pods.begin(), pods.end(), [&](const fake::ObjectPtr& pod) {
      const FakePod* running = world_->kubelets().find((*pod)["metadata"]["uid"]);
      return running != nullptr && running->is_serving();
    });
  }
  void TearDown() override {
    world_->checks().check_end();
    EXPECT_TRUE(world_->checks().failures().empty()) << world_->report();
  }

  std::int64_t born_ = 0;  ///< pods of build 2 that were there when one was made
  std::unique_ptr<SimWorld> world_;
};

TEST_F(RolloutCase, B118WithoutASpareAcceleratorTheOldPodIsChangedInPlace) {
  WorldOptions options;
  options.nodes = {.nodes = 1, .accelerators_each = 1};
  start({{"replicas", 1}, {"resources", {{"accelerator", {{"count", 1}}}}}}, options);
  expect_phase("Done");
  const Json uid = (*world_->pods("a")[0])["metadata"]["uid"];
  edit(image("2"));
  expect_phase("Done");
  EXPECT_EQ(on("2"), 1);
  EXPECT_EQ((*world_->pods("a")[0])["metadata"]["uid"], uid);
  edit(image("crash"));
  expect_phase("RolledBack");
  EXPECT_EQ(on("2"), 1);
  edit(image("2"));
  expect_phase("Done");
  EXPECT_EQ((*world_->pods("a")[0])["metadata"]["uid"], uid);
}

TEST_F(RolloutCase, B120BrokenPodsAreNobodysReasonToWait) {
  Json spec = image("crash");
  spec["replicas"] = 3;
  start(spec);
  world_->run_for(5min);
  EXPECT_EQ(serving(), 0);
  edit(image("2"));
  expect_phase("Done");
  EXPECT_EQ(on("2"), 3);
}

TEST_F(RolloutCase, B122ScalingInTheMiddleOfARingKeepsItsSplit) {
  start({{"replicas", 4}, {"rollout", {{"rings", kRings}, {"bake", {{"seconds", 3600}}}}}});
  expect_phase("Done");
  edit(image("2"));
  expect_phase("Baking");
  edit({{"rollout", {{"paused", true}}}});
  for (const int replicas : {8, 3, 6}) {
    world_->scale("a", replicas);
    world_->run_for(3min);
    EXPECT_EQ(on("2"), 1) << replicas << " replicas";
    EXPECT_GE(serving(), replicas - 1);
  }
  const std::string target = status()["targetRevision"];
  edit({{"rollout", {{"paused", false}, {"abort", target}}}});
  expect_phase("RolledBack");
  world_->server().store().on_change(
      [this](const fake::Table& table, const fake::Change& change, const fake::WriteRecord&) {
        if (table.kind.plural == "pods" && change.before == nullptr) born_ += on("2");
      });
  world_->scale("a", 9);
  world_->server().remove(kube::kPods, {"default", "a-2"}, "somebody");
  world_->run_for(10min);
  EXPECT_EQ(born_, 0) << "a pod of the revision that was aborted was made";
  EXPECT_EQ(serving(), 9);
}

TEST_F(RolloutCase, B124WhatIsNoRevisionStartsNoRollout) {
  start({{"replicas", 3}, {"rollout", {{"rings", kRings}}}});
  expect_phase("Done");
  const Json revision = status()["targetRevision"];
  std::set<std::string> uids;
  for (const auto& pod : world_->pods("a")) uids.insert((*pod)["metadata"]["uid"]);
  world_->scale("a", 4);
  edit({{"rollout", {{"bake", {{"seconds", 60}}}, {"maxUnavailable", 2}}}});
  ASSERT_EQ(world_->patch_serving("a", {{"metadata", {{"labels", {{"team", "x"}}}}}}), 200);
  world_->run_for(5min);
  EXPECT_EQ(phase(), "Done");
  EXPECT_EQ(status()["targetRevision"], revision);
  EXPECT_EQ(status()["availableReplicas"], 4) << "it is applied at once";
  for (const auto& pod : world_->pods("a")) uids.erase((*pod)["metadata"]["uid"]);
  EXPECT_TRUE(uids.empty()) << "no pod was replaced";
}

TEST_F(RolloutCase, GoingBackWhileTheOperatorIsDownIsDoneByTheNextOne) {
  start({{"replicas", 3}, {"rollout", {{"rings", kRings}, {"bake", {{"seconds", 3600}}}}}});
  expect_phase("Done");
  edit(image("2"));
  expect_phase("Baking");
  world_->current().kill();
  edit({{"engine", {{"image", nullptr}}}});
  world_->run_for(30min);
  EXPECT_EQ(serving(), 3) << "pods serve on as they are";
  EXPECT_EQ(on("2"), 1);
  world_->start_operator();
  expect_phase("Done");
  EXPECT_EQ(on("2"), 0);
}

TEST_F(RolloutCase, ABuildThatFailsWhileTheOperatorIsDownGoesBackWithTheNextOne) {
  start({{"replicas", 3}, {"rollout", {{"rings", kRings}, {"bake", {{"seconds", 3600}}}}}});
  expect_phase("Done");
  edit(image("crash"));
  ASSERT_TRUE(world_->run_until([&] { return on("crash") == 1; }));
  world_->current().kill();
  world_->run_for(30min);
  EXPECT_EQ(serving(), 2);
  world_->start_operator();
  expect_phase("RolledBack");
  EXPECT_EQ(on("crash"), 0);
}

TEST_F(RolloutCase, EmptyGatesAreTheDefaults) {
  start({{"replicas", 3},
         {"rollout", {{"rings", kRings}, {"bake", {{"seconds", 30}}}, {"gates", Json::object()}}}});
  expect_phase("Done");
  edit(image("2"));
  ASSERT_TRUE(world_->run_until([&] { return phase() == "Paused"; }, 30min)) << world_->report();
  EXPECT_EQ(status()["rollout"]["verdict"], "Inconclusive") << "200 requests, which nobody sent";
  EXPECT_EQ(on("2"), 1);
  EXPECT_EQ(serving(), 3);
}

}  // namespace
}  // namespace kantha::sim

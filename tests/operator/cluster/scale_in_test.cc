#include "operator/cluster/node_marks.h"
#include "tests/operator/cluster/scaling_fixture.h"

/// Which pods go, and what node autoscalers say.
namespace kantha::cluster {
namespace {

class ScaleInTest : public ScalingFixture {};

TEST_F(ScaleInTest, APodWithoutRequestsAndACacheGoesFirstAsAskedJustBefore) {
  start();
  apply(serving("s", 4));
  run_seconds(3);
  serve(0.5);
  run_seconds(3);
  const auto hold = [&](const char* name, std::int64_t streams, std::int64_t cached) {
    door_.states[name].streams = streams;
    door_.states[name].kv_blocks_cached = cached;
  };
  hold("s-0", 5, 90);
  hold("s-1", 0, 5);
  hold("s-2", 0, 90);
  hold("s-3", 5, 90);
  edit("s", [](Json& object) { object["spec"]["replicas"] = 3; });
  work_seconds(4);
  EXPECT_EQ(names(kube::kPods), (std::vector<std::string>{"s-0", "s-2", "s-3"}));
  hold("s-0", 1, 10);
  edit("s", [](Json& object) { object["spec"]["replicas"] = 2; });
  work_seconds(4);
  EXPECT_EQ(names(kube::kPods), (std::vector<std::string>{"s-0", "s-3"})) << "streams before heat";
  edit("s", [](Json& object) { object["spec"]["replicas"] = 3; });
  work_seconds(4);
  EXPECT_EQ(names(kube::kPods), (std::vector<std::string>{"s-0", "s-1", "s-3"}))
      << "the smallest free name comes back";
  EXPECT_EQ(condition("s", "Available").at("status"), "True");
}

class MarkedNodes : public ScalingFixture {
 protected:
  /// Three pods that hold alike, each on a node of its own.
  void serve_on_nodes() {
    for (const char* node : {"n0", "n1", "n2"}) {
      make(kNodes, {{"metadata", {{"name", node}}}, {"spec", Json::object()}});
    }
    start();
    apply(serving("s", 3));
    run_seconds(3);
    serve(0.1);
    for (const std::string pod : {"s-0", "s-1", "s-2"}) {
      const auto move = [&](Json& object) {
        object["spec"]["nodeName"] = "n" + pod.substr(pod.size() - 1);
      };
      ASSERT_TRUE(server_.edit(kube::kPods, {"a", pod}, move, "scheduler"));
    }
    run_seconds(3);
  }
  void mark(const std::string& node, Json taints) {
    const auto change = [&](Json& object) { object["spec"]["taints"] = taints; };
    ASSERT_TRUE(server_.edit(kNodes, {"", node}, change, "autoscaler"));
  }
  void want(int replicas) {
    edit("s", [&](Json& object) { object["spec"]["replicas"] = replicas; });
    work_seconds(4);
  }
};

TEST_F(MarkedNodes, ArePreferredAsTheyAreWhenPodsHaveToGo) {
  serve_on_nodes();
  mark("n0", Json::array({{{"key", "ToBeDeletedByClusterAutoscaler"}, {"effect", "NoSchedule"}}}));
  want(2);
  EXPECT_EQ(names(kube::kPods), (std::vector<std::string>{"s-1", "s-2"}));
  mark("n1", Json::array({{{"key", "karpenter.sh/disrupted"}, {"effect", "NoSchedule"}}}));
  run_seconds(10);
  want(1);
  EXPECT_EQ(names(kube::kPods), (std::vector<std::string>{"s-2"}));
}

TEST_F(MarkedNodes, AreNotReadWhileNothingHasToGo) {
  int reads = 0;
  server_.set_access_rule([&](const fake::Access& access) {
    reads += access.plural == "nodes" ? 1 : 0;
    return true;
  });
  serve_on_nodes();
  run_seconds(3600);
  EXPECT_EQ(reads, 0);
  want(2);
  EXPECT_EQ(reads, 3);
}

TEST_F(MarkedNodes, OperatorsThatMayNotReadThemWorkOnAndAskRarely) {
  int reads = 0;
  server_.set_access_rule([&](const fake::Access& access) {
    reads += access.plural == "nodes" ? 1 : 0;
    return access.plural != "nodes";
  });
  serve_on_nodes();
  mark("n0", Json::array({{{"key", "ToBeDeletedByClusterAutoscaler"}}}));
  want(2);
  EXPECT_EQ(names(kube::kPods), (std::vector<std::string>{"s-0", "s-1"}));
  want(1);
  EXPECT_EQ(names(kube::kPods), (std::vector<std::string>{"s-0"}));
  EXPECT_EQ(reads, 3) << "asked again at once";
  EXPECT_EQ(ClusterFixture::condition("s", "Degraded").at("status"), "False");
}

TEST_F(ScaleInTest, LoadThatCameBackHoldsThePodsThatAreToGo) {
  settings_.autoscaler = Autoscaler::kHpa;
  start();
  apply(scaled("s", {{"minReplicas", 1}, {"maxReplicas", 6}}));
  run_seconds(3);
  edit("s", [](Json& object) { object["spec"]["replicas"] = 3; });
  run_seconds(3);
  serve(0.8);
  run_seconds(3);
  edit("s", [](Json& object) { object["spec"]["replicas"] = 2; });
  work_seconds(60);
  EXPECT_EQ(pod_count(), 3U) << "1.2 of what two have";
  EXPECT_EQ(ClusterFixture::condition("s", "Progressing").at("reason"), "ScaleInHeld");
  const std::size_t before = write_count();
  work_seconds(60);
  EXPECT_EQ(write_count(), before) << testing::PrintToString(operator_writes());
  serve(0.5);
  work_seconds(10);
  EXPECT_EQ(pod_count(), 2U);
}

class WaitingPods : public ScalingFixture {
 protected:
  /// The pod s-0 finds no node among so many.
  void wait_among(int nodes) {
    const auto wait = [&](Json& object) {
      const std::string message = "0/" + std::to_string(nodes) + " nodes are available";
      object["status"] = {{"phase", "Pending"},
                          {"conditions", Json::array({{{"type", "PodScheduled"},
                                                       {"status", "False"},
                                                       {"reason", "Unschedulable"},
                                                       {"message", message}}})}};
    };
    ASSERT_TRUE(server_.edit(kube::kPods, {"a", "s-0"}, wait, "scheduler", "status"));
  }
  void trigger_scale_up() {
    const Json uid = find(kube::kPods, "s-0")->at("metadata").at("uid");
    make(kube::kEvents, {{"metadata", {{"name", "s-0.1"}, {"namespace", "a"}}},
                         {"reason", "TriggeredScaleUp"},
                         {"message", "pod triggered scale-up: [{gpus 1->2 (max: 4)}]"},
                         {"involvedObject",
                          {{"kind", "Pod"}, {"namespace", "a"}, {"name", "s-0"}, {"uid", uid}}}});
  }
};

TEST_F(WaitingPods, HearOfANodeOnItsWayInTimeWhateverElseHappensToThem) {
  start();
  apply(serving("s", 1));
  run_seconds(3);
  wait_among(1);
  run_seconds(5);
  trigger_scale_up();
  for (int nodes = 2; nodes < 8; ++nodes) {
    wait_among(nodes);
    run_seconds(4);
  }
  run_seconds(3);
  EXPECT_EQ(ClusterFixture::condition("s", "CapacityBlocked").at("reason"), "TriggeredScaleUp");
}

TEST_F(WaitingPods, ANodeOnItsWayIsSaid) {
  start();
  apply(serving("s", 1));
  run_seconds(3);
  wait_among(3);
  run_seconds(5);
  EXPECT_EQ(ClusterFixture::condition("s", "CapacityBlocked").at("reason"), "Unschedulable");
  trigger_scale_up();
  run_seconds(40);
  const Json blocked = ClusterFixture::condition("s", "CapacityBlocked");
  EXPECT_EQ(blocked.at("reason"), "TriggeredScaleUp");
  EXPECT_NE(blocked.at("message").get<std::string>().find("gpus 1->2"), std::string::npos);
  const std::size_t before = write_count();
  run_seconds(600);
  EXPECT_EQ(write_count(), before) << testing::PrintToString(operator_writes());
  EXPECT_EQ(names(kube::kPods), (std::vector<std::string>{"s-0"})) << "no more are asked for";
  make_ready("s-0");
  run_seconds(5);
  EXPECT_EQ(ClusterFixture::condition("s", "CapacityBlocked").at("reason"), "AllScheduled");
}

}  // namespace
}  // namespace kantha::cluster

#include "tests/operator/cluster/cluster_fixture.h"

#include "base/digest.h"
#include "operator/serving/engine_config_json.h"

namespace kantha::cluster {
namespace {

using testing::Test;

class ClusterOperatorTest : public ClusterFixture {};

TEST_F(ClusterOperatorTest, AnObjectBecomesItsChildrenAndIsAvailableOnceItsPodsAreReady) {
  start();
  apply(serving("m", 2));
  run_seconds(3);
  EXPECT_EQ(names(kube::kPods), (std::vector<std::string>{"m-0", "m-1"}));
  EXPECT_EQ(names(kube::kServices), (std::vector<std::string>{"m", "m-pods"}));
  EXPECT_EQ(names(kube::kPodDisruptionBudgets), std::vector<std::string>{"m"});
  EXPECT_EQ(names(kube::kSecrets), std::vector<std::string>{"m-admin"});
  EXPECT_EQ(names(kube::kConfigMaps).size(), 1u);
  EXPECT_EQ(condition_status("m", "Available"), "False");
  work_seconds(3);
  EXPECT_EQ(condition_status("m", "Available"), "True");
  EXPECT_EQ(condition_status("m", "Progressing"), "False");
  const auto pod = find(kube::kPods, "m-0");
  EXPECT_FALSE(pod->at("metadata").at("annotations").contains(serving::kAnnotationSafeToEvict))
      << "a pod that was ready may be moved by node autoscalers";
}

TEST_F(ClusterOperatorTest, OneObjectCostsTenWritesAndAnIdleHourNone) {
  OneOperator& one = start();
  apply(serving("m"));
  work_seconds(5);
  ASSERT_EQ(condition_status("m", "Available"), "True");
  EXPECT_EQ(write_count(), 10u) << testing::PrintToString(operator_writes());
  EXPECT_EQ(one.real.write_count(), 10);
  EXPECT_NE(one.metrics.scrape().find(
                "kantha_operator_writes_total{resource=\"services\",verb=\"create\"} 2"),
            std::string::npos);
  run_for(std::chrono::hours(1));
  EXPECT_EQ(write_count(), 10u) << testing::PrintToString(operator_writes());
  EXPECT_EQ(door_.asked, 0) << "an idle fleet costs no call to its nodeds";
}

TEST_F(ClusterOperatorTest, ARestartOverAWholeFleetWritesNothing) {
  start();
  apply(serving("m", 2));
  apply(serving("n"));
  work_seconds(5);
  const std::size_t before = write_count();
  stop_all(true);
  start();
  run_seconds(120);
  EXPECT_EQ(write_count(), before) << testing::PrintToString(operator_writes());
}

TEST_F(ClusterOperatorTest, FewerReplicasAreObeyedAtOnceHighestOrdinalFirst) {
  start();
  apply(serving("m", 6));
  work_seconds(3);
  edit("m", [](Json& object) { object["spec"]["replicas"] = 1; });
  work_seconds(4);
  EXPECT_EQ(names(kube::kPods), std::vector<std::string>{"m-0"});
  EXPECT_EQ(condition_status("m", "Available"), "True");
}

TEST_F(ClusterOperatorTest, ANewEngineConfigIsToldToOneReadyPodAfterTheOther) {
  start();
  apply(serving("m", 2));
  work_seconds(3);
  edit("m", [](Json& object) { object["spec"]["engine"]["config"]["maxNumSeqs"] = 8; });
  run_seconds(3);
  ASSERT_GE(door_.pushed.size(), 1u);
  EXPECT_EQ(door_.pushed[0].first, "m-1");
  EXPECT_NE(door_.pushed[0].second.find("\"maxNumSeqs\":8"), std::string::npos);
  const auto told = [&](const std::string& pod) {
    return find(kube::kPods, pod)->at("metadata").at("annotations").at(serving::kAnnotationTold);
  };
  EXPECT_NE(told("m-1"), told("m-0")) << "the second waits until the first is verified";
  // Its noded reports the old config: it is sent the new one again, and nothing else happens.
  door_.states["m-1"].config_hash = "old";
  run_seconds(15);
  EXPECT_GE(std::count_if(door_.pushed.begin(), door_.pushed.end(),
                          [](const auto& push) { return push.first == "m-1"; }),
            2);
  EXPECT_NE(told("m-1"), told("m-0"));
  door_.states["m-1"].config_hash = serving::engine_config_hash(door_.pushed[0].second);
  run_seconds(5);
  EXPECT_EQ(told("m-1"), told("m-0"));
  door_.states["m-0"].config_hash = door_.states["m-1"].config_hash;
  run_seconds(5);
  EXPECT_EQ(condition_status("m", "Progressing"), "False");
  EXPECT_EQ(find(kube::kModelServings, "m")->at("status").at("updatedReplicas"), 2);
  const int asked = door_.asked;
  run_seconds(60);
  EXPECT_EQ(door_.asked, asked) << "what is verified is not asked again";
}

TEST_F(ClusterOperatorTest, RevisionsAreKeptUpToFiveAndInUse) {
  start();
  apply(serving("m", 0));
  for (int i = 1; i <= 9; ++i) {
    edit("m", [i](Json& object) { object["spec"]["engine"]["config"]["maxNumSeqs"] = i; });
    run_seconds(3);
  }
  EXPECT_EQ(names(kube::kConfigMaps).size(), 5u);
}

TEST_F(ClusterOperatorTest, OnlyItsNamespacesAreServed) {
  make(kNamespaces, {{"metadata", {{"name", "b"}}}});
  settings_.namespaces = {"b", "b"};
  start();
  apply(serving("m"));
  Json other = serving("m");
  other["metadata"]["namespace"] = "b";
  apply(other);
  run_seconds(5);
  EXPECT_TRUE(names(kube::kPods).empty());
  EXPECT_NE(server_.find(kube::kPods, {"b", "m-0"}), nullptr);
}

TEST_F(ClusterOperatorTest, ANamespaceThatCannotBeReadStopsNoOther) {
  make(kNamespaces, {{"metadata", {{"name", "b"}}}});
  settings_.namespaces = {"a", "b"};
  bool is_blind = true;
  server_.set_access_rule([&](const fake::Access& access) {
    return !(is_blind && access.name_space == "b" && access.plural == "pods" &&
             access.user.starts_with("kantha-operator"));
  });
  OneOperator& one = start();
  Json other = serving("m");
  other["metadata"]["namespace"] = "b";
  apply(other);
  apply(serving("m"));
  work_seconds(10);
  EXPECT_TRUE(one.real.is_ready());
  EXPECT_EQ(condition_status("m", "Available"), "True");
  EXPECT_EQ(server_.find(kube::kPods, {"b", "m-0"}), nullptr);
  is_blind = false;
  run_seconds(60);
  EXPECT_NE(server_.find(kube::kPods, {"b", "m-0"}), nullptr) << "nothing was told to it again";
}

TEST_F(ClusterOperatorTest, AStandbyTakesOverWithinThreeSecondsOfATermination) {
  settings_.leader_elect = true;
  settings_.identity = "one";
  OneOperator& one = start();
  run_seconds(5);
  settings_.identity = "two";
  OneOperator& two = start();
  run_seconds(30);
  EXPECT_TRUE(one.real.is_leading());
  EXPECT_FALSE(two.real.is_leading());
  one.real.stop();
  run_seconds(3);
  EXPECT_TRUE(two.real.is_leading());
  EXPECT_FALSE(one.real.lost_lease());
  apply(serving("m"));
  run_seconds(3);
  EXPECT_EQ(names(kube::kPods), std::vector<std::string>{"m-0"});
}

TEST_F(ClusterOperatorTest, WhoLosesTheLeaseEnds) {
  settings_.leader_elect = true;
  OneOperator& one = start();
  run_seconds(5);
  ASSERT_TRUE(one.real.is_leading());
  one.transport.set_cut_off(true);
  run_seconds(15);
  EXPECT_FALSE(one.real.is_leading());
  EXPECT_TRUE(one.real.lost_lease());
  EXPECT_TRUE(one.ended) << "an API server that does not answer holds nobody who has lost";
  one.transport.set_cut_off(false);
}

TEST_F(ClusterOperatorTest, TheDebugPageTellsWhatIsWatchedAndQueued) {
  OneOperator& one = start();
  EXPECT_FALSE(one.real.is_ready());
  apply(serving("m"));
  run_seconds(3);
  const OrderedJson state = debug_json(one.real.debug_view());
  EXPECT_TRUE(state.at("ready"));
  EXPECT_EQ(state.at("watchers").size(), 7u);
  ASSERT_EQ(state.at("stores").size(), 7u);
  EXPECT_EQ(state.at("stores").at(0).at("resource"), "modelservings");
  EXPECT_EQ(state.at("stores").at(0).at("objects"), 1);
  EXPECT_EQ(state.at("stores").at(1).at("objects"), 1);
  EXPECT_GT(state.at("controllers").at(0).at("reconciles"), 0);
  const std::string page = debug_text(one.real.debug_view());
  for (const char* part : {"in view", "modelservings", "CONTROLLER modelserving", "WRITES 9"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
  }
}

}  // namespace
}  // namespace kantha::cluster

#include "tests/operator/cluster/cluster_fixture.h"

namespace kantha::cluster {
namespace {

class FinalizerTest : public ClusterFixture {
 protected:
  bool exists() { return find(kube::kModelServings, "m") != nullptr; }
};

TEST_F(FinalizerTest, ItIsThereBeforeTheFirstChild) {
  start();
  apply(serving("m"));
  run_seconds(3);
  ASSERT_FALSE(operator_writes().empty());
  EXPECT_EQ(operator_writes()[0], "apply modelservings");
  EXPECT_EQ(find(kube::kModelServings, "m")->at("metadata").at("finalizers"),
            Json::array({serving::kFinalizerDrain}));
}

TEST_F(FinalizerTest, ADeletedObjectStaysUntilItsPodsHaveDrainedAndLeavesNothing) {
  start();
  apply(serving("m", 5));
  work_seconds(3);
  server_.remove(kube::kModelServings, {"a", "m"}, "user");
  run_seconds(3);
  EXPECT_TRUE(exists());
  for (const auto& pod : server_.all(kube::kPods, "a")) {
    EXPECT_TRUE(pod->at("metadata").contains("deletionTimestamp")) << "all drain at once";
    EXPECT_EQ(pod->at("metadata").at("deletionGracePeriodSeconds"), 35) << "the pod's own grace";
  }
  EXPECT_EQ(condition("m", "Available").value("reason", ""), "Deleting");
  work_seconds(5);
  EXPECT_FALSE(exists());
  for (const auto& resource : {kube::kPods, kube::kServices, kube::kPodDisruptionBudgets,
                               kube::kServiceAccounts, kube::kConfigMaps, kube::kSecrets}) {
    EXPECT_TRUE(names(resource).empty()) << resource.plural;
  }
}

TEST_F(FinalizerTest, APodWhoseNodeIsGoneDoesNotHoldTheObjectForEver) {
  start();
  apply(serving("m"));
  work_seconds(3);
  server_.remove(kube::kModelServings, {"a", "m"}, "user");
  run_seconds(60);
  EXPECT_TRUE(exists()) << "its grace is 35 s, and a minute more is waited";
  run_seconds(60);
  EXPECT_FALSE(exists());
}

TEST_F(FinalizerTest, FinalizersOfOthersStay) {
  start();
  Json object = serving("m");
  object["metadata"]["finalizers"] = Json::array({"example.com/other"});
  apply(object);
  work_seconds(3);
  server_.remove(kube::kModelServings, {"a", "m"}, "user");
  work_seconds(5);
  ASSERT_TRUE(exists());
  EXPECT_EQ(find(kube::kModelServings, "m")->at("metadata").at("finalizers"),
            Json::array({"example.com/other"}));
  const std::size_t before = write_count();
  run_seconds(60);
  EXPECT_EQ(write_count(), before);
}

TEST_F(FinalizerTest, ItWorksInANamespaceThatIsBeingDeleted) {
  start();
  apply(serving("m", 2));
  work_seconds(3);
  server_.remove(kNamespaces, {"", "a"}, "user");
  work_seconds(10);
  EXPECT_FALSE(exists());
  EXPECT_TRUE(names(kube::kPods).empty());
}

TEST_F(FinalizerTest, AnObjectOfTheSameNameMadeMeanwhileIsAnotherOne) {
  start();
  apply(serving("m"));
  work_seconds(3);
  const std::string old_uid = find(kube::kPods, "m-0")->at("metadata").at("uid");
  stop_all(true);
  server_.edit(
      kube::kModelServings, {"a", "m"},
      [](Json& object) { object["metadata"].erase("finalizers"); }, "user");
  server_.remove(kube::kModelServings, {"a", "m"}, "user");
  apply(serving("m"));
  start();
  work_seconds(15);
  EXPECT_NE(find(kube::kPods, "m-0")->at("metadata").at("uid"), old_uid);
  EXPECT_EQ(condition_status("m", "Available"), "True");
}

}  // namespace
}  // namespace kantha::cluster

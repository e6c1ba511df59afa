#include "tests/operator/cluster/cluster_fixture.h"

/// What wakes an object, and what does not: at ten thousand objects a pass for nothing is the most
/// of what the operator costs.
namespace kantha::cluster {
namespace {

class WakeTest : public ClusterFixture {
 protected:
  std::uint64_t passes() const {
    return operators_.back()->real.debug_view().runtime.controllers.at(0).counts.done;
  }
  /// Passes that something leads to.
  std::uint64_t passes_after(const std::function<void()>& happens) {
    const std::uint64_t before = passes();
    happens();
    run_seconds(5);
    return passes() - before;
  }
  void edit_child(const kube::Resource& resource, const std::string& name,
                  const std::function<void(Json&)>& change, const std::string& subresource = {}) {
    EXPECT_TRUE(server_.edit(resource, {"a", name}, change, "somebody", subresource));
  }
  void bring_up() {
    start();
    apply(serving("m"));
    work_seconds(5);
    ASSERT_EQ(condition_status("m", "Available"), "True");
  }
};

TEST_F(WakeTest, FewPassesLeadToAnAvailableObject) {
  start();
  run_seconds(1);
  const std::uint64_t before = passes();
  apply(serving("m"));
  work_seconds(10);
  ASSERT_EQ(condition_status("m", "Available"), "True");
  EXPECT_LE(passes() - before, 6u);
}

TEST_F(WakeTest, WhatIsNewWaitsForWhatComesNextAndNoLonger) {
  bring_up();
  // A child that the operator would make is gone and made again by somebody: one pass for both.
  const Json account = *find(kube::kServiceAccounts, "m");
  EXPECT_EQ(passes_after([&] {
              make(kube::kServiceAccounts, {{"metadata",
                                             {{"name", "m-other"},
                                              {"namespace", "a"},
                                              {"labels", account["metadata"]["labels"]}}}});
              make(kube::kServiceAccounts, {{"metadata",
                                             {{"name", "m-third"},
                                              {"namespace", "a"},
                                              {"labels", account["metadata"]["labels"]}}}});
            }),
            1u);
  // A pod is bound to its node on its way to everything else.
  edit("m", [](Json& object) { object["spec"]["replicas"] = 2; });
  run_seconds(5);
  EXPECT_EQ(passes_after([&] {
              edit_child(kube::kPods, "m-1", [](Json& pod) { pod["spec"]["nodeName"] = "node-1"; });
              make_ready("m-1");
            }),
            2u)
      << "one when it is ready, and one for the counts, which are told within two seconds";
  EXPECT_EQ(find(kube::kModelServings, "m")->at("status").at("readyReplicas"), 2);
}

TEST_F(WakeTest, NothingOfAChildWakesButItsContent) {
  bring_up();
  EXPECT_EQ(passes_after([&] {
              edit_child(
                  kube::kPodDisruptionBudgets, "m",
                  [](Json& budget) { budget["status"]["disruptionsAllowed"] = 1; }, "status");
            }),
            0u);
  EXPECT_EQ(passes_after([&] {
              edit_child(
                  kube::kServices, "m",
                  [](Json& service) { service["status"]["conditions"] = Json::array(); }, "status");
            }),
            0u);
  EXPECT_GE(passes_after([&] {
              edit_child(kube::kPodDisruptionBudgets, "m",
                         [](Json& budget) { budget["spec"]["maxUnavailable"] = 7; });
            }),
            1u);
  EXPECT_EQ(find(kube::kPodDisruptionBudgets, "m")->at("spec").at("maxUnavailable"), 1);
}

TEST_F(WakeTest, NothingOfAPodWakesButWhatIsDecidedOn) {
  bring_up();
  EXPECT_EQ(passes_after([&] {
              edit_child(kube::kPods, "m-0", [](Json& pod) {
                pod["metadata"]["annotations"]["seen"] = "by a sidecar";
              });
            }),
            0u);
  EXPECT_GE(passes_after([&] {
              edit_child(
                  kube::kPods, "m-0",
                  [](Json& pod) { pod["status"]["conditions"][0]["status"] = "False"; }, "status");
            }),
            1u);
  EXPECT_EQ(condition_status("m", "Available"), "False");
}

TEST_F(WakeTest, ItsOwnStatusIsNoNewsAndSomebodyElsesIs) {
  bring_up();
  // The pod falls over and comes back: each is one pass, and its status none.
  const auto set_ready = [&](const char* ready) {
    edit_child(
        kube::kPods, "m-0", [&](Json& pod) { pod["status"]["conditions"][0]["status"] = ready; },
        "status");
  };
  EXPECT_EQ(passes_after([&] { set_ready("False"); }), 1u);
  EXPECT_EQ(passes_after([&] { set_ready("True"); }), 1u);
  EXPECT_EQ(condition_status("m", "Available"), "True");
  EXPECT_GE(passes_after([&] {
              edit_child(
                  kube::kModelServings, "m",
                  [](Json& object) { object["status"]["readyReplicas"] = 5; }, "status");
            }),
            1u);
  EXPECT_EQ(find(kube::kModelServings, "m")->at("status").at("readyReplicas"), 1);
}

}  // namespace
}  // namespace kantha::cluster

#include "operator/cluster/fleet_feed.h"

#include "tests/operator/cluster/cluster_fixture.h"

namespace kantha::cluster {
namespace {

class FleetFeedTest : public ClusterFixture {
 protected:
  std::vector<std::string> told_pods() const {
    std::vector<std::string> out;
    for (const auto& [pod, view] : door_.fleet) out.push_back(pod);
    std::sort(out.begin(), out.end());
    return out;
  }
  void ready(const std::string& pod, const std::string& ip) {
    make_ready(pod);
    ASSERT_TRUE(server_.edit(
        kube::kPods, {"a", pod}, [&](Json& object) { object["status"]["podIP"] = ip; }, "kubelet",
        "status"));
  }
};

TEST_F(FleetFeedTest, TellsReadyPodsOfEachOtherAndIsSilentThen) {
  OneOperator& one = start();
  apply(serving("s", 2));
  run_seconds(2);
  ready("s-0", "10.0.0.1");
  run_seconds(3);
  EXPECT_TRUE(door_.fleet.empty()) << "one pod has no peers";
  ready("s-1", "10.0.0.2");
  run_seconds(3);
  EXPECT_EQ(told_pods(), (std::vector<std::string>{"s-0", "s-1"}));
  const auto view = noded::fleet_view_from_json(*parse_json(door_.fleet[0].second));
  ASSERT_TRUE(view.ok()) << view.error().to_string();
  ASSERT_EQ(view->peers.size(), 2U);
  EXPECT_EQ(view->peers[0].name, "s-0");
  EXPECT_EQ(view->peers[0].endpoint, "10.0.0.1:8000");
  EXPECT_EQ(view->peers[0].model, "s");
  const std::int64_t writes = one.real.write_count();
  run_seconds(200);
  EXPECT_EQ(door_.fleet.size(), 2U);
  EXPECT_EQ(one.real.write_count(), writes);
}

TEST_F(FleetFeedTest, APodThatIsNotReadyAnyMoreIsTakenOutAndComesBack) {
  start();
  apply(serving("s", 3));
  run_seconds(2);
  for (int i = 0; i < 3; ++i) ready("s-" + std::to_string(i), "10.0.0." + std::to_string(i + 1));
  run_seconds(3);
  door_.fleet.clear();
  ASSERT_TRUE(server_.edit(
      kube::kPods, {"a", "s-1"},
      [](Json& object) {
        object["status"]["conditions"][0]["status"] = "False";
        object["status"]["containerStatuses"] = {
            {{"name", "noded"}, {"restartCount", 0}, {"state", {{"running", Json::object()}}}}};
      },
      "kubelet", "status"));
  run_seconds(3);
  EXPECT_EQ(told_pods(), (std::vector<std::string>{"s-0", "s-1", "s-2"}))
      << "what it holds may have to go on at the others";
  for (const auto& [pod, text] : door_.fleet) {
    const auto view = noded::fleet_view_from_json(*parse_json(text));
    ASSERT_TRUE(view.ok() && view->peers.size() == 2) << pod << ": " << text;
    EXPECT_EQ(view->peers[0].name, "s-0");
    EXPECT_EQ(view->peers[1].name, "s-2");
  }
  door_.fleet.clear();
  ready("s-1", "10.0.0.2");
  run_seconds(3);
  EXPECT_EQ(told_pods(), (std::vector<std::string>{"s-0", "s-1", "s-2"}));
}

TEST_F(FleetFeedTest, WhoDoesNotLeadTellsNobody) {
  settings_.leader_elect = true;
  settings_.identity = "first";
  start();
  run_seconds(5);
  settings_.identity = "second";
  start();
  apply(serving("s", 2));
  run_seconds(2);
  ready("s-0", "10.0.0.1");
  ready("s-1", "10.0.0.2");
  run_seconds(3);
  EXPECT_EQ(door_.fleet.size(), 2U) << "told once, by the one that leads";
}

}  // namespace
}  // namespace kantha::cluster

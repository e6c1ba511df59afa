#include "operator/cluster/capacity_claim.h"

#include <set>

#include "tests/operator/cluster/cluster_fixture.h"

/// Whoever takes ready pods away says so first, and counts with what others have said.
namespace kantha::cluster {
namespace {

class CapacityClaimTest : public ClusterFixture {
 protected:
  /// `replicas` pods of object "m", all ready, and nothing left to do.
  void settle(int replicas) {
    operator_ = &start();
    apply(serving("m", replicas));
    work_seconds(4);
    ASSERT_EQ(condition_status("m", "Available"), "True");
    server_.store().clear_writes();
  }
  void need_new_pods() {
    edit("m", [](Json& object) { object["spec"]["resources"]["memory"] = "6Gi"; });
  }
  std::string version_of(const std::string& pod) {
    return find(kube::kPods, pod)->at("metadata").at("resourceVersion");
  }
  std::string uid_of(const std::string& pod) {
    const auto object = find(kube::kPods, pod);
    return object == nullptr ? "" : object->at("metadata").at("uid").get<std::string>();
  }
  bool is_marked(const std::string& pod) {
    return find(kube::kPods, pod)->at("metadata").contains("deletionTimestamp");
  }
  /// What another operator would have written that died before it acted.
  void claim_as_another(const std::string& pod) {
    const std::string claim = pod + "@" + version_of(pod);
    ASSERT_TRUE(server_.edit(
        kube::kModelServings, {"a", "m"},
        [&](Json& object) { object["status"]["taking"] = Json::array({claim}); }, "another",
        "status"));
  }
  std::size_t claim_count() {
    const auto& writes = server_.writes();
    return static_cast<std::size_t>(
        std::ranges::count(writes, std::string(kClaimFieldManager), &fake::WriteRecord::manager));
  }
  /// Deletes of pods by us that no claim on just that version of the pod had preceded.
  std::vector<std::string> unclaimed_deletes() {
    std::vector<std::string> out;
    Json taking = Json::array();
    for (const fake::WriteRecord& write : server_.writes()) {
      if (write.plural == "modelservings" && write.after != nullptr) {
        taking = write.after->value("status", Json::object()).value("taking", Json::array());
      }
      if (write.plural != "pods" || write.verb != "delete" || write.manager == "kubelet") continue;
      const Json& meta = write.before->at("metadata");
      const std::string claim =
          meta["name"].get<std::string>() + "@" + meta["resourceVersion"].get<std::string>();
      if (std::ranges::find(taking, Json(claim)) == taking.end()) out.push_back(claim);
    }
    return out;
  }

  OneOperator* operator_ = nullptr;
};

TEST_F(CapacityClaimTest, ARolloutClaimsEachReadyPodBeforeItTakesIt) {
  settle(3);
  need_new_pods();
  work_seconds(20);
  ASSERT_EQ(condition("m", "Progressing").value("reason", ""), "Complete");
  EXPECT_EQ(unclaimed_deletes(), std::vector<std::string>());
  EXPECT_EQ(claim_count(), 3u) << "one for each step";
}

TEST_F(CapacityClaimTest, ManySurplusPodsAreOneClaim) {
  settle(6);
  edit("m", [](Json& object) { object["spec"]["replicas"] = 2; });
  work_seconds(5);
  EXPECT_EQ(names(kube::kPods), (std::vector<std::string>{"m-0", "m-1"}));
  EXPECT_EQ(unclaimed_deletes(), std::vector<std::string>());
  EXPECT_EQ(claim_count(), 1u);
}

TEST_F(CapacityClaimTest, WhereNothingHasToBeKeptThereIsNoClaim) {
  settle(2);
  edit("m", [](Json& object) { object["spec"]["replicas"] = 1; });
  work_seconds(5);
  need_new_pods();
  work_seconds(10);
  edit("m", [](Json& object) { object["spec"]["replicas"] = 0; });
  work_seconds(5);
  EXPECT_EQ(names(kube::kPods), std::vector<std::string>());
  EXPECT_EQ(claim_count(), 0u);
}

TEST_F(CapacityClaimTest, PodsThatServeNobodyNeedNoClaim) {
  operator_ = &start();
  apply(serving("m", 3));
  run_seconds(3);  // no kubelet: nothing becomes ready
  need_new_pods();
  work_seconds(6);
  EXPECT_EQ(condition("m", "Progressing").value("reason", ""), "Complete");
  EXPECT_EQ(claim_count(), 0u);
}

TEST_F(CapacityClaimTest, APodThatAnotherHasClaimedCountsAsTakenUntilTheClaimIsVoid) {
  settle(3);
  claim_as_another("m-0");
  const std::string claimed = version_of("m-0");
  need_new_pods();
  run_seconds(8);
  for (const char* pod : {"m-0", "m-1", "m-2"}) {
    EXPECT_FALSE(is_marked(pod)) << pod << ": the other may be about to take m-0";
  }
  EXPECT_EQ(version_of("m-0"), claimed);
  run_seconds(6);
  EXPECT_NE(version_of("m-0"), claimed) << "what the other decided can't land any more";
  EXPECT_TRUE(is_marked("m-2")) << "and the rollout goes on";
  EXPECT_FALSE(is_marked("m-0"));
  work_seconds(20);
  EXPECT_EQ(condition("m", "Progressing").value("reason", ""), "Complete");
  EXPECT_EQ(unclaimed_deletes(), std::vector<std::string>());
}

TEST_F(CapacityClaimTest, AClaimOnThePodThatIsPlannedIsCarriedOutWithoutAnother) {
  settle(3);
  claim_as_another("m-2");
  need_new_pods();
  run_seconds(2);
  EXPECT_TRUE(is_marked("m-2"));
  EXPECT_EQ(claim_count(), 0u);
}

TEST_F(CapacityClaimTest, AClaimOnAnOlderVersionOfAPodIsHistory) {
  settle(3);
  claim_as_another("m-0");
  ASSERT_TRUE(server_.edit(
      kube::kPods, {"a", "m-0"}, [](Json& pod) { pod["metadata"]["labels"]["seen"] = "yes"; },
      "user"));
  need_new_pods();
  run_seconds(2);
  EXPECT_TRUE(is_marked("m-2"));
}

TEST_F(CapacityClaimTest, OfTwoThatReadTheSamePictureOnlyOneActs) {
  settle(3);
  const std::string before = uid_of("m-2");
  int tries = 0;
  // Between our look and our claim somebody else writes the object, each of three times.
  operator_->transport.set_faults([&](std::uint64_t, const fake::ApiRequest& request) {
    const bool is_claim = request.option("fieldManager") == kClaimFieldManager;
    if (is_claim && ++tries <= 3) claim_as_another("m-1");
    return fake::Fault{};
  });
  need_new_pods();
  run_seconds(2);
  EXPECT_GE(tries, 1);
  EXPECT_FALSE(is_marked("m-2")) << "the other takes m-1";
  EXPECT_EQ(uid_of("m-2"), before);
  work_seconds(90);
  EXPECT_EQ(condition("m", "Progressing").value("reason", ""), "Complete");
  EXPECT_EQ(unclaimed_deletes(), std::vector<std::string>());
}

TEST_F(CapacityClaimTest, WhereStatusMayNotBeWrittenReadyPodsStayAndTheTroubleIsNamed) {
  settle(3);
  bool revoked = true;
  server_.set_access_rule([&](const fake::Access& access) {
    return !(revoked && access.subresource == "status" &&
             access.user.starts_with("kantha-operator"));
  });
  need_new_pods();
  work_seconds(60);
  for (const char* pod : {"m-0", "m-1", "m-2"}) EXPECT_FALSE(is_marked(pod)) << pod;
  EXPECT_LE(claim_count(), 3u);
  revoked = false;
  work_seconds(60);
  EXPECT_EQ(condition("m", "Progressing").value("reason", ""), "Complete");
}

TEST_F(CapacityClaimTest, StatusKeepsTheClaimWhenItIsWritten) {
  settle(3);
  claim_as_another("m-0");
  const auto taking = [&] { return find(kube::kModelServings, "m")->at("status").at("taking"); };
  const Json before = taking();
  edit("m", [](Json& object) { object["spec"]["model"]["name"] = "other"; });
  run_seconds(3);
  ASSERT_EQ(find(kube::kModelServings, "m")->at("status").at("model"), "other");
  EXPECT_EQ(taking(), before);
}

}  // namespace
}  // namespace kantha::cluster

#include "operator/cluster/reference_check.h"

#include <map>
#include <set>

#include "tests/operator/cluster/cluster_fixture.h"

namespace kantha::cluster {
namespace {

class ReferenceCheckTest : public ClusterFixture {
 protected:
  /// Counts what the operator reads by name.
  ReferenceCheckTest() {
    server_.set_access_rule([this](const fake::Access& access) {
      if (access.verb == "get" && access.user.starts_with("kantha-operator")) {
        ++reads_[access.plural + "/" + access.name];
      }
      EXPECT_FALSE(access.plural == "secrets" && access.verb == "list");
      return !forbidden_.contains(access.plural);
    });
  }
  Json degraded() { return condition("m", "Degraded"); }
  void make_secret(const std::string& name) {
    make(kube::kSecrets, {{"metadata", {{"name", name}, {"namespace", "a"}}}, {"type", "Opaque"}});
  }

  std::map<std::string, int> reads_;
  std::set<std::string> forbidden_;
};

TEST_F(ReferenceCheckTest, AMissingSecretIsToldAtOnceAndForgottenWhenItIsThere) {
  start();
  Json object = serving("m");
  object["spec"]["gateway"]["authSecret"] = "keys";
  apply(object);
  run_seconds(2);
  EXPECT_EQ(degraded().value("status", ""), "True");
  EXPECT_EQ(degraded().value("reason", ""), "SecretNotFound");
  EXPECT_EQ(degraded().value("message", ""),
            "spec.gateway.authSecret: Secret \"keys\" does not exist in namespace \"a\"");
  EXPECT_EQ(names(kube::kPods), std::vector<std::string>{"m-0"}) << "it waits for its mount";
  const std::size_t writes = write_count();
  run_seconds(600);
  EXPECT_EQ(write_count(), writes);
  EXPECT_LE(reads_["secrets/keys"], 18) << "twice as long each time, up to a minute";
  EXPECT_GE(reads_["secrets/keys"], 10);
  make_secret("keys");
  run_seconds(61);
  kubelet();
  run_seconds(5);
  EXPECT_EQ(degraded().value("status", ""), "False") << degraded();
  const int reads = reads_["secrets/keys"];
  run_for(std::chrono::hours(1));
  EXPECT_EQ(reads_["secrets/keys"], reads) << "a healthy object costs no call";
}

TEST_F(ReferenceCheckTest, NoPodThatServesIsTakenDownForOneThatCouldNotStart) {
  start();
  apply(serving("m", 2));
  work_seconds(3);
  const Json uid = find(kube::kPods, "m-1")->at("metadata").at("uid");
  edit("m", [](Json& object) {
    object["spec"]["model"]["source"] = {{"pvc", {{"claimName", "w"}, {"path", "m.gguf"}}}};
  });
  work_seconds(30);
  EXPECT_EQ(degraded().value("reason", ""), "PersistentVolumeClaimNotFound") << degraded();
  EXPECT_EQ(find(kube::kPods, "m-1")->at("metadata").at("uid"), uid);
  EXPECT_EQ(condition_status("m", "Available"), "True");
  // Fewer replicas are obeyed all the same.
  edit("m", [](Json& object) { object["spec"]["replicas"] = 1; });
  work_seconds(3);
  EXPECT_EQ(names(kube::kPods), std::vector<std::string>{"m-0"});
  make(kPersistentVolumeClaims, {{"metadata", {{"name", "w"}, {"namespace", "a"}}}});
  work_seconds(90);
  EXPECT_EQ(condition("m", "Progressing").value("reason", ""), "Complete");
  EXPECT_EQ(degraded().value("status", ""), "False") << degraded();
}

TEST_F(ReferenceCheckTest, APullSecretIsMissedOnlyUntilThePodsAreReady) {
  settings_.pods.image_pull_secrets = {"pull"};
  start();
  apply(serving("m"));
  run_seconds(2);
  EXPECT_EQ(degraded().value("reason", ""), "SecretNotFound");
  work_seconds(3);
  EXPECT_EQ(degraded().value("status", ""), "False") << "the node had the image: " << degraded();
}

TEST_F(ReferenceCheckTest, WhatMayNotBeReadIsNotTakenForMissing) {
  forbidden_ = {"persistentvolumeclaims"};
  start();
  Json object = serving("m");
  object["spec"]["model"]["source"] = {{"pvc", {{"claimName", "w"}, {"path", "m.gguf"}}}};
  apply(object);
  work_seconds(5);
  EXPECT_EQ(degraded().value("status", ""), "False") << degraded();
  EXPECT_EQ(condition_status("m", "Available"), "True");
}

TEST_F(ReferenceCheckTest, AnUnknownPriorityClassIsNamed) {
  server_.set_admission([](const fake::Kind& kind, const Json&) -> std::optional<fake::Refusal> {
    if (kind.plural != "pods") return std::nullopt;
    return fake::Refusal{403, "Forbidden",
                         "pods \"m-0\" is forbidden: no PriorityClass with name x was found"};
  });
  start();
  Json object = serving("m");
  object["spec"]["scheduling"]["priorityClassName"] = "x";
  apply(object);
  run_seconds(3);
  EXPECT_EQ(degraded().value("reason", ""), "PriorityClassNotFound");
}

}  // namespace
}  // namespace kantha::cluster

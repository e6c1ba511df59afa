#include "operator/cluster/finalizer_release.h"

#include "operator/kube/api_client.h"
#include "operator/kube/rate_limiter.h"
#include "tests/operator/cluster/cluster_fixture.h"

namespace kantha::cluster {
namespace {

net::Task<void> keep(kube::ApiClient& client, const Clock& clock, FinalizerRelease what,
                     std::vector<std::string>& told, std::optional<Status>& out) {
  out = co_await release_finalizers(client, clock, std::move(what),
                                    [&](const std::string& line) { told.push_back(line); });
}

class FinalizerReleaseTest : public ClusterFixture {
 protected:
  FinalizerReleaseTest()
      : transport_(server_, "uninstall/test"),
        limiter_(clock_, 0, 1),
        client_(transport_, limiter_, metrics_) {}
  ~FinalizerReleaseTest() override { transport_.close(); }

  /// Runs it to its end, for at most five minutes.
  std::optional<Status> release(FinalizerRelease what) {
    told_.clear();
    std::optional<Status> out;
    net::TaskGroup tasks(context_.get_executor(), "release");
    tasks.spawn(keep(client_, clock_, std::move(what), told_, out));
    for (int i = 0; i < 300 && !out; ++i) run_seconds(1);
    return out;
  }
  Json finalizers(const std::string& name) {
    return find(kube::kModelServings, name)->at("metadata").value("finalizers", Json::array());
  }

  MetricRegistry metrics_;
  fake::FakeTransport transport_;
  kube::RateLimiter limiter_;
  kube::ApiClient client_;
  std::vector<std::string> told_;
};

TEST_F(FinalizerReleaseTest, WhatItsOperatorLeftGoesWhenItIsDeletedAndServesUntilThen) {
  settings_.leader_elect = true;
  start();
  apply(serving("m"));
  apply(serving("n"));
  work_seconds(3);
  Json held = serving("held");
  held["metadata"]["finalizers"] = {"example.com/other", serving::kFinalizerDrain};
  apply(held);
  server_.remove(kube::kModelServings, {"a", "n"}, "user");
  stop_all(true);
  ASSERT_EQ(finalizers("m"), Json::array({serving::kFinalizerDrain}));
  const auto done = release({.lease = kube::ObjectKey{"a", "kantha-operator"}});
  ASSERT_TRUE(done && done->ok()) << testing::PrintToString(told_);
  EXPECT_EQ(finalizers("m"), Json::array());
  EXPECT_EQ(finalizers("held"), Json::array({"example.com/other"}));
  EXPECT_EQ(find(kube::kModelServings, "n"), nullptr) << "it was being deleted";
  EXPECT_EQ(find(kube::kLeases, "kantha-operator"), nullptr);
  EXPECT_NE(find(kube::kPods, "m-0"), nullptr) << "models go on serving";
  EXPECT_FALSE(find(kube::kPods, "m-0")->at("metadata").contains("deletionTimestamp"));
  EXPECT_EQ(told_.back(), "Lease a/kantha-operator is deleted");
  // Again: nothing to do, and no failure.
  const std::size_t writes = server_.writes().size();
  const auto again = release({.lease = kube::ObjectKey{"a", "kantha-operator"}});
  ASSERT_TRUE(again && again->ok());
  EXPECT_EQ(server_.writes().size(), writes);
  EXPECT_EQ(told_, std::vector<std::string>{"released 0 of 2 ModelServings"});
  server_.remove(kube::kModelServings, {"a", "m"}, "user");
  EXPECT_EQ(find(kube::kModelServings, "m"), nullptr);
  // Whoever installs an operator later has the finalizer back.
  apply(serving("m"));
  settings_.leader_elect = false;
  start();
  work_seconds(3);
  EXPECT_EQ(finalizers("m"), Json::array({serving::kFinalizerDrain}));
}

TEST_F(FinalizerReleaseTest, NothingIsReleasedWhileAnOperatorLeads) {
  settings_.leader_elect = true;
  settings_.identity = "busy";
  start();
  apply(serving("m"));
  work_seconds(3);
  const auto done = release(
      {.lease = kube::ObjectKey{"a", "kantha-operator"}, .patience = std::chrono::seconds(60)});
  ASSERT_TRUE(done && !done->ok());
  EXPECT_EQ(done->error().code, Code::kDeadlineExceeded);
  EXPECT_NE(done->error().message.find("Lease a/kantha-operator is still held by busy"),
            std::string::npos)
      << done->error().message;
  EXPECT_EQ(finalizers("m"), Json::array({serving::kFinalizerDrain}));
}

TEST_F(FinalizerReleaseTest, OnlyItsNamespacesAndOneFailureStopsNoOther) {
  make(kNamespaces, {{"metadata", {{"name", "b"}}}});
  for (const char* name_space : {"a", "b"}) {
    for (const char* name : {"m", "n"}) {
      Json object = serving(name);
      object["metadata"]["namespace"] = name_space;
      object["metadata"]["finalizers"] = {serving::kFinalizerDrain};
      apply(object);
    }
  }
  server_.set_access_rule([](const fake::Access& access) {
    return !(access.verb == "patch" && access.name == "m");
  });
  const auto done = release({.namespaces = {"a"}, .lease = kube::ObjectKey{"a", "absent"}});
  ASSERT_TRUE(done && !done->ok());
  EXPECT_NE(done->error().message.find("release ModelServing a/m"), std::string::npos)
      << done->error().message;
  EXPECT_EQ(finalizers("n"), Json::array());
  EXPECT_EQ(server_.find(kube::kModelServings, {"b", "n"})->at("metadata").at("finalizers").size(),
            1u)
      << "another operator's";
}

TEST_F(FinalizerReleaseTest, AClusterThatNeverHadAnythingIsFine) {
  server_.remove({"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                  "CustomResourceDefinition", false},
                 {"", "modelservings.serving.kantha.dev"}, "user");
  server_.collect_garbage();
  run_seconds(2);
  const auto done = release(
      {.deployment = kube::ObjectKey{"a", "absent"}, .lease = kube::ObjectKey{"a", "absent"}});
  ASSERT_TRUE(done && done->ok()) << (done ? done->error().message : "no end");
  EXPECT_EQ(told_, (std::vector<std::string>{"Deployment a/absent is not there",
                                             "the cluster does not know ModelServing",
                                             "released 0 of 0 ModelServings"}));
}

}  // namespace
}  // namespace kantha::cluster

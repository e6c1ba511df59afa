#include "tests/operator/cluster/cluster_fixture.h"

namespace kantha::cluster {
namespace {

class ApplyTest : public ClusterFixture {};

/// How often the operator wrote one object.
std::size_t writes_of(fake::FakeApiServer& server, const std::string& plural,
                      const std::string& path) {
  std::size_t count = 0;
  for (const fake::WriteRecord& write : server.writes()) {
    count += write.plural == plural && write.path == path &&
             write.manager.starts_with("kantha-operator");
  }
  return count;
}

TEST_F(ApplyTest, AForeignObjectWithAChildsNameIsNeverTouchedAndNamed) {
  make(kube::kServices,
       {{"metadata", {{"name", "m"}, {"namespace", "a"}, {"labels", {{"app", "web"}}}}},
        {"spec", {{"selector", {{"app", "web"}}}, {"ports", {{{"port", 8080}}}}}}});
  const Json before = *find(kube::kServices, "m");
  start();
  apply(serving("m"));
  work_seconds(5);
  EXPECT_EQ(*find(kube::kServices, "m"), before);
  const Json degraded = condition("m", "Degraded");
  EXPECT_EQ(degraded.value("status", ""), "True");
  EXPECT_EQ(degraded.value("reason", ""), "NameConflict");
  EXPECT_NE(degraded.value("message", "").find("Service a/m"), std::string::npos) << degraded;
  EXPECT_EQ(condition_status("m", "Available"), "True") << "the rest goes on";
  // Once it is out of the way the child is made, and the condition ends.
  server_.remove(kube::kServices, {"a", "m"}, "user");
  work_seconds(40);
  EXPECT_EQ(find(kube::kServices, "m")->at("metadata").at("ownerReferences").size(), 1u);
  EXPECT_EQ(condition_status("m", "Degraded"), "False");
}

TEST_F(ApplyTest, AForeignSecretStopsPodsBecauseTheirDoorWouldBeOpenToSomebodyElse) {
  make(kube::kSecrets,
       {{"metadata", {{"name", "m-admin"}, {"namespace", "a"}}}, {"type", "Opaque"}});
  start();
  apply(serving("m"));
  run_seconds(5);
  EXPECT_TRUE(names(kube::kPods).empty());
  EXPECT_EQ(condition("m", "Degraded").value("reason", ""), "NameConflict");
}

TEST_F(ApplyTest, AChangedChildIsRepairedOnceAndThenAtMostOnceAMinute) {
  start();
  apply(serving("m"));
  work_seconds(3);
  const auto steal = [&] {
    server_.edit(
        kube::kServices, {"a", "m"},
        [](Json& object) { object["spec"]["selector"]["app"] = "else"; }, "thief");
    server_.edit(
        kube::kServices, {"a", "m"},
        [](Json& object) { object["spec"]["selector"].erase(serving::kLabelName); }, "thief");
  };
  steal();
  run_seconds(2);
  EXPECT_TRUE(find(kube::kServices, "m")->at("spec").at("selector").contains(serving::kLabelName));
  const std::size_t before = writes_of(server_, "services", "a/m");
  for (int i = 0; i < 600; ++i) {
    steal();
    run_seconds(1);
  }
  EXPECT_LE(writes_of(server_, "services", "a/m") - before, 11u);
  EXPECT_EQ(condition("m", "Degraded").value("reason", ""), "FieldConflict");
  run_seconds(120);
  EXPECT_EQ(condition_status("m", "Degraded"), "False") << "the other writer has stopped";
}

TEST_F(ApplyTest, ChildrenThatLostLabelOrOwnerAreTakenBack) {
  start();
  apply(serving("m"));
  work_seconds(3);
  const auto without = [&](const kube::Resource& resource, const char* name, const char* field) {
    server_.edit(
        resource, {"a", name}, [&](Json& object) { object["metadata"].erase(field); }, "user");
  };
  without(kube::kServices, "m", "labels");
  without(kube::kPodDisruptionBudgets, "m", "ownerReferences");
  without(kube::kPods, "m-0", "labels");
  run_seconds(10);
  for (const auto& [resource, name] : std::vector<std::pair<kube::Resource, std::string>>{
           {kube::kServices, "m"}, {kube::kPodDisruptionBudgets, "m"}, {kube::kPods, "m-0"}}) {
    const Json meta = find(resource, name)->at("metadata");
    EXPECT_EQ(meta.at("ownerReferences").size(), 1u) << meta;
    EXPECT_EQ(meta.at("labels").at(serving::kLabelName), "m") << meta;
  }
  EXPECT_EQ(names(kube::kPods), std::vector<std::string>{"m-0"});
  run_seconds(60);  // the same repair within a minute would be a fight
  without(kube::kPods, "m-0", "ownerReferences");
  run_seconds(10);
  EXPECT_EQ(find(kube::kPods, "m-0")->at("metadata").at("ownerReferences").size(), 1u);
  EXPECT_EQ(condition_status("m", "Available"), "True");
}

TEST_F(ApplyTest, AVerbThatIsForbiddenIsNamedAndTheRestWorks) {
  bool revoked = true;
  server_.set_access_rule([&](const fake::Access& access) {
    return !(revoked && access.plural == "poddisruptionbudgets" && access.verb == "create" &&
             access.user.starts_with("kantha-operator"));
  });
  start();
  apply(serving("m"));
  work_seconds(5);
  EXPECT_EQ(condition_status("m", "Available"), "True");
  const Json degraded = condition("m", "Degraded");
  EXPECT_EQ(degraded.value("reason", ""), "Forbidden");
  EXPECT_NE(degraded.value("message", "").find("poddisruptionbudgets"), std::string::npos)
      << degraded;
  const std::size_t before = write_count();
  run_seconds(300);
  EXPECT_LE(write_count() - before, 0u) << testing::PrintToString(operator_writes());
  revoked = false;
  work_seconds(40);
  EXPECT_EQ(names(kube::kPodDisruptionBudgets), std::vector<std::string>{"m"});
  EXPECT_EQ(condition_status("m", "Degraded"), "False");
}

TEST_F(ApplyTest, AnImpossibleSpecKeepsTheOldPodsAndSaysWhy) {
  start();
  apply(serving("m", 2));
  work_seconds(3);
  edit("m", [](Json& object) { object["spec"]["drain"]["timeoutSeconds"] = -3; });
  work_seconds(5);
  EXPECT_EQ(names(kube::kPods).size(), 2u);
  EXPECT_EQ(condition_status("m", "Available"), "True");
  EXPECT_EQ(condition("m", "Progressing").value("reason", ""), "InvalidSpec");
  edit("m", [](Json& object) { object["spec"]["drain"]["timeoutSeconds"] = 5; });
  work_seconds(5);
  EXPECT_EQ(condition("m", "Progressing").value("reason", ""), "Complete");
}

TEST_F(ApplyTest, AQuotaIsToldInTheApiServersWords) {
  server_.set_admission([](const fake::Kind& kind, const Json&) -> std::optional<fake::Refusal> {
    if (kind.plural != "pods") return std::nullopt;
    return fake::Refusal{403, "Forbidden", "exceeded quota: pods, used: 3, limited: 3"};
  });
  start();
  apply(serving("m"));
  run_seconds(5);
  EXPECT_NE(condition("m", "Degraded").value("message", "").find("exceeded quota"),
            std::string::npos)
      << condition("m", "Degraded");
}

}  // namespace
}  // namespace kantha::cluster

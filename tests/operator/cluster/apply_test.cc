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

TEST_F(ApplyTest, WhateverIsEditedInAChildIsUndoneAtOnceAndNothingIsWrittenTwice) {
  start();
  apply(serving("m"));
  work_seconds(3);
  const Json service = find(kube::kServices, "m")->at("spec");
  const Json headless = find(kube::kServices, "m-pods")->at("spec");
  const Json budget = find(kube::kPodDisruptionBudgets, "m")->at("spec");
  const struct {
    const char* what;
    kube::Resource resource;
    const char* name;
    const char* edit;
    Json spec;
  } cases[] = {
      // An apply merges ports by number and protocol: it would leave two of one name.
      {"a port's number", kube::kServices, "m",
       R"({"ports": [{"name": "http", "port": 81, "protocol": "TCP", "targetPort": "api"}]})",
       service},
      {"a port's protocol", kube::kServices, "m",
       R"({"ports": [{"name": "http", "port": 80, "protocol": "UDP", "targetPort": "api"}]})",
       service},
      {"both ports of the headless one", kube::kServices, "m-pods",
       R"({"ports": [{"name": "admin", "port": 8000, "protocol": "TCP", "targetPort": "api"},
                     {"name": "api", "port": 8001, "protocol": "TCP", "targetPort": "api"}]})",
       headless},
      {"the selector, which gets a key more", kube::kServices, "m", R"({"selector": {"a": "b"}})",
       service},
      {"addresses that are not ready", kube::kServices, "m",
       R"({"publishNotReadyAddresses": true})", service},
      {"a budget from the other end", kube::kPodDisruptionBudgets, "m",
       R"({"maxUnavailable": null, "minAvailable": 1})", budget},
      {"a budget of fewer pods", kube::kPodDisruptionBudgets, "m",
       R"({"selector": {"matchLabels": {"a": "b"}}})", budget},
  };
  for (const auto& c : cases) {
    run_seconds(61);  // the same repair within a minute would be a fight
    const Json edit = Json::parse(c.edit);
    server_.edit(
        c.resource, {"a", c.name}, [&](Json& object) { object["spec"].merge_patch(edit); }, "user");
    run_seconds(3);
    Json after = find(c.resource, c.name)->at("spec");
    if (after.value("publishNotReadyAddresses", true) == false) {
      after.erase("publishNotReadyAddresses");
    }
    Json before = c.spec;
    before.erase("publishNotReadyAddresses");
    if (std::string_view(c.name) == "m-pods") after.erase("publishNotReadyAddresses");
    EXPECT_EQ(after, before) << c.what;
    EXPECT_EQ(condition_status("m", "Degraded"), "False") << c.what << condition("m", "Degraded");
    const std::size_t writes = write_count();
    run_seconds(10);
    EXPECT_EQ(write_count(), writes) << c.what;
  }
}

TEST_F(ApplyTest, AServiceOfAnotherKindOfAddressIsMadeAnewOnlyWhenItIsOurs) {
  start();
  apply(serving("m"));
  work_seconds(3);
  // Somebody deletes the headless one and makes it again with an address, owner and all.
  Json made = *find(kube::kServices, "m-pods");
  const std::string name = made["metadata"]["name"];
  for (const char* field : {"uid", "resourceVersion", "creationTimestamp", "managedFields"}) {
    made["metadata"].erase(field);
  }
  made.erase("status");
  for (const char* field : {"clusterIP", "clusterIPs"}) made["spec"].erase(field);
  settings_.leader_elect = false;
  stop_all();
  server_.remove(kube::kServices, {"a", name}, "user");
  server_.create(kube::kServices, made, "user");
  ASSERT_NE(find(kube::kServices, name)->at("spec").at("clusterIP"), "None");
  start();
  run_seconds(10);
  EXPECT_EQ(find(kube::kServices, name)->at("spec").at("clusterIP"), "None");
  EXPECT_EQ(condition_status("m", "Degraded"), "False") << condition("m", "Degraded");
}

TEST_F(ApplyTest, AChildThatAnAdmissionRuleHoldsIsNotDeletedButToldOf) {
  start();
  apply(serving("m"));
  work_seconds(3);
  const Json uid = find(kube::kServices, "m")->at("metadata").at("uid");
  server_.edit(
      kube::kServices, {"a", "m"}, [](Json& object) { object["spec"]["ports"][0]["port"] = 81; },
      "user");
  server_.set_access_rule([](const fake::Access& access) {
    return !(access.plural == "services" && access.verb == "patch" &&
             access.user.starts_with("kantha-operator"));
  });
  run_seconds(10);
  EXPECT_EQ(find(kube::kServices, "m")->at("metadata").at("uid"), uid);
  EXPECT_EQ(condition("m", "Degraded").value("reason", ""), "Forbidden");
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

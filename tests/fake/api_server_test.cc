#include "tests/fake/api_server/fake_api_server.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

namespace kantha::fake {
namespace {

/// What the recorded conformance answers cannot show: time, owners, windows, terminating things.
class ApiServerTest : public testing::Test {
 protected:
  ApiServerTest() { server_.install_model_servings(); }

  net::HttpResponse ask(const std::string& method, const std::string& target, const Json& body = {},
                        const std::string& type = "application/json") {
    net::HttpRequest request{.method = method, .target = target};
    request.headers.set("Content-Type", type);
    request.headers.set("User-Agent", "test/1");
    if (!body.is_null()) request.body = dump_json(body);
    return server_.answer(request).response;
  }
  Json get(const std::string& target) { return Json::parse(ask("GET", target).body); }
  Json config_map(const std::string& name, const std::string& owner_uid = {}) {
    Json object = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}}}};
    if (!owner_uid.empty()) {
      object["metadata"]["ownerReferences"] =
          Json::array({{{"apiVersion", "serving.kantha.dev/v1alpha1"},
                        {"kind", "ModelServing"},
                        {"name", "m"},
                        {"uid", owner_uid},
                        {"blockOwnerDeletion", true},
                        {"controller", true}}});
    }
    return object;
  }
  std::string make_serving() {
    const Json object = {{"apiVersion", "serving.kantha.dev/v1alpha1"},
                         {"kind", "ModelServing"},
                         {"metadata", {{"name", "m"}}},
                         {"spec", {{"replicas", 1}}}};
    return Json::parse(ask("POST", kServings, object).body)["metadata"]["uid"];
  }

  static constexpr const char* kServings =
      "/apis/serving.kantha.dev/v1alpha1/namespaces/default/modelservings";
  static constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";

  boost::asio::io_context context_;
  FakeClock clock_;
  FakeApiServer server_{context_.get_executor(), clock_};
};

TEST_F(ApiServerTest, DependentsGoWithTheirOwner) {
  const std::string uid = make_serving();
  ASSERT_EQ(ask("POST", kMaps, config_map("child", uid)).status, 201);
  ASSERT_EQ(ask("POST", kMaps, config_map("other")).status, 201);
  server_.collect_garbage();
  ASSERT_EQ(ask("GET", std::string(kMaps) + "/child").status, 200);
  ASSERT_EQ(ask("DELETE", std::string(kServings) + "/m").status, 200);
  server_.collect_garbage();
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/child").status, 404);
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/other").status, 200);
}

TEST_F(ApiServerTest, AChildOfAnOwnerThatNeverWasIsCollected) {
  ASSERT_EQ(ask("POST", kMaps, config_map("child", "no-such-uid")).status, 201);
  server_.collect_garbage();
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/child").status, 404);
}

TEST_F(ApiServerTest, ForegroundDeletionWaitsForDependentsAndOrphaningFreesThem) {
  for (const auto& [policy, child_stays] : {std::pair("Foreground", false), {"Orphan", true}}) {
    SCOPED_TRACE(policy);
    const std::string uid = make_serving();
    ASSERT_EQ(ask("POST", kMaps, config_map("child", uid)).status, 201);
    const Json options = {{"propagationPolicy", policy}};
    ASSERT_EQ(ask("DELETE", std::string(kServings) + "/m", options).status, 200);
    EXPECT_EQ(ask("GET", std::string(kServings) + "/m").status, 200) << "a finalizer holds it";
    server_.collect_garbage();
    EXPECT_EQ(ask("GET", std::string(kServings) + "/m").status, 404);
    EXPECT_EQ(ask("GET", std::string(kMaps) + "/child").status, child_stays ? 200 : 404);
  }
}

TEST_F(ApiServerTest, ATerminatingNamespaceTakesNothingAndEmptiesItself) {
  ASSERT_EQ(ask("POST", kMaps, config_map("a")).status, 201);
  ASSERT_EQ(ask("DELETE", "/api/v1/namespaces/default").status, 200);
  const auto refused = ask("POST", kMaps, config_map("b"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(Json::parse(refused.body)["details"]["causes"][0]["reason"], "NamespaceTerminating");
  server_.collect_garbage();
  EXPECT_EQ(ask("GET", "/api/v1/namespaces/default").status, 404);
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/a").status, 404);
}

TEST_F(ApiServerTest, PagesShowOneMomentAndExpire) {
  for (const char* name : {"a", "b", "c"}) ask("POST", kMaps, config_map(name));
  const Json first = get(std::string(kMaps) + "?limit=2");
  ASSERT_EQ(first["items"].size(), 2U);
  EXPECT_EQ(first["metadata"]["remainingItemCount"], 1);
  const std::string next =
      std::string(kMaps) + "?limit=2&continue=" + first["metadata"]["continue"].get<std::string>();
  ask("DELETE", std::string(kMaps) + "/c");
  ask("POST", kMaps, config_map("d"));
  const Json second = get(next);
  ASSERT_EQ(second["items"].size(), 1U);
  EXPECT_EQ(second["items"][0]["metadata"]["name"], "c") << "as it was when the list began";
  EXPECT_EQ(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
  clock_.advance(std::chrono::minutes(6));
  ask("POST", kMaps, config_map("e"));
  const auto expired_page = ask("GET", next);
  EXPECT_EQ(expired_page.status, 410);
  EXPECT_EQ(Json::parse(expired_page.body)["reason"], "Expired");
}

TEST_F(ApiServerTest, ADefinitionTakesItsObjectsAlongAndMayComeBack) {
  make_serving();
  const std::string path =
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/modelservings.serving.kantha.dev";
  ASSERT_EQ(ask("DELETE", path).status, 200);
  EXPECT_EQ(ask("POST", kServings,
                {{"apiVersion", "serving.kantha.dev/v1alpha1"},
                 {"kind", "ModelServing"},
                 {"metadata", {{"name", "late"}}}})
                .status,
            405);
  server_.collect_garbage();
  EXPECT_EQ(ask("GET", kServings).status, 404);
  server_.install_model_servings();
  EXPECT_EQ(get(kServings)["items"].size(), 0U);
}

TEST_F(ApiServerTest, AccessRulesRefuseInTheWordsOfTheRealServer) {
  server_.set_access_rule([](const Access& access) {
    return access.plural != "configmaps" || access.verb != "create";
  });
  const auto refused = ask("POST", kMaps, config_map("a"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(Json::parse(refused.body)["message"],
            "configmaps is forbidden: User \"test\" cannot create resource \"configmaps\" in API "
            "group \"\" in the namespace \"default\"");
  EXPECT_EQ(ask("GET", kMaps).status, 200);
}

TEST_F(ApiServerTest, TheWriteLogNamesWhoWroteWhat) {
  ask("POST", kMaps, config_map("a"));
  server_.edit(
      {"", "v1", "configmaps", "ConfigMap"}, {"default", "a"},
      [](Json& object) { object["data"]["k"] = "1"; }, "someone");
  ask("DELETE", std::string(kMaps) + "/a");
  std::vector<std::string> seen;
  for (const WriteRecord& write : server_.writes()) {
    if (write.plural == "configmaps") seen.push_back(write.manager + " " + write.verb);
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"test create", "someone edit", "test delete"}));
}

TEST_F(ApiServerTest, AnEditThatChangesNothingIsNoWrite) {
  ask("POST", kMaps, config_map("a"));
  const auto before = server_.store().version();
  server_.edit({"", "v1", "configmaps", "ConfigMap"}, {"default", "a"}, [](Json&) {}, "someone");
  ask("PATCH", std::string(kMaps) + "/a", {{"data", nullptr}}, "application/merge-patch+json");
  EXPECT_EQ(server_.store().version(), before);
}

}  // namespace
}  // namespace kantha::fake

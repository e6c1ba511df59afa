#include "operator/local/control_api.h"

#include <gtest/gtest.h>

namespace kantha::local {
namespace {

constexpr const char* kBase = "/apis/serving.kantha.dev/v1alpha1/modelservings";

struct Fixture {
  std::int64_t scaled = -1;
  ControlTarget target{
      .name = "m",
      .object = [] { return Json{{"metadata", {{"name", "m"}}}, {"status", {{"replicas", 2}}}}; },
      .scale =
          [this](std::int64_t count) {
            if (count == 13) return Status(unavailable("\"m\" is ending"));
            scaled = count;
            return ok_status();
          },
      .patch =
          [this](const Json& change) {
            if (!change.contains("spec")) return Status(invalid_argument("is required", "spec"));
            patched = change;
            return ok_status();
          }};
  Json patched;

  net::HttpResponse call(const std::string& method, const std::string& path,
                         const std::string& body = "") {
    net::HttpRequest request;
    request.method = method;
    request.target = path;
    request.body = body;
    return answer_control(request, target);
  }
};

TEST(ControlApi, TakesMergePatches) {
  Fixture api;
  const std::string own = std::string(kBase) + "/m";
  EXPECT_EQ(api.call("PATCH", own, R"({"spec":{"rollout":{"paused":true}}})").status, 200);
  EXPECT_EQ(api.patched["spec"]["rollout"]["paused"], true);
  EXPECT_EQ(api.call("PATCH", own, "{}").status, 422);
  EXPECT_EQ(api.call("PATCH", own, "nonsense").status, 400);
  EXPECT_EQ(api.call("PATCH", kBase, "{}").status, 405);
}

TEST(ControlApi, GivesTheObjectAndTheList) {
  Fixture api;
  const auto list = api.call("GET", kBase);
  EXPECT_EQ(list.status, 200);
  EXPECT_EQ(Json::parse(list.body)["items"][0]["metadata"]["name"], "m");
  EXPECT_EQ(Json::parse(list.body)["kind"], "ModelServingList");
  const auto one = api.call("GET", std::string(kBase) + "/m");
  EXPECT_EQ(Json::parse(one.body)["status"]["replicas"], 2);
}

TEST(ControlApi, ScalesWithinItsLimits) {
  Fixture api;
  const std::string scale = std::string(kBase) + "/m/scale";
  const auto done = api.call("PUT", scale, R"({"spec":{"replicas":3}})");
  EXPECT_EQ(done.status, 200);
  EXPECT_EQ(api.scaled, 3);
  EXPECT_EQ(Json::parse(done.body)["spec"]["replicas"], 3);
  EXPECT_EQ(Json::parse(done.body)["status"]["replicas"], 2);
  EXPECT_EQ(api.call("PUT", scale, R"({"spec":{"replicas":0}})").status, 200);
  EXPECT_EQ(api.scaled, 0);
}

TEST(ControlApi, RefusalsSayWhy) {
  const struct {
    const char* method;
    const char* path;
    const char* body;
    int status;
    const char* message;
  } cases[] = {
      {"GET", "/", "", 404, "nothing at /"},
      {"GET", "/apis/serving.kantha.dev/v1alpha1/modelservings/other", "", 404, "other"},
      {"DELETE", "/apis/serving.kantha.dev/v1alpha1/modelservings/m", "", 405, "GET"},
      {"GET", "/apis/serving.kantha.dev/v1alpha1/modelservings/m/scale", "", 405, "PUT"},
      {"PUT", "/apis/serving.kantha.dev/v1alpha1/modelservings/m/scale", "", 400, ""},
      {"PUT", "/apis/serving.kantha.dev/v1alpha1/modelservings/m/scale", "{}", 400, "spec"},
      {"PUT", "/apis/serving.kantha.dev/v1alpha1/modelservings/m/scale",
       R"({"spec":{"replicas":-1}})", 400, "spec.replicas"},
      {"PUT", "/apis/serving.kantha.dev/v1alpha1/modelservings/m/scale",
       R"({"spec":{"replicas":65}})", 400, "64"},
      {"PUT", "/apis/serving.kantha.dev/v1alpha1/modelservings/m/scale",
       R"({"spec":{"replicas":"3"}})", 400, "spec.replicas"},
      {"PUT", "/apis/serving.kantha.dev/v1alpha1/modelservings/m/scale",
       R"({"spec":{"replicas":13}})", 409, "is ending"},
  };
  for (const auto& c : cases) {
    Fixture api;
    const auto answer = api.call(c.method, c.path, c.body);
    EXPECT_EQ(answer.status, c.status) << c.method << " " << c.path << " " << c.body;
    const Json body = Json::parse(answer.body);
    EXPECT_EQ(body["kind"], "Status");
    EXPECT_NE(body["message"].get<std::string>().find(c.message), std::string::npos) << answer.body;
    EXPECT_EQ(api.scaled, -1);
  }
}

}  // namespace
}  // namespace kantha::local

#include <sys/wait.h>

#include "tests/operator/api_server_process.h"

/// get, explain and scale against a cluster: a fake API server on a port, the real operator.
namespace kantha::cli {
namespace {

struct Output {
  int status = -1;
  std::string out;
  std::string err;
};

class ClusterVerbsTest : public testing::Test {
 protected:
  void SetUp() override { world_.start(); }

  Output kantha(const std::string& args, const std::string& kubeconfig) const {
    const std::string& root = world_.root();
    const std::string command =
        "HOME='" + root + "' XDG_RUNTIME_DIR='" + root + "' XDG_CACHE_HOME='" + root +
        "' KUBERNETES_SERVICE_HOST='' KUBECONFIG='" + kubeconfig + "' timeout 60 '" +
        world_.binary("kantha") + "' " + args + " >" + root + "/out 2>" + root + "/err";
    const int status = std::system(command.c_str());
    return {WEXITSTATUS(status), file_text(root + "/out"), file_text(root + "/err")};
  }
  Output kantha(const std::string& args) const { return kantha(args, world_.kubeconfig()); }

  ApiServerProcess world_;
};

TEST_F(ClusterVerbsTest, GetExplainAndScaleShowAndChangeOneObject) {
  Process one = world_.start_operator();
  world_.create_serving("m", 2);
  ASSERT_TRUE(reached([&] { return world_.pod("m-1").value("kind", "") == "Pod"; }))
      << world_.operator_log();
  world_.make_ready("m-0");
  ASSERT_TRUE(reached([&] {
    return world_.serving("m").value("/status/availableReplicas"_json_pointer, 0) == 1;
  })) << world_.operator_log();

  const Output all = kantha("get");
  EXPECT_EQ(all.status, 0) << all.err;
  EXPECT_NE(all.out.find("m       1/2"), std::string::npos) << all.out;
  EXPECT_NE(all.out.find("http://m.default.svc"), std::string::npos) << all.out;
  const Output single = kantha("get kms/m");
  EXPECT_NE(single.out.find("m-0"), std::string::npos) << single.out;
  EXPECT_NE(single.out.find("pending"), std::string::npos) << single.out;
  EXPECT_NE(kantha("get -A").out.find("default/m"), std::string::npos);
  const Json object = Json::parse(kantha("get m -o json").out);
  EXPECT_EQ(object.at("kind"), "ModelServing");
  EXPECT_FALSE(object.at("metadata").contains("managedFields"));

  const Output why = kantha("explain m");
  EXPECT_EQ(why.status, 0) << why.err;
  for (const char* text : {"wanted 2, existing 2, ready 1, available 1", "Progressing", "m-1",
                           "Available", "An operator would now do nothing and wait"}) {
    EXPECT_NE(why.out.find(text), std::string::npos) << text << "\n" << why.out;
  }
  EXPECT_EQ(why.out.find("Assumed"), std::string::npos) << why.out;

  const Output scaled = kantha("scale m --replicas 3");
  EXPECT_EQ(scaled.out, "modelserving/m scaled to 3\n") << scaled.err;
  EXPECT_TRUE(reached([&] { return world_.pod("m-2").value("kind", "") == "Pod"; }))
      << world_.operator_log();
}

TEST_F(ClusterVerbsTest, ExplainTellsThePlanWithoutAnOperator) {
  world_.create_serving("m", 2);
  const Output why = kantha("explain m -n default");
  EXPECT_EQ(why.status, 0) << why.err;
  for (const char* text : {"no operator has looked", "CreatePod m-0: 2 replicas wanted",
                           "Assumed: the operator's images"}) {
    EXPECT_NE(why.out.find(text), std::string::npos) << text << "\n" << why.out;
  }
}

TEST_F(ClusterVerbsTest, ExplainPrintsTheArithmeticOfTheLastDecision) {
  world_.create_serving("m", 2);
  world_.ask("PATCH", "/apis/serving.kantha.dev/v1alpha1/namespaces/default/modelservings/m/status",
             Json::parse(R"({"status": {
    "conditions": [{"type": "ScalingActive", "status": "True", "reason": "ValidMetricFound",
                    "message": "", "lastTransitionTime": "2026-11-30T10:00:00Z"}],
    "decisions": [{"time": "2026-11-30T10:00:00Z", "kind": "Scale", "from": "1", "to": "2",
                   "reason": "PressureAboveTarget",
                   "message": "mean 1.400 of 1 pods, target 0.700, tolerance 10 %; )"
                         R"(1 pods × 1.400 / 0.700 → 2; m-0: pressure 1.400"}]}})"));
  const Output why = kantha("explain m -n default");
  EXPECT_EQ(why.status, 0) << why.err;
  for (const char* text : {"How many pods:", "at 2026-11-30T10:00:00Z it went from 1 to 2, by:",
                           "  mean 1.400 of 1 pods, target 0.700, tolerance 10 %\n",
                           "  m-0: pressure 1.400\n", "PressureAboveTarget"}) {
    EXPECT_NE(why.out.find(text), std::string::npos) << text << "\n" << why.out;
  }
}

TEST_F(ClusterVerbsTest, ErrorsNameWhatWasTried) {
  const struct {
    const char* args;
    const char* kubeconfig;
    const char* message;
  } cases[] = {
      {"get x", nullptr,
       "no ModelServing \"x\" runs here; running: none; no ModelServing \"x\" at http://127.0.0.1"},
      {"get x -n nowhere", nullptr, "namespace nowhere"},
      {"explain x", nullptr, "namespace default"},
      {"scale x --replicas 1", nullptr, "no ModelServing \"x\" at http://127.0.0.1"},
      {"get x", "/nowhere/config", "running: none; "},
      {"get --context other", nullptr, "other"},
      {"get --kubeconfig /nowhere/config", nullptr, "/nowhere/config"},
  };
  for (const auto& c : cases) {
    const Output got = c.kubeconfig == nullptr ? kantha(c.args) : kantha(c.args, c.kubeconfig);
    EXPECT_EQ(got.status, 1) << c.args;
    EXPECT_NE(got.err.find(c.message), std::string::npos) << c.args << ": " << got.err;
  }
  const Output none = kantha("get");
  EXPECT_EQ(none.status, 0);
  EXPECT_NE(none.err.find("No ModelServing at http://127.0.0.1"), std::string::npos) << none.err;
  EXPECT_NE(kantha("get", "/nowhere").err.find("kantha up"), std::string::npos);
}

}  // namespace
}  // namespace kantha::cli

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/serving/cluster_rules.h"
#include "operator/serving/validate.h"
#include "tests/operator/serving/cluster_sample.h"
#include "tests/operator/serving/golden_document.h"

namespace kantha::serving {
namespace {

using ::testing::HasSubstr;

TEST(ClusterObject, ReadsMetadataSpecAndTheStatusAsLastWritten) {
  Json json = sample_json();
  json["metadata"]["deletionTimestamp"] = "2026-11-30T00:00:00Z";
  json["status"] = {{"replicas", 2}, {"observedGeneration", 3}};
  const ClusterServing owner = cluster_serving_from_json(json).value();
  EXPECT_EQ(owner.meta.uid, "uid-m");
  EXPECT_EQ(owner.meta.resource_version, "7");
  EXPECT_EQ(owner.meta.generation, 3);
  EXPECT_EQ(owner.meta.finalizers, std::vector<std::string>{"serving.kantha.dev/drain"});
  EXPECT_TRUE(owner.is_deleting());
  EXPECT_TRUE(owner.problems.empty());
  EXPECT_EQ(owner.serving.replicas_or_default(), 2);
  EXPECT_EQ(owner.serving.metadata.generation, 3);
  EXPECT_EQ(owner.status, R"({"observedGeneration":3,"replicas":2})");
}

TEST(ClusterObject, ReadsAnItemOfAListWhichHasNoKind) {
  Json json = sample_json();
  json.erase("apiVersion");
  json.erase("kind");
  EXPECT_TRUE(cluster_serving_from_json(json).value().problems.empty());
}

TEST(ClusterObject, IgnoresFieldsOfANewerVersion) {
  Json json = sample_json();
  json["spec"]["futureField"] = {{"a", 1}};
  json["spec"]["model"]["source"]["future"] = true;
  json["future"] = Json::array({1});
  EXPECT_TRUE(cluster_serving_from_json(json).value().problems.empty());
}

TEST(ClusterObject, KeepsNoForeignLabelsAndAnnotations) {
  Json json = sample_json();
  json["metadata"]["annotations"] = {
      {"kubectl.kubernetes.io/last-applied-configuration", std::string(100'000, 'x')},
      {"serving.kantha.dev/note", "ours"}};
  json["metadata"]["labels"] = {{"team", "a"}};
  const ClusterServing owner = cluster_serving_from_json(json).value();
  EXPECT_EQ(owner.meta.annotations.size(), 1u);
  EXPECT_TRUE(owner.meta.labels.empty());
  EXPECT_TRUE(owner.serving.metadata.annotations.empty());
}

TEST(ClusterObject, ReportsEveryBrokenRuleAsAProblem) {
  struct Case {
    const char* spec;
    const char* path;
    const char* message;
  };
  for (const Case& c : std::initializer_list<Case>{
           {R"({"replicas": "two"})", "spec.replicas", "expected an integer"},
           {R"({"replicas": -1})", "spec.replicas", "[0, 10000]"},
           {R"({"model": {"source": {"hostPath": "m.gguf"}}})", "spec.model.source.hostPath",
            "absolute path"},
           {R"({"model": {"source": {"hostPath": "/a/../b"}}})", "spec.model.source.hostPath",
            "without '..'"},
           {R"({"model": {"source": {"hostPath": null, "pvc": {"claimName": "C", "path": "a"}}}})",
            "spec.model.source.pvc.claimName", "PersistentVolumeClaim"},
           {R"({"model": {"source": {"hostPath": null, "pvc": {"claimName": "c", "path": "/a"}}}})",
            "spec.model.source.pvc.path", "without a leading"},
           {R"({"engine": {"image": "/bin/engine"}})", "spec.engine.image", "image reference"},
           {R"({"engine": {"image": "a b"}})", "spec.engine.image", "without blanks"},
           {R"({"resources": {"accelerator": {"resourceName": "gpu"}}})",
            "spec.resources.accelerator.resourceName", "domain/name"},
           {R"({"resources": {"accelerator": {"resourceName": "kubernetes.io/cpu"}}})",
            "spec.resources.accelerator.resourceName", "domain/name"},
           {R"({"gateway": {"authSecret": "Keys"}})", "spec.gateway.authSecret", "Secret"},
           {R"({"scheduling": {"nodeSelector": {"a b": "c"}}})", "spec.scheduling.nodeSelector",
            "label name"},
           {R"({"scheduling": {"nodeSelector": {"a": "c d"}}})", "spec.scheduling.nodeSelector",
            "label value"},
           {R"({"scheduling": {"tolerations": [{"key": "k", "tolerationSeconds": 1}]}})",
            "spec.scheduling.tolerations[0].tolerationSeconds", "NoExecute"},
           {R"({"scheduling": {"topologySpreadConstraints": [{"topologyKey": "z"},
                                                            {"topologyKey": "z"}]}})",
            "spec.scheduling.topologySpreadConstraints[1]", "another entry"},
           {R"({"rollout": {"rings": [{"name": "a", "size": 5}, {"name": "b", "size": "50%"},
                                      {"name": "c", "size": 3}]}})",
            "spec.rollout.rings[2].size", "rings grow"}}) {
    const ClusterServing owner = sample_owner(Json::parse(c.spec));
    ASSERT_EQ(owner.problems.size(), 1u) << c.spec;
    EXPECT_EQ(owner.problems[0].path, c.path);
    EXPECT_THAT(owner.problems[0].message, HasSubstr(c.message)) << c.spec;
  }
}

TEST(ClusterObject, JudgesSpecsAsTheApiServerDoes) {
  // tests/cluster/crd_test.py holds the CRD to the same file.
  const Json cases = parse_json(source_text("tests/cluster/crd_cases.json")).value();
  EXPECT_GE(cases["refused"].size(), 60u);
  for (const Json& c : cases["refused"]) {
    EXPECT_FALSE(sample_owner(c["spec"]).problems.empty()) << c["spec"];
  }
  for (const Json& spec : cases["accepted"]) {
    for (const Problem& problem : sample_owner(spec).problems) {
      ADD_FAILURE() << spec << ": " << problem.path << ": " << problem.message;
    }
  }
}

TEST(ClusterObject, JudgesNamesThatAnOlderCrdLetThrough) {
  struct Case {
    std::string name;
    bool good;
  };
  for (const Case& c : std::initializer_list<Case>{{"m", true},
                                                   {std::string(50, 'a'), true},
                                                   {std::string(51, 'a'), false},
                                                   {std::string(253, 'a'), false},
                                                   {"a.b", false},
                                                   {"1abc", false},
                                                   {"a-", false}}) {
    Json json = sample_json();
    json["metadata"]["name"] = c.name;
    const ClusterServing owner = cluster_serving_from_json(json).value();
    EXPECT_EQ(owner.problems.empty(), c.good) << c.name;
    if (!c.good) EXPECT_EQ(owner.problems[0].path, "metadata.name");
  }
}

TEST(ClusterObject, RefusesWhatNoApiServerWouldStore) {
  EXPECT_EQ(cluster_serving_from_json(Json("text")).error().code, Code::kInvalidArgument);
  EXPECT_EQ(cluster_serving_from_json(Json::object()).error().code, Code::kInvalidArgument);
  Json large = sample_json();
  large["metadata"]["annotations"]["x"] = std::string(kObjectBytesMax, 'x');
  EXPECT_EQ(cluster_serving_from_json(large).error().code, Code::kOutOfRange);
  Json many = sample_json();
  many["spec"]["list"] = Json(std::vector<Json>(kObjectBytesMax, Json(1)));
  EXPECT_EQ(cluster_serving_from_json(many).error().code, Code::kOutOfRange);
  Json deep = 1;
  for (int i = 0; i < 200; ++i) deep = Json::array({std::move(deep)});
  Json nested = sample_json();
  nested["spec"]["deep"] = std::move(deep);
  EXPECT_EQ(cluster_serving_from_json(nested).error().code, Code::kOutOfRange);
}

TEST(ClusterObject, TakesAMegabyteThatIsNotOurs) {
  Json json = sample_json();
  json["metadata"]["annotations"]["notes"] = std::string(1 << 20, 'x');
  EXPECT_TRUE(cluster_serving_from_json(json).ok());
}

TEST(ClusterRules, TellNamesOfObjectsAndLabels) {
  for (const char* good : {"gpu", "nvidia.com/gpu", "topology.kubernetes.io/zone", "A_b.c-d"}) {
    EXPECT_TRUE(is_qualified_name(good)) << good;
  }
  for (const char* bad : {"", "/gpu", "a/", "a/b/c", "UPPER.com/x", "a b", "-a", "a-"}) {
    EXPECT_FALSE(is_qualified_name(bad)) << bad;
  }
  EXPECT_TRUE(is_object_name("a.b-c"));
  EXPECT_FALSE(is_object_name("A"));
  EXPECT_FALSE(is_object_name(std::string(254, 'a')));
}

TEST(Validate, CountsCharactersAsTheCrdDoes) {
  ModelServing serving = sample_owner().serving;
  std::string name;
  for (int i = 0; i < 4096; ++i) name += "é";
  serving.spec.model.name = name;
  EXPECT_TRUE(validate(serving).empty());
  serving.spec.model.name += "é";
  EXPECT_EQ(validate(serving).size(), 1u);
}

}  // namespace
}  // namespace kantha::serving

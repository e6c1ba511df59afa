#include <gtest/gtest.h>

#include "tests/operator/serving/cluster_sample.h"

namespace kantha::serving {
namespace {

Revision revision_with(const char* spec) {
  return cluster_revision_of(sample_owner(Json::parse(spec)).serving, sample_settings());
}

TEST(ClusterRevision, DecidesWhatAnEditRestartsAndWhatItReplaces) {
  struct Case {
    const char* what;
    const char* spec;
    bool restarts;  ///< Revision::whole differs
    bool replaces;  ///< Revision::pod differs
  };
  const Revision base = revision_with(R"({"resources": {"cpu": "1", "memory": "1Gi"}})");
  for (const Case& c : std::initializer_list<Case>{
           {"replicas", R"({"replicas": 5})", false, false},
           {"autoscaling", R"({"autoscaling": {"maxReplicas": 5}})", false, false},
           {"the pace of a rollout", R"({"rollout": {"maxUnavailable": 2, "paused": true}})", false,
            false},
           {"the same amount, spelled otherwise",
            R"({"resources": {"cpu": "1000m", "memory": "1024Mi"}})", false, false},
           {"an engine setting", R"({"engine": {"config": {"maxNumSeqs": 8}}})", true, false},
           {"the engine's image", R"({"engine": {"image": "example.com/e:2"}})", true, false},
           {"more memory", R"({"resources": {"memory": "2Gi"}})", false, true},
           {"a device", R"({"resources": {"accelerator": {"count": 1}}})", false, true},
           {"an unused device's name",
            R"({"resources": {"accelerator": {"resourceName": "a.b/c"}}})", false, false},
           {"more threads", R"({"resources": {"cpu": "2"}})", true, true},
           {"a node selector", R"({"scheduling": {"nodeSelector": {"a": "b"}}})", false, true},
           {"the API keys' Secret", R"({"gateway": {"authSecret": "keys"}})", false, true},
           {"another model", R"({"model": {"source": {"hostPath": "/models/n.gguf"}}})", true,
            true},
           {"a model of the same name in another folder",
            R"({"model": {"source": {"hostPath": "/other/m.gguf"}}})", true, true},
           {"the served name", R"({"model": {"name": "other"}})", true, true},
           {"the drain", R"({"drain": {"timeoutSeconds": 1}})", true, true}}) {
    Json spec = Json::parse(R"({"resources": {"cpu": "1", "memory": "1Gi"}})");
    spec.merge_patch(Json::parse(c.spec));
    const Revision edited = revision_with(spec.dump().c_str());
    EXPECT_EQ(edited.whole != base.whole, c.restarts) << c.what;
    EXPECT_EQ(edited.pod != base.pod, c.replaces) << c.what;
  }
}

TEST(ClusterRevision, FollowsTheOperatorsImages) {
  const ModelServing serving = sample_owner().serving;
  const Revision base = cluster_revision_of(serving, sample_settings());
  ClusterSettings settings = sample_settings();
  settings.noded_image = "localhost/kantha-noded:2";
  EXPECT_EQ(cluster_revision_of(serving, settings).whole, base.whole);
  EXPECT_NE(cluster_revision_of(serving, settings).pod, base.pod);
  settings = sample_settings();
  settings.engine_image = "localhost/kantha-engine:2";
  EXPECT_NE(cluster_revision_of(serving, settings).whole, base.whole);
  EXPECT_EQ(cluster_revision_of(serving, settings).pod, base.pod);
  // An object with an image of its own does not care.
  const ModelServing own = sample_owner({{"engine", {{"image", "example.com/e:1"}}}}).serving;
  EXPECT_EQ(cluster_revision_of(own, settings), cluster_revision_of(own, sample_settings()));
}

TEST(ClusterRevision, AFetchedSourceIsItsDigestAndAnotherAddressIsAnotherPod) {
  const auto revision = [](const char* url, char digit, const ClusterSettings& settings) {
    const Json source = {{"hostPath", nullptr},
                         {"http", {{"url", url}, {"sha256", std::string(64, digit)}}}};
    return cluster_revision_of(sample_owner({{"model", {{"source", source}}}}).serving, settings);
  };
  const Revision base = revision("https://example.com/m", 'a', sample_settings());
  const Revision moved = revision("https://example.com/n", 'a', sample_settings());
  EXPECT_EQ(moved.whole, base.whole);
  EXPECT_NE(moved.pod, base.pod);
  EXPECT_NE(revision("https://example.com/m", 'b', sample_settings()).whole, base.whole);
  ClusterSettings shared = sample_settings();
  shared.model_cache_host_path = "/var/lib/kantha";
  EXPECT_NE(revision("https://example.com/m", 'a', shared).pod, base.pod);
  const ModelServing other = sample_owner().serving;
  EXPECT_EQ(cluster_revision_of(other, shared), cluster_revision_of(other, sample_settings()));
}

TEST(ModelPath, IsWhereTheEngineSeesTheWeights) {
  ModelSource source;
  EXPECT_EQ(model_path_of(source), "");
  source.http = HttpSource{"https://example.com/m", std::string(64, 'a')};
  EXPECT_EQ(model_path_of(source), "/models/" + std::string(64, 'a'));
  source = {};
  source.host_path = "/a/b/m.gguf";
  EXPECT_EQ(model_path_of(source), "/models/m.gguf");
  source = {};
  source.pvc = PvcSource{"c", "x/m.gguf"};
  EXPECT_EQ(model_path_of(source), "/models/x/m.gguf");
  source = {};
  source.image = ImageSource{"i", "y/m.gguf"};
  EXPECT_EQ(model_path_of(source), "/models/y/m.gguf");
}

}  // namespace
}  // namespace kantha::serving

#include <gtest/gtest.h>

#include "operator/serving/children.h"
#include "operator/serving/render_activator_slice.h"
#include "operator/serving/render_admin_secret.h"
#include "operator/serving/render_pdb.h"
#include "operator/serving/render_pod.h"
#include "operator/serving/render_revision_config_map.h"
#include "operator/serving/render_service.h"
#include "operator/serving/render_service_account.h"
#include "tests/operator/serving/cluster_sample.h"
#include "tests/operator/serving/golden_document.h"

/// Every document that the operator writes, byte for byte.
namespace kantha::serving {
namespace {

ClusterServing owner_with_everything() {
  return sample_owner(Json::parse(R"json({
    "model": {"name": "Org/Model-7B:v1 $(HOME)", "source": {
  "hostPath" : null, "pvc" : {"claimName" : "weights", "path" : "qwen/model.gguf"}}},
    "engine": {"image": "example.com/engine@sha256:aa", "config": {"maxModelLen": 4096,
               "kvCacheMemory": "2Gi"}},
    "resources": {"accelerator": {"count": 4}, "cpu": "1500m", "memory": "4Gi"},
    "scheduling": {"nodeSelector": {"pool": "a"}, "priorityClassName": "high",
      "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
                      {"key": "k", "value": "v", "effect": "NoExecute", "tolerationSeconds": 60}],
      "topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "topology.kubernetes.io/zone"}]},
    "rollout": {"maxUnavailable": "50%"},
    "gateway": {"authSecret": "keys", "limits": {"maxQueuedTokens": 5000, "requestsPerMinute": 600,
                "tokensPerMinute": 90000}},
    "drain": {"timeoutSeconds": 60}, "replicas": 4})json"));
}

OrderedJson pod_of(const ClusterServing& owner, const ClusterSettings& settings) {
  return render_pod(owner, settings, cluster_revision_of(owner.serving, settings), 1);
}

TEST(RenderGolden, PodOfTheSmallestObject) {
  expect_golden("pod_smallest", pod_of(sample_owner(), sample_settings()));
}

TEST(RenderGolden, PodOfAnObjectWithEverything) {
  ClusterSettings settings = sample_settings();
  settings.image_pull_secrets = {"registry"};
  expect_golden("pod_everything", pod_of(owner_with_everything(), settings));
}

TEST(RenderGolden, PodWithWeightsFromAnImage) {
  const ClusterServing owner = sample_owner(Json::parse(
      R"({"model": {"source": {"hostPath": null, "image": {"reference": "example.com/m@sha256:bb",
          "path": "m.gguf"}}}})"));
  expect_golden("pod_image_source", pod_of(owner, sample_settings()));
}

TEST(RenderGolden, PodThatFetchesItsWeights) {
  const ClusterServing owner = sample_owner(Json::parse(
      R"({"model": {"source": {"hostPath": null, "http": {"url": "https://example.com/$(X)/m.gguf",
          "sha256": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}}}})"));
  expect_golden("pod_http_source", pod_of(owner, sample_settings()));
  ClusterSettings shared = sample_settings();
  shared.model_cache_host_path = "/var/lib/kantha/models";
  shared.model_cache_quota_bytes = 500'000'000'000;
  expect_golden("pod_http_source_shared", pod_of(owner, shared));
}

TEST(RenderGolden, Services) {
  expect_golden("service", render_service(sample_owner()));
  expect_golden("service_headless", render_headless_service(sample_owner()));
}

TEST(RenderGolden, SliceOfTheActivator) {
  expect_golden(
      "activator_slice",
      render_activator_slice(sample_owner(), {{"10.1.0.1", "10.1.0.2", "fd00::1"}, 10007}));
}

TEST(RenderGolden, DisruptionBudget) {
  expect_golden("pdb", render_pdb(sample_owner()));
  expect_golden("pdb_half", render_pdb(owner_with_everything()));
}

TEST(RenderGolden, ServiceAccountSecretAndRevision) {
  const ClusterServing owner = sample_owner();
  expect_golden("service_account", render_service_account(owner));
  expect_golden("admin_secret", render_admin_secret(owner, "dG9rZW4"));
  expect_golden("revision_config_map",
                render_revision_config_map(owner, sample_settings(),
                                           cluster_revision_of(owner.serving, sample_settings())));
}

TEST(RenderGolden, PatchThatTellsARunningPodANewConfig) {
  const PodObject pod = decoded(live_pod(sample_owner(), sample_settings(), 1));
  const ClusterServing edited = sample_owner({{"engine", {{"config", {{"maxNumSeqs", 8}}}}}});
  const Revision target = cluster_revision_of(edited.serving, sample_settings());
  expect_golden("pod_retell_config", render_pod_retell(edited, sample_settings(), target, pod));
}

TEST(RenderGolden, PatchThatTellsARunningPodANewImage) {
  const PodObject pod = decoded(live_pod(sample_owner(), sample_settings(), 1));
  const ClusterServing edited = sample_owner({{"engine", {{"image", "example.com/engine:2"}}}});
  const Revision target = cluster_revision_of(edited.serving, sample_settings());
  expect_golden("pod_retell_image", render_pod_retell(edited, sample_settings(), target, pod));
}

TEST(RenderGolden, PatchThatNotesAVerifiedRevision) {
  expect_golden("pod_confirm",
                render_pod_confirm(decoded(live_pod(sample_owner(), sample_settings(), 1))));
}

TEST(RenderPod, NeverRendersAZeroOfADevice) {
  const OrderedJson pod = pod_of(sample_owner(), sample_settings());
  EXPECT_EQ(dump_json(pod).find("nvidia.com/gpu"), std::string::npos);
}

TEST(RenderPod, RequestsAsManyDevicesAsItIsLimitedTo) {
  for (const int count : {1, 3, 64}) {
    const ClusterServing owner = sample_owner(
        {{"resources",
          {{"accelerator", {{"resourceName", "example.com/npu"}, {"count", count}}}}}});
    const OrderedJson pod = pod_of(owner, sample_settings());
    const OrderedJson& resources = pod["spec"]["containers"][1]["resources"];
    EXPECT_EQ(resources["requests"]["example.com/npu"], std::to_string(count));
    EXPECT_EQ(resources["limits"]["example.com/npu"], std::to_string(count));
  }
}

TEST(RenderPod, GivesTheDrainItsGrace) {
  for (const int seconds : {0, 300, 86'400}) {
    const ClusterServing owner = sample_owner({{"drain", {{"timeoutSeconds", seconds}}}});
    EXPECT_EQ(pod_of(owner, sample_settings())["spec"]["terminationGracePeriodSeconds"],
              seconds + 30);
  }
}

TEST(RenderChildren, OwnThemselvesByUidAndBlockTheDeletionOfTheirOwner) {
  const OrderedJson reference = render_service(sample_owner())["metadata"]["ownerReferences"][0];
  EXPECT_EQ(reference["uid"], "uid-m");
  EXPECT_EQ(reference["controller"], true);
  EXPECT_EQ(reference["blockOwnerDeletion"], true);
}

TEST(RenderChildren, SelectOnlyPodsOfTheirOwnObject) {
  // "a" must not select what belongs to "a-b": equality of whole values, not prefixes.
  ClusterServing a = sample_owner();
  a.serving.metadata.name = "a";
  EXPECT_EQ(render_pdb(a)["spec"]["selector"]["matchLabels"][kLabelName], "a");
  EXPECT_EQ(pod_selector_text("a"), "serving.kantha.dev/name=a,serving.kantha.dev/role=replica");
}

TEST(RenderChildren, AreNamedWithinTheLimitsOfKubernetes) {
  const std::string longest(kNameMax, 'a');
  for (const std::string& name :
       {longest + "-9999", headless_service_name(longest), admin_secret_name(longest),
        revision_config_map_name(longest, std::string(64, 'f'))}) {
    EXPECT_LE(name.size(), 63u) << name;
  }
}

TEST(OrdinalOfPodName, ReadsOnlyNamesThatThePlannerGives) {
  struct Case {
    const char* pod;
    std::optional<std::int64_t> ordinal;
  };
  for (const Case& c : std::initializer_list<Case>{{"m-0", 0},
                                                   {"m-12", 12},
                                                   {"m-9999", 9999},
                                                   {"m-10000", std::nullopt},
                                                   {"m-01", std::nullopt},
                                                   {"m-", std::nullopt},
                                                   {"m", std::nullopt},
                                                   {"m--1", std::nullopt},
                                                   {"m-1x", std::nullopt},
                                                   {"m-x-1", std::nullopt},
                                                   {"mm-1", std::nullopt}}) {
    EXPECT_EQ(ordinal_of_pod_name("m", c.pod), c.ordinal) << c.pod;
  }
}

}  // namespace
}  // namespace kantha::serving

#include "operator/serving/image_pull.h"

#include <gtest/gtest.h>

#include "operator/serving/children.h"

namespace kantha::serving {
namespace {

const std::string kDigest = "sha256:" + std::string(64, 'a');

TEST(ImageByDigest, OnlyWhatWasPulledFromThatRepository) {
  struct Case {
    std::string about, image, image_id, expected;
  };
  const std::vector<Case> cases = {
      {"a tag", "r.example.com/k/engine:2", "r.example.com/k/engine@" + kDigest,
       "r.example.com/k/engine@" + kDigest},
      {"no tag", "r.example.com/engine", "r.example.com/engine@" + kDigest,
       "r.example.com/engine@" + kDigest},
      {"a registry with a port", "r.example.com:5000/engine:2",
       "r.example.com:5000/engine@" + kDigest, "r.example.com:5000/engine@" + kDigest},
      {"a port and no tag", "localhost:5000/engine", "localhost:5000/engine@" + kDigest,
       "localhost:5000/engine@" + kDigest},
      {"a short name, as runtimes spell it out", "busybox:1",
       "docker.io/library/busybox@" + kDigest, "busybox@" + kDigest},
      {"a name without registry", "team/engine:1", "docker.io/team/engine@" + kDigest,
       "team/engine@" + kDigest},
      {"as older runtimes write it", "team/engine:1",
       "docker-pullable://docker.io/team/engine@" + kDigest, "team/engine@" + kDigest},
      {"by digest already", "r.example.com/engine@" + kDigest, "r.example.com/engine@" + kDigest,
       ""},
      {"loaded by hand: no repository", "r.example.com/engine:2", kDigest, ""},
      {"loaded by hand: a name of the loader's", "r.example.com/engine:2",
       "docker.io/library/import-2020-01-01@" + kDigest, ""},
      {"another repository", "r.example.com/engine:2", "r.example.com/other@" + kDigest, ""},
      {"a digest that is none", "r.example.com/engine:2", "r.example.com/engine@sha256:12", ""},
      {"nothing yet", "r.example.com/engine:2", "", ""},
      {"no image", "", "r.example.com/engine@" + kDigest, ""},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(image_by_digest(each.image, each.image_id), each.expected) << each.about;
  }
}

ClusterServing owner() {
  ClusterServing out;
  out.meta.uid = "uid-m";
  out.serving.metadata.name = "m";
  out.serving.metadata.name_space = "apps";
  out.serving.spec.resources.accelerator = {"example.com/gpu", 4};
  return out;
}

ClusterSettings settings() {
  ClusterSettings out;
  out.image_pull_policy = "IfNotPresent";
  out.image_pull_secrets = {"pull"};
  return out;
}

TEST(RenderImagePull, RunsOnItsNodeAndTakesNothingOfAnybody) {
  const OrderedJson pod = render_image_pull(owner(), settings(), "node-7", "r/engine:2");
  const OrderedJson& spec = pod["spec"];
  EXPECT_EQ(spec["nodeName"], "node-7");
  EXPECT_EQ(spec["restartPolicy"], "Never");
  EXPECT_EQ(spec["imagePullSecrets"][0]["name"], "pull");
  EXPECT_EQ(spec["containers"].size(), 1U);
  const OrderedJson& container = spec["containers"][0];
  EXPECT_EQ(container["image"], "r/engine:2");
  EXPECT_EQ(container["imagePullPolicy"], "IfNotPresent");
  EXPECT_FALSE(container["resources"]["limits"].contains("example.com/gpu"));
  EXPECT_FALSE(spec.contains("volumes"));
  // What restricted Pod Security asks for.
  EXPECT_EQ(spec["automountServiceAccountToken"], false);
  EXPECT_EQ(spec["securityContext"]["runAsNonRoot"], true);
  EXPECT_EQ(spec["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
  EXPECT_EQ(container["securityContext"]["allowPrivilegeEscalation"], false);
  EXPECT_EQ(container["securityContext"]["capabilities"]["drop"][0], "ALL");
}

TEST(RenderImagePull, IsNoneOfThePodsThatServe) {
  const OrderedJson pod = render_image_pull(owner(), settings(), "node-7", "r/engine:2");
  const OrderedJson& labels = pod["metadata"]["labels"];
  for (const auto& [label, value] : pod_selector("m").items()) {
    EXPECT_FALSE(labels.contains(label) && labels[label] == value) << label;
  }
  EXPECT_EQ(pod["metadata"]["ownerReferences"][0]["uid"], "uid-m") << "it goes with its owner";
  const std::string name = pod["metadata"]["name"];
  EXPECT_FALSE(ordinal_of_pod_name("m", name));
  EXPECT_FALSE(ordinal_of_pod_name("m-pull", name));
  EXPECT_NE(image_pull_name("m", "node-7", "r/engine:2"),
            image_pull_name("m", "node-8", "r/engine:2"));
  EXPECT_NE(image_pull_name("m", "node-7", "r/engine:2"),
            image_pull_name("m", "node-7", "r/engine:3"));
}

Result<PodObject> decoded(const Json& status) {
  Json pod = Json::parse(dump_json(render_image_pull(owner(), settings(), "node-7", "r/engine:2")));
  pod["metadata"]["uid"] = "uid-p";
  Json engine = status;
  engine["name"] = "engine";
  pod["status"] = {{"phase", "Pending"}, {"containerStatuses", Json::array({engine})}};
  return pod_object_from_json(pod);
}

TEST(ImagePull, KnowsFromTheKubeletWhetherTheImageIsThere) {
  struct Case {
    std::string about;
    Json status;
    bool pulled;
    std::string failure;
  };
  const std::vector<Case> cases = {
      {"not begun", Json::object(), false, ""},
      {"under way", {{"state", {{"waiting", {{"reason", "ContainerCreating"}}}}}}, false, ""},
      {"refused",
       {{"state", {{"waiting", {{"reason", "ErrImagePull"}, {"message", "no such tag"}}}}}},
       false,
       "engine: ImagePullBackOff: no such tag"},
      {"never to be pulled",
       {{"state", {{"waiting", {{"reason", "ErrImageNeverPull"}, {"message", "absent"}}}}}},
       false,
       "engine: ErrImageNeverPull: absent"},
      {"runs", {{"imageID", "x"}, {"state", {{"running", Json::object()}}}}, true, ""},
      {"ended", {{"imageID", "x"}, {"state", {{"terminated", {{"exitCode", 0}}}}}}, true, ""},
      {"cannot run here",
       {{"imageID", "x"}, {"state", {{"terminated", {{"exitCode", 128}}}}}},
       true,
       ""},
  };
  for (const Case& each : cases) {
    const auto pod = decoded(each.status);
    ASSERT_TRUE(pod.ok()) << each.about;
    EXPECT_TRUE(is_image_pull(owner(), *pod));
    const ImagePull pull = image_pull_of(*pod, WallTime{});
    EXPECT_EQ(pull.pulled, each.pulled) << each.about;
    EXPECT_EQ(pull.failure, each.failure) << each.about;
    EXPECT_EQ(pull.node, "node-7");
    EXPECT_EQ(pull.image, "r/engine:2");
  }
}

TEST(ImagePull, OfSomebodyElseIsNotOurs) {
  auto pod = decoded(Json::object());
  ASSERT_TRUE(pod.ok());
  pod->owner_uid = "uid-other";
  EXPECT_FALSE(is_image_pull(owner(), *pod));
  pod->owner_uid = "uid-m";
  pod->role = kRoleReplica;
  EXPECT_FALSE(is_image_pull(owner(), *pod));
}

}  // namespace
}  // namespace kantha::serving

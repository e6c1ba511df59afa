#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/digest.h"
#include "operator/kube/lean_text.h"
#include "operator/serving/bounded_text.h"
#include "operator/serving/children.h"
#include "operator/serving/pod_trouble.h"
#include "operator/serving/timestamp.h"
#include "tests/operator/serving/cluster_sample.h"

namespace kantha::serving {
namespace {

using ::testing::HasSubstr;

Json pod_json() { return live_pod(sample_owner(), sample_settings(), 1); }

TEST(PodObject, KeepsWhatTheOperatorDecidesOn) {
  const PodObject pod = decoded(pod_json());
  const Revision target = cluster_revision_of(sample_owner().serving, sample_settings());
  EXPECT_EQ(pod.name, "m-1");
  EXPECT_EQ(pod.name_space, "apps");
  EXPECT_EQ(pod.uid, "uid-pod-1");
  EXPECT_EQ(pod.owner_uid, "uid-m");
  EXPECT_EQ(pod.owner_name, "ModelServing/m");
  EXPECT_EQ(pod.serving, "m");
  EXPECT_EQ(pod.role, "replica");
  EXPECT_EQ(pod.ordinal, "1");
  EXPECT_EQ(pod.told_revision, target.whole);
  EXPECT_EQ(pod.born_revision, target.whole);
  EXPECT_EQ(pod.pod_revision, target.pod);
  EXPECT_EQ(pod.engine_config_hash, sha256_hex(cluster_engine_config(sample_owner().serving)));
  EXPECT_TRUE(pod.is_protected);
  EXPECT_EQ(pod.phase, PodPhase::kRunning);
  EXPECT_TRUE(pod.ready);
  EXPECT_EQ(pod.ready_since, timestamp_from_text("2026-11-30T00:50:10Z"));
  EXPECT_EQ(pod.node, "node-a");
  EXPECT_EQ(pod.ip, "10.0.0.5");
  EXPECT_EQ(pod.engine_image, "localhost/kantha-engine:dev");
  EXPECT_EQ(pod.engine_index, 1);
  EXPECT_TRUE(pod.engine.running);
  EXPECT_FALSE(pod.is_terminating());
  EXPECT_FALSE(pod.has_ended());
}

TEST(PodObject, ReadsTheSameWhereWhatItDoesNotLookAtIsMissing) {
  Json json = pod_json();
  for (Json& container : json["spec"]["containers"]) container["lifecycle"]["preStop"] = {1};
  json["status"]["containerStatuses"][1]["volumeMounts"] = Json::array({{{"name", "x"}}});
  json["status"]["containerStatuses"][1]["lastState"] = {
      {"terminated", {{"exitCode", 137}, {"reason", "OOMKilled"}}}};
  const std::string whole = dump_json(json);
  std::string room;
  const std::string lean(kube::without_members(whole, kUnreadOfPods, room));
  EXPECT_LT(lean.size(), whole.size() * 2 / 3) << "most of a pod";
  const Result<Json> read = parse_json(lean);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(decoded(*read), decoded(json));
}

TEST(PodObject, TakesAboutAKilobyte) {
  const PodObject pod = decoded(pod_json());
  std::size_t bytes = sizeof(pod);
  for (const std::string* text :
       {&pod.name_space, &pod.name, &pod.uid, &pod.owner_uid, &pod.owner_name, &pod.told_revision,
        &pod.born_revision, &pod.pod_revision, &pod.engine_config_hash, &pod.engine_image,
        &pod.engine.image, &pod.noded.image, &pod.engine.image_id, &pod.noded.image_id}) {
    if (text->capacity() > 15) bytes += text->capacity() + 1;
  }
  EXPECT_LE(bytes, 1'900u);
}

TEST(PodObject, BoundsWhatOthersWrote) {
  Json json = pod_json();
  json["status"]["message"] = std::string(100'000, 'x');
  json["status"]["containerStatuses"][1]["state"] = {
      {"waiting", {{"reason", "CrashLoopBackOff"}, {"message", std::string(100'000, 'x')}}}};
  json["metadata"]["labels"][kLabelRole] = std::string(100'000, 'x');
  const PodObject pod = decoded(json);
  EXPECT_LE(pod.message.size(), 512u);
  EXPECT_LE(pod.engine.waiting_message.size(), 512u);
  EXPECT_LE(pod.role.size(), 512u);
}

TEST(PodObject, CountsAnUnreadableDeletionTimeAsBeingDeleted) {
  Json json = pod_json();
  json["metadata"]["deletionTimestamp"] = "soon";
  EXPECT_TRUE(decoded(json).is_terminating());
}

TEST(PodObject, FindsTheEngineBehindInjectedContainers) {
  Json json = pod_json();
  json["spec"]["containers"].insert(json["spec"]["containers"].begin(), {{"name", "mesh"}});
  EXPECT_EQ(decoded(json).engine_index, 2);
  json["spec"]["containers"] = Json::array({{{"name", "mesh"}}});
  EXPECT_EQ(decoded(json).engine_index, -1);
}

TEST(IsSameImage, KnowsHowRuntimesSpellImages) {
  struct Case {
    const char* wanted;
    const char* image;
    const char* id;
    bool same;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"localhost/e:1", "localhost/e:1", "", true},
           {"localhost/e:1", "localhost/e:2", "", false},
           {"busybox", "docker.io/library/busybox:latest", "", true},
           {"org/e:1", "docker.io/org/e:1", "", true},
           {"example.com:5000/e", "example.com:5000/e:latest", "", true},
           {"example.com/e@sha256:aa", "sha256:ff", "example.com/e@sha256:aa", true},
           {"example.com/e@sha256:aa", "example.com/e@sha256:bb", "example.com/e@sha256:bb", false},
           // A bare id tells nothing about a tag: not known to be the one.
           {"localhost/e:1", "sha256:ff", "sha256:ff", false},
           {"localhost/e:1", "", "", false},
           {"", "localhost/e:1", "", false}}) {
    ContainerState state;
    state.image = c.image;
    state.image_id = c.id;
    EXPECT_EQ(is_same_image(c.wanted, state), c.same) << c.wanted << " " << c.image;
  }
}

/// A pod that waits, changed by a merge patch of its status.
PodTrouble trouble_of(const Json& status, const Json& spec = Json::object()) {
  Json json = pod_json();
  json["status"] = {{"phase", "Pending"}};
  json["status"].merge_patch(status);
  json["spec"].merge_patch(spec);
  return pod_trouble(decoded(json), sample_time());
}

Json waiting(const char* container, const char* reason, const char* message = "") {
  return {{"containerStatuses",
           {{{"name", container},
             {"restartCount", 4},
             {"state", {{"waiting", {{"reason", reason}, {"message", message}}}}},
             {"lastState", {{"terminated", {{"exitCode", 137}, {"reason", "OOMKilled"}}}}}}}}};
}

TEST(PodTrouble, SaysWhatTheKubeletSays) {
  struct Case {
    Json status;
    bool failing;
    const char* message;
  };
  const Case cases[] = {
      {waiting("engine", "CrashLoopBackOff", "back-off 40s"), true,
       "engine: CrashLoopBackOff after 4 restarts, last exit 137 (OOMKilled)"},
      {waiting("engine", "ImagePullBackOff", "no such image"), true, "no such image"},
      {waiting("engine", "ErrImageNeverPull"), true, "engine: ErrImageNeverPull"},
      {waiting("noded", "CreateContainerConfigError", "secret \"m-admin\" not found"), true,
       "noded: CreateContainerConfigError"},
      {waiting("engine", "InvalidImageName"), true, "engine: InvalidImageName"},
      {{{"phase", "Failed"}, {"reason", "Evicted"}, {"message", "low on memory"}},
       true,
       "Evicted: low on memory"},
      {{{"phase", "Failed"}, {"reason", "UnexpectedAdmissionError"}},
       true,
       "UnexpectedAdmissionError"},
      {{{"conditions",
         {{{"type", "PodScheduled"}, {"status", "False"}, {"message", "0/3 nodes"}}}}},
       true,
       "Unschedulable: 0/3 nodes"},
      {{{"phase", "Running"}}, false, "not ready on node-a"},
  };
  for (const Case& c : cases) {
    const PodTrouble trouble = trouble_of(c.status);
    EXPECT_EQ(trouble.failing, c.failing) << c.message;
    EXPECT_THAT(trouble.message, HasSubstr(c.message));
  }
}

TEST(PodTrouble, SaysTheSameAtEveryMomentOfALoop) {
  const std::string looping =
      trouble_of(waiting("engine", "CrashLoopBackOff", "back-off 10s")).message;
  EXPECT_EQ(trouble_of(waiting("engine", "CrashLoopBackOff", "back-off 5m0s")).message, looping);
  Json running = waiting("engine", "CrashLoopBackOff");
  running["phase"] = "Running";
  running["containerStatuses"][0]["state"] = {{"running", Json::object()}};
  EXPECT_TRUE(trouble_of(running).failing);
  EXPECT_EQ(trouble_of(running).message, looping);
  Json told = running;
  told["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] = 0;
  EXPECT_FALSE(trouble_of(told).failing) << "it was told a new image, and ended well";
  running["containerStatuses"][0]["restartCount"] = 10;
  const std::string many = trouble_of(running).message;
  running["containerStatuses"][0]["restartCount"] = 1000;
  EXPECT_EQ(trouble_of(running).message, many);
  EXPECT_EQ(trouble_of(waiting("engine", "ErrImagePull", "not found")).message,
            trouble_of(waiting("engine", "ImagePullBackOff",
                               "Back-off pulling image \"x\": ErrImagePull: not found"))
                .message);
}

TEST(PodTrouble, CountsAPodThatIsNotMadeForTenMinutesAsFailing) {
  Json creating = waiting("noded", "ContainerCreating");
  creating["containerStatuses"][0]["restartCount"] = 0;
  creating["containerStatuses"][0].erase("lastState");
  Json json = pod_json();
  json["status"] = creating;
  json["status"]["phase"] = "Pending";
  json["metadata"]["creationTimestamp"] = timestamp_text(sample_time());
  const PodObject pod = decoded(json);
  const PodTrouble young = pod_trouble(pod, sample_time(599));
  EXPECT_FALSE(young.failing);
  EXPECT_EQ(young.look_again, sample_time(600));
  const PodTrouble old = pod_trouble(pod, sample_time(600));
  EXPECT_TRUE(old.failing);
  EXPECT_THAT(old.message, HasSubstr("ContainerCreating on node-a for more than 10 min"));
}

TEST(PodTrouble, IsNothingForAReadyPod) {
  const PodTrouble trouble = pod_trouble(decoded(pod_json()), sample_time());
  EXPECT_FALSE(trouble.failing);
  EXPECT_EQ(trouble.message, "");
}

TEST(Timestamp, WritesAndReadsWhatKubernetesWrites) {
  EXPECT_EQ(timestamp_text(sample_time()), "2026-11-30T00:53:20Z");
  EXPECT_EQ(timestamp_from_text("2026-11-30T00:53:20Z"), sample_time());
  EXPECT_EQ(timestamp_from_text("2026-11-30T02:53:20+02:00"), sample_time());
  EXPECT_EQ(timestamp_from_text("2026-11-30T00:53:20.500000Z"),
            sample_time() + std::chrono::milliseconds(500));
  EXPECT_EQ(timestamp_text(WallTime{}), "1970-01-01T00:00:00Z");
  for (const char* bad :
       {"", "2026-11-30", "2026-11-30T00:53:20", "2026-13-30T00:53:20Z", "2026-02-30T00:53:20Z",
        "2026-11-30T24:00:00Z", "2026-11-30T00:53:20.Z", "2026-11-30T00:53:20Zx",
        "9999-11-30T00:53:20Z", "x026-11-30T00:53:20Z"}) {
    EXPECT_FALSE(timestamp_from_text(bad)) << bad;
  }
}

TEST(BoundedText, CutsBetweenCharacters) {
  EXPECT_EQ(bounded_text("abc", 3), "abc");
  EXPECT_EQ(bounded_text("abcdef", 5), "ab…");
  EXPECT_EQ(bounded_text("aéééé", 7), "aé…");
  EXPECT_EQ(bounded_text("abcdef", 2), "");
}

}  // namespace
}  // namespace kantha::serving

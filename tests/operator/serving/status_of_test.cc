#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "operator/serving/last_status.h"
#include "operator/serving/plan_cluster.h"
#include "operator/serving/status_of.h"
#include "tests/operator/serving/cluster_sample.h"
#include "tests/operator/serving/golden_document.h"
#include "tests/operator/serving/sample_moment.h"

namespace kantha::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// One object from pass to pass: what is written is what the next pass reads.
struct Story {
  ClusterServing owner;
  std::vector<PodObject> pods;
  std::vector<Trouble> troubles;
  ScaleUpNews news;

  explicit Story(const Json& spec = Json::object(), int pod_count = 2) : owner(sample_owner(spec)) {
    for (int i = 0; i < pod_count; ++i) {
      pods.push_back(decoded(live_pod(owner, sample_settings(), i)));
    }
  }
  Json status(std::int64_t second = 0) const {
    std::vector<const PodObject*> pointers;
    for (const PodObject& pod : pods) pointers.push_back(&pod);
    ClusterObservation seen =
        observe_cluster(owner, sample_settings(), pointers, {}, sample_moment(second));
    seen.capacity.news = news;
    const ClusterPlan made = plan_cluster(owner, seen, sample_moment(second));
    return status_of(owner, seen, made.plan, troubles, sample_time(second));
  }
  /// Writes it if it changed.
  bool pass(std::int64_t second = 0) {
    const Json next = status(second);
    if (!status_changed(status_from_text(owner.status), next)) return false;
    owner.status = dump_json(next);
    return true;
  }
};

Json condition(const Json& status, const std::string& type) {
  for (const Json& entry : status["conditions"]) {
    if (entry["type"] == type) return entry;
  }
  return nullptr;
}

std::string brief(const Json& status, const std::string& type) {
  const Json entry = condition(status, type);
  return entry["status"].get<std::string>() + " " + entry["reason"].get<std::string>();
}

TEST(StatusOf, OfAnObjectThatIsServed) {
  const Json status = Story().status();
  EXPECT_EQ(status["observedGeneration"], 3);
  EXPECT_EQ(status["model"], "m");
  EXPECT_EQ(status["desiredReplicas"], 2);
  EXPECT_EQ(status["replicas"], 2);
  EXPECT_EQ(status["readyReplicas"], 2);
  EXPECT_EQ(status["availableReplicas"], 2);
  EXPECT_EQ(status["updatedReplicas"], 2);
  EXPECT_EQ(status["selector"], "serving.kantha.dev/name=m,serving.kantha.dev/role=replica");
  EXPECT_EQ(status["currentRevision"], status["targetRevision"]);
  EXPECT_EQ(brief(status, "Available"), "True PodsAvailable");
  EXPECT_EQ(brief(status, "Progressing"), "False Complete");
  EXPECT_EQ(brief(status, "Degraded"), "False AsExpected");
  EXPECT_EQ(brief(status, "CapacityBlocked"), "False AllScheduled");
  EXPECT_EQ(brief(status, "WeightsReady"), "True Loaded");
  EXPECT_EQ(brief(status, "ScalingActive"), "False NotConfigured");
  EXPECT_EQ(brief(status, "RolloutGated"), "False NoGates");
}

TEST(StatusOf, IsWrittenAsTheGoldenFileSays) { expect_golden("status", Story().status()); }

TEST(StatusOf, PublishesEveryConditionOnTheFirstVisit) {
  const Json status = Story({}, 0).status();
  std::set<std::string> types;
  for (const Json& entry : status["conditions"]) {
    types.insert(entry["type"]);
    EXPECT_EQ(entry["observedGeneration"], 3);
    EXPECT_EQ(entry["lastTransitionTime"], "2026-11-30T00:53:20Z");
    EXPECT_FALSE(entry["reason"].get<std::string>().empty());
    EXPECT_FALSE(entry["message"].get<std::string>().empty());
  }
  EXPECT_EQ(types, (std::set<std::string>{"Available", "Progressing", "Degraded", "CapacityBlocked",
                                          "WeightsReady", "ScalingActive", "RolloutGated"}));
  EXPECT_EQ(brief(status, "WeightsReady"), "Unknown NoPodReady");
  EXPECT_FALSE(status.contains("currentRevision"));
}

TEST(StatusOf, WritesNothingWhileNothingChanges) {
  Story story;
  EXPECT_TRUE(story.pass());
  for (int hour = 1; hour < 48; ++hour) EXPECT_FALSE(story.pass(hour * 3600)) << hour;
}

TEST(StatusOf, WritesNothingWhileAPodFailsInTheSameWay) {
  Story story;
  story.pods[0].ready = false;
  story.pods[0].deletion = sample_time(-100);
  story.pods[1].ready = false;
  story.pods[1].engine.waiting_reason = "CrashLoopBackOff";
  EXPECT_TRUE(story.pass());
  for (int hour = 1; hour < 48; ++hour) EXPECT_FALSE(story.pass(hour * 3600)) << hour;
}

TEST(StatusOf, MovesTheTransitionTimeOnlyWhenTheStatusFlips) {
  Story story;
  story.pass();
  story.pods[0].ready = false;  // still within maxUnavailable: message changes, status does not
  EXPECT_TRUE(story.pass(10));
  Json status = parse_json(story.owner.status).value();
  EXPECT_EQ(brief(status, "Available"), "True PodsAvailable");
  EXPECT_EQ(condition(status, "Available")["lastTransitionTime"], "2026-11-30T00:53:20Z");
  story.pods[1].ready = false;
  EXPECT_TRUE(story.pass(20));
  status = parse_json(story.owner.status).value();
  EXPECT_EQ(brief(status, "Available"), "False PodsUnavailable");
  EXPECT_EQ(condition(status, "Available")["lastTransitionTime"], "2026-11-30T00:53:40Z");
}

TEST(StatusOf, FollowsTheGenerationOfAnEditWithoutEffect) {
  Story story;
  story.pass();
  Json edited = sample_json({{"rollout", {{"bake", {{"seconds", 5}}}}}});
  edited["metadata"]["generation"] = 4;
  edited["status"] = parse_json(story.owner.status).value();
  story.owner = cluster_serving_from_json(edited).value();
  EXPECT_TRUE(story.pass(5));
  const Json status = parse_json(story.owner.status).value();
  EXPECT_EQ(status["observedGeneration"], 4);
  for (const Json& entry : status["conditions"]) {
    EXPECT_EQ(entry["observedGeneration"], 4);
    EXPECT_EQ(entry["lastTransitionTime"], "2026-11-30T00:53:20Z");
  }
}

TEST(StatusOf, SaysWhatIsNeededWhenNoNodeFits) {
  struct Case {
    const char* resources;
    const char* need;
  };
  for (const Case& c : std::initializer_list<Case>{
           {R"({"accelerator": {"count": 4}})", "needs 4 × nvidia.com/gpu: 0/3 nodes"},
           {R"({"cpu": "2", "memory": "4Gi"})", "needs cpu 2 and memory 4Gi: 0/3 nodes"},
           {R"({"memory": "4Gi"})", "needs memory 4Gi: 0/3 nodes"},
           {R"({})", "needs a node: 0/3 nodes"}}) {
    Story story({{"replicas", 1}, {"resources", Json::parse(c.resources)}}, 1);
    story.pods[0].ready = false;
    story.pods[0].unschedulable_message = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu";
    const Json entry = condition(story.status(), "CapacityBlocked");
    EXPECT_EQ(entry["status"], "True");
    EXPECT_EQ(entry["reason"], "Unschedulable");
    EXPECT_THAT(entry["message"].get<std::string>(), HasSubstr(c.need));
    EXPECT_EQ(brief(story.status(), "Degraded"), "True PodsFailing");
  }
}

TEST(StatusOf, SaysWhetherANodeIsOnItsWay) {
  Story story({{"replicas", 1}, {"resources", {{"accelerator", {{"count", 4}}}}}}, 1);
  story.pods[0].ready = false;
  story.pods[0].unschedulable_message = "0/3 nodes are available";
  story.news = {ScaleUpNews::Is::kTriggered, "pod triggered scale-up: [{gpus 1->2 (max: 4)}]"};
  Json entry = condition(story.status(), "CapacityBlocked");
  EXPECT_EQ(entry["status"], "True");
  EXPECT_EQ(entry["reason"], "TriggeredScaleUp");
  EXPECT_EQ(entry["message"],
            "needs 4 × nvidia.com/gpu: 0/3 nodes are available; a node is on its way: pod "
            "triggered scale-up: [{gpus 1->2 (max: 4)}]");
  story.news = {ScaleUpNews::Is::kRefused, "1 max node group size reached"};
  entry = condition(story.status(), "CapacityBlocked");
  EXPECT_EQ(entry["reason"], "Unschedulable");
  EXPECT_EQ(entry["message"],
            "needs 4 × nvidia.com/gpu: 0/3 nodes are available; the node autoscaler adds none: 1 "
            "max node group size reached");
}

TEST(StatusOf, KeepsTheLastGoodCountsAndSaysWhyASpecIsRefused) {
  Story story;
  story.pass();
  const std::string status_before = story.owner.status;
  const Json good = parse_json(status_before).value();
  Json bad = sample_json({{"replicas", 20'000}, {"drain", {{"timeoutSeconds", -1}}}});
  bad["metadata"]["generation"] = 4;
  bad["status"] = good;
  story.owner = cluster_serving_from_json(bad).value();
  const Json status = story.status(60);
  EXPECT_EQ(status["observedGeneration"], 4);
  for (const char* count : {"desiredReplicas", "replicas", "readyReplicas", "availableReplicas",
                            "updatedReplicas", "targetRevision", "currentRevision"}) {
    EXPECT_EQ(status[count], good[count]) << count;
  }
  EXPECT_EQ(brief(status, "Available"), "True PodsAvailable");
  EXPECT_EQ(brief(status, "Progressing"), "False InvalidSpec");
  const std::string message = condition(status, "Progressing")["message"];
  EXPECT_THAT(message, HasSubstr("spec.replicas: expected an integer in [0, 10000], got 20000"));
  EXPECT_THAT(message, HasSubstr("spec.drain.timeoutSeconds"));
  EXPECT_THAT(message, HasSubstr("2 pods stay as they are"));
}

PodWeightsView view(std::string pod, noded::WeightsPhase phase, std::int64_t done,
                    std::string message) {
  return {std::move(pod),
          {.phase = phase,
           .bytes_done = done,
           .bytes_total = 100 << 20,
           .source = "https://x/m",
           .message = std::move(message)}};
}

std::string words(const Condition& condition) {
  return std::string(condition_status_name(condition.status)) + " " + condition.reason + ": " +
         condition.message;
}

TEST(WeightsCondition, SaysHowFarADownloadIsInTenths) {
  const auto fetching = [](std::int64_t done) {
    return words(weights_condition(
        false, {view("m-0", noded::WeightsPhase::kFetching, done, "being downloaded")}));
  };
  EXPECT_EQ(fetching(42 << 20),
            "False Fetching: pod m-0: being downloaded from https://x/m (40 % of 100 MiB)");
  EXPECT_EQ(fetching(42 << 20), fetching(49 << 20)) << "a status is not written every second";
  EXPECT_NE(fetching(42 << 20), fetching(50 << 20));
}

TEST(WeightsCondition, NamesTheWorst) {
  const std::vector<PodWeightsView> views = {
      view("m-0", noded::WeightsPhase::kReady, 100 << 20, "there"),
      view("m-1", noded::WeightsPhase::kWaiting, 0, "another pod downloads"),
      view("m-2", noded::WeightsPhase::kFailed, 0, "https://x/m: 404 Not Found")};
  EXPECT_EQ(words(weights_condition(false, views)),
            "False FetchFailed: pod m-2: https://x/m: 404 Not Found");
  EXPECT_EQ(words(weights_condition(true, views)), "True Loaded: an engine runs with them");
  EXPECT_EQ(weights_condition(false, {views[0]}).reason, "NoPodReady");
  EXPECT_EQ(weights_condition(false, {}).status, ConditionStatus::kUnknown);
}

TEST(StatusOf, NamesPodsWhoseNameSomebodyElseHolds) {
  Story story;
  story.pods[1].owner_uid = "other";
  story.pods[1].owner_name = "ReplicaSet/web";
  const Json entry = condition(story.status(), "Degraded");
  EXPECT_EQ(entry["status"], "True");
  EXPECT_EQ(entry["reason"], "NameTaken");
  EXPECT_EQ(entry["message"],
            "pod m-1 is not ours and is left alone: it is controlled by ReplicaSet/web");
}

TEST(StatusOf, NamesWhatWentWrongWithAWrite) {
  Story story;
  story.troubles = {{"Forbidden", "may not create pods in namespace apps"}};
  const Json entry = condition(story.status(), "Degraded");
  EXPECT_EQ(entry["status"], "True");
  EXPECT_EQ(entry["reason"], "Forbidden");
  EXPECT_EQ(entry["message"], "may not create pods in namespace apps");
}

TEST(StatusOf, BoundsItsMessages) {
  Story story({{"replicas", 40}}, 40);
  for (PodObject& pod : story.pods) {
    pod.ready = false;
    pod.engine.waiting_reason = "CrashLoopBackOff";
    pod.engine.waiting_message = std::string(500, 'x');
  }
  for (const Json& entry : story.status()["conditions"]) {
    EXPECT_LE(entry["message"].get<std::string>().size(), 1024u);
  }
}

TEST(StatusOf, CountsPodsOfAllRevisionsForTheScaleSubresource) {
  Story story({{"replicas", 3}}, 3);
  story.pods[0].ready = false;                // starting: counts
  story.pods[1].deletion = sample_time(100);  // on its way out: does not
  story.pods[2].told_revision = "another";    // told something else: counts
  EXPECT_EQ(story.status()["replicas"], 2);
  EXPECT_EQ(story.status()["readyReplicas"], 1);
}

TEST(StatusOf, TellsThatAnObjectIsBeingDeleted) {
  Story story;
  story.owner.meta.deletion_timestamp = "2026-11-30T00:53:20Z";
  const Json status = story.status();
  EXPECT_EQ(brief(status, "Available"), "False Deleting");
  EXPECT_EQ(condition(status, "Progressing")["message"], "waits for 2 pods to drain");
}

TEST(StatusOf, SaysWhatThisVersionDoesNotDo) {
  const Json status = Story({{"autoscaling", {{"maxReplicas", 4}}},
                             {"rollout", {{"rings", {{{"name", "a"}, {"size", 1}}}}}}})
                          .status();
  EXPECT_EQ(brief(status, "ScalingActive"), "Unknown NotYet");
  EXPECT_EQ(brief(status, "RolloutGated"), "False Open");
  EXPECT_EQ(brief(Story({{"rollout", {{"paused", true}}}}).status(), "RolloutGated"),
            "True Paused");
}

TEST(StatusChanged, IgnoresFieldsThatOthersWrote) {
  Story story;
  story.pass();
  Json last = parse_json(story.owner.status).value();
  last["note"] = "of somebody else";
  story.owner.status = dump_json(last);
  EXPECT_FALSE(story.pass(60));
  last["replicas"] = 7;
  story.owner.status = dump_json(last);
  EXPECT_TRUE(story.pass(60));
}

TEST(StatusDocument, IsOfThisVeryObject) {
  const Json document = status_document(sample_owner(), {{"replicas", 1}});
  EXPECT_EQ(document["apiVersion"], "serving.kantha.dev/v1alpha1");
  EXPECT_EQ(document["metadata"]["uid"], "uid-m");
  EXPECT_EQ(document["status"]["replicas"], 1);
}

TEST(LastStatus, CountsWhatCannotBeReadAsNeverWritten) {
  for (const char* bad : {"", "[]", "{", R"({"desiredReplicas":"x","conditions":{}})",
                          R"({"desiredReplicas":-1,"conditions":[1,{"type":"A","status":"True"},
                              {"type":"A","status":"Maybe","lastTransitionTime":
                               "2026-11-30T00:53:20Z"}]})"}) {
    const LastStatus last = last_status_of(status_from_text(bad));
    EXPECT_FALSE(last.desired_replicas) << bad;
    EXPECT_TRUE(last.conditions.empty()) << bad;
  }
}

}  // namespace
}  // namespace kantha::serving

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/digest.h"
#include "base/rng.h"
#include "operator/serving/children.h"
#include "operator/serving/plan_cluster.h"
#include "operator/serving/timestamp.h"
#include "tests/operator/serving/cluster_sample.h"
#include "tests/operator/serving/sample_moment.h"

namespace kantha::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// An object, its pods as JSON, and what noded said.
struct Scene {
  ClusterServing owner = sample_owner();
  std::vector<Json> pods;
  FactsByPod facts;
  Moment at = sample_moment();

  explicit Scene(const Json& spec = Json::object()) : owner(sample_owner(spec)) {}

  ClusterObservation observe() const {
    std::vector<PodObject> decoded_pods;
    for (const Json& pod : pods) decoded_pods.push_back(decoded(pod));
    std::vector<const PodObject*> pointers;
    for (const PodObject& pod : decoded_pods) pointers.push_back(&pod);
    return observe_cluster(owner, sample_settings(), pointers, facts, at);
  }
  ClusterPlan plan() const { return plan_cluster(owner, observe(), at); }
  void add_pods(int count) {
    for (int i = 0; i < count; ++i) pods.push_back(live_pod(owner, sample_settings(), i));
  }
  /// The edit that a user makes: the object changes, the pods stay.
  void edit(const Json& spec) {
    const std::string status = owner.status;
    owner = sample_owner(spec);
    owner.status = status;
  }
};

std::vector<std::string> deeds(const ClusterPlan& made) {
  std::vector<std::string> out;
  for (const Action& action : made.plan.actions) {
    out.push_back(std::string(action_name(action.kind)) + " " + action.pod);
  }
  return out;
}

TEST(ObserveCluster, SettlesOnPodsThatRunWhatTheyWereBornWith) {
  Scene scene;
  scene.add_pods(2);
  const ClusterPlan made = scene.plan();
  EXPECT_TRUE(made.plan.settled);
  EXPECT_EQ(made.plan.counts.updated, 2);
  EXPECT_THAT(scene.observe().to_ask, IsEmpty());
}

TEST(ObserveCluster, WhatIsKnownOfATargetGivesTheSamePictureAsFindingItAnew) {
  Scene scene;
  scene.add_pods(2);
  KnownTarget known;
  const auto expect_the_same = [&](const char* when) {
    const ClusterObservation anew =
        observe_cluster(scene.owner, sample_settings(), {}, {}, scene.at);
    for (int look = 0; look < 2; ++look) {
      const ClusterObservation kept =
          observe_cluster(scene.owner, sample_settings(), {}, {}, scene.at, &known);
      EXPECT_EQ(kept.observed.target, anew.observed.target) << when;
      EXPECT_EQ(kept.rollout.target_spec, anew.rollout.target_spec) << when;
      EXPECT_EQ(kept.rollout.state, anew.rollout.state) << when;
      EXPECT_EQ(kept.rollout.good_revision, anew.rollout.good_revision) << when;
    }
  };
  expect_the_same("nothing is good yet");
  EXPECT_FALSE(known.spec_text.empty());
  const auto make_good = [&] {
    const RolloutState good = *scene.plan().plan.rollout;
    scene.owner.status = dump_json(Json{{"rollout", to_json(good)}});
  };
  make_good();
  expect_the_same("the target is good");
  EXPECT_TRUE(known.spec_text.empty()) << "status has that text";
  scene.edit({{"engine", {{"config", {{"maxNumSeqs", 3}}}}}});
  scene.owner.meta.generation = 4;
  expect_the_same("another spec");
  EXPECT_EQ(known.generation, 4);
  scene.owner.status = "{}";
  expect_the_same("somebody took the status away");
}

TEST(ObserveCluster, ReplicasBeyondThePodsAreMade) {
  Scene scene({{"replicas", 3}});
  scene.add_pods(1);
  EXPECT_THAT(deeds(scene.plan()), ElementsAre("CreatePod m-1", "CreatePod m-2"));
}

/// A pod that was told the revision of `owner` in place.
void tell(Json& pod, const ClusterServing& owner) {
  const Revision target = cluster_revision_of(owner.serving, sample_settings());
  for (const auto& op : render_pod_retell(owner, sample_settings(), target, decoded(pod))) {
    if (op["op"] != "test") pod[Json::json_pointer(op["path"].get<std::string>())] = op["value"];
  }
}

TEST(ObserveCluster, KnowsAToldRevisionOnlyWhenConfigAndImageAreSeenRunning) {
  const Json edit = {{"engine", {{"image", "localhost/e:2"}, {"config", {{"maxNumSeqs", 8}}}}}};
  const std::string told = cluster_revision_of(sample_owner(edit).serving, sample_settings()).whole;
  const std::string hash = sha256_hex(cluster_engine_config(sample_owner(edit).serving));
  struct Case {
    const char* what;
    bool asked;
    std::string hash;
    std::string image;
    int restarts_before;
    int restarts;
    std::string revision;
  };
  const std::string old = "localhost/kantha-engine:dev";
  for (const Case& c : std::initializer_list<Case>{
           {"not asked yet", false, hash, "localhost/e:2", 0, 1, ""},
           {"still the old config", true, "old", "localhost/e:2", 0, 1, ""},
           {"still the old image", true, hash, old, 0, 0, ""},
           {"still the old image, of an engine that had crashed before", true, hash, old, 7, 7, ""},
           {"both", true, hash, "localhost/e:2", 0, 0, told},
           // A node that has both tags of one digest reports either.
           {"the old tag, started again since", true, hash, old, 0, 1, told},
           {"the old tag, started again after crashes", true, hash, old, 7, 8, told}}) {
    Scene scene;
    scene.add_pods(1);
    Json& status = scene.pods[0]["status"]["containerStatuses"][1];
    status["restartCount"] = c.restarts_before;
    scene.edit(edit);
    tell(scene.pods[0], scene.owner);
    status["image"] = c.image;
    status["restartCount"] = c.restarts;
    if (c.asked) scene.facts["uid-pod-0"].config_hash = c.hash;
    const ClusterObservation seen = scene.observe();
    EXPECT_EQ(seen.observed.pods.at(0).revision, c.revision) << c.what;
    EXPECT_EQ(seen.to_ask.size(), c.revision.empty() ? 1u : 0u) << c.what;
  }
}

TEST(ObserveCluster, AsksForNoImageWhereNoneWasTold) {
  // A node that has two tags of one digest reports the other one from the start.
  Scene scene;
  scene.add_pods(1);
  scene.pods[0]["status"]["containerStatuses"][1]["image"] = "localhost/another-tag:1";
  scene.edit({{"engine", {{"config", {{"maxNumSeqs", 8}}}}}});
  tell(scene.pods[0], scene.owner);
  scene.facts["uid-pod-0"].config_hash = decoded(scene.pods[0]).engine_config_hash;
  EXPECT_EQ(scene.observe().observed.pods.at(0).revision, decoded(scene.pods[0]).told_revision);
}

TEST(ObserveCluster, TakesTheFirstStartOfAnEngineThatHadNotStartedWhenItWasTold) {
  const Json edit = {{"engine", {{"image", "localhost/e:2"}}}};
  Scene scene;
  scene.add_pods(1);
  Json& status = scene.pods[0]["status"]["containerStatuses"][1];
  status["state"] = {{"waiting", {{"reason", "ImagePullBackOff"}}}};
  scene.edit(edit);
  tell(scene.pods[0], scene.owner);
  scene.facts["uid-pod-0"].config_hash = decoded(scene.pods[0]).engine_config_hash;
  EXPECT_EQ(scene.observe().observed.pods.at(0).revision, "") << "it still waits";
  status["state"] = {{"running", {{"startedAt", "2026-11-30T00:51:00Z"}}}};
  status["image"] = "localhost/the-same-digest:1";
  EXPECT_EQ(scene.observe().observed.pods.at(0).revision, decoded(scene.pods[0]).told_revision);
  // What a person wrote there is reached by no count; the reported image still tells.
  scene.pods[0]["metadata"]["annotations"][kAnnotationImageTold] = "twice";
  EXPECT_EQ(scene.observe().observed.pods.at(0).revision, "");
  status["image"] = "localhost/e:2";
  EXPECT_EQ(scene.observe().observed.pods.at(0).revision, decoded(scene.pods[0]).told_revision);
}

TEST(ObserveCluster, DoesNotTakeAPodThatIsToldBackForOneThatNeverLeft) {
  Scene scene;
  scene.add_pods(2);
  scene.edit({{"engine", {{"config", {{"maxNumSeqs", 8}}}}}});
  for (Json& pod : scene.pods) tell(pod, scene.owner);
  const std::string hash = sha256_hex(cluster_engine_config(scene.owner.serving));
  for (const char* uid : {"uid-pod-0", "uid-pod-1"}) scene.facts[uid].config_hash = hash;
  EXPECT_TRUE(scene.plan().plan.settled);
  scene.edit(Json::object());
  EXPECT_THAT(deeds(scene.plan()), ElementsAre("RestartEngine m-1"));
  tell(scene.pods[1], scene.owner);
  EXPECT_EQ(decoded(scene.pods[1]).told_revision, decoded(scene.pods[1]).born_revision);
  EXPECT_EQ(scene.observe().observed.pods.at(1).revision, "");
  EXPECT_THAT(deeds(scene.plan()), IsEmpty()) << "its engine still runs the other config";
  EXPECT_THAT(scene.observe().to_ask, ElementsAre("m-1"));
  scene.facts["uid-pod-1"].config_hash = decoded(scene.pods[1]).engine_config_hash;
  EXPECT_THAT(deeds(scene.plan()), ElementsAre("RestartEngine m-0"));
}

/// Applies a JSON Patch of ours whose tests hold.
void patch(Json& pod, const OrderedJson& ops) { pod = pod.patch(Json::parse(dump_json(ops))); }

TEST(ObserveCluster, AsksNobodyAgainOnceARevisionIsNotedAsVerified) {
  Scene scene;
  scene.add_pods(1);
  scene.edit({{"replicas", 1}, {"engine", {{"config", {{"maxNumSeqs", 8}}}}}});
  tell(scene.pods[0], scene.owner);
  scene.facts["uid-pod-0"].config_hash = decoded(scene.pods[0]).engine_config_hash;
  const auto to_confirm = scene.observe().to_confirm;
  ASSERT_EQ(to_confirm.size(), 1u);
  EXPECT_EQ(to_confirm[0].name, "m-0");
  EXPECT_FALSE(to_confirm[0].told_revision.empty());
  patch(scene.pods[0], render_pod_confirm(decoded(scene.pods[0])));
  scene.facts.clear();  // the operator restarts
  EXPECT_TRUE(scene.plan().plan.settled);
  EXPECT_THAT(scene.observe().to_ask, IsEmpty());
  EXPECT_THAT(scene.observe().to_confirm, IsEmpty());
  // Told back and forth again, the note of before counts no more.
  const ClusterServing edited = scene.owner;
  scene.edit({{"replicas", 1}});
  tell(scene.pods[0], scene.owner);
  scene.owner = edited;
  tell(scene.pods[0], scene.owner);
  EXPECT_THAT(scene.observe().to_ask, ElementsAre("m-0"));
}

TEST(ObserveCluster, IgnoresWhatNodedSaidOfAPredecessor) {
  Scene scene;
  scene.add_pods(1);
  scene.facts["uid-of-before"].draining = true;
  EXPECT_FALSE(scene.observe().observed.pods.at(0).draining);
}

TEST(ObserveCluster, RestartsOneEngineAtATimeAfterAnEdit) {
  Scene scene;
  scene.add_pods(2);
  scene.edit({{"engine", {{"config", {{"maxNumSeqs", 8}}}}}});
  EXPECT_THAT(deeds(scene.plan()), ElementsAre("RestartEngine m-1"));
  tell(scene.pods[1], scene.owner);
  EXPECT_THAT(deeds(scene.plan()), IsEmpty());
  scene.facts["uid-pod-1"].config_hash = sha256_hex(cluster_engine_config(scene.owner.serving));
  EXPECT_THAT(deeds(scene.plan()), ElementsAre("RestartEngine m-0"));
}

TEST(ObserveCluster, ReplacesPodsWhoseMakeChanged) {
  Scene scene;
  scene.add_pods(2);
  scene.edit({{"resources", {{"memory", "2Gi"}}}});
  EXPECT_THAT(deeds(scene.plan()), ElementsAre("DrainPod m-1"));
}

TEST(ObserveCluster, NeverTouchesPodsThatAreNotOurs) {
  struct Case {
    const char* what;
    const char* pointer;
    Json value;
    const char* why;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"owner uid flipped", "/metadata/ownerReferences/0/uid", "uid-n", "ModelServing/m"},
           {"no owner", "/metadata/ownerReferences", Json::array(), "no controlling owner"},
           {"owner that does not control", "/metadata/ownerReferences/0/controller", false,
            "no controlling owner"},
           {"ordinal label flipped", "/metadata/labels/serving.kantha.dev~1ordinal", "0",
            "does not confirm"},
           {"ordinal label garbled", "/metadata/labels/serving.kantha.dev~1ordinal", "x",
            "does not confirm"},
           {"name label flipped", "/metadata/labels/serving.kantha.dev~1name", "n", "=n"},
           {"role label flipped", "/metadata/labels/serving.kantha.dev~1role", "x", "=x"}}) {
    Scene scene;
    scene.add_pods(2);
    scene.pods[1][Json::json_pointer(c.pointer)] = c.value;
    const ClusterObservation seen = scene.observe();
    ASSERT_EQ(seen.foreign.size(), 1u) << c.what;
    EXPECT_EQ(seen.foreign[0].name, "m-1");
    EXPECT_THAT(seen.foreign[0].why, HasSubstr(c.why)) << c.what;
    EXPECT_THAT(deeds(scene.plan()), IsEmpty()) << c.what << ": its name is taken";
    Scene fewer = scene;
    fewer.owner = sample_owner({{"replicas", 0}});
    EXPECT_THAT(deeds(fewer.plan()), ElementsAre("DrainPod m-0")) << c.what;
  }
}

TEST(ObserveCluster, ReplacesAPodThatEndedButNotAtOnceAfterItsBirth) {
  Scene scene;
  scene.add_pods(2);
  scene.pods[0]["status"] = {{"phase", "Failed"}, {"reason", "UnexpectedAdmissionError"}};
  scene.pods[0]["metadata"]["creationTimestamp"] = timestamp_text(sample_time(-5));
  EXPECT_THAT(deeds(scene.plan()), IsEmpty());
  EXPECT_EQ(scene.observe().look_again, sample_time(25));
  EXPECT_EQ(scene.plan().plan.counts.existing, 1) << "an ended pod is no replica";
  scene.at = sample_moment(25);
  EXPECT_THAT(deeds(scene.plan()), ElementsAre("DeletePod m-0"));
}

TEST(ObserveCluster, CleansUpTwentyRejectedPodsAndMakesNoTwentyFirst) {
  Scene scene({{"replicas", 20}});
  scene.add_pods(20);
  for (Json& pod : scene.pods) {
    pod["status"] = {{"phase", "Failed"}, {"reason", "OutOfnvidia.com/gpu"}};
  }
  const ClusterPlan made = scene.plan();
  EXPECT_EQ(made.plan.actions.size(), 20u);
  for (const Action& action : made.plan.actions) EXPECT_EQ(action.kind, ActionKind::kDeletePod);
  EXPECT_EQ(made.plan.counts.existing, 0);
}

TEST(ObserveCluster, SaysWhenTheEndOfAPodTakesTooLong) {
  Scene scene;
  scene.add_pods(2);
  scene.pods[1]["metadata"]["deletionTimestamp"] = timestamp_text(sample_time(-59));
  EXPECT_FALSE(scene.observe().observed.pods.at(1).stuck);
  EXPECT_EQ(scene.observe().look_again, sample_time(1));
  scene.at = sample_moment(1);
  const ClusterObservation seen = scene.observe();
  EXPECT_TRUE(seen.observed.pods.at(1).stuck);
  EXPECT_THAT(seen.observed.pods.at(1).message, HasSubstr("node-a"));
  EXPECT_THAT(deeds(scene.plan()), IsEmpty()) << "no second pod while the first holds its device";
}

TEST(ObserveCluster, LetsNodeAutoscalersMoveAPodOnceItIsReady) {
  Scene scene;
  scene.add_pods(2);
  scene.pods[0]["status"]["conditions"][1]["status"] = "False";
  EXPECT_THAT(scene.observe().to_release, ElementsAre("m-1"));
}

/// Replaces one random value by something of another type.
void damage(Json& json, std::uint64_t seed, std::uint64_t& counter) {
  if (json.is_structured() && !json.empty() && random_bits(seed, counter++) % 8 != 0) {
    auto it = json.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(random_bits(seed, counter++) % json.size()));
    return damage(*it, seed, counter);
  }
  const Json values[] = {nullptr,      -1,         1.5, "x", true, Json::array({nullptr}),
                         {{"a", "b"}}, UINT64_MAX, ""};
  json = values[random_bits(seed, counter++) % std::size(values)];
}

TEST(ObserveClusterProperty, AnswersWhateverIsInTheObject) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Json json = sample_json({{"autoscaling", {{"maxReplicas", 4}}},
                             {"rollout", {{"rings", {{{"name", "a"}, {"size", "5%"}}}}}}});
    json["status"] = {{"conditions", {{{"type", "Available"}}}}};
    Json pod = live_pod(sample_owner(), sample_settings(), 0);
    std::uint64_t counter = 0;
    for (int i = 0; i < 3; ++i) damage(json, seed, counter);
    for (int i = 0; i < 3; ++i) damage(pod, seed, counter);
    const auto owner = cluster_serving_from_json(json);
    const auto decoded_pod = pod_object_from_json(pod);
    if (!owner.ok() || !decoded_pod.ok()) continue;
    const ClusterObservation seen =
        observe_cluster(*owner, sample_settings(), {&*decoded_pod}, {}, sample_moment());
    EXPECT_EQ(seen.hold_reason == "InvalidSpec", !owner->problems.empty());
  }
}

TEST(PlanCluster, HoldsEverythingWhileTheSpecIsImpossible) {
  for (const Json& spec :
       std::initializer_list<Json>{{{"replicas", -1}},
                                   {{"replicas", "many"}},
                                   {{"model", {{"source", {{"hostPath", nullptr}}}}}},
                                   {{"engine", {{"config", {{"kvCacheMemory", "lots"}}}}}}}) {
    Scene scene;
    scene.add_pods(2);
    scene.owner.status = R"({"desiredReplicas":2,"updatedReplicas":2})";
    scene.edit(spec);
    scene.pods[0]["status"]["conditions"][1]["status"] = "False";
    const ClusterPlan made = scene.plan();
    EXPECT_THAT(deeds(made), IsEmpty()) << spec.dump();
    EXPECT_FALSE(made.plan.settled);
    EXPECT_EQ(made.plan.counts.wanted, 2) << "the last good count";
    EXPECT_EQ(made.plan.counts.updated, 1);
    EXPECT_EQ(made.plan.conditions.at(1).status, ConditionStatus::kFalse);
    EXPECT_EQ(made.plan.conditions.at(1).reason, "InvalidSpec");
    EXPECT_THAT(made.plan.conditions.at(1).message, HasSubstr("2 pods stay as they are"));
    // And the way back is the old spec alone.
    scene.edit(Json::object());
    scene.pods[0]["status"]["conditions"][1]["status"] = "True";
    EXPECT_TRUE(scene.plan().plan.settled);
  }
}

TEST(ObserveCluster, AsksPodsThatFetchHowFarTheyAre) {
  Scene scene({{"model",
                {{"source",
                  {{"hostPath", nullptr},
                   {"http", {{"url", "https://x/m"}, {"sha256", std::string(64, 'a')}}}}}}}});
  EXPECT_THAT(deeds(scene.plan()), ElementsAre("CreatePod m-0", "CreatePod m-1"));
  scene.add_pods(2);
  EXPECT_THAT(scene.observe().to_ask, IsEmpty()) << "ready pods have them";
  scene.pods[1]["status"]["conditions"][1]["status"] = "False";
  EXPECT_THAT(scene.observe().to_ask, ElementsAre("m-1"));
  noded::PodState state;
  state.weights.emplace().bytes_done = 5;
  scene.facts["uid-pod-1"] = noded_facts(state);
  const ClusterObservation seen = scene.observe();
  ASSERT_EQ(seen.weights.size(), 1u);
  EXPECT_EQ(seen.weights[0].pod, "m-1");
  EXPECT_EQ(seen.weights[0].state.bytes_done, 5);
}

TEST(PlanCluster, DrainsEveryPodOfAnObjectThatIsDeleted) {
  Scene scene;
  scene.add_pods(2);
  scene.owner.meta.deletion_timestamp = "2026-11-30T00:53:20Z";
  scene.pods[0]["status"]["conditions"][1]["status"] = "False";
  EXPECT_THAT(deeds(scene.plan()), ElementsAre("DeletePod m-0", "DrainPod m-1"));
  EXPECT_FALSE(scene.plan().release_finalizer);
  for (Json& pod : scene.pods) {
    pod["metadata"]["deletionTimestamp"] = timestamp_text(sample_time(300));
  }
  EXPECT_THAT(deeds(scene.plan()), IsEmpty());
  EXPECT_FALSE(scene.plan().release_finalizer);
  scene.at = sample_moment(361);
  EXPECT_TRUE(scene.plan().release_finalizer) << "a dead node holds no object for ever";
  scene.pods.clear();
  scene.at = sample_moment();
  EXPECT_TRUE(scene.plan().release_finalizer);
}

TEST(PlanCluster, DeletesAnObjectWithAnInvalidSpecAndAForeignPod) {
  Scene scene;
  scene.add_pods(1);
  scene.pods[0]["metadata"]["ownerReferences"][0]["uid"] = "other";
  scene.edit({{"replicas", -1}});
  scene.owner.meta.deletion_timestamp = "2026-11-30T00:53:20Z";
  EXPECT_THAT(deeds(scene.plan()), IsEmpty());
  EXPECT_TRUE(scene.plan().release_finalizer);
}

TEST(PlanCluster, RollsTheFixOverPodsThatCrash) {
  Scene scene;
  scene.add_pods(2);
  for (Json& pod : scene.pods) {
    pod["status"]["conditions"][1]["status"] = "False";
    pod["status"]["containerStatuses"][1]["state"] = {
        {"waiting", {{"reason", "CrashLoopBackOff"}}}};
  }
  scene.edit({{"engine", {{"config", {{"maxNumSeqs", 8}}}}}});
  EXPECT_THAT(deeds(scene.plan()), ElementsAre("RestartEngine m-1", "RestartEngine m-0"));
}

}  // namespace
}  // namespace kantha::serving

#include <gtest/gtest.h>

#include "operator/serving/children.h"
#include "operator/serving/image_pull.h"
#include "operator/serving/plan_cluster.h"
#include "operator/serving/status_of.h"
#include "tests/operator/serving/cluster_sample.h"
#include "tests/operator/serving/sample_moment.h"

/// Rollouts as a cluster sees them: status.rollout from pass to pass, pods by their annotations.
namespace kantha::serving {
namespace {

Json rings(const Json& more = Json::object()) {
  Json out = {{"rollout",
               {{"rings", {{{"name", "canary"}, {"size", 1}}, {{"name", "all"}, {"size", "100%"}}}},
                {"bake", {{"seconds", 60}, {"minRequests", 0}}}}},
              {"replicas", 3}};
  out.merge_patch(more);
  return out;
}

const Json kNewImage = {{"engine", {{"image", "localhost/kantha-engine:new"}}}};

struct Story {
  ClusterServing owner = sample_owner(rings());
  std::vector<Json> pods;
  FactsByPod facts;
  std::int64_t second = 0;
  ClusterPlan made;
  ClusterObservation seen;
  Json status;

  Story() {
    for (int i = 0; i < 3; ++i) pods.push_back(live_pod(owner, sample_settings(), i));
    pass();
  }

  /// The edit that a user makes; the nodes have the image already.
  void edit(const Json& spec) {
    edit_unprepared(spec);
    const std::string image = owner.serving.spec.engine.image;
    if (!image.empty()) pods.push_back(pull(image, {{"running", Json::object()}}));
  }
  void edit_unprepared(const Json& spec) {
    const std::string before = owner.status;
    owner = sample_owner(rings(spec));
    owner.status = before;
  }
  /// The pod that brings an image to the node of all pods, with its container in a state.
  Json pull(const std::string& image, const Json& state, const std::string& image_id = "") const {
    Json out = Json::parse(dump_json(render_image_pull(owner, sample_settings(), "node-a", image)));
    out["metadata"]["uid"] = "uid-pull";
    out["metadata"]["resourceVersion"] = "12";
    out["status"] = {
        {"phase", "Running"},
        {"containerStatuses",
         Json::array({{{"name", "engine"}, {"imageID", image_id}, {"state", state}}})}};
    return out;
  }

  /// One pass; its status is what the next one reads.
  std::vector<std::string> pass(const Verdict& verdict = {}) {
    std::vector<PodObject> decoded_pods;
    for (const Json& pod : pods) decoded_pods.push_back(decoded(pod));
    std::vector<const PodObject*> pointers;
    for (const PodObject& pod : decoded_pods) pointers.push_back(&pod);
    seen = observe_cluster(owner, sample_settings(), pointers, facts, sample_moment(second));
    made = plan_cluster(owner, seen, sample_moment(second), verdict);
    status = status_of(owner, seen, made.plan, {}, sample_time(second));
    owner.status = dump_json(status);
    std::vector<std::string> out;
    for (const Action& action : made.plan.actions) {
      out.push_back(std::string(action_name(action.kind)) + " " + action.pod +
                    (action.to_last_good ? " good" : ""));
    }
    return out;
  }

  std::string phase() const { return status["rollout"]["phase"]; }
  /// The pod as it is once its engine runs what the object asks for now.
  void move(int ordinal) {
    pods[static_cast<std::size_t>(ordinal)] = live_pod(owner, sample_settings(), ordinal);
  }
};

using Deeds = std::vector<std::string>;

TEST(ClusterRollout, TheFirstRevisionThatRunsEverywhereIsGood) {
  Story story;
  EXPECT_EQ(story.phase(), "Done");
  EXPECT_EQ(story.status["rollout"]["lastGood"], story.status["targetRevision"]);
  const Json good = Json::parse(story.status["rollout"]["goodSpec"].get<std::string>());
  EXPECT_EQ(good["engine"]["image"], "localhost/kantha-engine:dev") << "the operator's, resolved";
  EXPECT_FALSE(good.contains("replicas"));
  const Json before = story.status;
  story.second = 4000;
  EXPECT_EQ(story.pass(), Deeds{});
  EXPECT_EQ(story.status, before) << "nothing changes by the clock";
}

TEST(ClusterRollout, ARingMovesBakesAndTheNextFollows) {
  Story story;
  story.edit(kNewImage);
  EXPECT_EQ(story.pass(), Deeds{"RestartEngine m-0"});
  story.move(0);
  EXPECT_EQ(story.pass(), Deeds{});
  EXPECT_EQ(story.phase(), "Baking");
  story.second = 59;
  EXPECT_EQ(story.pass({VerdictKind::kPass, "well"}), Deeds{});
  story.second = 60;
  EXPECT_EQ(story.pass({VerdictKind::kPass, "well"}), Deeds{"RestartEngine m-2"});
  EXPECT_EQ(story.status["rollout"]["ring"], "all");
}

TEST(ClusterRollout, AFailureIsWrittenBeforeItsDeedsAndGoesBackToTheGoodSpec) {
  Story story;
  story.edit(kNewImage);
  story.pass();
  story.move(0);
  story.pass();
  story.pass({VerdictKind::kFail, "slow"});
  EXPECT_TRUE(story.made.write_first);
  const Json& decision = story.status["decisions"].back();
  EXPECT_EQ(decision["kind"], "Rollout");
  EXPECT_EQ(decision["from"], "Baking");
  EXPECT_EQ(decision["to"], "RollingBack");
  EXPECT_EQ(story.phase(), "RollingBack");
  EXPECT_EQ(story.pass(), Deeds{"RestartEngine m-0 good"});
  EXPECT_FALSE(story.made.write_first);
  ASSERT_TRUE(story.seen.rollout.good.has_value());
  EXPECT_EQ(story.seen.rollout.good->serving.spec.engine.image, "localhost/kantha-engine:dev");
  const OrderedJson back =
      render_pod_retell(*story.seen.rollout.good, sample_settings(),
                        *story.seen.rollout.good_revision, decoded(story.pods[0]));
  EXPECT_NE(dump_json(back).find("localhost/kantha-engine:dev"), std::string::npos);
}

TEST(ClusterRollout, APodThatIsMissingMeanwhileIsMadeOnTheGoodRevision) {
  Story story;
  story.edit(kNewImage);
  story.pass();
  story.move(0);
  story.pass();
  story.pods.erase(story.pods.begin() + 2);
  EXPECT_EQ(story.pass(), Deeds{"CreatePod m-2 good"});
}

TEST(ClusterRollout, AnImageThatCannotBePulledFailsAtOnce) {
  Story story;
  story.edit(kNewImage);
  story.pass();
  story.move(0);
  Json& pod = story.pods[0];
  pod["status"]["conditions"][1]["status"] = "False";
  pod["status"]["containerStatuses"][1]["state"] = {{"waiting", {{"reason", "ErrImagePull"}}}};
  story.pass();
  EXPECT_EQ(story.phase(), "RollingBack");
  EXPECT_EQ(story.pass(), Deeds{"RestartEngine m-0 good"});
}

TEST(ClusterRollout, TheNodeHasTheImageBeforeItsPodIsTold) {
  Story story;
  story.edit_unprepared(kNewImage);
  EXPECT_EQ(story.pass(), Deeds{});
  EXPECT_EQ(story.phase(), "Preparing");
  EXPECT_EQ(story.made.pull_on, Deeds{"node-a"});
  const std::string image = "localhost/kantha-engine:new";
  story.pods.push_back(story.pull(image, {{"waiting", {{"reason", "ContainerCreating"}}}}));
  EXPECT_EQ(story.pass(), Deeds{});
  EXPECT_TRUE(story.seen.foreign.empty()) << "it is not in anybody's way";
  EXPECT_EQ(story.status["replicas"], 3) << "and counts as no replica";
  story.pods.back() = story.pull(image, {{"terminated", {{"exitCode", 1}}}});
  EXPECT_EQ(story.pass(), Deeds{"RestartEngine m-0"});
  EXPECT_EQ(story.phase(), "Swapping");
}

TEST(ClusterRollout, AnImageThatIsNotThereTouchesNoPod) {
  Story story;
  story.edit_unprepared(kNewImage);
  story.pass();
  story.pods.push_back(
      story.pull("localhost/kantha-engine:new",
                 {{"waiting", {{"reason", "ErrImagePull"}, {"message", "manifest unknown"}}}}));
  EXPECT_EQ(story.pass(), Deeds{});
  EXPECT_EQ(story.phase(), "RollingBack");
  EXPECT_EQ(story.status["rollout"]["message"],
            "node node-a: engine: ImagePullBackOff: manifest unknown");
  EXPECT_EQ(story.pass(), Deeds{});
  EXPECT_EQ(story.phase(), "RolledBack");
}

TEST(ClusterRollout, ATagIsResolvedByTheFirstThatHasIt) {
  const std::string digest = "localhost/kantha-engine@sha256:" + std::string(64, 'a');
  Story story;
  EXPECT_FALSE(story.status["rollout"].contains("image")) << "what was loaded by hand has none";
  story.edit_unprepared(kNewImage);
  story.pass();
  story.pods.push_back(
      story.pull("localhost/kantha-engine:new", {{"terminated", {{"exitCode", 0}}}}, digest));
  story.pass();
  EXPECT_EQ(story.status["rollout"]["image"], digest);
  story.pods.back() = story.pull("localhost/kantha-engine:new", {{"terminated", {{"exitCode", 0}}}},
                                 "localhost/kantha-engine@sha256:" + std::string(64, 'b'));
  story.pass();
  EXPECT_EQ(story.status["rollout"]["image"], digest) << "once";
}

TEST(ClusterRollout, PodsOfOneRevisionThatTokeniseDifferentlyAreNamedUntilTheyDoNot) {
  Story story;
  const auto say = [&](const std::string& uid, const std::string& hash) {
    story.facts[uid].tokenizer_hash = hash;
    story.facts[uid].taken = sample_moment(story.second).now;
  };
  const auto degraded = [&]() -> Json {
    for (const Json& condition : story.status["conditions"]) {
      if (condition["type"] == "Degraded") return condition;
    }
    return {};
  };
  say("uid-pod-0", std::string(64, 'a'));
  say("uid-pod-1", std::string(64, 'a'));
  story.pass();
  EXPECT_EQ(degraded()["status"], "False");
  say("uid-pod-2", std::string(64, 'b'));
  story.pass();
  EXPECT_EQ(degraded()["reason"], "TokenizerSkew");
  EXPECT_NE(degraded()["message"].get<std::string>().find("m-0, m-1 aaaaaaaaaaaa; m-2 bbbb"),
            std::string::npos)
      << degraded();
  story.second = 30;
  story.pass();
  EXPECT_EQ(story.seen.to_ask.size(), 3U) << "they are asked again, and";
  story.facts.clear();
  story.pass();
  EXPECT_EQ(story.seen.to_ask.size(), 3U) << "after a restart of the operator, too";
  say("uid-pod-2", std::string(64, 'a'));
  story.pass();
  EXPECT_EQ(degraded()["status"], "False");
}

TEST(ClusterRollout, AnUpgradeOfTheOperatorsEngineIsARolloutToo) {
  Story story;
  ClusterSettings upgraded = sample_settings();
  upgraded.engine_image = "localhost/kantha-engine:next";
  const ClusterObservation seen = observe_cluster(story.owner, upgraded, {}, {}, sample_moment(1));
  ASSERT_TRUE(seen.rollout.good_revision.has_value());
  EXPECT_NE(seen.rollout.good_revision->whole, seen.observed.target.whole);
  EXPECT_EQ(seen.rollout.good->serving.spec.engine.image, "localhost/kantha-engine:dev");
}

TEST(ClusterRollout, APodTakesPartOnceItsGoldenPromptsAreAnswered) {
  Story story;
  story.edit({{"rollout", {{"gates", {{"goldenPrompts", {{"configMap", "golden"}}}}}}}});
  for (int i = 0; i < 3; ++i) story.move(i);
  story.pass();
  EXPECT_EQ(story.seen.to_ask.size(), 3U);
  EXPECT_EQ(story.made.plan.counts.ready, 0);
  NodedFacts facts;
  facts.golden = noded::GoldenState{true, 2, 0, ""};
  for (const Json& pod : story.pods) story.facts[pod["metadata"]["uid"].get<std::string>()] = facts;
  story.facts["uid-pod-1"].golden->failed = 1;
  story.facts["uid-pod-1"].golden->message = "golden prompt 1: differs";
  story.pass();
  EXPECT_EQ(story.made.plan.counts.ready, 3);
  EXPECT_EQ(story.seen.observed.pods[1].wrong_output, "golden prompt 1: differs");
}

TEST(ClusterRollout, RestartsFromBeforeARetellAreNotTheNewRevisions) {
  Story story;
  Json& pod = story.pods[0];
  pod["metadata"]["annotations"][kAnnotationRetold] = "older";
  pod["metadata"]["annotations"][kAnnotationToldAt] = "5";
  pod["status"]["conditions"][1]["status"] = "False";
  Json& engine = pod["status"]["containerStatuses"][1];
  engine["restartCount"] = 7;
  engine["lastState"] = {{"terminated", {{"exitCode", 139}}}};
  story.pass();
  EXPECT_FALSE(story.seen.observed.pods[0].crash_looping);
  engine["restartCount"] = 8;
  story.pass();
  EXPECT_TRUE(story.seen.observed.pods[0].crash_looping);
  engine["restartCount"] = 5;
  engine["state"] = {{"waiting", {{"reason", "CrashLoopBackOff"}}}};
  story.pass();
  EXPECT_FALSE(story.seen.observed.pods[0].crash_looping) << "that of the engine before";
  engine["restartCount"] = 6;
  story.pass();
  EXPECT_TRUE(story.seen.observed.pods[0].crash_looping);
  engine["state"]["waiting"] = {{"reason", "ImagePullBackOff"},
                                {"message", "Back-off pulling image \"localhost/other:1\""}};
  story.pass();
  EXPECT_FALSE(story.seen.observed.pods[0].crash_looping) << "the image before";
  engine["state"]["waiting"]["message"] = "Back-off pulling image \"localhost/kantha-engine:dev\"";
  story.pass();
  EXPECT_TRUE(story.seen.observed.pods[0].crash_looping);
  engine["restartCount"] = 5;
  engine["state"]["waiting"] = {
      {"reason", "ErrImageNeverPull"},
      {"message", "Container image \"localhost/kantha-engine:dev\" is not present"}};
  story.pass();
  EXPECT_TRUE(story.seen.observed.pods[0].crash_looping) << "nothing starts from such an image";
}

}  // namespace
}  // namespace kantha::serving

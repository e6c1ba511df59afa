#include "operator/cluster/scaling.h"

#include "tests/operator/cluster/scaling_fixture.h"

namespace kantha::cluster {
namespace {

class ScalingTest : public ScalingFixture {};

TEST_F(ScalingTest, TheLawScalesThroughTheScaleSubresourceAndSaysWhy) {
  start();
  apply(scaled("s", {{"maxReplicas", 3},
                     {"behavior", {{"scaleDown", {{"stabilizationWindowSeconds", 30}}}}}}));
  run_seconds(3);
  EXPECT_EQ(wanted("s"), 1) << "without a number an HPA is told that there is nothing to scale";
  serve(2.1);
  run_seconds(12);
  EXPECT_EQ(wanted("s"), 3);
  EXPECT_EQ(pod_count(), 3U);
  ASSERT_EQ(decisions("s").size(), 1U);
  EXPECT_EQ(decisions("s")[0].reason, "PressureAboveTarget");
  EXPECT_NE(decisions("s")[0].inputs.find("s-0: pressure 2.100"), std::string::npos);
  serve(0.7);
  run_seconds(20);
  EXPECT_EQ(condition("s").at("status"), "True");

  serve(0.01);
  run_seconds(120);
  EXPECT_EQ(wanted("s"), 1);
  EXPECT_EQ(decisions("s").back().reason, "PressureBelowTarget");
}

TEST_F(ScalingTest, NobodyAnsweringHoldsTheCountAndIsSaid) {
  start();
  apply(scaled("s", {{"maxReplicas", 5}}));
  run_seconds(3);
  serve(2.1);
  run_seconds(12);
  ASSERT_EQ(wanted("s"), 3);
  serve(0.7);
  run_seconds(12);
  door_.states.clear();
  run_seconds(900);
  EXPECT_EQ(wanted("s"), 3);
  EXPECT_EQ(condition("s").at("reason"), "NoSamples");
}

TEST_F(ScalingTest, PodsThatLoadAreNotAskedForTwice) {
  start();
  apply(scaled("s", {{"maxReplicas", 20}, {"minReplicas", 2}, {"targetKvPressure", 0.5}}));
  run_seconds(3);
  serve(0.95);
  run_seconds(600);
  EXPECT_EQ(wanted("s"), 4) << "two more were asked for, and they load for ten minutes";
}

TEST_F(ScalingTest, ABadRevisionDoesNotDriveTheCount) {
  start();
  apply(scaled("s", {{"maxReplicas", 20}, {"minReplicas", 2}}));
  run_seconds(3);
  serve(0.7);
  run_seconds(10);
  edit("s", [](Json& object) { object["spec"]["engine"]["image"] = "localhost/engine:bad"; });
  run_seconds(600);
  EXPECT_EQ(wanted("s"), 2);
}

TEST_F(ScalingTest, NorDoesItUnderALoadThatItsPodsDoNotTake) {
  start();
  apply(scaled("s", {{"maxReplicas", 20}, {"minReplicas", 2}}));
  run_seconds(3);
  serve(0.7);
  run_seconds(10);
  edit("s", [](Json& object) { object["spec"]["engine"]["image"] = "localhost/engine:bad"; });
  run_seconds(20);
  // The good pods take what the bad ones, which never get ready, do not.
  for (auto& [name, state] : door_.states) state.kv_pressure = 1.0;
  run_seconds(600);
  EXPECT_LE(wanted("s"), 3);
  EXPECT_GE(wanted("s"), 2);
}

TEST_F(ScalingTest, OnePodWithoutNumbersHoldsItsShareAndTakesNothingAway) {
  start();
  apply(scaled("s", {{"maxReplicas", 9},
                     {"minReplicas", 1},
                     {"behavior", {{"scaleDown", {{"stabilizationWindowSeconds", 0}}}}}}));
  run_seconds(3);
  serve(2.1);
  run_seconds(12);
  ASSERT_EQ(wanted("s"), 3);
  serve(0.7);
  run_seconds(10);
  // The others are as they were; one is heard of no more.
  door_.states.erase("s-1");
  run_seconds(600);
  EXPECT_EQ(wanted("s"), 3);
  EXPECT_EQ(condition("s").at("status"), "True") << "the others are";
}

TEST_F(ScalingTest, WhileIdleNothingIsWritten) {
  OneOperator& one = start();
  apply(scaled("s", {{"maxReplicas", 3}}));
  run_seconds(3);
  serve(0.7);
  run_seconds(30);
  const std::int64_t writes = one.real.write_count();
  run_seconds(600);
  EXPECT_EQ(one.real.write_count(), writes);
}

TEST_F(ScalingTest, AnAutoscalerOfSomebodyElseIsACondition) {
  start();
  apply(scaled("s", {{"maxReplicas", 5}}));
  make_foreign_hpa("keda-hpa-s", "s");
  make_foreign_hpa("of-another", "t");
  run_seconds(3);
  serve(2.1);
  run_seconds(60);
  EXPECT_EQ(wanted("s"), -1) << "not ours to write";
  EXPECT_EQ(condition("s").at("reason"), "ForeignAutoscaler");
  EXPECT_NE(condition("s").at("message").get<std::string>().find("keda-hpa-s"), std::string::npos);
  server_.remove(kAutoscalers, {"a", "keda-hpa-s"}, "user");
  run_seconds(20);
  EXPECT_EQ(wanted("s"), 3);
}

TEST_F(ScalingTest, ASecondScaledObjectIsACondition) {
  for (const Autoscaler who : {Autoscaler::kLaw, Autoscaler::kHpa}) {
    settings_.autoscaler = who;
    const std::string name = who == Autoscaler::kLaw ? "law" : "hpa";
    start();
    apply(scaled(name, {{"maxReplicas", 5}}));
    // KEDA makes an HPA of each ScaledObject.
    make(kAutoscalers, {{"metadata",
                         {{"name", "keda-" + name},
                          {"namespace", "a"},
                          {"ownerReferences", Json::array({{{"apiVersion", "keda.sh/v1alpha1"},
                                                            {"kind", "ScaledObject"},
                                                            {"name", "so"},
                                                            {"uid", "u-1"},
                                                            {"controller", true}}})}}},
                        {"spec",
                         {{"scaleTargetRef",
                           {{"apiVersion", "serving.kantha.dev/v1alpha1"},
                            {"kind", "ModelServing"},
                            {"name", name}}},
                          {"maxReplicas", 9}}}});
    run_seconds(20);
    EXPECT_EQ(condition(name).at("reason"), "ForeignAutoscaler");
    EXPECT_NE(condition(name).at("message").get<std::string>().find(
                  "keda-" + name + " of ScaledObject/so scales this object, too"),
              std::string::npos);
    EXPECT_FALSE(find(kAutoscalers, name)) << "one owner of the count, and not two HPAs";
    stop_all();
  }
}

TEST_F(ScalingTest, AnHpaOfOursIsMadeHealedMirroredAndTakenAway) {
  settings_.autoscaler = Autoscaler::kHpa;
  start();
  apply(scaled("s", {{"maxReplicas", 4},
                     {"targetKvPressure", 0.65},
                     {"behavior", {{"scaleUp", {{"selectPolicy", "Min"}}}}}}));
  run_seconds(3);
  EXPECT_EQ(wanted("s"), 1);
  ASSERT_TRUE(find(kAutoscalers, "s"));
  const Json spec = find(kAutoscalers, "s")->at("spec");
  EXPECT_EQ(spec.at("maxReplicas"), 4);
  EXPECT_EQ(spec.at("scaleTargetRef").at("name"), "s");
  EXPECT_EQ(spec.at("metrics")[0].at("pods").at("target").at("averageValue"), "650m");
  EXPECT_EQ(spec.at("behavior").at("scaleUp").at("selectPolicy"), "Min");

  serve(2.1);
  run_seconds(30);
  EXPECT_EQ(wanted("s"), 1) << "the HPA scales, not the operator";
  ASSERT_TRUE(server_.edit(
      kAutoscalers, {"a", "s"},
      [](Json& object) {
        object["status"]["conditions"] = {{{"type", "ScalingActive"},
                                           {"status", "True"},
                                           {"reason", "ValidMetricFound"},
                                           {"message", "it counts"}}};
      },
      "hpa", "status"));
  run_seconds(3);
  EXPECT_EQ(condition("s").at("reason"), "ValidMetricFound");

  ASSERT_TRUE(server_.edit(
      kAutoscalers, {"a", "s"}, [](Json& object) { object["spec"]["maxReplicas"] = 99; },
      "somebody"));
  run_seconds(5);
  EXPECT_EQ(find(kAutoscalers, "s")->at("spec").at("maxReplicas"), 4) << "edited by hand";
  server_.remove(kAutoscalers, {"a", "s"}, "somebody");
  run_seconds(5);
  EXPECT_TRUE(find(kAutoscalers, "s")) << "deleted by hand";

  edit("s", [](Json& object) { object["spec"].erase("autoscaling"); });
  run_seconds(5);
  EXPECT_FALSE(find(kAutoscalers, "s"));
}

/// A right that is taken away, and what makes the operator need it.
struct RightCase {
  const char* verb;
  const char* plural;
  const char* subresource;
  Autoscaler autoscaler;
  const char* need;
};

class ScalingRightTest : public ScalingTest, public testing::WithParamInterface<RightCase> {
 protected:
  void make_need(const std::string& need) {
    if (need == "pressure") serve(2.1);
    if (need == "no autoscaling any more") {
      edit("s", [](Json& object) { object["spec"].erase("autoscaling"); });
    }
    if (need == "a hand's edit") {
      server_.edit(
          kAutoscalers, {"a", "s"}, [](Json& object) { object["spec"]["maxReplicas"] = 99; },
          "somebody");
    }
  }
};

TEST_P(ScalingRightTest, IsNamedMakesNoStormAndPodsServeOn) {
  const RightCase& one = GetParam();
  bool revoked = true;
  server_.set_access_rule([&](const fake::Access& access) {
    return !(revoked && access.plural == one.plural && access.verb == one.verb &&
             access.subresource == one.subresource && access.user.starts_with("kantha-operator"));
  });
  settings_.autoscaler = one.autoscaler;
  start();
  apply(scaled("s", {{"maxReplicas", 3}}));
  run_seconds(3);
  serve(0.2);
  run_seconds(10);
  make_need(one.need);
  run_seconds(20);
  const Json degraded = ClusterFixture::condition("s", "Degraded");
  EXPECT_EQ(degraded.value("reason", ""), "Forbidden") << degraded;
  EXPECT_NE(degraded.value("message", "").find(one.plural), std::string::npos) << degraded;
  EXPECT_EQ(condition_status("s", "Available"), "True");
  const std::size_t before = write_count();
  run_seconds(120);
  EXPECT_EQ(write_count(), before) << testing::PrintToString(operator_writes());
  revoked = false;
  run_seconds(60);
  EXPECT_EQ(condition_status("s", "Degraded"), "False");
}

INSTANTIATE_TEST_SUITE_P(
    EachRight, ScalingRightTest,
    testing::Values(
        RightCase{"create", "horizontalpodautoscalers", "", Autoscaler::kHpa, "nothing else"},
        RightCase{"patch", "horizontalpodautoscalers", "", Autoscaler::kHpa, "a hand's edit"},
        RightCase{"delete", "horizontalpodautoscalers", "", Autoscaler::kHpa,
                  "no autoscaling any more"},
        RightCase{"patch", "modelservings", "scale", Autoscaler::kLaw, "pressure"}),
    [](const auto& info) {
      return std::string(info.param.verb) + "_" + info.param.plural + info.param.subresource;
    });

TEST_F(ScalingTest, WhateverElseHappensTheCountIsTheHpasAlone) {
  settings_.autoscaler = Autoscaler::kHpa;
  start();
  apply(scaled("s", {{"minReplicas", 2}, {"maxReplicas", 6}}));
  run_seconds(3);
  ASSERT_TRUE(server_.edit(
      kube::kModelServings, {"a", "s"}, [](Json& object) { object["spec"]["replicas"] = 5; },
      "kube-controller-manager"));
  work_seconds(5);
  const auto expect_five = [&](const char* after) {
    serve(0.1);
    work_seconds(10);
    EXPECT_EQ(wanted("s"), 5) << after;
    EXPECT_EQ(pod_count(), 5U) << after;
  };
  edit("s", [](Json& object) { object["metadata"]["labels"]["team"] = "x"; });
  expect_five("a label");
  edit("s", [](Json& object) { object["spec"]["engine"]["config"]["maxNumSeqs"] = 8; });
  expect_five("another revision");
  stop_all(true);
  start();
  expect_five("a restart of the operator");
  edit("s", [](Json& object) { object["spec"]["autoscaling"]["maxReplicas"] = 7; });
  expect_five("other bounds");
}

TEST_F(ScalingTest, WhatTheHpaChangesIsADecisionWithTheFiguresOfThen) {
  settings_.autoscaler = Autoscaler::kHpa;
  start();
  apply(scaled("s", {{"maxReplicas", 4}}));
  run_seconds(3);
  serve(1.4);
  run_seconds(5);
  edit("s", [](Json& object) { object["spec"]["replicas"] = 2; });
  run_seconds(5);
  ASSERT_EQ(decisions("s").size(), 1U);
  EXPECT_EQ(decisions("s")[0].reason, "HorizontalPodAutoscaler");
  EXPECT_EQ(decisions("s")[0].to, "2");
  EXPECT_NE(decisions("s")[0].inputs.find("pressure 1.400"), std::string::npos);
}

TEST_F(ScalingTest, WhatAnHpaReadsIsLittleMoreThanASecondOld) {
  settings_.autoscaler = Autoscaler::kHpa;
  settings_.serves_metrics = true;
  OneOperator& one = start();
  for (int i = 0; i < 10; ++i) apply(serving("s" + std::to_string(i), 10));
  run_seconds(5);
  serve(0.5);
  // Nodeds ask their engines when they are asked, unless they did within a tenth of a second.
  for (auto& [name, state] : door_.states) state.age_ms = 100;
  run_seconds(3);
  Duration oldest{};
  for (int i = 0; i < 200; ++i) {
    run_for(std::chrono::milliseconds(53));
    std::size_t fresh = 0;
    for (const metricsapi::PodEntry* pod : one.real.samples().pods("a")) {
      ASSERT_TRUE(pod->sample) << pod->name;
      oldest = std::max(oldest, clock_.now() - pod->sample->taken);
      ++fresh;
    }
    ASSERT_EQ(fresh, 100U);
  }
  EXPECT_LE(oldest, std::chrono::milliseconds(1'200));
  EXPECT_GT(oldest, std::chrono::milliseconds(900)) << "else the clock stood";
  door_.states.erase("s0-0");
  run_seconds(31);
  const auto pods = one.real.samples().pods("a");
  EXPECT_EQ(std::count_if(pods.begin(), pods.end(),
                          [&](const auto* pod) {
                            return metricsapi::MetricTable::fresh(*pod, clock_.now()) != nullptr;
                          }),
            99)
      << "one pod's silence is nobody else's";
}

TEST(PodSample, HasFiguresOnlyWhileTheEngineServesAsTold) {
  serving::PodObject pod;
  pod.engine_config_hash = "h";
  noded::PodState good;
  good.phase = noded::EnginePhase::kReady;
  good.config_hash = "h";
  good.kv_blocks_total = 50;
  good.kv_pressure = 1.5;
  good.waiting_tokens = 700;
  good.streams = 3;
  good.tokens_per_second = 12.5;
  good.age_ms = 400;
  const TimePoint now{std::chrono::seconds(100)};
  const auto sample = sample_of(good, pod, now);
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->values, (std::array<double, 4>{1.5, 700, 3, 12.5}));
  EXPECT_EQ(now - sample->taken, std::chrono::milliseconds(400));
  // An age is a span on the pod's own clock: however wrong that clock is, it cannot make a sample
  // old or come from the future.
  good.age_ms = -3'600'000;
  EXPECT_EQ(sample_of(good, pod, now)->taken, now) << "clock skew";
  good.age_ms = 400;
  const std::pair<const char*, void (*)(noded::PodState&)> table[] = {
      {"loading", [](auto& s) { s.phase = noded::EnginePhase::kStarting; }},
      {"draining", [](auto& s) { s.draining = true; }},
      {"swapping", [](auto& s) { s.config_hash = "old"; }},
      {"no engine yet", [](auto& s) { s.kv_blocks_total = 0; }},
  };
  for (const auto& [what, change] : table) {
    noded::PodState state = good;
    change(state);
    EXPECT_FALSE(sample_of(state, pod, now)) << what;
  }
}

}  // namespace
}  // namespace kantha::cluster

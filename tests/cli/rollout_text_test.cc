#include "cli/rollout_text.h"

#include <gtest/gtest.h>

#include "operator/serving/timestamp.h"

namespace kantha::cli {
namespace {

Json object(const char* phase) {
  return {
      {"spec",
       {{"replicas", 4},
        {"rollout",
         {{"rings", {{{"name", "canary"}, {"size", 1}}, {{"name", "all"}, {"size", "100%"}}}}}}}},
      {"status",
       {{"targetRevision", "r-b"},
        {"availableReplicas", 4},
        {"updatedReplicas", 1},
        {"conditions",
         {{{"type", "RolloutGated"},
           {"status", "True"},
           {"reason", "Baking"},
           {"message", "is watched"}}}},
        {"rollout",
         {{"phase", phase},
          {"target", "r-b.123"},
          {"lastGood", "r-a"},
          {"ring", "canary"},
          {"olderSpec", R"({"engine":{"image":"e:1"},"model":{"source":{"hostPath":"/m"}}})"}}}}}};
}

TEST(RolloutText, ShowsPhaseRingsAndGate) {
  const std::string text = rollout_text(object("Baking"), WallTime{});
  for (const char* line :
       {"phase     Baking", "target    r-b", "last good r-a", "rings     *canary (1)* > all (100%)",
        "pods      4 wanted, 4 available, 1 on the target", "gate      held, Baking: is watched"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
  EXPECT_NE(rollout_text(Json::object(), WallTime{}).find("unknown"), std::string::npos);
  Json decided = object("Baking");
  decided["status"]["decisions"] = {
      {{"kind", "Scale"}, {"reason", "Pressure"}, {"message", "no"}},
      {{"kind", "Rollout"}, {"time", "T"}, {"reason", "RingPassed"}, {"message", "ring a"}}};
  const std::string history = rollout_history(decided);
  EXPECT_NE(history.find("r-b           target, Baking"), std::string::npos) << history;
  EXPECT_NE(history.find("T  RingPassed: ring a"), std::string::npos) << history;
  EXPECT_EQ(history.find("Pressure"), std::string::npos);
}

TEST(RolloutText, SaysHowLongTheBakesTakeAtLeast) {
  Json baking = object("Baking");
  baking["spec"]["rollout"]["bake"] = {{"seconds", 600}};
  baking["status"]["rollout"]["startedAt"] = "2026-11-30T12:00:00Z";
  const auto after = [&](std::int64_t seconds) {
    return rollout_text(baking, serving::timestamp_from_text("2026-11-30T12:00:00Z").value() +
                                    std::chrono::seconds(seconds));
  };
  EXPECT_NE(after(60).find("eta       at least 19 min: 1 more ring after this one"),
            std::string::npos)
      << after(60);
  EXPECT_NE(after(5000).find("at least 10 min"), std::string::npos) << "it waits for evidence";
  baking["status"]["rollout"]["extensions"] = 1;
  EXPECT_NE(after(600).find("at least 20 min"), std::string::npos) << "a prolonged bake";
  baking["status"]["rollout"]["ring"] = "all";
  EXPECT_NE(after(1140).find("at least 60 s: 0 more rings"), std::string::npos) << after(1140);
  EXPECT_EQ(rollout_text(object("Done"), WallTime{}).find("eta"), std::string::npos);
}

TEST(RolloutText, KnowsWhenItIsOver) {
  for (const char* phase : {"Waiting", "Swapping", "Baking", "Paused", "RollingBack"}) {
    EXPECT_FALSE(rollout_is_over(object(phase))) << phase;
  }
  for (const char* phase : {"Done", "RolledBack", "None"}) {
    EXPECT_TRUE(rollout_is_over(object(phase))) << phase;
  }
}

TEST(RolloutText, VerbsArePatchesOfOneField) {
  const auto patch = [](RolloutVerb verb, const char* phase, bool is_local = false) {
    const Result<Json> out = rollout_patch(verb, object(phase), is_local);
    return out.ok() ? *out : Json(out.error().message);
  };
  const auto field = [](const char* name, const Json& value) {
    return Json{{"spec", {{"rollout", {{name, value}}}}}};
  };
  EXPECT_EQ(patch(RolloutVerb::kPause, "Done"), field("paused", true));
  EXPECT_EQ(patch(RolloutVerb::kResume, "Done"), field("paused", false));
  EXPECT_EQ(patch(RolloutVerb::kAbort, "Swapping"), field("abort", "r-b"));
  EXPECT_EQ(patch(RolloutVerb::kAbort, "Done"), "there is nothing to abort: the rollout is Done");
  EXPECT_EQ(patch(RolloutVerb::kPromote, "Paused"), field("promote", "r-b/canary"));
  EXPECT_EQ(patch(RolloutVerb::kPromote, "Swapping"),
            "there is nothing to promote: the rollout is Swapping");
  EXPECT_EQ(patch(RolloutVerb::kSkip, "Swapping"), field("promote", "r-b/*"));
  EXPECT_EQ(patch(RolloutVerb::kSkip, "RolledBack"),
            "there is nothing to skip: the rollout is RolledBack");
  EXPECT_EQ(patch(RolloutVerb::kUndo, "Baking"), field("abort", "r-b"));
  const Json undone = patch(RolloutVerb::kUndo, "Done");
  EXPECT_EQ(undone["spec"]["engine"]["image"], "e:1");
  EXPECT_EQ(undone["spec"]["model"]["source"]["hostPath"], "/m");
  EXPECT_TRUE(undone["spec"]["model"]["source"]["http"].is_null()) << "only one source stays";
  EXPECT_TRUE(patch(RolloutVerb::kUndo, "Done", true).is_string()) << "the file decides";
}

}  // namespace
}  // namespace kantha::cli

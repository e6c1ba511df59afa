#include "operator/serving/node_marks.h"

#include <gtest/gtest.h>

#include "operator/serving/scale_up_news.h"

namespace kantha::serving {
namespace {

using Is = ScaleUpNews::Is;

Json tainted(const Json& taints) { return {{"spec", {{"taints", taints}}}}; }

TEST(NodeMarks, AreThoseOfAutoscalersAndOfCordon) {
  const struct {
    const char* name;
    Json node;
    bool is_marked;
  } cases[] = {
      {"as it was made", {{"spec", {{"podCIDR", "10.0.0.0/24"}}}}, false},
      {"cordoned", {{"spec", {{"unschedulable", true}}}}, true},
      {"uncordoned", {{"spec", {{"unschedulable", false}}}}, false},
      {"Cluster Autoscaler removes it",
       tainted({{{"key", "ToBeDeletedByClusterAutoscaler"},
                 {"value", "1764532800"},
                 {"effect", "NoSchedule"}}}),
       true},
      {"Cluster Autoscaler thinks about it",
       tainted({{{"key", "DeletionCandidateOfClusterAutoscaler"}, {"effect", "PreferNoSchedule"}}}),
       false},
      {"Karpenter removes it",
       tainted({{{"key", "nvidia.com/gpu"}, {"effect", "NoSchedule"}},
                {{"key", "karpenter.sh/disrupted"}, {"effect", "NoSchedule"}}}),
       true},
      {"an old Karpenter removes it",
       tainted({{{"key", "karpenter.sh/disruption"}, {"value", "disrupting"}}}), true},
      {"an accelerator's taint", tainted({{{"key", "nvidia.com/gpu"}, {"effect", "NoSchedule"}}}),
       false},
      {"taints that are none", tainted({7, nullptr, Json::array(), {{"key", 5}}}), false},
      {"no list", tainted("karpenter.sh/disrupted"), false},
      {"no object", Json::array({1}), false},
      {"nothing", Json(), false},
  };
  for (const auto& c : cases) EXPECT_EQ(is_marked_for_removal(c.node), c.is_marked) << c.name;
}

Json event(const char* reason, const char* message, const char* time = "", const char* uid = "u") {
  Json out = {{"reason", reason}, {"message", message}, {"involvedObject", {{"uid", uid}}}};
  if (*time != 0) out["lastTimestamp"] = time;
  return out;
}

TEST(ScaleUpNews, AreTheNewestWordOnThatVeryPod) {
  const struct {
    const char* name;
    std::vector<Json> events;
    ScaleUpNews news;
  } cases[] = {
      {"nobody says anything", {}, {}},
      {"the scheduler's word is in the pod", {event("FailedScheduling", "0/3 nodes")}, {}},
      {"a node comes", {event("TriggeredScaleUp", "a 1->2")}, {Is::kTriggered, "a 1->2"}},
      {"Karpenter's word", {event("Nominated", "on n9")}, {Is::kTriggered, "on n9"}},
      {"none comes", {event("NotTriggerScaleUp", "max size")}, {Is::kRefused, "max size"}},
      {"of a pod that was called the same",
       {event("TriggeredScaleUp", "a 1->2", "", "before")},
       {}},
      {"it comes after all",
       {event("TriggeredScaleUp", "a", "2026-11-30T10:00:05Z"),
        event("NotTriggerScaleUp", "max", "2026-11-30T10:00:01Z")},
       {Is::kTriggered, "a"}},
      {"it does not come after all",
       {event("TriggeredScaleUp", "a", "2026-11-30T10:00:05Z"),
        event("NotTriggerScaleUp", "max", "2026-11-30T10:00:09Z")},
       {Is::kRefused, "max"}},
      {"events that are none", {Json(), 5, Json::array(), {{"reason", 7}}}, {}},
  };
  for (const auto& c : cases) EXPECT_EQ(scale_up_news(c.events, "u"), c.news) << c.name;
}

TEST(ScaleUpNews, TimesAreReadWhereverTheyAre) {
  Json series = event("NotTriggerScaleUp", "series");
  series["eventTime"] = "2026-11-30T10:00:00.000001Z";
  series["series"] = {{"lastObservedTime", "2026-11-30T10:10:00.000001Z"}};
  EXPECT_EQ(scale_up_news({series, event("TriggeredScaleUp", "a", "2026-11-30T10:05:00Z")}, "u"),
            (ScaleUpNews{Is::kRefused, "series"}));
}

}  // namespace
}  // namespace kantha::serving

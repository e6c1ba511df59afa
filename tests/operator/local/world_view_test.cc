#include "operator/local/world_view.h"

#include <gtest/gtest.h>

#include "operator/local/condition_log.h"

namespace kantha::local {
namespace {

WorldView sample() {
  WorldView view;
  view.name = "smollm2";
  view.model = "smollm2-135m";
  view.endpoint = "http://127.0.0.1:8000";
  view.counts = {2, 2, 1, 1, 1};
  view.target_revision = "r-0123456789";
  view.conditions = {{{"Available", serving::ConditionStatus::kTrue, "PodsAvailable", "1 of 2", 4},
                      "2026-11-29T21:40:00Z"}};
  view.pods = {{"smollm2-0", "ready", "", "r-0123456789", 1, 3, 0.25, 12.5, 99},
               {"smollm2-1", "down", "noded ended: exit 3", "", 7, 0, 0, 0, 0}};
  view.decisions = {{"Scale", "1", "2", "PressureAboveTarget", "mean 1.4",
                     WallTime(std::chrono::seconds(1'800'000'000))}};
  view.scaling = {"m-0: pressure 0.500, 1.0 s old", "WithinTolerance: 2 → 2"};
  return view;
}

TEST(WorldView, SurvivesTheTripThroughTheControlApi) {
  const WorldView view = sample();
  const Json object = {{"metadata", {{"name", view.name}}},
                       {"spec", {{"replicas", 2}, {"model", {{"name", view.model}}}}},
                       {"status", status_json(view, 4)}};
  const auto read = world_view_from_json(Json::parse(object.dump()));
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(*read, view);
  EXPECT_EQ(object["status"]["observedGeneration"], 4);
}

TEST(WorldView, WrongTypesNameTheirPlace) {
  Json object = {{"status", status_json(sample(), 1)}};
  object["status"]["pods"][1]["streams"] = "many";
  const auto read = world_view_from_json(object);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().field, "status.pods[1].streams");
  EXPECT_FALSE(world_view_from_json(Json::array()).ok());
}

TEST(ConditionLog, ATimeChangesOnlyWithItsStatus) {
  ConditionLog log;
  const WallTime start = WallTime{} + std::chrono::seconds(1'000'000);
  using serving::ConditionStatus;
  const auto dated = [&](ConditionStatus status, const char* message, int after_s) {
    return log.date({{"Available", status, "R", message, 1}}, start + std::chrono::seconds(after_s))
        .front();
  };
  const auto first = dated(ConditionStatus::kFalse, "0 of 2", 0);
  EXPECT_EQ(first.since, "1970-01-12T13:46:40Z");
  EXPECT_EQ(dated(ConditionStatus::kFalse, "1 of 2", 5).since, first.since);
  EXPECT_EQ(dated(ConditionStatus::kTrue, "2 of 2", 9).since, "1970-01-12T13:46:49Z");
}

}  // namespace
}  // namespace kantha::local

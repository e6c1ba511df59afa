#include "operator/serving/decision.h"

#include <gtest/gtest.h>

#include "operator/serving/last_status.h"
#include "operator/serving/status_of.h"
#include "tests/operator/serving/cluster_sample.h"
#include "tests/operator/serving/sample_moment.h"

namespace kantha::serving {
namespace {

Decision scale(int number) {
  return {"Scale",
          std::to_string(number),
          std::to_string(number + 1),
          "PressureAboveTarget",
          "3 pods, mean 0.91 of 0.7",
          WallTime(std::chrono::seconds(1'800'000'000 + number))};
}

TEST(Decision, ComesBackFromStatusAsItWas) {
  const std::vector<Decision> made = {scale(1), scale(2)};
  EXPECT_EQ(decisions_from_json(decisions_json(made)), made);
}

TEST(Decision, TheOldestGoFirst) {
  std::vector<Decision> kept;
  for (int i = 0; i < 20; ++i) kept = with_decisions(kept, {scale(i)});
  ASSERT_EQ(kept.size(), kDecisionsKept);
  EXPECT_EQ(kept.front(), scale(4));
  EXPECT_EQ(kept.back(), scale(19));
}

TEST(Decision, WhatAPersonHasEditedToNonsenseIsLeftOut) {
  const Json list = {
      Json(7), {{"time", "yesterday"}, {"kind", "Scale"}}, to_json(scale(1)), {{"kind", 3}}};
  EXPECT_EQ(decisions_from_json(list), std::vector{scale(1)});
  EXPECT_EQ(decisions_from_json("all of it").size(), 0u);
}

TEST(Decision, LongTextsAreCutToWhatTheCrdTakes) {
  Decision long_one = scale(1);
  long_one.inputs = std::string(5000, 'x');
  long_one.to = std::string(100, 'y');
  const Json json = to_json(long_one);
  EXPECT_LE(json["message"].get<std::string>().size(), 1024u);
  EXPECT_LE(json["to"].get<std::string>().size(), 63u);
}

TEST(Decision, OfAPlanStandsInStatusBehindThoseOfBefore) {
  ClusterServing owner = sample_owner();
  owner.status = dump_json(Json{{"decisions", decisions_json({scale(1)})}});
  const ClusterObservation seen =
      observe_cluster(owner, sample_settings(), {}, {}, sample_moment());
  Plan made = plan(seen.observed, TimePoint{});
  made.decisions = {scale(2)};
  const Json status = status_of(owner, seen, made, {}, sample_time());
  EXPECT_EQ(decisions_from_json(status["decisions"]), (std::vector{scale(1), scale(2)}));
  owner.status = dump_json(status);
  EXPECT_EQ(last_status_of(status_from_text(owner.status)).decisions.size(), 2u);
}

}  // namespace
}  // namespace kantha::serving

#include "operator/serving/fleet_plan.h"

#include <gtest/gtest.h>

#include <string>

namespace kantha::serving {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class FleetPlanTest : public testing::Test {
 protected:
  static std::vector<FleetMember> pods(int count, const std::string& made_as = "p1") {
    std::vector<FleetMember> out;
    for (int i = 0; i < count; ++i) {
      const std::string name = "a-" + std::to_string(i);
      out.push_back(
          {"uid-" + name, {name, "10.0.0." + std::to_string(i) + ":8000", "m", "r"}, made_as, "0"});
    }
    return out;
  }
  /// Everything that is due now, all of it taken well.
  std::vector<FleetPlan::Message> tell(bool ok = true) {
    std::vector<FleetPlan::Message> out = plan_.take_due(now_, wall_, 1000);
    for (const auto& message : out) plan_.answered(message, ok, now_);
    return out;
  }
  void pass(Duration time) {
    now_ += time;
    wall_ += std::chrono::duration_cast<std::chrono::system_clock::duration>(time);
  }

  FleetPlan plan_;
  TimePoint now_ = TimePoint{} + minutes(60);
  WallTime wall_{std::chrono::milliseconds(1'764'489'600'000)};
};

TEST_F(FleetPlanTest, OnePodIsToldNothingAndRemembersNothing) {
  EXPECT_FALSE(plan_.observe("a", pods(1)));
  EXPECT_TRUE(tell().empty());
  EXPECT_EQ(plan_.receiver_count(), 0U);
  EXPECT_FALSE(plan_.look_after());
}

TEST_F(FleetPlanTest, TwoPodsAreEachToldOfBothOnce) {
  EXPECT_TRUE(plan_.observe("a", pods(2)));
  const auto told = tell();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].view.peers.size(), 2U);
  EXPECT_EQ(told[0].view.observed_at_ms, 1'764'489'600'000);
  pass(seconds(10));
  EXPECT_FALSE(plan_.observe("a", pods(2)));
  EXPECT_TRUE(tell().empty()) << "nothing changed";
}

TEST_F(FleetPlanTest, WhoLeavesIsToldOfToTheOthersAndTheLastOneHearsThatItIsAlone) {
  plan_.observe("a", pods(3));
  tell();
  pass(seconds(2));
  EXPECT_TRUE(plan_.observe("a", pods(2)));
  for (const auto& message : tell()) EXPECT_EQ(message.view.peers.size(), 2U);
  pass(seconds(2));
  EXPECT_TRUE(plan_.observe("a", pods(1)));
  const auto last = tell();
  ASSERT_EQ(last.size(), 1U);
  EXPECT_TRUE(last[0].view.peers.empty());
  pass(minutes(60));
  EXPECT_TRUE(tell().empty()) << "that needs no refresh";
}

TEST_F(FleetPlanTest, APodThatIsNotReadyIsToldOfThoseWhoAreAndIsNobodysPeer) {
  std::vector<FleetMember> now = pods(2);
  now[1].ready = false;
  EXPECT_TRUE(plan_.observe("a", now));
  auto told = tell();
  ASSERT_EQ(told.size(), 1U) << "the ready one is alone";
  EXPECT_EQ(told[0].id, "uid-a-1");
  ASSERT_EQ(told[0].view.peers.size(), 1U);
  EXPECT_EQ(told[0].view.peers[0].name, "a-0");
  pass(seconds(2));
  now[1].ready = true;
  EXPECT_TRUE(plan_.observe("a", now));
  told = tell();
  ASSERT_EQ(told.size(), 2U);
  for (const auto& message : told) EXPECT_EQ(message.view.peers.size(), 2U);
}

TEST_F(FleetPlanTest, ANodedThatBeganAnewIsToldAgainAndTheOthersAreNot) {
  plan_.observe("a", pods(3));
  tell();
  pass(seconds(2));
  std::vector<FleetMember> now = pods(3);
  now[1].incarnation = "1";
  EXPECT_TRUE(plan_.observe("a", now));
  const auto told = tell();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].id, "uid-a-1");
}

TEST_F(FleetPlanTest, PodsThatWereMadeOtherwiseAreNoPeers) {
  std::vector<FleetMember> mixed = pods(4);
  mixed[2].made_as = mixed[3].made_as = "p2";
  plan_.observe("a", mixed);
  for (const auto& message : tell()) {
    ASSERT_EQ(message.view.peers.size(), 2U);
    const bool first_two = message.id == "uid-a-0" || message.id == "uid-a-1";
    EXPECT_EQ(message.view.peers[0].name, first_two ? "a-0" : "a-2");
  }
  pass(seconds(2));
  mixed[3].made_as = "p3";
  plan_.observe("a", mixed);
  EXPECT_EQ(tell().size(), 2U) << "both hear that they are alone";
}

TEST_F(FleetPlanTest, APodThatTookNothingIsToldAgainLater) {
  plan_.observe("a", pods(2));
  EXPECT_EQ(tell(false).size(), 2U);
  EXPECT_TRUE(tell().empty());
  pass(seconds(4));
  EXPECT_TRUE(tell().empty());
  pass(seconds(1));
  EXPECT_EQ(tell().size(), 2U);
}

TEST_F(FleetPlanTest, IsToldAgainEveryFiveMinutesAndTimesRise) {
  plan_.observe("a", pods(2));
  std::int64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    const auto told = tell();
    ASSERT_EQ(told.size(), 2U);
    EXPECT_GT(told[0].view.observed_at_ms, last);
    last = told[0].view.observed_at_ms;
    wall_ -= seconds(3600);  // a clock that is set back
    now_ += minutes(4);
    EXPECT_TRUE(tell().empty());
    now_ += seconds(70);
  }
}

TEST_F(FleetPlanTest, APodIsNotToldTwiceAtOneTimeNorMoreThanOnceASecond) {
  plan_.observe("a", pods(2));
  const auto under_way = plan_.take_due(now_, wall_, 1000);
  plan_.observe("a", pods(3));
  EXPECT_EQ(plan_.take_due(now_, wall_, 1000).size(), 1U) << "only the third";
  for (const auto& message : under_way) plan_.answered(message, true, now_);
  EXPECT_TRUE(plan_.take_due(now_, wall_, 1000).empty());
  pass(seconds(1));
  EXPECT_EQ(plan_.take_due(now_, wall_, 1000).size(), 2U);
}

TEST_F(FleetPlanTest, IsBoundedAndNobodyIsForgotten) {
  for (int i = 0; i < 50; ++i) {
    std::vector<FleetMember> two = pods(2);
    for (FleetMember& member : two) member.id += std::to_string(i);
    plan_.observe(std::to_string(i), two);
  }
  std::size_t told = 0;
  for (int turn = 0; turn < 20; ++turn) {
    const auto some = plan_.take_due(now_, wall_, 16);
    EXPECT_LE(some.size(), 16U);
    told += some.size();
    for (const auto& message : some) plan_.answered(message, true, now_);
  }
  EXPECT_EQ(told, 100U);
}

TEST_F(FleetPlanTest, AnObjectThatIsGoneIsForgotten) {
  plan_.observe("a", pods(3));
  const auto under_way = plan_.take_due(now_, wall_, 1);
  plan_.observe("a", {});
  plan_.answered(under_way[0], true, now_);
  EXPECT_TRUE(tell().empty());
  EXPECT_EQ(plan_.receiver_count(), 0U);
}

}  // namespace
}  // namespace kantha::serving

#include "operator/runtime/lease_step.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace kantha::runtime {
namespace {

using namespace std::chrono_literals;
using Kind = LeaseDeed::Kind;

/// A contender at its desk: fed with inputs, it says what it would do.
class Desk {
 public:
  explicit Desk(std::string identity = "us") { state.identity = std::move(identity); }

  const LeaseDeed& feed(const LeaseInput& input) {
    LeaseStep step = lease_step(std::move(state), input, now);
    state = std::move(step.state);
    deed = std::move(step.deed);
    return deed;
  }
  const LeaseDeed& find(const std::string& holder, const std::string& version,
                        std::int64_t duration = 15) {
    return feed(LeaseFound{{.holder = holder, .duration_seconds = duration}, version});
  }
  /// Waits as told, then looks and finds that record unchanged.
  const LeaseDeed& wait_and_find(const std::string& holder, const std::string& version) {
    EXPECT_EQ(deed.kind, Kind::kWait);
    now += deed.wait;
    EXPECT_EQ(feed(LeaseDue{}).kind, Kind::kLook);
    return find(holder, version);
  }
  void lead() {
    feed(LeaseDue{});
    EXPECT_EQ(feed(LeaseAbsent{}).kind, Kind::kCreate);
    feed(LeaseWritten{"1"});
    EXPECT_TRUE(leads());
  }
  bool leads() const { return state.is_leading(now); }

  LeaseState state;
  LeaseDeed deed;
  TimePoint now{};
};

TEST(LeaseStep, CreatesALeaseThatWasNeverThereAndLeadsFromBeforeItSentIt) {
  Desk desk;
  EXPECT_EQ(desk.feed(LeaseDue{}).kind, Kind::kLook);
  const LeaseDeed create = desk.feed(LeaseAbsent{});
  EXPECT_EQ(create.kind, Kind::kCreate);
  EXPECT_EQ(create.record.holder, "us");
  EXPECT_EQ(create.record.duration_seconds, 15);
  EXPECT_FALSE(desk.leads()) << "not before the answer";
  desk.now += 4s;
  EXPECT_EQ(desk.feed(LeaseWritten{"1"}).wait, 2s);
  EXPECT_TRUE(desk.leads());
  desk.now += 6s - 1ns;
  EXPECT_TRUE(desk.leads());
  desk.now += 1ns;
  EXPECT_FALSE(desk.leads()) << "10 s after the request was sent, not after its answer";
}

TEST(LeaseStep, RenewsOnWhatItWroteWithoutReading) {
  Desk desk;
  desk.lead();
  desk.now += 2s;
  EXPECT_EQ(desk.feed(LeaseDue{}).kind, Kind::kReplace);
  EXPECT_EQ(desk.deed.record.transitions, 0);
  desk.now += 1s;
  desk.feed(LeaseWritten{"2"});
  desk.now += 8s;
  EXPECT_TRUE(desk.leads());
}

// F35: takes over in (15 s, 20 s] after the last renewal
TEST(LeaseStep, TakesOverOnlyAfterItSawTheRecordUnchangedForItsWholeDuration) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Desk desk;
    desk.state.seed = seed;
    desk.feed(LeaseDue{});
    desk.find("other", "7");
    while (desk.deed.kind == Kind::kWait) {
      ASSERT_LE(desk.deed.wait, 2400ms);
      desk.wait_and_find("other", "7");
    }
    ASSERT_EQ(desk.deed.kind, Kind::kReplace);
    ASSERT_GE(desk.now, TimePoint(15s));
    ASSERT_LE(desk.now, TimePoint(15'200ms)) << "just after it is over";
    ASSERT_EQ(desk.deed.record.transitions, 1);
  }
}

TEST(LeaseStep, WaitsAnewWheneverTheRecordChanges) {
  Desk desk;
  desk.feed(LeaseDue{});
  desk.find("other", "1");
  for (int version = 2; version < 50; ++version) {
    desk.wait_and_find("other", std::to_string(version));
    ASSERT_EQ(desk.deed.kind, Kind::kWait);
  }
}

TEST(LeaseStep, BelievesTheLongerOfItsOwnDurationAndTheRecords) {
  struct Case {
    std::int64_t told;
    Duration waits;
  };
  const std::vector<Case> cases = {{1, 15s}, {15, 15s}, {40, 40s}, {-5, 15s}, {1 << 30, 300s}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.told);
    Desk desk;
    desk.feed(LeaseDue{});
    desk.find("other", "7", c.told);
    desk.now += c.waits - 1ns;
    EXPECT_EQ(desk.find("other", "7", c.told).kind, Kind::kWait);
    desk.now += 1ns;
    EXPECT_EQ(desk.find("other", "7", c.told).kind, Kind::kReplace);
  }
}

// F39
TEST(LeaseStep, TakesALeaseThatWasGivenBackAtOnce) {
  Desk desk;
  desk.feed(LeaseDue{});
  desk.find("other", "7");
  desk.now += 1s;
  EXPECT_EQ(desk.find("", "8", 1).kind, Kind::kReplace);
}

// F38: emptied by hand is not given back
TEST(LeaseStep, WaitsForALeaseThatSomebodyEmptied) {
  Desk desk;
  desk.feed(LeaseDue{});
  EXPECT_EQ(desk.find("", "8", 15).kind, Kind::kWait);
  EXPECT_EQ(desk.find("", "9", 0).kind, Kind::kWait);
  desk.now += 15s;
  EXPECT_EQ(desk.find("", "9", 0).kind, Kind::kReplace);
}

// F38
TEST(LeaseStep, WaitsForTheHolderOfALeaseThatWasDeleted) {
  Desk desk;
  desk.feed(LeaseDue{});
  desk.find("other", "7");
  desk.now += 2s;
  desk.feed(LeaseDue{});
  EXPECT_EQ(desk.feed(LeaseAbsent{}).kind, Kind::kWait) << "its holder may still lead";
  desk.now += 14s;
  EXPECT_EQ(desk.feed(LeaseAbsent{}).kind, Kind::kWait);
  desk.now += 1s;
  EXPECT_EQ(desk.feed(LeaseAbsent{}).kind, Kind::kCreate);
}

// F38
TEST(LeaseStep, KeepsLeadingWhenItsLeaseIsDeletedOrGarbled) {
  Desk deleted;
  deleted.lead();
  deleted.now += 2s;
  EXPECT_EQ(deleted.feed(LeaseDue{}).kind, Kind::kReplace);
  EXPECT_EQ(deleted.feed(LeaseRefused{}).kind, Kind::kLook);
  EXPECT_EQ(deleted.feed(LeaseAbsent{}).kind, Kind::kCreate) << "recreated";
  deleted.feed(LeaseWritten{"30"});
  EXPECT_TRUE(deleted.leads());
  Desk garbled;
  garbled.lead();
  garbled.now += 2s;
  garbled.feed(LeaseDue{});
  garbled.feed(LeaseRefused{});
  EXPECT_EQ(garbled.find("", "9", 0).kind, Kind::kReplace);
  EXPECT_TRUE(garbled.leads());
}

TEST(LeaseStep, StepsDownWhenItFindsAnotherHolder) {
  Desk desk;
  desk.lead();
  desk.now += 2s;
  desk.feed(LeaseDue{});
  desk.feed(LeaseRefused{});
  EXPECT_EQ(desk.find("other", "9").kind, Kind::kWait);
  EXPECT_FALSE(desk.leads()) << "two that lead would be worse than none";
}

TEST(LeaseStep, FindsOutAboutAWriteWhoseAnswerWasLost) {
  Desk desk;
  desk.feed(LeaseDue{});
  desk.feed(LeaseAbsent{});
  EXPECT_EQ(desk.feed(LeaseFailed{}).kind, Kind::kWait);
  EXPECT_FALSE(desk.leads());
  desk.now += desk.deed.wait;
  EXPECT_EQ(desk.feed(LeaseDue{}).kind, Kind::kLook);
  EXPECT_EQ(desk.find("us", "1").kind, Kind::kReplace) << "it was ours";
  EXPECT_EQ(desk.deed.record.transitions, 0);
  desk.feed(LeaseWritten{"2"});
  EXPECT_TRUE(desk.leads());
}

// F35: cut off from the API server
TEST(LeaseStep, StopsLeadingByItsOwnClockWhenNothingAnswers) {
  Desk desk;
  desk.lead();
  while (desk.now < TimePoint(60s)) {
    if (desk.deed.kind == Kind::kWait) {
      desk.now += desk.deed.wait;
      desk.feed(LeaseDue{});
    } else {
      desk.now += 500ms;
      desk.feed(LeaseFailed{});
    }
    ASSERT_EQ(desk.leads(), desk.now < TimePoint(10s));
  }
}

// F36: stopped for a minute
TEST(LeaseStep, DoesNotLeadAfterALongSleep) {
  Desk desk;
  desk.lead();
  desk.now += 60s;
  EXPECT_FALSE(desk.leads());
  EXPECT_EQ(desk.feed(LeaseDue{}).kind, Kind::kLook) << "reads before it writes";
  EXPECT_EQ(desk.find("other", "9").kind, Kind::kWait);
}

TEST(LeaseStep, RenewsAtOnceAfterAnAnswerThatTookTooLong) {
  Desk desk;
  desk.feed(LeaseDue{});
  desk.feed(LeaseAbsent{});
  desk.now += 11s;
  EXPECT_EQ(desk.feed(LeaseWritten{"1"}).wait, 0s);
  EXPECT_FALSE(desk.leads());
}

// F39
TEST(LeaseStep, GivesTheLeaseBackAndTriesAgainAfterAConflict) {
  Desk desk;
  desk.lead();
  EXPECT_EQ(desk.feed(LeaseStop{}).kind, Kind::kReplace);
  EXPECT_TRUE(desk.deed.record.is_released());
  EXPECT_FALSE(desk.leads()) << "from the moment it is sent";
  EXPECT_EQ(desk.feed(LeaseRefused{}).kind, Kind::kWait);
  EXPECT_EQ(desk.feed(LeaseDue{}).kind, Kind::kLook);
  EXPECT_EQ(desk.find("us", "5").kind, Kind::kReplace);
  EXPECT_EQ(desk.feed(LeaseWritten{"6"}).kind, Kind::kEnd);
}

TEST(LeaseStep, EndsAtOnceWhenThereIsNothingToGiveBack) {
  Desk fresh;
  EXPECT_EQ(fresh.feed(LeaseStop{}).kind, Kind::kEnd);
  Desk waiting;
  waiting.feed(LeaseDue{});
  waiting.find("other", "3");
  EXPECT_EQ(waiting.feed(LeaseStop{}).kind, Kind::kEnd);
  Desk replaced;
  replaced.lead();
  replaced.feed(LeaseStop{});
  replaced.feed(LeaseRefused{});
  replaced.feed(LeaseDue{});
  EXPECT_EQ(replaced.find("other", "5").kind, Kind::kEnd) << "what others hold stays";
}

TEST(LeaseStep, LooksFirstWhenItDoesNotKnowWhetherItHoldsTheLease) {
  Desk desk;
  desk.feed(LeaseDue{});
  desk.feed(LeaseAbsent{});
  desk.feed(LeaseFailed{});
  EXPECT_EQ(desk.feed(LeaseStop{}).kind, Kind::kLook);
  EXPECT_EQ(desk.find("us", "1").kind, Kind::kReplace);
  EXPECT_TRUE(desk.deed.record.is_released());
}

TEST(LeaseStep, GivesGivingBackUpAfterAFewTries) {
  Desk desk;
  desk.lead();
  desk.feed(LeaseStop{});
  Duration spent{};
  int steps = 0;
  while (desk.deed.kind != Kind::kEnd && ++steps < 100) {
    if (desk.deed.kind == Kind::kWait) {
      spent += desk.deed.wait;
      desk.feed(LeaseDue{});
    } else {
      desk.feed(LeaseFailed{});
    }
  }
  EXPECT_LT(steps, 20);
  EXPECT_LE(spent, 2s);
}

}  // namespace
}  // namespace kantha::runtime

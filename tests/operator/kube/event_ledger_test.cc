#include "operator/kube/event_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace kantha::kube {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

EventSubject subject(const std::string& name, const std::string& name_space = "n") {
  return {kModelServings, {name_space, name}, "uid-" + name};
}

/// A ledger with a time of its own, in which every write that is queued happens at once.
class Ledger {
 public:
  explicit Ledger(EventLimits limits = {}) : ledger_(7, limits) {}
  /// What happened to the event; written entries are in `written`.
  EventVerdict note(const EventSubject& about, const std::string& message,
                    const std::string& reason = "Failed") {
    const auto noted = ledger_.note(about, EventKind::kWarning, reason, message, now_,
                                    WallTime(now_.time_since_epoch()));
    if (noted.verdict == EventVerdict::kWrite && writes_at_once) {
      written.push_back(*ledger_.begin_write(noted.id));
      ledger_.end_write(noted.id, true);
    }
    last = noted;
    return noted.verdict;
  }
  void pass(Duration time) { now_ += time; }
  EventLedger& raw() { return ledger_; }

  std::vector<EventEntry> written;
  bool writes_at_once = true;
  EventLedger::Noted last;

 private:
  EventLedger ledger_;
  TimePoint now_{hours(1)};
};

TEST(EventLedger, AThousandFailuresAreTwentyFiveRepeatsAndThenOneInFiveMinutes) {
  Ledger ledger;
  for (int i = 0; i < 1000; ++i) ledger.note(subject("a"), "no memory");
  EXPECT_EQ(ledger.written.size(), 26u);
  EXPECT_FALSE(ledger.written[0].is_stored) << "created once";
  EXPECT_TRUE(ledger.written[1].is_stored) << "and counted up";
  EXPECT_EQ(ledger.written[25].name, ledger.written[0].name);
  for (int second = 0; second < 3600; second += 10) {
    ledger.pass(seconds(10));
    ledger.note(subject("a"), "no memory");
  }
  EXPECT_NEAR(static_cast<double>(ledger.written.size()), 26 + 12, 1);
  ledger.pass(minutes(5));
  ledger.note(subject("a"), "no memory");
  EXPECT_EQ(ledger.written.back().count, 1361) << "those that were not written count";
}

TEST(EventLedger, WhatFlapsDoesNotHideWhatIsNew) {
  Ledger ledger;
  for (int i = 0; i < 1000; ++i) ledger.note(subject("a"), "no memory");
  EXPECT_EQ(ledger.note(subject("a"), "no memory"), EventVerdict::kSuppressed);
  EXPECT_EQ(ledger.note(subject("a"), "all pods run r-2", "RolledOut"), EventVerdict::kWrite);
}

TEST(EventLedger, NewsIsBoundedToo) {
  Ledger ledger;
  const auto tell = [&](int i) {
    return ledger.note(subject("a"), "m", "Reason" + std::to_string(i));
  };
  for (int i = 0; i < 1000; ++i) tell(i);
  EXPECT_EQ(ledger.written.size(), 100u);
  ledger.pass(seconds(30));
  EXPECT_EQ(tell(1000), EventVerdict::kWrite);
  EXPECT_EQ(tell(1001), EventVerdict::kSuppressed);
}

TEST(EventLedger, EventsDuringAWriteAreCountedOnTheNext) {
  Ledger ledger;
  ledger.writes_at_once = false;
  EXPECT_EQ(ledger.note(subject("a"), "m"), EventVerdict::kWrite);
  const auto id = ledger.last.id;
  EXPECT_EQ(ledger.note(subject("a"), "m"), EventVerdict::kCoalesced);
  EXPECT_EQ(ledger.raw().begin_write(id)->count, 2);
  EXPECT_EQ(ledger.note(subject("a"), "m"), EventVerdict::kWrite) << "the write has begun";
  EXPECT_EQ(ledger.raw().begin_write(id)->count, 3);
}

TEST(EventLedger, OtherObjectsAreNotHeldBack) {
  Ledger ledger;
  for (int i = 0; i < 100; ++i) ledger.note(subject("a"), "m");
  EXPECT_EQ(ledger.note(subject("b"), "m"), EventVerdict::kWrite);
}

TEST(EventLedger, ReasonsAndMessagesAreEventsOfTheirOwn) {
  Ledger ledger;
  ledger.note(subject("a"), "m");
  ledger.note(subject("a"), "m2");
  ledger.note(subject("a"), "m", "Other");
  std::set<std::string> names;
  for (const EventEntry& each : ledger.written) names.insert(each.name);
  EXPECT_EQ(names.size(), 3u);
}

TEST(EventLedger, AnEventThatWasAwayForLongIsANewObject) {
  Ledger ledger;
  ledger.note(subject("a"), "m");
  ledger.pass(minutes(9));
  ledger.note(subject("a"), "m");
  ledger.pass(minutes(11));
  ledger.note(subject("a"), "m");
  ASSERT_EQ(ledger.written.size(), 3u);
  EXPECT_EQ(ledger.written[1].name, ledger.written[0].name);
  EXPECT_NE(ledger.written[2].name, ledger.written[0].name);
  EXPECT_EQ(ledger.written[2].count, 1);
  EXPECT_FALSE(ledger.written[2].is_stored);
}

TEST(EventLedger, ManyMessagesOfOneReasonAreCombined) {
  Ledger ledger;
  for (int i = 0; i < 15; ++i) ledger.note(subject("a"), "pod " + std::to_string(i));
  std::set<std::string> names;
  for (const EventEntry& each : ledger.written) names.insert(each.name);
  EXPECT_EQ(names.size(), 11u);
  EXPECT_EQ(ledger.written.back().message, "(combined from similar events): pod 14");
  EXPECT_EQ(ledger.written.back().count, 5);
  ledger.pass(minutes(11));
  ledger.note(subject("a"), "pod 99");
  EXPECT_EQ(ledger.written.back().message, "pod 99") << "the window has passed";
}

TEST(EventLedger, AWriteThatFailedIsTriedUnderAFreshName) {
  Ledger ledger;
  ledger.writes_at_once = false;
  ledger.note(subject("a"), "m");
  const auto id = ledger.last.id;
  const std::string name = ledger.raw().begin_write(id)->name;
  ledger.raw().end_write(id, false);
  ledger.note(subject("a"), "m");
  const auto again = ledger.raw().begin_write(id);
  EXPECT_NE(again->name, name);
  EXPECT_FALSE(again->is_stored);
}

TEST(EventLedger, KeepsABoundedNumberAndTheNewest) {
  Ledger ledger({.entries_max = 10});
  for (int i = 0; i < 1000; ++i) {
    ledger.pass(seconds(1));
    ledger.note(subject(std::to_string(i)), "m");
    ASSERT_LE(ledger.raw().size(), 10u);
    ASSERT_GE(ledger.raw().size(), std::min<std::size_t>(static_cast<std::size_t>(i) + 1, 8))
        << "only the oldest go";
  }
  EXPECT_EQ(ledger.note(subject("999"), "m"), EventVerdict::kWrite);
  EXPECT_EQ(ledger.written.back().count, 2);
  EXPECT_FALSE(ledger.raw().begin_write(1).has_value()) << "the first has gone";
}

TEST(EventLedger, ABurstAtOneMomentKeepsWhatCameLast) {
  Ledger ledger({.entries_max = 10});
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(ledger.note(subject(std::to_string(i)), "m"), EventVerdict::kWrite) << i;
    ASSERT_LE(ledger.raw().size(), 10u);
  }
  EXPECT_TRUE(ledger.raw().begin_write(1000).has_value());
}

TEST(EventLedger, LongTextsAreCutBetweenCharacters) {
  Ledger ledger;
  std::string message;
  while (message.size() < 2000) message += "\xe2\x82\xac";
  ledger.note(subject(std::string(253, 'x')), message);
  const EventEntry& entry = ledger.written.back();
  EXPECT_EQ(entry.message.size(), 1023u);
  EXPECT_EQ(entry.name.size(), 253u);
}

TEST(EventObject, IsAsTheApiWantsIt) {
  Ledger ledger;
  ledger.note(subject("a"), "no memory");
  EventEntry entry = ledger.written.back();
  const Json object = event_object(entry, "kantha-operator", "pod-1");
  EXPECT_EQ(object["apiVersion"], "v1");
  EXPECT_EQ(object["kind"], "Event");
  EXPECT_EQ(object["metadata"]["namespace"], "n");
  EXPECT_THAT(object["metadata"]["name"].get<std::string>(),
              testing::MatchesRegex("a\\.[0-9a-f]{16}"));
  EXPECT_EQ(object["involvedObject"]["apiVersion"], "serving.kantha.dev/v1alpha1");
  EXPECT_EQ(object["involvedObject"]["kind"], "ModelServing");
  EXPECT_EQ(object["involvedObject"]["namespace"], "n");
  EXPECT_EQ(object["involvedObject"]["uid"], "uid-a");
  EXPECT_EQ(object["type"], "Warning");
  EXPECT_EQ(object["reason"], "Failed");
  EXPECT_EQ(object["count"], 1);
  EXPECT_EQ(object["firstTimestamp"], "1970-01-01T01:00:00Z");
  EXPECT_EQ(object["source"]["component"], "kantha-operator");
  EXPECT_EQ(object["reportingComponent"], "kantha-operator");
  EXPECT_EQ(object["reportingInstance"], "pod-1");
  const Json patch = event_patch(entry);
  EXPECT_EQ(patch["count"], 1);
  EXPECT_EQ(patch["lastTimestamp"], "1970-01-01T01:00:00Z");
  entry.subject.key.name_space.clear();
  EXPECT_EQ(event_namespace(entry), "default");
  EXPECT_FALSE(event_object(entry, "c", "i")["involvedObject"].contains("namespace"));
}

}  // namespace
}  // namespace kantha::kube

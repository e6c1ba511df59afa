#include "operator/runtime/watcher_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "operator/kube/api_fault.h"

namespace kantha::runtime {
namespace {

using namespace std::chrono_literals;
using kube::ApiFault;
using kube::WatchEventType;
using Kind = WatchDeed::Kind;

Error fault(ApiFault kind, Duration retry_after = 0s, std::string message = "no") {
  Error error = {Code::kInternal, std::move(message)};
  error.reason = kube::fault_name(kind);
  error.retry_after_ms = std::chrono::duration_cast<std::chrono::milliseconds>(retry_after).count();
  return error;
}

/// A watcher at its desk: fed with inputs, it says what it would do.
class Desk {
 public:
  explicit Desk(bool without_watch_list = false) {
    state.is_watch_list_refused = without_watch_list;
    state.backoff = FaultBackoff(7);
  }

  const WatchDeed& feed(const WatchInput& input) {
    WatchStep step = watcher_step(std::move(state), input, now);
    state = std::move(step.state);
    output = std::move(step.output);
    for (const StoreDeed deed : output.store) store += letter(deed);
    return output.next;
  }
  const WatchDeed& fail(ApiFault kind, Duration retry_after = 0s) {
    return feed(AttemptFailed{fault(kind, retry_after)});
  }
  const WatchDeed& event(WatchEventType type, const std::string& version, bool is_end = false) {
    feed(EventSeen{type, version, is_end});
    return output.next;
  }
  /// Waits out the pause that it was told.
  const WatchDeed& wait() {
    EXPECT_EQ(output.next.kind, Kind::kPause);
    now += output.next.pause;
    return feed(Begin{});
  }
  /// To Watching at version 10, by pages.
  void reach_watching() {
    state.is_watch_list_refused = true;
    feed(Begin{});
    feed(PageSeen{1, "10", ""});
    feed(WatchOpened{});
    EXPECT_EQ(state.phase, WatchPhase::kWatching);
    store.clear();
  }
  /// What was done to the store since asked last: B(egin) S(tage) U(nstage) P(ublish) A(pply)
  /// E(rase) V(ersion).
  std::string done() { return std::exchange(store, {}); }

  WatchState state;
  WatchOutput output;
  TimePoint now{};

 private:
  static char letter(StoreDeed deed) { return "BSUPAEV"[static_cast<std::size_t>(deed)]; }
  std::string store;
};

TEST(WatcherStep, ListsByPagesThenWatchesFromTheVersionOfTheList) {
  Desk desk(/*without_watch_list=*/true);
  const WatchDeed first = desk.feed(Begin{});
  EXPECT_EQ(first.kind, Kind::kList);
  EXPECT_EQ(first.resource_version, "0") << "from the server's cache at first";
  EXPECT_EQ(first.limit, 500);
  const WatchDeed second = desk.feed(PageSeen{500, "10", "token"});
  EXPECT_EQ(second.kind, Kind::kList);
  EXPECT_EQ(second.continue_token, "token");
  EXPECT_EQ(second.resource_version, "") << "the token says it";
  EXPECT_EQ(desk.done(), "BS") << "nothing is published of a list that is not whole";
  const WatchDeed third = desk.feed(PageSeen{3, "10", ""});
  EXPECT_EQ(desk.done(), "SP");
  EXPECT_EQ(third.kind, Kind::kWatch);
  EXPECT_EQ(third.resource_version, "10");
  EXPECT_FALSE(third.send_initial_events);
  EXPECT_EQ(desk.feed(WatchOpened{}).kind, Kind::kRead);
  EXPECT_EQ(desk.state.phase, WatchPhase::kWatching);
}

TEST(WatcherStep, StreamsTheListAndPublishesOnlyAfterTheEndBookmark) {
  Desk desk;
  EXPECT_EQ(desk.feed(Begin{}).kind, Kind::kWatch);
  EXPECT_TRUE(desk.output.next.send_initial_events);
  EXPECT_EQ(desk.output.next.resource_version, "");
  desk.feed(WatchOpened{});
  desk.event(WatchEventType::kAdded, "3");
  desk.event(WatchEventType::kAdded, "5");
  desk.event(WatchEventType::kBookmark, "6");
  desk.event(WatchEventType::kModified, "7");
  desk.event(WatchEventType::kDeleted, "8");
  EXPECT_EQ(desk.done(), "BSSSU");
  EXPECT_FALSE(desk.state.has_published);
  desk.event(WatchEventType::kBookmark, "9", /*is_end=*/true);
  EXPECT_EQ(desk.done(), "P");
  EXPECT_EQ(desk.state.phase, WatchPhase::kWatching) << "the same stream goes on";
  EXPECT_EQ(desk.state.resource_version, "9");
  EXPECT_EQ(desk.feed(EventsTaken{}).kind, Kind::kRead);
  desk.event(WatchEventType::kAdded, "10");
  EXPECT_EQ(desk.done(), "A");
}

// F1
TEST(WatcherStep, ResumesACutFromTheLastVersion) {
  Desk desk;
  desk.reach_watching();
  desk.event(WatchEventType::kModified, "12");
  desk.event(WatchEventType::kDeleted, "14");
  EXPECT_EQ(desk.done(), "AE");
  desk.now += 10s;
  Error cut = fault(ApiFault::kUnreachable);
  cut.code = Code::kDataLoss;
  EXPECT_EQ(desk.feed(AttemptFailed{cut}).kind, Kind::kPause);
  EXPECT_LE(desk.output.next.pause, 1600ms);
  EXPECT_EQ(desk.state.phase, WatchPhase::kListed);
  EXPECT_EQ(desk.wait().kind, Kind::kWatch);
  EXPECT_EQ(desk.output.next.resource_version, "14");
  EXPECT_TRUE(desk.output.is_restart);
  EXPECT_FALSE(desk.output.is_relist);
  EXPECT_EQ(desk.done(), "") << "the store keeps what it has";
}

TEST(WatcherStep, OpensAWatchThatTheServerEndedInItsTimeAgainAtOnce) {
  Desk desk;
  desk.reach_watching();
  desk.now += 5min;
  EXPECT_EQ(desk.feed(WatchEnded{}).kind, Kind::kWatch);
  EXPECT_EQ(desk.output.next.resource_version, "10");
  EXPECT_EQ(desk.state.backoff.fault_count(), 0);
}

// F2, F3: HTTP 410 at the start of a watch and an in-stream ERROR of code 410 are one thing
TEST(WatcherStep, ListsAnewWhenItsVersionExpiredAtTheLastVersionAndThenAtAny) {
  const Json status = {{"kind", "Status"}, {"code", 410}, {"reason", "Expired"}};
  const WatchInput in_stream = input_of({WatchEventType::kError, status});
  for (const WatchInput& expired :
       {WatchInput{AttemptFailed{fault(ApiFault::kExpired)}}, in_stream}) {
    Desk desk;
    desk.reach_watching();
    const WatchDeed relist = desk.feed(expired);
    EXPECT_EQ(relist.kind, Kind::kList) << "at once";
    EXPECT_EQ(relist.resource_version, "10");
    EXPECT_EQ(relist.resource_version_match, "NotOlderThan");
    EXPECT_TRUE(desk.output.is_relist);
    const WatchDeed newest = desk.fail(ApiFault::kExpired);
    EXPECT_EQ(newest.kind, Kind::kList) << "at once";
    EXPECT_EQ(newest.resource_version, "");
    EXPECT_EQ(newest.resource_version_match, "");
    EXPECT_EQ(desk.fail(ApiFault::kExpired).kind, Kind::kPause) << "but not for ever at once";
    desk.wait();
    desk.done();
    desk.feed(PageSeen{2, "90", ""});
    EXPECT_EQ(desk.done(), "SP");
    EXPECT_EQ(desk.state.list_from, ListFrom::kAtLeast);
  }
}

TEST(WatcherStep, DoesNotRunHotWhenEveryWatchExpires) {
  Desk desk;
  desk.reach_watching();
  int calls = 0;
  while (desk.now < TimePoint(10min)) {
    desk.fail(ApiFault::kExpired);
    if (desk.output.next.kind == Kind::kPause) desk.wait();
    desk.feed(PageSeen{1, "11", ""});
    desk.feed(WatchOpened{});
    calls += 2;
  }
  EXPECT_LE(calls, 180) << "0.3 calls a second";
}

// F4
TEST(WatcherStep, MovesOnlyTheVersionByBookmarksAndResumesFromTheLast) {
  Desk desk;
  desk.reach_watching();
  for (int minute = 1; minute <= 30; ++minute) {
    desk.now += 1min;
    desk.event(WatchEventType::kBookmark, std::to_string(100 + minute));
    EXPECT_EQ(desk.feed(EventsTaken{}).kind, Kind::kRead);
  }
  EXPECT_EQ(desk.done(), std::string(30, 'V')) << "no object changes";
  desk.fail(ApiFault::kUnreachable);
  EXPECT_EQ(desk.wait().resource_version, "130");
  EXPECT_FALSE(desk.output.is_relist);
}

// F5
TEST(WatcherStep, WorksWithoutBookmarksAndListsAnewOnlyWhenExpired) {
  Desk desk;
  desk.reach_watching();
  for (int i = 0; i < 20; ++i) {
    desk.now += 5min;
    ASSERT_EQ(desk.feed(WatchEnded{}).kind, Kind::kWatch);
    ASSERT_FALSE(desk.output.is_relist);
    desk.feed(WatchOpened{});
  }
  EXPECT_TRUE(desk.fail(ApiFault::kExpired).kind == Kind::kList && desk.output.is_relist);
}

// F6
TEST(WatcherStep, PublishesNothingOfAStreamThatDiesBeforeItsEnd) {
  const std::vector<WatchInput> deaths = {
      WatchEnded{}, WatchQuiet{}, AttemptFailed{fault(ApiFault::kUnreachable)},
      AttemptFailed{fault(ApiFault::kServer)}, AttemptFailed{fault(ApiFault::kMalformed)}};
  for (const WatchInput& death : deaths) {
    Desk desk;
    desk.feed(Begin{});
    desk.feed(WatchOpened{});
    desk.event(WatchEventType::kAdded, "3");
    desk.now += 20s;
    desk.feed(death);
    EXPECT_EQ(desk.done(), std::holds_alternative<WatchQuiet>(death) ? "BSBB" : "BSB")
        << death.index();
    if (desk.output.next.kind == Kind::kPause) desk.wait();
    EXPECT_EQ(desk.output.next.kind, Kind::kWatch);
    EXPECT_TRUE(desk.output.next.send_initial_events) << "a clean retry";
    EXPECT_FALSE(desk.state.has_published);
  }
}

TEST(WatcherStep, ListsByPagesAfterThreeStreamsWithoutAnEnd) {
  Desk desk;
  desk.feed(Begin{});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(desk.output.next.kind, Kind::kWatch) << i;
    desk.feed(WatchOpened{});
    desk.now += 1min;
    desk.feed(WatchQuiet{});
    if (desk.output.next.kind == Kind::kPause) desk.wait();
  }
  EXPECT_EQ(desk.output.next.kind, Kind::kList);
  desk.feed(PageSeen{1, "10", ""});
  EXPECT_FALSE(desk.state.is_watch_list_refused) << "the next time it may work";
}

TEST(WatcherStep, DoesNotTakeAServerThatIsAwayForOneThatCannotStream) {
  Desk desk;
  desk.feed(Begin{});
  Error away = fault(ApiFault::kUnreachable);
  away.code = Code::kUnavailable;
  for (int i = 0; i < 20; ++i) {
    desk.feed(AttemptFailed{away});
    desk.wait();
    ASSERT_EQ(desk.output.next.kind, Kind::kWatch) << i;
  }
}

// F7
TEST(WatcherStep, FallsBackOnceToPagesWhenTheServerRefusesToStreamAndRemembersIt) {
  const std::vector<Error> refusals = {
      fault(ApiFault::kInvalid), fault(ApiFault::kUnsupported),
      fault(ApiFault::kForbidden, 0s, "sendInitialEvents is forbidden for watch")};
  for (const Error& refusal : refusals) {
    Desk desk;
    EXPECT_EQ(desk.feed(Begin{}).kind, Kind::kWatch);
    EXPECT_EQ(desk.feed(AttemptFailed{refusal}).kind, Kind::kList) << "at once";
    EXPECT_EQ(desk.output.next.resource_version, "0");
    desk.feed(PageSeen{1, "10", ""});
    desk.feed(WatchOpened{});
    EXPECT_FALSE(desk.state.trouble);
    EXPECT_EQ(desk.fail(ApiFault::kExpired).kind, Kind::kList) << "remembered";
    EXPECT_EQ(desk.state.backoff.fault_count(), 1) << "the refusal was no fault";
  }
}

// F8
TEST(WatcherStep, AsksForTheNewestWhenTheServerLagsBehindItsVersion) {
  Desk desk;
  desk.reach_watching();
  desk.fail(ApiFault::kExpired);
  EXPECT_EQ(desk.output.next.resource_version, "10");
  EXPECT_EQ(desk.fail(ApiFault::kFutureVersion).kind, Kind::kList) << "at once";
  EXPECT_EQ(desk.output.next.resource_version, "");
  for (int i = 0; i < 12; ++i) {
    desk.fail(ApiFault::kFutureVersion, 1s);
    ASSERT_EQ(desk.output.next.kind, Kind::kPause);
    ASSERT_GE(desk.output.next.pause, 1s) << "as the server said";
    ASSERT_LE(desk.output.next.pause, 4s) << "so that it follows within 5 s";
    desk.wait();
  }
}

// F9
TEST(WatcherStep, RestartsTheWholeListWhenItsTokenExpires) {
  Desk desk(/*without_watch_list=*/true);
  desk.feed(Begin{});
  desk.feed(PageSeen{500, "10", "token"});
  desk.done();
  const WatchDeed again = desk.fail(ApiFault::kExpired);
  EXPECT_EQ(again.kind, Kind::kList);
  EXPECT_EQ(again.continue_token, "");
  EXPECT_EQ(desk.done(), "BB") << "no mixed snapshot";
  desk.feed(PageSeen{500, "12", "token2"});
  desk.fail(ApiFault::kExpired);
  desk.wait();
  EXPECT_EQ(desk.output.next.limit, 0) << "pages are too slow here, so all of it";
  desk.feed(PageSeen{900, "14", ""});
  EXPECT_EQ(desk.state.expired_lists, 0);
}

TEST(WatcherStep, AsksForTheSamePageAgainAfterAPassingFault) {
  for (const ApiFault kind : {ApiFault::kServer, ApiFault::kTimeout, ApiFault::kUnreachable}) {
    Desk desk(/*without_watch_list=*/true);
    desk.feed(Begin{});
    desk.feed(PageSeen{500, "10", "token"});
    desk.done();
    desk.fail(kind);
    EXPECT_EQ(desk.wait().continue_token, "token");
    EXPECT_EQ(desk.done(), "");
  }
}

// F10
TEST(WatcherStep, BacksOffFromWatchesThatCloseAtOnce) {
  for (const Duration lived : {Duration(0s), Duration(900ms)}) {
    Desk desk;
    desk.reach_watching();
    std::vector<Duration> pauses;
    const TimePoint begun = desk.now;
    while (desk.now - begun < 1h) {
      desk.now += lived;
      ASSERT_EQ(desk.feed(WatchEnded{}).kind, Kind::kPause);
      pauses.push_back(desk.output.next.pause);
      ASSERT_EQ(desk.wait().kind, Kind::kWatch);
      desk.feed(WatchOpened{});
    }
    for (std::size_t i = 0; i < pauses.size(); ++i) {
      const Duration base = std::min<Duration>(800ms * (1 << std::min<std::size_t>(i, 10)), 15s);
      ASSERT_GE(pauses[i], base) << i;
      ASSERT_LE(pauses[i], 2 * base) << i;
    }
    EXPECT_LE(pauses.size(), 3600u * 3 / 10) << "0.3 calls a second";
    EXPECT_GT(pauses.back(), 10s);
  }
}

TEST(WatcherStep, BacksOffFromWatchesThatCloseAfterAFewSeconds) {
  Desk desk;
  desk.reach_watching();
  int calls = 0;
  while (desk.now < TimePoint(1h)) {
    desk.now += 1100ms;
    desk.feed(WatchEnded{});
    if (desk.output.next.kind == Kind::kPause) desk.wait();
    desk.feed(WatchOpened{});
    ++calls;
  }
  EXPECT_LE(calls, 3600 * 3 / 10);
}

TEST(WatcherStep, BeginsItsBackoffAnewAfterTwoQuietMinutes) {
  Desk desk;
  desk.reach_watching();
  for (int i = 0; i < 8; ++i) {
    desk.fail(ApiFault::kUnreachable);
    desk.wait();
  }
  desk.feed(WatchOpened{});
  desk.now += 119s;
  desk.fail(ApiFault::kUnreachable);
  EXPECT_GE(desk.output.next.pause, 15s);
  desk.wait();
  desk.feed(WatchOpened{});
  desk.now += 2min;
  desk.fail(ApiFault::kUnreachable);
  EXPECT_LE(desk.output.next.pause, 1600ms);
}

// F11
TEST(WatcherStep, WaitsAsLongAsAThrottlingServerSaysAndKeepsItsPlace) {
  Desk watching;
  watching.reach_watching();
  watching.fail(ApiFault::kThrottled, 20s);
  EXPECT_GE(watching.output.next.pause, 20s);
  EXPECT_LE(watching.output.next.pause, 21s);
  EXPECT_EQ(watching.wait().resource_version, "10");
  EXPECT_EQ(watching.output.next.kind, Kind::kWatch);
  Desk listing(/*without_watch_list=*/true);
  listing.feed(Begin{});
  listing.feed(PageSeen{500, "10", "token"});
  listing.fail(ApiFault::kThrottled, 20s);
  EXPECT_GE(listing.output.next.pause, 20s);
  EXPECT_EQ(listing.wait().continue_token, "token");
  Desk streaming;
  streaming.feed(Begin{});
  for (int i = 0; i < 5; ++i) {
    streaming.fail(ApiFault::kThrottled, 1h);
    EXPECT_EQ(streaming.output.next.pause, 5min) << "believed up to here";
    streaming.wait();
    EXPECT_TRUE(streaming.output.next.send_initial_events);
  }
}

// F12
TEST(WatcherStep, ReconnectsWhenNothingComesForLongerThanExpected) {
  Desk desk;
  desk.reach_watching();
  desk.feed(EventsTaken{});
  EXPECT_EQ(desk.output.next.idle_timeout, desk.state.server_timeout + 60s);
  EXPECT_GE(desk.state.server_timeout, 5min);
  EXPECT_LE(desk.state.server_timeout, 10min);
  desk.event(WatchEventType::kBookmark, "11");
  desk.feed(EventsTaken{});
  EXPECT_EQ(desk.output.next.idle_timeout, 120s) << "60 s beyond the next bookmark";
  desk.now += 120s;
  EXPECT_EQ(desk.feed(WatchQuiet{}).kind, Kind::kWatch);
  EXPECT_EQ(desk.output.next.resource_version, "11");
  desk.feed(WatchOpened{});
  EXPECT_GT(desk.output.next.idle_timeout, 5min) << "it may have stopped sending bookmarks";
}

// F14
TEST(WatcherStep, TakesObjectsOfAnyShapeForEventsWithoutAVersion) {
  const std::vector<Json> objects = {nullptr,
                                     5,
                                     "x",
                                     Json::array(),
                                     Json::object(),
                                     {{"metadata", 5}},
                                     {{"metadata", {{"resourceVersion", 5}}}},
                                     {{"metadata", {{"annotations", 5}}}}};
  Desk desk;
  desk.reach_watching();
  for (const Json& object : objects) {
    for (const auto type : {WatchEventType::kAdded, WatchEventType::kBookmark}) {
      desk.feed(input_of({type, object}));
      EXPECT_EQ(desk.output.next.kind, Kind::kContinue);
    }
    EXPECT_EQ(desk.state.resource_version, "10");
    EXPECT_TRUE(std::holds_alternative<AttemptFailed>(input_of({WatchEventType::kError, object})));
  }
}

TEST(WatcherStep, KnowsTheEndBookmarkByItsAnnotation) {
  struct Case {
    Json annotations;
    bool is_end;
  };
  const std::vector<Case> cases = {{{{"k8s.io/initial-events-end", "true"}}, true},
                                   {{{"k8s.io/initial-events-end", "false"}}, false},
                                   {{{"k8s.io/initial-events-end", true}}, false},
                                   {nullptr, false}};
  for (const Case& c : cases) {
    const Json object = {{"metadata", {{"resourceVersion", "9"}, {"annotations", c.annotations}}}};
    const WatchInput input = input_of({WatchEventType::kBookmark, object});
    ASSERT_TRUE(std::holds_alternative<EventSeen>(input));
    EXPECT_EQ(std::get<EventSeen>(input).ends_initial_events, c.is_end) << c.annotations;
    EXPECT_EQ(std::get<EventSeen>(input).resource_version, "9");
    EXPECT_FALSE(
        std::get<EventSeen>(input_of({WatchEventType::kAdded, object})).ends_initial_events);
  }
}

TEST(WatcherStep, LeavesEventsAloneThatAreOlderThanWhatItHas) {
  Desk desk;
  desk.reach_watching();
  desk.event(WatchEventType::kModified, "9");
  desk.event(WatchEventType::kDeleted, "9");
  desk.event(WatchEventType::kBookmark, "9");
  EXPECT_EQ(desk.done(), "");
  EXPECT_EQ(desk.state.resource_version, "10");
}

// F33: access revoked; F32: our kind deleted
TEST(WatcherStep, NamesATroubleThatRetryingWillNotMendAndAsksSlowlyForEver) {
  for (const ApiFault kind : {ApiFault::kForbidden, ApiFault::kNotFound}) {
    Desk desk;
    desk.reach_watching();
    if (kind == ApiFault::kForbidden) {
      desk.fail(kind);
      desk.wait();
    }
    for (int i = 0; i < 50; ++i) {
      desk.fail(kind);
      ASSERT_TRUE(desk.state.trouble);
      ASSERT_EQ(kube::fault_of(*desk.state.trouble), kind);
      ASSERT_EQ(desk.output.next.kind, Kind::kPause);
      ASSERT_LE(desk.output.next.pause, 30s) << "resumed within 60 s";
      desk.wait();
    }
    EXPECT_EQ(desk.done().find('P'), std::string::npos) << "the store keeps its content";
    if (kind == ApiFault::kForbidden) {
      EXPECT_EQ(desk.output.next.resource_version, "10") << "resumed where it was";
      desk.feed(WatchOpened{});
    } else {
      EXPECT_EQ(desk.output.next.kind, Kind::kList);
      desk.feed(PageSeen{0, "99", ""});
    }
    EXPECT_FALSE(desk.state.trouble);
  }
}

// An API server that starts refuses everybody for a second, until it has read its rules.
TEST(WatcherStep, AsksAgainSoonBeforeItCallsARefusalATrouble) {
  Desk desk;
  desk.reach_watching();
  for (int outage = 0; outage < 2; ++outage) {
    desk.fail(ApiFault::kForbidden);
    EXPECT_FALSE(desk.state.trouble);
    EXPECT_EQ(desk.output.next.pause, 1s);
    desk.wait();
    desk.feed(WatchOpened{});
    EXPECT_EQ(desk.state.phase, WatchPhase::kWatching);
  }
  Desk beginner;
  beginner.fail(ApiFault::kForbidden);
  EXPECT_TRUE(beginner.state.trouble) << "what was never seen is said at once";
}

// F34
TEST(WatcherStep, CallsBadCredentialsATroubleOnlyWhenTheyStay) {
  Desk desk;
  desk.reach_watching();
  desk.fail(ApiFault::kUnauthorized);
  EXPECT_FALSE(desk.state.trouble) << "the next request uses the new token";
  desk.wait();
  desk.fail(ApiFault::kUnauthorized);
  EXPECT_TRUE(desk.state.trouble);
}

TEST(WatcherStep, GoesAroundAPlaceThatFailsAgainAndAgain) {
  for (const ApiFault kind : {ApiFault::kServer, ApiFault::kMalformed}) {
    Desk desk;
    desk.reach_watching();
    for (int i = 0; i < 4; ++i) {
      desk.fail(kind);
      ASSERT_EQ(desk.wait().kind, Kind::kWatch);
    }
    desk.fail(kind);
    EXPECT_EQ(desk.wait().kind, Kind::kList) << "an event that can't be read is not in a list";
  }
}

TEST(WatcherStep, HalvesPagesThatAreTooLarge) {
  Desk desk(/*without_watch_list=*/true);
  desk.feed(Begin{});
  for (const std::int64_t limit : {250, 125, 62, 31}) {
    desk.fail(ApiFault::kMalformed);
    EXPECT_EQ(desk.wait().limit, limit);
    EXPECT_EQ(desk.output.next.resource_version, "") << "at version 0 limits are ignored";
  }
}

TEST(WatcherStep, HoldsNoMoreObjectsThanItMay) {
  Desk pages(/*without_watch_list=*/true);
  pages.state.tuning.pending_objects_max = 1000;
  pages.feed(Begin{});
  pages.feed(PageSeen{600, "10", "a"});
  EXPECT_EQ(pages.feed(PageSeen{600, "10", "b"}).kind, Kind::kPause);
  EXPECT_EQ(pages.done(), "BSB");
  EXPECT_EQ(pages.state.trouble->code, Code::kResourceExhausted);
  EXPECT_NE(pages.state.trouble->message.find("1000"), std::string::npos);
  pages.wait();
  for (int i = 0; i < 1000; ++i) pages.feed(PageSeen{0, "10", "again"});
  EXPECT_EQ(pages.feed(PageSeen{0, "10", "again"}).kind, Kind::kPause) << "empty pages end, too";
  Desk stream;
  stream.state.tuning.pending_objects_max = 2;
  stream.feed(Begin{});
  stream.feed(WatchOpened{});
  stream.event(WatchEventType::kAdded, "1");
  stream.event(WatchEventType::kAdded, "2");
  EXPECT_EQ(stream.event(WatchEventType::kAdded, "3").kind, Kind::kPause);
}

}  // namespace
}  // namespace kantha::runtime

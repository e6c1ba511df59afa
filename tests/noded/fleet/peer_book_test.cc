#include "noded/fleet/peer_book.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace kantha::noded {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::int64_t kNowMs = 1'764'489'600'000;

class PeerBookTest : public testing::Test {
 protected:
  static FleetView view(std::int64_t at_ms, std::vector<std::string> names) {
    FleetView out{at_ms, {}};
    for (std::string& name : names) {
      out.peers.push_back({name, "10.0.0.1:8000", "m", "r"});
    }
    return out;
  }
  Status take(const FleetView& view) { return book_.take(view, wall_, now_); }
  std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const Peer* peer : book_.peers(now_)) out.push_back(peer->told.name);
    return out;
  }
  bool says(const std::string& name, const PeerLoad& load) {
    return book_.note_load(name, load_text(load), now_);
  }

  PeerBook book_{"a-0", "m"};
  WallTime wall_{milliseconds(kNowMs)};
  TimePoint now_ = TimePoint{} + minutes(100);
};

TEST_F(PeerBookTest, LeavesItselfAndOtherModelsOut) {
  FleetView told = view(kNowMs, {"a-0", "a-1", "b-0"});
  told.peers[2].model = "another";
  ASSERT_TRUE(take(told).ok());
  EXPECT_EQ(names(), std::vector<std::string>{"a-1"});
}

TEST_F(PeerBookTest, RemembersSinceWhenAPeerIsReadyWhenItsLoadIsOld) {
  ASSERT_TRUE(take(view(kNowMs, {"a-1"})).ok());
  EXPECT_FALSE(book_.find("a-1")->ready_since);
  const TimePoint since = now_ - seconds(3);
  EXPECT_TRUE(says("a-1", {"a-1", "m", EnginePhase::kReady, 0, 0, 0, 3000}));
  now_ += minutes(2);
  ASSERT_TRUE(take(view(kNowMs + 1, {"a-1", "a-2"})).ok());
  EXPECT_EQ(book_.find("a-1")->ready_since, since);
  EXPECT_FALSE(book_.find("a-2")->ready_since);
  EXPECT_TRUE(says("a-1", {"a-1", "m", EnginePhase::kReady, 0, 0, 0, 1}));
  EXPECT_EQ(book_.find("a-1")->ready_since, now_ - milliseconds(1)) << "it began anew";
  EXPECT_TRUE(says("a-1", {"a-1", "m", EnginePhase::kReady, 0, 0, 0, INT64_MAX}));
  EXPECT_EQ(book_.find("a-1")->ready_since, now_ - std::chrono::hours(24)) << "as far as it counts";
}

TEST_F(PeerBookTest, RefusesViewsOfAnotherTimeAndKeepsTheOneThatItHas) {
  ASSERT_TRUE(take(view(kNowMs, {"a-1"})).ok());
  struct Case {
    const char* what;
    std::int64_t at_ms;
  };
  for (const Case& wrong :
       {Case{"from the future", kNowMs + 5001}, Case{"hours old", kNowMs - 7'200'000},
        Case{"the same again", kNowMs}, Case{"older", kNowMs - 1}}) {
    const Status taken = take(view(wrong.at_ms, {"evil-0"}));
    ASSERT_FALSE(taken.ok()) << wrong.what;
    EXPECT_EQ(taken.error().code, Code::kFailedPrecondition) << wrong.what;
  }
  EXPECT_EQ(names(), std::vector<std::string>{"a-1"});
  EXPECT_TRUE(take(view(kNowMs + 1, {"a-2"})).ok());
  EXPECT_EQ(names(), std::vector<std::string>{"a-2"});
}

TEST_F(PeerBookTest, RefusesAnEndpointThatIsNone) {
  FleetView told = view(kNowMs, {"a-1"});
  told.peers[0].endpoint = "nowhere at all";
  const Status taken = take(told);
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code, Code::kInvalidArgument);
  EXPECT_TRUE(names().empty());
}

TEST_F(PeerBookTest, ForgetsAViewThatNobodyRenews) {
  ASSERT_TRUE(take(view(kNowMs, {"a-1"})).ok());
  now_ += minutes(15);
  EXPECT_EQ(names().size(), 1U);
  now_ += milliseconds(1);
  EXPECT_TRUE(names().empty());
  EXPECT_FALSE(book_.view_age(now_));
}

TEST_F(PeerBookTest, CountsWhatAPeerSaidAndWhatWasSentSince) {
  ASSERT_TRUE(take(view(kNowMs, {"a-1"})).ok());
  const Peer& peer = *book_.find("a-1");
  const auto running = [&] { return peer.running(now_, seconds(5)); };
  book_.began("a-1");
  EXPECT_EQ(running(), 1) << "nothing said yet";
  EXPECT_TRUE(says("a-1", {"a-1", "m", EnginePhase::kReady, 10, 0, 0}));
  EXPECT_EQ(running(), 10) << "ours is one of the ten";
  book_.began("a-1");
  book_.began("a-1");
  EXPECT_EQ(running(), 12);
  book_.ended("a-1");
  EXPECT_EQ(running(), 11);
  now_ += seconds(6);
  EXPECT_EQ(running(), 2) << "what it said is old";
}

TEST_F(PeerBookTest, APeerThatSaysItIsNotReadyIsNotUsedUntilItsWordIsOld) {
  ASSERT_TRUE(take(view(kNowMs, {"a-1"})).ok());
  for (const EnginePhase phase :
       {EnginePhase::kStarting, EnginePhase::kBackoff, EnginePhase::kCrashLoop,
        EnginePhase::kDraining, EnginePhase::kStopped}) {
    EXPECT_TRUE(says("a-1", {"a-1", "m", phase, 0, 0, 0}));
    EXPECT_FALSE(book_.is_usable(*book_.find("a-1"), now_)) << engine_phase_name(phase);
  }
  now_ += seconds(6);
  EXPECT_TRUE(book_.is_usable(*book_.find("a-1"), now_));
}

TEST_F(PeerBookTest, APeerThatIsNotWhoItShouldBeIsCutOff) {
  const std::optional<std::string> lies[] = {std::nullopt,
                                             "",
                                             "phase=ready",
                                             "pod=a-1;model=another;phase=ready",
                                             "pod=b-9;model=m;phase=ready",
                                             "pod=a-1;model=m;phase=ready;running=-3"};
  std::int64_t at_ms = kNowMs;
  for (const std::optional<std::string>& lie : lies) {
    ASSERT_TRUE(take(view(++at_ms, {})).ok());
    ASSERT_TRUE(take(view(++at_ms, {"a-1"})).ok());
    ASSERT_TRUE(book_.is_usable(*book_.find("a-1"), now_));
    EXPECT_FALSE(book_.note_load("a-1", lie, now_)) << lie.value_or("(nothing)");
    EXPECT_FALSE(book_.is_usable(*book_.find("a-1"), now_)) << lie.value_or("(nothing)");
  }
}

TEST_F(PeerBookTest, APeerThatStaysKeepsItsBreakerAndOneAtAnotherAddressDoesNot) {
  ASSERT_TRUE(take(view(kNowMs, {"a-1"})).ok());
  book_.find("a-1")->breaker.trip(now_);
  ASSERT_TRUE(take(view(kNowMs + 1, {"a-1", "a-2"})).ok());
  EXPECT_FALSE(book_.is_usable(*book_.find("a-1"), now_));
  FleetView moved = view(kNowMs + 2, {"a-1"});
  moved.peers[0].endpoint = "10.0.0.2:8000";
  ASSERT_TRUE(take(moved).ok());
  EXPECT_TRUE(book_.is_usable(*book_.find("a-1"), now_));
}

TEST_F(PeerBookTest, APeerThatLeavesIsKnownUntilItsLastRequestEnds) {
  ASSERT_TRUE(take(view(kNowMs, {"a-1"})).ok());
  book_.began("a-1");
  ASSERT_TRUE(take(view(kNowMs + 1, {})).ok());
  EXPECT_TRUE(names().empty()) << "nothing new goes there";
  EXPECT_NE(book_.find("a-1"), nullptr);
  book_.ended("a-1");
  EXPECT_EQ(book_.find("a-1"), nullptr);
}

}  // namespace
}  // namespace kantha::noded

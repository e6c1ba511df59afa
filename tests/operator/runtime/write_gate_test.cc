#include "operator/runtime/write_gate.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"

namespace kantha::runtime {
namespace {

using namespace std::chrono_literals;
using kube::ObjectKey;

const ObjectKey kOwner{"default", "smollm2"};
const ObjectKey kPod{"default", "smollm2-0"};

TimePoint at(Duration since_start) { return TimePoint(since_start); }

WriteGate::Write write_of(const std::string& version, const std::string& uid = "u1") {
  return {.plural = "pods", .object = kPod, .uid = uid, .resource_version = version};
}
WriteGate::Write delete_of(const std::string& uid = "u1") {
  return {.plural = "pods", .object = kPod, .uid = uid, .resource_version = "", .is_delete = true};
}

struct Case {
  const char* name;
  std::function<void(WriteGate&)> events;
  bool is_open;
};

void expect_cases(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    WriteGate gate;
    c.events(gate);
    EXPECT_EQ(gate.is_open(kOwner, at(1s)), c.is_open);
    EXPECT_EQ(gate.pending_count(), c.is_open ? 0u : 1u);
    EXPECT_TRUE(gate.is_open({"default", "other"}, at(1s)));
  }
}

// F16
TEST(WriteGate, HoldsAnOwnerUntilTheStoreHasSeenItsWrite) {
  const auto wrote = [](WriteGate& gate) { gate.wrote(kOwner, write_of("100"), at(0s)); };
  expect_cases({
      {"nothing was written", [](WriteGate&) {}, true},
      {"nothing was seen", [&](WriteGate& gate) { wrote(gate); }, false},
      {"an older version of it",
       [&](WriteGate& gate) { wrote(gate), gate.seen("pods", kPod, "u1", "99", false); }, false},
      {"that version",
       [&](WriteGate& gate) { wrote(gate), gate.seen("pods", kPod, "u1", "100", false); }, true},
      {"a newer version",
       [&](WriteGate& gate) { wrote(gate), gate.seen("pods", kPod, "u1", "1000", false); }, true},
      {"another kind of that name",
       [&](WriteGate& gate) { wrote(gate), gate.seen("services", kPod, "u1", "100", false); },
       false},
      {"another object",
       [&](WriteGate& gate) {
         wrote(gate), gate.seen("pods", {"default", "x-0"}, "u9", "99", false);
       },
       false},
      {"an older object of that name is gone",
       [&](WriteGate& gate) { wrote(gate), gate.seen("pods", kPod, "", "99", false); }, false},
      {"it is gone, as a later event says",
       [&](WriteGate& gate) {
         wrote(gate), gate.seen("pods", kPod, "", "99", false), gate.passed("pods", "101");
       },
       true},
      {"an older event of something that no store has",
       [&](WriteGate& gate) { wrote(gate), gate.passed("pods", "99"); }, false},
      {"a newer event of another object, for it has left the watch itself",
       [&](WriteGate& gate) {
         wrote(gate), gate.seen("pods", {"default", "x-0"}, "u9", "105", false);
       },
       true},
      {"a bookmark before it", [&](WriteGate& gate) { wrote(gate), gate.seen_all("pods", "99"); },
       false},
      {"a bookmark after it", [&](WriteGate& gate) { wrote(gate), gate.seen_all("pods", "101"); },
       true},
      {"a bookmark of another kind",
       [&](WriteGate& gate) { wrote(gate), gate.seen_all("services", "101"); }, false},
  });
}

TEST(WriteGate, DoesNotWaitForWhatWasSeenBeforeTheAnswerCame) {
  expect_cases({
      {"the event came first",
       [](WriteGate& gate) {
         gate.seen("pods", kPod, "u1", "100", false);
         gate.wrote(kOwner, write_of("100"), at(0s));
       },
       true},
      {"something newer of that kind came first",
       [](WriteGate& gate) {
         gate.seen("pods", {"default", "x-0"}, "u9", "105", false);
         gate.wrote(kOwner, write_of("100"), at(0s));
       },
       true},
      {"a newer version of another kind says nothing",
       [](WriteGate& gate) {
         gate.seen("services", kPod, "u9", "105", false);
         gate.wrote(kOwner, write_of("100"), at(0s));
       },
       false},
      {"the mark of the delete came first",
       [](WriteGate& gate) {
         gate.seen("pods", kPod, "u1", "100", true);
         gate.wrote(kOwner, delete_of(), at(0s));
       },
       true},
      {"its end came first",
       [](WriteGate& gate) {
         gate.seen("pods", kPod, "", "", false);
         gate.wrote(kOwner, delete_of(), at(0s));
       },
       true},
      {"an earlier pod of that name went",
       [](WriteGate& gate) {
         gate.seen("pods", kPod, "", "", false);
         gate.seen("pods", kPod, "u2", "100", false);
         gate.wrote(kOwner, delete_of("u2"), at(0s));
       },
       false},
  });
}

TEST(WriteGate, WaitsForADeleteUntilItIsMarkedOrGone) {
  const auto wrote = [](WriteGate& gate) { gate.wrote(kOwner, delete_of(), at(0s)); };
  expect_cases({
      {"it still stands",
       [&](WriteGate& gate) { wrote(gate), gate.seen("pods", kPod, "u1", "200", false); }, false},
      {"it is marked",
       [&](WriteGate& gate) { wrote(gate), gate.seen("pods", kPod, "u1", "200", true); }, true},
      {"it is gone", [&](WriteGate& gate) { wrote(gate), gate.seen("pods", kPod, "", "", false); },
       true},
      {"another has its name",
       [&](WriteGate& gate) { wrote(gate), gate.seen("pods", kPod, "u2", "200", false); }, true},
      {"a bookmark says nothing of it",
       [&](WriteGate& gate) { wrote(gate), gate.seen_all("pods", "999"); }, false},
  });
}

TEST(WriteGate, WaitsForTheNewestOfSeveralWritesOfOneObject) {
  WriteGate gate;
  gate.wrote(kOwner, write_of("100"), at(0s));
  gate.wrote(kOwner, write_of("102"), at(0s));
  gate.seen("pods", kPod, "u1", "100", false);
  EXPECT_FALSE(gate.is_open(kOwner, at(1s)));
  gate.seen("pods", kPod, "u1", "102", false);
  EXPECT_TRUE(gate.is_open(kOwner, at(1s)));
}

TEST(WriteGate, GivesALostEventUpAfterItsPatienceAndCountsIt) {
  WriteGate gate;
  gate.set_patience(30s);
  gate.wrote(kOwner, write_of("100"), at(0s));
  EXPECT_FALSE(gate.is_open(kOwner, at(29s)));
  EXPECT_EQ(gate.given_up_count(), 0u);
  EXPECT_TRUE(gate.is_open(kOwner, at(30s)));
  EXPECT_EQ(gate.given_up_count(), 1u);
  EXPECT_EQ(gate.pending_count(), 0u);
}

/// Writes and their events in any order, as a server of one kind would make them.
void run_random_writes(std::uint64_t seed) {
  std::uint64_t draws = 0;
  const auto draw = [&](std::uint64_t below) { return random_bits(seed, draws++) % below; };
  struct Event {
    ObjectKey object;
    int version;
  };
  WriteGate gate;
  std::vector<Event> under_way;                 // sent by the server, not yet seen
  std::vector<std::pair<int, int>> unanswered;  // owner, version
  std::vector<int> newest(4, 0);                // answered write of each owner
  int version = 100, seen = 100;
  for (int step = 0; step < 200; ++step) {
    const int owner = static_cast<int>(draw(4));
    const ObjectKey object{"default", "pod-" + std::to_string(owner)};
    const auto action = draw(3);
    if (action == 0) {
      under_way.push_back({object, ++version});
      unanswered.emplace_back(owner, version);
    } else if (action == 1 && !unanswered.empty()) {
      const auto [who, what] = unanswered.front();
      unanswered.erase(unanswered.begin());
      gate.wrote({"default", std::to_string(who)},
                 {.plural = "pods",
                  .object = {"default", "pod-" + std::to_string(who)},
                  .uid = "u",
                  .resource_version = std::to_string(what)},
                 at(0s));
      newest[static_cast<std::size_t>(who)] = what;
    } else if (action == 2 && !under_way.empty()) {
      seen = under_way.front().version;
      gate.seen("pods", under_way.front().object, "u", std::to_string(seen), false);
      under_way.erase(under_way.begin());
    }
    for (int each = 0; each < 4; ++each) {
      ASSERT_EQ(gate.is_open({"default", std::to_string(each)}, at(1s)),
                newest[static_cast<std::size_t>(each)] <= seen)
          << "seed " << seed << ", step " << step;
    }
  }
}

TEST(WriteGate, IsOpenExactlyWhenEveryAnsweredWriteWasSeen) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    run_random_writes(seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace kantha::runtime

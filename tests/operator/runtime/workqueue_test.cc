#include "operator/runtime/workqueue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/rng.h"

namespace kantha::runtime {
namespace {

using namespace std::chrono_literals;
using kube::ObjectKey;

ObjectKey key(const std::string& name) { return {"default", name}; }
TimePoint at(Duration since_start) { return TimePoint(since_start); }

/// Takes everything that may run at `now`, as names in order, and is done with each at once.
std::string drained(WorkQueue& queue, TimePoint now) {
  std::string out;
  while (const auto taken = queue.take(now)) {
    out += (out.empty() ? "" : " ") + taken->name;
    queue.done(*taken, now);
  }
  return out;
}

TEST(WorkQueue, GivesKeysInTheOrderInWhichTheyBecameReady) {
  WorkQueue queue;
  queue.add(key("a"), at(0s));
  queue.add_after(key("b"), 2s, at(0s));
  queue.add_after(key("c"), 1s, at(0s));
  EXPECT_EQ(drained(queue, at(0s)), "a");
  EXPECT_EQ(queue.next_time(at(0s)), at(1s));
  EXPECT_EQ(drained(queue, at(500ms)), "");
  EXPECT_EQ(drained(queue, at(5s)), "c b");
  EXPECT_EQ(queue.next_time(at(5s)), std::nullopt);
}

// F40
TEST(WorkQueue, RunsAKeyOnceMoreHoweverOftenItWasAddedWhileInWork) {
  WorkQueue queue;
  queue.add(key("a"), at(0s));
  const auto taken = queue.take(at(0s));
  for (int i = 0; i < 10'000; ++i) queue.add(key("a"), at(1s));
  EXPECT_EQ(queue.take(at(1s)), std::nullopt);
  EXPECT_EQ(queue.processing_count(), 1u);
  queue.done(*taken, at(2s));
  EXPECT_EQ(drained(queue, at(2s)), "a");
  EXPECT_EQ(queue.processing_count(), 0u);
}

TEST(WorkQueue, LetsTheEarliestTimeWin) {
  struct Case {
    const char* name;
    std::vector<Duration> delays;  ///< zero: add()
    Duration runs_at;
  };
  const std::vector<Case> cases = {
      {"a later delay changes nothing", {5s, 9s}, 5s},
      {"an earlier delay replaces", {9s, 5s}, 5s},
      {"now replaces a delay", {9s, 0s}, 0s},
      {"a delay after now changes nothing", {0s, 9s}, 0s},
      {"three in any order", {7s, 3s, 5s}, 3s},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    WorkQueue queue;
    for (const Duration delay : c.delays) {
      delay == 0s ? queue.add(key("a"), at(0s)) : queue.add_after(key("a"), delay, at(0s));
    }
    if (c.runs_at > 0s) EXPECT_EQ(drained(queue, at(c.runs_at - 1ms)), "");
    EXPECT_EQ(drained(queue, at(c.runs_at)), "a");
    EXPECT_EQ(drained(queue, at(1h)), "") << "it ran for all of them";
    EXPECT_EQ(queue.delayed_count(), 0u);
  }
}

TEST(WorkQueue, HoldsADelayThatIsDueWhileTheKeyIsInWork) {
  WorkQueue queue;
  queue.add(key("a"), at(0s));
  const auto taken = queue.take(at(0s));
  queue.add_after(key("a"), 1s, at(0s));
  EXPECT_EQ(queue.take(at(3s)), std::nullopt);
  queue.done(*taken, at(4s));
  EXPECT_EQ(drained(queue, at(4s)), "a");
}

// F41
TEST(WorkQueue, DoublesTheDelayOfAKeyThatFailsUpToItsCap) {
  WorkQueue queue;
  TimePoint now{};
  Duration expected = 5ms;
  for (int i = 0; i < 30; ++i) {
    queue.add_failed(key("poison"), now);
    EXPECT_EQ(queue.failure_count(key("poison")), i + 1);
    ASSERT_EQ(queue.next_time(now), now + expected) << "failure " << i;
    now += expected;
    EXPECT_EQ(drained(queue, now), "poison");
    expected = std::min<Duration>(expected * 2, 1000s);
  }
  queue.forget(key("poison"));
  queue.add_failed(key("poison"), now);
  EXPECT_EQ(queue.next_time(now), now + 5ms) << "forgotten, so from the start";
}

// F11
TEST(WorkQueue, WaitsAsLongAsTheServerSaidWhenThatIsLonger) {
  WorkQueue queue;
  queue.add_failed(key("a"), at(0s), 7s);
  EXPECT_EQ(queue.next_time(at(0s)), at(7s));
  queue.add(key("b"), at(0s));
  EXPECT_EQ(drained(queue, at(0s)), "b") << "other keys proceed";
}

TEST(WorkQueue, SaysHowLongKeysHaveWaited) {
  WorkQueue queue;
  EXPECT_EQ(queue.oldest_wait(at(9s)), 0s);
  queue.add(key("a"), at(1s));
  queue.add(key("b"), at(2s));
  EXPECT_EQ(queue.oldest_wait(at(9s)), 8s);
  EXPECT_TRUE(queue.take(at(9s)));
  EXPECT_EQ(queue.last_wait(), 8s);
  queue.add_after(key("c"), 1s, at(9s));
  EXPECT_TRUE(queue.take(at(9s)));
  EXPECT_TRUE(queue.take(at(13s)));
  EXPECT_EQ(queue.last_wait(), 3s) << "since it was due";
}

/// The same rules, written as plainly as they are said, and slowly.
class NaiveQueue {
 public:
  void add(const ObjectKey& key, TimePoint when, TimePoint now) {
    release(now);
    if (ready_.contains(key)) return;  // also one in work that will run again
    const auto known = delayed_.find(key);
    if (when <= now) {
      delayed_.erase(key);
      ready_.emplace(key, Ready{now, order_++});
    } else if (known == delayed_.end() || when < known->second) {
      delayed_[key] = when;
    }
  }
  /// Keys that may be given at `now`; the real queue picks the one that was ready first.
  std::optional<ObjectKey> take(TimePoint now) {
    release(now);
    const ObjectKey* first = nullptr;
    for (const auto& [key, ready] : ready_) {
      if (in_work_.contains(key)) continue;
      if (first == nullptr || ready.order < ready_.at(*first).order) first = &key;
    }
    if (first == nullptr) return std::nullopt;
    const ObjectKey key = *first;
    ready_.erase(key);
    in_work_.insert(key);
    return key;
  }
  void done(const ObjectKey& key, TimePoint now) {
    release(now);
    in_work_.erase(key);
    if (const auto again = ready_.find(key); again != ready_.end()) again->second.order = order_++;
  }

 private:
  struct Ready {
    TimePoint since;
    int order;
  };
  void release(TimePoint now) {
    std::vector<std::pair<TimePoint, ObjectKey>> due;
    for (const auto& [key, when] : delayed_) {
      if (when <= now) due.emplace_back(when, key);
    }
    std::sort(due.begin(), due.end());
    for (const auto& [when, key] : due) {
      delayed_.erase(key);
      ready_.try_emplace(key, Ready{when, order_++});
    }
  }
  std::map<ObjectKey, TimePoint> delayed_;
  std::map<ObjectKey, Ready> ready_;
  std::set<ObjectKey> in_work_;
  int order_ = 0;
};

/// One random run of both; ends at the first difference.
void compare_with_the_naive_queue(std::uint64_t seed) {
  std::uint64_t draws = 0;
  const auto draw = [&](std::uint64_t below) { return random_bits(seed, draws++) % below; };
  WorkQueue queue;
  NaiveQueue naive;
  std::vector<ObjectKey> held;
  TimePoint now{};
  for (int step = 0; step < 300; ++step) {
    now += std::chrono::milliseconds(draw(3) * draw(40));
    const ObjectKey any = key(std::string(1, static_cast<char>('a' + draw(6))));
    const auto action = draw(10);
    if (action < 4) {
      const auto taken = queue.take(now);
      ASSERT_EQ(taken, naive.take(now)) << "step " << step;
      if (taken) held.push_back(*taken);
    } else if (action < 7) {
      const Duration delay = std::chrono::milliseconds(draw(4) == 0 ? 0 : draw(200));
      queue.add_after(any, delay, now);
      naive.add(any, now + delay, now);
    } else if (!held.empty()) {
      const std::size_t index = draw(held.size());
      queue.done(held[index], now);
      naive.done(held[index], now);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(index));
    }
    ASSERT_EQ(queue.processing_count(), held.size()) << "step " << step;
    ASSERT_EQ(queue.delayed_count() == 0 && queue.ready_count() == 0, !queue.next_time(now));
  }
}

TEST(WorkQueue, AgreesWithANaiveQueueOnRandomRuns) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    compare_with_the_naive_queue(seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace kantha::runtime

#include "engine/ops/cpu/shared_stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/clock.h"

namespace kantha::ops::cpu {
namespace {

/// False when it does not come true within 20 s.
bool comes_true(auto&& condition) {
  const TimePoint end = system_clock().now() + std::chrono::seconds(20);
  while (!condition()) {
    if (system_clock().now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Items of each stage in turn; plain ints on purpose: the thread sanitizer must see that nobody
/// shares an item, and that stages order every access.
void check_every_item_is_taken_once(int threads, bool in_order) {
  constexpr std::int64_t kCounts[] = {0, 1, 2, 5, 64, 333};
  ThreadPool pool(threads);
  SharedStages stages(threads);
  for (int round = 1; round <= 50; ++round) {
    std::vector<int> taken(333);
    std::vector<int> wrong(static_cast<std::size_t>(threads));
    auto work = [&](int thread) {
      std::vector<int> expected(333);
      for (std::uint32_t stage = 0; stage < 60; ++stage) {
        const std::int64_t count = kCounts[stage % std::size(kCounts)];
        if (stages.enter(stage)) {
          auto visit = [&](std::int64_t item) { ++taken[static_cast<std::size_t>(item)]; };
          if (in_order) stages.take_in_order(count, visit);
          if (!in_order) stages.take(thread, count, visit);
          stages.leave(stage);
        }
        stages.wait(stage);
        std::for_each_n(expected.begin(), count, [](int& n) { ++n; });
      }
      wrong[static_cast<std::size_t>(thread)] += taken != expected;
    };
    stages.reset();
    pool.run(work);
    ASSERT_EQ(wrong, std::vector<int>(wrong.size())) << threads << " threads, round " << round;
  }
}

TEST(SharedStages, every_item_of_every_stage_is_taken_exactly_once) {
  for (const int threads : {1, 2, 3, 7}) check_every_item_is_taken_once(threads, false);
}

TEST(SharedStages, every_item_is_taken_exactly_once_in_order_too) {
  for (const int threads : {1, 2, 3, 7}) check_every_item_is_taken_once(threads, true);
}

TEST(SharedStages, who_enters_sees_what_the_stages_before_it_wrote) {
  constexpr std::size_t kItems = 40;
  ThreadPool pool(3);
  SharedStages stages(3);
  std::vector<std::uint32_t> values(kItems);
  std::vector<int> wrong(3);
  auto work = [&](int thread) {
    for (std::uint32_t stage = 0; stage < 200; ++stage) {
      if (stages.enter(stage)) {
        // Each item is written by whoever takes it and read here by whoever takes its neighbour.
        stages.take(thread, kItems / 2, [&](std::int64_t item) {
          const std::size_t i = static_cast<std::size_t>(item) * 2 + stage % 2;
          const std::size_t before = (i + kItems - 1) % kItems;
          wrong[static_cast<std::size_t>(thread)] += values[before] != stage;
          values[i] = stage + 1;
        });
        stages.leave(stage);
      }
      stages.wait(stage);
    }
  };
  pool.run(work);
  EXPECT_EQ(wrong, std::vector<int>(3));
}

// With a barrier per stage this would never end.
TEST(SharedStages, a_thread_that_has_nothing_in_hand_is_not_waited_for) {
  constexpr std::uint32_t kStages = 100;
  ThreadPool pool(2);
  SharedStages stages(2);
  std::vector<int> taken(10);
  std::atomic<bool> done = false;
  bool came_true = false;
  int entered_late = 0;
  auto work = [&](int thread) {
    if (thread == 1) came_true = comes_true([&] { return done.load(); });
    for (std::uint32_t stage = 0; stage < kStages; ++stage) {
      if (stages.enter(stage)) {
        entered_late += thread;
        stages.take(thread, 10,
                    [&](std::int64_t item) { ++taken[static_cast<std::size_t>(item)]; });
        stages.leave(stage);
      }
      stages.wait(stage);
    }
    if (thread == 0) done = true;
  };
  pool.run(work);
  EXPECT_TRUE(came_true);
  EXPECT_EQ(taken, std::vector<int>(10, kStages));
  EXPECT_EQ(entered_late, 0);
}

TEST(SharedStages, one_slow_item_holds_up_no_other_and_ends_the_stage) {
  constexpr int kItems = 20;
  ThreadPool pool(2);
  SharedStages stages(2);
  std::vector<int> by(kItems, -1);
  std::atomic<int> others = 0;
  bool came_true = false;
  bool held = false;  // plain: the end of the stage must order it
  std::vector<int> seen_held(2);
  auto work = [&](int thread) {
    if (stages.enter(0)) {
      stages.take(thread, kItems, [&](std::int64_t item) {
        by[static_cast<std::size_t>(item)] = thread;
        if (item != kItems / 2) {
          ++others;
          return;
        }
        came_true = comes_true([&] { return others == kItems - 1; });
        held = true;
      });
      stages.leave(0);
    }
    stages.wait(0);
    seen_held[static_cast<std::size_t>(thread)] = held;
  };
  pool.run(work);
  EXPECT_TRUE(came_true);
  EXPECT_EQ(seen_held, (std::vector<int>{1, 1}));
  EXPECT_EQ(std::count(by.begin(), by.end(), -1), 0);
}

TEST(SharedStages, starts_over_after_reset) {
  SharedStages stages(1);
  for (int round = 0; round < 3; ++round) {
    stages.reset();
    int taken = 0;
    for (std::uint32_t stage = 0; stage < 3; ++stage) {
      ASSERT_TRUE(stages.enter(stage));
      stages.take(0, 4, [&](std::int64_t) { ++taken; });
      stages.leave(stage);
      EXPECT_FALSE(stages.enter(stage));
    }
    EXPECT_EQ(taken, 12);
  }
}

}  // namespace
}  // namespace kantha::ops::cpu

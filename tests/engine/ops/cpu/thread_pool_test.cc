#include "engine/ops/cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/clock.h"

namespace kantha::ops::cpu {
namespace {

TEST(ThreadPool, runs_the_function_once_on_each_thread_and_waits_for_all) {
  for (const int threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    std::vector<int> calls(static_cast<std::size_t>(threads));
    auto count = [&](int thread) { ++calls[static_cast<std::size_t>(thread)]; };
    for (int round = 1; round <= 200; ++round) {
      pool.run(count);
      for (const int n : calls) ASSERT_EQ(n, round);
    }
  }
}

TEST(ThreadPool, thread_0_is_the_caller) {
  ThreadPool pool(2);
  std::vector<std::thread::id> ids(2);
  auto note = [&](int thread) {
    ids[static_cast<std::size_t>(thread)] = std::this_thread::get_id();
  };
  pool.run(note);
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_NE(ids[1], ids[0]);
}

// Plain ints on purpose: the thread sanitizer must see the barrier order every access.
TEST(ThreadPool, barrier_makes_writes_before_it_visible_after_it) {
  constexpr int kThreads = 3;
  constexpr int kPhases = 300;
  ThreadPool pool(kThreads);
  std::vector<int> written(kThreads);
  std::vector<int> wrong(kThreads);
  auto phases = [&](int thread) {
    for (int phase = 1; phase <= kPhases; ++phase) {
      written[static_cast<std::size_t>(thread)] = phase;
      pool.barrier();
      for (const int value : written) wrong[static_cast<std::size_t>(thread)] += value != phase;
      pool.barrier();
    }
  };
  pool.run(phases);
  EXPECT_EQ(std::accumulate(wrong.begin(), wrong.end(), 0), 0);
}

/// Keeps the calling thread busy for longer than anybody spins.
void outlast_the_spinning() {
  const TimePoint end = system_clock().now() + std::chrono::milliseconds(3);
  while (system_clock().now() < end) {
  }
}

TEST(ThreadPool, parked_threads_wake_for_a_run_and_for_a_barrier) {
  ThreadPool pool(2);
  std::vector<int> calls(2);
  auto late = [&](int thread) {
    if (thread == 0) outlast_the_spinning();
    pool.barrier();
    ++calls[static_cast<std::size_t>(thread)];
  };
  for (int round = 0; round < 20; ++round) {
    outlast_the_spinning();
    pool.run(late);
  }
  EXPECT_EQ(calls, (std::vector<int>{20, 20}));
}

// Plain ints on purpose: the end of a run must order what was done in it.
TEST(ThreadPool, an_open_run_waits_for_those_who_came_and_calls_none_twice) {
  ThreadPool pool(4);
  std::vector<int> calls(4);
  std::vector<int> by_now(4);
  auto count = [&](int thread) { ++calls[static_cast<std::size_t>(thread)]; };
  for (int round = 1; round <= 2000; ++round) {
    pool.run_open(count);
    ASSERT_EQ(calls[0], round);
    for (const std::size_t worker : {1, 2, 3}) {
      ASSERT_LE(calls[worker] - by_now[worker], 1) << "round " << round;
    }
    by_now = calls;
    if (round % 100 != 0) continue;
    // Runs that want everybody find everybody, whoever was late before.
    pool.run(count);
    for (const std::size_t i : {0, 1, 2, 3}) ASSERT_EQ(calls[i], by_now[i] + 1);
    calls[0] = round;
    by_now = calls;
  }
}

TEST(ThreadPool, an_open_run_lets_a_worker_in_while_it_lasts) {
  ThreadPool pool(2);
  std::atomic<int> came = 0;
  auto wait_for_worker = [&](int thread) {
    const TimePoint end = system_clock().now() + std::chrono::seconds(20);
    if (thread == 1) came = 1;
    while (came == 0 && system_clock().now() < end) std::this_thread::yield();
  };
  pool.run_open(wait_for_worker);
  EXPECT_EQ(came, 1);
}

TEST(ThreadPool, ends_cleanly_when_never_used_and_when_parked) {
  for (int i = 0; i < 20; ++i) ThreadPool unused(3);
  ThreadPool parked(3);
  outlast_the_spinning();
}

}  // namespace
}  // namespace kantha::ops::cpu

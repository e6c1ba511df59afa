#include "base/net/task_group.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/base/net/loopback.h"

namespace kantha::net {
namespace {

using boost::asio::io_context;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

Task<void> sleep_and_count(Duration duration, int* count) {
  co_await sleep_for(duration);
  ++*count;
}

Task<void> fail() {
  co_await sleep_for(milliseconds(1));
  throw std::runtime_error("a task's trouble");
}

Task<void> join_and_mark(TaskGroup* group, bool* is_joined) {
  co_await group->join();
  *is_joined = true;
}

TEST(TaskGroup, JoinWaitsForEveryTask) {
  io_context io;
  TaskGroup group(io.get_executor(), "joined");
  TaskGroup waiters(io.get_executor(), "waiters");
  int count = 0;
  bool is_joined = false;
  for (int i = 1; i <= 3; ++i) group.spawn(sleep_and_count(milliseconds(i), &count));
  EXPECT_EQ(group.running(), 3u);
  waiters.spawn(join_and_mark(&group, &is_joined));
  while (count < 3) {
    EXPECT_FALSE(is_joined);
    io.run_one();
  }
  io.run();
  EXPECT_TRUE(is_joined);
  EXPECT_EQ(group.running(), 0u);
}

TEST(TaskGroup, OutlivesATaskThatThrows) {
  io_context io;
  TaskGroup group(io.get_executor(), "failing");
  int count = 0;
  group.spawn(fail());
  group.spawn(sleep_and_count(milliseconds(2), &count));
  io.run();
  EXPECT_EQ(group.running(), 0u);
  EXPECT_EQ(count, 1);
}

TEST(TaskGroup, JoinOfNothingReturns) {
  io_context io;
  TaskGroup group(io.get_executor(), "empty");
  TaskGroup waiters(io.get_executor(), "waiters");
  bool is_joined = false;
  waiters.spawn(join_and_mark(&group, &is_joined));
  io.run();
  EXPECT_TRUE(is_joined);
}

TEST(TaskGroup, CountsTasksThatEndWithTheirContext) {
  auto io = std::make_unique<io_context>();
  int count = 0;
  TaskGroup group(io->get_executor(), "cut off");
  group.spawn(sleep_and_count(hours(1), &count));
  io->poll();
  EXPECT_EQ(group.running(), 1u);
  io.reset();
  EXPECT_EQ(group.running(), 0u);
  EXPECT_EQ(count, 0);
}

TEST(TaskGroupDeathTest, IsJoinedBeforeItGoes) {
  io_context io;
  int count = 0;
  EXPECT_DEATH(
      {
        TaskGroup group(io.get_executor(), "forgotten");
        group.spawn(sleep_and_count(hours(1), &count));
      },
      "joined before it goes");
}

Task<void> wait_and_store(Notify* notify, Duration timeout, std::vector<bool>* results) {
  const bool is_notified = co_await notify->wait(timeout);
  results->push_back(is_notified);
}

TEST(Notify, WakesAllThatWaitAndNobodyElse) {
  io_context io;
  TaskGroup group(io.get_executor(), "waiters");
  Notify notify(io.get_executor());
  std::vector<bool> results;
  notify.notify();
  for (int i = 0; i < 3; ++i) group.spawn(wait_and_store(&notify, seconds(30), &results));
  io.poll();
  EXPECT_TRUE(results.empty()) << "a notification is not kept for later";
  notify.notify();
  io.poll();
  EXPECT_EQ(results, std::vector<bool>({true, true, true}));
}

TEST(Notify, TimesOut) {
  io_context io;
  TaskGroup group(io.get_executor(), "waiters");
  Notify notify(io.get_executor());
  std::vector<bool> results;
  group.spawn(wait_and_store(&notify, milliseconds(1), &results));
  group.spawn(wait_and_store(&notify, Duration(-5), &results));
  io.run();
  EXPECT_EQ(results, std::vector<bool>({false, false}));
}

TEST(Notify, CountsWhenItComesTogetherWithTheTimeout) {
  io_context io;
  TaskGroup group(io.get_executor(), "waiters");
  Notify notify(io.get_executor());
  std::vector<bool> results;
  group.spawn(wait_and_store(&notify, milliseconds(1), &results));
  io.poll();
  // The timer's time passes while nobody looks; then both are there at once.
  const TimePoint passed = system_clock().now() + milliseconds(3);
  while (system_clock().now() < passed) {
  }
  notify.notify();
  io.run();
  EXPECT_EQ(results, std::vector<bool>({true}));
}

TEST(Notify, LetsWaitersGoWhenDestroyed) {
  io_context io;
  TaskGroup group(io.get_executor(), "waiters");
  auto notify = std::make_unique<Notify>(io.get_executor());
  std::vector<bool> results;
  group.spawn(wait_and_store(notify.get(), Duration::max(), &results));
  io.poll();
  notify.reset();
  io.run();
  EXPECT_EQ(results, std::vector<bool>({false}));
}

Task<std::thread::id> thread_of_work(WorkerPool* pool) {
  auto seen = std::make_shared<std::thread::id>();
  co_await pool->run([seen] { *seen = std::this_thread::get_id(); });
  EXPECT_NE(*seen, std::this_thread::get_id());
  co_return std::this_thread::get_id();
}

TEST(WorkerPool, WorksElsewhereAndResumesHere) {
  io_context io;
  WorkerPool pool(2);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(run_on(io, thread_of_work(&pool)), std::this_thread::get_id());
  }
}

Task<std::string> failure_of_work(WorkerPool* pool) {
  std::string failure;
  try {
    co_await pool->run([] { throw std::runtime_error("work's trouble"); });
  } catch (const std::runtime_error& error) {
    failure = error.what();
  }
  co_return failure;
}

TEST(WorkerPool, HandsExceptionsToTheCaller) {
  io_context io;
  WorkerPool pool(1);
  EXPECT_EQ(run_on(io, failure_of_work(&pool)), "work's trouble");
}

Task<void> add_in_pool(WorkerPool* pool, std::atomic<int>* sum) {
  co_await pool->run([sum] { ++*sum; });
}

TEST(WorkerPool, RunsManyAtOnce) {
  io_context io;
  WorkerPool pool(2);
  TaskGroup group(io.get_executor(), "work");
  std::atomic<int> sum = 0;
  for (int i = 0; i < 500; ++i) group.spawn(add_in_pool(&pool, &sum));
  io.run();
  EXPECT_EQ(sum, 500);
  EXPECT_EQ(group.running(), 0u);
}

}  // namespace
}  // namespace kantha::net

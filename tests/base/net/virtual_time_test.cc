#include "base/net/virtual_time.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/net/task_group.h"

namespace kantha::net {
namespace {

using namespace std::chrono_literals;

/// A context in virtual time, its tasks, and what they noted.
class VirtualTimeTest : public ::testing::Test {
 protected:
  Task<void> note_after(Duration span, std::string name) {
    co_await sleep_for(span);
    notes_.push_back(name + "@" + std::to_string(seconds()));
  }

  Task<void> note_wait(Notify& notify, Duration timeout) {
    const bool notified = co_await notify.wait(timeout);
    notes_.push_back((notified ? "told@" : "late@") + std::to_string(seconds()));
  }

  Task<void> notify_after(Notify& notify, Duration span) {
    co_await sleep_for(span);
    notify.notify();
  }

  Task<void> tick(int count, Duration span) {
    for (int i = 0; i < count; ++i) co_await sleep_for(span);
    notes_.push_back("ticked");
  }

  long seconds() const {
    return std::chrono::duration_cast<std::chrono::seconds>(clock_.now().time_since_epoch())
        .count();
  }

  boost::asio::io_context context_;
  FakeClock clock_;
  VirtualTime time_{context_, clock_};
  TaskGroup tasks_{context_.get_executor(), "test"};
  std::vector<std::string> notes_;
};

using Notes = std::vector<std::string>;

TEST_F(VirtualTimeTest, AnHourPassesInAMomentAndInOrder) {
  tasks_.spawn(note_after(3600s, "hour"));
  tasks_.spawn(note_after(5s, "five"));
  tasks_.spawn(note_after(5s, "five again"));
  tasks_.spawn(note_after(0s, "now"));
  const TimePoint real = system_clock().now();
  time_.run_for(2h);
  EXPECT_LT(system_clock().now() - real, 10s);
  EXPECT_EQ(notes_, (Notes{"now@0", "five@5", "five again@5", "hour@3600"}));
  EXPECT_EQ(seconds(), 7200);
  EXPECT_FALSE(time_.next_deadline());
}

TEST_F(VirtualTimeTest, StopsAtTheEndThatWasGiven) {
  tasks_.spawn(note_after(10s, "ten"));
  time_.run_for(9s);
  EXPECT_TRUE(notes_.empty());
  EXPECT_EQ(time_.next_deadline(), TimePoint(10s));
  time_.run_for(1s);
  EXPECT_EQ(notes_, Notes{"ten@10"});
}

TEST_F(VirtualTimeTest, ANotificationEndsAWaitAtItsTimeAndATimeoutAtItsOwn) {
  Notify notify(context_.get_executor());
  tasks_.spawn(note_wait(notify, 30s));
  tasks_.spawn(note_wait(notify, 3s));
  tasks_.spawn(notify_after(notify, 7s));
  time_.run_for(1min);
  EXPECT_EQ(notes_, (Notes{"late@3", "told@7"}));
}

TEST_F(VirtualTimeTest, ManyShortWaitsAreCheap) {
  for (int i = 0; i < 100; ++i) tasks_.spawn(tick(1000, 1ms));
  time_.run_for(1s);
  EXPECT_EQ(notes_.size(), 100U);
}

TEST(WaitTimer, WaitsForRealTimeWithoutAVirtualOne) {
  boost::asio::io_context context;
  FakeClock clock;
  {
    const VirtualTime ended(context, clock);
  }
  TaskGroup tasks(context.get_executor(), "test");
  const TimePoint before = system_clock().now();
  tasks.spawn(sleep_for(20ms));
  context.run();
  EXPECT_GE(system_clock().now() - before, 20ms);
}

}  // namespace
}  // namespace kantha::net

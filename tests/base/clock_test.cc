#include "base/clock.h"

#include <gtest/gtest.h>

namespace kantha {
namespace {

TEST(SystemClock, NeverGoesBack) {
  TimePoint last = system_clock().now();
  for (int i = 0; i < 1000; ++i) {
    const TimePoint now = system_clock().now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(SystemClock, KnowsThatItIsLaterThanThisTest) {
  const auto since_epoch = system_clock().wall_now().time_since_epoch();
  EXPECT_GT(std::chrono::duration_cast<std::chrono::hours>(since_epoch).count(), 56L * 365 * 24);
}

TEST(FakeClock, MovesOnlyWhenTold) {
  FakeClock clock;
  const TimePoint start = clock.now();
  const WallTime wall_start = clock.wall_now();
  EXPECT_EQ(clock.now(), start);
  clock.advance(std::chrono::milliseconds(1500));
  EXPECT_EQ(clock.now() - start, std::chrono::milliseconds(1500));
  EXPECT_EQ(clock.wall_now() - wall_start, std::chrono::milliseconds(1500));
}

}  // namespace
}  // namespace kantha

#include "operator/runtime/deletion_breaker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/rng.h"

namespace kantha::runtime {
namespace {

using namespace std::chrono_literals;

TimePoint at(Duration since_start) { return TimePoint(since_start); }

// F50
TEST(DeletionBreaker, LetsThreeOrATenthPassInAMinute) {
  struct Case {
    std::size_t fleet;
    std::size_t allowed;
  };
  const std::vector<Case> cases = {{0, 3}, {1, 3}, {29, 3}, {39, 3}, {40, 4}, {2000, 200}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.fleet);
    DeletionBreaker breaker;
    std::size_t passed = 0;
    for (int i = 0; i < 1000; ++i) passed += breaker.allow(c.fleet, at(i * 10ms)) ? 1 : 0;
    EXPECT_EQ(passed, c.allowed);
    EXPECT_EQ(breaker.recent_count(at(10s)), c.allowed);
    EXPECT_EQ(breaker.refused_count(), 1000 - c.allowed);
  }
}

TEST(DeletionBreaker, OpensAgainWhenTheOldestIsAMinuteOld) {
  DeletionBreaker breaker;
  EXPECT_TRUE(breaker.allow(5, at(0s)));
  EXPECT_TRUE(breaker.allow(5, at(10s)));
  EXPECT_EQ(breaker.retry_after(5, at(15s)), 0s);
  EXPECT_TRUE(breaker.allow(5, at(20s)));
  EXPECT_EQ(breaker.retry_after(5, at(25s)), 35s);
  EXPECT_FALSE(breaker.allow(5, at(59s)));
  EXPECT_TRUE(breaker.allow(5, at(60s)));
  EXPECT_EQ(breaker.retry_after(5, at(60s)), 10s);
}

TEST(DeletionBreaker, WaitsForSeveralWhenTheFleetHasShrunk) {
  DeletionBreaker breaker;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(breaker.allow(100, at(i * 1s)));
  // Of a fleet of 50 five may go: those at 0 to 5 s have to age.
  EXPECT_EQ(breaker.retry_after(50, at(10s)), 55s);
  EXPECT_FALSE(breaker.allow(50, at(64s)));
  EXPECT_TRUE(breaker.allow(50, at(65s)));
}

TEST(DeletionBreaker, CountsDeletesThatUsersAskedForAgainstTheOthersForAMinute) {
  DeletionBreaker breaker;
  for (int i = 0; i < 5; ++i) breaker.count(at(i * 1s));
  EXPECT_EQ(breaker.recent_count(at(5s)), 5u);
  EXPECT_FALSE(breaker.allow(10, at(5s)));
  EXPECT_EQ(breaker.retry_after(10, at(5s)), 57s);
  EXPECT_TRUE(breaker.allow(10, at(62s)));
  EXPECT_EQ(breaker.recent_count(at(62s)), 3u);
}

// F50, as a property
TEST(DeletionBreaker, NeverLetsMorePassInAnyMinuteAndKeepsItsWordOnWhen) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    DeletionBreaker breaker;
    std::vector<TimePoint> passed;
    TimePoint now{};
    for (std::uint64_t i = 0; i < 200; ++i) {
      now += std::chrono::milliseconds(random_bits(seed, i) % 9000);
      const std::size_t fleet = 60;
      const bool promised = breaker.retry_after(fleet, now) == 0s;
      ASSERT_EQ(breaker.allow(fleet, now), promised) << "seed " << seed;
      if (promised) passed.push_back(now);
      const auto recent = std::count_if(passed.begin(), passed.end(),
                                        [&](TimePoint time) { return now - time < 1min; });
      ASSERT_LE(recent, 6) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace kantha::runtime

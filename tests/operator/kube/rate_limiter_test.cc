#include "operator/kube/rate_limiter.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "tests/base/net/loopback.h"

namespace kantha::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kStart{seconds(1000)};

TEST(TokenBucket, PassesABurstAndThenOneEachInterval) {
  TokenBucket bucket(10, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bucket.take(kStart), Duration::zero());
  EXPECT_EQ(bucket.take(kStart), milliseconds(100));
  EXPECT_EQ(bucket.take(kStart), milliseconds(200)) << "who comes later waits longer";
  EXPECT_NEAR(static_cast<double>(bucket.take(kStart + milliseconds(200)).count()), 1e8, 1e3);
}

TEST(TokenBucket, FillsUpToItsBurstAndNoFurther) {
  TokenBucket bucket(10, 2);
  EXPECT_EQ(bucket.take(kStart), Duration::zero());
  const TimePoint later = kStart + seconds(3600);
  EXPECT_EQ(bucket.take(later), Duration::zero());
  EXPECT_EQ(bucket.take(later), Duration::zero());
  EXPECT_GT(bucket.take(later), Duration::zero());
}

TEST(TokenBucket, APauseHoldsEverybodyAndAccruesNothing) {
  TokenBucket bucket(10, 1);
  EXPECT_EQ(bucket.take(kStart), Duration::zero());
  bucket.pause(kStart, kStart + seconds(5));
  EXPECT_EQ(bucket.take(kStart + seconds(1)), seconds(4) + milliseconds(100));
  EXPECT_EQ(bucket.pause_left(kStart + seconds(1)), seconds(4));
  bucket.pause(kStart + seconds(1), kStart + seconds(2));
  EXPECT_EQ(bucket.pause_left(kStart + seconds(1)), seconds(4)) << "a shorter pause ends no longer";
  EXPECT_EQ(bucket.pause_left(kStart + seconds(6)), Duration::zero());
  EXPECT_EQ(bucket.take(kStart + seconds(7)), Duration::zero());
}

TEST(TokenBucket, NeverGivesMoreThanRateAndBurstInAnyWindow) {
  TokenBucket bucket(50, 10);
  std::vector<TimePoint> passed;
  TimePoint now = kStart;
  for (int i = 0; i < 500; ++i) {
    now += milliseconds(i % 7 * 3);
    passed.push_back(now + bucket.take(now));
  }
  for (std::size_t i = 0; i + 60 < passed.size(); ++i) {
    EXPECT_GE(passed[i + 60] - passed[i], milliseconds(999)) << i;
  }
}

TEST(RateLimiter, WaitsAndTellsHowLong) {
  boost::asio::io_context io;
  RateLimiter limiter(system_clock(), 100, 1);
  EXPECT_LT(net::run_on(io, limiter.acquire()), milliseconds(5));
  const Duration waited = net::run_on(io, limiter.acquire());
  EXPECT_GE(waited, milliseconds(8));
  limiter.pause(milliseconds(40));
  EXPECT_GE(net::run_on(io, limiter.acquire()), milliseconds(39));
}

TEST(RateLimiter, WithoutALimitStillKeepsAPause) {
  boost::asio::io_context io;
  RateLimiter limiter(system_clock(), 0, 0);
  for (int i = 0; i < 1000; ++i) EXPECT_LT(net::run_on(io, limiter.acquire()), milliseconds(50));
  limiter.pause(milliseconds(30));
  EXPECT_GE(net::run_on(io, limiter.acquire()), milliseconds(29));
}

}  // namespace
}  // namespace kantha::kube

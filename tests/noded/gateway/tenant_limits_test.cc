#include "noded/gateway/tenant_limits.h"

#include <gtest/gtest.h>

#include <vector>

namespace kantha::noded {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(RateBucket, HoldsAMinutesWorthAndFillsAgain) {
  FakeClock clock;
  RateBucket bucket;
  EXPECT_FALSE(bucket.is_bound());
  EXPECT_EQ(bucket.until(1e9, clock.now()), Duration{});
  bucket.set_rate(60, clock.now());
  EXPECT_DOUBLE_EQ(bucket.level(clock.now()), 60);
  bucket.take(60, clock.now());
  EXPECT_EQ(bucket.until(1, clock.now()), Duration(seconds(1)));
  clock.advance(milliseconds(2500));
  EXPECT_NEAR(bucket.level(clock.now()), 2.5, 1e-9);
  clock.advance(minutes(10));
  EXPECT_DOUBLE_EQ(bucket.level(clock.now()), 60) << "never more than a minute's worth";
}

TEST(RateBucket, ADebtIsPaidFirst) {
  FakeClock clock;
  RateBucket bucket;
  bucket.set_rate(600, clock.now());
  bucket.take(1200, clock.now());
  EXPECT_DOUBLE_EQ(bucket.level(clock.now()), -600);
  EXPECT_NEAR(std::chrono::duration<double>(bucket.until(1, clock.now())).count(), 60.1, 1e-6);
  bucket.take(-1200, clock.now());
  EXPECT_DOUBLE_EQ(bucket.level(clock.now()), 600) << "what is given back never overflows";
}

TEST(RateBucket, ANewRateKeepsWhatWasUsed) {
  FakeClock clock;
  RateBucket bucket;
  bucket.set_rate(100, clock.now());
  bucket.take(30, clock.now());
  bucket.set_rate(200, clock.now());
  EXPECT_DOUBLE_EQ(bucket.level(clock.now()), 170);
  bucket.set_rate(10, clock.now());
  EXPECT_DOUBLE_EQ(bucket.level(clock.now()), -20);
  bucket.set_rate(0, clock.now());
  EXPECT_EQ(bucket.until(1, clock.now()), Duration{});
}

class TenantLimitsTest : public testing::Test {
 protected:
  /// Lets a request in and ends it with so many tokens; the reason when it is refused.
  LimitReason ask(const std::string& tenant, const RateLimits& limits, std::int64_t used = 0) {
    auto verdict = limits_.admit(tenant, limits, 0);
    if (verdict.ticket == nullptr) {
      last_ = verdict.refusal;
      return last_.reason;
    }
    verdict.ticket->finish(used);
    return LimitReason::kNone;
  }

  FakeClock clock_;
  TenantLimits limits_{RateLimits(), clock_};
  LimitRefusal last_;
};

TEST_F(TenantLimitsTest, SoManyRequestsAMinuteAndThenTheTimeToWait) {
  const RateLimits limits{.requests_per_minute = 3};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask("blue", limits), LimitReason::kNone) << i;
  EXPECT_EQ(ask("blue", limits), LimitReason::kRequests);
  EXPECT_EQ(last_.retry_after, Duration(seconds(20)));
  EXPECT_EQ(last_.message, "rate limit of tenant \"blue\": 3 requests a minute, all used");
  EXPECT_EQ(ask("red", limits), LimitReason::kNone) << "each tenant has its own";
  clock_.advance(seconds(20));
  EXPECT_EQ(ask("blue", limits), LimitReason::kNone);
  EXPECT_EQ(ask("blue", limits), LimitReason::kRequests);
}

TEST_F(TenantLimitsTest, TokensAreChargedAsTheyWereUsed) {
  const RateLimits limits{.tokens_per_minute = 600};
  EXPECT_EQ(ask("blue", limits, 500), LimitReason::kNone);
  EXPECT_EQ(ask("blue", limits, 700), LimitReason::kNone) << "100 are left, so it may begin";
  EXPECT_EQ(ask("blue", limits), LimitReason::kTokens);
  EXPECT_NEAR(std::chrono::duration<double>(last_.retry_after).count(), 60.1, 1e-6);
  clock_.advance(seconds(61));
  EXPECT_EQ(ask("blue", limits), LimitReason::kNone);
}

TEST_F(TenantLimitsTest, AnEstimateIsSetAsideWhileARequestRuns) {
  const RateLimits limits{.tokens_per_minute = 1000};
  auto first = limits_.admit("blue", limits, 1500);
  ASSERT_NE(first.ticket, nullptr) << "nothing is too large to begin with";
  EXPECT_EQ(ask("blue", limits), LimitReason::kTokens);
  first.ticket->finish(100);
  EXPECT_EQ(limits_.headers("blue").find("x-ratelimit-remaining-tokens"), "900");
  {
    auto dropped = limits_.admit("blue", limits, 400);
    ASSERT_NE(dropped.ticket, nullptr);
    EXPECT_EQ(limits_.headers("blue").find("x-ratelimit-remaining-tokens"), "500");
  }
  EXPECT_EQ(limits_.headers("blue").find("x-ratelimit-remaining-tokens"), "900")
      << "a ticket that is only dropped used nothing";
}

TEST_F(TenantLimitsTest, SoManyAtOneTime) {
  const RateLimits limits{.max_concurrent = 2};
  auto one = limits_.admit("blue", limits, 0);
  auto two = limits_.admit("blue", limits, 0);
  ASSERT_NE(two.ticket, nullptr);
  const auto three = limits_.admit("blue", limits, 0);
  EXPECT_EQ(three.refusal.reason, LimitReason::kConcurrency);
  EXPECT_EQ(three.refusal.message, "tenant \"blue\" has 2 requests being answered; the limit is 2");
  one.ticket->finish(5);
  one.ticket->finish(5);
  EXPECT_NE(limits_.admit("blue", limits, 0).ticket, nullptr);
}

TEST_F(TenantLimitsTest, ThePodsOwnRateBindsAllTenantsTogether) {
  TenantLimits pod(RateLimits{.requests_per_minute = 2}, clock_);
  EXPECT_NE(pod.admit("blue", {}, 0).ticket, nullptr);
  EXPECT_NE(pod.admit("", {}, 0).ticket, nullptr);
  const auto third = pod.admit("red", {.requests_per_minute = 100}, 0);
  EXPECT_EQ(third.refusal.reason, LimitReason::kRequests);
  EXPECT_NE(third.refusal.message.find("this pod"), std::string::npos);
  EXPECT_EQ(pod.headers("red").find("x-ratelimit-limit-requests"), "2")
      << "the bucket with less left speaks";
}

TEST_F(TenantLimitsTest, ARefusalCostsNothing) {
  const RateLimits limits{.requests_per_minute = 60, .max_concurrent = 1};
  auto running = limits_.admit("blue", limits, 0);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(limits_.admit("blue", limits, 50).refusal.reason, LimitReason::kConcurrency);
  }
  EXPECT_EQ(limits_.headers("blue").find("x-ratelimit-remaining-requests"), "59");
}

TEST_F(TenantLimitsTest, HeadersAreOpenAisAndOnlyOfWhatBinds) {
  EXPECT_TRUE(limits_.headers("blue").all().empty());
  ask("blue", {});
  EXPECT_TRUE(limits_.headers("blue").all().empty());
  ask("red", {.requests_per_minute = 60, .tokens_per_minute = 6000}, 3000);
  const net::Headers headers = limits_.headers("red");
  EXPECT_EQ(headers.find("x-ratelimit-limit-requests"), "60");
  EXPECT_EQ(headers.find("x-ratelimit-remaining-requests"), "59");
  EXPECT_EQ(headers.find("x-ratelimit-reset-requests"), "1s");
  EXPECT_EQ(headers.find("x-ratelimit-limit-tokens"), "6000");
  EXPECT_EQ(headers.find("x-ratelimit-remaining-tokens"), "3000");
  EXPECT_EQ(headers.find("x-ratelimit-reset-tokens"), "30s");
  ask("green", {.tokens_per_minute = 60}, 125);
  EXPECT_EQ(limits_.headers("green").find("x-ratelimit-remaining-tokens"), "0");
  EXPECT_EQ(limits_.headers("green").find("x-ratelimit-reset-tokens"), "2m5s");
}

TEST_F(TenantLimitsTest, AShareOfARateIsThatPartOfIt) {
  limits_.set_share(0.25);
  const RateLimits limits{.requests_per_minute = 8, .max_concurrent = 1};
  EXPECT_EQ(ask("blue", limits), LimitReason::kNone);
  EXPECT_EQ(ask("blue", limits), LimitReason::kNone);
  EXPECT_EQ(ask("blue", limits), LimitReason::kRequests);
  limits_.set_share(0.01);  // less than one request a minute is still some
  EXPECT_EQ(ask("red", limits), LimitReason::kNone);
  EXPECT_EQ(ask("red", limits), LimitReason::kRequests);
}

TEST_F(TenantLimitsTest, TenantsThatHaveNothingToPayAreForgotten) {
  const RateLimits limits{.requests_per_minute = 60};
  for (int i = 0; i < 1025; ++i) ask("t" + std::to_string(i), limits);
  EXPECT_EQ(limits_.tenants(), 1025U);
  auto running = limits_.admit("runs", limits, 0);
  clock_.advance(minutes(2));
  ask("last", limits);
  EXPECT_EQ(limits_.tenants(), 2U) << "the one that runs, and the one that asked";
}

}  // namespace
}  // namespace kantha::noded

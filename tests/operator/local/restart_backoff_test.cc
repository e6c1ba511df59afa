#include "operator/local/restart_backoff.h"

#include <gtest/gtest.h>

#include <vector>

namespace kantha::local {
namespace {

using namespace std::chrono_literals;

TEST(RestartBackoff, PausesGrowAndStayAtTenSeconds) {
  FakeClock clock;
  RestartBackoff backoff;
  for (const Duration pause : std::vector<Duration>{200ms, 500ms, 1s, 2s, 4s, 8s, 10s, 10s, 10s}) {
    backoff.started(clock.now());
    clock.advance(3ms);
    backoff.ended(clock.now());
    EXPECT_EQ(backoff.start_at() - clock.now(), pause) << backoff.failures();
    clock.advance(pause);
  }
}

TEST(RestartBackoff, AMinuteOfHealthBeginsTheRowAnew) {
  FakeClock clock;
  RestartBackoff backoff;
  const auto end_and_pause = [&] {
    backoff.ended(clock.now());
    return backoff.start_at() - clock.now();
  };
  end_and_pause();
  end_and_pause();
  backoff.started(clock.now());
  backoff.healthy(clock.now());
  clock.advance(59s);
  backoff.healthy(clock.now());
  EXPECT_EQ(end_and_pause(), Duration(1s)) << "59 seconds are not enough";
  backoff.started(clock.now());
  clock.advance(120s);
  backoff.healthy(clock.now());
  EXPECT_EQ(end_and_pause(), Duration(2s)) << "running is not yet being healthy";
  backoff.started(clock.now());
  backoff.healthy(clock.now());
  clock.advance(30s);
  backoff.unhealthy();
  clock.advance(31s);
  backoff.healthy(clock.now());
  EXPECT_EQ(end_and_pause(), Duration(4s)) << "the minute has to be in one piece";
  backoff.started(clock.now());
  backoff.healthy(clock.now());
  clock.advance(60s);
  backoff.healthy(clock.now());
  EXPECT_EQ(backoff.failures(), 0);
  EXPECT_EQ(end_and_pause(), Duration(200ms));
}

}  // namespace
}  // namespace kantha::local

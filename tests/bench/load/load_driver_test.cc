#include "bench/load/load_driver.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/bench/load/scripted_server.h"

namespace kantha::bench {
namespace {

using namespace std::chrono_literals;

/// A request that takes so long and ends so.
net::Task<RequestLog> pretend(TimePoint origin, std::shared_ptr<net::CancelSignal> cancel,
                              Duration takes, Outcome outcome, boost::asio::any_io_executor on) {
  RequestLog log;
  log.sent = system_clock().now() - origin;
  log.outcome = outcome;
  const auto wake = std::make_shared<net::Notify>(std::move(on));
  cancel->on_cancel([wake] { wake->notify(); });
  if (co_await wake->wait(takes)) log.outcome = Outcome::kCancelled;
  log.ended = system_clock().now() - origin;
  co_return log;
}

class LoadDriverTest : public testing::Test {
 protected:
  Sender taking(Duration takes, Outcome outcome = Outcome::kOk) {
    return [this, takes, outcome](std::uint64_t, TimePoint origin,
                                  std::shared_ptr<net::CancelSignal> cancel) {
      return pretend(origin, std::move(cancel), takes, outcome, context_.get_executor());
    };
  }
  Phase run(LoadPlan plan, Sender sender) {
    return run_until_done(context_, driver_.run(std::move(plan), std::move(sender)));
  }

  boost::asio::io_context context_{1};
  LoadDriver driver_{context_.get_executor()};
};

net::Task<void> stop_later(LoadDriver* driver, Duration after) {
  co_await net::sleep_for(after);
  driver->stop();
}

std::vector<std::uint64_t> indices(const Phase& phase) {
  std::vector<std::uint64_t> out;
  for (const RequestLog& log : phase.requests) out.push_back(log.index);
  std::ranges::sort(out);
  return out;
}

TEST_F(LoadDriverTest, AClosedLoopKeepsSoManyInFlightAndSendsEachIndexOnce) {
  const Phase phase = run({.concurrency = 3, .requests = 10, .first_index = 100}, taking(5ms));
  EXPECT_EQ(phase.requests.size(), 10U);
  EXPECT_EQ(phase.in_flight_peak, 3);
  EXPECT_EQ(indices(phase).front(), 100U);
  EXPECT_EQ(indices(phase).back(), 109U);
  EXPECT_FALSE(phase.was_open_loop);
  EXPECT_FALSE(phase.lag_ms.empty());
  EXPECT_NEAR(phase.in_flight_s / std::chrono::duration<double>(phase.length).count(), 2.6, 0.45);
}

TEST_F(LoadDriverTest, AClosedLoopEndsWithItsTime) {
  const Phase phase = run({.concurrency = 2, .length = 60ms}, taking(5ms));
  EXPECT_GE(phase.requests.size(), 4U);
  EXPECT_GE(phase.length, 55ms);
  for (const RequestLog& log : phase.requests) EXPECT_LT(log.due, 60ms);
}

TEST_F(LoadDriverTest, AnOpenLoopSendsOnTimeHoweverSlowTheAnswersAre) {
  const Phase phase = run({.due = {0ms, 10ms, 20ms, 30ms, 40ms}}, taking(300ms));
  ASSERT_EQ(phase.requests.size(), 5U);
  EXPECT_EQ(phase.in_flight_peak, 5);
  EXPECT_TRUE(phase.was_open_loop);
  for (const RequestLog& log : phase.requests) {
    EXPECT_EQ(log.due, log.index * 10ms);
    EXPECT_GE(log.sent, log.due);
    EXPECT_LT(log.sent - log.due, 200ms);
  }
}

TEST_F(LoadDriverTest, ArrivalsBeyondTheBoundAreDroppedAndCounted) {
  const Phase phase = run({.due = {0ms, 1ms, 2ms, 3ms, 4ms}, .in_flight_max = 2}, taking(200ms));
  EXPECT_EQ(phase.requests.size(), 2U);
  EXPECT_EQ(phase.dropped, 3U);
}

TEST_F(LoadDriverTest, ArrivalsThatAreLateTogetherKeepToTheBoundToo) {
  const Phase phase = run({.due = {0ms, 0ms, 0ms, 0ms, 0ms}, .in_flight_max = 2}, taking(50ms));
  EXPECT_EQ(phase.requests.size(), 2U);
  EXPECT_EQ(phase.dropped, 3U);
  EXPECT_EQ(phase.in_flight_peak, 2);
}

TEST_F(LoadDriverTest, NothingButFailuresIsGivenUp) {
  Phase phase = run({.concurrency = 4, .requests = 1000}, taking(0ms, Outcome::kConnect));
  EXPECT_TRUE(phase.was_hopeless);
  EXPECT_LT(phase.requests.size(), 40U);
  std::vector<Duration> due(500);
  for (std::size_t i = 0; i < due.size(); ++i) due[i] = i * 1ms;
  phase = run({.due = due}, taking(0ms, Outcome::kStatus));
  EXPECT_TRUE(phase.was_hopeless);
  EXPECT_LT(phase.requests.size(), 100U);
}

TEST_F(LoadDriverTest, StopEndsEverythingAtOnce) {
  for (const bool is_open : {false, true}) {
    LoadDriver driver(context_.get_executor());
    net::TaskGroup stops(context_.get_executor(), "stop");
    stops.spawn(stop_later(&driver, 30ms));
    LoadPlan plan{.concurrency = is_open ? 0 : 2};
    if (is_open) plan.due = {0ms, 10s};
    const TimePoint before = system_clock().now();
    const Phase phase = run_until_done(context_, driver.run(std::move(plan), taking(60s)));
    EXPECT_LT(system_clock().now() - before, 10s);
    EXPECT_TRUE(phase.was_interrupted);
    EXPECT_EQ(phase.requests.size(), is_open ? 1U : 2U);
    for (const RequestLog& log : phase.requests) EXPECT_EQ(log.outcome, Outcome::kCancelled);
  }
}

}  // namespace
}  // namespace kantha::bench

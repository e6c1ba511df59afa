#include "engine/gateway/inbox.h"

#include <gtest/gtest.h>

#include <thread>

#include "engine/gateway/outbox.h"
#include "tests/fake/event_recorder.h"

namespace kantha::gateway {
namespace {

EngineLimits limits() {
  return {.context_max = 100,
          .pool_tokens = 100,
          .vocabulary_size = 50,
          .requests_queued_max = 2,
          .prompt_tokens_queued_max = 1000};
}

sched::GenerateSpec spec(std::uint64_t id) {
  sched::GenerateSpec spec;
  spec.id = {id};
  spec.prompt = {1, 2, 3};
  spec.max_tokens = 10;
  return spec;
}

const auto kSink = std::make_shared<fake::EventRecorder>();

TEST(Inbox, CountsARequestWithoutAGapFromSubmitToReport) {
  Inbox inbox(limits());
  ASSERT_TRUE(inbox.submit(spec(1), kSink).ok());
  ASSERT_TRUE(inbox.submit(spec(2), kSink).ok());
  EXPECT_EQ(inbox.stats().requests_waiting, 2);
  EXPECT_EQ(inbox.submit(spec(3), kSink).error().code, Code::kResourceExhausted);
  const Inbox::Delivery delivery = inbox.receive(Duration::zero());
  EXPECT_EQ(delivery.requests.size(), 2U);
  EXPECT_EQ(inbox.stats().requests_waiting, 2) << "received, not yet reported";
  EXPECT_EQ(inbox.stats().waiting_tokens, 6);
  EXPECT_FALSE(inbox.precheck({1}).ok());
  EngineStats running;
  running.requests_running = 2;
  inbox.publish({.stats = running});
  EXPECT_EQ(inbox.stats().requests_waiting, 0);
  EXPECT_EQ(inbox.stats().requests_running, 2);
  EXPECT_TRUE(inbox.precheck({1}).ok());
}

/// Of an engine with `running` of four slots in use and nobody waiting.
EngineStats stats_of(std::int32_t running) {
  EngineStats stats;
  stats.blocks_total = 100;
  stats.step_tokens_budget = 64;
  stats.requests_running = running;
  return stats;
}

TEST(Inbox, WhatStartsInTheNextStepDoesNotCountAgainstTheQueue) {
  EngineLimits slots = limits();
  slots.sequences_max = 4;
  Inbox inbox(slots);
  inbox.publish({.stats = stats_of(1)});
  std::uint64_t id = 0;
  for (int i = 0; i < 3 + 2; ++i) EXPECT_TRUE(inbox.submit(spec(++id), kSink).ok()) << i;
  EXPECT_FALSE(inbox.submit(spec(++id), kSink).ok()) << "three slots and two places to wait";
  EXPECT_EQ(inbox.stats().requests_waiting, 5) << "but all of them wait now";
  inbox.receive(Duration::zero());
  EXPECT_FALSE(inbox.submit(spec(++id), kSink).ok()) << "the step has not run yet";
  EngineStats after = stats_of(4);
  after.requests_waiting = 2;
  inbox.publish({.stats = after});
  EXPECT_FALSE(inbox.precheck({1}).ok());
  inbox.publish({.stats = stats_of(4)});
  EXPECT_TRUE(inbox.precheck({1}).ok());
}

TEST(Inbox, SamplesComeInWithTheirFirst) {
  Inbox inbox(limits());
  ASSERT_TRUE(inbox.submit(spec(1), kSink).ok());
  for (std::uint64_t id = 2; id < 10; ++id) {
    sched::GenerateSpec sample = spec(id);
    sample.fork_of = RequestId{1};
    EXPECT_TRUE(inbox.submit(std::move(sample), kSink).ok()) << id;
  }
  EXPECT_EQ(inbox.stats().waiting_tokens, 3 + 8) << "they find their prompt computed";
  sched::GenerateSpec orphan = spec(10);
  orphan.fork_of = RequestId{77};
  EXPECT_FALSE(inbox.submit(std::move(orphan), kSink).ok());
}

TEST(Inbox, TheQueuesBoundFollowsTheMeasuredRate) {
  EngineLimits derived = limits();
  derived.prompt_tokens_queued_max = 0;
  derived.ttft_target = std::chrono::seconds(2);
  Inbox inbox(derived);
  EngineStats stats;
  stats.prefill_tokens_per_second = 300;
  inbox.publish({.stats = stats});
  EXPECT_EQ(inbox.stats().prompt_tokens_queued_max, 600);
  inbox.publish({.stats = {}});
  EXPECT_EQ(inbox.stats().prompt_tokens_queued_max, 1 << 20) << "no rate of prefill yet";
}

TEST(Inbox, BusySinceIsWhenTheFirstOpenRequestCameHoweverOldTheLastStepIs) {
  Inbox inbox(limits());
  const auto at = [](int s) { return TimePoint{std::chrono::seconds(s)}; };
  EXPECT_EQ(inbox.stats().busy_since, TimePoint{});
  ASSERT_TRUE(inbox.submit(spec(1), kSink, at(1000)).ok());
  ASSERT_TRUE(inbox.submit(spec(2), kSink, at(1001)).ok());
  EXPECT_EQ(inbox.stats().busy_since, at(1000)) << "the engine has not even looked yet";
  inbox.receive(Duration::zero());
  EngineStats ran;
  ran.last_step = at(1002);
  const RequestId first[] = {{1}};
  inbox.publish({.stats = ran, .finished = first});
  EXPECT_EQ(inbox.stats().busy_since, at(1000)) << "the second one is open still";
  const RequestId second[] = {{2}};
  inbox.publish({.stats = ran, .finished = second});
  EXPECT_EQ(inbox.stats().busy_since, TimePoint{}) << "idle";
  ASSERT_TRUE(inbox.submit(spec(3), kSink, at(9000)).ok());
  EXPECT_EQ(inbox.stats().last_step, at(1002));
  EXPECT_EQ(inbox.stats().busy_since, at(9000)) << "the idle hours are no stall";
}

TEST(Inbox, AbortsAreKeptOncePerOpenRequest) {
  Inbox inbox(limits());
  inbox.abort({1});
  ASSERT_TRUE(inbox.submit(spec(1), kSink).ok());
  inbox.abort({1});
  inbox.abort({1});
  EXPECT_EQ(inbox.receive(Duration::zero()).aborts, (std::vector<RequestId>{{1}}));
  const RequestId finished[] = {{1}};
  inbox.publish({.stats = {}, .finished = finished});
  inbox.abort({1});
  EXPECT_TRUE(inbox.receive(Duration::zero()).aborts.empty());
}

TEST(Inbox, AnOpenIdIsRefusedAndAClosedInboxRefusesAll) {
  Inbox inbox(limits());
  ASSERT_TRUE(inbox.submit(spec(1), kSink).ok());
  EXPECT_EQ(inbox.submit(spec(1), kSink).error().code, Code::kAlreadyExists);
  inbox.close();
  EXPECT_EQ(inbox.submit(spec(2), kSink).error().code, Code::kUnavailable);
  EXPECT_EQ(inbox.precheck({1}).error().code, Code::kUnavailable);
  const Inbox::Delivery delivery = inbox.receive(std::chrono::hours(1));
  EXPECT_TRUE(delivery.closed);
  EXPECT_EQ(delivery.requests.size(), 1U);
}

TEST(Inbox, AWaitingConsumerWakesForARequest) {
  Inbox inbox(limits());
  std::size_t got = 0;
  std::thread consumer([&] { got = inbox.receive(std::chrono::seconds(30)).requests.size(); });
  ASSERT_TRUE(inbox.submit(spec(1), kSink).ok());
  consumer.join();
  EXPECT_EQ(got, 1U);
}

TEST(Outbox, GroupsByReceiverAndKeepsOrder) {
  Outbox outbox;
  const auto a = std::make_shared<fake::EventRecorder>();
  const auto b = std::make_shared<fake::EventRecorder>();
  std::vector<sched::AddressedEvent> events;
  for (TokenId token = 0; token < 4; ++token) {
    events.push_back({token == 2 ? b : a, {.id = {1}, .token = token}});
  }
  outbox.send(events);
  EXPECT_TRUE(events.empty());
  outbox.send(events);
  EXPECT_EQ(a->calls(), 1U);
  EXPECT_EQ(b->calls(), 1U);
  EXPECT_EQ(a->of({1}).tokens, (std::vector<TokenId>{0, 1, 3}));
  EXPECT_EQ(a.use_count(), 1) << "it keeps no sink";
}

/// Remembers the tokens of each call.
class RecordingHub final : public sched::EventHub {
 public:
  void on_step(std::vector<sched::AddressedEvent>& events) override {
    calls.emplace_back();
    for (const sched::AddressedEvent& event : events) calls.back().push_back(*event.event.token);
    events.clear();
  }
  std::vector<std::vector<TokenId>> calls;
};

class HubSink final : public sched::EventSink {
 public:
  explicit HubSink(sched::EventHub& hub) : hub_(hub) {}
  void on_events(std::vector<sched::TokenEvent>) override { FAIL() << "the hub takes them"; }
  sched::EventHub* hub() override { return &hub_; }

 private:
  sched::EventHub& hub_;
};

TEST(Outbox, GivesAHubTheEventsOfAllItsSinksInOneCall) {
  Outbox outbox;
  RecordingHub one;
  RecordingHub two;
  const auto a = std::make_shared<HubSink>(one);
  const auto b = std::make_shared<HubSink>(one);
  const auto c = std::make_shared<HubSink>(two);
  const auto plain = std::make_shared<fake::EventRecorder>();
  std::vector<sched::AddressedEvent> events;
  for (TokenId token = 0; token < 6; ++token) {
    events.push_back({token % 2 == 0 ? a : b, {.id = {1}, .token = token}});
  }
  outbox.send(events);
  EXPECT_EQ(one.calls, (std::vector<std::vector<TokenId>>{{0, 1, 2, 3, 4, 5}}));
  events.push_back({a, {.id = {1}, .token = 6}});
  events.push_back({plain, {.id = {2}, .token = 7}});
  events.push_back({c, {.id = {3}, .token = 8}});
  events.push_back({b, {.id = {1}, .token = 9}});
  outbox.send(events);
  EXPECT_EQ(one.calls.back(), (std::vector<TokenId>{6, 9}));
  EXPECT_EQ(two.calls, (std::vector<std::vector<TokenId>>{{8}}));
  EXPECT_EQ(plain->of({2}).tokens, (std::vector<TokenId>{7}));
  EXPECT_EQ(a.use_count(), 1);
}

}  // namespace
}  // namespace kantha::gateway

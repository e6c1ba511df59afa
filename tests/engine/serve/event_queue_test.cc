#include "engine/serve/event_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <optional>
#include <thread>

#include "base/net/task_group.h"
#include "engine/serve/live_request.h"
#include "tests/fake/fake_engine_port.h"

namespace kantha::serve {
namespace {

using sched::AddressedEvent;

AddressedEvent event_for(const std::shared_ptr<LiveRequest>& request, TokenId token) {
  return {request, {.id = {1}, .token = token}};
}

std::vector<TokenId> tokens_of(const std::vector<TimedEvent>& events) {
  std::vector<TokenId> tokens;
  for (const TimedEvent& timed : events) tokens.push_back(timed.event.token.value_or(-1));
  return tokens;
}

/// A queue whose I/O thread is the test's own.
struct Bench {
  std::shared_ptr<LiveRequest> open(std::size_t events_max = 100) {
    return std::make_shared<LiveRequest>(queue, engine, events_max);
  }
  void step(std::vector<AddressedEvent> events) {
    queue->on_step(events);
    EXPECT_TRUE(events.empty()) << "a hub takes everything";
  }
  std::vector<TimedEvent> take(const std::shared_ptr<LiveRequest>& request) {
    std::vector<TimedEvent> events;
    request->take(events);
    return events;
  }

  boost::asio::io_context io;
  FakeClock clock;
  fake::FakeEnginePort engine{{}};
  std::shared_ptr<EventQueue> queue =
      std::make_shared<EventQueue>(io.get_executor(), clock, /*events_max=*/6);
};

TEST(EventQueue, GivesEachRequestItsOwnInOrderWithTheTimeOfTheStep) {
  Bench bench;
  const auto a = bench.open();
  const auto b = bench.open();
  bench.clock.advance(std::chrono::seconds(1));
  const TimePoint first = bench.clock.now();
  bench.step({event_for(a, 1), event_for(b, 10), event_for(a, 2)});
  bench.clock.advance(std::chrono::seconds(1));
  bench.step({event_for(b, 11), event_for(a, 3)});
  EXPECT_TRUE(bench.take(a).empty()) << "nothing comes but on the I/O thread";
  bench.io.poll();
  const std::vector<TimedEvent> of_a = bench.take(a);
  EXPECT_EQ(tokens_of(of_a), (std::vector<TokenId>{1, 2, 3}));
  EXPECT_EQ(of_a[1].at, first);
  EXPECT_EQ(of_a[2].at, bench.clock.now());
  EXPECT_EQ(tokens_of(bench.take(b)), (std::vector<TokenId>{10, 11}));
  bench.step({event_for(a, 4)});
  bench.io.poll();
  EXPECT_EQ(tokens_of(bench.take(a)), (std::vector<TokenId>{4})) << "the bell rings again";
  a->close();
  b->close();
}

TEST(EventQueue, StorageGoesRoundInsteadOfBeingAllocated) {
  Bench bench;
  const auto request = bench.open();
  std::vector<AddressedEvent> events;
  for (TokenId token = 0; token < 6; ++token) {
    events.push_back(event_for(request, token));
    bench.queue->on_step(events);
    bench.io.poll();
    if (token >= 3) EXPECT_GT(events.capacity(), 0U) << "of the step before the last";
  }
  request->close();
}

TEST(EventQueue, AFullQueueStopsTheRequestsThatLostEventsAndNoOther) {
  Bench bench;
  const auto a = bench.open();
  const auto b = bench.open();
  a->add_id({7});
  b->add_id({8});
  bench.step({event_for(a, 1), event_for(b, 1), event_for(a, 2), event_for(a, 3)});
  bench.step({event_for(a, 4), event_for(a, 5), event_for(a, 6)});  // no room for these
  bench.step({event_for(a, 7), event_for(b, 2)});                   // for these there is
  bench.io.poll();
  EXPECT_EQ(a->stop_cause(), StopCause::kSlowReader);
  EXPECT_TRUE(bench.take(a).empty()) << "an answer with a gap is not shown";
  EXPECT_EQ(b->stop_cause(), StopCause::kNone);
  EXPECT_EQ(tokens_of(bench.take(b)), (std::vector<TokenId>{1, 2}));
  a->close();
  b->close();
}

TEST(EventQueue, AReaderThatTakesNothingIsStoppedAtItsOwnBound) {
  Bench bench;
  const auto a = bench.open(/*events_max=*/3);
  for (TokenId token = 0; token < 4; ++token) {
    EXPECT_EQ(a->stop_cause(), StopCause::kNone);
    bench.step({event_for(a, token)});
    bench.io.poll();
  }
  EXPECT_EQ(a->stop_cause(), StopCause::kSlowReader);
  a->close();
}

TEST(EventQueue, LateEventsAreDroppedAndTheNextRequestGetsOnlyItsOwn) {
  Bench bench;
  const auto gone = bench.open();
  bench.step({event_for(gone, 1)});
  gone->close();  // with events on their way
  bench.step({event_for(gone, 2)});
  EXPECT_LE(gone.use_count(), 1) << "the queue holds on to nobody";
  bench.io.poll();
  bench.io.restart();
  const auto next = bench.open();
  bench.step({event_for(gone, 3), event_for(next, 4)});
  bench.io.poll();
  EXPECT_EQ(tokens_of(bench.take(next)), (std::vector<TokenId>{4}));
  EXPECT_TRUE(bench.take(gone).empty());
  next->close();
  EXPECT_EQ(bench.io.poll(), 1U) << "the cancelled wait";
  EXPECT_TRUE(bench.io.stopped()) << "an empty queue keeps no context running";
}

net::Task<void> read_all(std::shared_ptr<LiveRequest> request, TokenId count,
                         std::atomic<int>& in_order) {
  std::vector<TimedEvent> events;
  TokenId next = 0;
  while (next < count) {
    request->take(events);
    for (const TimedEvent& timed : events) {
      if (timed.event.token != next) co_return;
      ++next;
    }
    if (events.empty()) {
      const bool woken = co_await request->wait(std::chrono::seconds(30));
      if (!woken) co_return;
    }
  }
  ++in_order;
  request->close();
}

TEST(EventQueue, ManyStepsFromAnotherThreadReachReadersThatComeAndGo) {
  constexpr int kRounds = 20;
  constexpr int kReaders = 8;
  constexpr TokenId kTokens = 50;
  boost::asio::io_context io;
  fake::FakeEnginePort engine({});
  const auto queue = std::make_shared<EventQueue>(io.get_executor(), system_clock());
  auto work = std::make_optional(boost::asio::make_work_guard(io));
  net::TaskGroup tasks(io.get_executor(), "readers");
  std::atomic<int> in_order = 0;
  std::thread io_thread([&io] { io.run(); });
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::shared_ptr<LiveRequest>> requests;
    std::promise<void> opened;
    boost::asio::post(io, [&] {
      for (int i = 0; i < kReaders; ++i) {
        requests.push_back(std::make_shared<LiveRequest>(queue, engine, 1000));
        tasks.spawn(read_all(requests.back(), kTokens, in_order));
      }
      opened.set_value();
    });
    opened.get_future().wait();
    std::vector<AddressedEvent> events;
    // More than the readers wait for: they leave in the middle.
    for (TokenId token = 0; token < kTokens + 10; ++token) {
      for (const auto& request : requests) events.push_back(event_for(request, token));
      queue->on_step(events);
    }
  }
  boost::asio::post(io, [&work] { work.reset(); });
  io_thread.join();
  EXPECT_EQ(in_order, kRounds * kReaders);
}

}  // namespace
}  // namespace kantha::serve

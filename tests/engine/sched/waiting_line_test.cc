#include "engine/sched/waiting_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "base/clock.h"
#include "engine/sched/sequence.h"

namespace kantha::sched {
namespace {

/// Requests of given costs that are started as soon as the line names them.
class WaitingLineTest : public testing::Test {
 protected:
  struct Request {
    std::string tenant;
    WaitingLine::Flow* flow = nullptr;
    std::unique_ptr<Sequence> sequence;
  };

  ~WaitingLineTest() override {
    const Status whole = line_.check_integrity();
    EXPECT_TRUE(whole.ok()) << whole.error().message;
  }
  std::uint64_t add(const std::string& tenant, SloClass slo = SloClass::kInteractive,
                    std::int32_t priority = 0) {
    const std::uint64_t order = next_++;
    Request& request = requests_[order];
    request.tenant = tenant;
    request.flow = &line_.join(priority, tenant, slo);
    request.sequence = std::make_unique<Sequence>(GenerateSpec{}, nullptr, kv_);
    request.sequence->order = order;
    line_.insert(*request.flow, order, *request.sequence);
    return order;
  }
  void end(std::uint64_t order) {
    line_.leave(*requests_.at(order).flow);
    requests_.erase(order);
  }
  std::uint64_t next() { return line_.front(1).front()->order; }
  /// Starts the next one at a cost; says whose it was.
  std::string start(std::int64_t tokens) {
    const std::uint64_t order = next();
    const std::string tenant = requests_.at(order).tenant;
    line_.erase(*requests_.at(order).flow, order);
    line_.charge(*requests_.at(order).flow, tokens);
    end(order);
    return tenant;
  }
  std::string starts(int count, std::int64_t tokens) {
    std::string text;
    for (int i = 0; i < count; ++i) text += start(tokens);
    return text;
  }

  cache::KvCache kv_{{.block_count = 1}};
  std::map<std::uint64_t, Request> requests_;
  std::uint64_t next_ = 1;
  WaitingLine line_;
};

TEST_F(WaitingLineTest, ATenantIsServedInOrderOfArrival) {
  for (int i = 0; i < 3; ++i) add("a");
  for (std::uint64_t order = 1; order <= 3; ++order) {
    EXPECT_EQ(next(), order);
    start(10);
  }
  EXPECT_TRUE(line_.empty());
}

TEST_F(WaitingLineTest, TenantsTakeTurns) {
  for (int i = 0; i < 4; ++i) add("a");
  for (int i = 0; i < 4; ++i) add("b");
  EXPECT_EQ(starts(8, 10), "abababab");
}

TEST_F(WaitingLineTest, ABetterPriorityGoesFirstWhateverItHasHad) {
  add("a", SloClass::kInteractive, 1);
  for (int i = 0; i < 3; ++i) add("b", SloClass::kBatch, 0);
  add("c", SloClass::kInteractive, -5);
  EXPECT_EQ(starts(5, 1000), "cbbba");
}

TEST_F(WaitingLineTest, OneThatComesBackStandsBeforeItsFlowsOthers) {
  const std::uint64_t first = add("a");
  add("a");
  line_.erase(*requests_.at(first).flow, first);
  EXPECT_EQ(next(), 2U);
  line_.insert(*requests_.at(first).flow, first, *requests_.at(first).sequence);
  EXPECT_EQ(next(), first);
}

TEST_F(WaitingLineTest, ServedTokensOfTwoThatAlwaysWaitDifferByOneRequestAtMost) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    add("a");
    add("b");
  }
  std::map<std::string, std::int64_t> served;
  for (int i = 0; i < 2000; ++i) {
    // a asks for much at once, b for little.
    const bool a = requests_.at(next()).tenant == "a";
    const auto tokens = static_cast<std::int64_t>(1 + random() % (a ? 4000 : 50));
    served[start(tokens)] += tokens;
    ASSERT_LE(std::abs(served["a"] - served["b"]), 4000);
  }
}

TEST_F(WaitingLineTest, OutputIsPaidForToo) {
  std::map<std::string, int> started;
  for (int i = 0; i < 300; ++i) {
    add("terse");
    add("verbose");
  }
  for (int i = 0; i < 220; ++i) {
    WaitingLine::Flow& flow = *requests_.at(next()).flow;
    const std::string tenant = start(100);
    ++started[tenant];
    for (int t = 0; tenant == "verbose" && t < 900; ++t) line_.charge(flow, 1);
  }
  EXPECT_EQ(started["terse"], 200);
  EXPECT_EQ(started["verbose"], 20) << "ten times the tokens each";
}

TEST_F(WaitingLineTest, ClassesShareByWeight) {
  for (int i = 0; i < 2000; ++i) {
    add("i", SloClass::kInteractive);
    add("a", SloClass::kAgent);
    add("b", SloClass::kBatch);
  }
  std::map<std::string, int> started;
  for (int i = 0; i < 1300; ++i) ++started[start(70)];
  EXPECT_NEAR(started["i"], 800, 8);
  EXPECT_NEAR(started["a"], 400, 8);
  EXPECT_NEAR(started["b"], 100, 8);
}

TEST_F(WaitingLineTest, AThousandQueuedRequestsDelayANewTenantByNone) {
  for (int i = 0; i < 1000; ++i) add("flood");
  starts(50, 500);
  add("quiet");
  EXPECT_EQ(starts(2, 500), "quietflood");
}

TEST_F(WaitingLineTest, BeingIdleSavesNothingUp) {
  add("b");
  start(10);
  for (int i = 0; i < 100; ++i) add("a");
  starts(50, 100);
  for (int i = 0; i < 20; ++i) add("b");
  const std::string served = starts(20, 100);
  EXPECT_EQ(std::ranges::count(served, 'a'), 10);
}

TEST_F(WaitingLineTest, WhatWasServedWhileNobodyWaitedIsNotHeldAgainstAnybody) {
  for (int i = 0; i < 50; ++i) {
    add("a");
    start(1000);
  }
  for (int i = 0; i < 10; ++i) {
    add("b");
    add("a");
  }
  const std::string served = starts(10, 100);
  EXPECT_EQ(std::ranges::count(served, 'a'), 5) << served;
}

TEST_F(WaitingLineTest, OneByOneIsNoWayAroundTheShare) {
  // "serial" never queues: it sends the next when the one before has started.
  for (int i = 0; i < 400; ++i) add("bulk");
  std::map<std::string, std::int64_t> served;
  add("serial");
  for (int i = 0; i < 200; ++i) {
    const bool serial = requests_.at(next()).tenant == "serial";
    served[start(serial ? 900 : 100)] += serial ? 900 : 100;
    if (serial) add("serial");
  }
  EXPECT_NEAR(static_cast<double>(served["serial"]) / static_cast<double>(served["bulk"]), 1, 0.1);
}

TEST_F(WaitingLineTest, NobodyStarvesUnderRandomLoad) {
  std::mt19937_64 random(11);
  const char* const tenants[] = {"a", "b", "c", "d", "e"};
  std::map<std::uint64_t, int> born;
  int longest = 0;
  for (int turn = 0; turn < 5000; ++turn) {
    // A little less arrives than is served; a flood of one tenant now and then.
    const int arrivals = turn % 500 == 0 ? 200 : static_cast<int>(random() % 2);
    for (int i = 0; i < arrivals; ++i) {
      const auto slo = static_cast<SloClass>(random() % 3);
      born[add(arrivals > 2 ? "a" : tenants[random() % 5], slo)] = turn;
    }
    if (line_.empty()) continue;
    longest = std::max(longest, turn - born.at(next()));
    start(static_cast<std::int64_t>(random() % 500));
    ASSERT_TRUE(line_.check_integrity().ok());
  }
  EXPECT_LT(longest, 1500);
}

TEST_F(WaitingLineTest, FlowsOfTenantsThatWentAreForgotten) {
  for (int i = 0; i < 10'000; ++i) {
    add("tenant" + std::to_string(i), SloClass::kInteractive, i % 3);
    start(5);
  }
  EXPECT_LT(line_.flow_count(), 1100U);
  add("tenant1");
  add("tenant9999");
  starts(2, 5);
}

TEST_F(WaitingLineTest, TheFrontIsOfSeveralFlowsAndBounded) {
  for (int i = 0; i < 10; ++i) add("a");
  for (int i = 0; i < 10; ++i) add("b");
  std::vector<std::uint64_t> orders;
  for (const Sequence* sequence : line_.front(6)) orders.push_back(sequence->order);
  EXPECT_EQ(orders, (std::vector<std::uint64_t>{1, 2, 3, 4, 11, 12}));
}

/// Priorities are the client's choice: those in which nobody waits cost nothing.
TEST_F(WaitingLineTest, AThousandPrioritiesThatWereUsedDoNotSlowTheLine) {
  for (std::int32_t priority = 1; priority <= 1000; ++priority) {
    add("a", SloClass::kInteractive, -priority);
    start(1);
  }
  EXPECT_EQ(line_.flow_count(), 1000);
  const std::uint64_t waiting = add("b");
  const Clock& clock = system_clock();
  double best_us = 1e9;
  for (int round = 0; round < 200; ++round) {
    const TimePoint begin = clock.now();
    const std::span<Sequence* const> front = line_.front(8);
    best_us =
        std::min(best_us, std::chrono::duration<double, std::micro>(clock.now() - begin).count());
    ASSERT_EQ(front.size(), 1u);
  }
  std::printf("front() beside 1,000 idle priorities: %.3f us\n", best_us);
  EXPECT_LT(best_us, 1);
  EXPECT_EQ(next(), waiting);
}

}  // namespace
}  // namespace kantha::sched

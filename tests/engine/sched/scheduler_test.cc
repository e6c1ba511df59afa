#include "engine/sched/scheduler.h"

#include "tests/engine/sched/scheduler_fixture.h"

namespace kantha::sched {
namespace {

TEST_F(SchedulerTest, DecodesFirstThenTheShortestPrompts) {
  make(64, options(8, 8));
  add(1, 3, 10);
  add(2, 12, 10);
  add(3, 2, 10);
  EXPECT_EQ(step(), "1:3 2:5");
  EXPECT_EQ(step(), "1:1 2:5 3:2");
  EXPECT_EQ(step(), "1:1 2:2 3:1");
}

TEST_F(SchedulerTest, NoMoreThanSequencesMaxRun) {
  make(64, options(2, 16));
  for (std::uint64_t id = 1; id <= 3; ++id) add(id, 2, 2);
  EXPECT_EQ(step(), "1:2 2:2");
  EXPECT_EQ(scheduler_->waiting_count(), 1);
  EXPECT_EQ(step(), "1:1 2:1");
  EXPECT_EQ(step(), "3:2") << "the others have their two tokens";
}

TEST_F(SchedulerTest, OneThatDoesNotFitIsOvertakenSoManyTimesAndNoMore) {
  make(12, without_foresight(8, 64));
  add(1, 16, 20);
  EXPECT_EQ(step(), "1:16");
  add(2, 36, 4);  // needs 9 blocks; 8 are left
  int overtaken = 0;
  for (std::uint64_t id = 3; id < 22; ++id) {
    add(id, 2, 1);
    overtaken += step() == "1:1" ? 0 : 1;
  }
  EXPECT_EQ(overtaken, 16);
  EXPECT_EQ(step().substr(0, 4), "2:36") << "the room was kept";
}

TEST_F(SchedulerTest, AVictimReturnsToItsPlaceAndNothingStartsInThatStep) {
  make(6, without_foresight(8, 64), /*prefix_caching=*/false);
  add(1, 8, 16);
  add(2, 7, 16);
  EXPECT_EQ(step(), "1:8 2:7");  // 4 blocks
  for (int i = 0; i < 4; ++i) EXPECT_EQ(step(), "1:1 2:1");
  EXPECT_EQ(kv_->idle(), 0);  // 12 and 11 tokens
  add(3, 1, 1);
  EXPECT_EQ(step(), "1:1") << "2 gave way and 3 has to wait";
  EXPECT_EQ(counters().preemptions, 1);
  EXPECT_EQ(scheduler_->waiting_tokens(), 12 + 1);
  // 2 needs 3 blocks and 2 of headroom; 1 holds 4 until it is done.
  int steps = 0;
  while (scheduler_->running_count() == 1 && steps < 50) {
    EXPECT_EQ(step().substr(0, 2), "1:");
    ++steps;
  }
  EXPECT_EQ(steps, 10);
  EXPECT_EQ(step(), "2:12 3:1");
  EXPECT_EQ(counters().recomputed_tokens, 11);
}

TEST_F(SchedulerTest, AResumeFindsItsOwnBlocksAgain) {
  make(6, without_foresight(8, 64));
  add(1, 12, 6);
  add(2, 8, 16);
  EXPECT_EQ(step(), "1:12 2:8");
  EXPECT_EQ(step(), "1:1") << "2 gave up 2 full blocks, of which 1 will take the tail";
  while (scheduler_->running_count() > 0 && scheduler_->waiting_count() > 0) step();
  EXPECT_EQ(step(), "2:5") << "the first 4 of 9 tokens were still cached";
  EXPECT_EQ(counters().preemptions, 1);
  EXPECT_EQ(counters().recomputed_tokens, 4);
}

TEST_F(SchedulerTest, TheNextTurnOfAChatFindsTheTailOfTheLast) {
  make(16, options(8, 64));
  add(1, 6, 2);  // computes 6 prompt tokens and the first of its two output tokens
  EXPECT_EQ(step(), "1:6");
  EXPECT_EQ(step(), "1:1");
  ASSERT_TRUE(scheduler_->empty());
  GenerateSpec next;
  next.id = {2};
  next.prompt = {10000, 10001, 10002, 10003, 10004, 10005, 1, 1, 50};
  next.max_tokens = 1;
  scheduler_->add(std::move(next), std::make_shared<EventLog>());
  EXPECT_EQ(step(), "2:2") << "a block and the three tokens of its tail are there";
  EXPECT_EQ(scheduler_->counters().prefix_hits, 7);
}

TEST_F(SchedulerTest, AnAbortedRequestsWorkIsFoundAndABrokenOnesIsNot) {
  for (const bool broken : {false, true}) {
    make(16, options(8, 64));
    add(1, 6, 5);
    step();
    if (broken) {
      ASSERT_EQ(scheduler_->schedule({}).grants.size(), 1U);
      std::vector<SampledToken> sampled(1);
      sampled[0].error = "not a number";
      scheduler_->commit(sampled);
    } else {
      scheduler_->abort({1});
    }
    ASSERT_TRUE(scheduler_->empty());
    const std::vector<TokenId> prompt = {10000, 10001, 10002, 10003, 10004, 10005, 9};
    EXPECT_EQ(kv_->find(prompt, 0).tokens, broken ? 4 : 6);
  }
}

TEST_F(SchedulerTest, AbortsReachWaitingAndRunningRequests) {
  make(64, options(1, 64));
  add(1, 4, 10);
  add(2, 4, 10);
  step();
  scheduler_->abort({2});
  scheduler_->abort({1});
  scheduler_->abort({7});
  EXPECT_TRUE(scheduler_->empty());
  EXPECT_EQ(scheduler_->waiting_tokens(), 0);
  const std::vector<RequestId> finished = scheduler_->take_finished();
  EXPECT_EQ(finished, (std::vector<RequestId>{{2}, {1}}));
  EXPECT_EQ(scheduler_->take_events().size(), 2U) << "two ends";
}

}  // namespace
}  // namespace kantha::sched

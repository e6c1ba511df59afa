#include "tests/engine/sched/scheduler_fixture.h"

/// Parallel samples and equal prompts: a head is computed once.
namespace kantha::sched {
namespace {

class SharedPromptTest : public SchedulerTest {
 protected:
  /// A sample of `parent`'s prompt.
  void add_fork(std::uint64_t id, std::uint64_t parent, std::int32_t prompt,
                std::int32_t max_tokens) {
    GenerateSpec spec = request(parent, prompt, max_tokens);
    spec.id = {id};
    spec.fork_of = RequestId{parent};
    add(std::move(spec));
  }
  /// `head` tokens that all such requests have, then `tail` that no other has.
  void add_with_head(std::uint64_t id, std::int32_t head, std::int32_t tail,
                     std::int32_t max_tokens, std::int32_t priority = 0, std::uint64_t salt = 0) {
    GenerateSpec spec = request(0, head, max_tokens);
    spec.id = {id};
    for (std::int32_t i = 0; i < tail; ++i) {
      spec.prompt.push_back(static_cast<TokenId>(id) * 10'000 + i);
    }
    spec.priority = priority;
    spec.salt = salt;
    add(std::move(spec));
  }
};

TEST_F(SharedPromptTest, ForksShareTheirParentsPromptWithAndWithoutPrefixCaching) {
  for (const bool prefix_caching : {true, false}) {
    make(64, options(8, 64), prefix_caching);
    add(1, 10, 6);
    for (std::uint64_t id = 2; id <= 4; ++id) add_fork(id, 1, 10, 6);
    EXPECT_EQ(scheduler_->waiting_tokens(), 10 + 3) << "a fork will compute one token";
    EXPECT_EQ(step(), "1:10");
    EXPECT_EQ(scheduler_->waiting_tokens(), 3);
    EXPECT_EQ(kv_->active(), 3);
    EXPECT_EQ(step(), "1:1 2:1 3:1 4:1") << "the last token again, for its logits";
    EXPECT_EQ(kv_->active(), 3 + 3) << "whole blocks are shared, the last one is copied";
    EXPECT_EQ(counters().forks, 3);
    EXPECT_EQ(counters().computed_tokens, 10 + 4);
    EXPECT_EQ(counters().block_copies, 3);
    EXPECT_EQ(step(), "1:1 2:1 3:1 4:1");
    EXPECT_TRUE(drain());
    EXPECT_EQ(kv_->active(), 0);
  }
}

TEST_F(SharedPromptTest, AForkOfAPromptOfWholeBlocksCopiesTheLastOne) {
  make(64, options(8, 64));
  add(1, 8, 20);
  add_fork(2, 1, 8, 20);
  EXPECT_EQ(step(), "1:8");
  EXPECT_EQ(step(), "1:1 2:1");
  EXPECT_EQ(counters().block_copies, 1);
  for (int i = 0; i < 12; ++i) step();  // both publish further blocks
  EXPECT_TRUE(drain());
}

TEST_F(SharedPromptTest, ForksHoldUpNobodyWhileTheirParentWorks) {
  make(64, options(8, 8));
  add(1, 40, 4);
  add_fork(2, 1, 40, 4);
  add(3, 2, 2);
  EXPECT_EQ(step(), "1:8");
  EXPECT_EQ(step(), "1:6 3:2") << "3 is shorter than what 1 still misses";
}

TEST_F(SharedPromptTest, ForksOfAParentThatEndedStartByThemselves) {
  make(64, options(8, 16));
  add(1, 40, 4);
  add_fork(2, 1, 40, 4);
  add_fork(3, 1, 40, 4);
  step();
  scheduler_->abort({1});
  EXPECT_EQ(scheduler_->waiting_tokens(), 80);
  EXPECT_EQ(step(), "2:16") << "with what the parent had computed in the cache, and 3 waits for 2";
  EXPECT_TRUE(drain());
  EXPECT_EQ(counters().forks, 0);
  EXPECT_EQ(counters().finished[static_cast<int>(FinishReason::kLength)], 2);
}

TEST_F(SharedPromptTest, AParentOfOneTokenLeavesItsForksTheCache) {
  make(64, options(8, 64));
  add(1, 10, 1);
  add_fork(2, 1, 10, 1);
  EXPECT_EQ(step(), "1:10");
  EXPECT_TRUE(scheduler_->running_count() == 0 && scheduler_->waiting_count() == 1);
  EXPECT_EQ(step(), "2:1") << "all but the last token were found";
}

TEST_F(SharedPromptTest, AForkOfNobodyOrOfAnotherPromptIsAnOrdinaryRequest) {
  make(64, options(8, 64));
  add_fork(2, 99, 6, 3);
  add(3, 6, 3);
  GenerateSpec other = request(4, 6, 3);
  other.fork_of = RequestId{3};
  add(std::move(other));
  EXPECT_EQ(step(), "2:6 3:6 4:6");
}

TEST_F(SharedPromptTest, AResumedForkSharesThePromptAndComputesItsOwnTokens) {
  make(64, options(8, 64));
  add(1, 10, 20);
  GenerateSpec resumed = request(1, 10, 20);
  resumed.id = {2};
  resumed.fork_of = RequestId{1};
  resumed.resumed = {7, 8, 9};
  add(std::move(resumed));
  EXPECT_EQ(scheduler_->waiting_tokens(), 10 + 3);
  step();
  EXPECT_EQ(step(), "1:1 2:3");
}

TEST_F(SharedPromptTest, AForkIsAnOrdinaryRequestOnceAWindowHasLeftThePrompt) {
  const std::vector<cache::KvGroup> groups = {{.window = 0}, {.window = 6}};
  for (const int late : {0, 20}) {
    make(200, options(/*sequences_max=*/2, 64), /*prefix_caching=*/false, 4, groups);
    add(1, 10, 40);
    add(9, 2, 1 + late);  // has the other slot meanwhile
    add_fork(2, 1, 10, 4);
    for (int i = 0; i <= late; ++i) step();
    EXPECT_EQ(step(), late == 0 ? "1:1 2:1" : "1:1 2:10");
    EXPECT_EQ(counters().forks, late == 0 ? 1 : 0);
    EXPECT_TRUE(drain());
  }
}

TEST_F(SharedPromptTest, ParentAndForksMayBePreemptedAndAbortedInAnyOrder) {
  for (std::uint64_t round = 0; round < 200; ++round) {
    make(24, options(8, 32), round % 2 == 0);
    std::uint64_t random = round * 7919 + 1;
    const auto draw = [&](std::uint64_t n) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      return (random >> 33) % n;
    };
    const auto prompt = static_cast<std::int32_t>(1 + draw(30));
    add(1, prompt, static_cast<std::int32_t>(1 + draw(40)));
    for (std::uint64_t id = 2; id <= 6; ++id) {
      if (draw(3) == 0) step();
      add_fork(id, draw(4) == 0 ? id - 1 : 1, prompt, static_cast<std::int32_t>(1 + draw(40)));
    }
    for (int i = 0; i < 10; ++i) {
      step();
      if (draw(4) == 0) scheduler_->abort({1 + draw(6)});
    }
    ASSERT_TRUE(drain(2000)) << "round " << round;
    ASSERT_EQ(kv_->active(), 0);
  }
}

TEST_F(SharedPromptTest, EightEqualHeadsAreComputedOnce) {
  make(1000, options(16, 256), /*prefix_caching=*/true, /*block_size=*/16);
  for (std::uint64_t id = 1; id <= 8; ++id) add_with_head(id, 600, 5 + static_cast<int>(id), 4);
  EXPECT_EQ(step(), "1:256");
  EXPECT_EQ(scheduler_->waiting_count(), 7);
  EXPECT_TRUE(drain(20));
  EXPECT_EQ(counters().shared_waits, 7);
  EXPECT_GE(counters().prefix_hits, 7 * 592);
  EXPECT_LE(counters().computed_tokens, 600 + 8 * (8 + 13 + 3));
}

TEST_F(SharedPromptTest, WaitingForAHeadHoldsUpNobody) {
  make(200, options(16, 8));
  add_with_head(1, 80, 2, 4);
  EXPECT_EQ(step(), "1:8");
  add_with_head(2, 80, 3, 4);
  add(3, 2, 2);
  EXPECT_EQ(step(), "1:6 3:2");
  EXPECT_EQ(scheduler_->waiting_count(), 1);
}

TEST_F(SharedPromptTest, AHeadIsWaitedForOnlyWhereItIsWorthIt) {
  struct Case {
    const char* name;
    std::int32_t head;
    std::int32_t tail;
    bool waits;
  };
  const Case cases[] = {
      {"less than a block", 3, 2, false},
      {"a block that is more than half of it", 4, 3, true},
      {"a block of much more", 4, 60, false},
      {"32 tokens of however much", 32, 300, true},
      {"less than that of much more", 28, 300, false},
  };
  for (const Case& c : cases) {
    make(400, options(16, 2));
    add_with_head(1, c.head, 400, 4);
    EXPECT_EQ(step(), "1:2");
    add_with_head(2, c.head, c.tail, 4);
    step();
    EXPECT_EQ(counters().shared_waits, c.waits ? 1 : 0) << c.name;
    EXPECT_TRUE(drain()) << c.name;
  }
}

TEST_F(SharedPromptTest, NobodyWaitsForAHeadOfAnotherSaltOrAWorsePriority) {
  make(400, options(16, 8));
  add_with_head(1, 80, 2, 4, /*priority=*/5);
  step();
  add_with_head(2, 80, 3, 4, /*priority=*/0);
  step();
  EXPECT_EQ(counters().shared_waits, 0);
  add_with_head(3, 80, 4, 4, /*priority=*/5, /*salt=*/17);
  for (int i = 0; i < 50 && scheduler_->waiting_count() > 0; ++i) step();
  EXPECT_EQ(counters().shared_waits, 0);
}

TEST_F(SharedPromptTest, WhenTheLeaderGoesTheNextOneLeads) {
  make(400, options(16, 8));
  for (std::uint64_t id = 1; id <= 4; ++id) add_with_head(id, 80, static_cast<int>(id), 4);
  step();
  EXPECT_EQ(scheduler_->running_count(), 1);
  scheduler_->abort({1});
  EXPECT_EQ(step(), "2:8") << "on top of the 8 tokens that 1 had computed";
  EXPECT_EQ(scheduler_->waiting_count(), 2);
  EXPECT_TRUE(drain(60));
  EXPECT_LE(counters().computed_tokens, 80 + 3 * (4 + 4 + 3));
}

TEST_F(SharedPromptTest, ALeaderThatGetsNothingIsNotWaitedForForEver) {
  make(4000, options(64, 8));
  add(1, 2000, 1);
  EXPECT_EQ(step(), "1:8");
  add_with_head(2, 32, 1500, 1);
  EXPECT_EQ(step(), "1:2 2:6");
  add_with_head(3, 32, 5, 1);
  // The oldest has its quarter, and short ones that keep coming take the rest: 2 gets nothing.
  int steps = 1;
  for (std::uint64_t id = 10; id < 110; ++id, ++steps) {
    add(id, 6, 1);
    if (step().find(" 3:") != std::string::npos) break;
  }
  EXPECT_EQ(counters().shared_waits, 1);
  EXPECT_GT(steps, 32);
  EXPECT_LT(steps, 45);
}

}  // namespace
}  // namespace kantha::sched

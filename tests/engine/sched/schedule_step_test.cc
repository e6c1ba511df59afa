#include "engine/sched/schedule_step.h"

#include <gtest/gtest.h>

namespace kantha::sched {
namespace {

constexpr std::int32_t kBlock = 4;

TEST(PlanRunning, HandsOutTheBudgetByTheTable) {
  struct Case {
    const char* name;
    std::vector<RunningCounts> running;
    StepRoom room;
    std::vector<std::int32_t> tokens;
    StepRoom left;
  };
  const Case cases[] = {
      {"nothing runs", {}, {8, 8}, {}, {8, 8}},
      {"decodes take one token each", {{4, 5, 2, 0}, {6, 7, 2, 0}}, {8, 8}, {1, 1}, {6, 8}},
      {"a decode at a block's end takes a block", {{4, 5, 1, 0}}, {8, 8}, {1}, {7, 7}},
      {"a copy takes a block as well", {{3, 4, 1, 1}}, {8, 8}, {1}, {7, 7}},
      {"a prefill takes what is left of the budget", {{0, 20, 0, 0}}, {8, 8}, {8}, {0, 6}},
      {"decodes come first, wherever they stand",
       {{0, 20, 0, 0}, {4, 5, 2, 0}},
       {8, 8},
       {7, 1},
       {0, 6}},
      {"the first prefill is served first", {{0, 6, 0, 0}, {0, 20, 0, 0}}, {8, 8}, {6, 2}, {0, 5}},
      {"a budget smaller than the decodes serves the first ones",
       {{4, 5, 2, 0}, {6, 7, 2, 0}},
       {1, 8},
       {1, 0},
       {0, 8}},
      {"a prefill is cut to the blocks that there are", {{0, 20, 0, 0}}, {16, 2}, {8}, {8, 0}},
      {"a prefill without a block waits while a decode gets on",
       {{4, 5, 2, 0}, {4, 20, 1, 0}},
       {8, 0},
       {1, 0},
       {7, 0}},
      {"room in the last held block is used without a new one",
       {{5, 20, 2, 0}},
       {8, 0},
       {3},
       {5, 0}},
  };
  for (const Case& c : cases) {
    const RunningPlan plan = plan_running(c.running, c.room, kBlock);
    EXPECT_FALSE(plan.victim.has_value()) << c.name;
    EXPECT_EQ(plan.tokens, c.tokens) << c.name;
    EXPECT_EQ(plan.left.tokens, c.left.tokens) << c.name;
    EXPECT_EQ(plan.left.blocks, c.left.blocks) << c.name;
  }
}

TEST(PlanRunning, NamesTheLeastComputedAsVictimByTheTable) {
  struct Case {
    const char* name;
    std::vector<RunningCounts> running;
    std::size_t victim;
  };
  const Case cases[] = {
      {"the one with the least work, not the one that asks",
       {{8, 9, 2, 0}, {6, 7, 2, 0}, {12, 13, 4, 0}},
       1},
      {"itself, when it has the least work", {{8, 9, 3, 0}, {4, 5, 1, 0}}, 1},
      {"the later one of equals", {{4, 5, 1, 0}, {4, 5, 1, 0}}, 1},
      {"a prefill that has hardly begun", {{8, 9, 2, 0}, {4, 40, 1, 0}}, 1},
      {"one of two prefills that block each other", {{4, 40, 1, 0}, {8, 40, 2, 0}}, 0},
  };
  for (const Case& c : cases) {
    const RunningPlan plan = plan_running(c.running, {8, 0}, kBlock);
    ASSERT_TRUE(plan.victim.has_value()) << c.name;
    EXPECT_EQ(*plan.victim, c.victim) << c.name;
  }
}

TEST(PlanRunning, PromisesWhatGrantedPrefillsStillNeed) {
  const std::vector<RunningCounts> running = {{0, 20, 0, 0}, {4, 5, 1, 0}};
  EXPECT_EQ(plan_running(running, {9, 8}, kBlock).blocks_promised, 3);
}

TEST(PlanRunningDeathTest, AloneNobodyCanBeAVictim) {
  const std::vector<RunningCounts> running = {{4, 5, 1, 0}};
  EXPECT_DEATH(plan_running(running, {8, 0}, kBlock), "alone fits");
}

TEST(PlanWaiting, StartsOrWaitsByTheTable) {
  struct Case {
    const char* name;
    WaitingCounts waiting;
    StepRoom room;
    std::int32_t promised;
    std::int32_t running;
    std::int32_t tokens;
  };
  const Case cases[] = {
      {"fits whole", {.wanted = 8}, {16, 8}, 0, 0, 8},
      {"fits by chunks", {.wanted = 20}, {16, 8}, 0, 0, 16},
      {"alone it needs no headroom", {.wanted = 8}, {16, 2}, 0, 0, 8},
      {"no budget is left", {.wanted = 8}, {0, 8}, 0, 0, 0},
      {"its whole prompt must fit, not its first chunk", {.wanted = 20}, {4, 4}, 0, 0, 0},
      {"beside others it leaves a block for each", {.wanted = 8}, {16, 4}, 0, 3, 0},
      {"and starts when there is one for each", {.wanted = 8}, {16, 5}, 0, 3, 8},
      {"a resume leaves two for each", {.wanted = 8, .resumes = true}, {16, 7}, 0, 3, 0},
      {"and resumes when there are", {.wanted = 8, .resumes = true}, {16, 8}, 0, 3, 8},
      {"what running prefills still need is not there", {.wanted = 8}, {16, 5}, 1, 3, 0},
      {"a hit that others hold costs nothing",
       {.wanted = 10, .hit_tokens = 8, .hit_blocks = 2},
       {16, 1},
       0,
       0,
       2},
      {"an idle hit leaves the free list",
       {.wanted = 10, .hit_tokens = 8, .hit_blocks = 2, .hit_taken = 2},
       {16, 2},
       0,
       0,
       0},
      {"a full hit computes one token in a copy",
       {.wanted = 8, .hit_tokens = 7, .hit_blocks = 2, .hit_taken = 3},
       {16, 3},
       0,
       0,
       1},
      {"and waits without room for the copy",
       {.wanted = 8, .hit_tokens = 7, .hit_blocks = 2, .hit_taken = 3},
       {16, 2},
       0,
       0,
       0},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(plan_waiting(c.waiting, c.room, c.promised, c.running, kBlock), c.tokens) << c.name;
  }
}

}  // namespace
}  // namespace kantha::sched

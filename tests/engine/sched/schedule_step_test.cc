#include "engine/sched/schedule_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace kantha::sched {
namespace {

constexpr BlockShape kShape{.tokens = 4, .groups = 1};

RunningCounts counts(std::int32_t computed, std::int32_t wanted, std::int32_t rows,
                     std::int32_t copies = 0) {
  return {.computed = computed, .wanted = wanted, .rows = rows, .copies = copies};
}

TEST(TokensThatFit, ByBudgetAndBlocks) {
  struct Case {
    const char* name;
    RunningCounts counts;
    StepRoom room;
    BlockShape shape;
    std::int32_t tokens;
    std::int32_t taken;
  };
  const Case cases[] = {
      {"a decode inside a block", counts(6, 7, 2), {8, 0}, kShape, 1, 0},
      {"a decode at a block's end takes a block", counts(4, 5, 1), {8, 8}, kShape, 1, 1},
      {"and does not fit without", counts(4, 5, 1), {8, 0}, kShape, 0, 0},
      {"a copy takes a block as well", counts(3, 4, 1, 1), {8, 8}, kShape, 1, 1},
      {"and does not fit without one", counts(3, 4, 1, 1), {8, 0}, kShape, 0, 0},
      {"a prefill takes the budget", counts(0, 20, 0), {8, 8}, kShape, 8, 2},
      {"or what it misses", counts(0, 6, 0), {8, 8}, kShape, 6, 2},
      {"or as many blocks as there are", counts(0, 20, 0), {16, 2}, kShape, 8, 2},
      {"room in the last held block is used without a new one",
       counts(5, 20, 2),
       {8, 0},
       kShape,
       3,
       0},
      {"a row is a block for each group", counts(0, 20, 0), {16, 5}, {4, 2}, 8, 4},
      {"copies of every group", counts(3, 20, 1, 2), {16, 4}, {4, 2}, 5, 4},
      {"no budget", counts(0, 20, 0), {0, 8}, kShape, 0, 0},
  };
  for (const Case& c : cases) {
    const std::int32_t tokens = tokens_that_fit(c.counts, c.room, c.shape);
    EXPECT_EQ(tokens, c.tokens) << c.name;
    if (tokens > 0) {
      EXPECT_EQ(blocks_taken(c.counts, tokens, c.shape), c.taken) << c.name;
    }
  }
}

TEST(PlanDecodes, ServesAllThatFit) {
  std::vector<std::size_t> served;
  const std::vector<RunningCounts> running = {counts(0, 20, 0), counts(4, 5, 1), counts(6, 7, 2)};
  EXPECT_TRUE(plan_decodes(running, {8, 1}, kShape, served));
  EXPECT_EQ(served, (std::vector<std::size_t>{1, 2}));
  EXPECT_FALSE(plan_decodes(running, {8, 0}, kShape, served)) << "one has no block";
  EXPECT_TRUE(plan_decodes({}, {8, 0}, kShape, served));
  EXPECT_TRUE(served.empty());
}

TEST(PlanDecodes, ABudgetSmallerThanTheDecodesGoesRound) {
  std::vector<RunningCounts> running(7, counts(6, 7, 2));
  std::vector<int> turns(7, 0);
  std::vector<std::size_t> served;
  std::uint64_t turn = 0;
  for (int step = 1; step <= 70; ++step) {
    ASSERT_TRUE(plan_decodes(running, {3, 8}, kShape, served));
    ASSERT_EQ(served.size(), 3U);
    for (const std::size_t i : served) {
      running[i].turn = ++turn;
      ++turns[i];
    }
    const auto [least, most] = std::minmax_element(turns.begin(), turns.end());
    ASSERT_LE(*most - *least, 1) << "step " << step;
  }
}

TEST(ChooseVictim, ByTheTable) {
  const auto with = [](RunningCounts c, std::int32_t priority, bool batch) {
    c.priority = priority;
    c.batch = batch;
    return c;
  };
  struct Case {
    const char* name;
    std::vector<RunningCounts> running;
    std::size_t least_computed;
    std::size_t newest;
  };
  const Case cases[] = {
      {"the one with the least work", {counts(8, 9, 2), counts(6, 7, 2), counts(12, 13, 4)}, 1, 2},
      {"the later one of equals", {counts(4, 5, 1), counts(4, 5, 1)}, 1, 1},
      {"a prefill that has hardly begun", {counts(4, 40, 1), counts(8, 9, 2)}, 0, 1},
      {"batch work before interactive",
       {with(counts(8, 9, 2), 0, true), with(counts(4, 5, 1), 0, false)},
       0,
       0},
      {"a worse priority before anything else",
       {with(counts(8, 9, 2), 1, false), with(counts(4, 5, 1), 0, true)},
       0,
       0},
      {"the best of all priorities never before another",
       {with(counts(8, 9, 2), 0, false),
        with(counts(4, 5, 1), std::numeric_limits<std::int32_t>::min(), false)},
       0,
       0},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(choose_victim(c.running, VictimRule::kLeastComputed), c.least_computed) << c.name;
    EXPECT_EQ(choose_victim(c.running, VictimRule::kNewest), c.newest) << c.name;
  }
}

TEST(ChooseVictimDeathTest, AloneNobodyCanBeAVictim) {
  const std::vector<RunningCounts> running = {counts(4, 5, 1)};
  EXPECT_DEATH(choose_victim(running, VictimRule::kLeastComputed), "alone fits");
}

TEST(OrderPrefills, TheShortestFirstWithinAPriorityAndAQuarterForTheOldest) {
  std::vector<RunningCounts> running = {counts(0, 600, 0), counts(6, 7, 2), counts(0, 30, 0),
                                        counts(590, 600, 40)};
  std::vector<std::size_t> order;
  order_prefills(running, order);
  EXPECT_EQ(order, (std::vector<std::size_t>{3, 2, 0}));
  EXPECT_EQ(share_of_oldest(running, 64).index, 0U);
  EXPECT_EQ(share_of_oldest(running, 64).tokens, 16);
  EXPECT_EQ(share_of_oldest(running, 1).tokens, 1);
  EXPECT_EQ(share_of_oldest(running, 0).tokens, 0);
  running[2].priority = -1;
  order_prefills(running, order);
  EXPECT_EQ(order, (std::vector<std::size_t>{2, 3, 0}));
  EXPECT_EQ(share_of_oldest(running, 400).index, 2U);
  EXPECT_EQ(share_of_oldest(running, 400).tokens, 30) << "no more than it misses";
  running.resize(2);
  running[0] = counts(6, 7, 2);
  EXPECT_FALSE(share_of_oldest(running, 64).index) << "nobody prefills";
}

TEST(PlanWaiting, StartsOrWaitsByTheTable) {
  struct Case {
    const char* name;
    WaitingCounts waiting;
    StepRoom room;
    std::int32_t running;
    std::int32_t tokens;
  };
  const Case cases[] = {
      {"fits whole", {.wanted = 8, .needed = 2}, {16, 8}, 0, 8},
      {"fits by chunks", {.wanted = 20, .needed = 5}, {16, 8}, 0, 16},
      {"exactly", {.wanted = 8, .needed = 2}, {16, 2}, 0, 8},
      {"no budget is left", {.wanted = 8, .needed = 2}, {0, 8}, 0, 0},
      {"its whole prompt must fit, not its first chunk", {.wanted = 20, .needed = 5}, {4, 4}, 0, 0},
      {"beside others it leaves their headroom", {.wanted = 8, .needed = 2}, {16, 4}, 3, 0},
      {"and starts when that is there", {.wanted = 8, .needed = 2}, {16, 5}, 3, 8},
      {"a resume leaves twice that", {.wanted = 8, .needed = 2, .resumes = true}, {16, 7}, 3, 0},
      {"and resumes when there is", {.wanted = 8, .needed = 2, .resumes = true}, {16, 8}, 3, 8},
      {"running prefills may need more than there is", {.wanted = 8, .needed = 2}, {16, -3}, 0, 0},
      {"what is known is not computed", {.wanted = 10, .known = 8, .needed = 1}, {16, 1}, 0, 2},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(plan_waiting(c.waiting, c.room, c.running, kShape), c.tokens) << c.name;
  }
}

}  // namespace
}  // namespace kantha::sched

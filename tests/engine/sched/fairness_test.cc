#include <map>
#include <random>

#include "tests/engine/sched/scheduler_fixture.h"

/// Who gets the engine: tenants, classes, priorities, long prompts beside short ones, deadlines.
namespace kantha::sched {
namespace {

class FairnessTest : public SchedulerTest {
 protected:
  void add_for(const std::string& tenant, std::uint64_t id, std::int32_t prompt,
               std::int32_t max_tokens, SloClass slo = SloClass::kInteractive,
               std::int32_t priority = 0) {
    GenerateSpec spec = request(id, prompt, max_tokens);
    spec.tenant = tenant;
    spec.slo = slo;
    spec.priority = priority;
    tenants_[id] = tenant;
    add(std::move(spec));
  }
  /// One step; counts the tokens that each tenant's requests got.
  void count_step() {
    std::string text = step();
    for (std::size_t at = 0; at < text.size();) {
      std::size_t colon = text.find(':', at);
      std::size_t end = std::min(text.find(' ', colon), text.size());
      served_[tenants_[std::stoull(text.substr(at, colon - at))]] +=
          std::stoll(text.substr(colon + 1, end - colon - 1));
      at = end + 1;
    }
  }

  std::map<std::uint64_t, std::string> tenants_;
  std::map<std::string, std::int64_t> served_;
};

TEST_F(FairnessTest, TwoTenantsThatAlwaysWaitGetEqualTokens) {
  make(4000, options(/*sequences_max=*/4, 32));
  std::uint64_t id = 1;
  // One asks for long prompts with short answers, the other the other way round.
  for (int i = 0; i < 400; ++i) {
    add_for("reader", id++, 200, 2);
    add_for("writer", id++, 10, 100);
  }
  for (int i = 0; i < 2000; ++i) count_step();
  // What still runs was paid for at its start: 4 slots of at most 202 tokens.
  EXPECT_NEAR(static_cast<double>(served_["reader"]), static_cast<double>(served_["writer"]),
              4 * 202);
  EXPECT_GT(served_["reader"], 3000);
}

TEST_F(FairnessTest, AThousandRequestsOfOneTenantDelayAnothersFirstByASlot) {
  make(4000, options(2, 32));
  std::uint64_t id = 1;
  for (int i = 0; i < 1000; ++i) add_for("flood", id++, 20, 10);
  for (int i = 0; i < 100; ++i) step();
  add_for("quiet", 5000, 20, 10);
  int steps = 0;
  while (!finished(5000) && steps < 1000) {
    step();
    ++steps;
  }
  EXPECT_LE(steps, 10 + 2 + 10) << "the next slot is its own";
}

TEST_F(FairnessTest, BatchWorkGetsItsThirteenth) {
  make(4000, options(4, 64));
  std::uint64_t id = 1;
  for (int i = 0; i < 1000; ++i) {
    add_for("person", id++, 30, 10, SloClass::kInteractive);
    add_for("agent", id++, 30, 10, SloClass::kAgent);
    add_for("batch", id++, 30, 10, SloClass::kBatch);
  }
  for (int i = 0; i < 1600; ++i) count_step();
  const auto all = static_cast<double>(served_["person"] + served_["agent"] + served_["batch"]);
  EXPECT_NEAR(static_cast<double>(served_["person"]) / all, 8.0 / 13, 0.01);
  EXPECT_NEAR(static_cast<double>(served_["agent"]) / all, 4.0 / 13, 0.01);
  EXPECT_NEAR(static_cast<double>(served_["batch"]) / all, 1.0 / 13, 0.01);
}

TEST_F(FairnessTest, ABetterPriorityStartsFirstAndTakesThePromptBudget) {
  make(400, options(8, 8));
  add_for("a", 1, 100, 2, SloClass::kInteractive, /*priority=*/1);
  EXPECT_EQ(step(), "1:8");
  add_for("a", 2, 12, 2, SloClass::kInteractive, 1);
  add_for("b", 3, 20, 2, SloClass::kInteractive, 0);
  EXPECT_EQ(step(), "1:2 3:6") << "3 is new; a quarter is 1's, the oldest that ran before";
  EXPECT_EQ(step(), "3:8");
  EXPECT_EQ(step(), "3:6 2:2") << "what 3 leaves goes on to the next band";
}

TEST_F(FairnessTest, ALongPromptAndAStreamOfShortOnesBothGetOn) {
  make(4000, options(64, 64), true, 16);
  add_for("long", 1, 6000, 4);
  step();
  int longest = 0;
  std::map<std::uint64_t, int> waiting_since;
  std::uint64_t next = 10;
  int steps = 1;
  for (; !finished(1) && steps < 2000; ++steps) {
    if (steps % 2 == 0) {
      waiting_since[next] = steps;
      add_for("short", next++, 50, 4);
    }
    step();
    for (const auto& [id, since] : waiting_since) {
      if (finished(id)) longest = std::max(longest, steps - since);
    }
    std::erase_if(waiting_since, [this](const auto& entry) { return finished(entry.first); });
  }
  EXPECT_LE(longest, 8) << "a short one takes two steps of prompt and three of output";
  EXPECT_TRUE(finished(1));
  EXPECT_LE(steps, 6000 / 16 + 10) << "a quarter of every step is the long one's";
}

TEST_F(FairnessTest, ALongPromptDoesNotStarveTheMiddleOnes) {
  make(4000, options(64, 64), true, 16);
  add_for("a", 1, 3000, 1);
  step();
  add_for("b", 2, 1500, 1);
  // More short ones than there is budget for.
  int steps = 0;
  for (std::uint64_t id = 10; !finished(2) && steps < 3000; ++id, ++steps) {
    if (steps % 4 != 3) add_for("c", id, 60, 1);
    step();
  }
  EXPECT_LE(steps, (3000 + 1500) / 16 + 20) << "it becomes the oldest in its turn";
}

TEST_F(FairnessTest, ABudgetSmallerThanTheDecodesGoesRound) {
  make(4000, options(16, 64));
  for (std::uint64_t id = 1; id <= 9; ++id) add_for("a", id, 3, 200);
  step();
  budget_ = 4;
  for (int i = 0; i < 90; ++i) count_step();
  std::map<std::uint64_t, int> tokens;
  for (const TokenEvent& event : log_->events()) tokens[event.id.value] += 1;
  for (std::uint64_t id = 1; id <= 9; ++id) EXPECT_EQ(tokens[id], 1 + 90 * 4 / 9) << id;
}

TEST_F(FairnessTest, ADeadlineEndsARequestWhereverItIs) {
  make(64, options(1, 64));
  const auto with_deadline = [&](std::uint64_t id, int seconds) {
    GenerateSpec spec = request(id, 4, 100);
    spec.deadline = TimePoint{} + std::chrono::seconds(seconds);
    add(std::move(spec));
  };
  with_deadline(1, 5);
  with_deadline(2, 2);
  with_deadline(3, 60);
  step();
  now_ += std::chrono::seconds(1);
  step();
  EXPECT_TRUE(finished_.empty());
  now_ += std::chrono::seconds(1);
  step();
  EXPECT_EQ(finished_, (std::vector<std::uint64_t>{2})) << "while it waits";
  now_ += std::chrono::seconds(3);
  EXPECT_EQ(step(), "3:4") << "its slot is free in the same step";
  EXPECT_EQ(finished_, (std::vector<std::uint64_t>{2, 1})) << "while it runs";
  const TokenEvent* end = nullptr;
  for (const TokenEvent& event : log_->events()) {
    if (event.id.value == 1) end = &event;
  }
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->finish, FinishReason::kDeadline);
  EXPECT_FALSE(end->token.has_value());
  EXPECT_EQ(end->output_tokens, 3);
  EXPECT_EQ(counters().finished[static_cast<int>(FinishReason::kDeadline)], 2);
  now_ += std::chrono::hours(1);
  EXPECT_EQ(step(), "");
  EXPECT_TRUE(scheduler_->empty());
}

}  // namespace
}  // namespace kantha::sched

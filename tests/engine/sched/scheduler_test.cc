#include "engine/sched/scheduler.h"

#include <gtest/gtest.h>

#include "base/log.h"

namespace kantha::sched {
namespace {

class NullSink final : public EventSink {
 public:
  void on_events(std::vector<TokenEvent>) override {}
};

/// A scheduler whose device answers every sample with token 1.
class SchedulerTest : public testing::Test {
 protected:
  SchedulerTest() { set_log_level(LogLevel::kError); }

  void make(std::int32_t blocks, SchedulerOptions options, bool prefix_caching = true) {
    kv_ = std::make_unique<cache::KvCache>(cache::KvCacheOptions{
        .block_count = blocks, .block_size = 4, .prefix_caching = prefix_caching});
    scheduler_ = std::make_unique<Scheduler>(std::move(options), *kv_);
  }
  void TearDown() override {
    scheduler_->abort_all();
    EXPECT_EQ(kv_->active(), 0);
  }
  void add(std::uint64_t id, std::int32_t prompt, std::int32_t max_tokens) {
    GenerateSpec spec;
    spec.id = {id};
    for (std::int32_t i = 0; i < prompt; ++i) {
      spec.prompt.push_back(static_cast<TokenId>(id) * 100 + i);
    }
    spec.max_tokens = max_tokens;
    scheduler_->add(std::move(spec), std::make_shared<NullSink>());
  }
  /// One step as "id:tokens" in batch order.
  std::string step() {
    std::string text;
    std::vector<SampledToken> sampled;
    for (const Grant& grant : scheduler_->schedule({}).grants) {
      text += (text.empty() ? "" : " ") + std::to_string(grant.sequence->spec.id.value) + ":" +
              std::to_string(grant.tokens);
      if (grant.samples()) sampled.push_back({.token = 1});
    }
    scheduler_->commit(sampled);
    const Status whole = scheduler_->check_integrity();
    EXPECT_TRUE(whole.ok()) << whole.error().message;
    return text;
  }

  std::unique_ptr<cache::KvCache> kv_;
  std::unique_ptr<Scheduler> scheduler_;
};

SchedulerOptions options(std::int32_t sequences_max, std::int32_t step_tokens_max) {
  return {.context_max = 100, .sequences_max = sequences_max, .step_tokens_max = step_tokens_max};
}

TEST_F(SchedulerTest, DecodesThenRunningPrefillsThenArrivals) {
  make(64, options(8, 8));
  add(1, 3, 10);
  add(2, 12, 10);
  add(3, 2, 10);
  EXPECT_EQ(step(), "1:3 2:5");
  EXPECT_EQ(step(), "1:1 2:7");
  EXPECT_EQ(step(), "1:1 2:1 3:2");
  EXPECT_EQ(step(), "1:1 2:1 3:1");
}

TEST_F(SchedulerTest, NoMoreThanSequencesMaxRun) {
  make(64, options(2, 16));
  for (std::uint64_t id = 1; id <= 3; ++id) add(id, 2, 2);
  EXPECT_EQ(step(), "1:2 2:2");
  EXPECT_EQ(scheduler_->waiting_count(), 1);
  EXPECT_EQ(step(), "1:1 2:1");
  EXPECT_EQ(step(), "3:2") << "the others have their two tokens";
}

TEST_F(SchedulerTest, NobodyOvertakesTheHeadOfTheLine) {
  make(6, options(8, 64));
  add(1, 12, 8);
  EXPECT_EQ(step(), "1:12");
  add(2, 12, 4);  // needs 3 blocks of the 3 that are left, and headroom
  add(3, 2, 2);
  EXPECT_EQ(step(), "1:1");
  EXPECT_EQ(scheduler_->waiting_count(), 2);
}

TEST_F(SchedulerTest, AVictimReturnsToItsPlaceAndNothingStartsInThatStep) {
  make(6, options(8, 64), /*prefix_caching=*/false);
  add(1, 8, 16);
  add(2, 7, 16);
  EXPECT_EQ(step(), "1:8 2:7");  // 4 blocks
  for (int i = 0; i < 4; ++i) EXPECT_EQ(step(), "1:1 2:1");
  EXPECT_EQ(kv_->idle(), 0);  // 12 and 11 tokens
  add(3, 1, 1);
  EXPECT_EQ(step(), "1:1") << "2 gave way and 3 has to wait";
  EXPECT_EQ(scheduler_->counters().preemptions, 1);
  EXPECT_EQ(scheduler_->waiting_tokens(), 12 + 1);
  // 2 needs 3 blocks and 2 of headroom; 1 holds 4 until it is done.
  int steps = 0;
  while (scheduler_->running_count() == 1 && steps < 50) {
    EXPECT_EQ(step().substr(0, 2), "1:");
    ++steps;
  }
  EXPECT_EQ(steps, 10);
  EXPECT_EQ(step(), "2:12 3:1");
  EXPECT_EQ(scheduler_->counters().recomputed_tokens, 11);
}

TEST_F(SchedulerTest, AResumeFindsItsOwnBlocksAgain) {
  make(6, options(8, 64));
  add(1, 12, 6);
  add(2, 8, 16);
  EXPECT_EQ(step(), "1:12 2:8");
  EXPECT_EQ(step(), "1:1") << "2 gave up 2 full blocks, of which 1 will take the tail";
  while (scheduler_->running_count() > 0 && scheduler_->waiting_count() > 0) step();
  EXPECT_EQ(step(), "2:5") << "the first 4 of 9 tokens were still cached";
  EXPECT_EQ(scheduler_->counters().preemptions, 1);
  EXPECT_EQ(scheduler_->counters().recomputed_tokens, 4);
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
  EXPECT_EQ(scheduler_->take_events().size(), 3U) << "1's first token and two ends";
}

}  // namespace
}  // namespace kantha::sched

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/exec/loop_bench.h"

/// What an engine does before it is ready.
namespace kantha::exec {
namespace {

/// Moves on by 1 ms at every look.
class TickingClock final : public Clock {
 public:
  TimePoint now() const override { return now_ += std::chrono::milliseconds(1); }
  WallTime wall_now() const override { return {}; }

 private:
  mutable TimePoint now_{};
};

/// Remembers the rows of every step.
class CountingForward final : public Forward {
 public:
  CountingForward(fake::FakeForwardOptions options, std::vector<std::size_t>& steps)
      : fake_(std::move(options)), steps_(steps) {}
  void run(const Batch& batch, std::span<float> logits) override {
    steps_.push_back(batch.token_ids.size());
    fake_.run(batch, logits);
  }
  void copy_block(BlockId from, BlockId to) override { fake_.copy_block(from, to); }
  std::int32_t vocabulary_size() const override { return fake_.vocabulary_size(); }
  std::int32_t rows_max() const override { return fake_.rows_max(); }
  std::int32_t logit_rows_max() const override { return fake_.logit_rows_max(); }

 private:
  fake::FakeForward fake_;
  std::vector<std::size_t>& steps_;
};

struct WarmLoop {
  explicit WarmLoop(const EngineOptions& options)
      : inbox(limits_of(options, kVocabulary)),
        loop(std::make_unique<CountingForward>(
                 fake::FakeForwardOptions{.kv = options.kv,
                                          .vocabulary = kVocabulary,
                                          .rows_max = options.step_tokens_max},
                 steps),
             options, clock, inbox) {}

  TickingClock clock;
  std::vector<std::size_t> steps;
  gateway::Inbox inbox;
  EngineLoop loop;
};

TEST(WarmUp, RunsAPrefillAndADecodeAndLeavesNoTrace) {
  WarmLoop warm(small_options(/*blocks=*/16, /*block_size=*/4));
  warm.loop.warm_up();
  EXPECT_EQ(warm.steps, (std::vector<std::size_t>{2, 16, 1}));
  const gateway::EngineStats stats = warm.inbox.stats();
  EXPECT_EQ(stats.steps_total, 0);
  EXPECT_EQ(stats.last_step, TimePoint{});
  EXPECT_EQ(stats.blocks_free, 16) << "nothing held, nothing cached";
  EXPECT_EQ(stats.prompt_tokens_total + stats.generation_tokens_total, 0);
  EXPECT_EQ(std::ranges::count(stats.finished_total, 0), sched::kFinishReasonCount);
  EXPECT_EQ(stats.step_seconds_total, 0);
  EXPECT_GT(stats.decode_step_seconds, 0) << "the budget has a first idea";
  EXPECT_TRUE(warm.loop.idle());
}

TEST(WarmUp, ChangesNoToken) {
  const EngineOptions options = small_options(/*blocks=*/16, /*block_size=*/4);
  const auto tokens = [&](bool warms) {
    WarmLoop warm(options);
    if (warms) warm.loop.warm_up();
    const auto recorder = std::make_shared<fake::EventRecorder>();
    sched::GenerateSpec spec;
    spec.id = {1};
    // Begins as the warm-up's own prompt does, of which nothing may be found.
    for (TokenId token = 0; token < 20; ++token) spec.prompt.push_back(token);
    spec.max_tokens = 20;
    spec.ignore_eos = true;
    EXPECT_TRUE(warm.inbox.submit(std::move(spec), recorder).ok());
    while (warm.loop.turn(Duration::zero()) && !warm.loop.idle()) {
    }
    EXPECT_EQ(recorder->of({1}).events.at(0).cached_tokens, 0);
    return recorder->of({1}).tokens;
  };
  EXPECT_EQ(tokens(true), tokens(false));
}

TEST(WarmUp, FitsTheSmallestEngine) {
  EngineOptions options = small_options(/*blocks=*/2, /*block_size=*/1);
  options.context_max = 2;
  options.step_tokens_max = 1;
  options.sequences_max = 1;
  WarmLoop warm(options);
  warm.loop.warm_up();
  EXPECT_EQ(warm.steps, (std::vector<std::size_t>{1, 1})) << "the window ends it after a token";
}

}  // namespace
}  // namespace kantha::exec

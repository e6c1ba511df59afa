#include <gtest/gtest.h>

#include <limits>

#include "tests/engine/exec/loop_bench.h"

namespace kantha::exec {
namespace {

sched::GenerateSpec greedy(std::uint64_t id, std::vector<TokenId> prompt, std::int32_t max_tokens) {
  sched::GenerateSpec spec;
  spec.id = {id};
  spec.prompt = std::move(prompt);
  spec.sampling.temperature = 0;
  spec.max_tokens = max_tokens;
  return spec;
}

TEST(EngineLoop, AnEndTokenStopsAndItsIdIsInTheEvent) {
  LoopBench bench(small_options(32, 4), fake::parrot(3, {5, 6, kEnd}));
  ASSERT_TRUE(bench.submit(greedy(1, {1, 2, 3}, 20)).ok());
  ASSERT_TRUE(bench.drain());
  const fake::Received got = bench.of({1});
  EXPECT_EQ(got.tokens, (std::vector<TokenId>{5, 6, kEnd}));
  EXPECT_EQ(got.finish, sched::FinishReason::kStop);
  EXPECT_EQ(got.events.back().token, kEnd);
  EXPECT_EQ(got.events.back().prompt_tokens, 3);
  EXPECT_EQ(got.events.back().output_tokens, 3);
}

TEST(EngineLoop, IgnoreEosRunsToMaxTokensButStopIdsStillStop) {
  LoopBench bench(small_options(32, 4), fake::parrot(2, {kEnd, 9, 4}));
  sched::GenerateSpec spec = greedy(1, {1, 2}, 5);
  spec.ignore_eos = true;
  ASSERT_TRUE(bench.submit(spec).ok());
  spec.id = {2};
  spec.stop_token_ids = {4};
  ASSERT_TRUE(bench.submit(spec).ok());
  ASSERT_TRUE(bench.drain());
  EXPECT_EQ(bench.of({1}).tokens, (std::vector<TokenId>{kEnd, 9, 4, kEnd, 9}));
  EXPECT_EQ(bench.of({1}).finish, sched::FinishReason::kLength);
  EXPECT_EQ(bench.of({2}).tokens, (std::vector<TokenId>{kEnd, 9, 4}));
  EXPECT_EQ(bench.of({2}).finish, sched::FinishReason::kStop);
}

TEST(EngineLoop, EndTokensAreMaskedUntilMinTokensAreOut) {
  LoopBench bench(small_options(32, 4), fake::parrot(2, {kEnd}));
  sched::GenerateSpec spec = greedy(1, {1, 2}, 10);
  spec.min_tokens = 4;
  ASSERT_TRUE(bench.submit(spec).ok());
  ASSERT_TRUE(bench.drain());
  const fake::Received got = bench.of({1});
  ASSERT_EQ(got.tokens.size(), 5U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NE(got.tokens[i], kEnd);
  EXPECT_EQ(got.tokens.back(), kEnd);
}

TEST(EngineLoop, TheWindowEndsARequestWithLength) {
  EngineOptions options = small_options(32, 4);
  options.context_max = 8;
  LoopBench bench(options, fake::parrot(3, {7}));
  ASSERT_TRUE(bench.submit(greedy(1, {1, 2, 3}, 100)).ok());
  ASSERT_TRUE(bench.drain());
  EXPECT_EQ(bench.of({1}).tokens.size(), 5U);
  EXPECT_EQ(bench.of({1}).finish, sched::FinishReason::kLength);
}

TEST(EngineLoop, ResumedTokensCountAndACompleteResumeEndsAtOnce) {
  LoopBench bench(small_options(32, 4), fake::parrot(2, {5, 6, 7, 8}));
  sched::GenerateSpec spec = greedy(1, {1, 2}, 4);
  spec.resumed = {5, 6};
  ASSERT_TRUE(bench.submit(spec).ok());
  spec.id = {2};
  spec.resumed = {5, 6, 7, 8};
  ASSERT_TRUE(bench.submit(spec).ok());
  spec.id = {3};
  spec.resumed = {5, kEnd};
  ASSERT_TRUE(bench.submit(spec).ok());
  ASSERT_TRUE(bench.drain());
  EXPECT_EQ(bench.of({1}).tokens, (std::vector<TokenId>{7, 8}));
  EXPECT_EQ(bench.of({1}).events.back().output_tokens, 4);
  EXPECT_TRUE(bench.of({2}).tokens.empty());
  EXPECT_EQ(bench.of({2}).finish, sched::FinishReason::kLength);
  EXPECT_EQ(bench.of({3}).finish, sched::FinishReason::kStop);
  EXPECT_EQ(bench.stats().waiting_tokens, 0);
}

TEST(EngineLoop, ARepeatedPromptIsFoundInTheCacheUpToItsLastToken) {
  LoopBench bench(small_options(64, 4));
  std::vector<TokenId> prompt;
  for (TokenId i = 1; i <= 16; ++i) prompt.push_back(i);
  ASSERT_TRUE(bench.submit(greedy(1, prompt, 3)).ok());
  ASSERT_TRUE(bench.drain());
  EXPECT_EQ(bench.of({1}).events[0].cached_tokens, 0);
  ASSERT_TRUE(bench.submit(greedy(2, prompt, 3)).ok());
  ASSERT_TRUE(bench.submit(greedy(3, prompt, 3)).ok());
  ASSERT_TRUE(bench.drain());
  EXPECT_EQ(bench.of({2}).events[0].cached_tokens, 15);
  EXPECT_EQ(bench.of({2}).tokens, bench.of({1}).tokens);
  EXPECT_EQ(bench.of({3}).tokens, bench.of({1}).tokens);
  EXPECT_EQ(bench.stats().prefix_queries_total, 48);
  EXPECT_EQ(bench.stats().prefix_hits_total, 30);
  EXPECT_EQ(bench.stats().prompt_tokens_total, 48);
}

TEST(EngineLoop, WithoutPrefixCachingNothingIsKept) {
  EngineOptions options = small_options(64, 4);
  options.prefix_caching = false;
  LoopBench bench(options);
  for (std::uint64_t id = 1; id <= 2; ++id) {
    ASSERT_TRUE(bench.submit(greedy(id, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 3)).ok());
    ASSERT_TRUE(bench.drain());
  }
  EXPECT_EQ(bench.stats().blocks_cached, 0);
  EXPECT_EQ(bench.stats().blocks_free, 64);
  EXPECT_EQ(bench.stats().prefix_queries_total, 0);
}

TEST(EngineLoop, AFullHitOnAPoolThatIsJustLargeEnoughStillRuns) {
  // 8 tokens of context in 2 blocks of 4: there is no third block for a copy.
  EngineOptions options = small_options(2, 4);
  options.context_max = 8;
  LoopBench bench(options, fake::parrot(4, {7}));
  for (std::uint64_t id = 1; id <= 3; ++id) {
    ASSERT_TRUE(bench.submit(greedy(id, {1, 2, 3, 4}, 4)).ok());
    ASSERT_TRUE(bench.drain());
    EXPECT_EQ(bench.of({id}).tokens, (std::vector<TokenId>{7, 7, 7, 7}));
  }
  EXPECT_EQ(bench.stats().preemptions_total, 0);
}

TEST(EngineLoop, AnAbortTakesEffectWithinOneStepAndReturnsTheBlocks) {
  LoopBench bench(small_options(32, 4));
  sched::GenerateSpec spec = greedy(1, {1, 2, 3, 4, 5}, 100);
  spec.ignore_eos = true;
  ASSERT_TRUE(bench.submit(spec).ok());
  for (int i = 0; i < 5; ++i) bench.turn();
  EXPECT_GT(bench.stats().blocks_active, 0);
  EXPECT_EQ(bench.stats().requests_running, 1);
  bench.abort({1});
  bench.abort({1});
  bench.abort({99});
  bench.turn();
  const gateway::EngineStats stats = bench.stats();
  EXPECT_EQ(stats.blocks_active, 0);
  EXPECT_EQ(stats.requests_running, 0);
  EXPECT_EQ(stats.finished_total[static_cast<int>(sched::FinishReason::kAbort)], 1);
  EXPECT_EQ(bench.of({1}).finish, sched::FinishReason::kAbort);
  EXPECT_EQ(bench.of({1}).events.back().output_tokens, 5);
}

TEST(EngineLoop, AnAbortOvertakesNothingAndReachesARequestStillInTheInbox) {
  LoopBench bench(small_options(32, 4));
  ASSERT_TRUE(bench.submit(greedy(1, {1, 2, 3}, 10)).ok());
  bench.abort({1});
  bench.turn();
  EXPECT_EQ(bench.of({1}).finish, sched::FinishReason::kAbort);
  EXPECT_TRUE(bench.of({1}).tokens.empty());
  EXPECT_EQ(bench.stats().requests_waiting, 0);
}

TEST(EngineLoop, OneStepSendsOneBatchOfEventsPerSink) {
  LoopBench bench(small_options(32, 4));
  for (std::uint64_t id = 1; id <= 4; ++id) {
    sched::GenerateSpec spec = greedy(id, {1, 2, static_cast<TokenId>(id)}, 6);
    spec.ignore_eos = true;
    ASSERT_TRUE(bench.submit(spec).ok());
  }
  ASSERT_TRUE(bench.drain());
  EXPECT_EQ(bench.recorder().calls(), 6U);
}

TEST(EngineLoop, StatsCountWhatWaitsFromSubmitOnAndReturnToZero) {
  EngineOptions options = small_options(32, 4);
  options.sequences_max = 1;
  LoopBench bench(options);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    ASSERT_TRUE(bench.submit(greedy(id, {1, 2, 3, 4, 5}, 4)).ok());
  }
  EXPECT_EQ(bench.stats().requests_waiting, 3);
  EXPECT_EQ(bench.stats().waiting_tokens, 15);
  EXPECT_DOUBLE_EQ(bench.stats().kv_pressure(), 15.0 / (32 * 4));
  bench.turn();
  EXPECT_EQ(bench.stats().requests_running, 1);
  EXPECT_EQ(bench.stats().requests_waiting, 2);
  EXPECT_EQ(bench.stats().waiting_tokens, 10);
  EXPECT_EQ(bench.stats().blocks_active, 2);
  ASSERT_TRUE(bench.drain());
  const gateway::EngineStats stats = bench.stats();
  EXPECT_EQ(stats.requests_running + stats.requests_waiting, 0);
  EXPECT_EQ(stats.waiting_tokens, 0);
  EXPECT_EQ(stats.blocks_active, 0);
  EXPECT_EQ(stats.blocks_active + stats.blocks_cached + stats.blocks_free, stats.blocks_total);
  EXPECT_DOUBLE_EQ(stats.kv_pressure(), 0);
}

TEST(EngineLoop, ClosingEndsEveryRequestWithAbort) {
  EngineOptions options = small_options(32, 4);
  options.sequences_max = 1;
  LoopBench bench(options);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    ASSERT_TRUE(bench.submit(greedy(id, {1, 2, 3}, 50)).ok());
    bench.turn();
  }
  ASSERT_TRUE(bench.submit(greedy(4, {1, 2, 3}, 50)).ok());
  bench.inbox().close();
  EXPECT_FALSE(bench.turn());
  for (std::uint64_t id = 1; id <= 4; ++id) {
    EXPECT_EQ(bench.of({id}).finish, sched::FinishReason::kAbort);
  }
  EXPECT_EQ(bench.submit(greedy(5, {1}, 1)).error().code, Code::kUnavailable);
}

/// Moves on by 1 ms at every look, so that laps can be counted.
class TickingClock final : public Clock {
 public:
  TimePoint now() const override { return now_ += std::chrono::milliseconds(1); }
  WallTime wall_now() const override { return {}; }

 private:
  mutable TimePoint now_{};
};

TEST(EngineLoop, EveryPartOfATurnIsTimedAndStepsAddUp) {
  const TickingClock clock;
  const EngineOptions options = small_options(32, 4);
  gateway::Inbox inbox(limits_of(options, kVocabulary));
  EngineLoop loop(std::make_unique<fake::FakeForward>(
                      fake::FakeForwardOptions{.kv = options.kv, .vocabulary = kVocabulary}),
                  options, clock, inbox);
  loop.turn(Duration::zero());
  EXPECT_EQ(loop.times().forward, Duration::zero());
  EXPECT_EQ(inbox.stats().step_seconds_total, 0) << "a turn without a step is none";
  const auto recorder = std::make_shared<fake::EventRecorder>();
  sched::GenerateSpec spec = greedy(1, {1, 2, 3}, 3);
  spec.ignore_eos = true;
  ASSERT_TRUE(inbox.submit(spec, recorder).ok());
  for (int i = 0; i < 3; ++i) {
    loop.turn(Duration::zero());
    const TurnTimes& times = loop.times();
    for (const Duration part : {times.accept, times.schedule, times.build, times.forward,
                                times.sample, times.commit, times.report}) {
      EXPECT_EQ(part, std::chrono::milliseconds(1));
    }
    EXPECT_EQ(times.own(), std::chrono::milliseconds(6));
  }
  loop.turn(Duration::zero());
  EXPECT_NEAR(inbox.stats().step_seconds_total, 0.021, 1e-9);
  EXPECT_NEAR(inbox.stats().forward_seconds_total, 0.003, 1e-9);
}

/// Gives NaN for the sequences whose first token is 13.
class BrokenForward final : public Forward {
 public:
  void run(const Batch& batch, std::span<float> logits) override {
    std::ranges::fill(logits, 0.0F);
    std::size_t sequence = 0;
    for (std::size_t s = 0; s < batch.logit_rows.size(); ++s) {
      const std::int32_t row = batch.logit_rows[s];
      while (batch.row_starts[sequence + 1] <= row) ++sequence;
      if (batch.token_ids[static_cast<std::size_t>(batch.row_starts[sequence])] == 13) {
        logits[s * 16 + 3] = std::numeric_limits<float>::quiet_NaN();
      }
    }
  }
  void copy_block(BlockId, BlockId) override {}
  std::int32_t vocabulary_size() const override { return 16; }
  std::int32_t rows_max() const override { return 64; }
  std::int32_t logit_rows_max() const override { return 64; }
};

TEST(EngineLoop, NanLogitsEndTheirRequestWithAnErrorAndNoOther) {
  const EngineOptions options = small_options(32, 4);
  gateway::Inbox inbox(limits_of(options, 16));
  EngineLoop loop(std::make_unique<BrokenForward>(), options, system_clock(), inbox);
  const auto recorder = std::make_shared<fake::EventRecorder>();
  sched::GenerateSpec healthy = greedy(1, {1, 2, 3, 4, 5}, 3);
  healthy.ignore_eos = true;
  ASSERT_TRUE(inbox.submit(healthy, recorder).ok());
  ASSERT_TRUE(inbox.submit(greedy(2, {13, 2, 3, 4, 5}, 3), recorder).ok());
  while (loop.turn(Duration::zero()) && !loop.idle()) {
  }
  EXPECT_EQ(recorder->of({1}).finish, sched::FinishReason::kLength);
  EXPECT_EQ(recorder->of({2}).finish, sched::FinishReason::kError);
  EXPECT_FALSE(recorder->of({2}).error.empty());
  EXPECT_FALSE(recorder->of({2}).events.back().token.has_value());
  EXPECT_TRUE(loop.kv().find(std::vector<TokenId>{13, 2, 3, 4, 5}, 0).tokens == 0)
      << "what a broken step computed is not shared";
}

}  // namespace
}  // namespace kantha::exec

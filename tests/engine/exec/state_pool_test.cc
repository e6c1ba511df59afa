#include "engine/exec/state_pool.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/engine/exec/loop_bench.h"

// Hidden states of prompts; a fake row's state is its token and its position.
namespace kantha::exec {
namespace {

EngineOptions pooling_options(std::int32_t rows) {
  EngineOptions options = small_options(/*blocks=*/100, /*block_size=*/4);
  options.score_rows_max = rows;
  return options;
}

sched::GenerateSpec pooled(std::uint64_t id, std::int32_t count, sched::Pooling pooling) {
  sched::GenerateSpec spec;
  spec.id = {id};
  for (std::int32_t i = 0; i < count; ++i) spec.prompt.push_back(1 + i * 7 % (kVocabulary - 1));
  spec.pooling = pooling;
  spec.prompt_logprobs = pooling == sched::Pooling::kMean ? 0 : -1;
  return spec;
}

std::vector<double> expected(const sched::GenerateSpec& spec) {
  const double count = static_cast<double>(spec.prompt.size());
  if (spec.pooling == sched::Pooling::kLast) {
    return {static_cast<double>(spec.prompt.back()), count - 1};
  }
  return {std::accumulate(spec.prompt.begin(), spec.prompt.end(), 0.0), count * (count - 1) / 2};
}

TEST(StatePool, AddsEachStateOnceHoweverThePromptIsCut) {
  for (const std::int32_t rows : {1, 4, 7, 64}) {
    SCOPED_TRACE(rows);
    LoopBench bench(pooling_options(rows));
    std::vector<sched::GenerateSpec> specs{
        pooled(1, 50, sched::Pooling::kMean), pooled(2, 1, sched::Pooling::kMean),
        pooled(3, 33, sched::Pooling::kLast), pooled(4, 20, sched::Pooling::kMean)};
    sched::GenerateSpec talks = pooled(5, 9, sched::Pooling::kNone);
    talks.max_tokens = 12;
    ASSERT_TRUE(bench.submit(talks).ok());
    for (const sched::GenerateSpec& spec : specs) ASSERT_TRUE(bench.submit(spec).ok());
    ASSERT_TRUE(bench.drain());
    for (const sched::GenerateSpec& spec : specs) {
      const fake::Received received = bench.of(spec.id);
      ASSERT_FALSE(received.events.empty());
      ASSERT_NE(received.events.back().pooled_states, nullptr) << spec.id.value;
      EXPECT_EQ(*received.events.back().pooled_states, expected(spec)) << spec.id.value;
      EXPECT_EQ(received.finish, sched::FinishReason::kLength);
    }
    EXPECT_EQ(bench.of({5}).events.back().pooled_states, nullptr);
  }
}

TEST(StatePool, TheLastStateIsTheSameFromTheCache) {
  LoopBench bench(pooling_options(4));
  for (const std::uint64_t id : {1U, 2U}) {
    const sched::GenerateSpec spec = pooled(id, 60, sched::Pooling::kLast);
    ASSERT_TRUE(bench.submit(spec).ok());
    ASSERT_TRUE(bench.drain());
    EXPECT_EQ(*bench.of({id}).events.back().pooled_states, expected(spec));
  }
  EXPECT_GT(bench.stats().prefix_hits_total, 40);
}

TEST(StatePool, IsRefusedWhereTheForwardTellsNoStates) {
  gateway::Inbox inbox(limits_of(pooling_options(4), kVocabulary, /*hidden_size=*/0));
  const Status refused = inbox.submit(pooled(1, 5, sched::Pooling::kMean),
                                      std::make_shared<fake::EventRecorder>(), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUnimplemented);
}

}  // namespace
}  // namespace kantha::exec

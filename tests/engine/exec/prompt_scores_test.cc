#include "engine/sched/prompt_scores.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/rng.h"
#include "engine/exec/sampler.h"
#include "tests/engine/exec/loop_bench.h"

// How likely a prompt's own tokens are.
namespace kantha::exec {
namespace {

sched::GenerateSpec scored(std::uint64_t id, std::vector<TokenId> prompt) {
  sched::GenerateSpec spec;
  spec.id = {id};
  spec.prompt = std::move(prompt);
  spec.prompt_logprobs = 2;
  return spec;
}

std::vector<TokenId> long_prompt(std::int32_t count) {
  std::vector<TokenId> prompt;
  for (std::int32_t i = 0; i < count; ++i) prompt.push_back(1 + i * 7 % (kVocabulary - 1));
  return prompt;
}

EngineOptions scoring_options() {
  EngineOptions options = small_options(/*blocks=*/100, /*block_size=*/4);
  options.score_rows_max = 4;
  return options;
}

std::shared_ptr<const sched::PromptScores> scores_of(const LoopBench& bench, std::uint64_t id) {
  const fake::Received received = bench.of({id});
  return received.events.empty() ? nullptr : received.events.front().prompt_scores;
}

TEST(PromptScores, OfARowAreItsLogSoftmaxRankAndBest) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    const std::size_t count = 5 + random_bits(seed, 0) % 3000;
    std::vector<float> row;
    for (std::size_t i = 0; i < count; ++i) {
      row.push_back(static_cast<float>(random_unit(seed, i) * 20 - 10));
    }
    double sum = 0;
    for (const float logit : row) sum += std::exp(double{logit});
    const auto token = static_cast<TokenId>(random_bits(seed, 1) % count);
    const float logit = row[static_cast<std::size_t>(token)];
    sched::PromptScores scores(/*prompt_tokens=*/4, /*best_kept=*/3);
    Sampler sampler;
    sampler.score({.logits = row}, token, scores, 1);
    EXPECT_NEAR(scores.logprobs[1], double{logit} - std::log(sum), 1e-4);
    EXPECT_EQ(scores.ranks[1], 1 + std::ranges::count_if(row, [&](float x) { return x > logit; }));
    const auto best = scores.best_of(1);
    EXPECT_EQ(row[static_cast<std::size_t>(best[0].token)], *std::ranges::max_element(row));
    EXPECT_GE(best[1].logprob, best[2].logprob);
    EXPECT_EQ(scores.logprobs[0], 0) << "the other places are left alone";
    row[2] = std::numeric_limits<float>::quiet_NaN();
    sampler.score({.logits = row}, token, scores, 2);
    EXPECT_TRUE(std::isnan(scores.logprobs[2]));
  }
}

TEST(PromptScores, ComeWithTheFirstTokenOnceAndWhole) {
  LoopBench bench(scoring_options());
  sched::GenerateSpec spec = scored(1, long_prompt(50));
  spec.max_tokens = 3;
  spec.ignore_eos = true;
  ASSERT_TRUE(bench.submit(spec).ok());
  ASSERT_TRUE(bench.drain());
  const fake::Received received = bench.of({1});
  ASSERT_EQ(received.events.size(), 3u);
  ASSERT_NE(received.events[0].prompt_scores, nullptr);
  EXPECT_TRUE(received.events[0].prompt_scores->complete());
  EXPECT_EQ(received.events[0].prompt_scores->size(), 49);
  EXPECT_EQ(received.events[1].prompt_scores, nullptr);
}

TEST(PromptScores, AStepScoresNoMoreThanItHasRowsFor) {
  LoopBench bench(scoring_options());
  sched::GenerateSpec spec = scored(1, long_prompt(41));
  spec.max_tokens = 0;
  ASSERT_TRUE(bench.submit(spec).ok());
  ASSERT_TRUE(bench.drain());
  EXPECT_EQ(bench.stats().steps_total, 10) << "40 scores, 4 in each step";
}

TEST(PromptScores, NeedNoOutput) {
  LoopBench bench(scoring_options());
  sched::GenerateSpec one = scored(1, {5});
  one.max_tokens = 0;
  sched::GenerateSpec window = scored(2, long_prompt(200));  // as long as the context
  window.max_tokens = 0;
  ASSERT_TRUE(bench.submit(one).ok());
  ASSERT_TRUE(bench.submit(window).ok());
  ASSERT_TRUE(bench.drain());
  for (const std::uint64_t id : {1U, 2U}) {
    const fake::Received received = bench.of({id});
    EXPECT_TRUE(received.tokens.empty());
    EXPECT_EQ(received.finish, sched::FinishReason::kLength);
    ASSERT_NE(scores_of(bench, id), nullptr);
    EXPECT_TRUE(scores_of(bench, id)->complete());
  }
  EXPECT_EQ(scores_of(bench, 2)->size(), 199);
  EXPECT_EQ(bench.stats().generation_tokens_total, 0);
}

TEST(PromptScores, AreTheSameWhenThePromptIsCached) {
  LoopBench bench(scoring_options());
  for (const std::uint64_t id : {1U, 2U}) {
    sched::GenerateSpec spec = scored(id, long_prompt(60));
    spec.max_tokens = 1;
    ASSERT_TRUE(bench.submit(spec).ok());
    ASSERT_TRUE(bench.drain());
  }
  ASSERT_NE(scores_of(bench, 1), nullptr);
  EXPECT_EQ(scores_of(bench, 1)->logprobs, scores_of(bench, 2)->logprobs);
  EXPECT_EQ(bench.stats().prefix_hits_total, 0);
  sched::GenerateSpec plain = scored(3, long_prompt(60));
  plain.prompt_logprobs = -1;
  plain.max_tokens = 1;
  ASSERT_TRUE(bench.submit(plain).ok());
  ASSERT_TRUE(bench.drain());
  EXPECT_GT(bench.stats().prefix_hits_total, 40) << "what was computed is there for others";
}

TEST(PromptScores, ManyShortOnesDoNotHoldUpALongOneForEver) {
  LoopBench bench(scoring_options());
  sched::GenerateSpec spec = scored(1, long_prompt(80));
  spec.max_tokens = 0;
  ASSERT_TRUE(bench.submit(spec).ok());
  bench.turn();
  for (std::uint64_t turn = 0; turn < 100 && !bench.of({1}).finish; ++turn) {
    for (std::uint64_t k = 0; k < 3; ++k) {
      sched::GenerateSpec brief = scored(2 + 3 * turn + k, {1, 2, 3});
      brief.max_tokens = 0;
      ASSERT_TRUE(bench.submit(brief).ok());
    }
    bench.turn();
  }
  EXPECT_TRUE(bench.of({1}).finish.has_value());
  ASSERT_TRUE(bench.drain());
}

}  // namespace
}  // namespace kantha::exec

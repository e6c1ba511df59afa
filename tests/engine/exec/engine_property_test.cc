#include <gtest/gtest.h>

#include <random>

#include "tests/engine/exec/loop_bench.h"
#include "tests/engine/exec/random_workload.h"

/// Whatever runs beside it, a request gets the tokens that it gets alone.
namespace kantha::exec {
namespace {

using Random = std::mt19937_64;

std::int32_t between(Random& random, std::int32_t low, std::int32_t high) {
  return std::uniform_int_distribution<std::int32_t>(low, high)(random);
}

std::vector<TokenId> random_tokens(Random& random, std::int32_t count) {
  std::vector<TokenId> tokens;
  for (std::int32_t i = 0; i < count; ++i) tokens.push_back(between(random, 1, kVocabulary - 1));
  return tokens;
}

sched::GenerateSpec random_spec(Random& random, std::uint64_t id,
                                const std::vector<std::vector<TokenId>>& heads) {
  sched::GenerateSpec spec;
  spec.id = {id};
  if (between(random, 0, 2) > 0) spec.prompt = heads[random() % heads.size()];
  const std::int32_t tail = between(random, spec.prompt.empty() ? 1 : 0, 20);
  for (const TokenId token : random_tokens(random, tail)) spec.prompt.push_back(token);
  spec.max_tokens = between(random, 1, 40);
  spec.min_tokens = between(random, 0, 3) == 0 ? between(random, 0, spec.max_tokens) : 0;
  spec.ignore_eos = between(random, 0, 1) == 0;
  spec.sampling.temperature = between(random, 0, 1) == 0 ? 0.0F : 1.0F;
  spec.sampling.top_p = between(random, 0, 1) == 0 ? 1.0F : 0.8F;
  spec.sampling.top_k = between(random, 0, 2) == 0 ? 5 : 0;
  spec.sampling.seed = random();
  if (between(random, 0, 3) == 0) spec.stop_token_ids = {between(random, 1, kVocabulary - 1)};
  return spec;
}

fake::Received run_alone(const sched::GenerateSpec& spec) {
  EngineOptions options = small_options(/*blocks=*/64, /*block_size=*/16);
  options.prefix_caching = false;
  options.step_tokens_max = 200;
  LoopBench bench(options);
  EXPECT_TRUE(bench.submit(spec).ok());
  EXPECT_TRUE(bench.drain());
  return bench.of(spec.id);
}

TEST(EngineProperty, TokensDoNotDependOnNeighboursChunksHitsForksWindowsOrPreemption) {
  constexpr std::uint64_t kWorkloads = 2000;
  expect_everything_happened(run_random_workloads(1, kWorkloads), kWorkloads);
}

TEST(EngineProperty, AResumedRequestContinuesWithTheTokensItWouldHaveHad) {
  Random random(7);
  const std::vector<std::vector<TokenId>> heads = {random_tokens(random, 10)};
  for (std::uint64_t round = 0; round < 300; ++round) {
    const sched::GenerateSpec spec = random_spec(random, 1, heads);
    const fake::Received whole = run_alone(spec);
    sched::GenerateSpec rest = spec;
    const auto sent = static_cast<std::ptrdiff_t>(random() % (whole.tokens.size() + 1));
    rest.resumed.assign(whole.tokens.begin(), whole.tokens.begin() + sent);
    const fake::Received resumed = run_alone(rest);
    ASSERT_EQ(resumed.tokens,
              std::vector<TokenId>(whole.tokens.begin() + sent, whole.tokens.end()));
    ASSERT_EQ(resumed.finish, whole.finish);
    ASSERT_EQ(resumed.events.back().output_tokens, static_cast<std::int32_t>(whole.tokens.size()));
  }
}

TEST(EngineProperty, SixtyFourStreamsAtOnceEqualEachAlone) {
  Random random(64);
  EngineOptions options = small_options(/*blocks=*/400, /*block_size=*/16);
  options.sequences_max = 64;
  options.step_tokens_max = 256;
  LoopBench bench(options);
  const std::vector<std::vector<TokenId>> heads = {random_tokens(random, 20)};
  std::vector<sched::GenerateSpec> specs;
  for (std::uint64_t id = 1; id <= 64; ++id) {
    specs.push_back(random_spec(random, id, heads));
    specs.back().ignore_eos = true;
    specs.back().max_tokens = 40;
    specs.back().stop_token_ids.clear();
    ASSERT_TRUE(bench.submit(specs.back()).ok());
  }
  std::int32_t most = 0;
  bench.turn();
  while (!bench.loop().idle()) {
    most = std::max(most, bench.stats().requests_running);
    bench.turn();
  }
  EXPECT_EQ(most, 64);
  for (const sched::GenerateSpec& spec : specs) {
    EXPECT_EQ(bench.of(spec.id).tokens, run_alone(spec).tokens) << spec.id.value;
  }
}

TEST(EngineProperty, APoolOfFortyPercentOfTheDemandFinishesWithPreemptions) {
  Random random(40);
  // 16 requests of 40 + 60 tokens want 16 · 7 blocks.
  EngineOptions options = small_options(/*blocks=*/16 * 7 * 4 / 10, /*block_size=*/16);
  options.sequences_max = 16;
  options.foresight = false;  // or there would be none
  LoopBench bench(options);
  std::vector<sched::GenerateSpec> specs;
  for (std::uint64_t id = 1; id <= 16; ++id) {
    sched::GenerateSpec spec;
    spec.id = {id};
    spec.prompt = random_tokens(random, 40);
    spec.sampling.seed = id;
    spec.max_tokens = 60;
    spec.ignore_eos = true;
    specs.push_back(spec);
    ASSERT_TRUE(bench.submit(spec).ok());
  }
  ASSERT_TRUE(bench.drain(5000));
  const gateway::EngineStats stats = bench.stats();
  EXPECT_GT(stats.preemptions_total, 0);
  EXPECT_LT(stats.preemptions_total, 100);
  EXPECT_EQ(stats.generation_tokens_total, 16 * 60);
  RecordProperty("preemptions", static_cast<int>(stats.preemptions_total));
  RecordProperty("recomputed_tokens", static_cast<int>(stats.recomputed_tokens_total));
  for (const sched::GenerateSpec& spec : specs) {
    EXPECT_EQ(bench.of(spec.id).tokens, run_alone(spec).tokens);
  }
}

}  // namespace
}  // namespace kantha::exec

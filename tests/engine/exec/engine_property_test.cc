#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/engine/exec/loop_bench.h"

/// Random workloads on random small engines: whatever runs beside it, a request gets the tokens
/// that it gets alone. The fake forward CHECKs every slot, and the loop checks integrity after each
/// step.
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

EngineOptions random_options(Random& random) {
  const std::int32_t block_size = std::int32_t{1} << between(random, 0, 4);
  EngineOptions options = small_options(0, block_size);
  options.sequences_max = between(random, 1, 12);
  options.step_tokens_max = between(random, 1, 64);
  options.prefix_caching = between(random, 0, 3) > 0;
  options.foresight = between(random, 0, 1) == 0;
  const std::vector<cache::KvGroup> windows[] = {{{}, {.window = 9}},
                                                 {{.window = 20}},
                                                 {{.window = 3}, {}, {}},
                                                 {{.window = 5}, {.window = 30}}};
  if (between(random, 0, 1) == 0) options.kv_groups = windows[random() % std::size(windows)];
  // The longest request has 24 + 20 + 40 tokens; from barely that to plenty.
  const cache::KvCacheOptions kv{.block_size = block_size, .groups = options.kv_groups};
  const std::int32_t least = cache::blocks_for(kv, 84, options.step_tokens_max);
  options.kv.block_count = between(random, least, least * 4);
  return options;
}

struct Totals {
  std::int64_t preemptions = 0;
  std::int64_t hits = 0;
  std::int64_t aborts = 0;
  std::int64_t forks = 0;  ///< samples that shared their parent's prompt
  std::int64_t waits = 0;  ///< for a head that another request computed
};

void run_workload(std::uint64_t seed, Totals& totals) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  LoopBench bench(random_options(random));
  std::vector<std::vector<TokenId>> heads;
  for (int i = 0; i < 3; ++i) heads.push_back(random_tokens(random, between(random, 1, 24)));
  std::map<std::uint64_t, sched::GenerateSpec> specs;
  const int request_count = between(random, 1, 24);
  for (std::uint64_t id = 1; id <= static_cast<std::uint64_t>(request_count); ++id) {
    specs[id] = random_spec(random, id, heads);
    if (id > 1 && between(random, 0, 3) == 0) {
      const std::uint64_t parent = 1 + random() % (id - 1);
      specs[id].prompt = specs[parent].prompt;
      specs[id].fork_of = RequestId{parent};
    }
    specs[id].tenant = std::string(1, static_cast<char>('a' + between(random, 0, 2)));
    specs[id].slo = static_cast<sched::SloClass>(between(random, 0, 2));
    ASSERT_TRUE(bench.submit(specs[id]).ok());
    for (int turns = between(random, 0, 6); turns > 0; --turns) bench.turn();
    if (between(random, 0, 7) == 0) bench.abort({1 + random() % id});
  }
  ASSERT_TRUE(bench.drain()) << "every request ends";
  ASSERT_EQ(bench.loop().kv().active(), 0) << "every block comes back";
  EXPECT_FALSE(bench.recorder().after_finish());
  for (const auto& [id, spec] : specs) {
    const fake::Received together = bench.of({id});
    const fake::Received alone = run_alone(spec);
    ASSERT_TRUE(together.finish.has_value());
    if (together.finish == sched::FinishReason::kAbort) {
      ++totals.aborts;
      ASSERT_LE(together.tokens.size(), alone.tokens.size());
      ASSERT_TRUE(std::equal(together.tokens.begin(), together.tokens.end(), alone.tokens.begin()));
      continue;
    }
    ASSERT_EQ(together.tokens, alone.tokens) << "request " << id;
    ASSERT_EQ(together.finish, alone.finish);
  }
  totals.preemptions += bench.stats().preemptions_total;
  totals.hits += bench.stats().prefix_hits_total;
  totals.forks += bench.stats().forks_total;
  totals.waits += bench.stats().shared_waits_total;
}

TEST(EngineProperty, TokensDoNotDependOnNeighboursChunksHitsForksOrPreemption) {
  Totals totals;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    run_workload(seed, totals);
    if (HasFatalFailure()) return;
  }
  // The workloads do exercise what they are about.
  EXPECT_GT(totals.preemptions, 500);
  EXPECT_GT(totals.hits, 1000);
  EXPECT_GT(totals.forks, 1000);
  EXPECT_GT(totals.waits, 100);
  EXPECT_GT(totals.aborts, 300);
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

#include "tests/engine/exec/random_workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/exec/loop_bench.h"
#include "tests/engine/exec/random_rules.h"

namespace kantha::exec {
namespace {

using Random = std::mt19937_64;
using Heads = std::vector<std::vector<TokenId>>;

constexpr std::int32_t kLongest = 84;  ///< tokens of the longest ordinary request

std::int32_t between(Random& random, std::int32_t low, std::int32_t high) {
  return std::uniform_int_distribution<std::int32_t>(low, high)(random);
}

bool one_in(Random& random, int count) { return between(random, 1, count) == 1; }

std::vector<TokenId> random_tokens(Random& random, std::int32_t count) {
  std::vector<TokenId> tokens;
  for (std::int32_t i = 0; i < count; ++i) tokens.push_back(between(random, 1, kVocabulary - 1));
  return tokens;
}

std::int32_t random_block_size(Random& random) {
  switch (between(random, 0, 5)) {
    case 0: return 1;
    case 1: return 16;
    case 2: return between(random, 17, 256);
    default: return between(random, 2, 15);
  }
}

std::vector<cache::KvGroup> random_groups(Random& random) {
  const auto window = [&] { return cache::KvGroup{between(random, 2, 40)}; };
  switch (between(random, 0, 9)) {
    case 0: return {window()};
    case 1: return {cache::KvGroup{}, window()};
    case 2: return {window(), window()};
    case 3: return {window(), cache::KvGroup{}, cache::KvGroup{1}};
    case 4: return {cache::KvGroup{}, cache::KvGroup{}};
    default: return {cache::KvGroup{}};
  }
}

EngineOptions random_options(Random& random) {
  EngineOptions options = small_options(/*blocks=*/1, random_block_size(random));
  options.context_max = one_in(random, 4) ? between(random, 2, kLongest) : 200;
  options.sequences_max = between(random, 1, 12);
  options.step_tokens_max = one_in(random, 8) ? 1 : between(random, 1, 64);
  options.prefix_caching = !one_in(random, 5);
  options.foresight = one_in(random, 5);
  options.score_rows_max = between(random, 1, 20);
  options.kv_groups = random_groups(random);
  const cache::KvCacheOptions kv{.block_size = options.kv.block_size, .groups = options.kv_groups};
  const std::int32_t longest = std::min(kLongest, options.context_max);
  const std::int32_t least = cache::blocks_for(kv, longest, options.step_tokens_max);
  options.kv.block_count = between(random, least, one_in(random, 2) ? least * 2 : least * 4);
  return options;
}

sched::GenerateSpec random_spec(Random& random, const Heads& heads, std::int32_t longest) {
  sched::GenerateSpec spec;
  if (!one_in(random, 3)) spec.prompt = heads[random() % heads.size()];
  // A part of a head: hits end in the middle of a block.
  if (one_in(random, 3) && spec.prompt.size() > 1)
    spec.prompt.resize(1 + random() % spec.prompt.size());
  const std::int32_t tail = between(random, spec.prompt.empty() ? 1 : 0, 20);
  for (const TokenId token : random_tokens(random, tail)) spec.prompt.push_back(token);
  if (std::ssize(spec.prompt) >= longest) {
    spec.prompt.resize(static_cast<std::size_t>(longest - 1));
  }
  const auto room = longest - static_cast<std::int32_t>(spec.prompt.size());
  spec.max_tokens = one_in(random, 8) ? room : between(random, 1, std::min(room, 40));
  if (one_in(random, 10)) spec.prompt_logprobs = between(random, 0, 3);
  if (spec.prompt_logprobs >= 0 && one_in(random, 3)) spec.max_tokens = 0;
  spec.min_tokens = one_in(random, 4) ? between(random, 0, spec.max_tokens) : 0;
  spec.ignore_eos = one_in(random, 2);
  spec.sampling.temperature = one_in(random, 2) ? 0.0F : 1.0F;
  spec.sampling.top_p = one_in(random, 2) ? 1.0F : 0.8F;
  spec.sampling.top_k = one_in(random, 3) ? 5 : 0;
  spec.sampling.typical_p = one_in(random, 5) ? 0.7F : 1.0F;
  spec.sampling.seed = random();
  spec.rules = random_rules(random, kVocabulary);
  if (one_in(random, 4)) spec.stop_token_ids = {between(random, 1, kVocabulary - 1)};
  spec.tenant = std::string(1, static_cast<char>('a' + between(random, 0, 2)));
  spec.slo = static_cast<sched::SloClass>(between(random, 0, 2));
  spec.salt = one_in(random, 5) ? 1 : 0;
  if (!one_in(random, 4)) return spec;
  using Limits = std::numeric_limits<std::int32_t>;
  const std::int32_t priorities[] = {Limits::min(), -1, 1, Limits::max()};
  spec.priority = priorities[random() % 4];
  return spec;
}

/// What a request was told of its prompt; nothing when it was told nothing.
std::vector<float> scores_of(const fake::Received& received) {
  std::vector<float> all;
  for (const sched::TokenEvent& event : received.events) {
    if (event.prompt_scores == nullptr) continue;
    EXPECT_TRUE(event.prompt_scores->complete());
    all.push_back(1);
    std::ranges::copy(event.prompt_scores->logprobs, std::back_inserter(all));
    std::ranges::copy(event.prompt_scores->ranks, std::back_inserter(all));
    for (const sched::TokenLogprob& best : event.prompt_scores->best) {
      all.push_back(static_cast<float>(best.token));
      all.push_back(best.logprob);
    }
  }
  return all;
}

/// What the request gets with an engine of its own, from its first token on.
fake::Received run_alone(sched::GenerateSpec spec, std::int32_t context_max) {
  EngineOptions options = small_options(/*blocks=*/16, /*block_size=*/16);
  options.context_max = context_max;
  options.prefix_caching = false;
  options.step_tokens_max = 200;
  options.sequences_max = 1;
  options.score_rows_max = 200;
  spec.resumed.clear();
  spec.deadline.reset();
  spec.fork_of.reset();
  LoopBench bench(options);
  EXPECT_TRUE(bench.submit(spec).ok());
  EXPECT_TRUE(bench.drain());
  return bench.of(spec.id);
}

class Workload {
 public:
  explicit Workload(std::uint64_t seed)
      : random_(seed), options_(random_options(random_)), bench_(options_) {
    for (int i = 0; i < 3; ++i) heads_.push_back(random_tokens(random_, between(random_, 1, 40)));
  }

  void run(WorkloadTotals& totals) {
    const int arrivals = between(random_, 1, 14);
    for (int i = 0; i < arrivals; ++i) {
      arrive(totals);
      for (int turns = between(random_, 0, 6); turns > 0; --turns) turn();
      if (one_in(random_, 8)) bench_.abort({1 + random_() % last_id_});
    }
    turn();  // takes in what came last
    for (int turns = 0; turns < 200'000 && !bench_.loop().idle(); ++turns) turn();
    check_end();
    for (const auto& [id, spec] : specs_) check_tokens(spec, totals);
    add_up(totals);
  }

 private:
  void submit(sched::GenerateSpec spec) {
    spec.id = {++last_id_};
    const Status queued = bench_.submit(spec, now());
    ASSERT_TRUE(queued.ok()) << queued.error().to_string();
    specs_.emplace(last_id_, std::move(spec));
  }

  /// A request, sometimes with up to four more samples of its prompt; sometimes a late sample of an
  /// earlier one.
  void arrive(WorkloadTotals& totals) {
    const auto limits = bench_.inbox().limits();
    const auto longest = static_cast<std::int32_t>(std::min<std::int64_t>(
        limits.context_max, one_in(random_, 6) ? limits.pool_tokens : kLongest));
    sched::GenerateSpec spec = random_spec(random_, heads_, longest);
    if (one_in(random_, 8)) {
      spec.deadline = now() + std::chrono::milliseconds(between(random_, 0, 60));
    }
    std::uint64_t parent = 0;
    if (last_id_ > 0 && one_in(random_, 8)) {
      parent = 1 + random_() % last_id_;
      spec.prompt = specs_.at(parent).prompt;
      spec.salt = specs_.at(parent).salt;
      spec.max_tokens = std::max(1, std::min(spec.max_tokens, longest - length_of(spec)));
      spec.min_tokens = std::min(spec.min_tokens, spec.max_tokens);
      spec.fork_of = RequestId{parent};
    } else if (one_in(random_, 8)) {
      resume(spec, totals);
    }
    if (spec.max_tokens + length_of(spec) ==
        std::min<std::int64_t>(limits.context_max, limits.pool_tokens)) {
      ++totals.exact;
    }
    submit(spec);
    if (parent > 0 || !one_in(random_, 3)) return;
    const std::uint64_t first = last_id_;
    for (int samples = between(random_, 1, 4); samples > 0; --samples) {
      spec.fork_of = RequestId{first};
      spec.sampling.seed = random_();
      if (!std::exchange(spec.resumed, {}).empty()) resume(spec, totals);
      submit(spec);
    }
    if (one_in(random_, 6)) bench_.abort({first});
  }

  static std::int32_t length_of(const sched::GenerateSpec& spec) {
    return static_cast<std::int32_t>(spec.prompt.size());
  }

  /// The client has some of the output already.
  void resume(sched::GenerateSpec& spec, WorkloadTotals& totals) {
    const fake::Received whole = run_alone(spec, options_.context_max);
    const auto sent = static_cast<std::ptrdiff_t>(random_() % (whole.tokens.size() + 1));
    spec.resumed.assign(whole.tokens.begin(), whole.tokens.begin() + sent);
    ++totals.resumed;
  }

  TimePoint now() { return bench_.clock().now(); }

  void turn() {
    bench_.turn();
    bench_.clock().advance(std::chrono::milliseconds(1));
    const gateway::EngineStats stats = bench_.stats();
    ASSERT_LE(stats.kv_tokens_used, stats.kv_tokens_reserved);
    ASSERT_LE(stats.kv_tokens_reserved, stats.blocks_total * stats.block_size);
    ASSERT_GE(stats.waiting_tokens, stats.requests_waiting);
  }

  void check_end() {
    ASSERT_TRUE(bench_.loop().idle()) << "every request ends";
    const gateway::EngineStats stats = bench_.stats();
    EXPECT_EQ(stats.blocks_active, 0) << "every block comes back";
    EXPECT_EQ(stats.kv_tokens_reserved, 0);
    EXPECT_EQ(stats.kv_tokens_used, 0);
    EXPECT_EQ(stats.waiting_tokens, 0);
    EXPECT_EQ(stats.requests_waiting, 0);
    EXPECT_EQ(stats.requests_running, 0);
    EXPECT_FALSE(bench_.recorder().after_finish());
    std::int64_t ended = 0;
    for (const std::int64_t count : stats.finished_total) ended += count;
    EXPECT_EQ(ended, std::ssize(specs_));
    std::int64_t tokens = 0;
    for (const auto& [id, spec] : specs_) tokens += std::ssize(bench_.of({id}).tokens);
    EXPECT_EQ(stats.generation_tokens_total, tokens);
    EXPECT_LE(stats.prefix_hits_total, stats.prefix_queries_total);
  }

  void check_tokens(const sched::GenerateSpec& spec, WorkloadTotals& totals) {
    const fake::Received together = bench_.of(spec.id);
    ASSERT_TRUE(together.finish.has_value()) << spec.id.value;
    std::vector<TokenId> tokens = spec.resumed;
    tokens.insert(tokens.end(), together.tokens.begin(), together.tokens.end());
    EXPECT_EQ(together.events.back().output_tokens, std::ssize(tokens));
    EXPECT_LE(together.events.back().cached_tokens, together.events.back().prompt_tokens);
    const fake::Received alone = run_alone(spec, options_.context_max);
    const bool aborted = together.finish == sched::FinishReason::kAbort;
    const bool late = together.finish == sched::FinishReason::kDeadline;
    totals.aborts += aborted ? 1 : 0;
    totals.deadlines += late ? 1 : 0;
    if (aborted || late) {
      if (late) EXPECT_TRUE(spec.deadline.has_value());
      ASSERT_LE(tokens.size(), alone.tokens.size());
      ASSERT_TRUE(std::equal(tokens.begin(), tokens.end(), alone.tokens.begin()));
      return;
    }
    ASSERT_EQ(tokens, alone.tokens) << "request " << spec.id.value;
    ASSERT_EQ(together.finish, alone.finish) << "request " << spec.id.value;
    totals.scored += spec.prompt_logprobs >= 0 ? 1 : 0;
    if (spec.resumed.empty()) ASSERT_EQ(scores_of(together), scores_of(alone));
  }

  void add_up(WorkloadTotals& totals) {
    const gateway::EngineStats stats = bench_.stats();
    const bool windowed = bench_.loop().kv().windowed();
    totals.requests += std::ssize(specs_);
    totals.preemptions += stats.preemptions_total;
    totals.recomputed_tokens += stats.recomputed_tokens_total;
    totals.hit_tokens += stats.prefix_hits_total;
    totals.part_hit_tokens += stats.part_hit_tokens_total;
    totals.copies += stats.block_copies_total;
    totals.forks += stats.forks_total;
    totals.windowed_forks += windowed ? stats.forks_total : 0;
    totals.waits += stats.shared_waits_total;
    totals.windowed += windowed ? 1 : 0;
  }

  Random random_;
  EngineOptions options_;
  LoopBench bench_;
  Heads heads_;
  std::map<std::uint64_t, sched::GenerateSpec> specs_;
  std::uint64_t last_id_ = 0;
};

}  // namespace

void run_random_workload(std::uint64_t seed, WorkloadTotals& totals) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Workload(seed).run(totals);
}

WorkloadTotals run_random_workloads(std::uint64_t first, std::uint64_t last) {
  WorkloadTotals totals;
  for (std::uint64_t seed = first; seed <= last && !testing::Test::HasFailure(); ++seed) {
    run_random_workload(seed, totals);
  }
  return totals;
}

void expect_everything_happened(const WorkloadTotals& totals, std::int64_t workloads) {
  const auto often = [&](const char* what, std::int64_t count, std::int64_t least) {
    EXPECT_GT(count * 1000 / workloads, least) << what;
    testing::Test::RecordProperty(what, std::to_string(count));
  };
  often("requests", totals.requests, 10'000);
  often("scored", totals.scored, 300);
  often("preemptions", totals.preemptions, 300);
  often("recomputed_tokens", totals.recomputed_tokens, 5000);
  often("hit_tokens", totals.hit_tokens, 30'000);
  often("part_hit_tokens", totals.part_hit_tokens, 5000);
  often("copies", totals.copies, 2000);
  often("forks", totals.forks, 1000);
  often("windowed_forks", totals.windowed_forks, 250);
  often("waits", totals.waits, 250);
  often("aborts", totals.aborts, 500);
  often("deadlines", totals.deadlines, 500);
  often("resumed", totals.resumed, 500);
  often("windowed", totals.windowed, 250);
  often("exact", totals.exact, 400);
}

}  // namespace kantha::exec

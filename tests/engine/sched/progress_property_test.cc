#include <cstdio>
#include <map>
#include <random>

#include "tests/engine/sched/scheduler_fixture.h"

/// Random workloads on pools that are too small: every step gets on, and everybody finishes.
namespace kantha::sched {
namespace {

class ProgressProperty : public SchedulerTest {
 protected:
  using Random = std::mt19937_64;
  static std::int32_t between(Random& random, std::int32_t low, std::int32_t high) {
    return std::uniform_int_distribution<std::int32_t>(low, high)(random);
  }

  GenerateSpec random_request(Random& random, std::uint64_t id) {
    const bool equal_head = between(random, 0, 2) == 0;
    GenerateSpec spec =
        request(equal_head ? 0 : id, between(random, 1, 80), between(random, 1, 60));
    if (equal_head) spec.prompt.push_back(static_cast<TokenId>(id));
    spec.id = {id};
    spec.tenant = std::string(1, static_cast<char>('a' + between(random, 0, 2)));
    spec.slo = static_cast<SloClass>(between(random, 0, 2));
    spec.priority = between(random, 0, 4) == 0 ? between(random, -1, 1) : 0;
    if (between(random, 0, 9) == 0) {
      spec.deadline = now_ + std::chrono::seconds(between(random, 0, 200));
    }
    if (between(random, 0, 4) == 0) spec.salt = 5;
    return spec;
  }
  /// Steps until nothing is open; the device computes in every one of them.
  void expect_progress(Random& random, int steps_max) {
    int steps = 0;
    while (!scheduler_->empty() && steps++ < steps_max) {
      const std::int64_t before = counters().computed_tokens;
      const std::size_t ended = finished_.size();
      budget_ = between(random, 1, 40);
      now_ += std::chrono::seconds(1);
      step();
      ASSERT_TRUE(counters().computed_tokens > before || finished_.size() > ended);
      if (between(random, 0, 60) == 0) scheduler_->abort({1 + random() % 40});
    }
    ASSERT_TRUE(scheduler_->empty()) << "a livelock";
  }
};

TEST_F(ProgressProperty, EverybodyFinishesOnPoolsOfAboutFortyPercentOfTheDemand) {
  std::int64_t preemptions = 0;
  std::int64_t forks = 0;
  std::int64_t waits = 0;
  std::int64_t wasted = 0;
  std::int64_t computed = 0;
  for (std::uint64_t seed = 1; seed <= 800; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    SchedulerOptions limits = options(between(random, 1, 16), 40);
    limits.foresight = seed % 2 == 0;
    limits.victims = seed % 5 == 0 ? VictimRule::kNewest : VictimRule::kLeastComputed;
    std::vector<cache::KvGroup> groups = {cache::KvGroup{}};
    if (between(random, 0, 2) == 0) groups.push_back({.window = between(random, 1, 30)});
    const cache::KvCacheOptions sizes{.block_count = 1, .block_size = 4, .groups = groups};
    const std::int32_t alone = cache::blocks_for(sizes, 141, limits.step_tokens_max);
    make(between(random, alone, 4 * alone), limits, between(random, 0, 3) > 0, 4, groups);
    std::map<std::uint64_t, GenerateSpec> specs;
    const int count = between(random, 1, 30);
    for (std::uint64_t id = 1; id <= static_cast<std::uint64_t>(count); ++id) {
      specs[id] = random_request(random, id);
      if (id > 1 && between(random, 0, 3) == 0) {
        const std::uint64_t parent = 1 + random() % (id - 1);
        const std::vector<TokenId> prompt = specs[parent].prompt;
        const std::uint64_t salt = specs[parent].salt;
        specs[id].prompt = prompt;
        specs[id].salt = salt;
        specs[id].fork_of = RequestId{parent};
      }
      add(specs[id]);
      for (int steps = between(random, 0, 4); steps > 0; --steps) step();
    }
    // Enough for one after the other at the smallest budgets, with recomputation.
    expect_progress(random, 6000);
    if (HasFatalFailure()) return;
    preemptions += counters().preemptions;
    forks += counters().forks;
    waits += counters().shared_waits;
    wasted += counters().recomputed_tokens;
    computed += counters().computed_tokens;
  }
  EXPECT_GT(preemptions, 500);
  EXPECT_GT(forks, 1000);
  EXPECT_GT(waits, 100);
  EXPECT_LT(wasted, computed / 5);
}

/// Share of computed tokens that were computed before, with 24 at once on 40 % of what they want.
class PreemptionWaste : public ProgressProperty {
 protected:
  struct Result {
    double wasted = 0;  ///< share of the computed tokens
    std::int64_t preemptions = 0;
    std::int64_t steps = 0;
  };
  Result run(VictimRule victims, bool foresight, std::int32_t max_tokens, double stop_rate) {
    Result result;
    std::int64_t computed = 0;
    std::int64_t again = 0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      Random random(seed);
      SchedulerOptions limits = options(24, 128);
      limits.victims = victims;
      limits.foresight = foresight;
      limits.end_tokens = {2};
      make(24 * 50 * 4 / 10, limits);
      answer_ = [&] {
        return std::uniform_real_distribution<double>(0, 1)(random) < stop_rate ? 2 : 1;
      };
      for (std::uint64_t id = 1; id <= 120; ++id) {
        add(id, between(random, 10, 120), max_tokens > 0 ? max_tokens : between(random, 20, 250));
        for (int steps = between(random, 0, 8); steps > 0; --steps, ++result.steps) step();
      }
      for (; !scheduler_->empty() && result.steps < 200'000; ++result.steps) step();
      EXPECT_TRUE(scheduler_->empty());
      again += counters().recomputed_tokens;
      computed += counters().computed_tokens;
      result.preemptions += counters().preemptions;
    }
    result.wasted = static_cast<double>(again) / static_cast<double>(computed);
    return result;
  }
};

TEST_F(PreemptionWaste, IsLessThanHalfOfThatOfNewestFirstOnTheSameLoads) {
  struct Case {
    const char* name;
    std::int32_t max_tokens;
    double stop_rate;
  };
  const Case cases[] = {
      {"answers that reach their limit", 0, 0},
      {"answers that stop after 100 tokens or so, limits far away", 900, 0.01},
  };
  for (const Case& c : cases) {
    const Result ours = run(VictimRule::kLeastComputed, true, c.max_tokens, c.stop_rate);
    const Result least = run(VictimRule::kLeastComputed, false, c.max_tokens, c.stop_rate);
    const Result newest = run(VictimRule::kNewest, false, c.max_tokens, c.stop_rate);
    for (const auto& [name, result] :
         {std::pair("ours", ours), {"least", least}, {"newest", newest}}) {
      std::printf("%s, %s: %.2f %% wasted, %ld preemptions, %ld steps\n", c.name, name,
                  100 * result.wasted, static_cast<long>(result.preemptions),
                  static_cast<long>(result.steps));
    }
    EXPECT_GT(newest.wasted, 0.05) << c.name;
    EXPECT_LT(ours.wasted, newest.wasted / 2) << c.name;
    EXPECT_LT(ours.steps, newest.steps * 120 / 100) << c.name << ": not by running less at once";
  }
}

}  // namespace
}  // namespace kantha::sched
